"""Where the base language model is on this machine: asked at every start, so without importing torch."""

from pathlib import Path

from parasketch.files import cache_directory

WEIGHTS, TOKENIZER, ORIGIN = "base.safetensors", "tokenizer.json", "origin.json"
"""The files of the base."""


def base_directory() -> Path:
    """Where the base is kept, whether it is there or not."""
    return cache_directory() / "smollm2-135m"


def is_installed() -> bool:
    """Whether the base is on this machine."""
    return all((base_directory() / name).is_file() for name in (WEIGHTS, TOKENIZER, ORIGIN))
