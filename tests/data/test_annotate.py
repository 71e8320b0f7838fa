from collections.abc import Sequence

import numpy as np
import pytest

from parasketch.data.annotate import AnnotatedChunk, Annotator
from parasketch.text.tagger import TaggedToken, Tagger
from parasketch.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["the dog runs slowly , does it ?"] * 3, vocab_size=400)


def annotate(clusters: Sequence[Sequence[str]], tokenizer: Tokenizer, tagger: Tagger, **changes: int) -> AnnotatedChunk:
    max_tokens = changes.get("max_tokens", 48)
    return Annotator(tokenizer=tokenizer, tagger=tagger, templates="chunk", max_tokens=max_tokens)(clusters)


def test_arrays_of_a_chunk(tokenizer: Tokenizer, rule_tagger: Tagger) -> None:
    chunk = annotate([["the dog runs slowly", "does the dog run ?"], ["The cat runs rarely"]], tokenizer, rule_tagger)
    sentences = np.split(chunk.tokens, np.cumsum(chunk.token_counts)[:-1])
    assert [tokenizer.decode(row.tolist()) for row in sentences] == [
        "the dog runs slowly",
        "does the dog run ?",
        "the cat runs rarely",
    ]
    assert chunk.cluster_sizes.tolist() == [2, 1]
    assert chunk.template_texts == ["the NP VP ADVP", "does the NP run ?"]
    assert chunk.template_numbers.tolist() == [0, 1, 0]
    assert chunk.tags == ["NP", "VP", "ADVP"]
    assert chunk.slot_counts.tolist() == [4, 5, 4]
    assert chunk.slot_tags.tolist() == [0, 1, 2, 3, 0, 0, 1, 0, 0, 0, 1, 2, 3]
    assert len(set(chunk.texts.tolist())) == 3


def test_a_subword_belongs_to_the_slot_of_its_first_character(tokenizer: Tokenizer) -> None:
    class Halves:
        """Cuts every sentence in the middle of a word, where no subword ends."""

        name = "halves"

        def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
            return [[TaggedToken("the d", 0, 5, "A", "A"), TaggedToken("og runs", 5, 12, "B", "B")] for _ in sentences]

    chunk = annotate([["the dog runs"]], tokenizer, Halves())
    assert tokenizer.decode_batch([[token] for token in chunk.tokens.tolist()]) == ["the", "dog", "runs"]
    assert chunk.slot_ends.tolist() == [2, 3]


def test_slots_end_where_their_words_end(tokenizer: Tokenizer, rule_tagger: Tagger) -> None:
    chunk = annotate([["  the zebra  dog runs,  slowly"]], tokenizer, rule_tagger)
    pieces = [tokenizer.decode(piece.tolist()) for piece in np.split(chunk.tokens, chunk.slot_ends[:-1])]
    assert pieces == ["the", "zebra", "dog", "runs", ",", "slowly"]


def test_duplicates_empty_and_long_sentences_are_left_out_and_counted(
    tokenizer: Tokenizer, rule_tagger: Tagger
) -> None:
    clusters = [["the dog runs", "The  dog runs.", ""], ["the dog runs " * 10], ["the dog runs"]]
    chunk = annotate(clusters, tokenizer, rule_tagger, max_tokens=10)
    assert chunk.dropped == {"duplicate": 1, "empty": 1, "too_long": 1}
    assert chunk.cluster_sizes.tolist() == [1, 1]
    assert chunk.texts[0] == chunk.texts[1]


def test_a_sentence_without_words_has_one_slot_that_stays(tokenizer: Tokenizer) -> None:
    class Blind:
        name = "blind"

        def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
            return [[] for _ in sentences]

    chunk = annotate([["the dog"]], tokenizer, Blind())
    assert (chunk.slot_counts.tolist(), chunk.slot_tags.tolist(), chunk.slot_ends.tolist()) == ([1], [0], [2])


def test_preserved_tags_are_not_exchanged(tokenizer: Tokenizer, rule_tagger: Tagger) -> None:
    annotator = Annotator(tokenizer=tokenizer, tagger=rule_tagger, templates="pos", max_tokens=48)
    chunk = annotator([["some dog runs"]])
    assert chunk.template_texts == ["some NN VBZ"]
    chunk = annotator([["zebra dog runs"]])
    assert chunk.template_texts == ["DT NN VBZ"]
    assert chunk.tags == ["NN", "VBZ"]
    assert chunk.slot_tags.tolist() == [0, 1, 2]
