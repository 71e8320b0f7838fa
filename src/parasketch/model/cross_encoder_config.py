"""The shape of the verifier's network, known without the library that runs it."""

from dataclasses import dataclass

from parasketch.config import MOST_LAYERS, MOST_TOKENS, MOST_WIDTH, at_least, at_most, require

EPSILON = 1e-12
"""Of its layer norms, as BERT has it."""
MATCHES = 5
"""Ways in which a token can be shared with the other sentence: not a word; not at all; alone; with the word before or
after it; with both."""


@dataclass(frozen=True, kw_only=True)
class CrossEncoderConfig:
    """The shape of a cross-encoder; the defaults are those of MiniLM-L6."""

    vocab_size: int = 30_522
    max_length: int = 512
    """Positions, and so tokens of both sentences together with [CLS] and twice [SEP]."""
    width: int = 384
    layers: int = 6
    heads: int = 12
    ff: int = 1_536

    def __post_init__(self) -> None:
        at_least(1, self, "model", "vocab_size max_length width layers heads ff")
        at_most(MOST_LAYERS, self, "model", "layers")
        at_most(MOST_WIDTH, self, "model", "max_length width heads ff")
        at_most(MOST_TOKENS, self, "model", "vocab_size")
        require(self.width % self.heads == 0, "model.width", "a multiple of model.heads")
