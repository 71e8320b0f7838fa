"""Results directories: what is kept, that it comes back whole, and that damage is named."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parasketch.errors import DataError, UsageError
from parasketch.evaluate.outputs import read_outputs
from parasketch.evaluate.results import EvalData, Results, collect
from parasketch.evaluate.scoring import Scorer

ROWS = [
    {"input": "how heavy is a moose?", "references": ["what does a moose weigh?"]},
    {"input": "who?", "references": ["who", "whom"]},
]
OUTPUTS = [["what is a moose?", ""], ["who is it?", "who 2"]]


@pytest.fixture
def data(tmp_path: Path) -> EvalData:
    path = tmp_path / "questions" / "test.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()))
    return EvalData.read(path)


@pytest.fixture
def results(data: EvalData) -> Results:
    evaluation = Scorer(resamples=10).evaluate(data.items, OUTPUTS)
    return collect(
        evaluation, data, system="my [best] system", alpha=0.8, command="parasketch evaluate", seed=4, seconds=1.5
    )


def test_data_is_known_by_its_name_and_content(data: EvalData, tmp_path: Path) -> None:
    assert data.name == "questions/test"
    again = tmp_path / "plain.jsonl"
    again.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert EvalData.read(again).sha256 == data.sha256  # the content counts, not the compression
    assert EvalData.read(again, limit=1).sha256 != data.sha256
    assert len(EvalData.read(again, limit=1).items) == 1


def test_results_come_back_as_they_were(results: Results, data: EvalData, tmp_path: Path) -> None:
    directory = results.save(tmp_path / "out", data.items, OUTPUTS)
    assert directory.name == "my-best-system-questions-test"
    for path in (directory, directory / "results.json"):
        loaded = Results.load(path)
        assert loaded.scores == results.scores
        assert np.array_equal(loaded.counts.bleu, results.counts.bleu)
        assert np.array_equal(loaded.counts.self_bleu, results.counts.self_bleu)
        assert (loaded.system, loaded.seed, loaded.seconds, loaded.empty_outputs) == ("my [best] system", 4, 1.5, 1)
    assert read_outputs(directory / "outputs.jsonl", data.items) == OUTPUTS


def test_the_file_tells_what_made_the_numbers(results: Results, data: EvalData, tmp_path: Path) -> None:
    fields = json.loads((results.save(tmp_path, data.items, OUTPUTS) / "results.json").read_text())
    assert fields["data_sha256"] == data.sha256
    assert fields["command"] == "parasketch evaluate"
    assert {"parasketch", "sacrebleu", "numpy", "python"} <= set(fields["versions"])
    assert "alpha:0.8" in fields["scores"]["ibleu"]["signature"]


def test_saving_replaces_old_results_but_nothing_else(results: Results, data: EvalData, tmp_path: Path) -> None:
    results.save(tmp_path, data.items, OUTPUTS)
    directory = results.save(tmp_path, data.items, OUTPUTS)
    assert sorted(path.name for path in directory.iterdir()) == ["outputs.jsonl", "results.json", "statistics.npz"]
    (directory / "results.json").unlink()
    with pytest.raises(UsageError, match="exists and holds no results; it is not overwritten"):
        results.save(tmp_path, data.items, OUTPUTS)


def test_results_of_another_model_are_not_overwritten(results: Results, data: EvalData, tmp_path: Path) -> None:
    first, second = replace(results, model_sha256="aa"), replace(results, model_sha256="bb")
    directory = first.save(tmp_path, data.items, OUTPUTS)
    before = (directory / "results.json").read_bytes()
    with pytest.raises(UsageError, match="holds the results of another model; they are not overwritten"):
        second.save(tmp_path, data.items, OUTPUTS)
    assert (directory / "results.json").read_bytes() == before
    first.save(tmp_path, data.items, OUTPUTS)


def test_damage_is_named(results: Results, data: EvalData, tmp_path: Path) -> None:
    directory = results.save(tmp_path, data.items, OUTPUTS)
    file, statistics = directory / "results.json", directory / "statistics.npz"
    good = file.read_text()

    file.write_text(good.replace('"items": 2', '"items": 3'))
    with pytest.raises(DataError, match=r"statistics\.npz: holds counts of shape \(2, 2, 10\)"):
        Results.load(directory)
    file.write_text(good.replace('"alpha"', '"beta"'))
    with pytest.raises(DataError, match="is incomplete or was changed"):
        Results.load(directory)
    file.write_text("{}")
    with pytest.raises(DataError, match="holds no results of format parasketch-results-1"):
        Results.load(directory)
    file.write_text(good[:50])
    with pytest.raises(DataError, match=r"results\.json: is not JSON"):
        Results.load(directory)
    file.write_text(good)
    statistics.write_bytes(statistics.read_bytes()[:100])
    with pytest.raises(DataError, match=r"statistics\.npz: cannot be read"):
        Results.load(directory)
    with pytest.raises(DataError, match=r"cannot be read: No such file.*`parasketch evaluate` wrote"):
        Results.load(tmp_path / "nowhere")
