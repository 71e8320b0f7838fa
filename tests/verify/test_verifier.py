import json

import pytest

from parasketch.generate.pretrained import shipped_models
from parasketch.model.cross_encoder import CrossEncoder
from parasketch.verify.inputs import PairTokenizer, by_length, collate
from parasketch.verify.storage import Decision
from parasketch.verify.verifier import SHIPPED, Verifier

PAIRS = [
    ("a moose sleeps .", "the moose sleeps ."),
    ("there .", "a whale swims here . the otter runs there ."),
    ("the otter swims .", "a moose runs ."),
    ("a moose sleeps .", "the moose sleeps ."),
]


@pytest.fixture
def verifier(model: CrossEncoder, tokenizer: PairTokenizer) -> Verifier:
    return Verifier.from_model(model, tokenizer, Decision())


def test_a_pair_scores_the_same_alone_and_among_others(verifier: Verifier) -> None:
    together = verifier(PAIRS, batch_size=4)
    assert [verifier([pair])[0] for pair in PAIRS] == pytest.approx(together, abs=1e-6)
    assert verifier(PAIRS, batch_size=3) == pytest.approx(together, abs=1e-6)
    assert together[0] == together[3]


def test_no_pairs_no_scores(verifier: Verifier) -> None:
    assert verifier([]) == []


def test_both_directions_are_symmetric(model: CrossEncoder, tokenizer: PairTokenizer) -> None:
    both = Verifier.from_model(model, tokenizer, Decision(both_directions=True))
    assert both(PAIRS) == pytest.approx(both([(b, a) for a, b in PAIRS]), abs=1e-6)


def test_the_threshold_decides(model: CrossEncoder, tokenizer: PairTokenizer) -> None:
    scores = Verifier.from_model(model, tokenizer, Decision())(PAIRS)
    strict = Verifier.from_model(model, tokenizer, Decision(threshold=max(scores)))
    assert strict.accepts(PAIRS) == [score >= max(scores) for score in scores]


def test_temperature_leaves_the_order(model: CrossEncoder, tokenizer: PairTokenizer) -> None:
    mild, sharp = (Verifier.from_model(model, tokenizer, Decision(temperature=value))(PAIRS) for value in (2.0, 0.5))
    assert sorted(range(3), key=mild.__getitem__) == sorted(range(3), key=sharp.__getitem__)


def test_the_sequence_is_what_bert_reads(tokenizer: PairTokenizer) -> None:
    encoded = tokenizer.encode([("a moose", "the whale runs")])
    batch = collate(encoded)
    assert batch.tokens.tolist() == [[2, 4, 6, 3, 5, 7, 11, 3]]
    assert batch.segments.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1]]
    assert batch.matches.tolist() == [[0, 1, 1, 0, 1, 1, 1, 0]]
    assert batch.mask is None


def test_matches_say_which_words_are_shared_and_in_which_company(tokenizer: PairTokenizer) -> None:
    pair = tokenizer.encode([("the moose runs here", "here the moose swims")])[0]
    assert pair.matches == [0, 3, 3, 1, 2, 0, 2, 3, 3, 1, 0]
    assert pair.turned() == tokenizer.encode([("here the moose swims", "the moose runs here")])[0]


def test_long_sentences_are_cut_to_the_positions(tokenizer: PairTokenizer, verifier: Verifier) -> None:
    long = "the moose runs " * 30
    assert len(tokenizer.encode([(long, long)])[0].ids) <= 32
    assert 0 < verifier([(long, long)])[0] < 1


def test_batches_are_sorted_by_length(tokenizer: PairTokenizer) -> None:
    batches = by_length(tokenizer.encode(PAIRS), 2)
    assert batches == [[0, 2], [3, 1]]


@pytest.fixture(scope="module")
def shipped() -> Verifier:
    return Verifier.from_pretrained()


class TestShipped:
    @pytest.mark.parametrize(
        ("source", "right", "wrong"),
        [
            ("We meet at nine on Monday.", "On Monday, we meet at nine.", "We meet at nine on Friday."),
            ("She didn't like the soup.", "The soup was not to her taste.", "She liked the soup."),
            ("Please send me the report by noon.", "Could you send me the report by noon?", "Send me the report."),
            ("How can I learn to swim?", "What is the best way to learn swimming?", "Why should I learn to swim?"),
            ("A man is riding a brown horse.", "A brown horse is ridden by a man.", "A man is riding a white horse."),
            ("They sold 300 cars last year.", "Last year they sold 300 cars.", "They sold 500 cars last year."),
            ("The dog chased the cat.", "The cat was chased by the dog.", "The cat chased the dog."),
        ],
    )  # fmt: skip
    def test_it_prefers_the_paraphrase_to_the_mistake(
        self, shipped: Verifier, source: str, right: str, wrong: str
    ) -> None:
        good, bad = shipped([(source, right), (source, wrong)])
        assert good > bad

    def test_it_is_no_paraphraser(self) -> None:
        assert json.loads((SHIPPED / "config.json").read_text(encoding="utf-8"))["kind"] == "verifier"
        assert SHIPPED.name not in shipped_models()

    def test_it_fits_into_the_package(self) -> None:
        assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 25e6
