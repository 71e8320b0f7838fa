from collections import Counter

import numpy as np

from parasketch.data.pairs import PairDrawer
from parasketch.data.prepared import Prepared


def test_every_cluster_gives_one_pair_of_different_members(language_corpus: Prepared) -> None:
    drawer = PairDrawer(language_corpus, seed=1)
    assert len(drawer) == language_corpus.num_clusters
    pairs = drawer.batch(0, np.arange(len(drawer)))
    clusters = language_corpus.arrays.cluster_ids
    assert (clusters[pairs.source_sentence] == clusters[pairs.target_sentence]).all()
    assert (pairs.source_sentence != pairs.target_sentence).all()
    assert clusters[pairs.source_sentence].tolist() == list(range(len(drawer)))
    assert sorted(drawer.order(3).tolist()) == list(range(len(drawer)))
    for place in (0, 7):
        source = language_corpus.sentence_tokens(int(pairs.source_sentence[place]))
        assert pairs.source.rows()[place].tolist() == source.tolist()


def test_a_pair_is_a_function_of_seed_epoch_and_index(language_corpus: Prepared) -> None:
    drawer = PairDrawer(language_corpus, seed=1)
    every = drawer.batch(2, np.arange(len(drawer)))
    some = PairDrawer(language_corpus, seed=1).batch(2, np.array([9, 3]))
    assert some.source_sentence.tolist() == every.source_sentence[[9, 3]].tolist()
    assert some.target_sentence.tolist() == every.target_sentence[[9, 3]].tolist()
    for other in (drawer.batch(3, np.arange(20)), PairDrawer(language_corpus, seed=2).batch(2, np.arange(20))):
        assert other.source_sentence.tolist() != every.source_sentence.tolist()


def test_all_ordered_pairs_of_a_cluster_come(language_corpus: Prepared) -> None:
    drawer = PairDrawer(language_corpus, seed=1)
    found: Counter[tuple[int, int]] = Counter()
    for epoch in range(600):
        pairs = drawer.batch(epoch, np.array([4]))
        found[int(pairs.source_sentence[0]), int(pairs.target_sentence[0])] += 1
    size = len(language_corpus.cluster_sentences(4))
    assert len(found) == size * (size - 1)
    assert min(found.values()) > 25, "50 each are expected"
