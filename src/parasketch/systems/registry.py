"""Which systems exist: the list behind `parasketch systems`, and the way from a name or a directory to a system."""

from pathlib import Path

from parasketch.errors import ModelError, UsageError
from parasketch.systems.base import System, read_manifest
from parasketch.systems.copy import Copy
from parasketch.systems.tfidf import TfIdf
from parasketch.systems.trained import Oracle, OwnSketch, Plain, PlainOracle, Trained

_FITTED_HERE: tuple[type[Copy] | type[TfIdf], ...] = (Copy, TfIdf)
_TRAINED: tuple[type[Trained], ...] = (Trained, Plain, OwnSketch, Oracle, PlainOracle)
SYSTEMS: dict[str, type[System]] = {system.name: system for system in (*_FITTED_HERE, *_TRAINED)}


def new_system(name: str) -> System:
    """A system that has not learnt anything yet."""
    for system in _FITTED_HERE:
        if system.name == name:
            return system()
    if name in SYSTEMS:
        raise UsageError(f"{name} is a trained model: give it with --model")
    known = ", ".join(system.name for system in _FITTED_HERE)
    raise UsageError(f"unknown system {name!r} (expected {known}, or the directory of a saved system)")


def load_system(directory: Path) -> System:
    """The saved system in a directory, whichever it is."""
    name = read_manifest(directory)["system"]
    if name not in SYSTEMS:
        raise ModelError(f"{directory} holds a system {name!r} that is not known here")
    return SYSTEMS[str(name)].load(directory)
