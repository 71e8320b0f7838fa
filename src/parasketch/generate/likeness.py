"""How much a sentence has the form of another: what decides among sentences of one sketch when an exemplar is given.

The form is what is left when content words become blanks: "A man is riding a horse." is `a _ is _ a _ .`. Forms are
compared by the edit distance of words. A word more or less counts for more than another word in the same place, because
it moves all that follows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parasketch.generate.overlap import compared_words
from parasketch.text.templates import STOP_WORDS

_BLANK = "_"
_INSERTION = 3  # as many changed words; 1 to 4 were compared (docs/experiments.md)


def likeness(exemplar: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """The likeness of each text to the exemplar, (m,): 1 for the same form, less for others, without a lower bound."""
    wanted = form_of(exemplar)
    forms = [form_of(text) for text in texts]
    return np.array([1 - _distance(wanted, form) / max(len(wanted), len(form), 1) for form in forms])


def form_of(text: str) -> list[str]:
    """The words of a text with blanks for those of content; numbers are content."""
    return [word if word in STOP_WORDS or not word[0].isalnum() else _BLANK for word in compared_words(text)]


def _distance(first: Sequence[str], second: Sequence[str]) -> int:
    costs = [_INSERTION * place for place in range(len(second) + 1)]
    for word in first:
        diagonal, costs[0] = costs[0], costs[0] + _INSERTION
        for place, other in enumerate(second, 1):
            changed = diagonal + (word != other)
            diagonal = costs[place]
            costs[place] = min(changed, diagonal + _INSERTION, costs[place - 1] + _INSERTION)
    return costs[-1]
