"""The shipped tagger on sentences with known tags, on odd input, and its manners in worker processes."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.errors import UsageError
from parasketch.text.crf import MODELS, CrfTagger
from parasketch.text.tagger import load_tagger
from parasketch.text.templates import build_template, template_text

TAGGER = CrfTagger()


def tags(sentence: str) -> str:
    return " ".join(token.pos for token in TAGGER.tag([sentence])[0])


def template(sentence: str) -> str:
    return template_text(build_template(TAGGER.tag([sentence])[0], "chunk"))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("How heavy is a moose?", "WRB JJ VBZ DT NN ."),
        ("Why don't cats eat grass?", "WRB VBP RB NNS VB NN ."),
        ("What is the best way to lose weight?", "WP VBZ DT JJS NN TO VB NN ."),
        ("A man is riding a wave on a surfboard.", "DT NN VBZ VBG DT NN IN DT NN ."),
        ("two dogs playing in the snow", "CD NNS VBG IN DT NN"),
    ],
)
def test_parts_of_speech(sentence: str, expected: str) -> None:
    assert tags(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("How heavy is a moose?", "how ADJP is a NP ?"),
        ("What's the best way to learn English?", "what 's the NP to VP NP ?"),
        ("Does meditation increase creativity?", "does NP VP NP ?"),
        ("What is the best way to lose weight?", "what is the NP to VP NP ?"),
        ("How can I learn English quickly?", "how can i VP NP ADVP ?"),
        ("A man is riding a wave on a surfboard.", "a NP is VP a NP on a NP ."),
        ("two young dogs playing in the deep snow", "NP VP in the NP"),
    ],
)
def test_chunk_templates(sentence: str, expected: str) -> None:
    assert template(sentence) == expected


def test_templates_do_not_depend_on_the_casing_of_function_words() -> None:
    assert template("What is a black hole?") == template("what is a black hole?") == "what is a NP ?"


def test_empty_and_blank_sentences_have_no_tokens() -> None:
    assert TAGGER.tag([]) == []
    assert TAGGER.tag(["", " \t\n"]) == [[], []]


def test_sentence_of_a_thousand_words() -> None:
    [tokens] = TAGGER.tag(["the cat sat " * 333 + "down"])
    assert len(tokens) == 1000
    assert {token.pos for token in tokens if token.text == "the"} == {"DT"}


def test_result_does_not_depend_on_neighbours_or_order() -> None:
    sentences = ["How heavy is a moose?", "", "a man on a horse", "Is it true?"]
    alone = [TAGGER.tag([sentence])[0] for sentence in sentences]
    assert TAGGER.tag(sentences) == alone
    assert TAGGER.tag(sentences[::-1]) == alone[::-1]


_ODD = st.text(st.one_of(st.characters(), st.sampled_from("abN 1.,'’-?\u0301\u200d😀\ud800\x00")), max_size=40)


@settings(deadline=None)
@given(_ODD)
def test_any_string_is_tagged_with_true_offsets(sentence: str) -> None:
    [tokens] = TAGGER.tag([sentence])
    assert all(sentence[token.start : token.end] == token.text for token in tokens)
    assert all(token.pos and token.chunk and token.chunk[:2] not in {"B-", "I-"} for token in tokens)
    slots = build_template(tokens, "chunk")
    covered = "".join(sentence[slot.start : slot.end] for slot in slots)
    assert "".join(covered.split()) == "".join(sentence.split())


def _tag_elsewhere(tagger: CrfTagger) -> tuple[str, list[str]]:
    return tagger.name, [token.pos for token in tagger.tag(["How heavy is a moose?"])[0]]


def test_tagger_travels_to_worker_processes_without_its_models() -> None:
    assert len(pickle.dumps(TAGGER)) < 1000
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(_tag_elsewhere, TAGGER).result() == _tag_elsewhere(TAGGER)


def test_models_stay_small() -> None:
    assert sum(len((MODELS / f"{kind}.crfsuite").read_bytes()) for kind in ("pos", "chunk")) < 4_000_000


def test_load_tagger_knows_its_names() -> None:
    assert load_tagger("crf").name == TAGGER.name
    for name in ("", "crff", "crf:x", "spacy", "spacy:", "flair:x"):
        with pytest.raises(UsageError, match=r"unknown tagger .*expected 'crf', 'spacy:MODEL'"):
            load_tagger(name)
