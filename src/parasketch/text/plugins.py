"""Taggers of other libraries behind our interface: spaCy for any language, flair as in the paper.

Neither comes with the package; each is imported when it is asked for, and a missing one is an error that says what
to install. spaCy has no phrase chunks, so they are put together from its noun chunks and word classes.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from parasketch.errors import UsageError
from parasketch.text.tagger import TaggedToken
from parasketch.text.words import split_words

_OUTSIDE = "O"

# Universal word classes to CoNLL-2000 chunk types, for words outside noun chunks. Particles ("to go", "not going")
# belong to their verb.
_CHUNK_OF = {
    **dict.fromkeys(["NOUN", "PROPN", "PRON", "DET", "NUM"], "NP"),
    **dict.fromkeys(["VERB", "AUX", "PART"], "VP"),
    "ADP": "PP",
    "ADV": "ADVP",
    "ADJ": "ADJP",
    "SCONJ": "SBAR",
    "INTJ": "INTJ",
}


class SpacyTagger:
    """Any spaCy model, by name or path; `pos` is the model's fine-grained tag."""

    def __init__(self, model: str) -> None:
        spacy = _import("spacy", extra="spacy")
        try:
            self._nlp = spacy.load(model, exclude=["ner", "lemmatizer"])
        except OSError as error:
            problem = f"spaCy model {model!r} cannot be loaded (install it with: python -m spacy download {model})"
            raise UsageError(problem) from error
        self._model = model
        self.name = f"spacy:{model}@{self._nlp.meta['version']}"

    def __reduce__(self) -> tuple[Callable[[str], "SpacyTagger"], tuple[str]]:
        """Worker processes load the model themselves instead of receiving it."""
        return SpacyTagger, (self._model,)

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        """Tag sentences; tokens of white space, which spaCy has, are left out."""
        return [list(_spacy_tokens(document)) for document in self._nlp.pipe(sentences)]


def _spacy_tokens(document: Any) -> Iterator[TaggedToken]:
    noun_phrase = _noun_chunk_members(document)
    for token in document:
        if not token.is_space:
            chunk = "NP" if token.i in noun_phrase else _CHUNK_OF.get(token.pos_, _OUTSIDE)
            end = token.idx + len(token.text)
            yield TaggedToken(token.text, token.idx, end, token.tag_ or token.pos_ or "X", chunk)


def _noun_chunk_members(document: Any) -> set[int]:
    """Places of the tokens inside noun chunks; none if this language or model has no noun chunks."""
    try:
        return {token.i for chunk in document.noun_chunks for token in chunk}
    except (NotImplementedError, ValueError):  # no rules for the language; no parser in the model
        return set()


class FlairTagger:
    """flair's English models `pos` and `chunk`, the taggers of the paper, on our words so that offsets are exact."""

    name = "flair"

    def __init__(self) -> None:
        models = _import("flair.models", extra="flair")
        self._sentence_of = _import("flair.data", extra="flair").Sentence
        self._pos_model = models.SequenceTagger.load("pos")
        self._chunk_model = models.SequenceTagger.load("chunk")

    def __reduce__(self) -> tuple[Callable[[], "FlairTagger"], tuple[()]]:
        """Worker processes load the models themselves instead of receiving them."""
        return FlairTagger, ()

    def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
        """Tag sentences with both models; empty ones, which flair refuses, stay empty."""
        words = [split_words(sentence) for sentence in sentences]
        tagged = [self._sentence_of([word.text for word in row]) for row in words if row]
        for model in (self._pos_model, self._chunk_model):
            # One label a token, also from a model that would rather label spans.
            model.predict(tagged, force_token_predictions=True)
        results = iter(tagged)
        return [
            [
                TaggedToken(*word, self._label(token, self._pos_model), self._label(token, self._chunk_model))
                for word, token in zip(row, next(results), strict=True)
            ]
            if row
            else []
            for row in words
        ]

    @staticmethod
    def _label(token: Any, model: Any) -> str:
        label: str = token.get_label(model.label_type).value
        prefix, dash, rest = label.partition("-")
        return rest if dash and prefix in {"B", "I", "E", "S"} else label


def _import(module: str, *, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        problem = f"the {extra} tagger needs the package {extra!r} (install it with: pip install 'parasketch[{extra}]')"
        raise UsageError(problem) from error
