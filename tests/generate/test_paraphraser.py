import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.errors import ModelError, UsageError
from parasketch.generate import acceptance
from parasketch.generate.candidates import FEATURES
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import problem_with
from parasketch.generate.settings import GenerateConfig, RerankWeights
from parasketch.generate.wording import likeness
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.facts import Changes
from parasketch.text.normalise import normalise
from parasketch.text.tokenizer import Tokenizer

from .conftest import SENTENCES

TEXT = "How heavy is a Moose?"
EXEMPLAR = "where do whales live?"
FACTS = "how heavy was the Moose in 1999?"


def assert_same(one: list[Paraphrase], other: list[Paraphrase]) -> None:
    assert [each.text for each in one] == [each.text for each in other]
    assert [each.sketch for each in one] == [each.sketch for each in other]
    np.testing.assert_allclose([each.score for each in one], [each.score for each in other], atol=1e-4)


def test_a_text_gives_a_list_and_a_list_gives_lists(paraphraser: Paraphraser) -> None:
    alone = paraphraser(TEXT, n=3)
    assert [type(each) for each in alone] == [Paraphrase] * 3
    assert_same(paraphraser([TEXT], n=3)[0], alone)
    assert paraphraser([]) == []


def test_results_differ_from_the_input_and_from_each_other(
    paraphraser: Paraphraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptance, "installed_verifier", lambda: None)  # it would reject what a tiny model says
    for text in SENTENCES[::7]:
        results = paraphraser(text, n=6)
        forms = [normalise(each.text) for each in results]
        assert len(set(forms)) == 6
        assert normalise(text) not in forms
        assert all(each.accepted != bool(each.lost) for each in results)
        for each in results:
            assert 0 <= each.difference <= 1
            assert each.faithfulness is not None
            assert 0 < each.faithfulness <= 1
            assert len(each.sketch) == paraphraser.depth == 3


@pytest.mark.parametrize(
    "arguments",
    [{}, {"n": 4}, {"n": 3, "rerank": False}, {"like": EXEMPLAR, "n": 2}, {"temperature": 1.0, "n": 2, "seed": 3}],
    ids=["one", "four", "plain", "like", "sampled"],
)
def test_results_do_not_depend_on_batch_size_order_or_neighbours(
    paraphraser: Paraphraser, arguments: dict[str, object]
) -> None:
    texts = ["parrots", *SENTENCES[::6], TEXT, TEXT, FACTS, "do 3 whales live in Peru?"]
    together = paraphraser(texts, batch_size=64, **arguments)
    by_two = paraphraser(texts[::-1], batch_size=2, **arguments)[::-1]
    for place, text in enumerate(texts):
        assert_same(by_two[place], together[place])
        assert_same(paraphraser(text, **arguments), together[place])


def test_an_exemplar_decides_the_sketch(paraphraser: Paraphraser) -> None:
    sketch = paraphraser.sketch(EXEMPLAR)
    assert [each.sketch for each in paraphraser(TEXT, like=EXEMPLAR, n=3)] == [sketch] * 3
    own = paraphraser([TEXT, TEXT], like=[EXEMPLAR, "a horse"])
    assert [each[0].sketch for each in own] == [sketch, paraphraser.sketch("a horse")]


def test_among_sentences_of_its_sketch_the_exemplar_prefers_its_own_form(model: HRQVAE, tokenizer: Tokenizer) -> None:
    likenesses = {}
    for weight in (0.0, 1000.0):
        config = GenerateConfig(max_tokens=12, weights=replace(RerankWeights(), likeness=weight))
        paraphraser = Paraphraser.from_model(model, tokenizer, config=config)
        chosen = paraphraser(SENTENCES[::7], like=EXEMPLAR)
        likenesses[weight] = likeness(EXEMPLAR, [each[0].text for each in chosen]).mean()
        if not weight:
            by_sketch = paraphraser(SENTENCES[::7], sketch=paraphraser.sketch(EXEMPLAR))
            assert [each[0].text for each in chosen] == [each[0].text for each in by_sketch]
    assert likenesses[1000.0] > likenesses[0.0]


