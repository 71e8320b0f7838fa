import itertools

import numpy as np
import pytest

from parasketch.generate.required import MOST_TOKENS, Required, Requirements, required_tokens, take_in_turn
from parasketch.text.tokenizer import Tokenizer

INF = float("inf")


def runs(required: Required, tokenizer: Tokenizer) -> list[str]:
    """The text of each run."""
    starts = [place for place, inside in enumerate(required.inside) if not inside]
    bounds = itertools.pairwise([*starts, len(required.tokens)])
    return [tokenizer.decode(required.tokens[start:end]) for start, end in bounds]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("how heavy is a moose?", []),
        ("HOW HEAVY IS A MOOSE?", []),
        ("the moose and the Whale sleep", ["whale"]),
        ("a moose from New York and a Camel", ["new york", "camel"]),
        ("how does she know Jo-Luc or C++?", ["jo-luc", "c++"]),
        ('is it "Google" or (Apple)?', ["google", "apple"]),
        ("a Whale is a Whale is a whale", ["whale"]),
        ("where is Ångström, and Øre?", ["ångström", "øre"]),
        ("where is İzmir?", ["i̇zmir"]),
        ("does 🦌 live in München?", ["münchen"]),
    ],
)
def test_names_are_runs_of_the_sources_tokens(tokenizer: Tokenizer, text: str, expected: list[str]) -> None:
    assert runs(required_tokens(text, tokenizer), tokenizer) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a table with 5 candles", ["5 candles"]),
        ("the 92nd street", ["92nd street"]),
        ("it sleeps until 4:38, or longer", ["until 4:38"]),
        ("it weighs $5,000.50 and is 20% of it", ["$5,000.50", "20%"]),
        ("a runner with the number 58 painted on it", ["number 58"]),
        ("a sign from 2008 in the snow", ["from 2008"]),
        ("7, then 8", ["7", "then 8"]),
        ("the iphone6 or an AK-47 in the snow", ["iphone6", "ak-47"]),
        ("at 7 o'clock", ["7 o'clock"]),
        ("we meet at 4:30 pm or at 5 km", ["4:30 pm", "5 km"]),
        ("two whales and three moose sleep 4 hours", ["4 hours"]),
        ("a parrot in Rome 2012 with 3", ["rome 2012 with 3"]),
        ("5 and 5 and 5,000", ["5", "and 5,000"]),
    ],
)
def test_numbers_go_with_the_word_they_belong_to(tokenizer: Tokenizer, text: str, expected: list[str]) -> None:
    assert runs(required_tokens(text, tokenizer), tokenizer) == expected


@pytest.mark.parametrize("text", ["Is 4500 less than 92nd, Parrot?", "the Moose weighs 3 whales"])
def test_tokens_are_those_that_the_source_has(tokenizer: Tokenizer, text: str) -> None:
    tokens, source = required_tokens(text, tokenizer).tokens, tokenizer.encode(text)
    places = iter(source)
    assert all(token in places for token in tokens)  # in the same order


def test_later_facts_are_left_out_when_there_are_too_many(tokenizer: Tokenizer) -> None:
    text = "do we see Whaleqqq or Whalexxx or Whalezzzzzz or a moose or a parrot there?"
    required = required_tokens(text, tokenizer)
    found = runs(required, tokenizer)
    assert found == ["whaleqqq", "whalexxx", "whalezzzzzz"][: len(found)]
    assert 0 < len(found) < 3
    assert len(required.tokens) == len(required.inside) <= MOST_TOKENS


def test_the_book_of_what_has_been_said() -> None:
    required = [Required((7, 8, 9), (False, True, False)), Required(), Required((5,), (False,))]
    book = Requirements.of(required, filler=0)
    assert book.counts.tolist() == [3, 0, 1]
    said = np.array([[0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 1, 0]])
    assert book.next(said).tolist() == [[7, 8, 9, 0], [0, 0, 0, 0], [5, 0, 0, 5]]
    assert book.inside(said).tolist() == [[False, True, False, False], [False] * 4, [False] * 4]
    ids = np.broadcast_to([7, 8, 9, 5, 0], (3, 4, 5))
    advanced = book.advance(said, ids) - said[..., None]
    assert [row.nonzero()[0].tolist() for row in advanced[0]] == [[0], [1], [2], []]
    assert advanced[1].sum() == 0
    assert [row.nonzero()[0].tolist() for row in advanced[2]] == [[3], [], [], [3]]
    assert book.keep(np.array([False, False, True])).next(said[2:]).tolist() == [[5, 0, 0, 5]]


def test_banks_fill_the_beam_in_turn() -> None:
    scores = np.array([[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], [-3.0, -1.0, -INF, -2.0, -5.0, -4.0]])
    banks = np.array([[0, 0, 0, 0, 2, 1], [0, 0, 2, 0, 0, 0]])
    assert take_in_turn(scores, banks, 4).tolist() == [[4, 5, 0, 1], [1, 3, 0, 5]]
    assert take_in_turn(scores, banks, 6)[1].tolist()[-1] == 2  # what cannot be comes last


def test_one_bank_is_the_ordinary_beam() -> None:
    scores = np.random.default_rng(1).normal(size=(20, 24)).astype(np.float32)
    chosen = take_in_turn(scores, np.zeros(scores.shape, np.int64), 8)
    assert (chosen == np.argsort(-scores, axis=1)[:, :8]).all()
