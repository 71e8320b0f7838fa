"""`parasketch.ray.Paraphrase` on the batches of Ray Data and Spark, without either."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bulk.shouting import ShoutingJob

import parasketch.ray
from parasketch.errors import UsageError
from parasketch.ray import Paraphrase


@pytest.fixture
def paraphrase(monkeypatch: pytest.MonkeyPatch) -> Paraphrase:
    monkeypatch.setattr(parasketch.ray, "Job", ShoutingJob)
    return Paraphrase(n=2)


def check(rows: list[dict[str, Any]]) -> None:
    assert [[each["text"] for each in row["paraphrases"]] for row in rows] == [["A 1", "A 2"], []]
    assert [row["id"] for row in rows] == [1, 2]
    assert [row["problem"] for row in rows] == [None, "has no text"]


def test_arrays(paraphrase: Paraphrase) -> None:
    found = paraphrase({"id": np.array([1, 2]), "text": np.array(["a", None], dtype=object)})
    check([{name: found[name][place] for name in found} for place in range(2)])


def test_data_frames(paraphrase: Paraphrase) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    found = paraphrase(pandas.DataFrame({"id": [1, 2], "text": ["a", None]})).astype({"problem": object})
    check(found.where(found.notna(), None).to_dict("records"))


def test_tables(paraphrase: Paraphrase) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    check(paraphrase(pyarrow.table({"id": [1, 2], "text": ["a", None]})).to_pylist())


def test_columns_are_found_and_never_overwritten(paraphrase: Paraphrase) -> None:
    with pytest.raises(UsageError, match="no column 'text'"):
        paraphrase({"question": np.array(["a"])})
    with pytest.raises(UsageError, match="there is a column 'problem' already"):
        paraphrase({"text": np.array(["a"]), "problem": np.array(["b"])})


def test_the_page_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.setattr(parasketch.ray, "Job", ShoutingJob)
    page = (Path(__file__).parents[1] / "docs" / "spark.md").read_text()
    names: dict[str, Any] = {}
    exec(page.split("```python")[1].split("```")[0], names)
    frames = [pandas.DataFrame({"id": [number], "text": [text]}) for number, text in enumerate("ab")]
    found = pandas.concat(names["paraphrase"](iter(frames)))
    assert list(found.columns) == [part.split()[0] for part in names["SCHEMA"].split(", ")]
    assert found["paraphrases"].tolist() == [["A 1", "A 2"], ["B 1", "B 2"]]
