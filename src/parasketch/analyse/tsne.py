"""Forms on a plane, by t-SNE: all of them coloured by their first code, the largest group by its second, and so on.

Each panel is laid out anew: what tells the forms of one group apart is what the next level of codes has to tell apart.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasketch.analyse.forms import Forms
from parasketch.errors import UsageError
from parasketch.extras import needs

LEAST_POINTS = 8
_PERPLEXITY = 30.0


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One group of sentences."""

    prefix: list[int]
    """The codes that they share."""
    codes: list[int]
    """Of the next level."""
    points: list[list[float]]
    """(n, 2)."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """A panel for each level, as far as there are enough sentences."""

    model: str
    sentences: int
    panels: list[Panel]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Map":
        """The way back from `dataclasses.asdict`."""
        return cls(**{**values, "panels": [Panel(**panel) for panel in values["panels"]]})


def lay_out(forms: Forms, *, model: str, seed: int = 0) -> Map:
    """Zoom in along the largest group of each level."""
    if len(forms.sentences) < LEAST_POINTS:
        raise UsageError(f"t-SNE needs at least {LEAST_POINTS} different sentences, not {len(forms.sentences)}")
    places, prefix, panels = np.arange(len(forms.sentences)), list[int](), list[Panel]()
    for level in range(forms.levels):
        codes = forms.codes[places, level]
        points = _embed(forms.vectors[places], seed).round(2)
        panels.append(Panel(prefix=list(prefix), codes=codes.tolist(), points=points.tolist()))
        largest, size = Counter(codes.tolist()).most_common(1)[0]
        if size < LEAST_POINTS:
            break
        prefix.append(largest)
        places = places[codes == largest]
    return Map(model=model, sentences=len(forms.sentences), panels=panels)


def _embed(vectors: NDArray[np.float32], seed: int) -> NDArray[np.float64]:
    with needs("eval", "t-SNE"):
        from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    found = TSNE(perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(vectors)
    return np.asarray(found, dtype=np.float64)
