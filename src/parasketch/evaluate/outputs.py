"""Outputs of any system as a file: one line per item, or k candidates per item as JSON.

Whatever a system is written in, its outputs can be scored: plain text with one output a line, JSON lists of k
candidates, or JSON objects `{"outputs": [...]}`. Objects may repeat the `input`, which is then checked, so
that outputs for another data set are noticed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from parasketch.data.corpora import EvalItem
from parasketch.errors import DataError
from parasketch.files import read_lines

Outputs = list[list[str]]
"""k candidates per item, best first."""

_EXPECTED = 'a JSON list of strings or {"outputs": [...]}'


def read_outputs(path: Path | str, items: Sequence[EvalItem]) -> Outputs:
    """Read the outputs for `items`; the first line decides whether the file is JSON or plain text."""
    lines = list(read_lines(path))
    as_json = bool(lines) and _is_json(lines[0][1])
    outputs = [_candidates(text, path, number) if as_json else [text] for number, text in lines]
    if len(outputs) != len(items):
        raise DataError(f"has {len(outputs)} outputs for {len(items)} items", path=path, expected="one line per item")
    if as_json:
        _check_inputs(lines, items, path)
    check_outputs(outputs, path)
    return outputs


def write_outputs(stream: TextIO, items: Sequence[EvalItem], outputs: Outputs) -> None:
    """Write one JSON object per item, with its input, so that the file can be read and checked again."""
    for item, candidates in zip(items, outputs, strict=True):
        stream.write(json.dumps({"input": item.input, "outputs": candidates}, ensure_ascii=False) + "\n")


def check_outputs(outputs: Sequence[Sequence[str]], path: Path | str | None = None) -> None:
    """Every item needs the same number of candidates, at least one; a candidate may be empty."""
    for number, candidates in enumerate(outputs, start=1):
        if not candidates:
            raise DataError("an item without any output", path=path, line=number, expected="an empty string at least")
        if len(candidates) != len(outputs[0]):
            problem = f"item {number} has {len(candidates)} outputs where the first item has {len(outputs[0])}"
            raise DataError(problem, path=path, line=number, expected="the same number for every item")


def _is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), list | dict)
    except ValueError:
        return False


def _candidates(line: str, path: Path | str, number: int) -> list[str]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError("not JSON, unlike the first line", path=path, line=number, expected=_EXPECTED) from error
    candidates = row.get("outputs") if isinstance(row, dict) else row
    if not isinstance(candidates, list) or not all(isinstance(text, str) for text in candidates):
        raise DataError("no list of outputs", path=path, line=number, expected=_EXPECTED)
    return candidates


def _check_inputs(lines: Sequence[tuple[int, str]], items: Sequence[EvalItem], path: Path | str) -> None:
    for (number, line), item in zip(lines, items, strict=True):
        row = json.loads(line)
        given = row.get("input", item.input) if isinstance(row, dict) else item.input
        if " ".join(str(given).split()) != item.input:  # the data's own sentences are read with single spaces
            problem = f"written for another input: {given!r}"
            raise DataError(problem, path=path, line=number, expected=f"{item.input!r}, as in the data")
