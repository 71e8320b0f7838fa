"""Templates: hand-made taggings with known slots, and the invariants that exemplar synthesis rests on."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from parasketch.text.tagger import TaggedToken
from parasketch.text.templates import PRESERVED_TAGS, STOP_WORDS, Slot, build_template, template_text


def tagged(text: str) -> list[TaggedToken]:
    """Tokens from `word/POS/CHUNK` parts, with the offsets they have when joined by single spaces."""
    tokens: list[TaggedToken] = []
    start = 0
    for part in text.split():
        word, pos, chunk = part.rsplit("/", 2)
        tokens.append(TaggedToken(word, start, start + len(word), pos, chunk))
        start += len(word) + 1
    return tokens


MOOSE = tagged("How/WRB/ADVP heavy/JJ/ADVP is/VBZ/VP a/DT/NP moose/NN/NP ?/./O")


def test_example_of_the_paper() -> None:
    assert build_template(MOOSE, "chunk") == (
        Slot("How", True, 0, 3),
        Slot("ADVP", False, 4, 9),
        Slot("is", True, 10, 12),
        Slot("a", True, 13, 14),
        Slot("NP", False, 15, 20),
        Slot("?", True, 21, 22),
    )
    assert template_text(build_template(MOOSE, "chunk")) == "how ADVP is a NP ?"


def test_pos_template_tags_every_token_that_is_no_stop_word() -> None:
    slots = build_template(MOOSE, "pos")
    assert template_text(slots) == "how JJ is a NN ."
    assert [slot.literal for slot in slots] == [True, False, True, True, False, False]


def test_runs_of_the_same_tag_merge_even_across_chunks() -> None:
    tokens = tagged("Last/JJ/NP year/NN/NP moose/NN/NP ate/VBD/VP grass/NN/NP")
    assert build_template(tokens, "chunk") == (
        Slot("NP", False, 0, 15),
        Slot("VP", False, 16, 19),
        Slot("NP", False, 20, 25),
    )
    assert template_text(build_template(tokens, "pos")) == "JJ NN VBD NN"


def test_stop_words_and_outside_tokens_break_a_run() -> None:
    tokens = tagged("cats/NNS/NP and/CC/NP dogs/NNS/NP ,/,/O birds/NNS/NP")
    assert template_text(build_template(tokens, "chunk")) == "NP and NP , NP"


def test_literals_are_compared_without_casing_but_keep_it_in_the_slot() -> None:
    tokens = tagged("WHAT/WP/NP Is/VBZ/VP NP/NNP/O")
    slots = build_template(tokens, "chunk")
    assert [slot.label for slot in slots] == ["WHAT", "Is", "NP"]
    assert template_text(slots) == "what is np"  # the word NP is not the tag NP


def test_many_is_a_stop_word_of_question_templates_only() -> None:
    tokens = tagged("How/WRB/NP many/JJ/NP moose/NNS/NP")
    assert template_text(build_template(tokens, "chunk")) == "how many NP"
    assert template_text(build_template(tokens, "pos")) == "how JJ NNS"


def test_short_forms_of_stop_words_are_stop_words_with_either_apostrophe() -> None:
    tokens = tagged("What/WP/NP 's/VBZ/VP he/PRP/NP ’ll/MD/VP do/VB/VP n’t/RB/VP")
    assert all(slot.literal for slot in build_template(tokens, "chunk"))
    assert template_text(build_template(tokens, "pos")) == "what 's he 'll do n't"


def test_no_tokens_give_an_empty_template() -> None:
    assert build_template([], "chunk") == ()
    assert template_text(()) == ""


def test_word_lists() -> None:
    assert len(STOP_WORDS) == 135  # NLTK's 127, seven short forms and "many"
    assert {"who", "what", "when", "where", "why", "how", "many", "which", "i", "now"} <= STOP_WORDS
    assert {".", "WP", "IN", "$", "``", "''", "DT", "PRP", "SYM", ":"} == PRESERVED_TAGS


_PARTS = st.tuples(
    st.sampled_from(["the", "Many", "moose", "ran", "quickly", ",", "?"]),
    st.sampled_from(["NN", "VB", "."]),
    st.sampled_from(["NP", "VP", "O"]),
)


@settings(deadline=None)
@given(st.lists(_PARTS, max_size=20), st.sampled_from(["chunk", "pos"]))
def test_slots_cover_all_tokens_in_order(parts: list[tuple[str, str, str]], kind: str) -> None:
    tokens = tagged(" ".join("/".join(part) for part in parts))
    sentence = " ".join(token.text for token in tokens)
    slots = build_template(tokens, kind)  # type: ignore[arg-type]
    assert " ".join(sentence[slot.start : slot.end] for slot in slots) == sentence
    spans = [slot for slot in slots if not slot.literal]
    assert all(sentence[slot.start : slot.end] == slot.label for slot in slots if slot.literal)
    assert all(" the " not in f" {sentence[slot.start : slot.end].lower()} " for slot in spans)
    neighbours = pairwise(slots)
    assert not any(a.label == b.label for a, b in neighbours if not a.literal and not b.literal)
