"""What a tagger is: sentences in; words with part-of-speech tags, chunk types and offsets out.

Templates (and through them exemplars) are built on such tags. The shipped CRF needs nothing else; spaCy and flair
are plug-ins for other languages and for comparison with the paper, which used flair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from parasketch.errors import UsageError


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """A word or mark of a sentence; `sentence[start:end] == text`."""

    text: str
    start: int
    end: int
    pos: str
    """Penn Treebank tag (or the tag of the plug-in's own language)."""
    chunk: str
    """CoNLL-2000 chunk type without its B- or I- ("NP", "VP", ...), or "O" outside every chunk."""


class Tagger(Protocol):
    """Anything that tags; `name` tells two taggers with different results apart and enters cache keys."""

    name: str

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        """Tag sentences one by one: the result of one does not depend on the others."""
        ...


def load_tagger(name: str) -> Tagger:
    """The tagger of that name: `crf` (shipped), `spacy:MODEL` (any spaCy model), or `flair`."""
    kind, _, model = name.partition(":")
    if kind == "crf" and not model:
        from parasketch.text.crf import CrfTagger

        return CrfTagger()
    if kind == "spacy" and model:
        from parasketch.text.plugins import SpacyTagger

        return SpacyTagger(model)
    if kind == "flair" and not model:
        from parasketch.text.plugins import FlairTagger

        return FlairTagger()
    raise UsageError(
        f"unknown tagger {name!r} (expected 'crf', 'spacy:MODEL' such as 'spacy:en_core_web_md', or 'flair')"
    )
