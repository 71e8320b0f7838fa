"""Changes that leave a sentence saying the same: they make right pairs that share nearly all their words.

Without them a verifier that is shown changed words learns that nearly equal means different.
"""

import random
import re
from collections.abc import Sequence

from parasketch.verify.word_lists import NUMBER_WORDS

_SWAPS = [
    ("do not", "don't"), ("does not", "doesn't"), ("did not", "didn't"), ("is not", "isn't"), ("are not", "aren't"),
    ("was not", "wasn't"), ("were not", "weren't"), ("cannot", "can't"), ("could not", "couldn't"),
    ("will not", "won't"), ("would not", "wouldn't"), ("should not", "shouldn't"), ("have not", "haven't"),
    ("has not", "hasn't"), ("I am", "I'm"), ("I have", "I've"), ("I will", "I'll"), ("you are", "you're"),
    ("he is", "he's"), ("she is", "she's"), ("it is", "it's"), ("that is", "that's"), ("what is", "what's"),
    ("we are", "we're"), ("they are", "they're"), ("there is", "there's"), ("somebody", "someone"),
    ("anybody", "anyone"), ("everybody", "everyone"), ("nobody", "no one"), ("maybe", "perhaps"), ("big", "large"),
    ("start", "begin"), ("started", "began"), ("movie", "film"), ("kids", "children"),
    ("needs to", "has to"), ("need to", "have to"), ("going to", "gonna"),
    ("mom", "mother"), ("dad", "father"), ("almost", "nearly"),
    ("whole", "entire"), ("buy", "purchase"),
    ("difficult", "hard"), ("right now", "at the moment"),
    ("however", "nevertheless"), ("in order to", "to"), ("usually", "normally"),
    ("picture", "photo"), ("sofa", "couch"), ("bike", "bicycle"), ("next to", "beside"), ("near", "close to"),
("how do I", "how can I"), ("best way", "best method"), ("what are", "which are"),
]  # fmt: skip
_RULES = [(re.compile(rf"\b{re.escape(a)}\b", re.IGNORECASE), b) for one in _SWAPS for a, b in (one, one[::-1])]
_NUMBERS = [
    (re.compile(rf"(?<![\d.,:-])\b{number}\b(?![\d.,:%-])"), word) for number, word in enumerate(NUMBER_WORDS[:12], 1)
]
_NUMBERS += [
    (re.compile(rf"\b{word}\b"), str(number)) for number, word in enumerate(NUMBER_WORDS[:12], 1) if number > 1
]
_ENDS = re.compile(r"[.!]$")


def harmless(text: str, draw: random.Random, times: int = 1) -> str:
    """The text with up to `times` small changes of wording, or only of writing where no rule fits."""
    changed = text
    for _ in range(times):
        options = [(pattern, new) for pattern, new in [*_RULES, *_NUMBERS] if pattern.search(changed)]
        if options:
            changed = _put(changed, *draw.choice(options))
    if changed == text:
        changed = draw.choice(_written_otherwise(text))
    return changed


def _put(text: str, pattern: re.Pattern[str], new: str) -> str:
    found = pattern.search(text)
    assert found is not None
    new = new[:1].upper() + new[1:] if found[0][:1].isupper() and not found[0].startswith("I ") else new
    return text[: found.start()] + new + text[found.end() :]


def _written_otherwise(text: str) -> Sequence[str]:
    """Other casing or marks, or none at all."""
    without = _ENDS.sub("", text)
    return [text, text.lower(), without, without + ("" if text.endswith("?") else "!"), text.replace(", ", " ", 1)]
