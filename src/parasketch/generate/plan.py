"""How widely to search: how many sketches are tried for a request, and with how many rows each.

Few sketches that are asked for (by a prefix, an exemplar or a small depth) are each searched more widely; further
attempts, for requests with too few different candidates, take more sketches and wider beams. All of it is bounded, so
that a request for a thousand outputs ends, and does not fill the memory.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import MOST_EFFORT, Options, Request
from parasketch.generate.required import NOTHING, Required
from parasketch.generate.settings import GenerateConfig

ATTEMPTS = 3
MOST_ROWS = 1024
"""Hypotheses that are decoded together; more do not make it faster and take memory."""
MOST_SEARCHED = 8192
"""Hypotheses of one request at one attempt."""
MOST_SKETCHES = 2048
"""Sketches of one request at one attempt."""
_WIDENING = 4  # times as many sketches at each further attempt, or as wide a beam for a single one


@dataclass(frozen=True)
class Group:
    """One sketch of one request, to be decoded with a number of rows."""

    place: int
    """Of the request in its batch."""
    rank: int
    """Of the sketch among those of the request."""
    sketch: Sketch
    log_prob: float
    width: int
    required: Required = NOTHING


class Effort(NamedTuple):
    """How much of a model's settings is tried, as shares; at least one of everything."""

    sketches: float
    beam: float
    """Of the likelier half of the sketches: that is where most outputs come from."""
    other_beam: float
    """Of the other half."""
    finalists: float


DEFAULT_EFFORT = 5
EFFORTS = {
    1: Effort(sketches=0, beam=0, other_beam=0, finalists=0),
    2: Effort(sketches=1 / 4, beam=1 / 2, other_beam=1 / 2, finalists=1 / 2),
    3: Effort(sketches=1 / 2, beam=1, other_beam=1, finalists=1),
    4: Effort(sketches=1, beam=1, other_beam=1 / 2, finalists=1),
    5: Effort(sketches=1, beam=1, other_beam=1, finalists=1),
}
"""From one sketch, greedily, to everything that the settings of a model say."""


@dataclass(frozen=True)
class SearchPlan:
    """The plan for a model with sketches of `levels` codes, each one of `codes`."""

    config: GenerateConfig
    levels: int
    codes: int
    effort: Effort = EFFORTS[MOST_EFFORT]

    def _share(self, value: int, share: float) -> int:
        return max(1, round(value * share))

    @property
    def finalists(self) -> int:
        """How many candidates the costly judgements are made of."""
        return self._share(self.config.finalists, self.effort.finalists)

    def depth(self, options: Options) -> int:
        """How many codes the sketches have."""
        return self.levels if options.depth is None else options.depth

    def prefix(self, request: Request, attempt: int) -> Sketch:
        """The fixed codes; if they are those of an exemplar, a code less at each further attempt."""
        return Sketch(request.prefix[: max(0, len(request.prefix) - attempt)]) if request.exemplar else request.prefix

    def num_sketches(self, options: Options, attempt: int = 0) -> int:
        """How many sketches are tried."""
        count = max(self._share(self.config.sketches, self.effort.sketches), options.n) if options.rerank else options.n
        more = min(count * _WIDENING**attempt, max(count, MOST_SKETCHES))
        paths: int = self.codes ** self.depth(options)
        return int(min(more, paths))

    def width(self, options: Options, sketches: int, rank: int = 0, attempt: int = 0) -> int:
        """Rows for one of so many sketches, by its rank: enough for n outputs and, where there are few sketches, for a
        choice as well.
        """
        tried = self._share(self.config.sketches, self.effort.sketches)
        times = max(1, min(_WIDENING, tried // sketches)) if options.rerank else 1
        needed = math.ceil(options.n / sketches) + (options.n > sketches)
        likely = 2 * rank < sketches or not options.rerank
        beam = self._share(self.config.beam, self.effort.beam if likely else self.effort.other_beam)
        width = max(beam * times, needed)
        return min(width << attempt, max(width, MOST_SEARCHED // sketches))

    def width_for(self, required: Required) -> int:
        """A beam with a place for every number of required tokens said so far, and as many again as it has always."""
        return self.config.beam * (2 + len(required.tokens) // self.config.beam)

    def batch_size(self, options: Options, largest: int) -> int:
        """How many texts go well together, at most `largest`."""
        return max(1, min(largest, MOST_ROWS // (self.num_sketches(options) * self.config.beam)))