def test_sketches_close_to_the_exemplars_help_out(paraphraser: Paraphraser) -> None:
    sketch = paraphraser.sketch(EXEMPLAR)
    many = paraphraser("parrots", like=EXEMPLAR, n=6, temperature=0.02)  # samples that are nearly all the same
    exact = [each.sketch == sketch for each in many]
    assert exact == sorted(exact, reverse=True)  # what was asked for comes first
    assert any(not each for each in exact)
    assert all(each.sketch[0] == sketch[0] for each in many if each.accepted)


def test_a_prefix_is_kept_and_the_rest_predicted(paraphraser: Paraphraser) -> None:
    results = paraphraser(TEXT, sketch=(2,), n=5)
    assert all(each.sketch[0] == 2 and len(each.sketch) == 3 for each in results)
    plain = paraphraser(TEXT, sketch=(2,), n=5, rerank=False)
    assert len({each.sketch for each in plain}) == 5
    assert [each.score for each in plain] == sorted((each.score for each in plain), reverse=True)
    for_each = paraphraser([TEXT, TEXT], sketch=[(1, 3), ()])
    assert for_each[0][0].sketch[:2] == (1, 3)


def test_depth_truncates(paraphraser: Paraphraser) -> None:
    sketch = paraphraser.sketch(EXEMPLAR)
    for depth in range(4):
        [one] = paraphraser(TEXT, like=EXEMPLAR, depth=depth)
        assert one.sketch == sketch[:depth]
    assert paraphraser(TEXT, sketch=(1, 2, 3), depth=2)[0].sketch == (1, 2)
    assert len(paraphraser(TEXT, depth=1)[0].sketch) == 1
    assert [each.sketch for each in paraphraser(TEXT, depth=0, n=3)] == [Sketch()] * 3


def test_truncation_is_the_sum_of_the_first_codes(make_model: Callable[..., HRQVAE], tokenizer: Tokenizer) -> None:
    model = make_model()
    paraphraser = Paraphraser.from_model(model, tokenizer, config=GenerateConfig(max_tokens=10))
    before = paraphraser(TEXT, sketch=(1, 2, 3), depth=1, rerank=False)
    with torch.no_grad():
        model.quantizer.codebooks[1:] += 10  # levels that a sketch of one code does not use
    assert_same(paraphraser(TEXT, sketch=(1, 2, 3), depth=1, rerank=False), before)


def test_plain_is_the_best_sentence_of_each_of_the_best_sketches(paraphraser: Paraphraser) -> None:
    plain = paraphraser(TEXT, n=4, rerank=False)
    assert len({each.sketch for each in plain}) == 4
    for each in plain:
        assert_same(paraphraser(TEXT, sketch=each.sketch, rerank=False), [each])
        assert each.faithfulness is None


def test_sampling_is_seeded(paraphraser: Paraphraser) -> None:
    draws = [paraphraser(TEXT, n=3, temperature=1.0, seed=seed) for seed in (1, 1, 2)]
    assert_same(draws[0], draws[1])
    assert [each.text for each in draws[0]] != [each.text for each in draws[2]]
    torch.manual_seed(0)
    state = torch.get_rng_state()
    paraphraser(TEXT, temperature=1.0)
    assert torch.equal(torch.get_rng_state(), state)


def test_more_outputs_than_there_are_sentences_come_back_marked(
    make_model: Callable[..., HRQVAE], tokenizer: Tokenizer
) -> None:
    small = make_model(codes=2, levels=1)
    paraphraser = Paraphraser.from_model(small, tokenizer, config=GenerateConfig(max_tokens=3, beam=1))
    results = paraphraser(TEXT, n=700)  # sentences of one token, and there are 340 tokens
    assert len(results) == 700
    good = [each for each in results if "repeats" not in " ".join(each.warnings)]
    assert len({normalise(each.text) for each in good}) == len(good)
    assert 1 < len(good) < 700
    assert not any(each.accepted for each in results if each not in good)


