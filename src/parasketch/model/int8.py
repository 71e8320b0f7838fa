"""Linear maps in 8 bits, for generation on CPUs that multiply bytes: several times as fast as in fp32.

torch quantises activations with one scale for the whole tensor, so a row's result would depend on its neighbours. Here
every row is scaled to its own largest value first, and a row with both extremes is added, so that the tensor's scale
is always the same: a row then has one result, to the bit, whatever else is in the batch. A root-mean-square norm before
the map is one more factor of a row, and costs next to nothing here; its gain belongs into the matrix.
"""

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn


def is_supported() -> bool:
    """Whether this CPU has the instructions (VNNI) that make it worth while."""
    return "x86" in torch.backends.quantized.supported_engines and bool(torch.cpu._is_vnni_supported())


@dataclass(frozen=True)
class Bytes:
    """A matrix in 8 bits: values (outputs, inputs) times the scale (outputs,) of each output."""

    values: Tensor
    scales: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> "Bytes":
        """Round a matrix (outputs, inputs)."""
        scales = (weight.abs().amax(dim=1) / 127).clamp(min=1e-12)
        return cls((weight / scales[:, None]).round().to(torch.int8), scales)


class Int8Linear(nn.Module):
    """y = x Wᵀ with 8 bits for the weights, by output, and for the inputs, by row."""

    def __init__(self, matrix: Bytes, *, norm_eps: float | None = None) -> None:
        """With `norm_eps`, x is first divided by its root mean square."""
        super().__init__()
        self._eps = norm_eps
        zeros = torch.zeros(len(matrix.values), dtype=torch.int64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch will move this to another package one day
            quantised = torch._make_per_channel_quantized_tensor(matrix.values, matrix.scales.double(), zeros, 0)
            self._packed = torch.ops.quantized.linear_prepack(quantised, None)
        extremes = torch.zeros(1, matrix.values.shape[1])
        extremes[0, 0], extremes[0, -1] = 1.0, -1.0
        self._extremes = extremes

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, x.shape[-1])  # (N, inputs)
        largest = torch.linalg.vector_norm(rows, torch.inf, dim=1, keepdim=True).clamp(min=1e-12)
        scaled = torch.cat([rows / largest, self._extremes])
        result: Tensor = torch.ops.quantized.linear_dynamic(scaled, self._packed, False)[:-1]
        if self._eps is not None:
            squares = torch.linalg.vector_norm(rows, 2, dim=1, keepdim=True).square() / rows.shape[1]
            largest = largest * torch.rsqrt(squares + self._eps)
        result = result * largest
        return result.view(*x.shape[:-1], -1)
