"""Paraphrases in people's own pipelines: a class for Ray Data's `map_batches`, for Spark's `mapInPandas`, or alone.

    from parasketch.ray import Paraphrase
    data.map_batches(Paraphrase, fn_constructor_kwargs={"model": "questions", "n": 3}, concurrency=8)

The model is loaded once for each worker. Nothing here imports Ray or Spark: the class only knows their batches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from parasketch.bulk.answers import answer
from parasketch.bulk.job import Job
from parasketch.bulk.writing import PROBLEM, RESULTS, as_values
from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Sketch

Batch = TypeVar("Batch")


class Paraphrase:
    """Adds the columns `paraphrases` (a list for each row, as in JSON lines) and `problem` to batches of rows.

    A batch is what Ray Data hands over (a dict of numpy arrays, a pandas DataFrame or a pyarrow Table), and the same
    comes back. The texts are those of the single-machine command with the same options.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        column: str = "text",
        n: int = 1,
        like: str | None = None,
        sketch: Sequence[int] | None = None,
        depth: int | None = None,
        seed: int = 0,
        temperature: float | None = None,
        split: bool = False,
        strict: bool = False,
        semantic: str | None = None,
        device: str | None = None,
        batch_size: int = 32,
    ) -> None:
        codes = None if sketch is None else Sketch(sketch)
        job = Job(
            model=model, semantic=semantic, n=n, like=like, sketch=codes, depth=depth, temperature=temperature,
            seed=seed, split=split,
        )  # fmt: skip
        self._column, self._strict = column, strict
        self._paraphrase = job.load(device=device, batch_size=batch_size)

    def __call__(self, batch: Batch) -> Batch:
        """The batch with two more columns."""
        columns = _columns(batch)
        if self._column not in columns:
            raise UsageError(f"no column {self._column!r} (expected one of {', '.join(columns)})")
        clash = [name for name in (RESULTS, PROBLEM) if name in columns]
        if clash:
            raise UsageError(f"there is a column {clash[0]!r} already: rename it")
        values = cast("Any", batch)[self._column]
        texts = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
        answers = answer(self._paraphrase, [_plain(text) for text in texts], strict=self._strict)
        found, problems = [as_values(each.paraphrases) for each in answers], [each.problem for each in answers]
        return cast("Batch", _with(batch, found, problems))


def _columns(batch: object) -> list[str]:
    if isinstance(batch, Mapping):
        return list(batch)
    names = getattr(batch, "column_names", None)  # of a Table; a DataFrame has `columns`
    return list(getattr(batch, "columns", ()) if names is None else names)


def _plain(text: Any) -> object:
    """A str where numpy or pandas has one of its own kinds of text; None where pandas has no value."""
    if isinstance(text, str):
        return str(text)
    return None if text is None or text != text else text  # nothing else differs from itself


def _with(batch: Any, paraphrases: list[list[dict[str, Any]]], problems: list[str | None]) -> Any:
    if isinstance(batch, Mapping):
        return {**batch, RESULTS: _objects(paraphrases), PROBLEM: _objects(problems)}
    if hasattr(batch, "append_column"):
        import pyarrow

        from parasketch.bulk.parquet import result_fields

        first, second = result_fields()
        with_first = batch.append_column(first, pyarrow.array(paraphrases, first.type))
        return with_first.append_column(second, pyarrow.array(problems, second.type))
    return batch.assign(**{RESULTS: paraphrases, PROBLEM: problems})


def _objects(values: Sequence[object]) -> np.ndarray[Any, np.dtype[np.object_]]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
