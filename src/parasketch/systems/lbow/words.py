"""Which words belong to the bag of a source: the content words of all other sentences of its cluster.

Words are subwords here. One that begins a word, and is the whole of it, is left out if it is a stop word; pieces of
longer words stay. Punctuation is left out too.
"""

import numpy as np
from numpy.typing import NDArray

from parasketch.data.prepared import Prepared, slices
from parasketch.text.templates import STOP_WORDS
from parasketch.text.tokenizer import Tokenizer


class BagWords:
    """Draws the bags of a prepared corpus."""

    def __init__(self, prepared: Prepared, *, most: int) -> None:
        self._arrays, self._most, tokenizer = prepared.arrays, most, prepared.tokenizer
        texts = [text.strip() for text in tokenizer.decode_batch([[token] for token in range(tokenizer.vocab_size)])]
        self._continuing = _mark(tokenizer, tokenizer.continuing_ids())
        self._stop_words = np.array([text in STOP_WORDS for text in texts]) & ~self._continuing
        self._marks = np.array([not any(map(str.isalnum, text)) for text in texts])

    def of(self, sentences: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each sentence (B,) the words of the others in its cluster, each once, then -1 to fill up: (B, M)."""
        arrays = self._arrays
        clusters = arrays.cluster_ids[sentences]
        first = arrays.cluster_offsets[clusters].astype(np.int64)
        size = arrays.cluster_offsets[clusters + 1] - first
        members, owners = slices(first, size), np.repeat(np.arange(len(sentences)), size)
        others = members != sentences[owners]
        members, owners = members[others], owners[others]
        starts = arrays.token_offsets[members].astype(np.int64)
        lengths = arrays.token_offsets[members + 1] - starts
        tokens, owners = arrays.tokens[slices(starts, lengths)].astype(np.int64), np.repeat(owners, lengths)
        content = self._content(tokens, np.cumsum(lengths) - 1)
        # How often each (owner, word) occurs; the most frequent words of an owner come first.
        keys, counts = np.unique(owners[content] * len(self._marks) + tokens[content], return_counts=True)
        owners, words = np.divmod(keys, len(self._marks))
        order = np.lexsort((words, -counts, owners))
        owners, words = owners[order], words[order]
        ranks = np.arange(len(owners)) - np.searchsorted(owners, owners)
        kept = ranks < self._most
        bags = np.full((len(sentences), max(1, int(ranks[kept].max(initial=0)) + 1)), -1, dtype=np.int64)
        bags[owners[kept], ranks[kept]] = words[kept]
        return bags

    def _content(self, tokens: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which tokens of sentences, end to end, say something; `ends` are the places of their last tokens."""
        goes_on = np.append(self._continuing[tokens[1:]], False)
        goes_on[ends] = False
        content: NDArray[np.bool_] = ~(self._stop_words[tokens] & ~goes_on) & ~self._marks[tokens]
        return content


def _mark(tokenizer: Tokenizer, ids: tuple[int, ...]) -> NDArray[np.bool_]:
    marked = np.zeros(tokenizer.vocab_size, dtype=bool)
    marked[list(ids)] = True
    return marked
