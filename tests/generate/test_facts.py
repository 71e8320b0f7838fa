import pytest

from parasketch.generate.facts import fact_spans, lost_facts, names_in, numbers_in


def test_numbers_are_compared_without_commas_between_thousands() -> None:
    assert numbers_in("In 2,000 or 3.5 years, at 10:30, in 2,000") == ("2000", "3.5", "10:30")
    assert lost_facts("are 2,000 enough in 2019?", "do 2000 suffice in 2018?") == ("2019",)


def test_a_number_may_be_written_as_a_word() -> None:
    assert lost_facts("2 men and 13 dogs", "Two men and thirteen dogs") == ("13",)


def test_names_are_capitalised_words_inside_sentences() -> None:
    assert names_in("Does Google pay I wonder? Why is Larry Page rich") == ("Google", "Larry", "Page")


@pytest.mark.parametrize("text", ["HOW DO I LEARN PYTHON FAST", "How Do I Learn Python Fast?", "how do i learn python"])
def test_capitals_that_say_nothing_give_no_names(text: str) -> None:
    assert names_in(text) == ()


def test_a_name_is_kept_however_it_is_cased() -> None:
    assert lost_facts("Who founded Google?", "google was founded by whom?") == ()
    assert lost_facts("Who founded Google?", "who founded googleplex") == ("Google",)


def test_facts_have_places() -> None:
    text = "did Larry get 2,000 in 10 days, and Larry 2000?"
    assert [text[start:end] for start, end in fact_spans(text)] == ["Larry", "2,000", "10"]
    assert fact_spans("who did that?") == []
