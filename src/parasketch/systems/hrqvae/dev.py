"""A quick look at HRQ-VAE while it learns: dev iBLEU with predicted sketches, and what better sketches would give.

The oracle takes the sketch of the first reference; `oracle_d` keeps only its first d codes, so the four numbers tell
what each level is worth.
"""

import torch
from torch import Tensor

from parasketch.generate.sketches import best_sketches
from parasketch.generate.torch_backend import TorchPredictions, TransformerDecoding
from parasketch.systems.dev import GREEDY, DevItems
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.train.task import DevResult


def look_at_dev(network: HRQVAE, dev: DevItems) -> DevResult:
    """Predicted, oracle and truncated sketches, the likelihood of the references, and some samples."""
    device, quantizer, depth = network.embedding.weight.device, network.quantizer, network.config.levels
    targets = dev.targets.to(device)
    encoding = network.encode(dev.sources.to(device))
    own, oracle = quantizer.encode(encoding.form), quantizer.encode(network.encode(targets).form)
    places = torch.arange(len(own), device=device)
    predictions = TorchPredictions(network, network.pooled_meaning(encoding))
    ranked = best_sketches(predictions, k=1, depth=depth, own=own.cpu().numpy(), own_penalty=GREEDY.own_code_penalty)
    predicted = torch.from_numpy(ranked.codes[:, 0]).to(device)

    def write(form: Tensor) -> list[str]:
        return dev.write(TransformerDecoding(network, network.start(encoding, places, form)))

    paraphrases = write(quantizer.decode(predicted))
    metrics = dev.scores(paraphrases)
    for kept in range(depth, -1, -1):
        metrics[f"oracle_{kept}"] = dev.scores(write(quantizer.decode(oracle, kept)))["ibleu"]
    metrics["own_sketch"] = 100 * float((predicted == own).all(dim=1).float().mean())
    metrics["nll"] = dev.nll(network.log_likelihood(encoding, places, quantizer.decode(oracle), targets))
    return dev.result(paraphrases, metrics)
