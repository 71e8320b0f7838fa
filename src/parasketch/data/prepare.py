"""From clusters to a prepared corpus: clean, tokenise, tag, build templates and index them, once.

The slow part, tagging, runs chunk by chunk in a pool of processes, and what comes back are flat arrays, so
that memory grows by a few bytes a token and nothing else. The result does not depend on the number of processes,
appears whole or not at all, and is left alone if it is up to date.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parasketch import files
from parasketch.config import DRAWING, DataConfig
from parasketch.console import console, progress_bar
from parasketch.data.annotate import Annotator
from parasketch.data.collect import Collector
from parasketch.data.corpora import read_clusters
from parasketch.data.parallel import cores, work_in_order
from parasketch.data.prepared import FORMAT, MANIFEST, TOKENIZER, Arrays, Prepared, read_manifest
from parasketch.errors import DataError, UsageError
from parasketch.text.tagger import Tagger, load_tagger
from parasketch.text.templates import TemplateKind
from parasketch.text.tokenizer import Tokenizer
from parasketch.version import __version__

CHUNK_SENTENCES = 1000


def prepare(
    inputs: Sequence[Path],
    out: Path,
    config: DataConfig,
    *,
    workers: int | None = None,
    tokenizer: Path | None = None,
    tagger: Tagger | None = None,
) -> Prepared:
    """Prepare the clusters of some files for training, in the directory `out`.

    `workers` processes do the work (default: one for each core); a script that calls this with more than one
    needs the usual `if __name__ == "__main__":`. `tokenizer` is the file of an existing tokenizer, so that two
    corpora share a vocabulary; otherwise one is made as `config` says. `tagger` stands in for the one that
    `config` names.
    """
    _check_out(out)
    tagger = tagger or load_tagger(config.tagger)
    ready = _existing_tokenizer(config, tokenizer)
    origin = _origin(inputs, config, tagger, ready)
    if _is_up_to_date(out, origin):
        console.print(f"{out} is up to date: nothing to do")
        return Prepared(out)
    ready = ready or _train_tokenizer(inputs, config.vocab_size)
    with files.write_directory(out) as directory:
        ready.save(directory / TOKENIZER)
        recipe = _Recipe(directory / TOKENIZER, tagger, config.templates, config.max_tokens)
        collected = _collect(inputs, directory, recipe, workers)
        arrays = collected.arrays(ready)
        for name in Arrays.names():
            np.save(directory / f"{name}.npy", getattr(arrays, name), allow_pickle=False)
        manifest = origin | {
            "tokenizer": ready.fingerprint,
            "tags": list(collected.tags),
            "counts": _counts(arrays, collected.dropped),
        }
        with files.write_text(directory / MANIFEST) as stream:
            stream.write(json.dumps(manifest, indent=2) + "\n")
    return Prepared(out)


def _check_out(out: Path) -> None:
    """Refuse to replace what is not a prepared corpus."""
    is_empty = out.is_dir() and not any(out.iterdir())
    if out.exists() and not is_empty and not (out / MANIFEST).is_file():
        raise UsageError(f"{out} exists and is not a prepared corpus; name another directory or remove it")


def _existing_tokenizer(config: DataConfig, path: Path | None) -> Tokenizer | None:
    """The tokenizer to use, or None if one has to be trained."""
    if path is not None:
        return Tokenizer.load(path)
    if config.tokenizer == "bert" and config.bert_vocab is not None:
        return Tokenizer.from_bert_vocab(Path(config.bert_vocab))
    return None


def _origin(inputs: Sequence[Path], config: DataConfig, tagger: Tagger, tokenizer: Tokenizer | None) -> dict[str, Any]:
    """All that decides the result: the inputs, the settings, and their hashes."""
    if not inputs:
        raise UsageError("no file of clusters was given")
    sources = []
    for path in inputs:
        if not path.is_file():
            raise DataError("no such file", path=path, expected="a file of clusters")
        sources.append({"name": path.name, "sha256": files.sha256(path)})
    settings = _without_drawing(asdict(config)) | {"tagger": tagger.name, "parasketch": __version__}
    del settings["bert_vocab"]  # the tokenizer's fingerprint says more than its path
    if tokenizer is not None:
        settings |= {"tokenizer": tokenizer.fingerprint, "vocab_size": tokenizer.vocab_size}
    return {
        "format": FORMAT,
        "inputs": sources,
        "inputs_hash": _json_hash([source["sha256"] for source in sources]),
        "settings": settings,
        "settings_hash": _json_hash(settings),
    }


def _is_up_to_date(out: Path, origin: dict[str, Any]) -> bool:
    known = read_manifest(out)
    if known is None or known.get("inputs_hash") != origin["inputs_hash"]:
        return False
    return bool(_without_drawing(known.get("settings", {})) == origin["settings"])


def _without_drawing(settings: dict[str, Any]) -> dict[str, Any]:
    """Without what only training asks for; manifests had some of it once."""
    return {name: value for name, value in settings.items() if name not in DRAWING}


def _train_tokenizer(inputs: Sequence[Path], vocab_size: int) -> Tokenizer:
    with console.status("learning a subword vocabulary"):
        sentences = (sentence for cluster in _clusters(inputs) for sentence in cluster)
        return Tokenizer.train(sentences, vocab_size=vocab_size)


def _json_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _clusters(inputs: Sequence[Path]) -> Iterator[Sequence[str]]:
    for path in inputs:
        for cluster in read_clusters(path):
            yield cluster.sentences


def _chunks(inputs: Sequence[Path]) -> Iterator[list[Sequence[str]]]:
    """Runs of whole clusters with some CHUNK_SENTENCES sentences."""
    chunk: list[Sequence[str]] = []
    size = 0
    for cluster in _clusters(inputs):
        chunk.append(cluster)
        size += len(cluster)
        if size >= CHUNK_SENTENCES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


@dataclass(frozen=True)
class _Recipe:
    """What a worker process needs to build its Annotator."""

    tokenizer: Path
    tagger: Tagger
    templates: TemplateKind
    max_tokens: int

    def annotator(self) -> Annotator:
        tokenizer = Tokenizer.load(self.tokenizer)
        return Annotator(tokenizer=tokenizer, tagger=self.tagger, templates=self.templates, max_tokens=self.max_tokens)


def _collect(inputs: Sequence[Path], directory: Path, recipe: _Recipe, workers: int | None) -> Collector:
    """Annotate everything, under a progress bar."""
    num_sentences = sum(len(cluster) for cluster in _clusters(inputs))
    if workers is None:
        # A process takes about a second to start, which a small corpus is not worth.
        workers = max(1, min(cores(), num_sentences // CHUNK_SENTENCES))
    collector = Collector(directory)
    with progress_bar() as bar:
        task = bar.add_task("tagging", total=num_sentences)
        for chunk in work_in_order(recipe.annotator, _chunks(inputs), workers):
            collector.add(chunk)
            bar.advance(task, len(chunk.texts) + chunk.dropped.total())
    if not collector.num_sentences:
        raise DataError("no sentence is left", path=inputs[0], expected=f"sentences of 1 to {recipe.max_tokens} tokens")
    return collector


def _counts(arrays: Arrays, dropped: Counter[str]) -> dict[str, Any]:
    first_pairs = arrays.pair_offsets[arrays.cluster_offsets]
    has_exemplar = arrays.group_has_exemplar[arrays.group_ids]
    return {
        "clusters": len(first_pairs) - 1,
        "clusters_without_pairs": int((np.diff(first_pairs) == 0).sum()),
        "sentences": len(has_exemplar),
        "dropped_sentences": dict(dropped),
        "tokens": len(arrays.tokens),
        "templates": len(arrays.template_offsets) - 1,
        "spans": len(arrays.span_offsets) - 1,
        "pairs": int(first_pairs[-1]),
        "share_with_real_exemplar": round(float(has_exemplar.mean()), 4),
    }
