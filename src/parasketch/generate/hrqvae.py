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
import torch
from torch import Tensor

from parasketch.config import to_dict
from parasketch.counter_rng import hash_text, random_bits
from parasketch.errors import ConfigError, ModelError
from parasketch.generate.acceptance import judge_trust
from parasketch.generate.candidates import Candidate, CandidateSet, Judged, judge
from parasketch.generate.choice import choose, find_finalists, to_paraphrases
from parasketch.generate.engine import SKETCHING
from parasketch.generate.judging import cosines, cycle_log_likelihood, evaluating
from parasketch.generate.next_tokens import TransformerDecoding
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.plan import ATTEMPTS, MOST_ROWS, Group, SearchPlan
from parasketch.generate.requests import Options, PreparedText, Request, prepare_texts
from parasketch.generate.required import NOTHING, required_tokens
from parasketch.generate.settings import GenerateConfig, stored_settings
from parasketch.generate.sketches import best_sketches
from parasketch.generate.tokens import Hypothesis, Sampling, SpecialTokens, TokenSearch, output_limits
from parasketch.model.inputs import Sentences
from parasketch.model.outputs import Encoding
from parasketch.model.storage import save_model
from parasketch.systems.hrqvae.network import HRQVAE
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
    encoding: Encoding
    pooled: Tensor
    own_codes: Tensor


