"""Adam with two groups of parameters, and where the token embeddings start from."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from parasketch.config import TrainConfig
from parasketch.errors import ModelError
from parasketch.model.hrqvae import HRQVAE

PREDICTOR = "predictor.mlps."


def make_optimizer(model: HRQVAE, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam with a group of its own for the predictor's MLPs, as in the paper."""
    trained = [(name, value) for name, value in model.named_parameters() if value.requires_grad]
    main = [value for name, value in trained if not name.startswith(PREDICTOR)]
    mlps = [value for name, value in trained if name.startswith(PREDICTOR)]
    groups = [
        {"params": main, "peak": config.learning_rate, "betas": config.betas},
        {"params": mlps, "peak": config.predictor_learning_rate, "betas": config.predictor_betas},
    ]
    return torch.optim.AdamW(groups, lr=0.0, eps=config.epsilon, weight_decay=config.weight_decay, fused=True)


def set_learning_rates(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Every group learns at `factor` times its peak."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def load_embeddings(model: HRQVAE, path: Path) -> None:
    """Start the token embeddings from the one matrix of a safetensors file."""
    try:
        matrices = list(load_file(path).values())
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: no embeddings can be read: {error}") from error
    weight = model.embedding.weight
    if len(matrices) != 1 or matrices[0].shape != weight.shape:
        found = ", ".join(str(tuple(matrix.shape)) for matrix in matrices) or "nothing"
        raise ModelError(f"{path}: holds {found} (expected one matrix {tuple(weight.shape)})")
    weight.data.copy_(matrices[0])
