"""Does it learn? A language whose meanings and forms are known, from clusters to paraphrases, in under a minute.

The model sees each meaning in 6 of the 18 forms. It has to say meanings in forms it never saw them in.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from grammar import COARSE, FORMS, MEANINGS, Form, Language, Meaning, prepare_language, read, say

from parasketch.data.records import EvalItem
from parasketch.experiment import Experiment, make_fabric, run_experiment
from parasketch.generate.paraphraser import Paraphraser
from parasketch.systems.hrqvae.config import load_preset
from parasketch.systems.hrqvae.task import HrqVaeTask

SETTINGS = """
    model.width=64 model.ff=128 model.encoder_layers=1 model.decoder_layers=1 model.meaning_width=64 model.form_width=32
    model.codes=8 model.predictor_width=64 model.predictor_hidden=64 model.copy_width=32
    data.template_dropout=0 train.steps=1000 train.batch_size=32 train.learning_rate=0.004 train.kmeans_at=0.1
    train.evaluations=2 train.evaluation_items=50 train.select_by=loss
"""


@dataclass(frozen=True)
class Task:
    """Say the source's meaning in the exemplar's form."""

    source: str
    exemplar: str
    meaning: Meaning
    form: Form


@dataclass(frozen=True)
class Learnt:
    paraphraser: Paraphraser
    tasks: list[Task]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Learnt:
    directory, language, rng = (
        tmp_path_factory.mktemp("learning"),
        Language.sample(meanings=300, forms=6),
        random.Random(1),
    )
    held_out = [(meaning, form) for meaning, seen in language.seen.items() for form in FORMS if form not in seen]
    rng.shuffle(held_out)
    dev = [EvalItem(say(meaning, language.seen[meaning][0]), (say(meaning, form),)) for meaning, form in held_out[:50]]
    best = train(directory, language, dev)
    tasks = []
    for meaning, form in held_out[50:250]:
        others = [other for other in MEANINGS if not set(vars(other).values()) & set(vars(meaning).values())]
        source, exemplar = say(meaning, rng.choice(language.seen[meaning])), say(rng.choice(others), form)
        tasks.append(Task(source, exemplar, meaning, form))
    return Learnt(Paraphraser.from_pretrained(best), tasks)


def train(directory: Path, language: Language, dev: list[EvalItem]) -> Path:
    config, prepared = load_preset("small", SETTINGS.split()), prepare_language(directory, language)
    experiment = Experiment(task=HrqVaeTask(config, prepared, dev), run=directory / "run")
    fabric = make_fabric(accelerator="cpu", devices="1", precision="32-true")
    return run_experiment(experiment, fabric=fabric, resume=False)


def test_unseen_combinations_of_meaning_and_form(learnt: Learnt) -> None:
    exemplars = [task.exemplar for task in learnt.tasks]
    found = learnt.paraphraser([task.source for task in learnt.tasks], like=exemplars, rerank=False)
    right = [read(best[0].text) == (task.meaning, task.form) for best, task in zip(found, learnt.tasks, strict=True)]
    assert sum(right) / len(right) >= 0.9


def test_the_first_code_tells_the_coarse_form(learnt: Learnt) -> None:
    sketches = learnt.paraphraser.sketch([task.exemplar for task in learnt.tasks])
    coarse, detail = ([getattr(task.form, part) for task in learnt.tasks] for part in ("coarse", "detail"))
    first = [sketch[0] for sketch in sketches]
    assert mutual_information(first, coarse) >= 0.7 * math.log(len(COARSE))
    assert mutual_information(first, coarse) > 2 * mutual_information(first, detail)
    assert mutual_information(sketches, [task.form for task in learnt.tasks]) >= 0.9 * math.log(len(FORMS))


def test_a_sketch_says_nothing_of_the_meaning(learnt: Learnt) -> None:
    """Sentences of one form and different meanings have one sketch."""
    by_form: dict[Form, Counter[Hashable]] = {}
    for sketch, task in zip(
        learnt.paraphraser.sketch([task.exemplar for task in learnt.tasks]), learnt.tasks, strict=True
    ):
        by_form.setdefault(task.form, Counter())[sketch] += 1
    agreed = sum(counts.most_common(1)[0][1] for counts in by_form.values())
    assert agreed / len(learnt.tasks) >= 0.8


def test_predicted_sketches_give_valid_forms_of_the_same_meaning(learnt: Learnt) -> None:
    found = [best[0].text for best in learnt.paraphraser([task.source for task in learnt.tasks], rerank=False)]
    meanings = [parsed[0] if (parsed := read(text)) else None for text in found]
    kept = [meaning == task.meaning for meaning, task in zip(meanings, learnt.tasks, strict=True)]
    assert sum(kept) / len(kept) >= 0.9
    changed = [text != task.source for text, task in zip(found, learnt.tasks, strict=True)]
    assert sum(changed) / len(changed) >= 0.5


def mutual_information(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    total, pairs = len(first), Counter(zip(first, second, strict=True))
    ones, twos = Counter(first), Counter(second)
    return sum(n / total * math.log(n * total / (ones[a] * twos[b])) for (a, b), n in pairs.items())
