"""What systems with a vocabulary of their own have in common: a prepared corpus to learn from, dev items, saving.

A run goes on with the corpus it began with, prepared in the same way, or not at all; how examples are drawn from it may
change, as a learning rate may.
"""

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from parasketch.config import DRAWING, DataConfig, to_dict
from parasketch.console import console
from parasketch.data.corpora import gather_clusters, open_corpus, read_eval
from parasketch.data.prepare import prepare
from parasketch.data.prepared import MANIFEST, Prepared
from parasketch.data.records import EvalItem
from parasketch.data.splits import split_clusters, write_splits
from parasketch.errors import ModelError, UsageError
from parasketch.files import sha256, write_text
from parasketch.model.directory import TOKENIZER
from parasketch.model.shared import Network
from parasketch.model.storage import StoredModel, open_model, save_model
from parasketch.systems.dev import DevItems, sample_items
from parasketch.systems.settings import CorpusConfig
from parasketch.train.task import Batch, Sources, Task

DEV_CLUSTERS = 500
"""At most so many clusters are set aside for dev when none is given."""


B = TypeVar("B", bound=Batch)
C = TypeVar("C", bound=CorpusConfig)


class CorpusTask(Task[B]):
    """A network that learns from a prepared corpus; subclasses say which, and what its loss is."""

    config: CorpusConfig
    network: Network

    def __init__(self, config: CorpusConfig, prepared: Prepared, dev: Sequence[EvalItem] = ()) -> None:
        self.config, self.prepared, self.dev = fitted(config, prepared), prepared, list(dev)
        self.tokenizer = prepared.tokenizer

    @classmethod
    def set_up(cls, config: CorpusConfig, sources: Sources) -> Self:
        """Open the prepared corpus, or prepare the file of clusters, that the user named."""
        data = open_training_data(config, sources)
        task = cls(replace(config, data=data.config), data.prepared, data.dev)
        task.start = sources.start
        return task

    def build(self) -> Network:
        self.network = self.make_network()
        if self.config.train.embeddings is not None:
            load_embeddings(self.network.embedding.weight, Path(self.config.train.embeddings))
        if self.start is not None:
            self.take_over(open_model(self.start))
        return self.network

    def take_over(self, stored: StoredModel) -> None:
        """Give the network the weights of a model that reads the same tokens."""
        if stored.read_tokenizer() != self.tokenizer:
            raise UsageError(f"{stored.path} has another vocabulary than the corpus: give the clusters themselves")
        stored.fill(self.network, newer=self.network.newer_weights)

    @abstractmethod
    def make_network(self) -> Network:
        """The network of the configuration, with random weights."""

    @cached_property
    def dev_items(self) -> DevItems:
        """The dev items that are looked at."""
        settings = self.config.train
        items = sample_items(self.dev, settings.evaluation_items)
        return DevItems(items, self.tokenizer, max_length=self.config.model.max_length, select_by=settings.select_by)

    def save(self, directory: Path, dev: Mapping[str, float]) -> None:
        config = to_dict(self.config)
        sections = {"data": config["data"], "train": config["train"], "dev": dict(dev)}
        if self.start is not None:  # it goes on as it was begun
            sections["generate"] = open_model(self.start).sections.get("generate", {})
        save_model(directory, self.network, self.tokenizer, sections=sections)


def load_embeddings(weight: Tensor, path: Path) -> None:
    """Start the token embeddings (vocabulary, width) from the one matrix of a safetensors file."""
    try:
        matrices = list(load_file(path).values())
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: no embeddings can be read: {error}") from error
    if len(matrices) != 1 or matrices[0].shape != weight.shape:
        found = ", ".join(str(tuple(matrix.shape)) for matrix in matrices) or "nothing"
        raise ModelError(f"{path}: holds {found} (expected one matrix {tuple(weight.shape)})")
    with torch.no_grad():
        weight.copy_(matrices[0])


def fitted(config: C, prepared: Prepared) -> C:
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


@dataclass(frozen=True)
class TrainingData:
    """What the user named, opened."""

    prepared: Prepared
    dev: list[EvalItem]
    config: DataConfig
    """How the corpus was prepared, and how examples are drawn from it."""


def open_training_data(config: CorpusConfig, sources: Sources) -> TrainingData:
    """Open a prepared corpus, or prepare a file of clusters; without dev items, some clusters are set aside for dev.

    How a prepared corpus was prepared is known from itself, whatever the configuration says.
    """
    corpus, dev = sources.data, sources.dev
    if corpus is None:
        raise UsageError("--data is missing: a directory made by `parasketch prepare`, or a file of clusters")
    if not corpus.exists():
        raise UsageError(f"{corpus}: no such file (expected a file of clusters, or a preset with --data)")
    if corpus.is_dir():
        if dev is None:
            console.print("no --dev items to select a model by: the best model will be that of the end of the run")
        prepared = Prepared(corpus)
        _take_note_of_corpus(sources, corpus, prepared.data_config(config.data))
        items = [] if dev is None else list(read_eval(dev))
        return TrainingData(prepared, items, prepared.data_config(config.data))
    _take_note_of_corpus(sources, corpus, config.data)
    if dev is None:
        corpus, dev = _set_dev_aside(corpus, sources.run / "split", config.train.seed)
    tokenizer = None if sources.start is None else sources.start / TOKENIZER
    prepared = prepare([corpus], sources.run / "prepared", config.data, tokenizer=tokenizer)
    return TrainingData(prepared, list(read_eval(dev)), config.data)


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


def _take_note_of_corpus(sources: Sources, corpus: Path, config: DataConfig) -> None:
    """Write down which corpus this is; a run that has begun on another one does not go on."""
    note = sources.run / "corpus.json"
    content = {
        "sha256": sha256(corpus / MANIFEST if corpus.is_dir() else corpus),
        "data": {name: value for name, value in to_dict(config).items() if name not in DRAWING},
    }
    if sources.begun and note.exists() and json.loads(note.read_text("utf-8")) != content:
        raise UsageError(
            f"{sources.run} holds a run on another corpus, or with other data settings: choose another --out"
        )
    with write_text(note) as stream:
        json.dump(content, stream, indent=1)
