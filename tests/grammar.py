"""A language in which meaning and form are known: who does what to whom, in 6 coarse forms with 3 details each.

`read` is the inverse of `say`, so that tests can tell what a generated sentence means, in which form, or that it is
none. `GrammarTagger` finds the content words, which makes the templates of the corpus exactly the 18 forms.
"""

import itertools
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parasketch.config import DataConfig
from parasketch.counter_rng import hash_text
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.systems.sowreap.parses import Parse, Word
from parasketch.systems.sowreap.reading import Reading
from parasketch.text.tagger import TaggedToken

WHO = ("anna", "ben", "carla", "david", "emma", "frank", "greta", "hugo")
DOES = ("sees", "hears", "likes", "fears", "helps", "calls")
WHOM = ("dogs", "cats", "bears", "birds", "kings", "twins", "ghosts", "clerks")
COARSE = (
    "{who} {does} the {whom}",
    "is it true that {who} {does} the {whom} ?",
    "the {whom} are what {who} {does}",
    "it is the {whom} who get what {who} {does} , or not",
    "of all of them , {who} {does} the {whom} most",
    "when {who} {does} , then the {whom} do too",
)
DETAILS = ("{}", "now {}", "{} , again")


@dataclass(frozen=True)
class Meaning:
    who: str
    does: str
    whom: str


@dataclass(frozen=True)
class Form:
    coarse: int
    detail: int


MEANINGS = [Meaning(*words) for words in itertools.product(WHO, DOES, WHOM)]
FORMS = [Form(coarse, detail) for coarse in range(len(COARSE)) for detail in range(len(DETAILS))]


def say(meaning: Meaning, form: Form) -> str:
    frame = DETAILS[form.detail].format(COARSE[form.coarse])
    return frame.format(who=meaning.who, does=meaning.does, whom=meaning.whom)


_SENTENCES = {say(meaning, form): (meaning, form) for meaning in MEANINGS for form in FORMS}


def read(sentence: str) -> tuple[Meaning, Form] | None:
    """What a sentence means and in which form, or None if it is no sentence of the language."""
    return _SENTENCES.get(" ".join(sentence.lower().replace(",", " ,").replace("?", " ?").split()))


class GrammarTagger:
    """Names and things are NPs, verbs are VPs; all other words belong to the form."""

    name = "grammar-1"

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        return [[self._token(match) for match in re.finditer(r"\w+|[^\w\s]", sentence)] for sentence in sentences]

    def _token(self, match: re.Match[str]) -> TaggedToken:
        word = match[0].lower()
        pos, chunk = ("NN", "NP") if word in WHO + WHOM else ("VB", "VP") if word in DOES else ("RB", "O")
        return TaggedToken(match[0], match.start(), match.end(), pos, chunk)


# For each coarse form the word that every word depends on.
HEADS = (
    (1, 1, 3, 1),
    (0, 0, 0, 5, 5, 0, 7, 5, 0),
    (1, 2, 2, 5, 5, 2),
    (1, 1, 3, 1, 5, 3, 8, 8, 5, 1, 1, 1),
    (6, 0, 1, 2, 6, 6, 6, 8, 6, 6),
    (2, 2, 7, 7, 7, 6, 7, 7, 7),
)


class GrammarParser:
    """Parses the language by its frames; any other text is flat."""

    name = "grammar-1"

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return [self._parse(text) for text in texts]

    def _parse(self, text: str) -> Parse:
        words = list(re.finditer(r"\w+|[^\w\s]", text))
        heads = self._heads(text, len(words))
        tags = [token.pos for token in GrammarTagger().tag([text])[0]]
        return Parse(
            tuple(
                Word(word[0], word.start(), word.end(), tag, head, "root" if head == number else f"in-{tag}")
                for number, (word, tag, head) in enumerate(zip(words, tags, heads, strict=True))
            )
        )

    def _heads(self, text: str, count: int) -> list[int]:
        known = read(text)
        if known is None:
            return [0] * count
        before, after = ((0, 0), (1, 0), (0, 2))[known[1].detail]
        heads = [before + head for head in HEADS[known[1].coarse]]
        root = next(head for place, head in enumerate(heads, before) if place == head)
        return [root] * before + heads + [root] * after


class GrammarVectors:
    """A word is like itself and nothing else."""

    name = "grammar-1"

    def of(self, readings: Sequence[Reading]) -> list[tuple[np.ndarray, Sequence[int]]]:
        return [
            (np.stack([self._vector(word.text) for word in reading.parse.words]), range(len(reading.parse)))
            for reading in readings
        ]

    def _vector(self, word: str) -> np.ndarray:
        numbers = np.random.default_rng(hash_text(word.lower())).standard_normal(64)
        return (numbers / np.linalg.norm(numbers)).astype(np.float32)


def use_grammar_parser() -> None:
    """Let SOW/REAP parse and align this language without any library."""
    from parasketch.systems.sowreap import engine, task

    task.load_parser = engine.load_parser = lambda _: GrammarParser()
    task.load_vectors = GrammarVectors


@dataclass(frozen=True)
class Language:
    """Which forms of each meaning a corpus has; the others are held out."""

    seen: dict[Meaning, list[Form]]

    @classmethod
    def sample(cls, *, meanings: int, forms: int, seed: int = 0) -> "Language":
        rng = random.Random(seed)
        return cls({meaning: rng.sample(FORMS, forms) for meaning in rng.sample(MEANINGS, meanings)})

    def clusters(self) -> list[list[str]]:
        return [[say(meaning, form) for form in forms] for meaning, forms in self.seen.items()]


def write_clusters(path: Path, clusters: Iterable[Sequence[str]]) -> Path:
    path.write_text("".join(json.dumps({"sentences": list(cluster)}) + "\n" for cluster in clusters))
    return path


def prepare_language(directory: Path, language: Language, *, vocab_size: int = 500) -> Prepared:
    clusters = write_clusters(directory / "clusters.jsonl", language.clusters())
    config = DataConfig(vocab_size=vocab_size)
    return prepare([clusters], directory / "prepared", config, workers=1, tagger=GrammarTagger())
