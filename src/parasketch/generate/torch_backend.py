"""HRQ-VAE on torch, for generation: the network does the work, and NumPy arrays come out.

`TransformerDecoding` serves every network on the shared Transformer, so the token search decodes them all.
"""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from parasketch.errors import UsageError
from parasketch.generate.backend import Tokens
from parasketch.generate.decoding import Bools, Floats, Ints
from parasketch.generate.next_tokens import StepDecoding, StepOutput
from parasketch.model.copying import CopyHead
from parasketch.model.inputs import Sentences
from parasketch.model.outputs import DecodingState, Encoding
from parasketch.model.storage import save_model
from parasketch.model.transformer import Decoder, TokenEmbedding
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

_BLOCK_ELEMENTS = 1 << 23  # 32 MB of fp32 log-probabilities at a time


class TransformerNetwork(Protocol):
    """A network with the shared decoder and an output layer that is tied to its embedding, perhaps with a copy head."""

    @property
    def embedding(self) -> TokenEmbedding: ...
    @property
    def decoder(self) -> Decoder: ...
    @property
    def copying(self) -> CopyHead | None: ...


class TransformerSteps:
    """`Steps` of such a network; `state` is what its `start` gave."""

    def __init__(self, network: TransformerNetwork, state: DecodingState) -> None:
        self._network, self._state = network, state

    @property
    def source_tokens(self) -> Ints:
        return _ints(self._state.source_tokens)

    @property
    def is_pad(self) -> Bools:
        return np.asarray(self._state.cache.blocked[:, 0, 0].cpu().numpy())

    def step(self, last: Ints) -> StepOutput:
        network, state = self._network, self._state
        tokens = torch.from_numpy(last).to(state.source_tokens.device)
        hidden = network.decoder.step(
            network.embedding(tokens, torch.full_like(tokens, state.cache.length)), state.cache
        )
        logits = _floats(hidden @ network.embedding.weight.T)
        if network.copying is None or state.pointer_keys is None:
            return StepOutput(logits)
        blocked = state.cache.blocked.squeeze(1)  # (G, 1, S)
        attention = network.copying.attention(network.copying.query(hidden), state.pointer_keys, blocked)
        return StepOutput(logits, _floats(torch.sigmoid(network.copying.gate(hidden))), _floats(attention))

    def keep_groups(self, groups: Ints) -> None:
        self._state.keep_groups(torch.from_numpy(groups).to(self._state.source_tokens.device))

    def reorder_rows(self, rows: Ints) -> None:
        self._state.reorder_rows(torch.from_numpy(rows).to(self._state.source_tokens.device))


class TransformerDecoding(StepDecoding):
    """A `Decoding` by a network on the shared Transformer."""

    def __init__(self, network: TransformerNetwork, state: DecodingState) -> None:
        super().__init__(TransformerSteps(network, state))


class TorchPredictions:
    """`SketchPredictions` for pooled meanings (B, width).

    The predictor's first layer is linear in [meaning ; path], so its part for the meaning is computed once per input,
    its part for the path is a sum of rows of small tables, and each (input, prefix) costs only the layers after it.
    """

    def __init__(self, model: HRQVAE, pooled: Tensor) -> None:
        self._predictor, self._codebooks, self._pooled = model.predictor, model.quantizer.codebooks, pooled
        self.num_inputs, self.codes = len(pooled), self._codebooks.shape[1]
        self.last_code_only = self._predictor.conditioning == "previous"

    def log_probs(self, owners: Ints, prefixes: Ints) -> Floats:
        level, width, device = prefixes.shape[1], self._pooled.shape[1], self._pooled.device
        mlp = cast(nn.Sequential, self._predictor.mlps[level])
        first, rest = cast(nn.Linear, mlp[0]), mlp[1:]
        meaning = nn.functional.linear(self._pooled, first.weight[:, :width], first.bias)  # (B, hidden)
        hidden = meaning[torch.from_numpy(owners).to(device)]
        paths = torch.from_numpy(prefixes).to(device)
        for above in range(max(0, level - 1) if self.last_code_only else 0, level):
            table = self._codebooks[above] @ first.weight[:, width:].T  # (codes, hidden)
            hidden += table[paths[:, above]]
        return _floats(torch.log_softmax(rest(hidden), dim=-1))


@dataclass(frozen=True)
class TorchEncoded:
    """Sentences, encoded."""

    model: HRQVAE
    encoding: Encoding

    @property
    def lengths(self) -> Ints:
        return self.encoding.sentences.layout.lengths

    @cached_property
    def own_codes(self) -> Ints:
        return _ints(self.model.quantizer.encode(self.encoding.form))

    @cached_property
    def _pooled(self) -> Tensor:
        return self.model.pooled_meaning(self.encoding)

    def predictions(self, rows: Ints) -> TorchPredictions:
        return TorchPredictions(self.model, self._pooled[torch.from_numpy(rows).to(self._pooled.device)])

    def start(self, sources: Ints, form: Floats) -> TransformerSteps:
        device = self.encoding.form.device
        state = self.model.start(self.encoding, torch.from_numpy(sources).to(device), torch.from_numpy(form).to(device))
        return TransformerSteps(self.model, state)


class TorchBackend:
    """A network in memory, where it is."""

    def __init__(self, model: HRQVAE) -> None:
        self.model = model

    @property
    def config(self) -> ModelConfig:
        return self.model.config

    @property
    def device(self) -> str:
        return str(self.model.embedding.weight.device)

    @property
    def codebooks(self) -> Floats:
        return _floats(self.model.quantizer.codebooks.detach())

    def working(self) -> AbstractContextManager[None]:
        return evaluating(self.model)

    def encode(self, sentences: Tokens) -> TorchEncoded:
        laid_out = Sentences.from_lists(sentences).to(torch.device(self.device))
        return TorchEncoded(self.model, self.model.encode(laid_out))

    def log_likelihood(self, sources: Tokens, targets: Tokens, form: Floats) -> Floats:
        """In blocks of like length, which bound the memory that the softmax over the vocabulary takes."""
        device = torch.device(self.device)
        lengths = np.array([len(tokens) for tokens in targets])
        order = np.argsort(lengths, kind="stable")
        size = max(1, _BLOCK_ELEMENTS // (self.config.vocab_size * int(lengths.max(initial=1))))
        result = np.zeros(len(lengths), dtype=np.float32)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            encoding = self.model.encode(Sentences.from_lists([sources[i] for i in block]).to(device))
            wanted = Sentences.from_lists([targets[i] for i in block]).to(device)
            forms = torch.from_numpy(form[block]).to(device)
            places = torch.arange(len(block), device=device)
            result[block] = _floats(self.model.log_likelihood(encoding, places, forms, wanted))
        return result

    def save(self, directory: Path | str, tokenizer: Tokenizer, sections: dict[str, object], *, half: bool) -> None:
        save_model(directory, self.model, tokenizer, sections=sections, half=half)


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """No gradients and no dropout; a model in training goes on training afterwards."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def find_device(name: str | None) -> torch.device:
    """The device of that name; without one a GPU if there is one."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device {name!r} cannot be used: {reason}") from error
    return device


def _floats(tensor: Tensor) -> Floats:
    return np.asarray(tensor.cpu().numpy())


def _ints(tensor: Tensor) -> Ints:
    return np.asarray(tensor.cpu().numpy())
