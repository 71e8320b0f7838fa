"""The files of an exported model, beside its config.json, weights and tokenizer."""

from pathlib import Path

ENCODER, PREDICTOR, DECODER, VERIFIER = "encoder.onnx", "predictor.onnx", "decoder.onnx", "verifier.onnx"
GRAPHS = (ENCODER, PREDICTOR, DECODER)
"""Of HRQ-VAE."""


def has_graphs(directory: Path, *, verifier: bool = False) -> bool:
    """Whether a model directory can be run without torch."""
    return all((directory / name).is_file() for name in ((VERIFIER,) if verifier else GRAPHS))
