import numpy as np
import pytest
import torch
from tiny import BOS, EOS, make_triples

from parasketch.data.prepared import Ragged
from parasketch.model.inputs import Sentences, reorder
from parasketch.systems.triples import TrainingBatch


def ragged(*rows: list[int]) -> Ragged:
    return Ragged(
        np.concatenate([np.array(row, np.int32) for row in rows]), np.array([len(row) for row in rows], np.int32)
    )


def rows(sentences: Sentences) -> list[list[int]]:
    ends = np.cumsum(sentences.layout.lengths)
    return [part.tolist() for part in np.split(sentences.tokens.numpy(), ends[:-1])]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 2, [[1, 7, 8, 2], [1, 9, 2]]),
        (1, None, [[1, 7, 8], [1, 9]]),
        (None, 2, [[7, 8, 2], [9, 2]]),
        (None, None, [[7, 8], [9]]),
    ],
)
def test_special_tokens_go_round_each_sentence(first: int | None, last: int | None, expected: list[list[int]]) -> None:
    assert rows(Sentences.from_ragged(ragged([7, 8], [9]), first=first, last=last)) == expected
    assert rows(Sentences.from_lists(expected)) == expected


def test_sorting_tells_where_each_sentence_went() -> None:
    sentences = [[1, 2, 3], [4], [5, 6], [7]]
    ordered, places = Sentences.from_lists(sentences).sorted_by_length()
    assert rows(ordered) == [[4], [7], [5, 6], [1, 2, 3]]
    assert [rows(ordered)[place] for place in places] == sentences


def test_reorder() -> None:
    assert [row.tolist() for row in reorder(ragged([1, 2], [3], [4, 5, 6]), np.array([2, 0])).rows()] == [
        [4, 5, 6],
        [1, 2],
    ]


def test_a_training_batch_keeps_its_triples_together() -> None:
    triples = make_triples(7)
    batch = TrainingBatch.from_triples(triples, bos=BOS, eos=EOS)
    assert batch.size == 7
    order = np.argsort(triples.target.lengths, kind="stable")
    encoded = rows(batch.encoded)
    targets = rows(Sentences(batch.targets, batch.decoder_input.layout))
    for place, original in enumerate(order):
        source, exemplar, target = (
            part.rows()[original].tolist() for part in (triples.source, triples.exemplar, triples.target)
        )
        assert encoded[batch.source_places[place]] == [BOS, *source, EOS]
        assert encoded[batch.exemplar_places[place]] == [BOS, *exemplar, EOS]
        assert rows(batch.decoder_input)[place] == [BOS, *target]
        assert targets[place] == [*target, EOS]
    assert batch.to(torch.device("cpu")).size == 7
    assert (np.diff(batch.encoded.layout.lengths) >= 0).all()
    assert (np.diff(batch.decoder_input.layout.lengths) >= 0).all()
