"""A study from its design to its report: balance, durability, and the ranking that known raters were made to have."""

import csv
import math
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parasketch.errors import DataError, UsageError
from parasketch.judge.analysis import analyse, bradley_terry, krippendorff_alpha
from parasketch.judge.design import Design, Source, design
from parasketch.judge.report import plot, to_markdown, write_csv
from parasketch.judge.study import QUESTIONS, Study

SYSTEMS = ("good", "middling", "poor")
QUALITY = {
    "fluency": {"good": 1.2, "middling": 0.0, "poor": -1.2},
    "meaning": {"good": 0.9, "middling": 0.1, "poor": -0.9},
    "difference": {"good": -1.0, "middling": 0.0, "poor": 1.0},
}


def make_design(items: int = 40, ratings: int = 3, raters: int = 6, seed: int = 0) -> Design:
    sources = [Source(text=f"how heavy is animal {k}", rewording=f"what does animal {k} weigh") for k in range(50)]
    outputs = {system: [f"{system} {k}" for k in range(50)] for system in SYSTEMS}
    return design(sources, outputs, items=items, ratings=ratings, raters=raters, seed=seed)


def make_study(path: Path, made: Design | None = None) -> Study:
    made = made or make_design()
    return Study.create(path, SYSTEMS, made.comparisons, made.plan)


def simulate(study: Study, rng: random.Random, *, careless: int | None = None, left_bias: float = 0.0) -> None:
    """Raters choose by the systems' known strengths, lean to the left, and one of them does not read at all."""
    for number, token in enumerate(study.tokens(), 1):
        while (page := study.page(token)) is not None and page.assignment is not None:
            answers = {}
            for question in QUESTIONS:
                strength = {side: _strength(text, question) for side, text in (("l", page.left), ("r", page.right))}
                odds = 0.0 if number == careless else strength["l"] - strength["r"] + left_bias
                answers[question] = "left" if rng.random() < 1 / (1 + math.exp(-odds)) else "right"
            assert study.judge(token, page.assignment, answers, seconds=1.0)


def _strength(text: str, question: str) -> float:
    system = text.split()[0]
    return QUALITY[question][system] if system in SYSTEMS else 5.0 if text.startswith("what does animal") else -5.0


def test_the_design_is_balanced() -> None:
    made = make_design()
    real = [comparison for comparison in made.comparisons if not comparison.is_check]
    assert Counter((each.first, each.second) for each in real) == {
        ("good", "middling"): 40, ("good", "poor"): 40, ("middling", "poor"): 40,
    }  # fmt: skip
    assigned = [each for queue in made.plan.values() for each in queue if each.comparison < len(real)]
    assert set(Counter(each.comparison for each in assigned).values()) == {3}
    loads = [sum(each.comparison < len(real) for each in queue) for queue in made.plan.values()]
    assert max(loads) - min(loads) <= 1
    for queue in made.plan.values():
        assert len({each.comparison for each in queue}) == len(queue), "nobody sees a pair twice"
        checks = [place for place, each in enumerate(queue) if each.comparison >= len(real)]
        assert len(checks) == math.ceil((len(queue) - len(checks)) / 10)
    flips = Counter((each.comparison, each.flipped) for each in assigned)
    assert set(flips.values()) == {1, 2}, "of three ratings one or two have the sides exchanged"
    assert abs(sum(each.flipped for each in assigned) / len(assigned) - 0.5) < 0.1


