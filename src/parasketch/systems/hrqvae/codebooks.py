"""What training does for the health of the codes: k-means to begin with, and new places for codes nobody chooses.

All processes end with the codebooks of the first one, bit for bit.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from parasketch.data.prepared import Prepared
from parasketch.model.inputs import Sentences
from parasketch.systems.hrqvae.network import HRQVAE

if TYPE_CHECKING:
    from lightning_fabric import Fabric

KMEANS_SENTENCES = 4096


@torch.no_grad()
def start_codebooks(model: HRQVAE, prepared: Prepared, *, length: float, seed: int, fabric: "Fabric") -> None:
    """Give the forms of real sentences a typical length, and set the codebooks by k-means on them.

    The decoder has learned to read the forms as they are; it is told of their new centre and scale, and reads from a
    form what it read from it before. The form of no codes at all is then the average one.
    """
    count = min(KMEANS_SENTENCES, prepared.num_sentences)
    chosen = np.random.default_rng(seed).choice(prepared.num_sentences, count, replace=False)
    tokenizer = prepared.tokenizer
    sentences = Sentences.from_ragged(prepared.sentences(chosen), first=tokenizer.bos_id, last=tokenizer.eos_id)
    model.eval()
    sentences = sentences.to(fabric.device)
    change = model.form.calibrate(model.encode(sentences).form, length=length)
    for layer in model.decoder.decoder_layers:
        layer.form_offset += layer.form_value(change.centre)
        layer.form_value.weight /= change.factor
    model.quantizer.fit(model.encode(sentences).form, seed=seed)
    _share(model, fabric)


def revive_codes(model: HRQVAE, form: Tensor, *, threshold: float, seed: int, fabric: "Fabric") -> None:
    """Give codes that are used less than `threshold` times their fair share a place among the forms (B, form_width)."""
    model.quantizer.revive(form, threshold=threshold, generator=torch.Generator().manual_seed(seed))
    _share(model, fabric)


@torch.no_grad()
def _share(model: HRQVAE, fabric: "Fabric") -> None:
    readers = [part for layer in model.decoder.decoder_layers for part in (layer.form_value.weight, layer.form_offset)]
    for tensor in (model.form.centre, model.form.scale, model.quantizer.codebooks, model.quantizer.usage, *readers):
        tensor.copy_(fabric.broadcast(tensor.detach()))
