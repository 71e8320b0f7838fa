import pytest
import torch
from grammar import Language, say
from tiny import config_for

from parasketch.data.prepared import Prepared
from parasketch.data.records import EvalItem
from parasketch.errors import UsageError
from parasketch.model.inputs import Sentences
from parasketch.systems.dev import DevItems, sample_items
from parasketch.systems.hrqvae.dev import look_at_dev
from parasketch.systems.hrqvae.network import HRQVAE


@pytest.fixture
def items(language: Language) -> list[EvalItem]:
    return [EvalItem(say(m, forms[0]), tuple(say(m, form) for form in forms[1:])) for m, forms in language.seen.items()]


@pytest.fixture
def model(language_corpus: Prepared) -> HRQVAE:
    torch.manual_seed(0)
    return HRQVAE(config_for(language_corpus).model, mask_id=language_corpus.tokenizer.mask_id).eval()


def test_what_it_measures(items: list[EvalItem], model: HRQVAE, language_corpus: Prepared) -> None:
    tokenizer = language_corpus.tokenizer
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.inference_mode():
        result = look_at_dev(model, DevItems(items, tokenizer, max_length=50))
        again = look_at_dev(model, DevItems(items, tokenizer, max_length=50, select_by="loss"))
    measured = {"bleu", "self_bleu", "ibleu", "oracle_3", "oracle_2", "oracle_1", "oracle_0", "own_sketch", "nll"}
    assert set(result.metrics) == measured
    assert result.score == result.metrics["ibleu"]
    assert again.metrics == result.metrics
    assert again.score == -result.metrics["nll"]
    assert [source for source, _ in result.samples] == [item.input for item in items[:4]]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())

    # The likelihood of the first reference of one item, in its own sketch, by hand.
    with torch.inference_mode():
        alone = look_at_dev(model, DevItems(items[:1], tokenizer, max_length=50)).metrics["nll"]
        frame = [
            Sentences.from_lists([[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id]])
            for text in (items[0].input, items[0].references[0])
        ]
        form = model.quantizer(model.encode(frame[1]).form).vector
        expected = model.log_likelihood(model.encode(frame[0]), torch.tensor([0]), form, frame[1])
    assert alone == pytest.approx(-expected.item() / (frame[1].layout.num_tokens - 1), rel=1e-4)


def test_texts_longer_than_the_model_are_cut(model: HRQVAE, language_corpus: Prepared) -> None:
    long = EvalItem("now " * 200, ("again " * 200,))
    with torch.inference_mode():
        dev = DevItems([long], language_corpus.tokenizer, max_length=model.config.max_length)
        result = look_at_dev(model, dev)
    assert result.metrics["nll"] > 0


def test_no_items(language_corpus: Prepared) -> None:
    with pytest.raises(UsageError, match="there are no evaluation items"):
        DevItems([], language_corpus.tokenizer, max_length=50)


def test_a_sample_is_spread_and_always_the_same() -> None:
    items = [EvalItem(str(number), ("x",)) for number in range(100)]
    chosen = sample_items(items, 10)
    assert chosen == sample_items(items, 10)
    numbers = [int(item.input) for item in chosen]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 10
    assert max(numbers) > 50
    assert sample_items(items, 100) == items
