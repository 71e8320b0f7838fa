"""Validated configuration: nested dataclasses whose attribute docs explain every setting.

Only this module reads configuration files. A preset is a YAML file that may extend another one; an unknown key or
a value of the wrong type is an error that names the key and what was expected.
"""

import contextlib
import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from parasketch.errors import ConfigError

PRESETS = Path(__file__).parent / "configs"
C = TypeVar("C")


MOST_LAYERS, MOST_WIDTH, MOST_TOKENS, MOST_RATE = 64, 65_536, 4_000_000, 100
"""Far more than anybody trains: a setting beyond is a mistake, or a file that means harm."""

DRAWING = ("max_pairs", "template_dropout", "exemplar")
"""The settings of the data that say how examples are drawn from a prepared corpus, not how it is prepared."""


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How raw clusters become training examples."""

    tokenizer: Literal["subword", "bert"] = "subword"
    """`subword`: trained on the corpus, keeps spaces; `bert`: WordPiece from `bert_vocab`, as in the paper."""
    vocab_size: int = 8000
    """Size of the trained subword vocabulary; small is what makes training on CPUs fast."""
    bert_vocab: str | None = None
    """Path of BERT's `vocab.txt`, for `tokenizer: bert`."""
    max_tokens: int = 48
    """Sentences with more subwords are left out (and counted)."""
    templates: Literal["chunk", "pos"] = "chunk"
    """`chunk` templates suit questions, `pos` templates suit captions."""
    tagger: str = "crf"
    """`crf` (shipped), `spacy:MODEL` or `flair`."""
    max_pairs: int = 26
    """At most so many (source, target) pairs of one cluster an epoch."""
    template_dropout: float = 0.3
    """Share of exemplars whose template is that of a random member of the cluster instead of the target's."""
    exemplar: Literal["template", "target"] = "template"
    """Where the form is learnt from: a sentence of the target's template, or, to see what that is worth, the target."""

    def __post_init__(self) -> None:
        require(self.vocab_size >= 300, "data.vocab_size", "at least 300 (256 bytes and the special tokens)")
        require(self.max_tokens >= 2, "data.max_tokens", "at least 2")
        require(self.max_pairs >= 1, "data.max_pairs", "at least 1")
        require(0 <= self.template_dropout <= 1, "data.template_dropout", "between 0 and 1")
        require(
            self.tokenizer != "bert" or self.bert_vocab is not None,
            "data.bert_vocab",
            "a path, for tokenizer: bert",
        )


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The shape that every network with a vocabulary of its own has."""

    vocab_size: int = 0
    """Filled in from the tokenizer."""
    max_length: int = 64
    """Longest sequence in tokens, begin and end included."""
    width: int = 256
    """Width of the token embeddings, and of encoder and decoder."""
    dropout: float = 0.0
    token_dropout: float = 0.2
    """Share of the decoder's input tokens that are masked in training."""
    frozen_embeddings: bool = False
    """Keep the token embeddings (also the output layer) as they were loaded, as the paper does with BERT's."""

    def __post_init__(self) -> None:
        at_least(1, self, "model", "width")
        at_least(2, self, "model", "max_length")
        at_most(MOST_WIDTH, self, "model", "width max_length")
        at_most(MOST_TOKENS, self, "model", "vocab_size")
        shares(self, "model", "dropout token_dropout")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(NetworkConfig):
    """The shape of the Transformer that the systems share; each adds the shape of what is special to it."""

    heads: int = 4
    ff: int = 1024
    """Inner width of the feed-forward layers."""
    encoder_layers: int = 3
    decoder_layers: int = 3
    pre_norm: bool = True
    """Norm before each sublayer (trains faster) or after it (the paper)."""
    causal_encoder: bool = False
    """The reference's encoder sees only tokens to the left."""
    bias: bool = False
    """Biases in the linear layers of encoder and decoder."""
    attention_dropout: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, self, "model", "heads ff encoder_layers decoder_layers")
        at_most(MOST_LAYERS, self, "model", "encoder_layers decoder_layers")
        at_most(MOST_WIDTH, self, "model", "heads ff")
        shares(self, "model", "attention_dropout")
        require(self.width % 2 == 0, "model.width", "an even number")
        require(self.width % self.heads == 0, "model.width", "a multiple of model.heads")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How the training loop works, whatever it trains. Schedules are shares of the run: they stretch with its length.

    The `train` section of a system has these settings and its own.
    """

    seed: int = 1
    steps: int = 20_000
    """Length of the run in optimiser steps, unless `minutes` is given."""
    minutes: float | None = None
    """Length of the run in minutes of training; it replaces `steps`."""
    clock: Literal["wall", "cpu"] = "wall"
    """What a minute is: `wall`, as we wait for it; `cpu`, of one core's work, whatever else runs on the machine."""
    batch_size: int = 192
    """Examples a step on each process."""
    accumulate: int = 1
    """Split each batch into so many parts, for a smaller memory."""
    precision: Literal["32-true", "bf16-mixed", "16-mixed"] = "32-true"
    learning_rate: float = 1.5e-3
    """Peak rate."""
    warmup: float = 0.04
    """Share of the run in which the rate rises."""
    decay: Literal["cosine", "inverse_sqrt"] = "cosine"
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = 1e-9
    clip: float = 1.0
    """Largest norm of the gradient, applied once a step."""
    evaluations: int = 20
    """How often in a run the dev set is looked at."""
    patience: int = 0
    """Stop after so many evaluations without improvement; 0 never stops early."""
    checkpoint_minutes: float = 5.0
    """Save at least so often; besides at every evaluation."""
    keep_checkpoints: int = 2

    def __post_init__(self) -> None:
        at_least(1, self, "train", "steps batch_size accumulate evaluations keep_checkpoints")
        at_least(0, self, "train", "seed learning_rate patience checkpoint_minutes")
        at_most(MOST_RATE, self, "train", "learning_rate")
        shares(self, "train", "warmup")
        above_zero(self, "train", "clip epsilon")
        require(self.batch_size % self.accumulate == 0, "train.batch_size", "a multiple of train.accumulate")
        require(self.warmup > 0 or self.decay == "cosine", "train.warmup", "more than 0, for decay: inverse_sqrt")
        require(self.minutes is None or self.minutes > 0, "train.minutes", "more than 0")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What the configuration of every system has; each adds sections of its own."""

    train: TrainConfig = field(default_factory=TrainConfig)


ConfigType = TypeVar("ConfigType", bound=Config)


def load_config(
    kind: type[ConfigType], system: str, name_or_path: str, overrides: Sequence[str] | None = None
) -> ConfigType:
    """A preset of a system by name, or a YAML file, with `section.key=value` overrides on top."""
    values = _read_yaml(_find(system, name_or_path), system)
    for override in overrides or []:
        key, equals, text = override.partition("=")
        section, _, name = key.partition(".")
        if not equals or not name:
            raise ConfigError(f"--set {override}: expected section.key=value, such as model.width=192")
        part = values.setdefault(section, {})
        if not isinstance(part, dict):
            raise ConfigError(f"{section}: expected a mapping")
        try:
            part[name] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {override}: not a value: {error}") from error
    return from_dict(kind, values)


def preset_names(system: str) -> list[str]:
    """The presets of a system inside the package."""
    return sorted(path.stem for path in (PRESETS / system).glob("*.yaml"))


def load_file(kind: type[C], path: Path) -> C:
    """A YAML file that is no preset of a system, as the dataclass that describes it."""
    values = _read_mapping(path)
    try:
        return from_dict(kind, values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def from_dict(kind: type[C], values: Mapping[str, Any], where: str = "") -> C:
    """Build a config dataclass from plain values; unknown keys and wrong types are errors."""
    hints = typing.get_type_hints(kind)
    unknown = set(values) - set(hints)
    if unknown:
        known = ", ".join(sorted(hints))
        raise ConfigError(f"unknown key {where}{sorted(unknown, key=str)[0]}; known keys: {known}")
    arguments = {key: _convert(value, hints[key], f"{where}{key}") for key, value in values.items()}
    return kind(**arguments)


def to_dict(config: Any) -> dict[str, Any]:
    """Plain values, ready for JSON."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in _flat(config).items()}


