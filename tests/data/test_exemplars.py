from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from parasketch.config import DataConfig
from parasketch.counter_rng import random_bits
from parasketch.data.exemplars import ExemplarDrawer, Exemplars, examples
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.text.tagger import Tagger

Prepare = Callable[[Sequence[Sequence[str]]], Prepared]


@pytest.fixture
def prepare_clusters(tmp_path: Path, write_clusters: Callable[..., Path], rule_tagger: Tagger) -> Prepare:
    def run(clusters: Sequence[Sequence[str]]) -> Prepared:
        return prepare(
            [write_clusters(clusters)], tmp_path / "prepared", DataConfig(vocab_size=400), tagger=rule_tagger
        )

    return run


def draw(prepared: Prepared, model: int, times: int = 200) -> Exemplars:
    """Many exemplars for one model sentence."""
    return ExemplarDrawer(prepared).draw(np.full(times, model), random_bits(0, np.arange(times)))


def texts(prepared: Prepared, exemplars: Exemplars) -> Counter[str]:
    return Counter(prepared.tokenizer.decode(row.tolist()) for row in exemplars.tokens.rows())


def test_real_exemplars_come_from_other_clusters_only(corpus: Prepared) -> None:
    for model in range(corpus.num_sentences):
        exemplars = draw(corpus, model, times=20)
        for sentence in exemplars.sentences[exemplars.real].tolist():
            assert corpus.cluster_of(sentence) != corpus.cluster_of(model)
            assert corpus.template(sentence) == corpus.template(model)


def test_real_exemplars_are_drawn_uniformly(corpus: Prepared) -> None:
    exemplars = draw(corpus, 3, times=9000)  # "the cat sleeps": nine other clusters say it of others
    assert exemplars.real.all()
    counts = Counter(exemplars.sentences.tolist())
    assert sorted(counts) == [3 * cluster for cluster in range(10) if cluster != 1]
    assert max(abs(count - 1000) for count in counts.values()) < 5 * 30


def test_a_real_exemplar_is_the_sentence_itself(corpus: Prepared) -> None:
    exemplars = draw(corpus, 0, times=30)
    for row, sentence in zip(exemplars.tokens.rows(), exemplars.sentences.tolist(), strict=True):
        assert row.tolist() == corpus.sentence_tokens(sentence).tolist()


def test_sentences_of_the_own_cluster_and_their_doubles_are_no_exemplars(prepare_clusters: Prepare) -> None:
    prepared = prepare_clusters(
        [["the dog runs", "runs the dog"], ["The dog runs !"], ["the dog  RUNS", "the cat runs"]]
    )
    assert prepared.manifest["counts"]["templates"] == 3
    # "the dog runs" stands in its own cluster and, in another spelling, in the last; only the cat is left.
    assert set(draw(prepared, 0).sentences.tolist()) == {4}


def test_the_only_other_sentence_is_a_double(prepare_clusters: Prepare) -> None:
    prepared = prepare_clusters([["the dog runs", "runs the dog"], ["the Dog runs", "slowly the dog runs"]])
    assert prepared.manifest["counts"]["share_with_real_exemplar"] == 0
    assert not draw(prepared, 0).real.any()


def test_synthesised_exemplars_keep_literals_and_take_spans_by_frequency(prepare_clusters: Prepare) -> None:
    clusters = [
        ["so the dog runs ?"],
        *[["a cat"]] * 6,
        *[["two horse"]] * 2,
        ["my snail"],
        ["we sings"],
        ["you sings"],
    ]
    prepared = prepare_clusters(clusters)
    exemplars = draw(prepared, 0, times=4000)
    assert not exemplars.real.any()
    found = texts(prepared, exemplars)
    # The snail and what runs occur once: too rare to be drawn. "dog" likewise.
    assert set(found) == {"so the cat sings ?", "so the horse sings ?"}
    assert min(found.values()) / 4000 == pytest.approx(0.25, abs=5 * 0.007)


def test_a_tag_without_spans_keeps_its_own(prepare_clusters: Prepare) -> None:
    prepared = prepare_clusters([["the dog runs"], ["a cat"], ["my cat"]])
    assert set(texts(prepared, draw(prepared, 0))) == {"the cat runs"}


def test_spans_neither_stick_to_the_word_before_nor_leave_it(prepare_clusters: Prepare) -> None:
    # The cat always follows a quote, without a space; in a new place it needs one.
    prepared = prepare_clusters([["see the dog"], ['a "cat" is'], ['my "cat" is'], ["so it runs"]])
    assert set(texts(prepared, draw(prepared, 0))) == {"see the cat"}


def test_a_span_at_the_start_of_a_sentence(prepare_clusters: Prepare) -> None:
    prepared = prepare_clusters([["dog is it"], ["a cat so"], ["my cat too"]])
    assert set(texts(prepared, draw(prepared, 0))) == {"cat is it"}


def test_exemplars_are_never_longer_than_sentences_may_be(
    tmp_path: Path, write_clusters: Callable[..., Path], rule_tagger: Tagger
) -> None:
    long_span = "dog " * 8
    path = write_clusters([["a cat a cat a cat"], [f"a {long_span}"], [f"a {long_span}"]])
    config = DataConfig(vocab_size=400, max_tokens=9)
    prepared = prepare([path], tmp_path / "prepared", config, tagger=rule_tagger)
    exemplars = draw(prepared, 0)
    assert exemplars.tokens.lengths.max() == 9
    assert len(exemplars.tokens.tokens) == exemplars.tokens.lengths.sum()


def test_an_exemplar_depends_on_its_key_and_model_only(corpus: Prepared) -> None:
    drawer, keys = ExemplarDrawer(corpus), random_bits(4, np.arange(corpus.num_sentences))
    together = drawer.draw(np.arange(corpus.num_sentences), keys).tokens.rows()
    for model in range(corpus.num_sentences):
        (alone,) = drawer.draw(np.array([model]), keys[model : model + 1]).tokens.rows()
        assert alone.tolist() == together[model].tolist()


def test_examples_tell_how_an_exemplar_came_about(corpus: Prepared) -> None:
    shown = {example.sentence: example for example in examples(corpus, 1000, seed=0)}
    assert len(shown) == corpus.num_sentences
    example = shown["does the snail , slowly , waits ?"]
    assert example.tagged == "does the [snail]NP , [slowly]ADVP , [waits]VP ?"
    assert example.template == "does the NP , ADVP , VP ?"
    assert example.real
    assert not shown["so so the dog runs"].real
    assert [e.sentence for e in examples(corpus, 3, seed=1)] != [e.sentence for e in examples(corpus, 3, seed=2)]
