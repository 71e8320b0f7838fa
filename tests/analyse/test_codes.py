"""What codes mean: statements that hold for planted structure and not for chance."""

import itertools
from dataclasses import asdict

import numpy as np
import pytest

from parasketch.analyse.codes import SIGNIFICANT, CodeReport, explain_codes, holm, mutual_information
from parasketch.analyse.forms import Forms
from parasketch.analyse.properties import Property


def make_forms(codes: np.ndarray, sentences: list[str] | None = None) -> Forms:
    """Forms that lie on their codes, but for the place of each sentence in the list: the first is the nearest."""
    codebooks = np.arange(2 * 4 * 3, dtype=np.float32).reshape(2, 4, 3)
    vectors = codebooks[0][codes[:, 0]] + codebooks[1][codes[:, 1]] + 1e-3 * np.arange(len(codes))[:, None]
    texts = sentences or [f"word{place} b c d" for place in range(len(codes))]
    return Forms(texts, vectors.astype(np.float32), codes, codebooks)


@pytest.fixture(scope="module")
def report() -> CodeReport:
    """Level 1 knows the question word but for code 3, level 2 knows nothing."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (800, 2))
    words = [
        ("who", "what", "why")[code] if code < 3 else str(rng.choice(["who", "what", "why"])) for code in codes[:, 0]
    ]
    found = [Property("question word", words), Property("passive", [str(rng.choice(["yes", "no"])) for _ in words])]
    return explain_codes(make_forms(codes), found, model="toy", permutations=50)


def test_planted_meanings_are_found_and_named(report: CodeReport) -> None:
    first = [code for code in report.codes if code.level == 1]
    assert [code.name for code in first[:3]] == ["“who” questions", "“what” questions", "“why” questions"]
    assert all(code.least_p < SIGNIFICANT for code in first[:3])
    assert first[0].associations[0].share == 1.0
    assert first[3].name == "nothing that could be named"


def test_chance_is_no_meaning(report: CodeReport) -> None:
    assert all(code.least_p > 0.05 and not code.associations for code in report.codes if code.level == 2)
    known = {(one.level, one.property): one for one in report.information}
    assert known[1, "question word"].p == 1 / 51
    assert known[1, "question word"].bits > 0.9 > 10 * known[1, "question word"].chance
    assert known[2, "question word"].p > 0.05


def test_typical_sentences_are_the_nearest_and_differ() -> None:
    codes = np.array([[0, 0]] * 4 + [[1, 1]])
    sentences = ["how do i swim", "how do i swim well", "a far too long one " * 5, "where is it now", "why so"]
    found = [Property("passive", ["no"] * 5)]
    report = explain_codes(make_forms(codes, sentences), found, model="toy", permutations=1)
    assert report.codes[0].sentences == ["how do i swim", "where is it now", "how do i swim well"]
    assert report.codes[2].sentences == []


def test_the_exact_p_is_that_of_all_permutations() -> None:
    """Six sentences: the share of the 720 orders in which code 0 meets the value as often."""
    codes, values = np.array([0, 0, 0, 1, 1, 2]), ["a", "a", "b", "b", "b", "b"]
    forms = make_forms(np.stack([codes, codes], axis=1))
    report = explain_codes(forms, [Property("passive", values)], model="toy", permutations=1)
    orders = list(itertools.permutations(range(6)))
    share = np.mean([sum(values[place] == "a" for place in order[:3]) >= 2 for order in orders])
    assert report.codes[0].least_p == pytest.approx(min(1.0, share * report.tests))


def test_holm_and_mutual_information_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert mutual_information(np.array([[2, 0], [0, 2]])) == 1.0
    assert mutual_information(np.array([[3, 3], [1, 1]])) == pytest.approx(0.0)


def test_a_report_comes_back_from_its_json(report: CodeReport) -> None:
    assert CodeReport.from_dict(asdict(report)) == report
