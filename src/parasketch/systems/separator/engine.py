"""Paraphrases by Separator: predicted codes by a beam over the heads, an exemplar's codes, or the user's."""

from collections.abc import Sequence
from pathlib import Path

import torch

from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, PreparedText, Request
from parasketch.systems.plain_engine import MOST_TEXTS, load_as
from parasketch.systems.pooled.engine import PooledEngine, Variant
from parasketch.systems.pooled.network import Latent
from parasketch.systems.separator.codes import best_codes
from parasketch.systems.separator.network import Separator
from parasketch.text.sentence_encoder import SentenceModel


class SeparatorEngine(PooledEngine):
    """A sketch is the four codes of a form; given codes are those of the first heads."""

    abilities: frozenset[Ability] = frozenset({"sketch", "like", "temperature"})
    network: Separator

    @property
    def depth(self) -> int:
        """The number of heads."""
        return self.network.config.code_heads

    @property
    def codes(self) -> int:
        """How many codes each head has."""
        return self.network.config.codes

    def sketches_of(self, texts: Sequence[PreparedText]) -> list[Sketch]:
        """The codes that each text has itself."""
        self.network.eval()
        found: list[list[int]] = []
        with torch.inference_mode():
            for start in range(0, len(texts), MOST_TEXTS):
                latent = self.network.encode(self.sentences(texts[start : start + MOST_TEXTS]))
                found += self.network.codes_of(latent.vector).tolist()
        return [Sketch(codes) for codes in found]

    def variants(self, latent: Latent, requests: Sequence[Request], options: Options) -> list[list[Variant]]:
        log_probs = self.network.predict_codes(latent.vector)
        ranked = best_codes(log_probs, n=options.n, prefixes=[request.prefix for request in requests])
        found = []
        for vector, codes, scores in zip(latent.vector, ranked.codes, ranked.log_probs, strict=True):
            known = scores.isfinite()  # given codes leave fewer combinations
            vectors = self.network.splice(vector.expand(len(codes), -1), codes)
            found.append(
                [
                    Variant(spliced, Sketch(path), score)
                    for spliced, path, score in zip(
                        vectors[known], codes[known].tolist(), scores[known].tolist(), strict=True
                    )
                ]
            )
        return found


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> PooledEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(SeparatorEngine, directory, device, semantic)
