"""Tables and tests over results, and what may not stand side by side."""

from collections.abc import Callable

import pytest

from parasketch.errors import DataError, UsageError
from parasketch.evaluate.compare import HUMAN, data_without, format_p, paired_tests, tables
from parasketch.evaluate.results import Results
from parasketch.evaluate.statistics import Score

MakeResults = Callable[..., Results]


def test_table_1_has_systems_down_and_data_across(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good"), make_results("copy", "other/test")]
    table = tables(results)[0]
    assert table.header == [
        "system",
        *(f"{data} {score}" for data in ("toy/test", "other/test") for score in ("BLEU", "Self-BLEU", "iBLEU")),
    ]
    assert [row[0] for row in table.rows] == ["copy", "good"]
    assert table.rows[0][2] == "100.00"
    assert table.rows[1][1] == "100.00"
    assert table.rows[1][4:] == ["–", "–", "–"]
    assert table.best == {(1, 3), (0, 6)}  # the best iBLEU of each data set


def test_upper_bounds_do_not_compete(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good", uses_references=True)]
    assert tables(results)[0].best == {(0, 3)}


def test_top_k_table_marks_high_ibleu_and_low_p_bleu(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good"), make_results("silent", k=1)]
    table = tables(results)[1]
    assert table.title == "Top 2: mean iBLEU and P-BLEU"
    assert [row[0] for row in table.rows] == ["copy", "good"]  # one candidate has no P-BLEU
    assert table.rows[0][2] == "100.00"
    assert table.best == {(1, 1), (1, 2)}


def test_scores_of_meaning_stand_above_what_people_reach(make_results: MakeResults) -> None:
    judged, other = make_results("copy"), make_results("good")
    for name, ours, people in (("cosine_input", 1.0, 0.61949), ("cosine_reference", 0.9, None)):
        judged.scores[name] = Score(name=name, value=ours, signature="x")
        if people is not None:
            judged.human[name] = Score(name=name, value=people, signature="x")
    found = {table.title: table for table in tables([other, judged])}
    assert found["Meaning: toy/test"].header == ["system", "cosine to input", "cosine to reference"]
    assert found["Meaning: toy/test"].rows == [["copy", "1.000", "0.900"], [HUMAN, "0.619", "–"]]
    form = found["Form: toy/test"]
    assert [row[form.header.index("copies %")] for row in form.rows] == ["0.0", "100.0"]


def test_one_system_is_tested_against_all_others(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good"), make_results("silent")]
    tests = paired_tests(results, "good", resamples=100)
    assert [(test.against, test.system, test.data) for test in tests] == [
        ("good", "copy", "toy/test"),
        ("good", "silent", "toy/test"),
    ]
    assert all(test.result.p_value == 0.0 for test in tests)
    assert format_p(tests[0].result) == "< 0.01"
    expected = results[1].scores["ibleu"].value - results[0].scores["ibleu"].value
    assert tests[0].result.difference == pytest.approx(expected, abs=1e-9)
    last = tables(results, tests)[-1]
    assert last.rows[0][:3] == ["toy/test", "copy", f"{expected:+.2f}"]


def test_p_is_about_the_chosen_system_being_better(make_results: MakeResults) -> None:
    tests = paired_tests([make_results("copy"), make_results("good")], "copy", resamples=100)
    assert tests[0].result.p_value == 1.0


def test_results_that_cannot_stand_side_by_side(make_results: MakeResults) -> None:
    copy = make_results("copy")
    with pytest.raises(DataError, match=r"copy and good were evaluated on different items of toy/test \(3 and 2 items"):
        tables([copy, make_results("good", limit=2)])
    with pytest.raises(DataError, match="two results of copy on toy/test"):
        tables([copy, copy])
    with pytest.raises(DataError, match=r"computed differently: .*alpha:0\.8 and .*alpha:0\.7"):
        tables([copy, make_results("good", alpha=0.7)])
    with pytest.raises(UsageError, match=r"no results of 'best' \(there are copy\)"):
        paired_tests([copy], "best")


def test_data_that_a_system_has_no_results_on_is_left_out(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good"), make_results("good", "other/test")]
    assert [(test.data, test.system) for test in paired_tests(results, "copy", resamples=10)] == [("toy/test", "good")]
    assert data_without(results, "copy") == ["other/test"]
    assert data_without(results, "good") == []


def test_systems_that_others_are_tested_against_have_a_table_each(make_results: MakeResults) -> None:
    results = [make_results("copy"), make_results("good")]
    tests = [test for system in ("good", "copy") for test in paired_tests(results, system, resamples=10)]
    titles = [table.title for table in tables(results, tests)[-2:]]
    assert [title.split(" minus")[0] for title in titles] == ["iBLEU of good", "iBLEU of copy"]
