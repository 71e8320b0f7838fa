"""Whether the meaning is kept, judged by a sentence encoder: cosines, retrieval and BERTScore.

A generic caption can score well on iBLEU; an encoder notices that it no longer says what its input said. The
same figures for the references themselves (the first one of each item in the place of the output) show what
people reach. Needs the `semantic` extra.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parasketch.console import track
from parasketch.evaluate.statistics import Measure, ratio, share
from parasketch.text.sentence_encoder import PACKAGED, load_sentence_transformer

GROUP = 100
"""Retrieval: the right input must be found among so many."""

_BLOCK = 500  # items whose token vectors are in memory at a time

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """A sentence as an encoder sees it."""

    sentence: Vectors
    """(width,), of length 1; zero for an empty text."""
    tokens: Vectors
    """(tokens, width), each of length 1, without the marks of beginning and end."""


class Encoder(Protocol):
    """Anything that encodes sentences and their tokens."""

    name: str

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts, each on its own."""
        ...


class SentenceEncoder:
    """A sentence-transformers model; `minilm` is the packaged one, anything else a name or path."""

    def __init__(self, model: str = PACKAGED) -> None:
        self._model = load_sentence_transformer(model)
        short = "all-MiniLM-L6-v2" if model == PACKAGED else Path(model).name
        self.name = f"{short}|st:{import_module('sentence_transformers').__version__}"
        tokenizer = self._model.tokenizer
        marks = [
            tokenizer.cls_token_id,
            tokenizer.sep_token_id,
            tokenizer.bos_token_id,
            tokenizer.eos_token_id,
        ]
        self._marks = [mark for mark in [*marks, tokenizer.pad_token_id] if mark is not None]

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode texts in batches; the result of one does not depend on the others."""
        found = self._model.encode(list(texts), output_value=None, show_progress_bar=False)
        return [self._encoded(text, features) for text, features in zip(texts, found, strict=True)]

    def _encoded(self, text: str, features: dict[str, Any]) -> Encoded:
        sentence = features["sentence_embedding"].cpu().numpy()
        ids = features["input_ids"].cpu().numpy()
        tokens = features["token_embeddings"].cpu().numpy()
        weight = 1.0 if text.strip() else 0.0
        return Encoded(weight * _unit(sentence), _unit(tokens[~np.isin(ids, self._marks)]))


@dataclass(frozen=True)
class SemanticMeasures:
    """How well the meaning is kept by a system and, for comparison, by people."""

    outputs: list[Measure]
    human: list[Measure]
    """The first reference in the place of the output, judged against the input and the other references."""


def semantic_measures(
    encoder: Encoder, inputs: Sequence[str], references: Sequence[Sequence[str]], outputs: Sequence[str]
) -> SemanticMeasures:
    """Cosine and BERTScore F1 of each output to its input and to its best reference, and retrieval of the input."""
    judged, human = _Judgements(), _Judgements()
    for start in track(range(0, len(inputs), _BLOCK), "judging meaning"):
        block = list(zip(inputs, outputs, references, strict=True))[start : start + _BLOCK]
        texts = list(dict.fromkeys(text for source, output, item in block for text in (source, output, *item)))
        encoded = dict(zip(texts, encoder.encode(texts), strict=True))
        for source, output, item in block:
            people = [encoded[text] for text in item]
            judged.add(encoded[source], encoded[output], people)
            human.add(encoded[source], people[0], people[1:])
    return SemanticMeasures(judged.measures(encoder.name), human.measures(encoder.name))


class _Judgements:
    """Figures of one output per item, gathered item by item."""

    def __init__(self) -> None:
        self._sources: list[Vectors] = []
        self._outputs: list[Vectors] = []
        self._to_input: list[tuple[float, float]] = []  # cosine, BERTScore
        self._to_reference: list[tuple[float, float, float]] = []  # cosine, BERTScore, whether there is a reference

    def add(self, source: Encoded, output: Encoded, references: Sequence[Encoded]) -> None:
        self._sources.append(source.sentence)
        self._outputs.append(output.sentence)
        self._to_input.append(_similarity(output, source))
        best = np.max([_similarity(output, reference) for reference in references] or [(0.0, 0.0)], axis=0)
        self._to_reference.append((best[0], best[1], float(bool(references))))

    def measures(self, name: str) -> list[Measure]:
        ones = np.ones(len(self._sources))
        cosine_input, bert_input = np.array(self._to_input).T
        cosine_reference, bert_reference, has_reference = np.array(self._to_reference).T
        hits = retrieved(np.stack(self._outputs), np.stack(self._sources))
        bert = f"{name}|greedy F1|idf:no|layer:last|marks:no"
        measures = [
            ratio("cosine_input", cosine_input, ones, name),
            ratio("cosine_reference", cosine_reference, has_reference, f"{name}|best reference"),
            share("retrieval", hits.astype(np.float64), ones, f"{name}|own input among {min(GROUP, len(hits))}"),
            ratio("bertscore_input", bert_input, ones, bert),
            ratio("bertscore_reference", bert_reference, has_reference, f"{bert}|best reference"),
        ]
        return [measure for measure in measures if measure.statistics[:, 1].any()]


def retrieved(outputs: Vectors, inputs: Vectors) -> NDArray[np.bool_]:
    """Whether each output, (items, width), is closest to its own input, (items, width), among 100 consecutive
    ones.

    The last items, if they are fewer than 100, look among the last 100 inputs. A tie counts; an empty output
    (a zero vector) never does.
    """
    hits = []
    for start in range(0, len(inputs), GROUP):
        queries = outputs[start : start + GROUP]
        first = max(0, min(start, len(inputs) - GROUP))
        similarity = queries @ inputs[first : first + GROUP].T
        own = similarity[np.arange(len(queries)), start - first + np.arange(len(queries))]
        hits.append((own >= similarity.max(axis=1)) & queries.any(axis=1))
    return np.concatenate(hits)


def bert_score(candidate: Vectors, other: Vectors) -> float:
    """F1 of greedy token matching, (tokens, width) against (tokens, width) of unit vectors, without idf weights."""
    if not len(candidate) or not len(other):
        return 0.0
    similarity = candidate @ other.T
    precision, recall = float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _similarity(one: Encoded, other: Encoded) -> tuple[float, float]:
    """Cosine and BERTScore of two sentences."""
    return float(one.sentence @ other.sentence), bert_score(one.tokens, other.tokens)


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))
