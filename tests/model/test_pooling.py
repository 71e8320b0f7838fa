import numpy as np
import torch

from parasketch.model.pooling import AttentionPooling
from parasketch.model.ragged import Layout


def test_each_head_takes_its_own_weighted_mean() -> None:
    torch.manual_seed(0)
    pooling, x = AttentionPooling(input_width=3, width=4, heads=2).eval(), torch.randn(5, 3)
    with torch.no_grad():
        found = pooling(x, Layout(np.array([2, 3])))
        for sentence, rows in enumerate((x[:2], x[2:])):
            weights, values = pooling.scores(rows).softmax(dim=0), pooling.values(rows)
            expected = torch.cat([weights[:, 0] @ values[:, :2], weights[:, 1] @ values[:, 2:]])
            torch.testing.assert_close(found[sentence], expected, rtol=0, atol=1e-6)


def test_company_changes_nothing() -> None:
    torch.manual_seed(0)
    pooling, x = AttentionPooling(input_width=3, width=4, heads=2).eval(), torch.randn(9, 3)
    with torch.no_grad():
        alone = pooling(x[:2], Layout(np.array([2])))
        together = pooling(x, Layout(np.array([2, 7])))
    torch.testing.assert_close(together[:1], alone, rtol=0, atol=1e-6)
