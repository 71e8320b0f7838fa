"""Errors for people: what was wrong, where, and what was expected.

Everything here is shown by the command line as one message, without a traceback. Exit codes: 1 for work that
failed (bad data, a damaged model), 2 for a command that was used wrongly.
"""

from pathlib import Path


class ParasketchError(Exception):
    """A problem that the user can understand and mend."""

    exit_code = 1


class DataError(ParasketchError):
    """Bad input data; the message names the file, the line and what was expected there."""

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        expected: str | None = None,
    ) -> None:
        self.problem, self.path, self.line, self.expected = problem, path, line, expected
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        hint = "" if expected is None else f" (expected {expected})"
        super().__init__(f"{where}{problem}{hint}")

    def at(self, path: Path | str, line: int | None = None) -> "DataError":
        """The same problem with its place, for parsers that see a line but not where it stands."""
        return DataError(self.problem, path=path, line=line, expected=self.expected)


class ConfigError(ParasketchError):
    """A configuration with an unknown key or a value that cannot be."""

    exit_code = 2


class ModelError(ParasketchError):
    """A model or run directory that is missing, damaged or of another kind."""


class UsageError(ParasketchError):
    """Arguments that do not make sense together."""

    exit_code = 2
