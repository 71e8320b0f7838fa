"""scripts/tune_rerank.py: its arithmetic must be that of the choice itself."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from parasketch.data.corpora import EvalItem
from parasketch.evaluate.metrics import bleu_measures, count
from parasketch.generate.candidates import FEATURES
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.settings import GenerateConfig, RerankWeights
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

from .conftest import SENTENCES

SCRIPT = Path(__file__).parents[2] / "scripts" / "tune_rerank.py"
ITEMS = [EvalItem(text, (other, "a moose")) for text, other in zip(SENTENCES[::5], SENTENCES[1::5], strict=False)]


@pytest.fixture(scope="module")
def tune() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tune_rerank", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("finalists", [2, 100])
def test_a_tables_ibleu_is_that_of_real_outputs(
    tune: ModuleType, model: HRQVAE, tokenizer: Tokenizer, finalists: int
) -> None:
    inputs = [item.input for item in ITEMS]
    for seed in range(3):
        values = np.random.default_rng(seed).random(len(FEATURES)).round(3)
        weights = RerankWeights(**dict(zip(FEATURES, values.tolist(), strict=True)))
        config = GenerateConfig(max_tokens=10, sketches=3, finalists=finalists, weights=weights)
        paraphraser = Paraphraser.from_model(model, tokenizer, config=config)
        table = tune.make_table(ITEMS, paraphraser.candidates(inputs), finalists)
        counts = count(inputs, [item.references for item in ITEMS], [[each[0].text] for each in paraphraser(inputs)])
        [expected] = [measure.value() for measure in bleu_measures(counts) if measure.name == "ibleu"]
        assert table.ibleu(values) == pytest.approx(expected)


def planted(tune: ModuleType, items: int = 40, candidates: int = 6) -> tuple[Any, int]:
    """Candidates of which one feature tells the right one, another the one whose meaning is closest."""
    random = np.random.default_rng(0)
    features = random.normal(size=(items, candidates, len(FEATURES)))
    right, close = random.integers(candidates, size=(2, items))
    features[:, :, FEATURES.index("semantic")] = np.eye(candidates)[close]
    features[:, :, FEATURES.index("cycle")] += 5 * np.eye(candidates)[right]
    features[:, :, FEATURES.index("consensus")] += 5 * np.eye(candidates)[close]
    counts = np.tile([8, 8, 2, 1, 1, 1, 8, 7, 6, 5] * 2, (items, candidates, 1)).astype(np.float64)
    counts[np.arange(items), right, 2:6] = [8, 7, 6, 5]  # equal to a reference; all are as far from the input
    return tune.Table(features, np.zeros((items, candidates)), counts, 100), right


def test_the_fit_finds_what_tells_the_right_candidate(tune: ModuleType) -> None:
    table, right = planted(tune)
    start = np.ones(len(FEATURES))
    fitted = [place for place, name in enumerate(FEATURES) if name not in ("lost", "semantic")]
    start[FEATURES.index("semantic")], start[FEATURES.index("lost")] = 0.0, 0.2
    weights = tune.fit(table, start, fitted, steps=150)
    assert (table.choose(weights) == right).mean() > 0.9 > (table.choose(start) == right).mean()
    assert weights[FEATURES.index("lost")] == 0.2
    assert weights[FEATURES.index("semantic")] == 0.0
    without_rest = [place for place in range(len(FEATURES)) if place not in fitted]
    own = table.features @ np.where(np.isin(np.arange(len(FEATURES)), without_rest), 0.0, weights)
    assert (own - own.mean(axis=1, keepdims=True)).std() == pytest.approx(1, rel=0.05)


def test_meaning_can_be_paid_for(tune: ModuleType) -> None:
    table, _ = planted(tune)
    start = np.zeros(len(FEATURES))
    fitted = [FEATURES.index("cycle"), FEATURES.index("consensus")]
    greedy, close = tune.fit(table, start, fitted, 150), tune.fit(table, start, fitted, 150, meaning=1000.0)
    assert table.cosine(close) > table.cosine(greedy) + 0.3
    assert table.ibleu(close) < table.ibleu(greedy)


def test_items_of_clusters_have_the_other_members_as_references(tune: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    clusters = [["a b", "c d", "e f"], ["alone"], ["g", "g", "h"]]
    path.write_text("".join(json.dumps({"sentences": each}) + "\n" for each in clusters))
    items = tune.items_of_clusters(str(path), 10, seed=0)
    assert sorted(sorted([item.input, *item.references]) for item in items) == [["a b", "c d", "e f"], ["g", "h"]]
    assert tune.items_of_clusters(str(path), 10, seed=0) == items
    assert len(tune.items_of_clusters(str(path), 1, seed=0)) == 1


def test_the_result_is_stored_with_the_model(
    tune: ModuleType, make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    config = GenerateConfig(max_tokens=8, sketches=2, beam=2)
    Paraphraser.from_model(make_model(), tokenizer, config=config).save_pretrained(tmp_path / "model")
    before = json.loads((tmp_path / "model" / "config.json").read_text())
    data = tmp_path / "dev.jsonl"
    data.write_text("".join(json.dumps({"input": each.input, "references": each.references}) + "\n" for each in ITEMS))
    arguments = [
        str(tmp_path / "model"),
        "--data",
        str(data),
        "--check",
        str(data),
        "--steps",
        "20",
        "--own-code-penalty",
        "0.5",
        "--sketches",
        "3",
    ]
    tuned = tune.main([*arguments, "--write"])
    after = json.loads((tmp_path / "model" / "config.json").read_text())
    assert after["model"] == before["model"]
    assert after["generate"]["weights"] == {name: getattr(tuned.weights, name) for name in FEATURES}
    assert (tuned.sketches, tuned.beam, tuned.weights.semantic) == (3, 2, config.weights.semantic)
    assert Paraphraser.from_pretrained(tmp_path / "model")("where do whales live?")
    assert replace(tuned, weights=config.weights) == replace(config, sketches=3, own_code_penalty=0.5)
