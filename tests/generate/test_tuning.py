"""scripts/tune_rerank.py: its arithmetic must be that of the choice itself."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from parasketch.data.corpora import EvalItem
from parasketch.evaluate.metrics import bleu_measures, count
from parasketch.generate.candidates import FEATURES
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.settings import GenerateConfig, RerankWeights
from parasketch.model.hrqvae import HRQVAE
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


def test_the_search_finds_a_better_setting(tune: ModuleType) -> None:
    wanted = np.array([0.5, 2.0, 0.0, 4.0, 8.0, 1.0, 0.3, 2.0, 0.0])

    def score(weights: np.ndarray) -> float:
        return -float(np.abs(weights - wanted).sum())

    names = [name for name in FEATURES if name not in ("cycle", "semantic")]
    start = np.where([name in names for name in FEATURES], 1.0, 0.0)
    start[FEATURES.index("lost")] = 0.7
    names.remove("lost")
    found = tune.search(score, start, names, trials=200, seed=0)
    assert score(found) > 0.2 * score(start)
    assert found[FEATURES.index("cycle")] == found[FEATURES.index("semantic")] == 0
    assert found[FEATURES.index("lost")] == 0.7


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
        "--trials",
        "20",
        "--penalties",
        "0,0.5",
        "--sketches",
        "3",
    ]
    tuned = tune.main([*arguments, "--write"])
    after = json.loads((tmp_path / "model" / "config.json").read_text())
    assert after["model"] == before["model"]
    assert after["generate"]["weights"] == {name: getattr(tuned.weights, name) for name in FEATURES}
    assert (tuned.sketches, tuned.beam, tuned.weights.semantic) == (3, 2, config.weights.semantic)
    assert Paraphraser.from_pretrained(tmp_path / "model")("where do whales live?")
    assert replace(tuned, weights=config.weights, own_code_penalty=0.2) == replace(config, sketches=3)