class HrqvaeEngine:
    """A model with its tokeniser and settings."""

    kind = "hrqvae"
    abilities = SKETCHING

    def __init__(
        self,
        model: HRQVAE,
        tokenizer: Tokenizer,
        config: GenerateConfig,
        *,
        device: torch.device,
        semantic: SentenceModel | None = None,
    ) -> None:
        self.model, self.tokenizer, self.config, self.semantic = model.to(device), tokenizer, config, semantic
        self.device = device
        self._search = TokenSearch(SpecialTokens.of(tokenizer), config)
        self._plan = SearchPlan(config, levels=model.config.levels, codes=model.config.codes)

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch."""
        return self.model.config.levels

    @property
    def codes(self) -> int:
        """How many codes there are at each level."""
        return self.model.config.codes

    def prepare(self, texts: Sequence[str]) -> list[PreparedText]:
        """Make texts, each with some content, ready."""
        return prepare_texts(texts, self.tokenizer, max_length=self.model.config.max_length)

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The sketch that each text has itself."""
        codes: list[list[int]] = []
        with evaluating(self.model):
            for start in range(0, len(texts), MOST_TEXTS):
                encoding = self._encode(texts[start : start + MOST_TEXTS])
                codes += self.model.quantizer.encode(encoding.form).tolist()
        return [Sketch(row) for row in codes]

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together, at most `largest`."""
        return self._plan.batch_size(options, largest)

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """n paraphrases of each text."""
        with evaluating(self.model):
            batch = self._batch(requests)
            found = self._find(batch, options)
            if options.rerank:
                count = max(self.config.finalists, 2 * options.n)
                judged = [find_finalists(judge(each), self.config.weights, count) for each in found]
                judged = self._judge_costly(batch, judged)
                chosen = [
                    choose(each, self.config.weights, n=options.n, diversity=self.config.diversity) for each in judged
                ]
            else:
                chosen = [[(one, one.sketch_log_prob) for one in each.candidates[: options.n]] for each in found]
                self._judge_trust(batch, [[one for one, _ in each] for each in chosen])
        return [
            to_paraphrases(request.text.text, best, n=options.n, warnings=request.text.warnings)
            for request, best in zip(requests, chosen, strict=True)
        ]

    def judged_candidates(self, requests: Sequence[Request], options: Options) -> list[Judged]:
        """All candidates of each text with all their features: what weights are tuned on."""
        with evaluating(self.model):
            batch = self._batch(requests)
            return self._judge_costly(batch, [judge(each) for each in self._find(batch, options)])

    def save(self, directory: Path | str, *, half: bool) -> None:
        """Write model, tokeniser and settings as a model directory."""
        save_model(directory, self.model, self.tokenizer, sections={"generate": to_dict(self.config)}, half=half)

    def _find(self, batch: _Batch, options: Options) -> list[CandidateSet]:
        """Candidates for each request; those with too few different ones are searched again, more widely."""
        found = [
            CandidateSet(request.text.text, request.exemplar, keep_repeats=not options.rerank)
            for request in batch.requests
        ]
        missing = list(range(len(found)))
        for attempt in range(ATTEMPTS if options.rerank else 1):
            groups = self._groups(batch, missing, options, attempt)
            hypotheses = self._decode(batch, groups, options)
            self._add(found, groups, hypotheses, attempt, one_by_one=options.rerank)
            if attempt == 0 and options.rerank and options.temperature is None:
                groups = self._groups_with_facts(found, groups)
                hypotheses = [
                    [one for one in each if found[group.place].is_likely(one)]
                    for group, each in zip(groups, self._decode(batch, groups, options), strict=True)
                ]
                self._add(found, groups, hypotheses, attempt, one_by_one=True)
            missing = [place for place in missing if found[place].num_different < options.n]
            if not missing:
                break
        return found

    def _groups(self, batch: _Batch, places: list[int], options: Options, attempt: int) -> list[Group]:
        """The sketches to decode for some of the requests."""
        prefixes = [self._plan.prefix(batch.requests[place], attempt) for place in places]
        rows = torch.tensor(places, device=self.device)
        ranked = best_sketches(
            self.model,
            batch.pooled[rows],
            k=self._plan.num_sketches(options, attempt),
            depth=self._plan.depth(options),
            own=batch.own_codes[rows],
            own_penalty=self.config.own_code_penalty,
            prefixes=prefixes,
        )
        groups = []
        for place, codes, log_probs in zip(places, ranked.codes, ranked.log_probs, strict=True):
            sketches = [(Sketch(path), p) for path, p in zip(codes.tolist(), log_probs.tolist(), strict=True)]
            sketches = [(sketch, p) for sketch, p in sketches if math.isfinite(p)]
            width = self._plan.width(options, len(sketches), attempt)
            groups += [Group(place, rank, sketch, p, width) for rank, (sketch, p) in enumerate(sketches)]
        return groups

    def _groups_with_facts(self, found: list[CandidateSet], groups: list[Group]) -> list[Group]:
        """The best sketches once more, with the facts required, for requests without a candidate that has them all."""
        required = {
            place: required_tokens(each.source, self.tokenizer)
            for place, each in enumerate(found)
            if not each.keeps_facts
        }
        return [
            replace(group, width=self._plan.width_for(each), required=each)
            for group in groups
            if group.rank < _FACT_SKETCHES and (each := required.get(group.place, NOTHING)).tokens
        ]

    def _decode(self, batch: _Batch, groups: list[Group], options: Options) -> list[list[Hypothesis]]:
        """Sentences for every group, in blocks of at most MOST_ROWS rows of one width."""
        by_width: dict[int, list[int]] = defaultdict(list)
        for index, group in enumerate(groups):
            by_width[group.width].append(index)
        result: list[list[Hypothesis]] = [[] for _ in groups]
        for width, indices in by_width.items():
            size = max(1, MOST_ROWS // width)
            for start in range(0, len(indices), size):
                block = indices[start : start + size]
                decoded = self._decode_block(batch, [groups[index] for index in block], width, options)
                for index, hypotheses in zip(block, decoded, strict=True):
                    result[index] = hypotheses
        return result

    def _decode_block(self, batch: _Batch, groups: list[Group], width: int, options: Options) -> list[list[Hypothesis]]:
        codes = torch.tensor([group.sketch for group in groups], dtype=torch.int64, device=self.device)
        form = self.model.quantizer.decode(codes.view(len(groups), self._plan.depth(options)))
        sources = torch.tensor([group.place for group in groups], device=self.device)
        sampling = None
        if options.temperature is not None:
            hashes = [hash_text(batch.requests[group.place].text.text) for group in groups]
            keys = random_bits(options.seed, np.array(hashes, dtype=np.uint64), *codes.cpu().numpy().T)
            sampling = Sampling(options.temperature, keys)
        required = [group.required for group in groups]
        lengths = batch.encoding.sentences.layout.lengths[[group.place for group in groups]]
        limits = output_limits(lengths, self.config, max_length=self.model.config.max_length).to(self.device)
        decoding = TransformerDecoding(self.model, self.model.start(batch.encoding, sources, form))
        return self._search(decoding, limits, width=width, sampling=sampling, required=required)

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

    def _judge_costly(self, batch: _Batch, judged: list[Judged]) -> list[Judged]:
        """Add the judgements that need a model: cycle consistency and, where there is an encoder, cosines."""
        places = [place for place, each in enumerate(judged) for _ in each.candidates]
        candidates = [candidate for each in judged for candidate in each.candidates]
        if not candidates:
            return judged
        own_form = self.model.quantizer.decode(batch.own_codes)[torch.tensor(places, device=self.device)]
        scores = cycle_log_likelihood(
            self.model,
            [self._framed(candidate.tokens) for candidate in candidates],
            [self._framed(batch.requests[place].text.tokens) for place in places],
            own_form,
        )
        for candidate, score in zip(candidates, scores.tolist(), strict=True):
            candidate.cycle = score
        if self.semantic is not None:
            sources = [request.text.text for request in batch.requests]
            found = cosines(self.semantic, sources, [one.text for one in candidates], places)
            for candidate, cosine in zip(candidates, found, strict=True):
                candidate.semantic = cosine
        self._judge_trust(batch, [each.candidates for each in judged])
        return [each.with_costly_features() for each in judged]

    def _judge_trust(self, batch: _Batch, candidates: Sequence[Sequence[Candidate]]) -> None:
        pairs = zip(batch.requests, candidates, strict=True)
        found = [(request.text.text, one) for request, each in pairs for one in each]
        judge_trust(found, least_faithfulness=self.config.least_faithfulness)

    def _batch(self, requests: Sequence[Request]) -> _Batch:
        encoding = self._encode([request.text for request in requests])
        pooled = self.model.pooled_meaning(encoding)
        return _Batch(requests, encoding, pooled, self.model.quantizer.encode(encoding.form))

    def _encode(self, texts: Sequence[PreparedText]) -> Encoding:
        return self.model.encode(Sentences.from_lists([self._framed(text.tokens) for text in texts]).to(self.device))

    def _framed(self, tokens: Sequence[int]) -> list[int]:
        return [self.tokenizer.bos_id, *tokens, self.tokenizer.eos_id]


def load_engine(directory: Path, device: torch.device, semantic: SentenceModel | None) -> HrqvaeEngine:
    """The model of a directory with the settings stored beside it."""
    loaded = load_model(directory)
    try:
        config = stored_settings(loaded.sections.get("generate", {}))
    except ConfigError as error:
        raise ModelError(f"{directory}: {error}") from error
    return HrqvaeEngine(loaded.model, loaded.tokenizer, config, device=device, semantic=semantic)
