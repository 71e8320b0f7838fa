"""Paraphrases whose form you can steer: hierarchical sketch induction (HRQ-VAE), whole and offline.

The names below are the public ones. They are loaded when they are first used, so that importing the package, and the
command line's help, do not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from parasketch.version import __version__

if TYPE_CHECKING:
    from parasketch.generate.paraphraser import Paraphraser
    from parasketch.generate.paraphrases import Paraphrase, Sketch
    from parasketch.model.quantizer import HierarchicalQuantizer

__all__ = ["HierarchicalQuantizer", "Paraphrase", "Paraphraser", "Sketch", "__version__"]

_MODULES = {
    "HierarchicalQuantizer": "parasketch.model.quantizer",
    "Paraphrase": "parasketch.generate.paraphrases",
    "Paraphraser": "parasketch.generate.paraphraser",
    "Sketch": "parasketch.generate.paraphrases",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
