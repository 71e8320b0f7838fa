"""The shipped tagger: two linear-chain CRFs, parts of speech first, then chunks on top of them.

Small enough for a wheel, fast enough for millions of sentences on CPUs, and free of downloads. Feature strings are
the hot part: everything that depends on one word alone is built once per word and kept, as bytes, which is what
crfsuite wants. `scripts/train_tagger.py` trains the models with the same functions; docs/tagger.md has the figures.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import pycrfsuite

from parasketch.text.tagger import TaggedToken
from parasketch.text.words import split_words

Item = Sequence[bytes]
"""The features of one token."""

MODELS = files("parasketch.text") / "models"
_DIGIT = re.compile(r"\d")


class _WordFeatures(NamedTuple):
    """Features that depend on one word alone: those of its own place and those it lends to its neighbours."""

    pos: tuple[bytes, ...]
    chunk: tuple[bytes, ...]
    key: bytes
    last: bytes
    next: bytes
    before_last: bytes
    after_next: bytes


@lru_cache(maxsize=1 << 17)
def _word_features(word: str) -> _WordFeatures:
    lower = _DIGIT.sub("0", word.lower())
    key = lower.encode("utf-8", "surrogatepass")
    shape = _shape(word)
    ends = [f"s{n}={lower[-n:]}" for n in (1, 2, 3, 4) if len(lower) > n]
    begins = [f"b{n}={lower[:n]}" for n in (1, 2, 3) if len(lower) > n]
    own = tuple(
        text.encode("utf-8", "surrogatepass") for text in (*ends, *begins, f"h={shape}", f"hs={shape}{lower[-2:]}")
    )
    return _WordFeatures(
        pos=(b"w=" + key, *own),
        chunk=(b"w=" + key, *own[: len(ends)][-1:], own[-2]),
        key=key,
        last=b"l=" + key,
        next=b"n=" + key,
        before_last=b"ll=" + key,
        after_next=b"nn=" + key,
    )


def _shape(word: str) -> str:
    """How a word is written: casing, digits, hyphens; e.g. `Aa` for Moose, `A` for USA, `a-` for well-known."""
    casing = "A" if word.isupper() else "Aa" if word[:1].isupper() else "a" if word.islower() else "x"
    if len(word) == 1 and casing == "A":
        casing = "I"
    digits = "0" if any(character.isdigit() for character in word) else ""
    return casing + digits + ("-" if "-" in word[1:] else "")


_EDGE = _WordFeatures((), (), b"", b"l=", b"n=", b"ll=", b"nn=")


def pos_items(words: Sequence[str]) -> list[Item]:
    """The features from which parts of speech are predicted, one item a word."""
    around = [_EDGE, _EDGE, *map(_word_features, words), _EDGE, _EDGE]
    return [
        (
            *own.pos,
            last.last,
            after.next,
            before.before_last,
            later.after_next,
            b"lw=" + last.key + b" " + own.key,
            b"wn=" + own.key + b" " + after.key,
        )
        for before, last, own, after, later in zip(around, around[1:], around[2:], around[3:], around[4:], strict=False)
    ]


@lru_cache(maxsize=1 << 17)
def _tag_features(before: str, last: str, own: str, after: str, later: str) -> tuple[bytes, ...]:
    """Tags of a window of five, and their runs of two and three."""
    return tuple(
        text.encode("utf-8", "surrogatepass")
        for text in (
            f"t-2={before}",
            f"t-1={last}",
            f"t={own}",
            f"t+1={after}",
            f"t+2={later}",
            f"t-2-1={before} {last}",
            f"t-1+0={last} {own}",
            f"t+0+1={own} {after}",
            f"t+1+2={after} {later}",
            f"t-2+0={before} {last} {own}",
            f"t-1+1={last} {own} {after}",
            f"t+0+2={own} {after} {later}",
        )
    )


def chunk_items(words: Sequence[str], tags: Sequence[str]) -> list[Item]:
    """The features from which chunks are predicted, given the parts of speech, one item a word."""
    around = [_EDGE, _EDGE, *map(_word_features, words), _EDGE, _EDGE]
    padded = ["", "", *tags, "", ""]
    windows = zip(padded, padded[1:], padded[2:], padded[3:], padded[4:], strict=False)
    return [
        (
            *own.chunk,
            *_tag_features(*window),
            last.last,
            after.next,
            before.before_last,
            later.after_next,
            b"lw=" + last.key + b" " + own.key,
            b"wn=" + own.key + b" " + after.key,
        )
        for before, last, own, after, later, window in zip(
            around, around[1:], around[2:], around[3:], around[4:], windows, strict=False
        )
    ]


def forget_words() -> None:
    """Empty the memory of feature strings (to measure without it)."""
    _word_features.cache_clear()
    _tag_features.cache_clear()


class CrfModel:
    """A crfsuite model, from the content of its file."""

    def __init__(self, content: bytes) -> None:
        self._content = content  # crfsuite reads from this memory and makes no copy: it has to stay
        self._tagger = pycrfsuite.Tagger()
        self._tagger.open_inmemory(content)

    def tag(self, items: Sequence[Item]) -> list[str]:
        """The best labels, one an item."""
        labels: list[str] = self._tagger.tag(items)
        return labels


class CrfTagger:
    """Penn Treebank tags and CoNLL-2000 chunks for English, with the models of the package."""

    def __init__(self) -> None:
        pos, chunk = ((MODELS / f"{kind}.crfsuite").read_bytes() for kind in ("pos", "chunk"))
        self._pos_model, self._chunk_model = CrfModel(pos), CrfModel(chunk)
        # A digest of the models, so that retrained ones never meet old caches.
        self.name = f"crf-{hashlib.sha256(pos + chunk).hexdigest()[:8]}"

    def __reduce__(self) -> tuple[Callable[[], "CrfTagger"], tuple[()]]:
        """Worker processes read the models themselves, in milliseconds, instead of receiving them."""
        return CrfTagger, ()

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        """Tag sentences one by one."""
        return [self._tag(sentence) for sentence in sentences]

    def _tag(self, sentence: str) -> list[TaggedToken]:
        words = split_words(sentence)
        if not words:
            return []
        texts = [word.text for word in words]
        tags = self._pos_model.tag(pos_items(texts))
        chunks = self._chunk_model.tag(chunk_items(texts, tags))
        return [
            TaggedToken(text, start, end, tag, chunk.rpartition("-")[2])
            for (text, start, end), tag, chunk in zip(words, tags, chunks, strict=True)
        ]
