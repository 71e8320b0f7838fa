from collections import Counter

import numpy as np
import torch

from parasketch.config import DataConfig, TrainConfig
from parasketch.data.prepared import Prepared
from parasketch.systems.triples import TrainingBatch, TripleExamples
from parasketch.train.batches import Batches


def make(
    corpus: Prepared, *, size: int = 8, rank: int = 0, processes: int = 1, accumulate: int = 1
) -> Batches[TrainingBatch]:
    train = TrainConfig(batch_size=size, accumulate=accumulate)
    examples = TripleExamples(corpus, DataConfig(), seed=train.seed)
    return Batches(examples, train, rank=rank, processes=processes)


def pairs(parts: list[TrainingBatch]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(source, target) of every triple, as tokens."""
    found = []
    for part in parts:
        sources = np.split(part.encoded.tokens.numpy(), np.cumsum(part.encoded.layout.lengths)[:-1])
        targets = np.split(part.targets.numpy(), np.cumsum(part.decoder_input.layout.lengths)[:-1])
        found += [
            (tuple(sources[place].tolist()), tuple(target.tolist()))
            for place, target in zip(part.source_places, targets, strict=True)
        ]
    return found


def same(first: list[TrainingBatch], second: list[TrainingBatch]) -> bool:
    return all(
        torch.equal(a.encoded.tokens, b.encoded.tokens) and torch.equal(a.targets, b.targets)
        for a, b in zip(first, second, strict=True)
    )


def test_a_batch_is_a_function_of_its_step(language_corpus: Prepared) -> None:
    forward, backward = make(language_corpus), make(language_corpus)
    steps = list(range(2 * forward.steps_an_epoch + 1))  # over two ends of an epoch
    ahead = {step: forward[step] for step in steps}
    behind = {step: backward[step] for step in reversed(steps)}
    assert all(same(ahead[step], behind[step]) for step in steps)
    assert not same(ahead[0], ahead[forward.steps_an_epoch])


def test_an_epoch_takes_every_pair_at_most_once(language_corpus: Prepared) -> None:
    batches = make(language_corpus)
    seen = Counter(pair for step in range(batches.steps_an_epoch) for pair in pairs(batches[step]))
    assert len(batches.examples) - 8 < sum(seen.values()) <= len(batches.examples)
    assert max(seen.values()) == 1


def test_processes_share_the_batch_of_one(language_corpus: Prepared) -> None:
    whole = pairs(make(language_corpus, size=8)[3])
    shares = [pairs(make(language_corpus, size=4, rank=rank, processes=2)[3]) for rank in range(2)]
    assert [len(share) for share in shares] == [4, 4]
    assert sorted(shares[0] + shares[1]) == sorted(whole)


def test_parts_of_a_batch_are_the_whole(language_corpus: Prepared) -> None:
    parts = make(language_corpus, accumulate=4)[1]
    assert [part.size for part in parts] == [2, 2, 2, 2]
    assert sorted(pairs(parts)) == sorted(pairs(make(language_corpus)[1]))


def test_a_corpus_smaller_than_a_batch_is_repeated(language_corpus: Prepared) -> None:
    triples = len(make(language_corpus).examples)
    batches = [make(language_corpus, size=triples, rank=rank, processes=3) for rank in range(3)]
    for step in range(3):
        assert [batch[step][0].size for batch in batches] == [triples] * 3
