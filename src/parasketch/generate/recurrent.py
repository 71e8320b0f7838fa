"""The token search over recurrent networks: what they remember of a row is a state of fixed size, not a cache."""

from typing import Protocol

import torch
from torch import Tensor

from parasketch.generate.decoding import Floats, Ints, NextTokens, Rules, best_of
from parasketch.model.outputs import RecurrentState


class RecurrentNetwork(Protocol):
    """A network that reads one token after the other."""

    def step(self, tokens: Tensor, state: RecurrentState) -> Tensor:
        """Log-probabilities of the next token given the last ones, (G, W) -> (G, W, vocab_size); the state moves on."""
        ...


class RecurrentDecoding:
    """A `Decoding` by such a network; `state` is what its `start` gave."""

    def __init__(self, network: RecurrentNetwork, state: RecurrentState) -> None:
        self._network, self._state = network, state

    def best(self, last: Ints, *, count: int, rules: Rules, wanted: Ints | None = None) -> NextTokens:
        return best_of(self.log_probs(last), count=count, rules=rules, wanted=wanted)

    def log_probs(self, last: Ints) -> Floats:
        found: Floats = self._network.step(self._tensor(last), self._state).detach().cpu().numpy()
        return found

    def keep_groups(self, groups: Ints) -> None:
        self._state.keep_groups(self._tensor(groups))

    def reorder_rows(self, rows: Ints) -> None:
        self._state.reorder_rows(self._tensor(rows))

    def _tensor(self, array: Ints) -> Tensor:
        return torch.from_numpy(array).to(self._state.rows[0].device)
