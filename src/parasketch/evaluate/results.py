"""Results that can be trusted later: every score with what made it, and the counts to test it again.

A results directory holds `results.json` (scores, signatures, command, hashes, versions), `outputs.jsonl` and
`statistics.npz` (the BLEU counts per sentence, so that systems can be compared without generating anew). It
appears whole or not at all.
"""

import hashlib
import json
import os
import platform
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from parasketch.data.corpora import EvalItem, read_eval
from parasketch.errors import DataError, UsageError
from parasketch.evaluate.metrics import BleuCounts
from parasketch.evaluate.outputs import Outputs, write_outputs
from parasketch.evaluate.scoring import Evaluation, Scores
from parasketch.evaluate.statistics import BLEU_COLUMNS, Interval, Score
from parasketch.files import write_directory

FORMAT = "parasketch-results-1"
RESULTS, OUTPUTS, STATISTICS = "results.json", "outputs.jsonl", "statistics.npz"
_EXPECTED = "a directory or results.json that `parasketch evaluate` wrote"
_VERSIONED = ("parasketch", "sacrebleu", "numpy", "scikit-learn", "torch")


@dataclass(frozen=True, kw_only=True)
class EvalData:
    """The items that were evaluated; equal hashes mean equal inputs and references in equal order."""

    name: str
    """Directory and file without endings: `qqp/test`."""
    items: list[EvalItem]
    sha256: str

    @classmethod
    def read(cls, path: Path, limit: int | None = None) -> "EvalData":
        """Read a file of items, or its first `limit` ones."""
        items = list(read_eval(path))[:limit]
        digest = hashlib.sha256()
        for item in items:
            digest.update(json.dumps([item.input, list(item.references)]).encode() + b"\n")
        return cls(name=cls.name_of(path), items=items, sha256=digest.hexdigest())

    @staticmethod
    def name_of(path: Path) -> str:
        """What tables call the items of a file."""
        stem, folder = path.name.removesuffix(".gz").removesuffix(".jsonl"), path.absolute().parent.name
        return f"{folder}/{stem}" if folder else stem


@dataclass(frozen=True, kw_only=True)
class Record:
    """The scores of one system on one data set with their provenance: all that tables are made of."""

    system: str
    data: str
    items: int
    data_sha256: str
    model_sha256: str | None
    uses_references: bool
    """An upper bound: the system saw a reference."""
    command: str
    seed: int
    seconds: float | None
    """Time to generate the outputs; None where they came from a file."""
    cores: int
    versions: dict[str, str]
    candidates: int
    alpha: float
    empty_outputs: int
    scores: Scores
    human: Scores

    def score(self, name: str) -> float | None:
        """The value of a score, or None if it was not computed."""
        return self.scores[name].value if name in self.scores else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `Record.from_dict` is the way back."""
        return {item.name: asdict(self)[item.name] for item in fields(Record)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Record":
        """A record from plain values; a KeyError or a TypeError if they are none."""
        return Record(**{**values, "scores": _scores(values["scores"]), "human": _scores(values["human"])})


@dataclass(frozen=True, kw_only=True)
class Results(Record):
    """A record with the counts behind iBLEU, so that it can be resampled and compared."""

    counts: BleuCounts

    def save(self, parent: Path, items: Sequence[EvalItem], outputs: Outputs) -> Path:
        """Write the results directory under `parent` and return its path."""
        directory = check_place(parent, self.system, self.data, self.model_sha256)
        values = {"format": FORMAT, **self.to_dict(), "bleu_signature": self.counts.signature}
        with write_directory(directory) as temporary:
            (temporary / RESULTS).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            np.savez_compressed(temporary / STATISTICS, bleu=self.counts.bleu, self_bleu=self.counts.self_bleu)
            with (temporary / OUTPUTS).open("w", encoding="utf-8") as stream:
                write_outputs(stream, items, outputs)
        return directory

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read a results directory, given itself or its `results.json`."""
        directory = path if path.is_dir() else path.parent
        file = directory / RESULTS if path.is_dir() else path
        values = _read_fields(file)
        try:
            shape = (values["candidates"], values["items"], BLEU_COLUMNS)
            counts = _read_counts(directory / STATISTICS, values.pop("bleu_signature"), shape)
            scores, human = (_scores(values.pop(name)) for name in ("scores", "human"))
            return cls(scores=scores, human=human, counts=counts, **values)
        except (KeyError, TypeError) as error:
            raise DataError(f"is incomplete or was changed: {error}", path=file, expected=_EXPECTED) from error


def place(parent: Path, system: str, data: str) -> Path:
    """Where the results of a system go."""
    return parent / re.sub(r"[^\w.+-]+", "-", f"{system}-{data}")


def check_place(parent: Path, system: str, data: str, model_sha256: str | None) -> Path:
    """The directory for the results of a system; one that holds something else, or another model's, is refused."""
    directory = place(parent, system, data)
    if not directory.exists():
        return directory
    if not (directory / RESULTS).is_file():
        raise UsageError(f"{directory} exists and holds no results; it is not overwritten")
    if _read_fields(directory / RESULTS).get("model_sha256") != model_sha256:
        raise UsageError(f"{directory} holds the results of another model; they are not overwritten: give a --name")
    return directory


def collect(
    evaluation: Evaluation,
    data: EvalData,
    *,
    system: str,
    alpha: float,
    command: str,
    seed: int,
    seconds: float | None,
    model_sha256: str | None = None,
    uses_references: bool = False,
) -> Results:
    """Join scores with their provenance."""
    return Results(
        system=system,
        data=data.name,
        items=len(data.items),
        data_sha256=data.sha256,
        model_sha256=model_sha256,
        uses_references=uses_references,
        command=command,
        seed=seed,
        seconds=seconds,
        cores=os.cpu_count() or 1,
        versions={
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in _VERSIONED},
        },
        candidates=evaluation.counts.candidates,
        alpha=alpha,
        empty_outputs=evaluation.empty_outputs,
        scores=evaluation.scores,
        human=evaluation.human,
        counts=evaluation.counts,
    )


def _read_fields(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path, expected=_EXPECTED) from error
    except ValueError as error:
        raise DataError("is not JSON", path=path, expected=_EXPECTED) from error
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise DataError(f"holds no results of format {FORMAT}", path=path, expected=_EXPECTED)
    return values


def _read_counts(path: Path, signature: str, shape: tuple[int, int, int]) -> BleuCounts:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            bleu, self_bleu = arrays["bleu"], arrays["self_bleu"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"cannot be read: {error}", path=path, expected="the counts beside results.json") from error
    if bleu.shape != shape or self_bleu.shape != shape:
        problem = f"holds counts of shape {bleu.shape} and {self_bleu.shape}, not {shape}"
        raise DataError(problem, path=path, expected="the counts that belong to results.json")
    return BleuCounts(bleu=bleu, self_bleu=self_bleu, signature=signature)


def _scores(values: Mapping[str, Any]) -> Scores:
    return {
        name: Score(**{**row, "interval": Interval(**row["interval"]) if row["interval"] else None})
        for name, row in values.items()
    }
