"""Paraphrases by networks that are used as they are: what the token search finds likely, and no reranking.

The outputs are the best of the beam, or of every variant that a system has of an input (a sample of its vector, a
round, a set of codes). Only copies of the input and repeats come last, where reranking was not switched off.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from parasketch.config import to_dict
from parasketch.counter_rng import hash_text, random_bits
from parasketch.errors import UsageError
from parasketch.generate.acceptance import judge_trust
from parasketch.generate.candidates import Candidate, CandidateSet, Judged
from parasketch.generate.choice import to_paraphrases
from parasketch.generate.decoding import Decoding
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.generate.settings import GenerateConfig, read_settings
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.generate.torch_backend import find_device
from parasketch.model.inputs import Sentences
from parasketch.model.storage import save_model
from parasketch.systems.kinds import load_model
from parasketch.text.sentence_encoder import SentenceModel
from parasketch.text.tokenizer import Tokenizer

MOST_ROWS = 1024
"""Hypotheses that are decoded together."""
MOST_TEXTS = 256
"""Texts that are encoded together."""


@dataclass(frozen=True)
class Found:
    """A sentence that the search found for a text."""

    hypothesis: Hypothesis
    sketch: Sketch = field(default_factory=Sketch)
    log_prob: float = 0.0
    """Of the sketch."""


class PlainEngine(ABC):
    """A network with its tokeniser and settings; a system says how sentences are found."""

    abilities: frozenset[Ability] = frozenset({"temperature"})

    def __init__(self, network: Any, tokenizer: Tokenizer, config: GenerateConfig, *, device: torch.device) -> None:
        self.network = network.to(device)
        self.tokenizer, self.config, self.device = tokenizer, config, device
        self._search = TokenSearch(SpecialTokens.of(tokenizer), config)

    @abstractmethod
    def find(self, requests: Sequence[Request], options: Options) -> list[list[Found]]:
        """The sentences for each text, best first; each text's depend on nothing but itself."""

    @property
    def kind(self) -> str:
        """The kind of model."""
        return str(self.network.kind)

    @property
    def depth(self) -> int:
        """There are no sketches."""
        return 0

    @property
    def codes(self) -> int:
        """There are no sketches."""
        return 0

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
            found = self.find(requests, options)
        results = [self._candidates(request, each, options) for request, each in zip(requests, found, strict=True)]
        judge_trust(
            [
                (request.text.text, one)
                for request, each in zip(requests, results, strict=True)
                for one, _ in each[: options.n]
            ],
            self.config,
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

    def search(
        self, decoding: Decoding, groups: Sequence[tuple[Request, int]], options: Options, *, width: int
    ) -> list[list[Hypothesis]]:
        """At most `width` sentences of each group, best first: a group is a variant, by its number, of a text."""
        lengths = np.array([len(request.text.tokens) + 2 for request, _ in groups])
        limits = output_limits(lengths, self.config, max_length=self.network.config.max_length)
        sampling = None
        if options.temperature is not None:
            hashes = np.array([hash_text(request.text.text) for request, _ in groups], dtype=np.uint64)
            keys = random_bits(options.seed, hashes, np.array([number for _, number in groups]))
            sampling = Sampling(options.temperature, keys)
        return self._search(decoding, limits, width=width, sampling=sampling)

    def _candidates(self, request: Request, found: list[Found], options: Options) -> list[tuple[Candidate, float]]:
        """The different sentences with their scores, best first."""
        candidates = CandidateSet(request.text.text, request.exemplar, keep_repeats=not options.rerank)
        texts = self.tokenizer.decode_batch([one.hypothesis.tokens for one in found])
        for text, one in zip(texts, found, strict=True):
            candidates.add(" ".join(text.split()), one.hypothesis, one.sketch, one.log_prob, 0)
        chosen = candidates.candidates
        if options.rerank:
            chosen = sorted(chosen, key=lambda one: one.is_copy)
        return [(one, one.sketch_log_prob + one.likelihood) for one in chosen]


E = TypeVar("E", bound=PlainEngine)


def load_as(engine: type[E], directory: Path, device: str | None, semantic: SentenceModel | None) -> E:
    """The model of a directory as an engine of this class, with the settings stored beside it."""
    loaded = load_model(directory)
    if semantic is not None:
        raise UsageError(f"a sentence encoder cannot be used with this model: the kind {loaded.kind} does not rerank")
    config = read_settings(directory, loaded.sections)
    return engine(loaded.model, loaded.tokenizer, config, device=find_device(device))


def noise_generator(text: str, seed: int) -> torch.Generator:
    """Random numbers of a text's own: they depend on nothing but the text and the seed."""
    return torch.Generator().manual_seed((hash_text(text) + seed * 0x9E3779B97F4A7C15) % 2**63)
