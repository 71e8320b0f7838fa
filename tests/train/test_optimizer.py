from dataclasses import replace

import pytest
import torch
from tiny import MODEL, make_model

from parasketch.config import TrainConfig
from parasketch.systems.hrqvae.config import load_preset
from parasketch.systems.hrqvae.task import parameter_groups
from parasketch.train.optimizer import make_optimizer, set_learning_rates
from parasketch.train.task import ParameterGroup


def test_the_predictor_has_a_group_of_its_own() -> None:
    model, config = make_model(), load_preset("paper").train
    optimizer = make_optimizer(parameter_groups(model, config), config)
    set_learning_rates(optimizer, 0.5 * config.warmup, config)
    main, mlps = optimizer.param_groups
    assert (main["lr"], main["betas"], main["eps"]) == (5e-5, (0.9, 0.98), 1e-9)
    assert (mlps["lr"], mlps["betas"], mlps["weight_decay"]) == (1e-5, (0.9, 0.999), 0)
    assert len(mlps["params"]) == len(list(model.predictor.mlps.parameters()))
    codebooks = model.quantizer.codebooks
    assert any(value is codebooks for value in main["params"])
    assert len(main["params"]) + len(mlps["params"]) == len(list(model.parameters()))


def test_frozen_embeddings_are_left_out() -> None:
    model = make_model(replace(MODEL, frozen_embeddings=True))
    config = load_preset("small").train
    optimizer = make_optimizer(parameter_groups(model, config), config)
    weight = model.embedding.weight
    assert all(value is not weight for group in optimizer.param_groups for value in group["params"])


def test_a_group_may_learn_in_a_part_of_the_run_only() -> None:
    config = TrainConfig(warmup=0.2, decay="cosine")
    parameters = [torch.nn.Parameter(torch.zeros(1))]
    groups = [
        ParameterGroup(parameters=parameters, learning_rate=1.0, betas=(0.9, 0.98), last=0.5),
        ParameterGroup(
            parameters=[torch.nn.Parameter(torch.zeros(1))], learning_rate=2.0, betas=(0.9, 0.98), first=0.5
        ),
    ]
    optimizer = make_optimizer(groups, config)

    def rates(share: float) -> list[float]:
        set_learning_rates(optimizer, share, config)
        return [group["lr"] for group in optimizer.param_groups]

    assert rates(0.05) == pytest.approx([0.5, 0.0])
    assert rates(0.1) == pytest.approx([1.0, 0.0])
    assert rates(0.5) == [0.0, 0.0], "the first has ended, the second begins"
    assert rates(0.55) == pytest.approx([0.0, 1.0])
    assert rates(0.6) == pytest.approx([0.0, 2.0])
    assert rates(1.01) == pytest.approx([0.0, 0.0]), "a cosine ends at 0 and stays there"
