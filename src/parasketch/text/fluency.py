"""Whether the words of a text stand in an order that English has: what is broken is not to be accepted.

A model gets the meaning back from shuffled words, and facts do not mind where they stand. So order has a check of its
own, small and fast and without a network: each run of two or three neighbouring words has a weight, which says whether
such runs occur in sentences or in sentences whose words were shuffled. Casing and marks are not seen.

Runs are looked up by a hash, in several wordings, from the words themselves to their endings, so that unknown words
say something too. `scripts/train_fluency.py` makes the weights; docs/reliability.md has the figures.
"""

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from parasketch.text.templates import STOP_WORDS

SIZE = 1 << 19
"""Weights; runs whose hashes are the same share one."""
WEIGHTS = files("parasketch.text") / "models" / "fluency.safetensors"
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+(?:[.,:]\d+)*")
_ENDINGS = (
    *("ing", "tion", "sion", "ment", "ness", "ity", "able", "ible", "ful", "less", "ous", "ive", "ical", "ally", "ly"),
    *("ed", "er", "est", "al", "ic", "ies", "es", "s"),
)
_EDGE = ("<", "<")


class _Weights(NamedTuple):
    of_runs: NDArray[np.int8]
    scale: float
    bias: float


def fluency(text: str) -> float:
    """Log-odds that the words stand as in a sentence and not as shuffled; about 0 for a text of hardly any words."""
    weights = _weights()
    found = hashes(text)
    if not found:
        return 0.0
    total = int(weights.of_runs[found].sum(dtype=np.int64))
    return total * weights.scale / math.sqrt(len(found)) + weights.bias


def hashes(text: str) -> list[int]:
    """The places of a text's runs among the weights."""
    words = [(word, _class_of(word)) for word in words_of(text)]
    if not words:
        return []
    framed = [_EDGE, *words, _EDGE]
    return [crc32(run.encode("utf-8", "surrogatepass")) % SIZE for run in _runs(framed)]


def words_of(text: str) -> list[str]:
    """The words and numbers of a text in lower case, whose order is judged."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


def _runs(words: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Runs of two and three words, each in several wordings."""
    for (one, first), (two, second) in pairwise(words):
        yield f"a {one} {two}"
        yield f"b {first} {two}"
        yield f"c {one} {second}"
        yield f"d {first} {second}"
    for (one, first), (two, second), (three, third) in zip(words, words[1:], words[2:], strict=False):
        yield f"e {one} {two} {three}"
        yield f"f {first} {second} {third}"
        yield f"g {first} {two} {third}"


@lru_cache(maxsize=1 << 16)
def _class_of(word: str) -> str:
    """What a rare word has in common with others: its ending. Words without content stand for themselves."""
    if word in STOP_WORDS:
        return word
    if word[0].isdigit():
        return "0"
    return next((f"-{ending}" for ending in _ENDINGS if word.endswith(ending) and len(word) > len(ending) + 1), "-")


@lru_cache(maxsize=1)
def _weights() -> _Weights:
    content = load(WEIGHTS.read_bytes())
    scale, bias = content["scale_and_bias"].tolist()
    return _Weights(content["weights"], scale, bias)
