"""Reading a Llama model from a GGUF file: its weights as arrays, and its tokeniser.

Quantised weights are unpacked by the `gguf` library. The rows of queries and keys are stored in an order that suits
rotations of neighbouring pairs; here halves are rotated, so they are put back.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from parasketch.errors import ModelError
from parasketch.model.language_model_shape import LanguageModelShape

Floats = NDArray[np.float32]


class GgufFile:
    """An open GGUF file of a Llama model."""

    def __init__(self, path: Path) -> None:
        from gguf import GGUFReader

        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError) as error:
            raise ModelError(f"{path} is not a readable GGUF file: {error}") from error
        self._path = path
        self._tensors = {str(tensor.name): tensor for tensor in self._reader.tensors}
        if self._field("general.architecture") != "llama":
            raise ModelError(f"{path} holds a model of another architecture (expected llama)")

    def shape(self) -> LanguageModelShape:
        """The sizes of the model."""
        return LanguageModelShape(
            vocabulary=len(self._field("tokenizer.ggml.tokens")),
            width=self._field("llama.embedding_length"),
            layers=self._field("llama.block_count"),
            heads=self._field("llama.attention.head_count"),
            kv_heads=self._field("llama.attention.head_count_kv"),
            ff=self._field("llama.feed_forward_length"),
            rope_base=float(self._field("llama.rope.freq_base")),
            norm_eps=round(float(self._field("llama.attention.layer_norm_rms_epsilon")), 9),
        )

    def tokenizer(self) -> Tokenizer:
        """The byte-level BPE of the file; digits are tokens of their own, as in SmolLM2."""
        tokens, merges = self._field("tokenizer.ggml.tokens"), self._field("tokenizer.ggml.merges")
        pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
        tokenizer = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        return tokenizer

    def weights(self) -> dict[str, Floats]:
        """The weights, under the names that they have in `LanguageModel`."""
        shape = self.shape()
        weights = {"embedding": self._array("token_embd.weight"), "norm.weight": self._array("output_norm.weight")}
        for number in range(shape.layers):
            theirs, ours = f"blk.{number}.", f"blocks.{number}."
            parts = {
                "attention_norm": [self._array(f"{theirs}attn_norm.weight")],
                "qkv": [
                    _half_rotation(self._array(f"{theirs}attn_q.weight"), shape.heads),
                    _half_rotation(self._array(f"{theirs}attn_k.weight"), shape.kv_heads),
                    self._array(f"{theirs}attn_v.weight"),
                ],
                "out": [self._array(f"{theirs}attn_output.weight")],
                "ff_norm": [self._array(f"{theirs}ffn_norm.weight")],
                "gate_up": [self._array(f"{theirs}ffn_gate.weight"), self._array(f"{theirs}ffn_up.weight")],
                "down": [self._array(f"{theirs}ffn_down.weight")],
            }
            weights |= {f"{ours}{name}.weight": np.concatenate(arrays) for name, arrays in parts.items()}
        return weights

    def _array(self, name: str) -> Floats:
        from gguf import dequantize

        if name not in self._tensors:
            raise ModelError(f"{self._path} has no tensor {name}")
        tensor = self._tensors[name]
        array: Floats = dequantize(tensor.data, tensor.tensor_type)
        return array.reshape([int(size) for size in reversed(tensor.shape)])

    def _field(self, name: str) -> Any:
        field = self._reader.get_field(name)
        if field is None:
            raise ModelError(f"{self._path} does not say {name}")
        return field.contents()


def _half_rotation(weight: Floats, heads: int) -> Floats:
    """Rows (heads · d, width) reordered from neighbouring pairs to halves."""
    return weight.reshape(heads, -1, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
