from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.config import DataConfig
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.data.triples import TripleBatch, Triples
from parasketch.errors import DataError
from parasketch.text.tagger import Tagger
from parasketch.text.templates import build_template, template_text

LARGE_CLUSTER = 10  # of the small corpus: eight members with eight templates


def make_triples(corpus: Prepared, *, seed: int = 1, template_dropout: float = 0.0, max_pairs: int = 26) -> Triples:
    return Triples(corpus, seed=seed, template_dropout=template_dropout, max_pairs=max_pairs)


def whole(triples: Triples, epoch: int = 0) -> TripleBatch:
    return triples.batch(epoch, np.arange(len(triples)))


def as_rows(batch: TripleBatch) -> list[tuple[object, ...]]:
    parts = (batch.source.rows(), batch.exemplar.rows(), batch.target.rows())
    tokens = [tuple(part.tolist() for part in row) for row in zip(*parts, strict=True)]
    indices = zip(batch.source_sentence.tolist(), batch.target_sentence.tolist(), batch.real_exemplar, strict=True)
    return [(*row, *index) for row, index in zip(tokens, indices, strict=True)]


def exemplar_templates(corpus: Prepared, batch: TripleBatch, tagger: Tagger) -> list[str]:
    """The templates of exemplars, tagged anew: the words of a synthesised one come from all over the corpus."""
    texts = [corpus.tokenizer.decode(row.tolist()) for row in batch.exemplar.rows()]
    return [template_text(build_template(tokens, "chunk")) for tokens in tagger.tag(texts)]


@given(epoch=st.integers(0, 5), data=st.data())
@settings(deadline=None, max_examples=30)
def test_a_triple_does_not_depend_on_the_others_in_its_batch(corpus: Prepared, epoch: int, data: st.DataObject) -> None:
    triples = make_triples(corpus, template_dropout=0.3)
    indices = data.draw(st.lists(st.integers(0, len(triples) - 1), min_size=1, max_size=20))
    all_rows = as_rows(whole(triples, epoch))
    assert as_rows(triples.batch(epoch, np.array(indices))) == [all_rows[index] for index in indices]


def test_another_object_with_the_same_seed_gives_the_same(corpus: Prepared) -> None:
    assert as_rows(whole(make_triples(corpus), 3)) == as_rows(whole(make_triples(Prepared(corpus.path)), 3))


def test_epochs_and_seeds_differ(corpus: Prepared) -> None:
    triples = make_triples(corpus)
    exemplars = {whole(triples, epoch).exemplar.tokens.tobytes() for epoch in range(5)}
    exemplars |= {whole(make_triples(corpus, seed=seed)).exemplar.tokens.tobytes() for seed in range(2, 5)}
    assert len(exemplars) == 8


def test_an_empty_batch(corpus: Prepared) -> None:
    assert as_rows(make_triples(corpus).batch(0, np.array([], dtype=np.int64))) == []


def test_the_order_is_a_pure_permutation(corpus: Prepared) -> None:
    triples = make_triples(corpus)
    orders = [triples.order(epoch).tolist() for epoch in (0, 1, 0)]
    assert sorted(orders[0]) == list(range(len(triples)))
    assert orders[0] == orders[2] != orders[1]
    assert make_triples(corpus, seed=2).order(0).tolist() != orders[0]


def test_every_pair_of_different_templates_comes_once_an_epoch(corpus: Prepared) -> None:
    batch = whole(make_triples(corpus, max_pairs=1000))
    pairs = list(zip(batch.source_sentence.tolist(), batch.target_sentence.tolist(), strict=True))
    expected = {
        (source, target)
        for cluster in range(corpus.num_clusters)
        for source in corpus.cluster_sentences(cluster)
        for target in corpus.cluster_sentences(cluster)
        if corpus.template(source) != corpus.template(target)
    }
    assert len(expected) == 10 * 6 + 56
    assert len(pairs) == len(expected)
    assert set(pairs) == expected


