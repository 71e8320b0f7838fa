"""From what the user names to a model directory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from grammar import Language, write_clusters
from safetensors import SafetensorError
from tiny import MODEL

from parasketch.config import preset_names
from parasketch.errors import DataError, UsageError
from parasketch.experiment import Experiment, Order, make_fabric, run_experiment, set_up, understand
from parasketch.generate.paraphraser import Paraphraser
from parasketch.systems.corpus import CorpusTask

KEYS = """width heads ff encoder_layers decoder_layers meaning_width form_width form_heads codes predictor_width
          predictor_heads predictor_hidden copy_width"""
TINY = [f"model.{key}={getattr(MODEL, key)}" for key in KEYS.split()]
TINY += ["train.steps=3", "train.batch_size=8", "train.evaluations=1", "train.evaluation_items=4"]

SetUp = Callable[..., Experiment]


@pytest.fixture
def clusters(tmp_path: Path, language: Language) -> Path:
    return write_clusters(tmp_path / "clusters.jsonl", language.clusters())


@pytest.fixture
def begin(tmp_path: Path) -> SetUp:
    def begin(words: str, *overrides: str, data: Path | None = None, dev: Path | None = None) -> Experiment:
        changes = [*TINY, "data.vocab_size=300", *overrides]
        order = understand(words.split(), preset=None, data=data)
        return set_up(order, dev=dev, run=tmp_path / "run", overrides=changes)

    return begin


def corpus_task(experiment: Experiment) -> CorpusTask[Any]:
    assert isinstance(experiment.task, CorpusTask)
    return experiment.task


def run(experiment: Experiment, *, resume: bool = True) -> Path:
    fabric = make_fabric(accelerator="cpu", devices="1", precision="32-true")
    return run_experiment(experiment, fabric=fabric, resume=resume)


def test_clusters_alone_become_a_model(begin: SetUp, clusters: Path, tmp_path: Path) -> None:
    experiment = begin(str(clusters))
    task = corpus_task(experiment)
    assert (len(task.dev), task.prepared.num_clusters) == (2, 18)
    assert task.config.model.vocab_size == task.prepared.tokenizer.vocab_size
    best = run(experiment)
    assert best == tmp_path / "run" / "best"
    names = {"best", "last", "checkpoints", "config.json", "corpus.json", "metrics.jsonl", "prepared", "split"}
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == names
    sections = json.loads((best / "config.json").read_text())
    assert sections["train"]["steps"] == 3
    assert set(sections["dev"]) >= {"ibleu", "nll", "oracle_3"}
    assert Paraphraser.from_pretrained(best).depth == Paraphraser.from_pretrained(best.parent / "last").depth == 3


@pytest.mark.parametrize("preset", preset_names("hrqvae"))
def test_every_preset_runs(begin: SetUp, clusters: Path, preset: str, fixtures: Path) -> None:
    changes = {
        "paper": [f"data.bert_vocab={fixtures / 'bert-mini-vocab.txt'}", "model.meaning_width=8", "train.accumulate=2"],
    }
    experiment = begin(preset, *changes.get(preset, []), data=clusters)
    assert not corpus_task(experiment).config.model.frozen_embeddings, "none were given"
    assert run(experiment).is_dir()


def test_a_prepared_corpus_with_and_without_dev_items(begin: SetUp, clusters: Path, tmp_path: Path) -> None:
    first = corpus_task(begin(str(clusters)))
    second = corpus_task(begin("small", data=first.prepared.path, dev=tmp_path / "run" / "split" / "dev.jsonl"))
    assert (second.prepared.path, second.dev) == (first.prepared.path, first.dev)
    for steps in (3, 4):  # a longer run goes on, and its end is the best again
        best = run(begin("hrqvae", f"train.steps={steps}", data=first.prepared.path))
        assert (best / "model.safetensors").read_bytes() == (best.parent / "last" / "model.safetensors").read_bytes()


def test_a_model_says_how_its_corpus_was_prepared(begin: SetUp, clusters: Path) -> None:
    """Not what the preset would have done."""
    prepared = corpus_task(begin(str(clusters), "data.templates=pos", "data.max_tokens=40")).prepared
    best = run(begin("small", "data.vocab_size=4000", "data.max_pairs=3", data=prepared.path))
    data = json.loads((best / "config.json").read_text())["data"]
    assert (data["templates"], data["max_tokens"], data["vocab_size"]) == ("pos", 40, prepared.tokenizer.vocab_size)
    assert (data["tagger"], data["max_pairs"]) == (prepared.manifest["settings"]["tagger"], 3)


def test_a_run_of_another_system_does_not_go_on(begin: SetUp, clusters: Path, tmp_path: Path) -> None:
    run(begin(str(clusters)))
    note = tmp_path / "run" / "config.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"kind": "lstm"}))
    with pytest.raises(UsageError, match=r"run holds a run of lstm, not of hrqvae: choose another --out"):
        begin(str(clusters))


def test_words_are_told_apart() -> None:
    prepared = Path("prepared")
    for words in ([], ["small"], ["hrqvae"], ["hrqvae", "small"]):
        assert understand(words, preset=None, data=prepared) == Order(system="hrqvae", preset="small", data=prepared)
    assert understand(["hrqvae", "mine.yaml"], preset=None, data=None).preset == "mine.yaml"
    assert understand(["hrqvae", "my.jsonl"], preset="paper", data=None) == Order(
        system="hrqvae", preset="paper", data=Path("my.jsonl")
    )
    with pytest.raises(UsageError, match=r"small and --preset paper: give one of them"):
        understand(["small"], preset="paper", data=prepared)
    with pytest.raises(UsageError, match=r"hrqvae small more: expected a system \(ae, .*\) and one preset or file"):
        understand(["hrqvae", "small", "more"], preset=None, data=prepared)


@pytest.mark.parametrize(
    ("source", "data", "message"),
    [
        ("small", None, "--data is missing"),
        ("smal", "clusters.jsonl", r"smal: with --data, expected a preset \(captions, fine, paper, small\) or a YAML"),
        ("nothing.jsonl", None, r"nothing.jsonl: no such file"),
        ("small", "nothing", r"nothing: no such file"),
    ],
)
def test_commands_that_make_no_sense(begin: SetUp, clusters: Path, source: str, data: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        begin(source, data=None if data is None else clusters.parent / data)


def test_bad_data(begin: SetUp, tmp_path: Path) -> None:
    one = write_clusters(tmp_path / "one.jsonl", [["only one sentence"]])
    with pytest.raises(UsageError, match=r"one.jsonl: too few clusters to set some aside for dev"):
        begin(str(one))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match=r"empty.jsonl: is empty"):
        begin(str(tmp_path / "empty.jsonl"))
    (tmp_path / "bad.jsonl").write_text('{"sentences": ["a", "b"]}\n{"sentences": 3}\n')
    with pytest.raises(DataError, match=r"bad.jsonl:2: "):
        begin(str(tmp_path / "bad.jsonl"))


def test_dev_without_items(begin: SetUp, clusters: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.jsonl").write_text("\n")
    with pytest.raises(DataError, match=r"dev.jsonl: is empty"):
        begin(str(clusters), dev=tmp_path / "dev.jsonl")


def test_a_run_goes_on_with_the_corpus_it_began_with(begin: SetUp, clusters: Path, language: Language) -> None:
    run(begin(str(clusters)))
    with pytest.raises(UsageError, match="run holds a run already: choose another --out, or --resume auto"):
        run(begin(str(clusters)), resume=False)
    with pytest.raises(UsageError, match="run holds a run on another corpus, or with other data settings"):
        begin(str(clusters), "data.vocab_size=310")
    begin(str(clusters), "data.template_dropout=0", "data.max_pairs=3")  # how triples are drawn may change
    write_clusters(clusters, language.clusters()[1:])
    with pytest.raises(UsageError, match="run holds a run on another corpus"):
        begin(str(clusters))


def test_a_corpus_prepared_otherwise_is_no_corpus(begin: SetUp, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder: not a prepared corpus of this version"):
        begin("small", data=tmp_path / "folder", dev=tmp_path / "dev.jsonl")


def test_embeddings_that_are_given_stay_frozen(begin: SetUp, clusters: Path) -> None:
    experiment = begin("small", "model.frozen_embeddings=true", "train.embeddings=some.safetensors", data=clusters)
    assert corpus_task(experiment).config.model.frozen_embeddings


@pytest.mark.parametrize(("accelerator", "devices"), [("gpuu", "1"), ("cpu", "many")])
def test_hardware_that_is_not_there(accelerator: str, devices: str) -> None:
    with pytest.raises(UsageError, match=f"--accelerator {accelerator} --devices {devices}: "):
        make_fabric(accelerator=accelerator, devices=devices, precision="32-true")


def test_a_full_disk_while_the_best_model_is_saved(
    begin: SetUp, clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("parasketch.model.storage.save_file", full)
    with pytest.raises(DataError, match=r"best: cannot be written: .*No space left on device"):
        run(begin(str(clusters)))