def test_names_numbers_and_casing(make_model: Callable[..., HRQVAE], tokenizer: Tokenizer) -> None:
    paraphraser = Paraphraser.from_model(make_model(), tokenizer, config=GenerateConfig(max_tokens=8))
    for each in paraphraser("How heavy was the Moose in 1999?", n=4):
        assert {fact for fact in each.lost if not fact.startswith("added: ")} <= {"Moose", "1999"}
        assert ("1999" in each.lost) == ("1999" not in each.text)
        assert each.text[:1] == each.text[:1].upper()


@pytest.fixture
def says_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a model of random weights nothing required is likely."""
    monkeypatch.setattr("parasketch.generate.candidates.MOST_SURPRISE", 100.0)


@pytest.mark.usefixtures("says_anything")
def test_there_are_candidates_that_keep_the_facts(paraphraser: Paraphraser) -> None:
    [judged] = paraphraser.candidates([FACTS])
    kept = [each for each in judged.candidates if not each.lost]
    assert kept
    assert all("moose in 1999" in each.text for each in kept)
    assert len({each.sketch for each in judged.candidates}) == 3  # the same sketches as without facts
    plain = paraphraser(FACTS, n=3, rerank=False)
    assert all({"Moose", "1999"} <= set(each.lost) and not each.accepted for each in plain)


def test_facts_that_are_kept_already_are_not_searched_for(
    paraphraser: Paraphraser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def required_tokens(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("parasketch.generate.hrqvae.required_tokens", required_tokens)
    paraphraser(TEXT.lower(), n=3)
    monkeypatch.setattr("parasketch.generate.candidates.compare", lambda *_: Changes())
    paraphraser(FACTS, n=3)


def test_facts_that_the_model_would_never_say_are_given_up(paraphraser: Paraphraser) -> None:
    [judged] = paraphraser.candidates([FACTS])
    assert all(each.lost for each in judged.candidates)


@pytest.mark.usefixtures("says_anything")
def test_facts_weigh_in_the_choice(model: HRQVAE, tokenizer: Tokenizer) -> None:
    config = GenerateConfig(max_tokens=16, weights=RerankWeights(lost=100))
    assert Paraphraser.from_model(model, tokenizer, config=config)(FACTS)[0].lost == ()


@pytest.mark.parametrize("text", ["Wo wohnt der kleine Elch?", "x = moose(3);", "moose, whale, parrot, camel"])
def test_what_no_model_is_made_for_is_never_accepted(paraphraser: Paraphraser, text: str) -> None:
    results = paraphraser(text, n=2)
    assert not any(each.accepted for each in results)
    assert all("the models know" in " ".join(each.warnings) for each in results)


def test_a_sentence_encoder_joins_the_choice(model: HRQVAE, tokenizer: Tokenizer) -> None:
    class Encoder:
        """Thinks that long texts mean the same."""

        def encode(self, texts: list[str]) -> np.ndarray:
            angles = np.array([0.1 * min(len(text), 15) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    weights = RerankWeights(**dict.fromkeys(FEATURES, 0.0) | {"semantic": 1.0})
    config = GenerateConfig(max_tokens=12, weights=weights, finalists=1000)
    judged = Paraphraser.from_model(model, tokenizer, config=config, semantic=Encoder())
    [best] = judged(TEXT)
    [candidates] = judged.candidates([TEXT])
    lengths = [min(len(each.text), 15) for each in candidates.candidates if not each.is_copy]
    assert min(len(best.text), 15) == max(lengths)
    assert best.score == pytest.approx(np.cos(0.1 * (15 - min(len(best.text), 15))), abs=1e-5)


def test_candidates_are_those_the_choice_is_made_from(paraphraser: Paraphraser) -> None:
    [judged] = paraphraser.candidates([TEXT])
    texts = {normalise(each.text) for each in judged.candidates}
    assert normalise(paraphraser(TEXT)[0].text) in texts
    assert judged.features.shape == (len(judged.candidates), len(FEATURES))
    assert np.isfinite(judged.features).all()


def test_a_model_in_training_goes_on_training(make_model: Callable[..., HRQVAE], tokenizer: Tokenizer) -> None:
    model = make_model(dropout=0.5).train()
    paraphraser = Paraphraser.from_model(model, tokenizer, config=GenerateConfig(max_tokens=8))
    assert_same(paraphraser(TEXT), paraphraser(TEXT))  # without dropout
    assert model.training


def test_saved_and_loaded_it_says_the_same(
    paraphraser: Paraphraser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paraphraser.save_pretrained(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    loaded = Paraphraser.from_pretrained("model", device="cpu")
    assert loaded.device == "cpu"
    assert_same(loaded(TEXT, n=3), paraphraser(TEXT, n=3))
    pickled = pickle.dumps(loaded)
    assert len(pickled) < 1000  # its path, not its weights
    monkeypatch.chdir("/")  # a worker process may be elsewhere
    assert_same(pickle.loads(pickled)(TEXT), paraphraser(TEXT))


def test_what_was_never_saved_cannot_be_pickled(model: HRQVAE, tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match="save_pretrained"):
        pickle.dumps(Paraphraser.from_model(model, tokenizer))


def test_settings_of_a_model_that_cannot_be(paraphraser: Paraphraser, tmp_path: Path) -> None:
    paraphraser.save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "generate": {"beam": 0}}))
    with pytest.raises(ModelError, match=r"generate\.beam: expected 1 to 256"):
        Paraphraser.from_pretrained(str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sketch": (4,)}, r"^code 4 at level 1 of the sketch is out of range \(expected 0 to 3\)$"),
        ({"sketch": (0, -1)}, r"^code -1 at level 2 of the sketch is out of range"),
        ({"sketch": (0, 0, 0, 0)}, "^the sketch 0,0,0,0 is too long: a sketch of this model has 3 codes$"),
        ({"depth": 4}, r"^depth 4: a sketch of this model has 3 codes \(expected 0 to 3\)$"),
        ({"depth": -1}, r"^depth is -1 \(expected a whole number, at least 0\)$"),
        ({"n": 0}, r"^n is 0 \(expected a whole number, 1 to 1000\)$"),
        ({"temperature": 0.0}, "^the temperature is 0.0"),
        ({"batch_size": 0}, "^batch_size is 0"),
        ({"n": "2"}, r"^n is '2' \(expected a whole number, 1 to 1000\)$"),
        ({"n": True}, "^n is True"),
        ({"n": None}, "^n is None"),
        ({"n": 2.0}, "^n is 2.0"),
        ({"depth": "1"}, "^depth is '1'"),
        ({"rerank": "no"}, "^rerank is 'no'"),
        ({"seed": "x"}, "^seed is 'x'"),
        ({"temperature": "1"}, "^the temperature is '1'"),
        ({"temperature": float("nan")}, "^the temperature is nan"),
        ({"batch_size": None}, "^batch_size is None"),
        ({"sketch": 13}, r"^the sketch is 13 \(expected codes such as \(13, 5\)"),
        ({"sketch": "1"}, "^the sketch is '1'"),
        ({"sketch": (1, "2")}, "^code 2 of the sketch is '2'"),
        ({"sketch": (True,)}, "^code 1 of the sketch is True"),
        ({"sketch": [None]}, "^code 1 of the sketch is None"),
        ({"like": 3}, "^the exemplar is of type int"),
        ({"like": [None]}, "^the exemplar is of type NoneType"),
        ({"like": EXEMPLAR, "sketch": (1,)}, r"an exemplar \(like\) or a sketch, not both$"),
        ({"like": [EXEMPLAR] * 3}, r"^3 exemplars for 1 texts \(expected one for all, or one for each\)$"),
        ({"like": " "}, "is empty: there is nothing to paraphrase$"),
    ],
)
def test_arguments_that_make_no_sense(paraphraser: Paraphraser, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        paraphraser([TEXT], **arguments)


def test_an_empty_text_among_others_is_named(paraphraser: Paraphraser) -> None:
    with pytest.raises(UsageError, match=r"^text 2 is empty"):
        paraphraser([TEXT, "\x00 \n"])


def test_ten_thousand_words(paraphraser: Paraphraser) -> None:
    [result] = paraphraser("moose " * 10_000)
    assert result.text
    assert result.warnings[0].startswith("only the beginning was read")


@settings(deadline=None, max_examples=40)
@given(text=st.text(min_size=1, max_size=60))
def test_any_unicode_is_paraphrased_or_refused(paraphraser: Paraphraser, text: str) -> None:
    if problem_with(text):
        with pytest.raises(UsageError, match=r"^the text is empty: there is nothing to paraphrase$"):
            paraphraser(text)
        return
    results = paraphraser(text, n=2)
    assert len(results) == 2
    for each in results:
        assert each.text.strip()
        assert "\n" not in each.text
        each.text.encode()
        json.dumps(each.to_dict(), allow_nan=False)


@pytest.mark.parametrize("text", [None, 3, b"a moose", {"text": "a moose"}, ["a moose", None]])
def test_what_is_no_text_is_a_usage_error(paraphraser: Paraphraser, text: object) -> None:
    with pytest.raises(UsageError, match=r"is of type \w+ \(expected str"):
        paraphraser(text)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"is of type \w+ \(expected str"):
        paraphraser.sketch(text)  # type: ignore[call-overload]


def test_arrays_are_lists_as_well(paraphraser: Paraphraser) -> None:
    texts, codes = np.array([TEXT, EXEMPLAR]), np.array([1, 2])
    assert paraphraser(texts, sketch=codes) == paraphraser([TEXT, EXEMPLAR], sketch=(1, 2))  # type: ignore[call-overload]
    each = paraphraser([TEXT, EXEMPLAR], sketch=np.array([[1], [0]]))  # type: ignore[call-overload]
    assert [one.sketch[0] for [one] in each] == [1, 0]


def test_sentences_are_paraphrased_one_by_one_and_put_together(paraphraser: Paraphraser) -> None:
    text = " How heavy is a moose?\n\nDr. Parrot lives here.  Where do whales live? "
    parts = ["How heavy is a moose?", "Dr. Parrot lives here.", "Where do whales live?"]
    apart = paraphraser(parts, n=3, like=EXEMPLAR)
    together = paraphraser(text, n=3, like=EXEMPLAR, split=True)
    for rank, one in enumerate(together):
        first, second, third = (each[rank] for each in apart)
        assert one.text == f" {first.text}\n\n{second.text}  {third.text} "
        assert one.accepted == (first.accepted and second.accepted and third.accepted)
        assert one.lost == first.lost + second.lost + third.lost
        assert one.faithfulness == min(each[rank].faithfulness or 0 for each in apart)
    texts = [text, "how heavy is it?"]
    both = paraphraser(texts, sketch=[(1,), (2,)], split=True)
    assert [each.text for each in both[1]] == [each.text for each in paraphraser(texts[1], sketch=(2,))]
    assert both[0][0].text == " {}\n\n{}  {} ".format(*(each[0].text for each in paraphraser(parts, sketch=(1,))))


def test_very_many_candidates_are_judged_in_part(paraphraser: Paraphraser, monkeypatch: pytest.MonkeyPatch) -> None:
    [everything] = paraphraser.candidates([TEXT], n=30)
    monkeypatch.setattr("parasketch.generate.candidates.MOST_JUDGED", 10)
    [judged] = paraphraser.candidates([TEXT], n=30)
    assert len(everything.candidates) > len(judged.candidates) == 10
    kept = {candidate.text for candidate in judged.candidates}
    others = [one for one in everything.candidates if one.text not in kept]
    best = max((-one.attempt, one.support) for one in others)
    assert all((-one.attempt, one.support) >= best for one in judged.candidates)
    assert len(paraphraser(TEXT, n=20)) == 20
