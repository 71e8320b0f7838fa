"""Pairs of sentences as token ids, and batches of pairs of about the same length, so that there are few pads."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray

from parasketch.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

Pair = tuple[str, str]
_EDGE = -1  # stands before the first and after the last token of a sentence


class EncodedPair(NamedTuple):
    """`[CLS] A [SEP] B [SEP]` as ids; the first `first` of them belong to A."""

    ids: list[int]
    first: int
    matches: list[int]
    """How far each is shared with the other sentence: 0 [CLS] and [SEP], 1 not, 2 alone, 3 and 4 with neighbours."""

    def turned(self) -> "EncodedPair":
        """(B, A) of (A, B)."""
        ids, matches = ([*row[:1], *row[self.first :], *row[1 : self.first]] for row in (self.ids, self.matches))
        return EncodedPair(ids, 1 + len(self.ids) - self.first, matches)


class PairArrays(NamedTuple):
    """What a network reads: (B, T) each."""

    tokens: NDArray[np.int64]
    segments: NDArray[np.int64]
    matches: NDArray[np.int64]
    is_pad: NDArray[np.bool_]


@dataclass(frozen=True)
class PairBatch:
    """The same for torch."""

    tokens: "Tensor"
    segments: "Tensor"
    matches: "Tensor"
    mask: "Tensor | None"
    """True where there is a token; None if there is no pad at all."""


class PairTokenizer:
    """WordPiece from a tokenizer.json; sentences are cut so that both fit into the network's positions."""

    def __init__(self, path: Path | str, *, max_length: int) -> None:
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises plain exceptions
            raise ModelError(f"{path}: not a tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.vocab_size = self._tokenizer.get_vocab_size()
        self.limit = (max_length - 3) // 2
        """Tokens of one sentence."""
        self._start, self._end = (self._special(token) for token in ("[CLS]", "[SEP]"))

    def encode(self, pairs: Sequence[Pair]) -> list[EncodedPair]:
        """The pairs, in order."""
        texts = [text for pair in pairs for text in pair]
        pieces = [found.ids[: self.limit] for found in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        encoded = []
        for one, other in zip(pieces[::2], pieces[1::2], strict=True):
            matches = [0, *_matches(one, other), 0, *_matches(other, one), 0]
            encoded.append(EncodedPair([self._start, *one, self._end, *other, self._end], len(one) + 2, matches))
        return encoded

    def words(self) -> dict[str, int]:
        """The ids of whole words."""
        return {word: number for word, number in self._tokenizer.get_vocab().items() if word.isalpha()}

    def save(self, path: Path) -> None:
        """Write the tokenizer.json, without the padding and truncation that the file it came from may ask for."""
        self._tokenizer.save(str(path))

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelError(f"the tokenizer has no {token}: not one of BERT's kind")
        return int(found)


def as_arrays(pairs: Sequence[EncodedPair]) -> PairArrays:
    """One batch; shorter pairs are filled up with id 0."""
    lengths = np.array([len(pair.ids) for pair in pairs])
    longest = int(lengths.max())
    tokens, matches = (
        np.array([row + [0] * (longest - len(row)) for row in rows])
        for rows in ([pair.ids for pair in pairs], [pair.matches for pair in pairs])
    )
    places = np.arange(longest)
    segments = (places >= np.array([pair.first for pair in pairs])[:, None]).astype(np.int64)
    return PairArrays(tokens, segments, matches, places >= lengths[:, None])


def collate(pairs: Sequence[EncodedPair]) -> PairBatch:
    """One batch as tensors; the mask hides what was filled up."""
    import torch

    tokens, segments, matches, is_pad = map(torch.from_numpy, as_arrays(pairs))
    return PairBatch(tokens, segments, matches, ~is_pad if bool(is_pad.any()) else None)


def _matches(sentence: Sequence[int], other: Sequence[int]) -> list[int]:
    """For every token: 1 if the other sentence lacks it, else 2 and one more for each neighbour it has there too."""
    known, following = set(other), set(pairwise([_EDGE, *other, _EDGE]))
    padded = [_EDGE, *sentence, _EDGE]
    return [
        2 + ((before, token) in following) + ((token, after) in following) if token in known else 1
        for before, token, after in zip(padded, sentence, padded[2:], strict=False)
    ]


def by_length(pairs: Sequence[EncodedPair], batch_size: int) -> list[list[int]]:
    """Batches of positions in `pairs`, shortest pairs first."""
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place].ids))
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
