"""Beam search as one would write it down: a list of hypotheses, nothing cached, one sentence and sketch at a time.

The next token's distribution comes from the log-likelihood of whole sentences, so not even the model's decoding
step is shared with the fast search.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from parasketch.generate.settings import GenerateConfig
from parasketch.generate.tokens import SpecialTokens
from parasketch.model.inputs import Sentences
from parasketch.systems.hrqvae.network import HRQVAE


@dataclass
class SlowHypothesis:
    tokens: list[int]  # with begin and, once ended, end
    log_prob: float
    ended: bool = False

    def score(self, penalty: float) -> float:
        return self.log_prob / ((5 + len(self.tokens)) / 6) ** penalty


def log_likelihoods(model: HRQVAE, source: list[int], form: torch.Tensor, targets: list[list[int]]) -> torch.Tensor:
    encoding = model.encode(Sentences.from_lists([source]))
    sources = torch.zeros(len(targets), dtype=torch.int64)
    return model.log_likelihood(encoding, sources, form.expand(len(targets), -1), Sentences.from_lists(targets))


def next_log_probs(model: HRQVAE, source: list[int], form: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    """(V,)"""
    longer = log_likelihoods(model, source, form, [[*tokens, token] for token in range(model.config.vocab_size)])
    so_far = log_likelihoods(model, source, form, [tokens])[0] if len(tokens) > 1 else 0.0
    return longer - so_far


def advance(runs: Sequence[Sequence[int]], said: tuple[int, int], token: int) -> tuple[int, int] | None:
    """How many runs, and how many tokens of the next one, are said after one more token; None if it may not follow."""
    number, inside = said
    if number == len(runs) or (token != runs[number][inside] and inside == 0):
        return said
    if token != runs[number][inside]:
        return None
    return (number + 1, 0) if inside + 1 == len(runs[number]) else (number, inside + 1)


def slow_required_beam(
    model: HRQVAE,
    source: list[int],
    form: torch.Tensor,
    special: SpecialTokens,
    config: GenerateConfig,
    width: int,
    runs: Sequence[Sequence[int]],
) -> list[SlowHypothesis]:
    """As `slow_beam`, but of sentences that contain the runs: a list of hypotheses for each number of tokens said."""
    beams = [(SlowHypothesis([special.begin], 0.0), (0, 0))]
    for length in range(2, config.max_tokens + 1):
        banks: list[list[tuple[SlowHypothesis, tuple[int, int]]]] = [[] for _ in range(sum(map(len, runs)) + 1)]
        for beam, said in beams:
            if beam.ended:
                banks[-1].append((beam, said))
                continue
            complete = said[0] == len(runs)
            log_probs = next_log_probs(model, source, form, beam.tokens).tolist()
            allowed = [token for token in range(len(log_probs)) if token not in special.never]
            if length == 2 or not complete:
                allowed.remove(special.end)
            if said[1] == 0 and said[0] and beam.tokens[-1] == runs[said[0] - 1][-1]:
                allowed = [token for token in allowed if token not in special.continuing]
            if length == config.max_tokens:
                allowed = [special.end] if complete else []
            allowed.sort(key=lambda token: -log_probs[token])
            proposed = allowed[: width if length == 2 else config.expansion]
            if not complete and runs[said[0]][said[1]] in allowed:
                proposed = list(dict.fromkeys([*proposed, runs[said[0]][said[1]]]))
            for token in proposed:
                if (after := advance(runs, said, token)) is not None:
                    log_prob = beam.log_prob + log_probs[token]
                    longer = SlowHypothesis([*beam.tokens, token], log_prob, token == special.end)
                    banks[sum(map(len, runs[: after[0]])) + after[1]].append((longer, after))
        for bank in banks:
            bank.sort(key=lambda pair: -pair[0].score(config.length_penalty))
        beams = []
        while len(beams) < width and any(banks):
            for bank in reversed(banks):
                beams += [bank.pop(0)] if bank and len(beams) < width else []
        ended = [beam for beam, _ in beams if beam.ended]
        if len(ended) * len(banks) >= width:
            break
    return sorted(ended, key=lambda beam: -beam.score(config.length_penalty))


def slow_beam(
    model: HRQVAE,
    source: list[int],
    form: torch.Tensor,
    special: SpecialTokens,
    config: GenerateConfig,
    width: int,
) -> list[SlowHypothesis]:
    """The hypotheses for one source (with begin and end) in one form (form_width,), best first."""
    beams = [SlowHypothesis([special.begin], 0.0)]
    for length in range(2, config.max_tokens + 1):
        proposals = []
        for beam in beams:
            if beam.ended:
                proposals.append(beam)
                continue
            log_probs = next_log_probs(model, source, form, beam.tokens).tolist()
            allowed = [token for token in range(len(log_probs)) if token not in special.never]
            if length == 2:
                allowed.remove(special.end)
            if length == config.max_tokens:
                allowed = [special.end]
            allowed.sort(key=lambda token: -log_probs[token])
            for token in allowed[: width if length == 2 else config.expansion]:
                longer = SlowHypothesis([*beam.tokens, token], beam.log_prob + log_probs[token], token == special.end)
                proposals.append(longer)
        proposals.sort(key=lambda beam: -beam.score(config.length_penalty))
        beams = proposals[:width]
        if all(beam.ended for beam in beams):
            break
    return beams
