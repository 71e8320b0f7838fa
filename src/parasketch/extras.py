"""Libraries that only a part of the package needs, and what to say where they are missing.

Generation needs none of them: who only paraphrases does not install what training and evaluation are made of.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from parasketch.errors import UsageError

Extra = Literal["train", "eval", "serve", "parquet", "ray", "torch", "light"]


@contextmanager
def needs(extra: Extra, what: str) -> Iterator[None]:
    """Around imports: a library that is missing is an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library == "parasketch":  # a mistake of ours
            raise
        raise UsageError(f"{what} needs {library}, which is missing: pip install 'parasketch[{extra}]'") from error
