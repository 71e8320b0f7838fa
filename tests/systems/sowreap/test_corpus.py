"""The orders and rules of a corpus: made once, gone on with after an interruption, the same however they were made."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from grammar import GrammarParser, GrammarVectors
from hand_parsed import likeness, parse

from parasketch.data.prepared import Prepared, Ragged
from parasketch.errors import DataError
from parasketch.systems.sowreap import corpus
from parasketch.systems.sowreap.annotate import Collector, OrderArrays
from parasketch.systems.sowreap.examples import OrderedCorpus, SowReapExamples
from parasketch.systems.sowreap.parses import Parse
from parasketch.systems.sowreap.reading import Reader, Reading
from parasketch.systems.sowreap.tags import Tags
from parasketch.text.tokenizer import Tokenizer


class CountingParser(GrammarParser):
    def __init__(self, stop_after: int = 1000) -> None:
        self.parsed, self.stop_after = 0, stop_after

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        self.parsed += len(texts)
        if self.parsed > self.stop_after:
            raise KeyboardInterrupt
        return super().parse(texts)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PARASKETCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(corpus, "CHUNK_SENTENCES", 20)


def make(prepared: Prepared, parser: GrammarParser, workers: int = 1) -> OrderArrays:
    return corpus.orders_of_corpus(prepared, parser, GrammarVectors(), max_pairs=26, workers=workers)


def same(first: OrderArrays, second: OrderArrays) -> bool:
    return all(np.array_equal(getattr(first, item.name), getattr(second, item.name)) for item in fields(OrderArrays))


def test_work_that_was_interrupted_goes_on(language_corpus: Prepared) -> None:
    whole = language_corpus.num_sentences
    with pytest.raises(KeyboardInterrupt):
        make(language_corpus, CountingParser(stop_after=whole // 2))
    second, third = CountingParser(), CountingParser()
    found = make(language_corpus, second)
    assert whole / 3 < second.parsed < whole * 2 / 3, "the rest, and no more"
    assert same(make(language_corpus, third), found)
    assert third.parsed == 0


def test_a_damaged_chunk_is_made_again(language_corpus: Prepared, tmp_path: Path) -> None:
    found = make(language_corpus, GrammarParser())
    broken = sorted(tmp_path.glob("cache/orders/*/*/orders.npz"))[1]
    broken.write_bytes(broken.read_bytes()[:100])
    parser = CountingParser()
    assert same(make(language_corpus, parser), found)
    assert 0 < parser.parsed < language_corpus.num_sentences


def test_the_same_in_two_processes(language_corpus: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = make(language_corpus, GrammarParser())
    monkeypatch.setenv("PARASKETCH_CACHE", str(tmp_path / "other"))
    assert same(make(language_corpus, GrammarParser(), workers=2), alone)


def test_every_pair_has_an_order_both_ways(language_corpus: Prepared) -> None:
    arrays = make(language_corpus, GrammarParser())
    pairs = arrays.pairs
    assert (language_corpus.arrays.cluster_ids[pairs[:, 0]] == language_corpus.arrays.cluster_ids[pairs[:, 1]]).all()
    lengths = np.diff(language_corpus.arrays.token_offsets)[pairs.reshape(-1)]
    assert (arrays.rank_lengths == lengths + 2).all()
    for ranks in np.split(arrays.ranks, np.cumsum(arrays.rank_lengths)[:-1]):
        assert (ranks[0], ranks[-1]) == (0, ranks.max())
        assert set(ranks.tolist()) == set(range(int(ranks.max()) + 1))


def test_a_batch_has_the_tokens_ranks_and_tags_of_its_pairs_and_rules(language_corpus: Prepared) -> None:
    arrays = make(language_corpus, GrammarParser())
    ordered, size = OrderedCorpus(language_corpus, arrays), language_corpus.tokenizer.vocab_size
    batch = ordered.reap(np.array([3, 5]), np.array([0, 1]))
    rows = np.split(batch.encoded.tokens.numpy(), np.cumsum(batch.encoded.layout.lengths)[:-1])
    ranks = np.split(batch.ranks.numpy(), np.cumsum(batch.encoded.layout.lengths)[:-1])
    stored = np.split(arrays.ranks, np.cumsum(arrays.rank_lengths)[:-1])
    targets = np.split(batch.decoder_input.tokens.numpy(), np.cumsum(batch.decoder_input.layout.lengths)[:-1])
    for place, target in zip(batch.source_places, targets, strict=True):
        pair, swapped = (3, 0) if (stored[6].tolist() == ranks[place].tolist()) else (5, 1)
        source, other = arrays.pairs[pair][swapped], arrays.pairs[pair][1 - swapped]
        assert rows[place][1:-1].tolist() == language_corpus.sentence_tokens(source).tolist()
        assert target[1:].tolist() == language_corpus.sentence_tokens(other).tolist()
        assert ranks[place].tolist() == stored[2 * pair + swapped].tolist()
    rules = ordered.sow(np.arange(10))
    tokens, wanted = rules.encoded.tokens, rules.ranks
    assert set(wanted[(tokens == size) | (tokens == size + 1)].tolist()) == {1, 2}
    assert set(wanted[(tokens < size)].tolist()) == {0}
    assert rules.tags is not None
    assert (rules.tags[tokens == language_corpus.tokenizer.bos_id] == 0).all()


def test_examples_depend_on_nothing_but_seed_epoch_and_index(language_corpus: Prepared) -> None:
    ordered = OrderedCorpus(language_corpus, make(language_corpus, GrammarParser()))
    once, twice = (SowReapExamples(ordered, moved_pairs=times, seed=1) for times in (1, 2))
    assert len(ordered.arrays.pairs) == len(once) < len(twice), "pairs whose words move count twice"
    first, again, other = (once.batch(epoch, np.arange(8)) for epoch in (0, 0, 1))
    assert first.reap.targets.tolist() == again.reap.targets.tolist() != other.reap.targets.tolist()
    alone = once.batch(0, np.array([5]))
    assert set(alone.sow.targets.tolist()) <= set(first.sow.targets.tolist())
    assert ordered.arrays.inverted[once._draw_rules(0, np.arange(20))].tolist() == [False, True] * 10


def test_without_rules_there_is_nothing_to_learn(language_corpus: Prepared) -> None:
    nothing = Collector(np.zeros(1, dtype=np.float32), Tags(), (1, 2)).arrays()
    with pytest.raises(DataError, match="0 pairs with orders and 0 rules"):
        SowReapExamples(OrderedCorpus(language_corpus, nothing), moved_pairs=1, seed=0)


def test_a_text_whose_tokens_do_not_fit_has_no_reading(language_corpus: Prepared) -> None:
    tokenizer = language_corpus.tokenizer
    reader, text = Reader(tokenizer, GrammarParser()), "anna sees the dogs"
    tokens = tokenizer.encode(text)
    good, bad = reader([text, text], [tokens, tokens[:-1]])
    assert isinstance(good, Reading)
    assert bad is None
    assert [tokenizer.decode(each) for each in good.word_tokens] == ["anna", "sees", "the", "dogs"]


def test_hand_made_arrays(language_corpus: Prepared) -> None:
    """One pair by hand, from parses to arrays."""
    tokenizer: Tokenizer = language_corpus.tokenizer
    first = parse("i/PRP/1 protect/VBP/1 my/PRP$/3 phone/NN/1 from/IN/1 water/NN/4")
    second = parse("i/PRP/1 keep/VBP/1 water/NN/1 off/RP/1 my/PRP$/5 phone/NN/3")
    readings = [_reading(tokenizer, each) for each in (first, second)]
    size = tokenizer.vocab_size
    collector = Collector(np.ones(size, dtype=np.float32), Tags(), (size, size + 1))
    collector.add((0, readings[0]), (1, readings[1]), likeness(first, second, protect="keep:0.5"))
    arrays = collector.arrays()
    assert arrays.inverted.tolist() == [True, True]
    source = Ragged(arrays.rule_tokens, arrays.rule_lengths).rows()
    target = Ragged(arrays.said_tokens, arrays.said_lengths).rows()
    spell = {size: "X", size + 1: "Y"}
    said = [" ".join(spell.get(t) or tokenizer.decode([t]) for t in row.tolist()) for row in (source[0], target[0])]
    assert "".join(said[0].split()) == "iprotectXfromY"
    assert "".join(said[1].split()) == "ikeepYoffX"


def _reading(tokenizer: Tokenizer, parsed: Parse) -> Reading:
    class Given:
        name = "given"

        def parse(self, texts: Sequence[str]) -> list[Parse]:
            del texts
            return [parsed]

    text = " ".join(word.text for word in parsed.words)
    [reading] = Reader(tokenizer, Given())([text], [tokenizer.encode(text)])
    assert reading is not None
    return reading
