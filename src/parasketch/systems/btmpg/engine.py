"""Paraphrases by BTmPG: greedy rounds, each of which paraphrases what the one before said, with less and less noise.

One paraphrase is what the last round said; several are what rounds spread evenly over all said, the last one first.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.recurrent import RecurrentDecoding
from parasketch.generate.requests import MOST_ROUNDS, Options, PreparedText, Request
from parasketch.generate.tokens import Hypothesis
from parasketch.model.inputs import Sentences
from parasketch.systems.btmpg.network import BTmPG
from parasketch.systems.plain_engine import Found, PlainEngine, load_as, noise_generator
from parasketch.text.sentence_encoder import SentenceModel

Round = list[tuple[PreparedText, Hypothesis]]
"""What was said for each text: as the next round reads it, and as the search found it."""


class BtmpgEngine(PlainEngine):
    abilities: frozenset[Ability] = frozenset({"temperature", "rounds"})
    network: BTmPG

    def sentences(self, texts: Sequence[PreparedText]) -> Sentences:
        """Texts as the network reads them: without a begin token."""
        return Sentences.from_lists([[*text.tokens, self.tokenizer.eos_id] for text in texts]).to(self.device)

    def find(self, requests: Sequence[Request], options: Options) -> list[list[Found]]:
        rounds = options.rounds or self.network.config.rounds
        texts = [request.text for request in requests]
        found: list[list[Found]] = [[] for _ in requests]
        for chain in range(math.ceil(options.n / rounds)):  # more than there are rounds: other noise
            said = self.run(texts, rounds, options, chain)
            for number in in_order(rounds, options.n):
                for place, (_, hypothesis) in enumerate(said[number - 1]):
                    found[place].append(Found(hypothesis))
        return found

    @torch.inference_mode()
    def write(self, texts: Sequence[PreparedText], *, rounds: int, seed: int) -> list[list[str]]:
        """What each round says for each text."""
        return [[text.text for text, _ in said] for said in self.run(texts, rounds, Options(seed=seed), 0)]

    def run(self, texts: Sequence[PreparedText], rounds: int, options: Options, chain: int) -> list[Round]:
        """All rounds; noise and samples are each text's own, by the seed and the number of the chain."""
        noise = [self._noise(text, options.seed * 1009 + chain, rounds) for text in texts]
        results: list[Round] = []
        for number in range(rounds):
            latent = torch.stack([each[number] for each in noise])
            source = self.network.encode(self.sentences(texts))
            decoding = RecurrentDecoding(self.network, self.network.start(source, latent))
            groups = [(Request(text=text, prefix=Sketch()), number) for text in texts]
            found = [best[0] for best in self.search(decoding, groups, options, width=1)]
            texts = self._read_again(texts, found)
            results.append(list(zip(texts, found, strict=True)))
        return results

    def _noise(self, text: PreparedText, seed: int, rounds: int) -> torch.Tensor:
        """z of each round, (rounds, latent): standard normal times e^(-i / 10)."""
        shape = (MOST_ROUNDS, self.network.config.latent)  # so that a round's does not depend on how many there are
        numbers = torch.randn(shape, generator=noise_generator(text.text, seed))[:rounds]
        return (numbers * torch.exp(-torch.arange(rounds) / 10)[:, None]).to(self.device)

    def _read_again(self, texts: Sequence[PreparedText], found: Sequence[Hypothesis]) -> list[PreparedText]:
        """The outputs as texts; where nothing was said, the text before."""
        written = [" ".join(text.split()) for text in self.tokenizer.decode_batch([one.tokens for one in found])]
        room = self.network.config.max_length - 2
        return [
            PreparedText(text, tuple(tokens[:room]), ()) if text else before
            for before, text, tokens in zip(texts, written, self.tokenizer.encode_batch(written), strict=True)
        ]


def in_order(rounds: int, n: int) -> list[int]:
    """The numbers of all rounds: the n that are spread evenly, the last one first; then the others, as a reserve."""
    chosen = [rounds * part // n for part in range(n, 0, -1)] if n <= rounds else list(range(rounds, 0, -1))
    return chosen + [number for number in range(rounds, 0, -1) if number not in chosen]


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> BtmpgEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(BtmpgEngine, directory, device, semantic)
