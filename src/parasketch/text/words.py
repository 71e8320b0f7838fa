"""Split a sentence into words and marks, each with its place in the sentence.

Taggers were trained on Penn Treebank words ("do n't", "what 's", "?" apart), so sentences have to be cut the same
way; and templates have to be put back into text, so every token keeps its character offsets. One regular
expression does it: no model, no language data, and no character that is not white space is ever lost.
"""

import re
from typing import NamedTuple

# Whatever is neither white space nor listed here is part of a word: letters and digits of every script, combining
# marks, emoji. (`\w` would cut Indic words apart at their vowel signs.)
_MARKS = r"!-/:-@\[-^`{-~¡-©«-±´¶-¸»¿×÷‐-‧‰-⁞₠-⃏←-⏿、-〿！-／：-＠"
_CHAR = rf"[^\s{_MARKS}]"
_CLITIC = r"['’](?:s|re|ve|ll|d|m)"

_TOKEN = re.compile(
    "|".join(
        [
            r"(?:https?://|www\.)\S*[^\s.,;:!?'\")\]}]",  # an address, without the mark that follows it
            r"(?:[A-Za-z]\.){2,}",  # U.S., e.g.
            r"(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Rs|vs|etc)\.(?=\s*\S)",  # the last point of a sentence stands apart
            r"[A-Z]\.(?=\s+[A-Z])",  # George W. Bush
            rf"[A-Za-z](?:\+\+|#)(?!{_CHAR})",  # C++, C#
            rf"(?i:can)(?=(?i:not)(?!{_CHAR}))",  # can|not
            rf"(?i:{_CLITIC})(?!{_CHAR})",
            rf"{_CHAR}+(?:(?:[-'’&@‐‑]|\.(?![A-Z])|(?<=\d)[,:](?=\d)){_CHAR}+)*",  # o'clock, 1,000, node.js
            r"\.{2,}|-{2,}|``|''",
            r"\S",
        ]
    )
)
_CONTRACTION = re.compile(rf"(?i:(?:n['’]t|{_CLITIC})$)")


class Word(NamedTuple):
    """A token and its half-open range of characters in the sentence."""

    text: str
    start: int
    end: int


def split_words(sentence: str) -> list[Word]:
    """The tokens of a sentence in order; what lies between them is white space only."""
    words = []
    for match in _TOKEN.finditer(sentence):
        text, (start, end) = match[0], match.span()
        if "'" in text or "’" in text:
            contraction = _CONTRACTION.search(text)
            if contraction is not None and contraction.start() > 0:
                cut = start + contraction.start()
                words.append(Word(sentence[start:cut], start, cut))
                text, start = contraction[0], cut
        words.append(Word(text, start, end))
    return words