def test_source_and_target_are_the_sentences_named(corpus: Prepared) -> None:
    batch = whole(make_triples(corpus))
    for side, sentences in ((batch.source, batch.source_sentence), (batch.target, batch.target_sentence)):
        assert [row.tolist() for row in side.rows()] == [corpus.sentence_tokens(i).tolist() for i in sentences]


def test_large_clusters_are_capped_and_every_pair_gets_its_turn(corpus: Prepared) -> None:
    triples = make_triples(corpus, max_pairs=26)
    assert len(triples) == 10 * 6 + 26
    members = corpus.cluster_sentences(LARGE_CLUSTER)
    turns: Counter[tuple[int, int]] = Counter()
    for epoch in range(100):
        batch = whole(triples, epoch)
        pairs = [
            pair
            for pair in zip(batch.source_sentence.tolist(), batch.target_sentence.tolist(), strict=True)
            if pair[0] in members
        ]
        assert len(set(pairs)) == 26
        turns.update(pairs)
    assert len(turns) == 56
    # Each of 56 pairs is taken in 26 / 56 of 100 epochs: 46 times, standard deviation 5.
    assert min(turns.values()) > 46 - 5 * 5
    assert max(turns.values()) < 46 + 5 * 5


def test_without_dropout_every_exemplar_has_the_template_of_its_target(corpus: Prepared, rule_tagger: Tagger) -> None:
    triples = make_triples(corpus)
    kinds = set()
    for epoch in range(5):
        batch = whole(triples, epoch)
        assert exemplar_templates(corpus, batch, rule_tagger) == [
            corpus.template(i) for i in batch.target_sentence.tolist()
        ]
        kinds |= set(batch.real_exemplar.tolist())
    assert kinds == {True, False}


def test_with_dropout_the_template_is_that_of_any_member(corpus: Prepared, rule_tagger: Tagger) -> None:
    triples = make_triples(corpus, template_dropout=1.0)
    chosen: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for epoch in range(100):
        batch = whole(triples, epoch)
        for target, template in zip(
            batch.target_sentence.tolist(), exemplar_templates(corpus, batch, rule_tagger), strict=True
        ):
            chosen[corpus.cluster_of(target)][template] += 1
    for cluster in range(10):
        assert set(chosen[cluster]) == {corpus.template(i) for i in corpus.cluster_sentences(cluster)}
        # 600 draws from three templates: 200 each, standard deviation 11.5.
        assert max(abs(count - 200) for count in chosen[cluster].values()) < 5 * 11.5


def test_the_rate_of_template_dropout(corpus: Prepared, rule_tagger: Tagger) -> None:
    triples = make_triples(corpus, template_dropout=0.3)
    strayed = total = 0
    for epoch in range(60):
        batch = triples.batch(epoch, np.arange(60))  # the clusters of three templates
        templates = exemplar_templates(corpus, batch, rule_tagger)
        targets = [corpus.template(i) for i in batch.target_sentence.tolist()]
        strayed += sum(template != target for template, target in zip(templates, targets, strict=True))
        total += 60
    # Of those dropped a third draws the target's own template again: 0.2 of 3600, standard deviation 0.0067.
    assert strayed / total == pytest.approx(0.2, abs=5 * 0.0067)


def test_a_corpus_without_pairs_says_so(
    tmp_path: Path, write_clusters: Callable[[list[list[str]]], Path], rule_tagger: Tagger
) -> None:
    path = write_clusters([["this cat sleeps", "this horse waits"], ["the dog runs"]])
    prepared = prepare([path], tmp_path / "prepared", DataConfig(vocab_size=300), tagger=rule_tagger)
    assert prepared.manifest["counts"]["pairs"] == 0
    with pytest.raises(DataError, match=r"no training triple can be made \(expected at least one cluster with two"):
        make_triples(prepared)
