"""The token search over recurrent networks: what they remember of a row is a state of fixed size, not a cache."""

from typing import Protocol

from torch import Tensor

from parasketch.generate.decoding import NextTokens, Rules, best_of
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

    def best(self, last: Tensor, *, count: int, rules: Rules, wanted: Tensor | None = None) -> NextTokens:
        return best_of(self._network.step(last, self._state), count=count, rules=rules, wanted=wanted)

    def log_probs(self, last: Tensor) -> Tensor:
        return self._network.step(last, self._state)

    def keep_groups(self, groups: Tensor) -> None:
        self._state.keep_groups(groups)

    def reorder_rows(self, rows: Tensor) -> None:
        self._state.reorder_rows(rows)
