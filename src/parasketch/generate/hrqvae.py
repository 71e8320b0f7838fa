"""HRQ-VAE at work: a batch of texts becomes lists of paraphrases, in the order meaning, sketches, tokens, choice.

    texts -> meaning (encoded once) -> the best sketches -> sentences for each -> candidates -> features -> the n best

An input whose facts no candidate has kept has its best sketches decoded once more, into sentences that must contain its
numbers, names and literals; what the model finds far too unlikely is given up. An input for which there are too few
different candidates is searched again with more sketches and wider beams. All decisions are made input by input, so
that no result depends on what else is in the batch.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from parasketch.config import to_dict
from parasketch.counter_rng import hash_text, random_bits
from parasketch.extras import needs
from parasketch.generate.acceptance import judge_alone, judge_trust, verify
from parasketch.generate.backend import Backend, Encoded, choose_backend, form_of
from parasketch.generate.candidates import Candidate, CandidateSet, Judged, judge
from parasketch.generate.choice import choose, find_finalists, to_paraphrases
from parasketch.generate.engine import SKETCHING
from parasketch.generate.judging import cosines
from parasketch.generate.next_tokens import StepDecoding
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.plan import ATTEMPTS, DEFAULT_EFFORT, EFFORTS, MOST_ROWS, Group, SearchPlan
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.generate.required import NOTHING, required_tokens
from parasketch.generate.settings import GenerateConfig, read_settings
from parasketch.generate.sketches import best_sketches
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.model.directory import ModelDirectory, open_directory
from parasketch.systems.kinds import load_model
from parasketch.text.sentence_encoder import SentenceModel
from parasketch.text.tokenizer import Tokenizer

MOST_TEXTS = 256
"""Texts that are encoded together."""
_FACT_SKETCHES = 4  # sketches that are decoded once more when facts were lost


@dataclass(frozen=True)
class _Batch:
    """Requests and their encoding."""

    requests: Sequence[Request]
    encoded: Encoded
    options: Options
    plan: SearchPlan


class HrqvaeEngine:
    """A model with its tokeniser and settings."""

    kind = "hrqvae"
    abilities = SKETCHING

    def __init__(
        self,
        backend: Backend,
        tokenizer: Tokenizer,
        config: GenerateConfig,
        *,
        semantic: SentenceModel | None = None,
    ) -> None:
        self.backend, self.tokenizer, self.config, self.semantic = backend, tokenizer, config, semantic
        self._search = TokenSearch(SpecialTokens.of(tokenizer), config)

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        return self.backend.config.levels

    @property
    def codes(self) -> int:
        """How many codes there are at each level."""
        return self.backend.config.codes

    @property
    def device(self) -> str:
        """Where it works."""
        return self.backend.device

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        return prepare_texts(texts, self.tokenizer, max_length=self.backend.config.max_length)

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The sketch that each text has itself."""
        codes: list[list[int]] = []
        with self.backend.working():
            for start in range(0, len(texts), MOST_TEXTS):
                codes += self._encode(texts[start : start + MOST_TEXTS]).own_codes.tolist()
        return [Sketch(row) for row in codes]

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together, at most `largest`."""
        return self._plan(options).batch_size(options, largest)

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """n paraphrases of each text."""
        with self.backend.working():
            batch = self._batch(requests, options)
            found = self._find(batch)
            if options.rerank:
                count = max(batch.plan.finalists, 2 * options.n)
                judged = [find_finalists(judge(each), self.config.weights, count) for each in found]
                chosen = self._choose(batch, judged)
            else:
                chosen = [[(one, one.sketch_log_prob) for one in each.candidates[: options.n]] for each in found]
                self._judge_trust(batch, [[one for one, _ in each] for each in chosen])
        return [
            to_paraphrases(request.text.text, best, n=options.n, warnings=request.text.warnings)
            for request, best in zip(requests, chosen, strict=True)
        ]

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[Judged]:
        """All candidates of each text with all their features: what weights are tuned on."""
        with self.backend.working():
            batch = self._batch(requests, options)
            judged = [judge(each) for each in self._find(batch)]
            candidates = [each.candidates for each in judged]
            self._judge_cycle(batch, candidates)
            self._judge_cosines(batch, candidates)
            self._judge_trust(batch, candidates)
            return [each.with_costly_features() for each in judged]

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Write model, tokeniser and settings as a model directory."""
        self.backend.save(directory, self.tokenizer, {"generate": to_dict(self.config)}, half=half)

    def _find(self, batch: _Batch) -> list[CandidateSet]:
        """Candidates for each request; those with too few different ones are searched again, more widely."""
        options = batch.options
        found = [
            CandidateSet(request.text.text, request.exemplar, keep_repeats=not options.rerank)
            for request in batch.requests
        ]
        missing = list(range(len(found)))
        for attempt in range(ATTEMPTS if options.rerank else 1):
            groups = self._groups(batch, missing, attempt)
            hypotheses = self._decode(batch, groups)
            self._add(found, groups, hypotheses, attempt, one_by_one=options.rerank)
            if attempt == 0 and options.rerank and options.temperature is None:
                groups = self._groups_with_facts(batch, found, groups)
                hypotheses = [
                    [one for one in each if found[group.place].is_likely(one)]
                    for group, each in zip(groups, self._decode(batch, groups), strict=True)
                ]
                self._add(found, groups, hypotheses, attempt, one_by_one=True)
            missing = [place for place in missing if found[place].num_different < options.n]
            if not missing:
                break
        return found

    def _groups(self, batch: _Batch, places: list[int], attempt: int) -> list[Group]:
        """The sketches to decode for some of the requests."""
        plan, options = batch.plan, batch.options
        prefixes = [plan.prefix(batch.requests[place], attempt) for place in places]
        rows = np.array(places, dtype=np.int64)
        ranked = best_sketches(
            batch.encoded.predictions(rows),
            k=plan.num_sketches(options, attempt),
            depth=plan.depth(options),
            own=batch.encoded.own_codes[rows],
            own_penalty=self.config.own_code_penalty,
            prefixes=prefixes,
        )
        groups = []
        for place, codes, log_probs in zip(places, ranked.codes, ranked.log_probs, strict=True):
            sketches = [(Sketch(path), p) for path, p in zip(codes.tolist(), log_probs.tolist(), strict=True)]
            sketches = [(sketch, p) for sketch, p in sketches if math.isfinite(p)]
            groups += [
                Group(place, rank, sketch, p, plan.width(options, len(sketches), rank, attempt))
                for rank, (sketch, p) in enumerate(sketches)
            ]
        return groups

    def _groups_with_facts(self, batch: _Batch, found: list[CandidateSet], groups: list[Group]) -> list[Group]:
        """The best sketches once more, with the facts required, for requests without a candidate that has them all."""
        required = {
            place: required_tokens(each.source, self.tokenizer)
            for place, each in enumerate(found)
            if not each.keeps_facts
        }
        return [
            replace(group, width=batch.plan.width_for(each), required=each)
            for group in groups
            if group.rank < _FACT_SKETCHES and (each := required.get(group.place, NOTHING)).tokens
        ]

    def _decode(self, batch: _Batch, groups: list[Group]) -> list[list[Hypothesis]]:
        """Sentences for every group, in blocks of at most MOST_ROWS rows of one width."""
        by_width: dict[int, list[int]] = defaultdict(list)
        for index, group in enumerate(groups):
            by_width[group.width].append(index)
        result: list[list[Hypothesis]] = [[] for _ in groups]
        for width, indices in by_width.items():
            size = max(1, MOST_ROWS // width)
            for start in range(0, len(indices), size):
                block = indices[start : start + size]
                decoded = self._decode_block(batch, [groups[index] for index in block], width)
                for index, hypotheses in zip(block, decoded, strict=True):
                    result[index] = hypotheses
        return result

    def _decode_block(self, batch: _Batch, groups: list[Group], width: int) -> list[list[Hypothesis]]:
        options = batch.options
        codes = np.array([group.sketch for group in groups], dtype=np.int64).reshape(len(groups), -1)
        sources = np.array([group.place for group in groups])
        sampling = None
        if options.temperature is not None:
            hashes = [hash_text(batch.requests[group.place].text.text) for group in groups]
            keys = random_bits(options.seed, np.array(hashes, dtype=np.uint64), *codes.T)
            sampling = Sampling(options.temperature, keys)
        required = [group.required for group in groups]
        lengths = batch.encoded.lengths[sources]
        limits = output_limits(lengths, self.config, max_length=self.backend.config.max_length)
        steps = batch.encoded.start(sources, form_of(self.backend.codebooks, codes))
        return self._search(StepDecoding(steps), limits, width=width, sampling=sampling, required=required)

    def _add(
        self,
        found: list[CandidateSet],
        groups: list[Group],
        hypotheses: list[list[Hypothesis]],
        attempt: int,
        *,
        one_by_one: bool,
    ) -> None:
        """Hand the sentences to their requests: sketch by sketch, or the best of every sketch first."""
        pairs = [
            (rank, group, hypothesis)
            for group, each in zip(groups, hypotheses, strict=True)
            for rank, hypothesis in enumerate(each)
        ]
        if not one_by_one:
            pairs.sort(key=lambda pair: pair[0])
        texts = self.tokenizer.decode_batch([hypothesis.tokens for _, _, hypothesis in pairs])
        for text, (_, group, hypothesis) in zip(texts, pairs, strict=True):
            found[group.place].add(
                " ".join(text.split()),
                hypothesis,
                group.sketch,
                group.log_prob,
                attempt,
                again=group.required is not NOTHING,
            )

    def _choose(self, batch: _Batch, judged: list[Judged]) -> list[list[tuple[Candidate, float]]]:
        """The n best of each request's finalists, by all judgements.

        Cycle consistency and the verifier cost most, and can only move a candidate back: a log probability is at most
        0, which is what it counts as until it is known. So they are asked about those that would be chosen, and again
        about those that take their places. What is chosen in the end is what would have been chosen had they been
        asked about all.
        """
        self._judge_cosines(batch, [each.candidates for each in judged])
        if self.config.weights.cycle < 0:
            self._judge_cycle(batch, [each.candidates for each in judged])
        while True:
            chosen = [
                choose(
                    each.with_costly_features(), self.config.weights, n=batch.options.n, diversity=self.config.diversity
                )
                for each in judged
            ]
            candidates = [[one for one, _ in best] for best in chosen]
            if self._judge_cycle(batch, candidates):
                continue
            if not verify(self._with_sources(batch, candidates), self.config):
                return chosen

    def _judge_cycle(self, batch: _Batch, candidates: Sequence[Sequence[Candidate]]) -> int:
        """Find out how well the input comes back from those candidates of which it is not known; returns how many.

        Cycle consistency: how well the model gets the input back from a candidate's meaning and the input's own sketch.
        A candidate that lost part of the meaning cannot give it back, so no other model is needed to notice.
        """
        asked = [(place, one) for place, each in enumerate(candidates) for one in each if math.isnan(one.cycle)]
        if not asked:
            return 0
        places = [place for place, _ in asked]
        inputs = [self._framed(batch.requests[place].text.tokens) for place in places]
        scores = self.backend.log_likelihood(
            [self._framed(candidate.tokens) for _, candidate in asked],
            inputs,
            form_of(self.backend.codebooks, batch.encoded.own_codes)[places],
        )
        for (_, candidate), tokens, score in zip(asked, inputs, scores.tolist(), strict=True):
            candidate.cycle = score / (len(tokens) - 1)
            judge_alone(candidate, self.config)
        return len(asked)

    def _judge_cosines(self, batch: _Batch, candidates: Sequence[Sequence[Candidate]]) -> None:
        """A second opinion on the meaning of all candidates, where there is a sentence encoder."""
        asked = [(place, one) for place, each in enumerate(candidates) for one in each]
        if self.semantic is None or not asked:
            return
        sources = [request.text.text for request in batch.requests]
        found = cosines(self.semantic, sources, [one.text for _, one in asked], [place for place, _ in asked])
        for (_, candidate), cosine in zip(asked, found, strict=True):
            candidate.semantic = cosine

    def _judge_trust(self, batch: _Batch, candidates: Sequence[Sequence[Candidate]]) -> None:
        judge_trust(self._with_sources(batch, candidates), self.config)

    def _with_sources(self, batch: _Batch, candidates: Sequence[Sequence[Candidate]]) -> list[tuple[str, Candidate]]:
        pairs = zip(batch.requests, candidates, strict=True)
        return [(request.text.text, one) for request, each in pairs for one in each]

    def _batch(self, requests: Sequence[Request], options: Options) -> _Batch:
        encoded = self._encode([request.text for request in requests])
        return _Batch(requests, encoded, options, self._plan(options))

    def _plan(self, options: Options) -> SearchPlan:
        effort = EFFORTS[options.effort or DEFAULT_EFFORT]
        return SearchPlan(self.config, levels=self.depth, codes=self.codes, effort=effort)

    def _encode(self, texts: Sequence[PreparedText]) -> Encoded:
        return self.backend.encode([self._framed(text.tokens) for text in texts])

    def _framed(self, tokens: Sequence[int]) -> list[int]:
        return [self.tokenizer.bos_id, *tokens, self.tokenizer.eos_id]


def load_engine(
    directory: Path, device: str | None, semantic: SentenceModel | None, backend: str | None = None
) -> HrqvaeEngine:
    """The model of a directory with the settings stored beside it, on the backend that suits it, or the one named."""
    if choose_backend(directory, device, backend) == "light":
        from parasketch.light.backend import load_light

        stored = open_directory(directory, ModelDirectory)
        tokenizer, sections = stored.read_tokenizer(), stored.sections
        ready: Backend = load_light(stored, tokenizer)
    else:
        with needs("torch", "this model"):
            from parasketch.generate.torch_backend import TorchBackend, find_device

        loaded = load_model(directory)
        tokenizer, sections = loaded.tokenizer, loaded.sections
        ready = TorchBackend(loaded.model.to(find_device(device)))
    return HrqvaeEngine(ready, tokenizer, read_settings(directory, sections), semantic=semantic)
