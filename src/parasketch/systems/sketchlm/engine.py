"""The language-model kind at work: texts to candidates in many sketches, to the n that are chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError, UsageError
from parasketch.generate.candidates import Judged as FeatureJudged
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.model.storage import open_model
from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.candidates import Candidate, CandidateSearch, SearchSettings, Wanted
from parasketch.systems.sketchlm.choice import ChoiceSettings, Judge
from parasketch.systems.sketchlm.config import KIND
from parasketch.systems.sketchlm.network import SketchLM
from parasketch.text.sentence_encoder import SentenceModel
from parasketch.verify import Verifier

MOST_TOKENS = 128
"""What is read of a text: about 90 words."""
_MOST_ROWS = 160
"""Rows that are decoded together: more need more memory and are hardly faster."""


@dataclass(frozen=True, kw_only=True)
class EverydaySettings:
    """The section `generate` of such a model."""

    search: SearchSettings = field(default_factory=SearchSettings)
    choice: ChoiceSettings = field(default_factory=ChoiceSettings)


class SketchLMEngine:
    """A language model with sketches, its tokeniser, and the verifier."""

    kind = KIND
    abilities: frozenset[Ability] = frozenset({"sketch", "like", "depth", "temperature"})
    device = torch.device("cpu")

    def __init__(
        self, network: SketchLM, tokenizer: BaseTokenizer, verifier: Verifier, settings: EverydaySettings, path: Path
    ) -> None:
        self._network, self._tokenizer, self._settings, self._path = network, tokenizer, settings, path
        network.language_model.merge()
        self._judge = Judge(network, tokenizer, verifier, settings.choice)

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        return self._network.config.levels

    @property
    def codes(self) -> int:
        """How many codes there are at each level."""
        return self._network.config.codes

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        return prepare_texts(texts, self._tokenizer, max_length=MOST_TOKENS)

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The sketch that each text has itself."""
        return [Sketch(codes) for codes in self._network.form.sketches([text.text for text in texts])]

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together."""
        search = self._search_settings(options)
        return max(1, min(largest, _MOST_ROWS // max(search.sketches + 1, search.forks, search.samples)))

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """Exactly n paraphrases of each text, best first."""
        found = self._candidates(requests, options)
        if not options.rerank:
            return [_likeliest(request, each, options.n) for request, each in zip(requests, found, strict=True)]
        results = []
        for request, candidates in zip(requests, found, strict=True):
            source = request.text.text
            judged = self._judge.judge(source, candidates, request.exemplar)
            results.append(self._judge.choose(source, judged, options.n, request.text.warnings))
        return results

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[FeatureJudged]:
        """Not among its abilities."""
        del requests, options
        raise UsageError(f"the kind {KIND} does not judge candidates by features")

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Not possible: the adapters are part of the base's matrices by now."""
        del half
        raise UsageError(f"a model of the kind {KIND} is saved by training; copy {self._path} to {directory}")

    def _candidates(self, requests: Sequence[Request], options: Options) -> list[list[Candidate]]:
        search = CandidateSearch(self._network, self._tokenizer, self._search_settings(options))
        wanted = [
            Wanted(request.text.text, request.text.tokens, tuple(request.prefix), options.depth) for request in requests
        ]
        return search(wanted, seed=options.seed)

    def _search_settings(self, options: Options) -> SearchSettings:
        """More sketches where many outputs are asked for, and the temperature of the call."""
        search = self._settings.search
        if options.temperature is not None:
            search = replace(search, temperature=options.temperature)
        return replace(search, sketches=max(search.sketches, 2 * options.n))


def _likeliest(request: Request, candidates: Sequence[Candidate], n: int) -> list[Paraphrase]:
    """The sentences of the likeliest sketches, unjudged."""
    best = sorted((each for each in candidates if each.sketch), key=lambda each: -each.sketch_log_prob)[:n]
    best = best or list(candidates[:1]) or [Candidate(request.text.text, (), 0.0, 0.0, 0.0)]
    return [
        Paraphrase(
            text=each.text,
            sketch=Sketch(each.sketch),
            score=each.sketch_log_prob,
            difference=float("nan"),
            warnings=request.text.warnings,
        )
        for each in best + best[-1:] * (n - len(best))
    ]


def load_engine(directory: Path, device: torch.device, semantic: SentenceModel | None) -> SketchLMEngine:
    """The model of a directory; it works on the CPU."""
    del device, semantic
    stored = open_model(directory)
    try:
        settings = from_dict(EverydaySettings, stored.sections.get("generate", {}), "generate.")
    except ConfigError as error:
        raise ModelError(f"{directory}: {error}") from error
    network, tokenizer = SketchLM.load(stored)
    return SketchLMEngine(network, tokenizer, Verifier.from_pretrained(), settings, directory)
