"""Every kind of system trains, resumes bit for bit, is saved, loaded, paraphrases and is evaluated; at a tiny shape."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from grammar import Language, say
from safetensors.torch import load_file
from tiny import tiny_overrides
from typer.testing import CliRunner

from parasketch.cli import app
from parasketch.data.prepared import Prepared
from parasketch.errors import UsageError
from parasketch.experiment import make_fabric, run_experiment, set_up, understand
from parasketch.generate.paraphraser import Paraphraser
from parasketch.systems.kinds import KINDS, load_model
from parasketch.train.checkpoint import checkpoints

TRAINED = tuple(kind for kind in KINDS if kind != "sketchlm")  # it has pairs, not a prepared corpus: tests of its own
WITHOUT_SKETCHES = ("ae", "vae", "vqvae", "lbow", "btmpg", "sowreap")


@dataclass(frozen=True)
class Trained:
    kind: str
    run: Path
    dev: Path
    corpus: Prepared

    @property
    def model(self) -> Path:
        return self.run / "last"


def train(kind: str, corpus: Prepared, dev: Path, run: Path) -> None:
    order = understand([kind], preset=None, data=corpus.path)
    experiment = set_up(order, dev=dev, run=run, overrides=tiny_overrides(kind))
    run_experiment(experiment, fabric=make_fabric(accelerator="cpu", devices="1", precision="32-true"), resume=True)


@pytest.fixture(scope="module")
def dev(language: Language, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dev") / "toy" / "dev.jsonl"
    path.parent.mkdir()
    items = [{"input": say(m, f[0]), "references": [say(m, form) for form in f[1:]]} for m, f in language.seen.items()]
    path.write_text("".join(json.dumps(item) + "\n" for item in items[:5]))
    return path


@pytest.fixture(scope="module", params=TRAINED)
def trained(
    request: pytest.FixtureRequest, language_corpus: Prepared, dev: Path, tmp_path_factory: pytest.TempPathFactory
) -> Trained:
    run = tmp_path_factory.mktemp(request.param)
    train(request.param, language_corpus, dev, run)
    return Trained(request.param, run, dev, language_corpus)


def test_it_learns_logs_and_keeps_a_model(trained: Trained) -> None:
    records = [json.loads(line) for line in (trained.run / "metrics.jsonl").read_text().splitlines()]
    steps, looks = ([record for record in records if part in record] for part in ("train", "dev"))
    assert [record["step"] for record in looks] == [10, 20, 30]
    assert all({"bleu", "self_bleu", "ibleu", "nll"} <= set(record["dev"]) for record in looks)
    assert looks[-1]["dev"]["nll"] < looks[0]["dev"]["nll"] or trained.kind == "separator", "its network stays as it is"
    if trained.kind in ("vqvae", "separator"):
        assert {"perplexity", "least_perplexity", "dead_codes"} <= set(steps[-1]["train"])
    config = json.loads((trained.model / "config.json").read_text())
    assert config["kind"] == json.loads((trained.run / "config.json").read_text())["kind"] == trained.kind
    assert (trained.run / "best" / "model.safetensors").is_file()


@pytest.mark.parametrize("kept", [1, 2])
def test_a_resumed_run_equals_one_that_was_not_cut(trained: Trained, tmp_path: Path, kept: int) -> None:
    """Cut after a third, and after two thirds (for Separator: before and after its predictor begins)."""
    cut = tmp_path / "run"
    shutil.copytree(trained.run, cut)
    for path in checkpoints(cut / "checkpoints")[kept:]:
        shutil.rmtree(path)
    train(trained.kind, trained.corpus, trained.dev, cut)
    straight, resumed = (load_file(run / "last" / "model.safetensors") for run in (trained.run, cut))
    assert [name for name, value in straight.items() if not torch.equal(value, resumed[name])] == []


def test_what_is_loaded_is_what_was_trained(trained: Trained) -> None:
    loaded, stored = load_model(trained.model), load_file(trained.model / "model.safetensors")
    assert loaded.kind == trained.kind
    assert not loaded.model.training
    assert all(torch.equal(value, stored[name]) for name, value in loaded.model.state_dict().items())


def test_it_paraphrases(trained: Trained, tmp_path: Path) -> None:
    paraphraser = Paraphraser.from_pretrained(trained.model, device="cpu")
    texts = ["anna sees the dogs", "is it true that ben hears the cats ?"]
    together = paraphraser(texts, n=3)
    assert [len(each) for each in together] == [3, 3]
    assert [one.text for one in paraphraser(texts[1], n=3)] == [one.text for one in together[1]], "company is no matter"
    assert all(isinstance(one.text, str) for one in paraphraser(texts[0], n=2, temperature=1.0, rerank=False))
    paraphraser.save_pretrained(tmp_path / "again")
    again = Paraphraser.from_pretrained(tmp_path / "again", device="cpu")
    assert [one.text for one in again(texts[0], n=3)] == [one.text for one in together[0]]


def test_what_it_cannot_do_is_refused(trained: Trained) -> None:
    paraphraser = Paraphraser.from_pretrained(trained.model, device="cpu")
    if trained.kind in WITHOUT_SKETCHES:
        for form in ({"sketch": (1,)}, {"like": "a horse"}, {"depth": 1}):
            with pytest.raises(UsageError, match=f"cannot be used with this model: the kind {trained.kind} "):
                paraphraser("anna sees the dogs", **form)
        with pytest.raises(UsageError, match="cannot be used with this model"):
            paraphraser.sketch("anna sees the dogs")
    else:
        [found] = paraphraser("anna sees the dogs", like="now ben hears the cats")
        assert found.sketch == paraphraser.sketch("now ben hears the cats")


def test_orders_are_shown_by_who_decides_on_them(trained: Trained) -> None:
    command = ["paraphrase", "anna sees the dogs", "--model", str(trained.model), "-n", "2", "--show-orders"]
    if trained.kind != "sowreap":
        result = CliRunner().invoke(app, command)
        assert "--show-orders cannot be used with this model" in str(result.exception)
        assert all(one.order is None for one in Paraphraser.from_pretrained(trained.model)("anna sees the dogs"))
        return
    shown, as_json = (CliRunner().invoke(app, [*command, *more], catch_exceptions=False) for more in ([], ["--json"]))
    found = Paraphraser.from_pretrained(trained.model)("anna sees the dogs", n=2)
    assert shown.stdout.splitlines() == [f"{one.text}\t{one.order}" for one in found]
    assert [json.loads(line)["order"]["ranks"] for line in as_json.stdout.splitlines()] == [
        list(one.order.ranks) for one in found if one.order is not None
    ]
    assert all(sorted(str(one.order).split()) == ["anna", "dogs", "sees", "the"] for one in found)


def test_it_is_evaluated_and_compared(trained: Trained, tmp_path: Path) -> None:
    ways = ["--plain"] if trained.kind in WITHOUT_SKETCHES else ["--plain", "--oracle", "--own"]
    for model in (trained.kind, "other"):
        command = ["evaluate", "--model", str(trained.model), "--name", model, "--data", str(trained.dev)]
        result = CliRunner().invoke(
            app, [*command, *ways, "--top", "2", "--out", str(tmp_path)], catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
    names = [trained.kind, f"{trained.kind}-plain"]
    if trained.kind not in WITHOUT_SKETCHES:
        names += [f"{trained.kind}-oracle", f"{trained.kind}-own-sketch", f"{trained.kind}-plain-oracle"]
    assert {path.name for path in tmp_path.glob(f"{trained.kind}*")} == {f"{name}-toy-dev" for name in names}
    results = [str(tmp_path / f"{name}-toy-dev") for name in (trained.kind, "other")]
    shown = CliRunner().invoke(app, ["compare", *results, "--format", "csv"], catch_exceptions=False)
    assert shown.exit_code == 0
    assert len(shown.stdout.splitlines()) == 3


def test_every_kind_is_listed_with_a_line() -> None:
    lines = CliRunner().invoke(app, ["systems"]).stdout.splitlines()
    assert [line.split()[0] for line in lines][: len(KINDS)] == list(KINDS)
    assert all(len(line.split()) > 3 for line in lines)
