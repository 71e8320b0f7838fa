"""Sentences as an HRQ-VAE sees their form: vectors before quantisation, and the codes they are given."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.data.corpora import read_clusters
from parasketch.errors import UsageError
from parasketch.generate.pretrained import find_model
from parasketch.model.inputs import Sentences
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.kinds import load_model
from parasketch.text.tokenizer import Tokenizer

_BATCH = 256


@dataclass(frozen=True)
class Forms:
    """The forms of n sentences."""

    sentences: list[str]
    vectors: NDArray[np.float32]
    """(n, form_width), before quantisation."""
    codes: NDArray[np.int64]
    """(n, D)."""
    codebooks: NDArray[np.float32]
    """(D, K, form_width)."""

    @property
    def levels(self) -> int:
        """D."""
        return int(self.codes.shape[1])

    @property
    def codes_a_level(self) -> int:
        """K."""
        return int(self.codebooks.shape[1])

    def distances(self, level: int) -> NDArray[np.float32]:
        """How far what enters a level is from the code that it gets there, (n,)."""
        left = self.vectors.copy()
        for above in range(level + 1):
            left -= self.codebooks[above][self.codes[:, above]]
        return np.asarray(np.sqrt(np.square(left).sum(axis=1)), dtype=np.float32)


def load_hrqvae(name: str) -> tuple[HRQVAE, Tokenizer]:
    """A model by name or path that has a form and codes for it."""
    loaded = load_model(find_model(name))
    if not isinstance(loaded.model, HRQVAE):
        raise UsageError(f"{name} is a model of the kind {loaded.kind}: the codes of hrqvae alone can be analysed")
    return loaded.model, loaded.tokenizer


@torch.inference_mode()
def forms_of(model: HRQVAE, tokenizer: Tokenizer, sentences: Sequence[str]) -> Forms:
    """Encode sentences; those that are too long for the model are cut."""
    room = model.config.max_length - 2
    tokens = [[tokenizer.bos_id, *ids[:room], tokenizer.eos_id] for ids in tokenizer.encode_batch(list(sentences))]
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))  # like lengths go well together
    vectors = np.zeros((len(tokens), model.config.form_width), dtype=np.float32)
    codes = np.zeros((len(tokens), model.config.levels), dtype=np.int64)
    for start in range(0, len(order), _BATCH):
        places = order[start : start + _BATCH]
        form = model.encode(Sentences.from_lists([tokens[place] for place in places])).form
        vectors[places], codes[places] = form.numpy(), model.quantizer.encode(form).numpy()
    return Forms(list(sentences), vectors, codes, model.quantizer.codebooks.numpy())


def read_sentences(files: Iterable[Path], limit: int, *, seed: int = 0) -> list[str]:
    """Different sentences of files of clusters, `limit` of them at random."""
    found = dict.fromkeys(text for file in files for cluster in read_clusters(file) for text in cluster.sentences)
    sentences = list(found)
    if not sentences:
        raise UsageError("there are no sentences to analyse")
    chosen = np.random.default_rng(seed).permutation(len(sentences))
    return [sentences[place] for place in islice(chosen, limit)]
