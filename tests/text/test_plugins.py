"""The plug-in taggers, run on small stand-ins for the libraries that keep their interfaces."""

import pickle
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType, SimpleNamespace

import pytest

from parasketch.errors import UsageError
from parasketch.text.tagger import load_tagger
from parasketch.text.templates import build_template, template_text


class FakeDocument:
    """A spaCy document: tokens of `text/pos_/tag_` with their offsets, and noun chunks as ranges of tokens."""

    def __init__(self, parts: str, chunks: Sequence[range] | Exception) -> None:
        self.tokens, self._chunks = [], chunks
        idx = 0
        for i, part in enumerate(parts.split(" ")):
            text, pos, tag = (part.replace("_", " ")).rsplit("/", 2)
            self.tokens.append(SimpleNamespace(text=text, i=i, idx=idx, pos_=pos, tag_=tag, is_space=text.isspace()))
            idx += len(text) + 1

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return iter(self.tokens)

    @property
    def noun_chunks(self) -> Iterator[list[SimpleNamespace]]:
        if isinstance(self._chunks, Exception):
            raise self._chunks
        for chunk in self._chunks:
            yield [self.tokens[i] for i in chunk]


DOCUMENTS = {
    "moose": FakeDocument(
        "The/DET/DT big/ADJ/JJ moose/NOUN/NN is/AUX/VBZ n't/PART/RB running/VERB/VBG _/SPACE/_SP "
        "in/ADP/IN here/ADV/RB ,/PUNCT/, nice/ADJ/JJ as/SCONJ/IN three/NUM/CD",
        [range(0, 3)],
    ),
    "no rules": FakeDocument("ett/DET/DT stort/ADJ/ djur/NOUN/NN", NotImplementedError("E894")),
    "no parser": FakeDocument("big/ADJ/JJ moose/NOUN/NN", ValueError("E029")),
}


class FakePipeline:
    meta = {"version": "3.8.0"}  # noqa: RUF012

    def pipe(self, texts: Sequence[str]) -> Iterator[FakeDocument]:
        return (DOCUMENTS[text] for text in texts)


@pytest.fixture
def spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, *, exclude: Sequence[str]) -> FakePipeline:
        assert list(exclude) == ["ner", "lemmatizer"]
        if name != "en_core_web_md":
            raise OSError("[E050] Can't find model")
        return FakePipeline()

    module = ModuleType("spacy")
    module.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", module)


@pytest.mark.usefixtures("spacy")
def test_spacy_tags_chunks_and_offsets() -> None:
    tagger = load_tagger("spacy:en_core_web_md")
    assert tagger.name == "spacy:en_core_web_md@3.8.0"
    [tokens] = tagger.tag(["moose"])
    assert [token.text for token in tokens if not token.text.strip()] == []  # white space is no token
    assert " ".join(f"{token.text}/{token.pos}/{token.chunk}" for token in tokens) == (
        "The/DT/NP big/JJ/NP moose/NN/NP is/VBZ/VP n't/RB/VP running/VBG/VP "
        "in/IN/PP here/RB/ADVP ,/,/O nice/JJ/ADJP as/IN/SBAR three/CD/NP"
    )
    assert [(token.start, token.end) for token in tokens[:3]] == [(0, 3), (4, 7), (8, 13)]
    assert template_text(build_template(tokens, "chunk")) == "the NP is n't VP in here , ADJP as NP"


@pytest.mark.usefixtures("spacy")
def test_spacy_without_noun_chunks_falls_back_to_word_classes() -> None:
    no_rules, no_parser = load_tagger("spacy:en_core_web_md").tag(["no rules", "no parser"])
    assert [token.chunk for token in no_rules] == ["NP", "ADJP", "NP"]
    assert [token.pos for token in no_rules] == ["DT", "ADJ", "NN"]  # no fine-grained tag: the coarse one
    assert [token.chunk for token in no_parser] == ["ADJP", "NP"]


@pytest.mark.usefixtures("spacy")
def test_spacy_tagger_reloads_when_it_is_sent_to_a_worker() -> None:
    tagger = load_tagger("spacy:en_core_web_md")
    copy = pickle.loads(pickle.dumps(tagger))
    assert copy.tag(["moose"]) == tagger.tag(["moose"])


@pytest.mark.usefixtures("spacy")
def test_missing_spacy_model_is_named() -> None:
    with pytest.raises(UsageError, match=r"'xx_none' cannot be loaded .*python -m spacy download xx_none"):
        load_tagger("spacy:xx_none")


class FakeSentence:
    """A flair sentence made from words; each token collects its labels."""

    def __init__(self, words: list[str]) -> None:
        self.tokens = [SimpleNamespace(text=word, labels={}) for word in words]
        for token in self.tokens:
            token.get_label = lambda kind, labels=token.labels: SimpleNamespace(value=labels.get(kind, "O"))

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return iter(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)


class FakeSequenceTagger:
    LABELS = {  # noqa: RUF012
        "pos": {"How": "WRB", "heavy": "JJ", "'s": "VBZ", "a": "DT", "big": "JJ", "moose": "NN", "?": "."},
        "np": {"How": "B-ADJP", "heavy": "E-ADJP", "'s": "S-VP", "a": "B-NP", "big": "I-NP", "moose": "E-NP"},
    }

    def __init__(self, label_type: str) -> None:
        self.label_type = label_type

    @classmethod
    def load(cls, name: str) -> "FakeSequenceTagger":
        return cls({"pos": "pos", "chunk": "np"}[name])  # flair calls the labels of its chunk model "np"

    def predict(self, sentences: list[FakeSentence], *, force_token_predictions: bool) -> None:
        assert force_token_predictions
        assert all(len(sentence) > 0 for sentence in sentences)
        for token in (token for sentence in sentences for token in sentence):
            if token.text in self.LABELS[self.label_type]:
                token.labels[self.label_type] = self.LABELS[self.label_type][token.text]


@pytest.fixture
def flair(monkeypatch: pytest.MonkeyPatch) -> None:
    package, data, models = ModuleType("flair"), ModuleType("flair.data"), ModuleType("flair.models")
    data.Sentence, models.SequenceTagger = FakeSentence, FakeSequenceTagger  # type: ignore[attr-defined]
    for module in (package, data, models):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("flair")
def test_flair_labels_lose_their_prefixes_and_keep_our_offsets() -> None:
    tagger = load_tagger("flair")
    assert tagger.name == "flair"
    empty, tokens = tagger.tag(["", "How  heavy's a big moose?"])
    assert empty == []
    assert " ".join(f"{token.text}/{token.pos}/{token.chunk}" for token in tokens) == (
        "How/WRB/ADJP heavy/JJ/ADJP 's/VBZ/VP a/DT/NP big/JJ/NP moose/NN/NP ?/./O"
    )
    assert [(token.start, token.end) for token in tokens[:3]] == [(0, 3), (5, 10), (10, 12)]


@pytest.mark.usefixtures("flair")
def test_flair_tagger_reloads_when_it_is_sent_to_a_worker() -> None:
    tagger = load_tagger("flair")
    assert pickle.loads(pickle.dumps(tagger)).tag(["moose"]) == tagger.tag(["moose"])


@pytest.mark.parametrize(("name", "extra"), [("spacy:en_core_web_md", "spacy"), ("flair", "flair")])
def test_missing_library_names_the_extra(name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (extra, f"{extra}.models", f"{extra}.data"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"pip install 'parasketch\[{extra}\]'"):
        load_tagger(name)
