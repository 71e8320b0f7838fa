"""What the numbers say, in sentences."""

from parasketch.evaluate.bootstrap import PairedTest
from parasketch.evaluate.compare import Verdict
from parasketch.evaluate.results import Record
from parasketch.evaluate.statistics import Interval
from parasketch.reproduce.claims import claims, signed
from parasketch.reproduce.summary import Row, Summary


def verdict(system: str, against: str, difference: float, low: float, high: float) -> Verdict:
    interval = Interval(low=low, high=high, level=0.95, resamples=100, seed=0)
    test = PairedTest(difference=difference, interval=interval, p_value=0.03)
    return Verdict(data="qqp/test", against=against, system=system, result=test)


def row(run: str, way: str) -> Row:
    system = run if way == "plain" else f"{run}, {way}"
    record = Record(
        system=system,
        data="qqp/test",
        items=1,
        data_sha256="",
        model_sha256=None,
        uses_references=False,
        command="",
        seed=0,
        seconds=None,
        cores=1,
        versions={},
        candidates=1,
        alpha=0.8,
        empty_outputs=0,
        scores={},
        human={},
    )
    return Row(run=run, way=way, seed=1, paper="QQP", training=None, record=record)


def summary(rows: list[Row], tests: list[Verdict], *, same_way: bool = False) -> Summary:
    return Summary(part="part", title="Part", against="hrqvae", minutes=1, rows=rows, tests=tests, same_way=same_way)


def test_sketches_that_are_no_better_than_none_are_called_so() -> None:
    rows = [row("hrqvae", "plain"), row("hrqvae", "no codes"), row("vae", "plain"), row("ae", "plain")]
    tests = [
        verdict("hrqvae, no codes", "hrqvae", 0.1, -0.2, 0.4),
        verdict("vae", "hrqvae", 2.0, 1.0, 3.0),
        verdict("ae", "hrqvae", -0.5, -1.0, 0.2),
    ]
    assert claims(summary(rows, tests)) == [
        "qqp/test, hrqvae: predicted sketches are no better than none "
        "(iBLEU +0.10, 95 % interval -0.20 to +0.40, p 0.0300).",
        "qqp/test: hrqvae is above vae in iBLEU.",
        "qqp/test: hrqvae is not above ae (-0.50).",
    ]


def test_each_is_told_of_what_it_was_tested_against() -> None:
    rows = [row("hrqvae", "plain"), row("other", "plain"), row("vae", "plain")]
    assert claims(summary(rows, [verdict("vae", "other", 2.0, 1.0, 3.0)])) == ["qqp/test: other is above vae in iBLEU."]


def test_claims_of_the_paper_hold_do_not_or_stay_open() -> None:
    rows = [row("whole", "plain"), row("no depth dropout", "plain"), row("post hoc", "plain")]
    tests = [
        verdict("no depth dropout", "whole", -0.6, -0.9, -0.3),
        verdict("post hoc", "whole", 3.0, 2.0, 4.0),
    ]
    better, worse = claims(summary(rows, tests, same_way=True))
    assert "the paper loses 0.74 iBLEU; here +0.60, 95 % interval +0.30 to +0.90" in better
    assert better.endswith("the claim does not hold: it is better so.")
    assert "here -3.00, 95 % interval -4.00 to -2.00" in worse
    assert worse.endswith("the claim holds.")


def test_nothing_has_no_minus() -> None:
    assert signed(-0.001) == "+0.00"
