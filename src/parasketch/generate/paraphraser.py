"""`Paraphraser`, the package's first name: several different paraphrases in one call, and control over their form.

A facade: it has the arguments checked, the texts sorted into batches of like length, and the results put back in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from parasketch.console import track
from parasketch.errors import UsageError
from parasketch.generate.candidates import Judged
from parasketch.generate.choice import join_paraphrases
from parasketch.generate.engine import Ability, require
from parasketch.generate.hrqvae import HrqvaeEngine
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.pretrained import find_model
from parasketch.generate.requests import Options, as_exemplars, as_sketches, as_texts, check_number
from parasketch.generate.routing import Assignment, Engines, OneEngine, assign, batches, load_engines, sketches_of
from parasketch.generate.settings import GenerateConfig
from parasketch.text.sentence_encoder import SentenceModel, SentenceTransformersModel
from parasketch.text.sentences import SplitText, split_sentences
from parasketch.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from parasketch.systems.hrqvae.network import HRQVAE


class Paraphraser:
    """Paraphrases texts: `Paraphraser.from_pretrained("questions")("How heavy is a moose?", n=5)`."""

    def __init__(self, engines: Engines, *, origin: tuple[str | None, ...] | None = None) -> None:
        """Use `from_pretrained` or `from_model`; `origin` is what it was loaded with, to load it again."""
        self._engines, self._origin = engines, origin

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path | None = None,
        *,
        device: str | None = None,
        semantic: str | None = None,
        backend: str | None = None,
    ) -> Paraphraser:
        """Load a shipped model by name, any model by its directory, or one from the Hub by its id.

        Without a name the models of the package share the work: `questions` and `captions`, whichever suits
        a text. `device` is cpu, cuda, cuda:1, ...; a GPU is used if there is one. `semantic` names a
        sentence-transformers model whose opinion joins the choice. `backend` is light (onnxruntime, for exported
        models, such as those of the package, on the CPU) or torch; both say the same. Light is the default where
        it can be had.
        """
        path = None if name is None else str(find_model(str(name)).resolve())
        judge = None if semantic is None else SentenceTransformersModel(semantic)
        return cls(load_engines(path, device, judge, backend), origin=(path, device, semantic, backend))

    @classmethod
    def from_model(
        cls,
        model: HRQVAE,
        tokenizer: Tokenizer,
        *,
        config: GenerateConfig | None = None,
        semantic: SentenceModel | None = None,
    ) -> Paraphraser:
        """Use a model that is in memory, such as one in training, where it is."""
        from parasketch.generate.torch_backend import TorchBackend

        settings = config or GenerateConfig()
        return cls(OneEngine(HrqvaeEngine(TorchBackend(model), tokenizer, settings, semantic=semantic)))

    def save_pretrained(self, directory: str | Path, *, half: bool = False) -> None:
        """Write the model, its tokeniser and its settings as a directory that `from_pretrained` reads."""
        if not isinstance(self._engines, OneEngine):
            raise UsageError("several models share the work here: load the one to be saved by its name")
        self._engines.first().save(directory, half=half)

    def __reduce__(self) -> tuple[object, ...]:
        if self._origin is None:
            raise UsageError(
                "a paraphraser in memory cannot be sent elsewhere: use save_pretrained and from_pretrained"
            )
        return _reload, self._origin

    @property
    def depth(self) -> int:
        """D, the number of codes of a whole sketch; 0 for a model without sketches."""
        return self._engines.first().depth

    @property
    def abilities(self) -> frozenset[Ability]:
        """What the model can do besides n paraphrases of a text."""
        return self._engines.first().abilities

    def require(self, ability: Ability, what: str) -> None:
        """Refuse `what` was asked for if the model cannot do it."""
        require(self._engines.first(), ability, what)

    @property
    def device(self) -> str:
        """Where the model is."""
        return str(self._engines.first().device)

    @overload  # a str is a sequence of str as well: the first match counts
    def sketch(self, text: str) -> Sketch: ...  # type: ignore[overload-overlap]
    @overload
    def sketch(self, text: Sequence[str]) -> list[Sketch]: ...
    def sketch(self, text: str | Sequence[str]) -> Sketch | list[Sketch]:
        """The sketch that a text has itself, or those of several."""
        texts = as_texts(text)
        sketches = sketches_of([self._engines.choose(each) for each in texts], texts)
        return sketches[0] if isinstance(text, str) else sketches

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        text: str,
        /,
        *,
        n: int = ...,
        like: str | None = ...,
        sketch: Sequence[int] | None = ...,
        depth: int | None = ...,
        rerank: bool = ...,
        temperature: float | None = ...,
        seed: int = ...,
        effort: int | None = ...,
        split: bool = ...,
        rounds: int | None = ...,
        show_bow: bool = ...,
        batch_size: int = ...,
        show_progress: bool = ...,
    ) -> list[Paraphrase]: ...
    @overload
    def __call__(
        self,
        text: Sequence[str],
        /,
        *,
        n: int = ...,
        like: str | Sequence[str] | None = ...,
        sketch: Sequence[int] | Sequence[Sequence[int]] | None = ...,
        depth: int | None = ...,
        rerank: bool = ...,
        temperature: float | None = ...,
        seed: int = ...,
        effort: int | None = ...,
        split: bool = ...,
        rounds: int | None = ...,
        show_bow: bool = ...,
        batch_size: int = ...,
        show_progress: bool = ...,
    ) -> list[list[Paraphrase]]: ...
    def __call__(
        self,
        text: str | Sequence[str],
        /,
        *,
        n: int = 1,
        like: str | Sequence[str] | None = None,
        sketch: Sequence[int] | Sequence[Sequence[int]] | None = None,
        depth: int | None = None,
        rerank: bool = True,
        temperature: float | None = None,
        seed: int = 0,
        effort: int | None = None,
        split: bool = False,
        rounds: int | None = None,
        show_bow: bool = False,
        batch_size: int = 64,
        show_progress: bool = False,
    ) -> list[Paraphrase] | list[list[Paraphrase]]:
        """n paraphrases of a text, best first; of a list of texts, a list of such lists.

        `like`: say it in the form of this sentence (one for all, or one for each text). `sketch`: the first codes
        of the form; the rest is predicted. `depth`: how many codes a sketch has; fewer than the model's D
        truncate it, 0 uses none. `rerank=False` returns the best sentence of each of the n best sketches, unjudged.
        `temperature` samples sentences instead of searching for the best; `seed` then decides which. `effort`, 1 to
        5: from one sketch, greedily, to everything that the model's settings say; None for 3. With `split`
        a text of several sentences is paraphrased sentence by sentence and put together again. `rounds` (BTmPG):
        how often an output is paraphrased again. `show_bow` (LBoW): results have the predicted bag of words, `bow`.
        Texts are worked on in batches of at most `batch_size`; results do not depend on it, on their order or on each
        other.
        """
        texts = as_texts(text)
        options = Options(
            n=n,
            depth=depth,
            rerank=rerank,
            temperature=temperature,
            seed=seed,
            effort=effort,
            rounds=rounds,
            bow=show_bow,
        )
        check_number("batch_size", batch_size, least=1)
        exemplars = as_exemplars(like, len(texts))
        prefixes = None if sketch is None else as_sketches(sketch, len(texts))
        pieces = [split_sentences(each) if split else SplitText((each,), ("", "")) for each in texts]
        owners = [place for place, each in enumerate(pieces) for _ in each.sentences]
        assignments = assign(
            self._engines,
            [sentence for each in pieces for sentence in each.sentences],
            options,
            exemplars=None if exemplars is None else [exemplars[owner] for owner in owners],
            prefixes=None if prefixes is None else [prefixes[owner] for owner in owners],
        )
        found = self._work(assignments, options, batch_size, show_progress=show_progress)
        results = []
        for source, each in zip(texts, pieces, strict=True):
            parts, found = found[: len(each.sentences)], found[len(each.sentences) :]
            results.append(parts[0] if len(parts) == 1 else join_paraphrases(each, source, parts))
        return results[0] if isinstance(text, str) else results

    def _work(
        self, assignments: Sequence[Assignment], options: Options, batch_size: int, *, show_progress: bool
    ) -> list[list[Paraphrase]]:
        results: dict[int, list[Paraphrase]] = {}
        parts = batches(assignments, options, batch_size)
        for engine, places in track(parts, "paraphrasing", total=len(parts), show=show_progress):
            requests = [assignments[place][1] for place in places]
            found = engine.paraphrase(requests, options)
            for place, request, each in zip(places, requests, found, strict=True):
                suitable = request.text.suitable
                results[place] = each if suitable else [replace(one, accepted=False) for one in each]
        return [results[place] for place in range(len(assignments))]

    def candidates(
        self, texts: Sequence[str], *, n: int = 1, batch_size: int = 64, show_progress: bool = False
    ) -> list[Judged]:
        """All candidates that n outputs of each text would be chosen from, with their features: to tune the weights."""
        options = Options(n=n)
        check_number("batch_size", batch_size, least=1)
        assignments = assign(self._engines, as_texts(texts), options)
        for engine in dict.fromkeys(engine for engine, _ in assignments):
            require(engine, "candidates", "candidates")
        results: dict[int, Judged] = {}
        parts = batches(assignments, options, batch_size)
        for engine, places in track(parts, "candidates", total=len(parts), show=show_progress):
            found = engine.judged_candidates([assignments[place][1] for place in places], options)
            results.update(zip(places, found, strict=True))
        return [results[place] for place in range(len(texts))]


def _reload(name: str | None, device: str | None, semantic: str | None, backend: str | None) -> Paraphraser:
    return Paraphraser.from_pretrained(name, device=device, semantic=semantic, backend=backend)