def _flat(config: Any) -> dict[str, Any]:
    result = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        result[item.name] = to_dict(value) if dataclasses.is_dataclass(value) else value
    return result


def _find(system: str, name_or_path: str, beside: Path = Path()) -> Path:
    """The file of a preset, or a file in the directory `beside`."""
    for path in (PRESETS / system / f"{name_or_path}.yaml", beside / name_or_path):
        if path.is_file():
            return path
    presets = ", ".join(preset_names(system))
    raise ConfigError(f"{name_or_path}: neither a file nor a preset of {system} (presets: {presets})")


def _read_yaml(path: Path, system: str, children: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The sections of a file on top of those of the file it extends."""
    if path in children:
        raise ConfigError(f"{path}: extends itself")
    values = _read_mapping(path)
    parent = values.pop("extends", None)
    if parent is None:
        return values
    merged = _read_yaml(_find(system, str(parent), path.parent), system, (*children, path))
    for section, part in values.items():
        above = merged.get(section)
        merged[section] = {**above, **part} if isinstance(above, dict) and isinstance(part, dict) else part
    return merged


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: expected a mapping of sections, such as model and train")
    return values


def _convert(value: Any, hint: Any, where: str) -> Any:
    """Check a plain value against a type hint; whole numbers may stand for floats."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, Mapping):
            return from_dict(hint, value, f"{where}.")
    elif origin is Literal:
        if value in options:
            return value
        raise ConfigError(f"{where}: {value!r} (expected one of {', '.join(map(str, options))})")
    elif origin in (typing.Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        return _convert(value, next(option for option in options if option is not type(None)), where)
    elif origin is tuple:
        if isinstance(value, list | tuple) and len(value) == len(options):
            return tuple(_convert(part, option, where) for part, option in zip(value, options, strict=True))
    elif origin is list:
        if isinstance(value, list):
            return [_convert(part, options[0], f"{where}[{place}]") for place, part in enumerate(value)]
    elif origin is dict:
        if isinstance(value, Mapping):
            return {str(key): _convert(part, options[1], f"{where}.{key}") for key, part in value.items()}
    elif hint is float and isinstance(value, int | float | str) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):  # YAML reads 1e-3 as text
            if math.isfinite(number := float(value)):
                return number
    elif isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    name = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{where}: {value!r} (expected {name})")


def at_least(least: int, config: Any, section: str, keys: str) -> None:
    """Require each of these settings to be so much."""
    for key in keys.split():
        require(getattr(config, key) >= least, f"{section}.{key}", f"at least {least}")


def at_most(most: int, config: Any, section: str, keys: str) -> None:
    """Require each of these settings to be no more."""
    for key in keys.split():
        require(getattr(config, key) <= most, f"{section}.{key}", f"at most {most:,}")


def above_zero(config: Any, section: str, keys: str) -> None:
    """Require each of these settings to be positive."""
    for key in keys.split():
        require(getattr(config, key) > 0, f"{section}.{key}", "more than 0")


def shares(config: Any, section: str, keys: str) -> None:
    """Require each of these settings, where given, to be a share."""
    for key in keys.split():
        value = getattr(config, key)
        require(value is None or 0 <= value <= 1, f"{section}.{key}", "between 0 and 1")


def require(condition: bool, key: str, expected: str) -> None:
    """Raise a ConfigError that names the key and what was expected, unless the condition holds."""
    if not condition:
        raise ConfigError(f"{key}: expected {expected}")
