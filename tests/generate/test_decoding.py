"""The token search with a network that is nothing like a Transformer, behind the same protocol."""

import itertools
import math

import numpy as np

from parasketch.generate.decoding import Floats, Ints, NextTokens, Rules, best_of
from parasketch.generate.required import Required
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import Sampling, SpecialTokens, TokenSearch

PAD, BEGIN, END, UNKNOWN = 0, 1, 2, 3
SIZE, LONGEST = 7, 5
SPECIAL = SpecialTokens(PAD, BEGIN, END, (PAD, BEGIN, UNKNOWN))


class PairDecoding:
    """Each group has its own table of log p of a token given the two before it: it has to remember one of them."""

    def __init__(self, tables: Floats) -> None:
        self.tables, self.before = tables, np.full((len(tables), 1), BEGIN)  # (G, V, V, V) and (G, W)

    def best(self, last: Ints, *, count: int, rules: Rules, wanted: Ints | None = None) -> NextTokens:
        return best_of(self.log_probs(last), count=count, rules=rules, wanted=wanted)

    def log_probs(self, last: Ints) -> Floats:
        groups = np.arange(len(last))[:, None]
        found = self.tables[groups, self.before, last]
        self.before = last
        return found

    def keep_groups(self, groups: Ints) -> None:
        self.tables, self.before = self.tables[groups], self.before[groups]

    def reorder_rows(self, rows: Ints) -> None:
        self.before = np.take_along_axis(self.before, rows, axis=1)


def tables(groups: int) -> Floats:
    scores = np.exp(1.5 * np.random.default_rng(3).normal(size=(groups, SIZE, SIZE, SIZE)))
    return np.log(scores / scores.sum(axis=-1, keepdims=True)).astype(np.float32)


def all_sentences(table: Floats) -> dict[tuple[int, ...], float]:
    """Every sentence that fits with its log p, one after the other."""
    words = [token for token in range(SIZE) if token not in (*SPECIAL.never, END)]
    scores = {}
    for length in range(1, LONGEST - 1):
        for sentence in itertools.product(words, repeat=length):
            whole = [BEGIN, BEGIN, *sentence, END]
            scores[sentence] = sum(
                float(table[whole[place - 2], whole[place - 1], whole[place]]) for place in range(2, len(whole))
            )
    return scores


def penalised(sentence: tuple[int, ...], log_prob: float) -> float:
    return log_prob / ((5 + len(sentence) + 2) / 6)


def test_a_wide_beam_finds_the_best_sentence_of_all() -> None:
    config = GenerateConfig(expansion=SIZE)
    limits = np.full(3, LONGEST)
    found = TokenSearch(SPECIAL, config)(PairDecoding(tables(3)), limits, width=60)
    for table, hypotheses in zip(tables(3), found, strict=True):
        scores = all_sentences(table)
        expected = max(scores, key=lambda sentence: penalised(sentence, scores[sentence]))
        assert hypotheses[0].tokens == expected
        for one in hypotheses:
            assert math.isclose(one.log_prob, scores[one.tokens], abs_tol=1e-4)


def test_required_tokens_are_said_at_their_own_cost() -> None:
    config, required = GenerateConfig(expansion=SIZE), Required((5, 4), (False, True))
    [found] = TokenSearch(SPECIAL, config)(PairDecoding(tables(1)), np.array([LONGEST]), width=60, required=[required])
    scores = {one: p for one, p in all_sentences(tables(1)[0]).items() if (5, 4) in itertools.pairwise(one)}
    assert found[0].tokens == max(scores, key=lambda sentence: penalised(sentence, scores[sentence]))
    assert {one.tokens for one in found} <= set(scores)


def test_samples_have_the_log_prob_of_what_they_say() -> None:
    sampling = Sampling(1.0, np.arange(2, dtype=np.uint64))
    found = TokenSearch(SPECIAL, GenerateConfig())(
        PairDecoding(tables(2)), np.full(2, LONGEST), width=20, sampling=sampling
    )
    for table, hypotheses in zip(tables(2), found, strict=True):
        scores = all_sentences(table)
        assert len({one.tokens for one in hypotheses}) > 3
        for one in hypotheses:
            assert math.isclose(one.log_prob, scores[one.tokens], abs_tol=1e-4)
