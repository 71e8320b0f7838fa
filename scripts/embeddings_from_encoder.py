"""Start token embeddings from a sentence encoder's word table, so that a small model knows related words.

Each subword of our tokenizer takes the mean of the encoder's pieces for the same text; a PCA fits the vectors to the
model's width. Needs the `semantic` extra. The result goes to `parasketch train --set train.embeddings=FILE`.

    python scripts/embeddings_from_encoder.py PREPARED/tokenizer.json --width 256 --out embeddings.safetensors
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from parasketch.evaluate.semantic import SentenceEncoder
from parasketch.text.tokenizer import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--model", default="minilm", help="sentence-transformers model (name or path)")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()

    tokenizer = Tokenizer.load(arguments.tokenizer)
    encoder = SentenceEncoder(arguments.model)._model
    table = encoder[0].auto_model.get_input_embeddings().weight.detach().numpy()
    generator = np.random.default_rng(0)
    vectors = np.zeros((tokenizer.vocab_size, table.shape[1]), dtype=np.float32)
    known = np.zeros(tokenizer.vocab_size, dtype=bool)
    for token in range(tokenizer.vocab_size):
        text = tokenizer.decode([token]).strip()
        pieces = encoder.tokenizer(text, add_special_tokens=False)["input_ids"] if text else []
        if pieces and "�" not in text:
            vectors[token], known[token] = table[pieces].mean(axis=0), True
    centred = vectors - vectors[known].mean(axis=0)
    _, _, directions = np.linalg.svd(centred[known], full_matrices=False)
    reduced = centred @ directions[: arguments.width].T
    reduced *= 1 / np.sqrt((reduced[known] ** 2).sum(axis=1).mean())  # mean squared length 1, as the model starts
    reduced[~known] = generator.normal(size=(int((~known).sum()), arguments.width)) / np.sqrt(arguments.width)
    save_file({"embeddings": torch.from_numpy(reduced.astype(np.float32))}, arguments.out)
    print(f"{int(known.sum())} of {tokenizer.vocab_size} tokens known to the encoder; wrote {arguments.out}")


if __name__ == "__main__":
    main()
