"""SOW at work: what it makes of the splits of parsed texts, and the word orders that follow.

All splits of all texts are said in one search, with the gaps the other way round; and once more, greedily, with the
gaps as they are, to know which split to keep where nothing is rewritten. The words of a split are then put in the order
in which the output says the likest ones, by the token embeddings that REAP has learnt.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import Hypothesis, SpecialTokens, TokenSearch
from parasketch.generate.torch_backend import TransformerDecoding
from parasketch.model.inputs import Sentences
from parasketch.model.ragged import Layout
from parasketch.systems.sowreap.annotate import phrase_tokens
from parasketch.systems.sowreap.examples import gap_ranks, tag_numbers
from parasketch.systems.sowreap.network import SowReap
from parasketch.systems.sowreap.orders import aligned_places
from parasketch.systems.sowreap.parses import Node
from parasketch.systems.sowreap.reading import Reading
from parasketch.systems.sowreap.rewrites import Proposal, Rewrite, Split, compose, splits_of
from parasketch.systems.sowreap.rules import X, Y
from parasketch.systems.sowreap.tags import Tags
from parasketch.text.tokenizer import Tokenizer

BEAM, MOST_TOKENS = 5, 22
"""Hypotheses, and the longest output, begin and end included."""
_MOST_ROWS = 1024  # hypotheses that are decoded together


@dataclass(frozen=True)
class _Asked:
    """A split of one of the texts."""

    text: int
    reading: Reading
    split: Split


class OrderFinder:
    """Finds orders for texts."""

    def __init__(self, network: SowReap, tokenizer: Tokenizer) -> None:
        self._network, self._tokenizer = network, tokenizer
        self._tags = Tags(network.config.tag_names)
        config = GenerateConfig(beam=BEAM, max_tokens=MOST_TOKENS)
        self._search = TokenSearch(SpecialTokens.of(tokenizer), config)

    def __call__(self, readings: Sequence[Reading | None]) -> list[list[Proposal]]:
        """The orders of each text, best first, the last as it is; a text without a reading has none."""
        asked = [
            _Asked(text, reading, split)
            for text, reading in enumerate(readings)
            if reading is not None
            for split in splits_of(reading.parse)
            if len(phrase_tokens(reading, split.units, self._network.gaps)) <= self._network.config.max_length - 2
        ]
        rewrites: dict[int, list[Rewrite]] = defaultdict(list)
        for each, hypotheses in zip(asked, self._say(asked, inverted=True, width=BEAM), strict=True):
            if (best := next(filter(self._has_gaps, hypotheses), None)) is not None:
                rewrites[each.text].append(self._rewrite(each, best))
        kept: dict[int, dict[Node, tuple[float, Split]]] = defaultdict(dict)
        for each, hypotheses in zip(asked, self._say(asked, inverted=False, width=1), strict=True):
            score = hypotheses[0].likelihood
            if score > kept[each.text].get(each.split.node, (-np.inf, None))[0]:
                kept[each.text][each.split.node] = score, each.split
        return [
            []
            if reading is None
            else compose(reading.parse, rewrites[text], {node: split for node, (_, split) in kept[text].items()})
            for text, reading in enumerate(readings)
        ]

    def _say(self, asked: Sequence[_Asked], *, inverted: bool, width: int) -> list[list[Hypothesis]]:
        """What SOW says for each split, best first."""
        found: list[list[Hypothesis]] = []
        size = max(1, _MOST_ROWS // width)
        for start in range(0, len(asked), size):
            memory = self._encode(asked[start : start + size], inverted)
            limits = np.full(len(asked[start : start + size]), MOST_TOKENS)
            decoding = TransformerDecoding(self._network.sow, self._network.sow.start(*memory))
            found += self._search(decoding, limits, width=width)
        return found

    def _encode(self, asked: Sequence[_Asked], inverted: bool) -> tuple[Tensor, Layout]:
        """The memory for each split."""
        sow, gaps = self._network.sow, self._network.gaps
        tokens = [phrase_tokens(each.reading, each.split.units, gaps) for each in asked]
        tags = [self._tags.of(each.reading, each.split.units, each.split.x, each.split.y) for each in asked]
        begin, end = self._tokenizer.bos_id, self._tokenizer.eos_id
        sentences = Sentences.from_lists([[begin, *each, end] for each in tokens])
        device = sow.embedding.weight.device
        ranks = gap_ranks(sentences, np.full(len(asked), inverted), gaps)
        numbers = tag_numbers(sentences, np.fromiter(chain.from_iterable(tags), np.int32))
        states = sow.encode(sentences.to(device), torch.from_numpy(numbers).to(device))
        return sow.add_order(states, torch.from_numpy(ranks).to(device)), sentences.layout

    def _has_gaps(self, hypothesis: Hypothesis) -> bool:
        return all(hypothesis.tokens.count(gap) == 1 for gap in self._network.gaps)

    def _rewrite(self, asked: _Asked, best: Hypothesis) -> Rewrite:
        split, units = asked.split, asked.split.units
        places = aligned_places(self._similarities(asked, best.tokens))
        order = sorted(range(len(units)), key=lambda unit: places[unit])
        inside = {
            gap: [token for word in range(node.start, node.end) for token in asked.reading.word_tokens[word]]
            for gap, node in zip(self._network.gaps, (split.x, split.y), strict=True)
        }
        said = tuple(token for each in best.tokens for token in inside.get(each, [each]))
        return Rewrite(split, tuple(units[unit] for unit in order), said, best.likelihood)

    def _similarities(self, asked: _Asked, said: Sequence[int]) -> NDArray[np.float32]:
        """How like each word or gap of a split is to each token of what was said; a gap is like itself alone."""
        table = self._network.embedding.weight
        gaps = dict(zip((X, Y), self._network.gaps, strict=True))
        words = [token not in gaps.values() for token in said]
        vectors = table[torch.tensor([token if word else 0 for token, word in zip(said, words, strict=True)])]
        found = np.zeros((len(asked.split.units), len(said)), dtype=np.float32)
        for row, unit in enumerate(asked.split.units):
            if isinstance(unit, str):
                found[row] = [2.0 if token == gaps[unit] else -2.0 for token in said]
            elif tokens := asked.reading.word_tokens[unit]:
                likeness = torch.cosine_similarity(table[torch.tensor(tokens)][:, None], vectors[None], dim=-1)
                found[row] = np.where(words, likeness.amax(dim=0).float().cpu().numpy(), -2.0)
        return found
