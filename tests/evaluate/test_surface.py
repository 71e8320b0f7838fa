"""Copies, empties, variety, form, numbers and names: by hand."""

from collections.abc import Sequence

import pytest

from parasketch.evaluate.surface import distinct, surface_measures, template_change


def values(inputs: list[str], outputs: list[list[str]]) -> dict[str, float]:
    return {measure.name: measure.value() for measure in surface_measures(inputs, outputs)}


def test_copies_are_found_whatever_their_case_spacing_and_final_mark() -> None:
    found = values(["How heavy is a moose?", "Who is it?"], [["how heavy  is a moose ?"], ["Who was it?"]])
    assert found["copies"] == 50.0


def test_empty_outputs_are_counted_among_all_candidates() -> None:
    assert values(["a", "b"], [["x", " "], ["", "y"]])["empty"] == 50.0


def test_numbers_are_kept_or_lost() -> None:
    found = values(["2 and 3,000", "none", "4 or 4"], [["it is 3000"], ["5"], ["4"]])
    assert found["numbers_kept"] == pytest.approx(100 * 2 / 3)


def test_names_are_kept_however_they_are_cased() -> None:
    found = values(["Is Ada in Rome, and when?", "Who Is The Best Of Them All?"], [["where is ada"], ["x"]])
    assert found["names_kept"] == 50.0  # Title Case tells nothing about names


def test_what_no_input_has_is_not_scored() -> None:
    assert set(values(["who is it?"], [["what is it?"]])) == {"copies", "empty"}


def test_template_change_compares_first_candidates() -> None:
    def by_length(texts: Sequence[str]) -> list[str]:
        return [str(len(text.split())) for text in texts]

    measure = template_change(["a b", "a b", "a b c"], [["x y", "z"], ["x"], ["x y"]], by_length, "templates:length")
    assert measure.value() == pytest.approx(100 * 2 / 3)
    assert measure.signature == "templates:length"


def test_distinct_counts_types_over_tokens_of_first_candidates() -> None:
    outputs = [["The cat, the dog", "ignored"], ["the cat", "ignored"]]
    # the cat , the dog the cat: 4 types of 7; bigrams: the-cat cat-, ,-the the-dog the-cat: 4 of 5
    assert distinct(outputs, 1).value == pytest.approx(100 * 4 / 7)
    assert distinct(outputs, 2).value == pytest.approx(100 * 4 / 5)
    assert distinct([[""], [""]], 2).value == 0.0
