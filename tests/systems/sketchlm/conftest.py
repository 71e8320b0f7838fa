"""A tiny base in the place where the real one would be."""

from pathlib import Path

import pytest
from tiny_language_model import install_tiny_base


@pytest.fixture
def tiny_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache with a tiny base in it."""
    cache = tmp_path / "cache"
    install_tiny_base(cache)
    monkeypatch.setenv("PARASKETCH_CACHE", str(cache))
    return cache
