from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tiny import MODEL, VOCABULARY, make_model

from parasketch.errors import ModelError
from parasketch.systems.corpus import load_embeddings


def test_embeddings_come_from_a_file(tmp_path: Path) -> None:
    model, matrix = make_model(), torch.randn(VOCABULARY, MODEL.width)
    save_file({"anything": matrix}, tmp_path / "bert.safetensors")
    load_embeddings(model.embedding.weight, tmp_path / "bert.safetensors")
    assert torch.equal(model.embedding.weight, matrix)


def test_embeddings_of_another_size_are_refused(tmp_path: Path) -> None:
    save_file({"anything": torch.zeros(7, 5)}, tmp_path / "bert.safetensors")
    with pytest.raises(ModelError, match=r"holds \(7, 5\) \(expected one matrix \(40, 16\)\)"):
        load_embeddings(make_model().embedding.weight, tmp_path / "bert.safetensors")
    (tmp_path / "bert.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match="no embeddings can be read"):
        load_embeddings(make_model().embedding.weight, tmp_path / "bert.safetensors")
    with pytest.raises(ModelError, match="no embeddings can be read"):
        load_embeddings(make_model().embedding.weight, tmp_path / "missing.safetensors")
