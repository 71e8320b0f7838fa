"""What becomes of a row's text: its paraphrases, or the reason why it has none; and the count of all that.

One machine, a worker on another one and people's own pipelines all ask here, so that the same texts come out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from parasketch.generate.paraphrases import Paraphrase
from parasketch.generate.requests import problem_with

NOT_ACCEPTED = "no acceptable paraphrase was found"


class ParaphraseTexts(Protocol):
    """Anything that paraphrases a list of texts."""

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]: ...


@dataclass(frozen=True)
class Answer:
    """What became of one row."""

    paraphrases: Sequence[Paraphrase] = ()
    problem: str | None = None
    """Why there are none."""


@dataclass
class BulkReport:
    """What happened to the rows of a file."""

    done: int = 0
    """Rows written this time."""
    skipped: int = 0
    """Rows that were there already."""
    problems: int = 0
    """Rows written this time without a paraphrase, because they have no text."""
    refused: int = 0
    """Rows written this time without a paraphrase, because none was acceptable (`strict`)."""
    paraphrases: int = 0
    """Paraphrases written this time,"""
    not_accepted: int = 0
    """those of them that are not accepted,"""
    with_losses: int = 0
    """that lost something,"""
    with_warnings: int = 0
    """and that have a warning."""

    def add(self, answers: Sequence[Answer]) -> None:
        """Count rows that have been written."""
        self.done += len(answers)
        for answer in answers:
            self.refused += answer.problem == NOT_ACCEPTED
            self.problems += answer.problem not in (None, NOT_ACCEPTED)
            self.paraphrases += len(answer.paraphrases)
            self.not_accepted += sum(not paraphrase.accepted for paraphrase in answer.paraphrases)
            self.with_losses += sum(bool(paraphrase.lost) for paraphrase in answer.paraphrases)
            self.with_warnings += sum(bool(paraphrase.warnings) for paraphrase in answer.paraphrases)


def answer(paraphrase: ParaphraseTexts, texts: Sequence[object], *, strict: bool = False) -> list[Answer]:
    """An answer for each of the texts, which may be anything; with `strict` only accepted paraphrases."""
    problems = ["has no text" if text is None else problem_with(text) for text in texts]
    good = [text for text, problem in zip(texts, problems, strict=True) if problem is None and isinstance(text, str)]
    found = iter(paraphrase(good) if good else [])
    answers = []
    for problem in problems:
        paraphrases = next(found) if problem is None else []
        if strict and problem is None:
            paraphrases = [one for one in paraphrases if one.accepted]
            problem = None if paraphrases else NOT_ACCEPTED
        answers.append(Answer(tuple(paraphrases), problem))
    return answers