def test_raters_of_known_bias_give_the_known_ranking(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db", make_design(items=24))
    simulate(study, random.Random(1), careless=6, left_bias=0.8)
    found = analyse(study.judgements(), study.systems, resamples=300)
    assert found.ranking("fluency") == ["good", "middling", "poor"]
    assert found.ranking("meaning") == ["good", "middling", "poor"]
    assert found.ranking("difference") == ["poor", "middling", "good"]
    for question, strengths in QUALITY.items():
        for system, strength in strengths.items():
            assert found.strengths[system, question] == pytest.approx(strength, abs=0.7)
    for question in QUESTIONS:
        assert sum(found.means[system, question].mean for system in SYSTEMS) == pytest.approx(0, abs=0.05)
        assert 0 < found.alpha[question] < 0.6
    best = found.means["good", "fluency"]
    assert best.low < best.mean < best.high
    assert best.low > found.means["poor", "fluency"].high
    assert [rater.counted for rater in found.raters] == [True] * 5 + [False], "who does not read is left out"
    assert np.mean([rater.left for rater in found.raters]) > 0.55


def test_agreement_does_not_depend_on_which_system_is_named_first(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db", make_design(items=10))
    for token in study.tokens():  # everybody prefers `good`, and `middling` to `poor`, but for a few slips
        while (page := study.page(token)) is not None and page.assignment is not None:
            left = _strength(page.left, "fluency") > _strength(page.right, "fluency")
            slip = page.assignment % 10 == 0
            study.judge(token, page.assignment, dict.fromkeys(QUESTIONS, "left" if left != slip else "right"), 1.0)
    judgements = study.judgements()
    exchanged = [replace(each, first=each.second, second=each.first) for each in judgements]
    alphas = [analyse(each, SYSTEMS, resamples=10).alpha["fluency"] for each in (judgements, exchanged)]
    assert alphas[0] == pytest.approx(alphas[1])
    assert alphas[0] > 0.5, "nearly always of one mind"


def test_the_report_is_written(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db", make_design(items=4))
    with pytest.raises(DataError, match="no judgement"):
        analyse(study.judgements(), study.systems)
    simulate(study, random.Random(0))
    judgements = study.judgements()
    found = analyse(judgements, study.systems, resamples=50, least_passed=0)
    assert "| good |" in to_markdown(found)
    write_csv(judgements, tmp_path / "answers.csv")
    with (tmp_path / "answers.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == len(judgements) == 3 * sum(len(queue) for queue in _queues(study))
    assert {row["chosen"] for row in rows if row["is_check"] == "False"} <= set(SYSTEMS)
    plot(found, tmp_path / "means.svg")
    assert "<svg" in (tmp_path / "means.svg").read_text()


def _queues(study: Study) -> list[range]:
    pages = [study.page(token) for token in study.tokens()]
    return [range(page.total) for page in pages if page is not None]


def test_raters_resume_and_cannot_judge_for_others(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db")
    one, other = study.tokens()[:2]
    answers = dict.fromkeys(QUESTIONS, "left")
    page = study.page(one)
    assert page is not None
    assert page.assignment is not None
    assert not study.judge(other, page.assignment, answers, 1.0)
    assert study.judge(one, page.assignment, answers, 1.0)
    assert study.judge(one, page.assignment, dict.fromkeys(QUESTIONS, "right"), 1.0), "sent again"
    again = Study(study.path).page(one)
    assert again is not None
    assert (again.done, again.assignment != page.assignment) == (1, True)
    assert {each.side for each in study.judgements()} == {"left"}, "the first answer stays"
    assert study.page("stranger") is None
    with pytest.raises(UsageError, match="left or right"):
        study.judge(one, page.assignment, {"fluency": "left"}, 1.0)


def test_a_study_is_never_overwritten_and_other_files_are_refused(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db")
    with pytest.raises(UsageError, match="never overwritten"):
        make_study(study.path)
    (tmp_path / "text.db").write_text("no database at all, but some text that is longer than a header")
    with pytest.raises(DataError, match="is no study"):
        Study(tmp_path / "text.db")
    with pytest.raises(UsageError, match="at least as many raters"):
        make_design(ratings=3, raters=2)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_nothing_confirmed_is_lost_at_sigkill(tmp_path: Path) -> None:
    study = make_study(tmp_path / "study.db")
    program = """
import sys
from pathlib import Path
from parasketch.judge.study import Study
study = Study(Path(sys.argv[1]))
for token in study.tokens():
    while (page := study.page(token)).assignment is not None:
        study.judge(token, page.assignment, dict.fromkeys(("fluency", "meaning", "difference"), "left"), 1.0)
        print(page.assignment, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program, str(study.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    confirmed = [process.stdout.readline() for _ in range(25)]
    os.kill(process.pid, signal.SIGKILL)
    confirmed += process.stdout.readlines()
    process.wait()
    stored = len(study.judgements())
    assert stored % 3 == 0, "three answers or none"
    assert stored // 3 >= len([line for line in confirmed if line.endswith("\n")])


def test_agreement_and_strengths_against_hand_computed_values() -> None:
    # Two raters, five units, one disagreement: 10 values, 3 of them b; alpha = 1 - 9 * 2 / (100 - 49 - 9).
    units = [["a", "a"], ["a", "a"], ["a", "a"], ["b", "b"], ["a", "b"]]
    assert krippendorff_alpha(units) == pytest.approx(1 - 9 * 2 / 42)
    assert krippendorff_alpha([*units, ["b"]]) == krippendorff_alpha(units)
    assert math.isnan(krippendorff_alpha([["a"], ["b"]]))
    strengths = bradley_terry(np.array([[0, 75], [25, 0]], dtype=float))
    assert strengths[0] - strengths[1] == pytest.approx(math.log(75.1 / 25.1), abs=1e-6)
    assert np.isfinite(bradley_terry(np.array([[0, 9], [0, 0]], dtype=float))).all()
