"""Which ids a row has: those of the base's tokens, and above them those of the codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

START, END = 0, 2
"""The ids of <|endoftext|>, which begins a row, and <|im_end|>, which ends a target."""
FORM_SCALE = 0.1
"""Forms must not outshout the tokens they are added to, and learn slowly: with 1 the base forgot its English."""


@dataclass(frozen=True)
class SketchIds:
    """Which ids the codes have: `<sketch>` first, then the codes of each level with "none" as the last of its level."""

    vocabulary: int
    levels: int
    codes: int

    @property
    def sketch(self) -> int:
        """The id that asks for a sketch."""
        return self.vocabulary

    @property
    def count(self) -> int:
        """How many ids there are above the vocabulary."""
        return 1 + self.levels * (self.codes + 1)

    def of(self, sketch: tuple[int, ...]) -> list[int]:
        """The ids of a sketch; a short one is filled up with "none"."""
        filled = [*sketch, *[self.codes] * (self.levels - len(sketch))]
        return [self.first(level) + code for level, code in enumerate(filled)]

    def first(self, level: int) -> int:
        """The id of code 0 of a level (from 0)."""
        return self.vocabulary + 1 + level * (self.codes + 1)

    def vectors(self, ids: NDArray[np.int64], tokens: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.float32]:
        """The vectors (..., width) of ids (...), given those of all tokens and of all codes, in full precision."""
        place = ids - self.vocabulary
        found = np.where(place[..., None] < 0, tokens[np.where(place < 0, ids, 0)], codes[np.maximum(place, 0)])
        return found.astype(np.float32)
