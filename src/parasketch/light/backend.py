"""HRQ-VAE on onnxruntime: the graphs of an exported model behind the protocol that generation knows."""

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from parasketch.errors import ModelError, UsageError
from parasketch.files import write_directory
from parasketch.generate.backend import Tokens
from parasketch.generate.decoding import Bools, Floats, Ints
from parasketch.generate.next_tokens import StepOutput, target_log_probs
from parasketch.light.names import DECODER, ENCODER, GRAPHS, PREDICTOR
from parasketch.light.sessions import Arrays, Session
from parasketch.model.directory import CONFIG, TOKENIZER, WEIGHTS, ModelDirectory
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.text.tokenizer import Tokenizer

_BLOCK_ELEMENTS = 1 << 22  # 16 MB of fp32 logits at a time
_PARTS = ("keys", "values")


class LightBackend:
    """An exported model, on the CPU."""

    device = "cpu"

    def __init__(self, directory: Path, config: ModelConfig, weights: Path) -> None:
        self.config, self._directory = config, directory
        try:
            with safe_open(weights, "np") as file:
                self.codebooks: Floats = file.get_tensor("quantizer.codebooks").astype(np.float32)
        except (OSError, KeyError, ValueError, SafetensorError) as error:
            raise ModelError(f"{weights}: damaged, or not a file of weights: {error}") from error
        self._encoder, self._decoder = Session(directory / ENCODER), Session(directory / DECODER)

    @cached_property
    def predictor(self) -> Session:
        return Session(self._directory / PREDICTOR)

    def working(self) -> AbstractContextManager[None]:
        return nullcontext()

    def encode(self, sentences: Tokens) -> "LightEncoded":
        tokens, is_pad = padded(sentences)
        found = self._encoder.run({"tokens": tokens, "is_pad": is_pad})
        return LightEncoded(self, tokens, is_pad, found)

    def decode(self, inputs: Arrays) -> Arrays:
        """One run of the decoder."""
        return self._decoder.run(inputs)

    def log_likelihood(self, sources: Tokens, targets: Tokens, form: Floats) -> Floats:
        lengths = np.array([len(tokens) for tokens in targets])
        order = np.lexsort((np.array([len(tokens) for tokens in sources]), lengths))
        size = max(1, _BLOCK_ELEMENTS // (self.config.vocab_size * int(lengths.max(initial=1))))
        result = np.zeros(len(lengths), dtype=np.float32)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            encoded = self.encode([sources[place] for place in block])
            result[block] = encoded.log_likelihood([targets[place] for place in block], form[block])
        return result

    def save(self, directory: Path | str, tokenizer: Tokenizer, sections: dict[str, object], *, half: bool) -> None:
        """The files are copied as they are, with the sections given in the place of those there."""
        del tokenizer
        if half:
            raise UsageError("an exported model is saved as it is stored: save it with half=False")
        content = json.loads((self._directory / CONFIG).read_text(encoding="utf-8"))
        with write_directory(directory) as temporary:
            for path in self._directory.iterdir():
                if path.is_file():
                    (temporary / path.name).write_bytes(path.read_bytes())
            text = json.dumps({**content, **sections}, indent=1) + "\n"
            (temporary / CONFIG).write_text(text, encoding="utf-8")


def load_light(stored: ModelDirectory, tokenizer: Tokenizer) -> LightBackend:
    """The exported model of a directory; one that is damaged is a ModelError."""
    config = stored.read_config(ModelConfig)
    if tokenizer.vocab_size != config.vocab_size:
        raise ModelError(
            f"{stored.path}: {TOKENIZER} has {tokenizer.vocab_size} entries and {CONFIG} says {config.vocab_size}: "
            "they do not belong together"
        )
    for name in (WEIGHTS, TOKENIZER, *GRAPHS):
        stored.check_hash(name)
    return LightBackend(stored.path, config, stored.path / WEIGHTS)


@dataclass(frozen=True)
class LightEncoded:
    """Sentences, encoded: tokens (B, S) and what the encoder's graph gave."""

    backend: LightBackend
    tokens: Ints
    is_pad: Bools
    found: Arrays

    @property
    def lengths(self) -> Ints:
        return np.asarray((~self.is_pad).sum(axis=1))

    @cached_property
    def own_codes(self) -> Ints:
        """The nearest codes, level by level, of what the levels above left over."""
        residual, codes = self.found["form"], []
        for codebook in self.backend.codebooks:
            squares = np.square(residual).sum(-1, keepdims=True) + np.square(codebook).sum(-1)
            codes.append((2 * residual @ codebook.T - squares).argmax(axis=-1))
            residual = residual - codebook[codes[-1]]
        return np.stack(codes, axis=1)

    def predictions(self, rows: Ints) -> "LightPredictions":
        return LightPredictions(self.backend, self.found["pooled"][rows])

    def start(self, sources: Ints, form: Floats) -> "LightSteps":
        return LightSteps(self, sources, form)

    def memory(self, sources: Ints) -> Arrays:
        """What the decoder reads of the sources (G,)."""
        blocked = np.where(self.is_pad[sources], np.float32(-np.inf), np.float32(0))[:, None, None]
        names = [name for name in self.found if name.startswith("memory_") or name == "pointer_keys"]
        return {"memory_mask": blocked} | {name: self.found[name][sources] for name in names}

    def log_likelihood(self, targets: Tokens, form: Floats) -> Floats:
        """log p of target i for sentence i: (B,)."""
        tokens, is_pad = padded(targets)
        count, length = tokens.shape[0], tokens.shape[1] - 1
        later = np.triu(np.ones((length, length), dtype=np.bool_), 1)
        found = self.backend.decode(
            {
                "tokens": np.ascontiguousarray(tokens[:, :-1]),
                "places": np.arange(length),
                "own_mask": np.where(later, np.float32(-np.inf), np.float32(0)),
                "form": form,
            }
            | self.memory(np.arange(count))
            | empty_cache(self.backend.config, count)
        )
        logits, gate = found["logits"].reshape(count, length, -1), found.get("gate")
        output = StepOutput(logits, None if gate is None else gate.reshape(count, length, 1), found.get("attention"))
        scores = target_log_probs(output, self.tokens, tokens[:, 1:])
        return np.asarray(np.where(is_pad[:, 1:], 0, scores).sum(axis=1), dtype=np.float32)


class LightPredictions:
    """`SketchPredictions` for pooled meanings (B, width)."""

    def __init__(self, backend: LightBackend, pooled: Floats) -> None:
        self._session, self._codebooks, self._pooled = backend.predictor, backend.codebooks, pooled
        self.num_inputs, self.codes = len(pooled), backend.config.codes
        self.last_code_only = backend.config.predictor_conditioning == "previous"

    def log_probs(self, owners: Ints, prefixes: Ints) -> Floats:
        level = prefixes.shape[1]
        path = np.zeros((len(owners), self._codebooks.shape[2]), dtype=np.float32)
        for above in range(max(0, level - 1) if self.last_code_only else 0, level):
            path += self._codebooks[above][prefixes[:, above]]
        inputs = {"pooled": self._pooled[owners], "path": path, "level": np.array(level)}
        found: Floats = self._session.run(inputs)["log_probs"]
        return found


class LightSteps:
    """`Steps` of G groups; the cache is that of G * W rows."""

    def __init__(self, encoded: LightEncoded, sources: Ints, form: Floats) -> None:
        self._backend, self._form, self._length = encoded.backend, form, 0
        self._memory = encoded.memory(sources)
        self._cache = empty_cache(self._backend.config, len(sources))
        self.source_tokens, self.is_pad = encoded.tokens[sources], encoded.is_pad[sources]

    def step(self, last: Ints) -> StepOutput:
        groups, width = last.shape
        found = self._backend.decode(
            {
                "tokens": np.ascontiguousarray(last).reshape(-1, 1),
                "places": np.array([self._length]),
                "own_mask": np.zeros((1, self._length + 1), dtype=np.float32),
                "form": self._form,
            }
            | self._memory
            | self._cache
        )
        self._length += 1
        self._cache = {f"past_{name}": found[name] for name in found if name.startswith(_PARTS)}
        gate = found["gate"].reshape(groups, width, 1) if "gate" in found else None
        return StepOutput(found["logits"].reshape(groups, width, -1), gate, found.get("attention"))

    def keep_groups(self, groups: Ints) -> None:
        rows = len(next(iter(self._cache.values()))) // len(self._form)
        places = (groups[:, None] * rows + np.arange(rows)).reshape(-1)
        self._cache = {name: part[places] for name, part in self._cache.items()}
        self._memory = {name: part[groups] for name, part in self._memory.items()}
        self._form = self._form[groups]
        self.source_tokens, self.is_pad = self.source_tokens[groups], self.is_pad[groups]

    def reorder_rows(self, rows: Ints) -> None:
        width = len(next(iter(self._cache.values()))) // len(rows)
        places = (np.arange(len(rows))[:, None] * width + rows).reshape(-1)
        if len(places) != len(rows) * width or (places != np.arange(len(places))).any():
            self._cache = {name: part[places] for name, part in self._cache.items()}


def padded(sentences: Sequence[Sequence[int]]) -> tuple[Ints, Bools]:
    """Sentences as (B, T), filled up with 0, and where that is."""
    lengths = np.array([len(tokens) for tokens in sentences])
    is_pad = np.arange(lengths.max()) >= lengths[:, None]
    tokens = np.zeros(is_pad.shape, dtype=np.int64)
    tokens[~is_pad] = np.fromiter((token for each in sentences for token in each), np.int64, int(lengths.sum()))
    return tokens, is_pad


def empty_cache(config: ModelConfig, rows: int) -> Arrays:
    """The cache of rows that have said nothing."""
    nothing = np.empty((rows, config.heads, 0, config.width // config.heads), dtype=np.float32)
    return {f"past_{part}_{layer}": nothing for layer in range(config.decoder_layers) for part in _PARTS}
