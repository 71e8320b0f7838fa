"""A study as one SQLite file: what is to be compared, who was invited, and every judgement.

The file is in WAL mode with full synchronisation, and the three answers to a pair are one transaction: what a rater's
page has confirmed is on the disk, whatever happens to the server. Nothing about raters is stored but a random token.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parasketch.errors import DataError, UsageError

FORMAT = "1"
QUESTIONS = ("fluency", "meaning", "difference")
"""Which is more fluent; which keeps the meaning, adding and dropping nothing; which differs more in wording."""
LEFT, RIGHT = "left", "right"

_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE comparisons (
    id INTEGER PRIMARY KEY, item INTEGER NOT NULL, source TEXT NOT NULL, is_check INTEGER NOT NULL,
    first TEXT NOT NULL, second TEXT NOT NULL, first_text TEXT NOT NULL, second_text TEXT NOT NULL) STRICT;
CREATE TABLE raters (token TEXT PRIMARY KEY, number INTEGER NOT NULL UNIQUE) STRICT;
CREATE TABLE assignments (
    id INTEGER PRIMARY KEY, rater TEXT NOT NULL REFERENCES raters, position INTEGER NOT NULL,
    comparison INTEGER NOT NULL REFERENCES comparisons, flipped INTEGER NOT NULL,
    UNIQUE (rater, position), UNIQUE (rater, comparison)) STRICT;
CREATE TABLE judgements (
    assignment INTEGER NOT NULL REFERENCES assignments, question TEXT NOT NULL, chosen TEXT NOT NULL,
    seconds REAL NOT NULL, PRIMARY KEY (assignment, question)) STRICT;
"""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two outputs for one source. In a check, `first` is the one that any attentive reader prefers."""

    item: int
    source: str
    first: str
    second: str
    """Names of systems."""
    first_text: str
    second_text: str
    is_check: bool = False


@dataclass(frozen=True)
class Assigned:
    """A comparison (its place in the design) for a rater; flipped if the second output stands on the left."""

    comparison: int
    flipped: bool


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a rater sees next, and how far they are; no pair when they have finished."""

    done: int
    total: int
    assignment: int | None = None
    source: str = ""
    left: str = ""
    right: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One answer to one question."""

    rater: int
    item: int
    first: str
    second: str
    is_check: bool
    question: str
    chosen: str
    """The name of the system,"""
    side: str
    """and where its output stood."""
    seconds: float


class Study:
    """An existing study."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise DataError("there is no such study", path=path, expected="a file of `parasketch judge create`")
        try:
            with self._open() as database:
                found = dict(database.execute("SELECT name, value FROM about"))
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"is no study: {error}", path=path, expected="a file of `parasketch judge create`"
            ) from error
        if found.get("format") != FORMAT:
            raise DataError(f"is a study of format {found.get('format')}", path=path, expected=f"format {FORMAT}")
        self.systems = tuple(found["systems"].split("\n"))

    @classmethod
    def create(
        cls,
        path: Path,
        systems: Sequence[str],
        comparisons: Sequence[Comparison],
        plan: Mapping[str, Sequence[Assigned]],
    ) -> "Study":
        """Write a study with its raters' tokens and what each of them is to compare; never over an existing file."""
        if path.exists():
            raise UsageError(f"{path} exists: judgements are never overwritten")
        partial = path.with_name(f".{path.name}.partial")
        partial.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(partial)) as database, database:
            database.executescript(_SCHEMA)
            about = {"format": FORMAT, "systems": "\n".join(systems)}
            database.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            database.executemany(
                "INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (n, c.item, c.source, c.is_check, c.first, c.second, c.first_text, c.second_text)
                    for n, c in enumerate(comparisons)
                ],
            )
            for number, (token, assigned) in enumerate(plan.items(), 1):
                database.execute("INSERT INTO raters VALUES (?, ?)", (token, number))
                database.executemany(
                    "INSERT INTO assignments (rater, position, comparison, flipped) VALUES (?, ?, ?, ?)",
                    [(token, place, each.comparison, each.flipped) for place, each in enumerate(assigned)],
                )
        partial.rename(path)
        return cls(path)

    def tokens(self) -> list[str]:
        """Of all raters, in their order."""
        with self._open() as database:
            return [token for (token,) in database.execute("SELECT token FROM raters ORDER BY number")]

    def page(self, token: str) -> Page | None:
        """What a rater sees next; None for a token that nobody was given."""
        with self._open() as database:
            if not database.execute("SELECT 1 FROM raters WHERE token = ?", (token,)).fetchone():
                return None
            total, done = database.execute(
                "SELECT COUNT(*), COUNT(j.assignment) FROM assignments a "
                "LEFT JOIN judgements j ON j.assignment = a.id AND j.question = ? WHERE rater = ?",
                (QUESTIONS[0], token),
            ).fetchone()
            row = database.execute(
                "SELECT a.id, source, first_text, second_text, flipped FROM assignments a "
                "JOIN comparisons c ON c.id = a.comparison WHERE rater = ? "
                "AND NOT EXISTS (SELECT 1 FROM judgements WHERE assignment = a.id) ORDER BY position LIMIT 1",
                (token,),
            ).fetchone()
        if row is None:
            return Page(done=done, total=total)
        assignment, source, first, second, flipped = row
        left, right = (second, first) if flipped else (first, second)
        return Page(done=done, total=total, assignment=assignment, source=source, left=left, right=right)

    def judge(self, token: str, assignment: int, answers: Mapping[str, str], seconds: float) -> bool:
        """Store a rater's three answers, `left` or `right` each; durable on return. False if it is not theirs.

        An answer that is there already stays: a page that did not hear the confirmation may send again.
        """
        if set(answers) != set(QUESTIONS) or not set(answers.values()) <= {LEFT, RIGHT}:
            raise UsageError(f"answers are left or right to each of {', '.join(QUESTIONS)}")
        with self._open() as database, database:
            own = database.execute(
                "SELECT flipped FROM assignments WHERE id = ? AND rater = ?", (assignment, token)
            ).fetchone()
            if own is None:
                return False
            first = RIGHT if own[0] else LEFT
            rows = [
                (assignment, question, "first" if side == first else "second", seconds)
                for question, side in answers.items()
            ]
            database.executemany("INSERT INTO judgements VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)
        return True

    def judgements(self) -> list[Judgement]:
        """All of them, in the order of raters and their pages."""
        with self._open() as database:
            rows = database.execute(
                "SELECT number, item, first, second, is_check, question, chosen, flipped, seconds FROM judgements j "
                "JOIN assignments a ON a.id = j.assignment JOIN comparisons c ON c.id = a.comparison "
                "JOIN raters r ON r.token = a.rater ORDER BY number, position, j.rowid"
            ).fetchall()
        return [
            Judgement(
                rater=rater, item=item, first=first, second=second, is_check=bool(check), question=question,
                chosen=first if chosen == "first" else second,
                side=LEFT if (chosen == "first") != bool(flipped) else RIGHT, seconds=seconds,
            )
            for rater, item, first, second, check, question, chosen, flipped, seconds in rows
        ]  # fmt: skip

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.path, timeout=10)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA foreign_keys = ON")
            yield database
