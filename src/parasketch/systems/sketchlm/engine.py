"""The language-model kind at work: texts to candidates in many sketches, to the n that are chosen."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError, UsageError
from parasketch.generate.candidates import Judged as FeatureJudged
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.plan import DEFAULT_EFFORT, EFFORTS
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.generate.wording import overlap_matrix
from parasketch.model.directory import ModelDirectory, open_directory
from parasketch.systems.sketchlm.base import BaseTokenizer, base_tokenizer
from parasketch.systems.sketchlm.candidates import Candidate, CandidateSearch, SearchSettings, Wanted
from parasketch.systems.sketchlm.choice import ChoiceSettings, Judge, Judged, Verifies
from parasketch.systems.sketchlm.config import KIND
from parasketch.systems.sketchlm.model import SketchModel
from parasketch.systems.sketchlm.ready import ready_model
from parasketch.text.sentence_encoder import SentenceModel
from parasketch.verify import Verifier

MOST_TOKENS = 128
"""What is read of a text: about 90 words."""
_MOST_ROWS = 160
"""Rows that are decoded together: more need more memory and are hardly faster."""
_FEWEST_SKETCHES = 3
"""With the least effort: in the likeliest sketch alone the model often says the input again."""
_MOST_CACHED = 6_400
"""Tokens of such rows, all together: each needs 46 KB, and for a moment twice that."""


@dataclass(frozen=True, kw_only=True)
class EverydaySettings:
    """The section `generate` of such a model."""

    search: SearchSettings = field(default_factory=SearchSettings)
    choice: ChoiceSettings = field(default_factory=ChoiceSettings)


class SketchLMEngine:
    """A language model with sketches, its tokeniser, and the verifier."""

    kind = KIND
    abilities: frozenset[Ability] = frozenset({"sketch", "like", "depth", "temperature", "effort"})
    device = "cpu"

    def __init__(
        self, model: SketchModel, tokenizer: BaseTokenizer, verifier: Verifies, settings: EverydaySettings, path: Path
    ) -> None:
        self._model, self._tokenizer, self._settings, self._path = model, tokenizer, settings, path
        self._judge = Judge(verifier, settings.choice)

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        return self._model.shape.levels

    @property
    def codes(self) -> int:
        """How many codes there are at each level."""
        return self._model.shape.codes

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        return prepare_texts(texts, self._tokenizer, max_length=MOST_TOKENS)

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The sketch that each text has itself."""
        return [Sketch(codes) for codes in self._model.form.sketches([text.text for text in texts])]

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together."""
        search = self._search_settings(options)
        return max(1, min(largest, _MOST_ROWS // (search.sketches + 1 + search.samples)))

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """Exactly n paraphrases of each text, best first."""
        if not options.rerank:
            return self._plain(requests, options)
        found = self._candidates(requests, options)
        return [
            self._judge.choose(request.text.text, self._judged(request, each), options.n, request.text.warnings)
            for request, each in zip(requests, found, strict=True)
        ]

    def judged(self, request: Request, options: Options) -> list[Judged]:
        """The finalists of one text with their features: what the weights of the choice are fitted to."""
        [candidates] = self._candidates([request], options)
        return self._judged(request, candidates)

    def _judged(self, request: Request, candidates: Sequence[Candidate]) -> list[Judged]:
        return self._judge.judge(request.text.text, candidates, request.exemplar)

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[FeatureJudged]:
        """Not among its abilities."""
        del requests, options
        raise UsageError(f"the kind {KIND} does not judge candidates by features")

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Not possible: the adapters are part of the base's matrices by now."""
        del half
        raise UsageError(f"a model of the kind {KIND} is saved by training; copy {self._path} to {directory}")

    def _candidates(self, requests: Sequence[Request], options: Options) -> list[list[Candidate]]:
        settings, wanted = self._search_settings(options), _wanted(requests, options)
        search = CandidateSearch(self._model, self._tokenizer, settings)
        longest = settings.longest * max(len(each.tokens) for each in wanted)
        together = max(1, int(_MOST_CACHED / (longest * (settings.sketches + 1 + settings.samples))))
        parts = [wanted[start : start + together] for start in range(0, len(wanted), together)]
        return [found for part in parts for found in search(part, seed=options.seed)]

    def _plain(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """The sentences of the n likeliest sketches, unjudged."""
        search = CandidateSearch(self._model, self._tokenizer, self._settings.search)
        found = search.likeliest(_wanted(requests, options), options.n)
        return [
            [_unjudged(request, each) for each in candidates + candidates[-1:] * (options.n - len(candidates))]
            for request, candidates in zip(requests, found, strict=True)
        ]

    def _search_settings(self, options: Options) -> SearchSettings:
        """More sketches where many outputs are asked for, fewer for less effort, and the temperature of the call."""
        search, share = self._settings.search, EFFORTS[options.effort or DEFAULT_EFFORT].sketches
        if options.temperature is not None:
            search = replace(search, temperature=options.temperature)
        sketches = round(share * max(search.sketches, 2 * options.n))
        least = max(options.n, min(_FEWEST_SKETCHES, search.sketches))
        return replace(search, sketches=max(sketches, least), samples=round(share * search.samples))


def _wanted(requests: Sequence[Request], options: Options) -> list[Wanted]:
    return [Wanted(each.text.text, each.text.tokens, tuple(each.prefix), options.depth) for each in requests]


def _unjudged(request: Request, candidate: Candidate) -> Paraphrase:
    return Paraphrase(
        text=candidate.text,
        sketch=Sketch(candidate.sketch),
        score=candidate.sketch_log_prob,
        difference=float(1 - overlap_matrix([request.text.text, candidate.text])[0, 1]),
        warnings=request.text.warnings,
    )


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> SketchLMEngine:
    """The model of a directory; it works on the CPU."""
    del device, semantic
    stored = open_directory(directory, ModelDirectory)
    try:
        settings = from_dict(EverydaySettings, stored.sections.get("generate", {}), "generate.")
    except ConfigError as error:
        raise ModelError(f"{directory}: {error}") from error
    with ThreadPoolExecutor(2) as others:  # reading and packing weights is not Python's work: all go on at once
        verifier, tokenizer = others.submit(Verifier.from_pretrained), others.submit(base_tokenizer)
        model = ready_model(stored)
        return SketchLMEngine(model, tokenizer.result(), verifier.result(), settings, directory)
