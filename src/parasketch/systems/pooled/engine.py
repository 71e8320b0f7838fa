"""Paraphrases by a network with one vector a sentence: encode, perhaps vary the vector, beam search.

There is no reranking: the outputs are what the network finds likely, the best of the beam or of every variant of the
vector. Only copies of the input and repeats come last, where reranking was not switched off.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from parasketch.config import to_dict
from parasketch.counter_rng import random_bits
from parasketch.errors import UsageError
from parasketch.generate.acceptance import judge_trust
from parasketch.generate.candidates import Candidate, CandidateSet, Judged
from parasketch.generate.choice import to_paraphrases
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.generate.settings import GenerateConfig, read_settings
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.generate.torch_backend import TransformerDecoding, find_device
from parasketch.model.inputs import Sentences
from parasketch.model.storage import save_model
from parasketch.systems.kinds import load_model
from parasketch.systems.pooled.network import Latent, PooledNetwork
from parasketch.text.sentence_encoder import SentenceModel
from parasketch.text.tokenizer import Tokenizer

MOST_ROWS = 1024
"""Hypotheses that are decoded together."""
MOST_TEXTS = 256
"""Texts that are encoded together."""


@dataclass(frozen=True)
class Variant:
    """A vector to decode for one text."""

    vector: Tensor
    """(width,)"""
    sketch: Sketch = field(default_factory=Sketch)
    log_prob: float = 0.0
    """Of the sketch."""


@dataclass(frozen=True)
class _Found:
    """A sentence, its rank among those of its vector, and the vector."""

    rank: int
    variant: Variant
    hypothesis: Hypothesis


class PooledEngine:
    """A network with its tokeniser and settings."""

    abilities: frozenset[Ability] = frozenset({"temperature"})

    def __init__(self, network: Any, tokenizer: Tokenizer, config: GenerateConfig, *, device: torch.device) -> None:
        self.network: PooledNetwork = network.to(device)
        self.tokenizer, self.config, self.device = tokenizer, config, device
        self._search = TokenSearch(SpecialTokens.of(tokenizer), config)

    @property
    def kind(self) -> str:
        """The kind of model."""
        return self.network.kind

    @property
    def depth(self) -> int:
        """There are no sketches."""
        return 0

    @property
    def codes(self) -> int:
        """There are no sketches."""
        return 0

    def variants(self, latent: Latent, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        """The vectors to decode for each text, best first; each text's depend on nothing but itself."""
        del requests, options
        return [[Variant(vector)] for vector in latent.vector]

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        return prepare_texts(texts, self.tokenizer, max_length=self.network.config.max_length)

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """Without sketches nobody asks."""
        raise UsageError(f"the kind {self.kind} has no sketches ({len(texts)} texts)")

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together, at most `largest`."""
        rows = self.config.beam * options.n + options.n
        return max(1, min(largest, MOST_TEXTS, MOST_ROWS // rows))

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """n paraphrases of each text."""
        self.network.eval()
        with torch.inference_mode():
            latent = self.network.encode(self.sentences([request.text for request in requests]))
            found = self._decode(self.variants(latent, requests, options), requests, options)
        results = [self._candidates(request, each, options) for request, each in zip(requests, found, strict=True)]
        judge_trust(
            [
                (request.text.text, one)
                for request, each in zip(requests, results, strict=True)
                for one, _ in each[: options.n]
            ],
            least_faithfulness=self.config.least_faithfulness,
        )
        return [
            to_paraphrases(request.text.text, each, n=options.n, warnings=request.text.warnings)
            for request, each in zip(requests, results, strict=True)
        ]

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[Judged]:
        """Candidates are not judged."""
        raise UsageError(f"the kind {self.kind} does not judge candidates ({len(requests)} texts, n {options.n})")

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Write network, tokeniser and settings as a model directory."""
        save_model(directory, self.network, self.tokenizer, sections={"generate": to_dict(self.config)}, half=half)

    def sentences(self, texts: Sequence[PreparedText]) -> Sentences:
        """Texts as the network reads them."""
        begin, end = self.tokenizer.bos_id, self.tokenizer.eos_id
        return Sentences.from_lists([[begin, *text.tokens, end] for text in texts]).to(self.device)

    def _decode(
        self, variants: list[list[Variant]], requests: Sequence[Request], options: Options
    ) -> list[list[_Found]]:
        """The sentences of each text, the best of each of its vectors first."""
        found: list[list[_Found]] = [[] for _ in requests]
        by_width: dict[int, list[int]] = defaultdict(list)
        for place, each in enumerate(variants):
            by_width[self._width(options, len(each))].append(place)
        for width, places in by_width.items():
            groups = [(place, rank, variant) for place in places for rank, variant in enumerate(variants[place])]
            hypotheses = self._search_groups(groups, requests, options, width)
            for (place, _, variant), best in zip(groups, hypotheses, strict=True):
                found[place] += [_Found(rank, variant, hypothesis) for rank, hypothesis in enumerate(best)]
        return [sorted(each, key=lambda one: one.rank) for each in found]

    def _width(self, options: Options, variants: int) -> int:
        """Rows of a beam: where vectors are few, one more than each has to give, should one be a copy or a repeat."""
        wanted = math.ceil(options.n / max(1, variants))
        return max(self.config.beam, wanted + 1 if options.n > 1 else 1)

    def _search_groups(
        self, groups: list[tuple[int, int, Variant]], requests: Sequence[Request], options: Options, width: int
    ) -> list[list[Hypothesis]]:
        """The sentences of each group: (place of the text, rank of the vector, the vector)."""
        lengths = np.array([len(requests[place].text.tokens) + 2 for place, _, _ in groups])
        limits = output_limits(lengths, self.config, max_length=self.network.config.max_length)
        sampling = None
        if options.temperature is not None:
            hashes = np.array([text_hash(requests[place].text.text) for place, _, _ in groups], dtype=np.uint64)
            keys = random_bits(options.seed, hashes, np.array([rank for _, rank, _ in groups]))
            sampling = Sampling(options.temperature, keys)
        vectors = torch.stack([variant.vector for _, _, variant in groups])
        decoding = TransformerDecoding(self.network, self.network.start(vectors))
        return self._search(decoding, limits, width=width, sampling=sampling)

    def _candidates(self, request: Request, found: list[_Found], options: Options) -> list[tuple[Candidate, float]]:
        """The different sentences with their scores, best first."""
        candidates = CandidateSet(request.text.text, request.exemplar, keep_repeats=not options.rerank)
        texts = self.tokenizer.decode_batch([one.hypothesis.tokens for one in found])
        for text, one in zip(texts, found, strict=True):
            candidates.add(" ".join(text.split()), one.hypothesis, one.variant.sketch, one.variant.log_prob, 0)
        chosen = candidates.candidates
        if options.rerank:
            chosen = sorted(chosen, key=lambda one: one.is_copy)
        return [(one, one.sketch_log_prob + one.likelihood) for one in chosen]


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> PooledEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(PooledEngine, directory, device, semantic)


def load_as(
    engine: type[PooledEngine], directory: Path, device: str | None, semantic: SentenceModel | None
) -> PooledEngine:
    """The model of a directory as an engine of this class."""
    loaded = load_model(directory)
    if semantic is not None:
        raise UsageError(f"a sentence encoder cannot be used with this model: the kind {loaded.kind} does not rerank")
    config = read_settings(directory, loaded.sections)
    return engine(loaded.model, loaded.tokenizer, config, device=find_device(device))


def text_hash(text: str) -> int:
    """A number that stands for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
