import torch
from tiny import BOS, make_model

from parasketch.model.inputs import Sentences


def test_a_decoding_state_drops_groups_with_all_that_belongs_to_them() -> None:
    """What is left decodes as if the others had never been there."""
    model = make_model()
    sentences = Sentences.from_lists([[1, 5, 6, 2], [1, 7, 2], [1, 8, 9, 4, 2]])
    begin, second = torch.full((3, 2), BOS), torch.tensor([[5, 6], [7, 8], [9, 9]])
    with torch.no_grad():
        encoding = model.encode(sentences)
        form = model.quantizer.decode(torch.tensor([[0, 1, 2], [3, 3, 3], [1, 0, 1]]))
        whole = model.start(encoding, torch.arange(3), form)
        model.step(begin, whole)
        kept = torch.tensor([2, 0])
        part = model.start(encoding, torch.arange(3), form)
        model.step(begin, part)
        part.keep_groups(kept)
        part.reorder_rows(torch.tensor([[1, 0], [0, 1]]))
        expected, found = model.step(second, whole)[kept], model.step(second[kept], part)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
