"""How a model generates: the few dials of the search and of the choice, stored beside the weights.

They are tuned on development data together with a model, so they ship with it, as the section `generate` of its
config.json.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from parasketch.config import from_dict, require
from parasketch.errors import ConfigError, ModelError


@dataclass(frozen=True, kw_only=True)
class RerankWeights:
    """What each judgement counts for when candidates are compared; 0 switches one off.

    Tuned weights give the candidates of an input scores with a standard deviation of about 1.
    """

    sketch: float = 0.1
    """log p of the sketch given the meaning."""
    likelihood: float = 1.0
    """log p of the sentence, per token."""
    cycle: float = 0.5
    """log p of the input, per token, given the candidate's meaning and the input's own sketch."""
    consensus: float = 1.0
    """Mean overlap with the other candidates, 0 to 1, each weighted by its probability."""
    difference: float = 0.5
    """Difference to the input in words, 0 to 1."""
    agree_1: float = 0.0
    """Share of its words that another candidate says too, mean over the others."""
    agree_2: float = 0.0
    """The same for pairs of words in a row,"""
    agree_3: float = 0.0
    """for runs of three"""
    agree_4: float = 0.0
    """and of four."""
    kept_1: float = 0.0
    """Share of the input's words that it says: they carry the meaning."""
    kept_2: float = 0.0
    """Pairs of its words,"""
    kept_3: float = 0.0
    """runs of three"""
    kept_4: float = 0.0
    """and of four: the wording that a paraphrase should not repeat."""
    brevity: float = 1.0
    """Penalty for being shorter than the input, as a share of its length: what is left out is often meaning."""
    length: float = 0.0
    """log of its length over the candidates' mean length."""
    odd_length: float = 0.0
    """Penalty for a length unlike that of the other candidates, shorter or longer."""
    lost: float = 0.5
    """Penalty for each fact that was lost or added."""
    repeats: float = 0.5
    """Penalty for each word that is said once too often."""
    likeness: float = 5.0
    """Likeness to the exemplar's form, at most 1, where an exemplar is given."""
    semantic: float = 1.0
    """Cosine to the input by a sentence encoder, where one is in use."""


_RANGES: dict[str, tuple[float, float]] = {
    "beam": (1, 256),
    "expansion": (1, 256),
    "length_penalty": (-100, 100),
    "max_tokens": (3, 4096),
    "max_ratio": (0, 1000),
    "sketches": (1, 4096),
    "finalists": (1, 65536),
    "diversity": (0, 1e6),
    "least_faithfulness": (0, 1),
    "least_fluency": (-100, 100),
}


@dataclass(frozen=True, kw_only=True)
class GenerateConfig:
    """The search over sketches and tokens, and the choice among candidates."""

    beam: int = 4
    """Hypotheses kept for each sketch; 1 is greedy."""
    expansion: int = 2
    """Continuations that each hypothesis proposes at a step."""
    length_penalty: float = 1.0
    """a in log p / ((5 + length) / 6)^a, by which hypotheses are ranked; more favours long ones."""
    max_tokens: int = 50
    """Longest output in tokens, begin and end included."""
    max_ratio: float = 2.0
    """Longest output in tokens for each token of the input, besides ten."""
    sketches: int = 8
    """Sketches tried for each input; more if more outputs are asked for."""
    own_code_penalty: float = 0.2
    """A code that the input itself has at that level is less likely by this share: away from the input's own form."""
    finalists: int = 12
    """Candidates that the costly judgements (cycle, semantic) are made of."""
    diversity: float = 0.5
    """When several outputs are asked for: penalty for overlap with those already chosen."""
    least_faithfulness: float = 0.0
    """The faithfulness that an accepted paraphrase needs; these three are fitted by scripts/fit_acceptance.py."""
    least_fluency: float = -100.0
    """The log-odds that its words are in order (`text/fluency.py`)."""
    least_verified: float | None = None
    """The verifier's probability that it means the same; None is the verifier's own threshold, 0 does not ask it."""
    weights: RerankWeights = field(default_factory=RerankWeights)

    def __post_init__(self) -> None:
        for key, (least, most) in _RANGES.items():
            require(least <= getattr(self, key) <= most, f"generate.{key}", f"{least} to {most}")
        require(self.least_verified is None or 0 <= self.least_verified <= 1, "generate.least_verified", "0 to 1")
        for item in fields(self.weights):
            require(math.isfinite(getattr(self.weights, item.name)), f"generate.weights.{item.name}", "a finite number")
        require(0 <= self.own_code_penalty < 1, "generate.own_code_penalty", "at least 0 and less than 1")


def read_settings(directory: Path, sections: Mapping[str, Any]) -> GenerateConfig:
    """The settings among the sections of a model's config.json; what is wrong with them is a ModelError."""
    try:
        return stored_settings(sections.get("generate", {}))
    except ConfigError as error:
        raise ModelError(f"{directory}: {error}") from error


def stored_settings(section: Any) -> GenerateConfig:
    """The settings in the section `generate` of a model's config.json; what is wrong with them is a ConfigError."""
    require(isinstance(section, Mapping), "generate", "a mapping of settings")
    retired = {"no_repeat": 0}  # settings that are gone, with the value that changed nothing
    kept = {key: value for key, value in section.items() if key not in retired or retired[key] != value}
    return from_dict(GenerateConfig, kept, "generate.")
