"""A tagger that anyone can compute by hand, and a small corpus in which it is known what may happen."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parasketch.config import DataConfig
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.text.tagger import TaggedToken, Tagger

NOUNS = ("dog", "cat", "horse", "snail", "ship", "baker", "mason", "river", "queen", "robot")
VERBS = ("runs", "sleeps", "sings", "waits", "shines")
ADVERBS = ("slowly", "gladly", "rarely")


class RuleTagger:
    """Nouns are NN in an NP, verbs VBZ in a VP, adverbs RB in an ADVP; all else is DT and outside every chunk."""

    name = "rules-1"

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        return [[self._token(match) for match in re.finditer(r"\w+|[^\w\s]", sentence)] for sentence in sentences]

    def _token(self, match: re.Match[str]) -> TaggedToken:
        word = match[0].lower()
        if word in NOUNS:
            pos, chunk = "NN", "NP"
        elif word in VERBS:
            pos, chunk = "VBZ", "VP"
        elif word in ADVERBS:
            pos, chunk = "RB", "ADVP"
        else:
            pos, chunk = "DT", "O"
        return TaggedToken(match[0], match.start(), match.end(), pos, chunk)


@pytest.fixture(scope="session")
def rule_tagger() -> Tagger:
    return RuleTagger()


@pytest.fixture
def write_clusters(tmp_path: Path) -> Callable[[Sequence[Sequence[str]]], Path]:
    """Write clusters into a file of their own."""

    def write(clusters: Sequence[Sequence[str]]) -> Path:
        path = tmp_path / f"clusters-{len(list(tmp_path.iterdir()))}.jsonl"
        path.write_text("".join(json.dumps({"sentences": list(cluster)}) + "\n" for cluster in clusters))
        return path

    return write


def _small_corpus() -> list[list[str]]:
    """Ten clusters of three common forms; one of eight forms of its own; and some that give no triples."""
    common = [
        [f"the {noun} {verb}", f"{verb} the {noun} ?", f"does the {noun} , {adverb} , {verb} ?"]
        for noun, verb, adverb in zip(NOUNS, VERBS * 2, ADVERBS * 4, strict=False)
    ]
    large = [f"{'so ' * count}the dog runs" for count in range(1, 9)]
    same_form = ["this cat sleeps", "this horse waits"]
    return [*common, large, same_form, ["only the queen sings"]]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """The small corpus, prepared with the rule tagger and chunk templates."""
    directory = tmp_path_factory.mktemp("corpus")
    path = directory / "clusters.jsonl"
    path.write_text("".join(json.dumps({"sentences": cluster}) + "\n" for cluster in _small_corpus()))
    return prepare([path], directory / "prepared", DataConfig(vocab_size=400), tagger=RuleTagger())
