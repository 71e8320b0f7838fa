"""Does it learn? A language in which the order of words tells forms apart, from clusters to paraphrases.

In 2 of the 6 coarse forms `whom` is said before `who`. REAP has to say meanings that it knows with both in the order
that is wanted: 85 % of 100 outputs have the right meaning and that order. Shuffled orders miss this bar: with them it
says the right meaning, too, in whichever order.
"""

import random
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from grammar import FORMS, Form, GrammarParser, GrammarVectors, Language, Meaning, prepare_language, read, say

from parasketch.config import load_config
from parasketch.data.records import EvalItem
from parasketch.experiment import Experiment, make_fabric, run_experiment
from parasketch.generate.paraphraser import Paraphraser
from parasketch.systems.dev import DevItems
from parasketch.systems.sowreap.annotate import token_weights
from parasketch.systems.sowreap.config import SowReapConfig
from parasketch.systems.sowreap.dev import OrderedDev
from parasketch.systems.sowreap.network import SowReap
from parasketch.systems.sowreap.orders import aligned_places, token_ranks, word_order
from parasketch.systems.sowreap.reading import Reader, Reading
from parasketch.systems.sowreap.task import SowReapTask
from parasketch.systems.sowreap.vectors import similarities

SETTINGS = """
    model.width=64 model.ff=128 model.encoder_layers=1 model.decoder_layers=1 model.sow_layers=1
    train.steps=400 train.batch_size=32 train.learning_rate=0.004 train.evaluations=1
"""
BAR = 0.85


@dataclass(frozen=True)
class Item:
    meaning: Meaning
    source: str
    form: Form
    """The form of the target."""


@dataclass(frozen=True)
class Learnt:
    network: SowReap
    paraphraser: Paraphraser
    items: list[Item]
    readings: list[tuple[Reading, Reading]]
    dev: OrderedDev

    def score(self, orders: list[list[int]]) -> float:
        """The share of outputs with the right meaning and the wanted order."""
        ranks = [token_ranks(order, source.owners) for order, (source, _) in zip(orders, self.readings, strict=True)]
        with torch.inference_mode():
            outputs = self.dev.write(self.network, ranks)
        return sum(map(is_right, outputs, self.items)) / len(self.items)


def says_whom_first(form: Form) -> bool:
    return form.coarse in (2, 3)


def is_right(output: str, item: Item) -> bool:
    found = read(output)
    return found is not None and found[0] == item.meaning and says_whom_first(found[1]) == says_whom_first(item.form)


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Learnt:
    directory, rng = tmp_path_factory.mktemp("learning"), random.Random(3)
    language = Language.sample(meanings=200, forms=4)
    prepared = prepare_language(directory, language)
    task = SowReapTask(load_config(SowReapConfig, "sowreap", "small", SETTINGS.split()), prepared)
    fabric = make_fabric(accelerator="cpu", devices="1", precision="32-true")
    best = run_experiment(Experiment(task=task, run=directory / "run"), fabric=fabric, resume=False)
    items = [
        Item(meaning, say(meaning, rng.choice(seen)), rng.choice([form for form in FORMS if form not in seen]))
        for meaning, seen in list(language.seen.items())[:100]
    ]
    texts, reader = [(item.source, say(item.meaning, item.form)) for item in items], partial(read_text, task)
    readings = [(reader(source), reader(target)) for source, target in texts]
    dev = DevItems([EvalItem(source, (target,)) for source, target in texts], task.tokenizer, max_length=60)
    weights, tags = token_weights(prepared), task.config.model.tag_names
    ordered = OrderedDev(dev, Reader(task.tokenizer, GrammarParser()), GrammarVectors(), weights, tags)
    return Learnt(task.network.eval(), Paraphraser.from_pretrained(best), items, readings, ordered)


def read_text(task: SowReapTask, text: str) -> Reading:
    [reading] = Reader(task.tokenizer, GrammarParser())([text], [task.tokenizer.encode(text)])
    assert reading is not None
    return reading


def order_in(source: Reading, target: Reading) -> list[int]:
    first, second = GrammarVectors().of([source, target])
    words = similarities(first, second, shape=(len(source.parse), len(target.parse)))
    return word_order(source.parse, aligned_places(words))


def test_reap_follows_orders(learnt: Learnt) -> None:
    orders, rng = [order_in(source, target) for source, target in learnt.readings], random.Random(4)
    shuffled = [rng.sample(order, len(order)) for order in orders]
    assert learnt.score(orders) >= BAR
    assert learnt.score(shuffled) < BAR - 0.1


def test_paraphrases_keep_the_meaning_and_follow_the_orders_that_sow_found(learnt: Learnt) -> None:
    found = learnt.paraphraser([item.source for item in learnt.items[:40]], n=2)
    right, followed = 0, []
    for item, paraphrases in zip(learnt.items, found, strict=False):
        for one in paraphrases:
            meaning_and_form = read(one.text)
            right += meaning_and_form is not None and meaning_and_form[0] == item.meaning
            if meaning_and_form is not None and one.order is not None:
                said = dict(zip(one.order.words, one.order.ranks, strict=True))
                whom_first = said[item.meaning.whom] < said[item.meaning.who]
                followed.append(whom_first == says_whom_first(meaning_and_form[1]))
    assert right >= 0.9 * 80
    assert sum(followed) >= 0.8 * len(followed)
    orders = [one.order for paraphrases in found for one in paraphrases]
    assert any(order is not None and list(order.ranks) != sorted(order.ranks) for order in orders), "SOW rewrote some"


def test_any_text_gets_a_result(learnt: Learnt) -> None:
    for text in ("anna sees the dogs " * 40, "?!", "Zwölf Boxkämpfer jagen Viktor.", "a"):
        [one] = learnt.paraphraser(text)
        assert one.text
