"""The sizes of a pretrained language model, known without the library that trains it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LanguageModelShape:
    """The sizes of a Llama model; the defaults are those of SmolLM2-135M."""

    vocabulary: int = 49_152
    width: int = 576
    layers: int = 30
    heads: int = 9
    kv_heads: int = 3
    ff: int = 1536
    rope_base: float = 100_000.0
    norm_eps: float = 1e-5

    @property
    def head_width(self) -> int:
        """Dimensions of one attention head."""
        return self.width // self.heads
