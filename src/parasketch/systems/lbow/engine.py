"""Paraphrases by LBoW: the best of the beam, or one for each of several bags that are drawn. The bag can be shown."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from parasketch.generate.engine import Ability
from parasketch.generate.paraphrases import BagWord, Paraphrase
from parasketch.generate.recurrent import RecurrentDecoding
from parasketch.generate.requests import Options, PreparedText, Request
from parasketch.model.inputs import Sentences
from parasketch.systems.lbow.network import Encoded, LBoW
from parasketch.systems.plain_engine import Found, PlainEngine, load_as, noise_generator
from parasketch.text.sentence_encoder import SentenceModel


class LbowEngine(PlainEngine):
    abilities: frozenset[Ability] = frozenset({"temperature", "bow"})
    network: LBoW

    def sentences(self, texts: Sequence[PreparedText]) -> Sentences:
        """Texts as the network reads them: without a begin token."""
        return Sentences.from_lists([[*text.tokens, self.tokenizer.eos_id] for text in texts]).to(self.device)

    def find(self, requests: Sequence[Request], options: Options) -> list[list[Found]]:
        bags = options.n if self._draws else 1
        groups = [(request, number) for request in requests for number in range(bags)]
        decoding = RecurrentDecoding(self.network, self.network.start(self._encode(groups, options)))
        width = max(self.config.beam, options.n + 1 if options.n > 1 and bags == 1 else 1)
        found = self.search(decoding, groups, options, width=width)
        results = []
        for start in range(0, len(groups), bags):
            best = [(rank, one) for each in found[start : start + bags] for rank, one in enumerate(each)]
            results.append([Found(one) for _, one in sorted(best, key=lambda pair: pair[0])])
        return results

    def paraphrase(self, requests: Sequence[Request], options: Options) -> list[list[Paraphrase]]:
        """n paraphrases of each text, with the text's bag if it is asked for."""
        results = super().paraphrase(requests, options)
        if not options.bow:
            return results
        bags = self.bags([request.text for request in requests])
        return [[replace(one, bow=bag) for one in each] for each, bag in zip(results, bags, strict=True)]

    @torch.inference_mode()
    def bags(self, texts: Sequence[PreparedText]) -> list[tuple[BagWord, ...]]:
        """The bag of each text, by the largest weights: words, or pieces of words, with their expected counts."""
        bag = self.network.encode(self.sentences(texts)).bag
        continuing = set(self.tokenizer.continuing_ids())
        found = []
        for words, weights in zip(bag.words.tolist(), bag.weights.tolist(), strict=True):
            written = self.tokenizer.decode_batch([[word] for word in words])
            marked = [f"-{text}" if word in continuing else text for word, text in zip(words, written, strict=True)]
            found.append(tuple(BagWord(text.strip(), weight) for text, weight in zip(marked, weights, strict=True)))
        return found

    @property
    def _draws(self) -> bool:
        """Whether several bags can be drawn."""
        return self.network.config.choice == "gumbel" and self.network.config.slots > 0

    def _encode(self, groups: Sequence[tuple[Request, int]], options: Options) -> Encoded:
        sentences = self.sentences([request.text for request, _ in groups])
        if not self._draws:
            return self.network.encode(sentences)
        seeds = [(request.text.text, options.seed * 1009 + number) for request, number in groups]
        return self.network.encode(sentences, generators=[noise_generator(text, seed) for text, seed in seeds])


def load_engine(directory: Path, device: str | None, semantic: SentenceModel | None) -> LbowEngine:
    """The model of a directory with the settings stored beside it."""
    return load_as(LbowEngine, directory, device, semantic)
