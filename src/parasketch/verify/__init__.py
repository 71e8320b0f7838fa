"""Does B say what A says? A small cross-encoder inside the package, and how it was made."""

from parasketch.verify.verifier import Verifier

__all__ = ["Verifier"]
