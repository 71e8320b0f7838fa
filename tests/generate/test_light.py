"""Exported models say what torch says, number by number, whatever the options of the network are."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from parasketch.errors import ModelError, UsageError
from parasketch.generate.backend import Backend
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.pretrained import SHIPPED
from parasketch.generate.torch_backend import TorchBackend
from parasketch.light.backend import load_light
from parasketch.light.export import export_model
from parasketch.light.graphs import OPSET
from parasketch.light.names import DECODER, ENCODER
from parasketch.model.directory import ModelDirectory, open_directory
from parasketch.model.storage import save_model
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

TEXTS = ["how heavy is a moose?", "parrots", "where do where do whales live?"]

OPTIONS = {
    "as shipped": {},
    "without copying": {"copy_head": False},
    "post-norm with biases": {"pre_norm": False, "bias": True},
    "causal, split": {"causal_encoder": True, "split_encoding": True, "width": 24, "meaning_width": 16},
    "previous code": {"predictor_conditioning": "previous"},
}


@pytest.fixture(params=list(OPTIONS))
def both(
    request: pytest.FixtureRequest, make_model: Callable[..., HRQVAE], tokenizer: Tokenizer, tmp_path: Path
) -> tuple[Backend, Backend, list[list[int]]]:
    """The same model on torch and exported, and sentences."""
    model = make_model(seed=3, **OPTIONS[request.param])
    save_model(tmp_path / "model", model, tokenizer)
    export_model(tmp_path / "model", tmp_path / "light")
    light = load_light(open_directory(tmp_path / "light", ModelDirectory), tokenizer)
    framed = [[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id] for text in TEXTS]
    return TorchBackend(model), light, framed


def assert_close(one: object, other: object) -> None:
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-5)


def test_both_backends_compute_the_same(both: tuple[Backend, Backend, list[list[int]]]) -> None:
    torch, light, sentences = both
    assert_close(torch.codebooks, light.codebooks)
    owners, sources = np.array([0, 2, 1, 2]), np.array([0, 0, 1, 2])
    form = torch.codebooks[0][[0, 1, 2, 3]]
    with torch.working(), light.working():
        known, found = torch.encode(sentences), light.encode(sentences)
        assert (known.own_codes == found.own_codes).all()
        assert (known.lengths == found.lengths).all()
        for level in range(3):
            prefixes = np.array([[3, 1], [0, 2], [1, 1], [2, 0]])[:, :level]
            rows = np.arange(3)
            assert_close(
                known.predictions(rows).log_probs(owners, prefixes), found.predictions(rows).log_probs(owners, prefixes)
            )
        assert_close(
            torch.log_likelihood(sentences, sentences[::-1], form[:3]),
            light.log_likelihood(sentences, sentences[::-1], form[:3]),
        )
        steps = [each.start(sources, form) for each in (known, found)]
        last = np.full((4, 1), sentences[0][0])
        for number in range(4):
            one, other = (each.step(last) for each in steps)
            for part, same in zip(one, other, strict=True):
                assert (part is None) == (same is None)
                if part is not None:
                    assert_close(part, same)
            for each in steps:
                if number == 1:
                    each.keep_groups(np.array([0, 2, 3]))
                groups = 4 if number < 1 else 3
                each.reorder_rows(np.array([[0, 0, 0], [2, 0, 1], [1, 1, 2], [0, 1, 2]])[:groups] * (number > 0))
                assert (each.source_tokens[0] == steps[0].source_tokens[0]).all()
            last = np.arange(groups * 3).reshape(groups, 3) + 7


def test_eight_bits_are_nearly_the_same(model: HRQVAE, tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(tmp_path / "model", model, tokenizer)
    export_model(tmp_path / "model", tmp_path / "light", int8=True)
    light = load_light(open_directory(tmp_path / "light", ModelDirectory), tokenizer)
    framed = [[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id] for text in TEXTS]
    form = light.codebooks[0][:3]
    with TorchBackend(model).working():
        exact = TorchBackend(model).log_likelihood(framed, framed, form)
    assert np.abs(light.log_likelihood(framed, framed, form) / exact - 1).max() < 0.1
    size = (tmp_path / "light" / "model.safetensors").stat().st_size
    assert size < 0.5 * (tmp_path / "model" / "model.safetensors").stat().st_size
    assert json.loads((tmp_path / "light" / "config.json").read_text())["onnx"] == {"opset": OPSET, "int8": True}


@pytest.mark.parametrize("int8", [False, True])
def test_files_are_what_the_standard_asks_for(model: HRQVAE, tokenizer: Tokenizer, tmp_path: Path, int8: bool) -> None:
    checker = pytest.importorskip("onnx.checker")
    save_model(tmp_path / "model", model, tokenizer)
    for name in export_model(tmp_path / "model", tmp_path / "light", int8=int8):
        checker.check_model(str(tmp_path / "light" / name))


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*/*.onnx")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_operation_of_a_shipped_graph_has_a_name_of_its_own(path: Path) -> None:
    """Versions of onnxruntime before 1.22 refuse what others accept."""
    onnx = pytest.importorskip("onnx")
    names = [node.name for node in onnx.load(str(path), load_external_data=False).graph.node]
    assert "" not in names
    assert len(set(names)) == len(names)


def test_a_damaged_export_is_refused(model: HRQVAE, tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(tmp_path / "model", model, tokenizer)
    export_model(tmp_path / "model", tmp_path / "light")
    graph = tmp_path / "light" / DECODER
    graph.write_bytes(graph.read_bytes()[:-9])
    with pytest.raises(ModelError, match=DECODER):
        Paraphraser.from_pretrained(tmp_path / "light")
    content = json.loads((tmp_path / "light" / "config.json").read_text())
    del content["sha256"]  # as if somebody had written it by hand
    (tmp_path / "light" / "config.json").write_text(json.dumps(content))
    with pytest.raises(ModelError, match=DECODER):
        Paraphraser.from_pretrained(tmp_path / "light")


def test_backends_that_cannot_be_had(model: HRQVAE, tokenizer: Tokenizer, tmp_path: Path) -> None:
    save_model(tmp_path / "model", model, tokenizer)
    with pytest.raises(UsageError, match="parasketch export"):
        Paraphraser.from_pretrained(tmp_path / "model", backend="light")
    with pytest.raises(UsageError, match="light or torch"):
        Paraphraser.from_pretrained(tmp_path / "model", backend="abacus")
    export_model(tmp_path / "model", tmp_path / "light")
    with pytest.raises(UsageError, match="CPU"):
        Paraphraser.from_pretrained(tmp_path / "light", backend="light", device="cuda")
    shutil.rmtree(tmp_path / "light" / ENCODER, ignore_errors=True)
    (tmp_path / "light" / ENCODER).unlink()
    assert Paraphraser.from_pretrained(tmp_path / "light")(TEXTS[0])  # torch helps out


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it is an error
from parasketch.cli import main
sys.argv = ["parasketch", "paraphrase", "How heavy is a moose?", "-n", "2", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("model", ["questions", "captions"])
def test_shipped_models_do_without_torch(model: str) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, "--model", model, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    known = Paraphraser.from_pretrained(model, backend="torch")("How heavy is a moose?", n=2)
    assert [each["text"] for each in found] == [each.text for each in known]
    assert_close([each["score"] for each in found], [each.score for each in known])
    assert [each["accepted"] for each in found] == [each.accepted for each in known]
