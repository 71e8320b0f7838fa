import pytest
import torch
from torch import Tensor

from parasketch.model.cross_encoder import BertEncoder, CrossEncoder, CrossEncoderConfig

TINY = CrossEncoderConfig(vocab_size=50, max_length=16, width=8, layers=2, heads=2, ff=16)


def rows() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(1, 50, (3, 10), generator=generator), torch.tensor([[0] * 4 + [1] * 6] * 3)


NO_MATCH = torch.ones(3, 10, dtype=torch.long)


def test_one_score_a_pair() -> None:
    tokens, segments = rows()
    assert CrossEncoder(TINY)(tokens, segments, NO_MATCH).shape == (3,)


def test_pads_change_nothing() -> None:
    torch.manual_seed(1)
    model = CrossEncoder(TINY).eval()
    tokens, segments = rows()
    padded = torch.cat([tokens, torch.full((3, 5), 7)], dim=1)
    mask = torch.arange(15).expand(3, 15) < 10
    with torch.no_grad():
        alone = model(tokens, segments, NO_MATCH)
        wide, unmatched = (torch.cat([row, row[:, :5]], dim=1) for row in (segments, NO_MATCH))
        torch.testing.assert_close(model(padded, wide, unmatched, mask), alone)


def test_segments_matter() -> None:
    torch.manual_seed(1)
    model = CrossEncoder(TINY).eval()
    tokens, segments = rows()
    with torch.no_grad():
        assert not torch.allclose(model(tokens, segments, NO_MATCH), model(tokens, 1 - segments, NO_MATCH))


def test_matches_matter_once_they_are_learnt() -> None:
    torch.manual_seed(1)
    model = CrossEncoder(TINY).eval()
    tokens, segments = rows()
    with torch.no_grad():
        assert torch.equal(model(tokens, segments, NO_MATCH), model(tokens, segments, NO_MATCH + 1))
        torch.nn.init.normal_(model.matches.weight)
        assert not torch.allclose(model(tokens, segments, NO_MATCH), model(tokens, segments, NO_MATCH + 1))


def test_it_computes_what_bert_computes() -> None:
    transformers = pytest.importorskip("transformers")
    settings = transformers.BertConfig(
        vocab_size=50, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=16,
    )  # fmt: skip
    torch.manual_seed(1)
    reference = transformers.BertModel(settings).eval()
    for parameter in reference.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # so that norms and biases count too
    encoder = BertEncoder(TINY).eval()
    encoder.read_bert(reference.state_dict())
    tokens, segments = rows()
    mask = torch.arange(10) < torch.tensor([10, 7, 5])[:, None]
    with torch.no_grad():
        theirs = reference(tokens, token_type_ids=segments, attention_mask=mask.long()).last_hidden_state
        torch.testing.assert_close(encoder(tokens, segments, mask)[mask], theirs[mask])
