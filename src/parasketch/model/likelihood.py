"""Log-likelihood of the target tokens without wasted work on the vocabulary-wide softmax.

The output layer is often the largest matmul of a step. Here logits exist only for tokens that have a target, a
cache-sized block at a time, and only their softmax is kept, which is all the gradient needs. The softmax is in full
precision, whatever the matmuls are in.
"""

from typing import Any

import torch
from torch import Tensor

from parasketch.model.ragged import Layout

BLOCK_ELEMENTS = 1 << 20  # 4 MB of fp32 logits at a time: they stay in the cache between the passes over them


class _TokenLogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        count, block = hidden.shape[0], _block(weight)
        probabilities: list[Tensor] = []
        result = hidden.new_empty(count, dtype=_softmax_type(hidden))
        for start in range(0, count, block):
            logits = (hidden[start : start + block] @ weight.T).to(result.dtype)
            log_probs = torch.log_softmax(logits, dim=1)
            result[start : start + block] = log_probs.gather(1, targets[start : start + block, None]).squeeze(1)
            probabilities.append(log_probs.exp_())
        ctx.save_for_backward(hidden, weight, targets)
        ctx.probabilities, ctx.block = probabilities, block
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None]:
        hidden, weight, targets = ctx.saved_tensors
        gradient = gradients[0]
        d_hidden = torch.empty_like(hidden)
        d_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        for index, probability in enumerate(ctx.probabilities):
            rows = slice(index * ctx.block, index * ctx.block + len(probability))
            scale = gradient[rows, None]
            d_logits = probability.mul_(-scale).scatter_add_(1, targets[rows, None], scale).to(hidden.dtype)
            torch.mm(d_logits, weight, out=d_hidden[rows])
            if d_weight is not None:
                d_weight.addmm_(d_logits.T, hidden[rows])
        ctx.probabilities = None  # they were overwritten: a second backward must fail, not lie
        return d_hidden, d_weight, None


def token_log_likelihood(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """log softmax(hidden @ weight.T) at the targets: hidden (N, d), weight (V, d), targets (N,) -> (N,)."""
    if not torch.is_grad_enabled():
        size = _block(weight)
        parts = zip(torch.split(hidden, size), torch.split(targets, size), strict=True)
        scores = [torch.log_softmax(part @ weight.T, dim=-1).gather(1, wanted[:, None]) for part, wanted in parts]
        return torch.cat(scores).squeeze(1)
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        hidden, weight = (part.to(torch.get_autocast_dtype(device)) for part in (hidden, weight))
    with torch.autocast(device, enabled=False):
        result: Tensor = _TokenLogLikelihood.apply(hidden, weight, targets)  # type: ignore[no-untyped-call]
    return result


def mean_by_sentence(values: Tensor, layout: Layout) -> Tensor:
    """Mean over each sentence's tokens (N,), then over the sentences; a scalar."""
    weights = torch.from_numpy(1.0 / layout.lengths).to(values)[layout.owners.to(values.device)]
    return (values * weights).sum() / layout.batch_size


def _block(weight: Tensor) -> int:
    """How many tokens are done at a time."""
    return max(1, BLOCK_ELEMENTS // weight.shape[0])


def _softmax_type(hidden: Tensor) -> torch.dtype:
    return torch.promote_types(hidden.dtype, torch.float32)
