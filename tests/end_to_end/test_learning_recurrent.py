"""Do LBoW and BTmPG learn? On the short forms of a language whose meanings are known, in seconds each.

Each has a bar that the same training without what it is about misses.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from grammar import FORMS, MEANINGS, Language, Meaning, prepare_language, read, say
from lightning_fabric import Fabric

from parasketch.config import load_config
from parasketch.data.prepared import Prepared
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, Request
from parasketch.generate.settings import GenerateConfig
from parasketch.systems.btmpg.engine import BtmpgEngine
from parasketch.systems.btmpg.task import BtmpgTask
from parasketch.systems.kinds import task_class
from parasketch.systems.lbow.engine import LbowEngine
from parasketch.systems.lbow.task import LbowTask
from parasketch.train.loop import train

CPU = torch.device("cpu")
ALL = "train.batch_size=32 train.learning_rate=0.005 train.evaluations=1 model.dropout=0 model.token_dropout=0.1"
LBOW = f"{ALL} train.steps=150 model.width=64"
BTMPG = f"""{ALL} train.steps=240 model.width=48 model.lstm_width=48 model.latent=8 model.back_ff=96
            model.back_layers=1 train.second_round_at=0.4"""


@pytest.fixture(scope="module")
def language() -> Language:
    rng = random.Random(0)
    short = [form for form in FORMS if form.coarse < 3 and form.detail < 2]
    return Language({meaning: rng.sample(short, 4) for meaning in rng.sample(MEANINGS, 200)})


@pytest.fixture(scope="module")
def corpus(language: Language, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare_language(tmp_path_factory.mktemp("short"), language)


@pytest.fixture(scope="module")
def inputs(language: Language) -> list[tuple[Meaning, str]]:
    return [(meaning, say(meaning, forms[0])) for meaning, forms in language.seen.items()][:100]


def learn(kind: str, settings: str, corpus: Prepared, run: Path) -> LbowTask | BtmpgTask:
    task_type = task_class(kind)
    task = task_type(load_config(task_type.config_type, kind, "small", settings.split()), corpus)  # type: ignore[call-arg]
    train(task, run, fabric=Fabric(accelerator="cpu", devices=1))
    assert isinstance(task, LbowTask | BtmpgTask)
    task.network.eval()
    return task


def kept(outputs: Sequence[str], inputs: Sequence[tuple[Meaning, str]]) -> list[bool]:
    """Whether each output is a sentence of the language with the meaning of its input."""
    found = [read(output) for output in outputs]
    return [each is not None and each[0] == meaning for each, (meaning, _) in zip(found, inputs, strict=True)]


def named_and_kept(settings: str, corpus: Prepared, inputs: list[tuple[Meaning, str]], run: Path) -> float:
    """The share of inputs whose greedy paraphrase keeps the meaning and whose bag names who does what to whom."""
    task = learn("lbow", settings, corpus, run)
    engine = LbowEngine(task.network, task.tokenizer, GenerateConfig(beam=1), device=CPU)
    texts = engine.prepare([text for _, text in inputs])
    with torch.inference_mode():
        found = engine.find([Request(text=text, prefix=Sketch()) for text in texts], Options())
    outputs = task.tokenizer.decode_batch([each[0].hypothesis.tokens for each in found])
    named = [
        {meaning.who, meaning.does, meaning.whom} <= {one.word for one in bag}
        for bag, (meaning, _) in zip(engine.bags(texts), inputs, strict=True)
    ]
    return float(np.mean([a and b for a, b in zip(kept(outputs, inputs), named, strict=True)]))


def test_lbow_plans_and_says(corpus: Prepared, inputs: list[tuple[Meaning, str]], tmp_path: Path) -> None:
    """The bar: for 4 of 5 inputs the bag names the words and the paraphrase keeps the meaning."""
    assert named_and_kept(LBOW, corpus, inputs, tmp_path / "whole") >= 0.8
    assert named_and_kept(f"{LBOW} train.bag_weight=0", corpus, inputs, tmp_path / "without") < 0.4


def rounds_and_back(
    settings: str, corpus: Prepared, inputs: list[tuple[Meaning, str]], run: Path
) -> tuple[float, float]:
    """The share of inputs whose meaning the tenth round keeps; and what the second round's own words leave unsaid of
    the source, by the back model, in nats a token."""
    task = learn("btmpg", settings, corpus, run)
    engine = BtmpgEngine(task.network, task.tokenizer, GenerateConfig(beam=1), device=CPU)
    last = engine.write(engine.prepare([text for _, text in inputs]), rounds=10, seed=0)[-1]
    with torch.no_grad():
        torch.manual_seed(0)
        output = task.network(task.examples().batch(99, np.arange(100)), sharpness=10.0)
    return float(np.mean(kept(last, inputs))), -float(output.back_again.mean())


def test_btmpg_keeps_the_meaning_over_rounds(
    corpus: Prepared, inputs: list[tuple[Meaning, str]], tmp_path: Path
) -> None:
    """The bar: ten rounds keep the meaning, and the source can be got back from the second at 0.75 nats a token."""
    meaning, unsaid = rounds_and_back(BTMPG, corpus, inputs, tmp_path / "whole")
    assert meaning >= 0.9
    assert unsaid <= 0.75
    assert rounds_and_back(f"{BTMPG} train.back_weight=0", corpus, inputs, tmp_path / "without")[1] > 0.85
