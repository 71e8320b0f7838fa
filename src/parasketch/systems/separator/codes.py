"""Which codes suit a sentence: what the predictor learns from, and the search over its heads."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from parasketch.data.prepared import Prepared, slices
from parasketch.model.inputs import Sentences
from parasketch.systems.separator.network import Separator

BEAM, EXPANSION = 3, 2
_SENTENCES = 512  # encoded at a time


class RankedCodes(NamedTuple):
    """The best combinations of codes for B sentences, best first."""

    codes: Tensor
    """(B, n, heads)"""
    log_probs: Tensor
    """(B, n)"""


@torch.no_grad()
def codes_of_corpus(network: Separator, prepared: Prepared, device: torch.device) -> Tensor:
    """The codes of every sentence, (S, heads), without noise."""
    network.eval()
    found, tokenizer = [], prepared.tokenizer
    for start in range(0, prepared.num_sentences, _SENTENCES):
        chosen = np.arange(start, min(start + _SENTENCES, prepared.num_sentences))
        sentences = Sentences.from_ragged(prepared.sentences(chosen), first=tokenizer.bos_id, last=tokenizer.eos_id)
        found.append(network.codes_of(network.encode(sentences.to(device)).vector))
    return torch.cat(found)


def code_targets(prepared: Prepared, codes: Tensor, sentences: NDArray[np.int64], count: int) -> Tensor:
    """For each sentence (B,) and head, the codes that the other members of its cluster have, alike: (B, heads, count).

    `codes` (S, heads) are those of all sentences.
    """
    clusters = prepared.arrays.cluster_ids[sentences]
    first = prepared.arrays.cluster_offsets[clusters].astype(np.int64)
    size = prepared.arrays.cluster_offsets[clusters + 1] - first
    members, owners = slices(first, size), np.repeat(np.arange(len(sentences)), size)
    others = members != sentences[owners]
    rows = torch.from_numpy(owners[others]).to(codes.device)[:, None]
    heads = torch.arange(codes.shape[1], device=codes.device)
    used = torch.zeros(len(sentences), codes.shape[1], count, device=codes.device)
    used[rows, heads, codes[torch.from_numpy(members[others]).to(codes.device)]] = 1.0
    return used / used.sum(dim=-1, keepdim=True)


def best_codes(log_probs: Tensor, *, n: int, prefixes: Sequence[Sequence[int]] | None = None) -> RankedCodes:
    """The n best combinations by a beam over the heads of (B, heads, codes); the first codes may be given."""
    size, heads, codes = log_probs.shape
    if prefixes is not None:
        log_probs = log_probs.clone()
        for row, prefix in enumerate(prefixes):
            for head, code in enumerate(prefix):
                log_probs[row, head] = torch.full_like(log_probs[row, head], -torch.inf)
                log_probs[row, head, code] = 0.0
    width, expansion = max(BEAM, n), min(max(EXPANSION, n), codes)
    chosen = torch.zeros(size, 1, 0, dtype=torch.int64, device=log_probs.device)
    scores = torch.zeros(size, 1, device=log_probs.device)
    for head in range(heads):
        best = log_probs[:, head].topk(expansion)  # (B, expansion)
        sums = (scores[:, :, None] + best.values[:, None]).flatten(1)
        kept = sums.topk(min(width, sums.shape[1]))
        rows, picks = kept.indices // expansion, kept.indices % expansion
        before = chosen.gather(1, rows[..., None].expand(-1, -1, head))
        chosen = torch.cat([before, best.indices.gather(1, picks)[..., None]], dim=-1)
        scores = kept.values
    return RankedCodes(chosen[:, :n], scores[:, :n])
