from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tiny import MODEL, VOCABULARY, make_model

from parasketch.config import load_config
from parasketch.errors import ModelError
from parasketch.train.optimizer import load_embeddings, make_optimizer, set_learning_rates


def test_the_predictor_has_a_group_of_its_own() -> None:
    model, config = make_model(), load_config("paper").train
    optimizer = make_optimizer(model, config)
    set_learning_rates(optimizer, 0.5)
    main, mlps = optimizer.param_groups
    assert (main["lr"], main["betas"], main["eps"]) == (5e-5, (0.9, 0.98), 1e-9)
    assert (mlps["lr"], mlps["betas"], mlps["weight_decay"]) == (1e-5, (0.9, 0.999), 0)
    assert len(mlps["params"]) == len(list(model.predictor.mlps.parameters()))
    codebooks = model.quantizer.codebooks
    assert any(value is codebooks for value in main["params"])
    assert len(main["params"]) + len(mlps["params"]) == len(list(model.parameters()))


def test_frozen_embeddings_are_left_out() -> None:
    model = make_model(replace(MODEL, frozen_embeddings=True))
    optimizer = make_optimizer(model, load_config("small").train)
    weight = model.embedding.weight
    assert all(value is not weight for group in optimizer.param_groups for value in group["params"])


def test_embeddings_come_from_a_file(tmp_path: Path) -> None:
    model, matrix = make_model(), torch.randn(VOCABULARY, MODEL.width)
    save_file({"anything": matrix}, tmp_path / "bert.safetensors")
    load_embeddings(model, tmp_path / "bert.safetensors")
    assert torch.equal(model.embedding.weight, matrix)


def test_embeddings_of_another_size_are_refused(tmp_path: Path) -> None:
    save_file({"anything": torch.zeros(7, 5)}, tmp_path / "bert.safetensors")
    with pytest.raises(ModelError, match=r"holds \(7, 5\) \(expected one matrix \(40, 16\)\)"):
        load_embeddings(make_model(), tmp_path / "bert.safetensors")
    (tmp_path / "bert.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match="no embeddings can be read"):
        load_embeddings(make_model(), tmp_path / "bert.safetensors")
    with pytest.raises(ModelError, match="no embeddings can be read"):
        load_embeddings(make_model(), tmp_path / "missing.safetensors")
