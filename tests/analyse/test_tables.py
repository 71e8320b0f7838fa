"""Tables of sentences."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parasketch.analyse.tables import example_table, granularity_table, sketch_table
from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Sketch


@dataclass
class Said:
    sketch: Sketch
    text: str


class Echo:
    """A paraphraser that says what it was asked."""

    depth = 2

    def __call__(self, text: str, *, n: int = 1, rerank: bool, like: str | None = None, depth: int = 2) -> list[Said]:
        assert not rerank
        return [Said(Sketch([9 - place, 0][:depth]), f"{text} {like}") for place in range(n)]

    def sketch(self, text: str) -> Sketch:
        return Sketch([len(text), 0])


def test_one_input_in_many_sketches() -> None:
    table = sketch_table(Echo(), "ab", n=3)  # type: ignore[arg-type]
    assert table.own == [2, 0]
    assert [said.sketch for said in table.said] == [[7, 0], [8, 0], [9, 0]]


def test_an_exemplar_code_by_code() -> None:
    table = granularity_table(Echo(), "ab", "cd")  # type: ignore[arg-type]
    assert [said.sketch for said in table.said] == [[], [9], [9, 0]]
    assert {said.text for said in table.said} == {"ab cd"}


def test_one_item_in_all_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Loaded:
        system: str
        data: str

    load: Callable[[Path], Any] = lambda path: Loaded(path.name, "toy/test")  # noqa: E731
    monkeypatch.setattr("parasketch.evaluate.results.Results.load", load)
    for system in ("copy", "ae"):
        (tmp_path / system).mkdir()
        rows = [{"input": f"item {place}", "outputs": [f"{system} {place}"]} for place in range(2)]
        (tmp_path / system / "outputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [table] = example_table([tmp_path / "copy", tmp_path / "ae"], item=1)
    assert (table.data, table.text) == ("toy/test", "item 1")
    assert table.outputs == {"copy": "copy 1", "ae": "ae 1"}
    with pytest.raises(UsageError, match="there is no item 2"):
        example_table([tmp_path / "copy"], item=2)
