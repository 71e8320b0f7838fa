"""One experiment from clusters to a saved model: prepare, train, look at dev, keep the best.

This is the only place that knows the whole chain; its parts know nothing of each other's right-hand neighbours.
A run directory holds: prepared/ and split/ (when it started from clusters), corpus.json (which corpus it was),
config.json, checkpoints/, metrics.jsonl, and best/, a model directory that everything else in the package loads.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from lightning_fabric import Fabric
from safetensors import SafetensorError

from parasketch.config import Config, load_config, preset_names, to_dict
from parasketch.console import console, set_quiet
from parasketch.data.corpora import gather_clusters, open_corpus, read_eval
from parasketch.data.prepare import prepare
from parasketch.data.prepared import MANIFEST, Prepared
from parasketch.data.records import EvalItem
from parasketch.data.splits import split_clusters, write_splits
from parasketch.errors import DataError, UsageError
from parasketch.evaluate.dev import DevEvaluator, sample_items
from parasketch.files import sha256, write_text
from parasketch.model.hrqvae import HRQVAE
from parasketch.model.storage import save_model
from parasketch.train.checkpoint import checkpoints, remove_unfinished
from parasketch.train.loop import train

DEFAULT_PRESET = "small"
DEV_CLUSTERS = 500
"""At most so many clusters are set aside for dev when none is given."""
DRAWING = ("max_pairs", "template_dropout")
"""The settings of the data that say how triples are drawn, not how the corpus is prepared."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What to train on what, and where the result goes."""

    config: Config
    prepared: Prepared
    dev: list[EvalItem]
    run: Path


def set_up(
    source: str, *, data: Path | None, dev: Path | None, run: Path, overrides: list[str], minutes: float | None
) -> Experiment:
    """Resolve what the user named: a preset or config with prepared data or clusters, or clusters alone."""
    is_config = source in preset_names() or source.endswith((".yaml", ".yml"))
    if not is_config and data is not None:
        names = ", ".join(preset_names())
        raise UsageError(f"{source}: with --data, expected a preset ({names}) or a YAML file in front of it")
    config = load_config(source if is_config else DEFAULT_PRESET, overrides)
    if minutes is not None:
        config = replace(config, train=replace(config.train, minutes=minutes))
    corpus = data if is_config else Path(source)
    if corpus is None:
        raise UsageError("--data is missing: a directory made by `parasketch prepare`, or a file of clusters")
    if not corpus.exists():
        raise UsageError(f"{corpus}: no such file (expected a file of clusters, or a preset with --data)")
    if corpus.is_dir() and dev is None:
        raise UsageError("--dev is missing: evaluation items to select the best model by")
    _take_note_of_corpus(run, corpus, config)
    if corpus.is_dir():
        prepared = Prepared(corpus)
    else:
        training, dev = (corpus, dev) if dev is not None else _set_dev_aside(corpus, run / "split", config.train.seed)
        prepared = prepare([training], run / "prepared", config.data)
    assert dev is not None
    return Experiment(config=_fitted(config, prepared), prepared=prepared, dev=list(read_eval(dev)), run=run)


def run_experiment(experiment: Experiment, *, fabric: Fabric, resume: bool) -> Path:
    """Train, and return the directory of the best model; that of the end of the run is beside it."""
    config, tokenizer = experiment.config, experiment.prepared.tokenizer
    best, last = experiment.run / "best", experiment.run / "last"
    if not resume and checkpoints(experiment.run / "checkpoints"):
        raise UsageError(f"{experiment.run} holds a run already: choose another --out, or --resume auto")
    items = sample_items(experiment.dev, config.train.evaluation_items)
    evaluator = DevEvaluator(items, tokenizer, max_length=config.model.max_length, select_by=config.train.select_by)
    if fabric.is_global_zero:
        remove_unfinished(best)
        remove_unfinished(last)
        with write_text(experiment.run / "config.json") as stream:
            json.dump(to_dict(config), stream, indent=1)

    def save(directory: Path, model: HRQVAE, metrics: dict[str, float]) -> None:
        sections = {"data": to_dict(config.data), "train": to_dict(config.train), "dev": metrics}
        try:
            save_model(directory, model, tokenizer, sections=sections)
        except SafetensorError as error:  # a full disk is reported so
            raise DataError(f"cannot be written: {error}", path=directory) from error

    model = train(
        config,
        experiment.prepared,
        experiment.run,
        fabric=fabric,
        evaluate=evaluator,
        save_best=lambda model, result: save(best, model, result.metrics),
        resume=resume,
    )
    if fabric.is_global_zero:
        save(last, model, {})
    return best


def make_fabric(*, accelerator: str, devices: str, precision: str) -> Fabric:
    """One code path for a CPU, a GPU and many of them; only the first process talks."""
    if accelerator == "auto" and not torch.cuda.is_available():
        accelerator, devices = "cpu", "1" if devices == "auto" else devices
    try:
        fabric = Fabric(accelerator=accelerator, devices=devices, precision=precision)  # type: ignore[arg-type]
    except Exception as error:  # Fabric has no one class for what it cannot use
        raise UsageError(f"--accelerator {accelerator} --devices {devices}: {error}") from error
    fabric.launch()
    if not fabric.is_global_zero:
        set_quiet(True)
    return fabric


def _fitted(config: Config, prepared: Prepared) -> Config:
    """The configuration with what only the corpus can tell; embeddings that were not given cannot stay frozen."""
    model = replace(
        config.model,
        vocab_size=prepared.tokenizer.vocab_size,
        max_length=max(config.model.max_length, prepared.max_tokens + 2),
        frozen_embeddings=config.model.frozen_embeddings and config.train.embeddings is not None,
    )
    if model.frozen_embeddings != config.model.frozen_embeddings:
        console.print("no train.embeddings are given: the token embeddings are trained, not frozen")
    return replace(config, model=model)


def _set_dev_aside(corpus: Path, split: Path, seed: int) -> tuple[Path, Path]:
    """Set some clusters aside for dev, once; the files of the other clusters and of the dev items."""
    training, dev = split / "train.jsonl", split / "dev.jsonl"
    if not split.exists():
        clusters = list(gather_clusters([open_corpus(corpus)]))
        splits = split_clusters(clusters, dev=min(DEV_CLUSTERS, max(1, len(clusters) // 10)), test=0, seed=seed)
        if not splits.dev or not splits.train:
            raise UsageError(f"{corpus}: too few clusters to set some aside for dev; give a file of them with --dev")
        write_splits(split, splits)
        console.print(f"{len(splits.dev):,} of {len(clusters):,} clusters are set aside for dev: {dev}")
    return training, dev


def _take_note_of_corpus(run: Path, corpus: Path, config: Config) -> None:
    """A run goes on with the corpus it began with, prepared in the same way, or not at all.

    How triples are drawn from it may change, as a learning rate may.
    """
    note = run / "corpus.json"
    content = {
        "sha256": sha256(corpus / MANIFEST if corpus.is_dir() else corpus),
        "data": {name: value for name, value in to_dict(config.data).items() if name not in DRAWING},
    }
    if checkpoints(run / "checkpoints") and note.exists() and json.loads(note.read_text("utf-8")) != content:
        raise UsageError(f"{run} holds a run on another corpus, or with other data settings: choose another --out")
    with write_text(note) as stream:
        json.dump(content, stream, indent=1)
