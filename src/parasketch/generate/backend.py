"""What generation asks of a library that runs HRQ-VAE: encode, score sketches, decode step by step, and no more.

Search, candidates and choice work on NumPy arrays and know this protocol only. `torch_backend` runs a network that is
in memory, on any device; `parasketch.light` runs an exported one with onnxruntime, where no torch is installed.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from parasketch.errors import UsageError
from parasketch.generate.decoding import Floats, Ints
from parasketch.generate.next_tokens import Steps
from parasketch.generate.sketches import SketchPredictions
from parasketch.light.names import has_graphs
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.text.tokenizer import Tokenizer

BACKENDS = ("light", "torch")

Tokens = Sequence[Sequence[int]]
"""Sentences as ids, begin and end included."""


class Encoded(Protocol):
    """B sentences as a backend holds them."""

    @property
    def lengths(self) -> Ints:
        """(B,), in tokens, begin and end included."""
        ...

    @property
    def own_codes(self) -> Ints:
        """(B, D), the sketch that each sentence has itself."""
        ...

    def predictions(self, rows: Ints) -> SketchPredictions:
        """What the sketch predictor says of some of the sentences, (R,)."""
        ...

    def start(self, sources: Ints, form: Floats) -> Steps:
        """Begin decoding G groups: group g says sentence sources[g] in the form (G, form_width) given."""
        ...


class Backend(Protocol):
    """One HRQ-VAE, ready to work."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the network."""
        ...

    @property
    def device(self) -> str:
        """Where it works."""
        ...

    @property
    def codebooks(self) -> Floats:
        """(D, K, form_width), the vector of each code."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Everything below is called inside of this."""
        ...

    def encode(self, sentences: Tokens) -> Encoded:
        """Read sentences, in any order."""
        ...

    def log_likelihood(self, sources: Tokens, targets: Tokens, form: Floats) -> Floats:
        """log p of target i given the meaning of source i and form[i], (m, form_width): (m,)."""
        ...

    def save(self, directory: Path | str, tokenizer: Tokenizer, sections: dict[str, object], *, half: bool) -> None:
        """Write a model directory."""
        ...


def choose_backend(directory: Path, device: str | None, wanted: str | None) -> str:
    """`light` or `torch`: the one that is wanted, or light for exported models on the CPU, where it can be had."""
    if wanted not in (None, *BACKENDS):
        raise UsageError(f"the backend is {wanted!r} (expected {' or '.join(BACKENDS)})")
    if wanted == "light" and not has_graphs(directory):
        raise UsageError(f"{directory} has no ONNX graphs: parasketch export {directory} --out ... writes them")
    if wanted == "light" and device not in (None, "cpu"):
        raise UsageError(f"the light backend works on the CPU, not on {device!r}")
    if wanted is not None:
        return wanted
    on_cpu = device == "cpu" or (device is None and not (Path("/dev/nvidiactl").exists() and find_spec("torch")))
    return "light" if on_cpu and has_graphs(directory) and find_spec("onnxruntime") else "torch"


def form_of(codebooks: Floats, codes: Ints) -> Floats:
    """The vectors of sketches (R, L): (R, form_width), zeros for sketches without codes."""
    form = codebooks[:1, 0].repeat(len(codes), axis=0) * 0
    for level in range(codes.shape[1]):
        form = form + codebooks[level][codes[:, level]]
    return form
