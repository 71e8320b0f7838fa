import numpy as np
import pytest

from parasketch.data import spans
from parasketch.data.prepared import offsets
from parasketch.data.spans import span_vocabulary
from parasketch.text.tokenizer import Tokenizer

WORDS = ["dog", "cat", "red", "big", "runs", "isn't"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([f"{' '.join(WORDS)} '{' '.join(WORDS)}'"] * 3, vocab_size=400)


def vocabulary(sentences: list[list[tuple[int, str]]], num_tags: int, tokenizer: Tokenizer) -> list[dict[str, int]]:
    """What each tag has: text and count, of sentences given as slots (tag number, text)."""
    pieces = [[tokenizer.encode(text) for _, text in sentence] for sentence in sentences]
    ends = [np.cumsum([len(piece) for piece in sentence]) for sentence in pieces]
    arrays = span_vocabulary(
        tokens=np.array([token for sentence in pieces for piece in sentence for token in piece], dtype=np.uint16),
        token_offsets=offsets(np.array([sentence[-1] for sentence in ends])),
        slot_offsets=offsets(np.array([len(sentence) for sentence in sentences])),
        slot_tags=np.array([tag for sentence in sentences for tag, _ in sentence], dtype=np.int16),
        slot_ends=np.concatenate(ends),
        num_tags=num_tags,
        tokenizer=tokenizer,
    )
    texts = np.split(arrays["span_tokens"], arrays["span_offsets"][1:-1])
    counts = np.diff(arrays["span_counts"])
    return [
        {tokenizer.decode(texts[i].tolist()): int(counts[i]) for i in range(*arrays["tag_spans"][tag : tag + 2])}
        for tag in range(num_tags)
    ]


def test_spans_are_counted_by_tag_and_rare_ones_left_out(tokenizer: Tokenizer) -> None:
    sentences = [
        [(1, "red dog"), (2, "runs")],
        [(1, "dog red"), (0, "dog"), (1, "red dog")],
        [(0, "dog"), (2, "runs"), (1, "cat"), (2, "dog")],
        [(1, "dog red"), (1, "dog red")],
    ]
    assert vocabulary(sentences, 3, tokenizer) == [{"dog red": 3, "red dog": 2}, {"runs": 2}, {}]


def test_only_the_most_frequent_spans_stay(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "SPANS_PER_TAG", 2)
    sentences = [[(1, word)] for word, count in (("dog", 2), ("cat", 4), ("red", 3), ("big", 2)) for _ in range(count)]
    assert vocabulary(sentences, 1, tokenizer) == [{"cat": 4, "red": 3}]


def test_a_corpus_without_exchangeable_slots(tokenizer: Tokenizer) -> None:
    assert vocabulary([[(0, "dog"), (0, "runs")]], 0, tokenizer) == []


def test_words_stand_apart_and_clitics_do_not(tokenizer: Tokenizer) -> None:
    quoted, apart = tokenizer.encode("'dog"), tokenizer.encode("dog")
    bare = quoted[1:]  # as after the quote, without a space
    whole = tokenizer.encode("isn't")
    clitic = whole[len(tokenizer.encode("is")) :]
    assert (tokenizer.decode(bare), tokenizer.decode(clitic)) == ("dog", "n't")
    assert bare != apart
    joined = spans._join_forms([tuple(bare), tuple(apart), tuple(clitic)], [2, 5, 3], tokenizer)
    assert joined == [(tuple(apart), 7), (tuple(clitic), 3)]


def test_parts_of_a_corpus_are_counted_as_the_whole(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sentences = [
        [(int(rng.integers(3)), " ".join(rng.choice(WORDS, rng.integers(1, 3)))) for _ in range(rng.integers(1, 4))]
        for _ in range(60)
    ]
    whole = vocabulary(sentences, 2, tokenizer)
    for size in (1, 7):
        monkeypatch.setattr(spans, "_BLOCK_SENTENCES", size)
        parts = vocabulary(sentences, 2, tokenizer)
        assert [list(each.items()) for each in parts] == [list(each.items()) for each in whole]
