"""The models of a server by name, each loaded when it is first asked for, and what their codes mean.

What a code means is shown by sentences: those of a list (the package's, or the user's own) that have it. Only
`Paraphraser`'s public side is used, so every kind of model can be served.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from parasketch.errors import UsageError
from parasketch.files import read_lines
from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import LEAST_EFFORT

DEFAULT = "default"
TYPICAL = 4
"""Sentences that are shown for a code."""


class Model(Protocol):
    """What is asked of a `Paraphraser`."""

    @property
    def depth(self) -> int: ...
    @property
    def abilities(self) -> frozenset[Ability]: ...
    def sketch(self, text: list[str]) -> list[Sketch]: ...
    def __call__(
        self,
        text: list[str],
        /,
        *,
        n: int,
        like: list[str] | None,
        sketch: list[Sketch] | None,
        depth: int | None,
        rerank: bool,
        temperature: float | None,
        seed: int,
        effort: int | None,
    ) -> list[list[Paraphrase]]: ...


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a request wants for all of its texts. Texts for which it is equal are worked on together."""

    model: str
    n: int = 1
    depth: int | None = None
    rerank: bool = True
    temperature: float | None = None
    seed: int = 0
    effort: int | None = None
    like: bool = False
    """Whether the items carry an exemplar,"""
    sketch: bool = False
    """or a sketch."""

    def quick(self) -> "Wanted":
        """The same, of one paraphrase, as soon as can be."""
        return replace(self, n=1, effort=LEAST_EFFORT)


@dataclass(frozen=True)
class Item:
    """One text, with what may differ from text to text."""

    text: str
    like: str | None = None
    sketch: Sketch | None = None


class Models:
    """Named models, used from the one thread that works."""

    def __init__(self, loaders: Mapping[str, Callable[[], Model]], sentences: Path | None = None) -> None:
        self._loaders, self._sentences = dict(loaders), sentences
        self._loaded: dict[str, Model] = {}
        self._codes: dict[str, list[dict[str, Any]]] = {}
        self._lock = Lock()

    @property
    def names(self) -> list[str]:
        """The first one is the default."""
        return list(self._loaders)

    def known(self, name: str | None) -> str:
        """The name, or that of the default; one that is not served is an error."""
        if name is None:
            return self.names[0]
        if name not in self._loaders:
            raise UsageError(f"no model {name!r} is served here (there are {', '.join(self.names)})")
        return name

    def get(self, name: str) -> Model:
        """A model, loaded if it is not yet."""
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._loaders[name]()
            return self._loaded[name]

    def paraphrase(self, wanted: Wanted, items: Sequence[Item]) -> list[list[Paraphrase]]:
        """The paraphrases of each item."""
        return self.get(wanted.model)(
            [item.text for item in items],
            n=wanted.n,
            like=[item.like or "" for item in items] if wanted.like else None,
            sketch=[item.sketch or Sketch() for item in items] if wanted.sketch else None,
            depth=wanted.depth,
            rerank=wanted.rerank,
            temperature=wanted.temperature,
            seed=wanted.seed,
            effort=wanted.effort,
        )

    def paraphrase_quickly(self, quick: Wanted, items: Sequence[Item]) -> list[list[Paraphrase]]:
        """What is quickly found for each item and acceptable; nothing from a model that knows one effort only."""
        if "effort" not in self.get(quick.model).abilities:
            return [[] for _ in items]
        return [[one for one in each if one.accepted] for each in self.paraphrase(quick, items)]

    def sketches(self, name: str, texts: Sequence[str]) -> list[Sketch]:
        """The sketch that each text has itself."""
        return self.get(name).sketch(list(texts))

    def described(self, name: str) -> dict[str, Any]:
        """A model's name and, once it is loaded, its depth."""
        loaded = self._loaded.get(name)
        return {"name": name, "depth": None if loaded is None else loaded.depth, "default": name == self.names[0]}

    def codes(self, name: str) -> list[dict[str, Any]]:
        """Every prefix of a sketch that sentences of the list have, with how many have it and some of them."""
        if name not in self._codes:
            self._codes[name] = self._find_codes(name)
        return self._codes[name]

    def examples(self) -> list[str]:
        """The sentences that codes are shown with."""
        if self._sentences is not None:
            return [line for _, line in read_lines(self._sentences) if line.strip()]
        text = resources.files(__package__).joinpath("sentences.txt").read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line.strip()]

    def _find_codes(self, name: str) -> list[dict[str, Any]]:
        if not self.get(name).depth:
            return []
        found: dict[tuple[int, ...], list[str]] = defaultdict(list)
        texts = self.examples()
        for text, sketch in zip(texts, self.sketches(name, texts), strict=True):
            for level in range(1, len(sketch) + 1):
                found[sketch[:level]].append(text)
        return [
            {"sketch": list(prefix), "level": len(prefix), "count": len(own), "sentences": own[:TYPICAL]}
            for prefix, own in sorted(found.items())
        ]


def load(name: str | None, device: str | None) -> Callable[[], Model]:
    """A loader of a shipped model, a directory, or (without a name) of the package's default."""

    def loader() -> Model:
        from parasketch.generate.paraphraser import Paraphraser

        return Paraphraser.from_pretrained(name, device=device)

    return loader


def as_json(paraphrase: Paraphrase) -> dict[str, Any]:
    """Plain values; what was not judged is null, because JSON knows no NaN."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in paraphrase.to_dict().items()
    }
