"""Templates: the shape of a sentence, with its content words replaced by tags.

"How heavy is a moose?" becomes `how ADJP is a NP ?`. Sentences that share a template share their surface form, which
is how exemplars are found; and the slots say which characters of a sentence may be exchanged when an exemplar has
to be synthesised.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from parasketch.text.tagger import TaggedToken

TemplateKind = Literal["chunk", "pos"]

_ENGLISH = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
itself they them their theirs themselves what which who whom this that these those am is are was were be been being
have has had having do does did doing a an the and but if or because as until while of at by for with about against
between into through during before after above below to from up down in out on off over under again further then once
here there when where why how all any both each few more most other some such no nor not only own same so than too
very s t can will just don should now
"""

_SHORT_FORMS = ["n't", "'s", "'re", "'ve", "'ll", "'d", "'m"]

STOP_WORDS = frozenset([*_ENGLISH.split(), *_SHORT_FORMS, "many"])
"""Function words that stay as they are: NLTK's older list of 127, which has "is" and "not"; their short forms "'s" and
"n't", so that no exemplar says "What is riding the best way"; and "many" for the sake of "how many"."""

_STOP_WORDS_OF: dict[TemplateKind, frozenset[str]] = {"chunk": STOP_WORDS, "pos": STOP_WORDS - {"many"}}

PRESERVED_TAGS = frozenset([".", "WP", "IN", "$", "``", "''", "DT", "PRP", "SYM", ":"])
"""Part-of-speech tags whose spans are never exchanged when an exemplar is synthesised."""

_OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Slot:
    """One part of a template: a span of equal tags, or a single literal token."""

    label: str
    """The tag of a span ("NP"), or the token itself, in its own casing, where it is literal."""
    literal: bool
    start: int
    end: int
    """Half-open character range in the sentence; `sentence[start:end]` is the text of the slot."""


def build_template(tokens: Sequence[TaggedToken], kind: TemplateKind) -> tuple[Slot, ...]:
    """Merge runs of the same tag; stop-words and tokens outside every chunk break a run and stay literal.

    `chunk` templates suit questions; `pos` templates, where every token has a tag, suit captions. The slots cover
    all tokens in order, without overlap.
    """
    stop_words = _STOP_WORDS_OF[kind]

    def span_tag(token: TaggedToken) -> str | None:
        if _fold(token.text) in stop_words:
            return None
        if kind == "pos":
            return token.pos
        return None if token.chunk == _OUTSIDE else token.chunk

    return tuple(slot for tag, run in groupby(tokens, key=span_tag) for slot in _slots(tag, list(run)))


def _slots(tag: str | None, run: Sequence[TaggedToken]) -> Iterator[Slot]:
    """One slot for a run of tagged tokens; one for each token of a run of literals (no tag)."""
    if tag is None:
        for token in run:
            yield Slot(label=token.text, literal=True, start=token.start, end=token.end)
    else:
        yield Slot(label=tag, literal=False, start=run[0].start, end=run[-1].end)


def template_text(slots: Sequence[Slot]) -> str:
    """The template as a string, the key under which exemplars are found: `how ADJP is a NP ?`.

    Literals are compared without casing, other than in the paper's code: the same form in another casing is a good
    exemplar, and many questions on the web are written in lower case. Tags are upper-case, so the two cannot be
    confused.
    """
    return " ".join(_fold(slot.label) if slot.literal else slot.label for slot in slots)


def _fold(text: str) -> str:
    """A token as it is compared: lower-cased, with a plain apostrophe."""
    return text.lower().replace("’", "'")
