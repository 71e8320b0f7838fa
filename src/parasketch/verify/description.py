"""What a verifier's directory says of itself, read without the library that runs it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parasketch.config import from_dict
from parasketch.errors import ConfigError, ModelError
from parasketch.model.cross_encoder_config import CrossEncoderConfig
from parasketch.model.directory import CONFIG, FORMAT, TOKENIZER, WEIGHTS
from parasketch.verify.inputs import PairTokenizer

KIND = "verifier"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """How logits become probabilities, and from which probability on a pair is accepted; both fitted on dev pairs."""

    temperature: float = 1.0
    threshold: float = 0.5
    both_directions: bool = False
    """Whether (A, B) and (B, A) are averaged, which takes twice the time."""


@dataclass(frozen=True)
class VerifierDescription:
    """All of a verifier but its weights."""

    path: Path
    config: CrossEncoderConfig
    tokenizer: PairTokenizer
    decision: Decision


def describe_verifier(directory: Path | str) -> VerifierDescription:
    """Look into a verifier's directory; one that is missing, damaged or of another kind is a ModelError."""
    path = Path(directory)
    missing = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (path / name).is_file()]
    if missing:
        raise ModelError(f"{path}: not the directory of a verifier: {', '.join(missing)} missing")
    content = _read_config(path / CONFIG)
    try:
        config = from_dict(CrossEncoderConfig, content.get("model", {}), "model.")
        decision = from_dict(Decision, content.get("decision", {}), "decision.")
    except ConfigError as error:
        raise ModelError(f"{path / CONFIG}: {error}") from error
    tokenizer = PairTokenizer(path / TOKENIZER, max_length=config.max_length)
    if tokenizer.vocab_size != config.vocab_size:
        raise ModelError(
            f"{path}: {TOKENIZER} has {tokenizer.vocab_size} entries and {CONFIG} says {config.vocab_size}: "
            "they do not belong together"
        )
    return VerifierDescription(path, config, tokenizer, decision)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ModelError(f"{path}: not the configuration of a verifier (expected kind {KIND!r})")
    if content.get("format") != FORMAT:
        raise ModelError(f"{path}: written by another version (expected format {FORMAT})")
    return content
