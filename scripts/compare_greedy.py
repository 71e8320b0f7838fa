"""iBLEU of HRQ-VAE models with greedy decoding and no reranking: the figure by which training chooses, in seconds.

python scripts/compare_greedy.py questions runs/mine/best --data domain-dev.jsonl qqp/dev.jsonl.gz --limit 300
"""

import argparse
from pathlib import Path

import torch

from parasketch.data.corpora import read_eval
from parasketch.generate.pretrained import find_model
from parasketch.generate.sketches import best_sketches
from parasketch.generate.torch_backend import TorchPredictions, TransformerDecoding
from parasketch.systems.dev import GREEDY, DevItems, sample_items
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.kinds import load_model


def greedy_scores(network: HRQVAE, dev: DevItems) -> dict[str, float]:
    """BLEU, Self-BLEU and iBLEU with predicted sketches."""
    with torch.inference_mode():
        encoding = network.encode(dev.sources)
        own = network.quantizer.encode(encoding.form)
        predictions = TorchPredictions(network, network.pooled_meaning(encoding))
        depth, penalty = network.config.levels, GREEDY.own_code_penalty
        ranked = best_sketches(predictions, k=1, depth=depth, own=own.numpy(), own_penalty=penalty)
        form = network.quantizer.decode(torch.from_numpy(ranked.codes[:, 0]))
        return dev.scores(
            dev.write(TransformerDecoding(network, network.start(encoding, torch.arange(len(own)), form)))
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--limit", type=int, default=300, help="items of each file, spread over it")
    arguments = parser.parse_args()
    data = {path: sample_items(list(read_eval(path)), arguments.limit) for path in arguments.data}
    for name in arguments.models:
        loaded = load_model(find_model(name))
        for path, items in data.items():
            dev = DevItems(items, loaded.tokenizer, max_length=loaded.model.config.max_length)
            found = "  ".join(f"{key} {value:.2f}" for key, value in greedy_scores(loaded.model.eval(), dev).items())
            print(f"{name}  {path}  {len(items)} items  {found}", flush=True)


if __name__ == "__main__":
    main()
