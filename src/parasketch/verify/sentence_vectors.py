"""MiniLM's sentence vectors without a further library: to choose pairs by their cosine, and as the row to beat."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from parasketch.model.cross_encoder import BertEncoder
from parasketch.model.cross_encoder_config import CrossEncoderConfig
from parasketch.verify.inputs import PairTokenizer, by_length, collate


class SentenceVectors:
    """The mean of the last layer over all tokens, of length 1; `base` has model.safetensors and tokenizer.json."""

    def __init__(self, base: Path) -> None:
        config = CrossEncoderConfig()
        self._encoder = BertEncoder(config).eval()
        self._encoder.read_bert(load_file(base / "model.safetensors"))
        self._tokenizer = PairTokenizer(base / "tokenizer.json", max_length=config.max_length)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        encoded = [
            pair._replace(ids=pair.ids[:-1], matches=pair.matches[:-1])
            for pair in self._tokenizer.encode([(text, "") for text in texts])
        ]
        vectors = np.empty((len(texts), self._encoder.config.width), dtype=np.float32)
        for places in by_length(encoded, 64):
            batch = collate([encoded[place] for place in places])
            states = self._encoder(batch.tokens, batch.segments, batch.mask)
            weights = torch.ones_like(batch.tokens) if batch.mask is None else batch.mask
            summed = (states * weights[:, :, None]).sum(dim=1)
            vectors[places] = torch.nn.functional.normalize(summed, dim=1).numpy()
        return vectors

    def words(self) -> dict[str, NDArray[np.float32]]:
        """The vectors of whole words in the vocabulary."""
        table = self._encoder.tokens.weight.detach().numpy()
        return {word: table[number] for word, number in self._tokenizer.words().items()}
