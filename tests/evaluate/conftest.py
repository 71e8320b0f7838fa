"""Results of small systems on small data, as `parasketch evaluate` would have made them."""

from collections.abc import Callable

import pytest

from parasketch.data.corpora import EvalItem
from parasketch.evaluate.results import EvalData, Results, collect
from parasketch.evaluate.scoring import Scorer

ITEMS = [
    EvalItem("how heavy is a big moose?", ("what does a big moose weigh?",)),
    EvalItem("who is that old man?", ("what is the name of that old man?", "who is the old man?")),
    EvalItem("where can i buy a very good book?", ("where are very good books sold?",)),
]
OUTPUTS = {
    "copy": [[item.input] * 2 for item in ITEMS],
    "good": [[item.references[0], item.references[-1]] for item in ITEMS],
    "silent": [["", "x"] for _ in ITEMS],
}

MakeResults = Callable[..., Results]


@pytest.fixture
def make_results() -> MakeResults:
    """make_results(system, data name, alpha=..., k=..., uses_references=...)."""

    def make(
        system: str,
        data: str = "toy/test",
        *,
        alpha: float = 0.8,
        k: int = 2,
        uses_references: bool = False,
        limit: int = 3,
    ) -> Results:
        items, outputs = ITEMS[:limit], [row[:k] for row in OUTPUTS[system][:limit]]
        evaluation = Scorer(alpha=alpha).evaluate(items, outputs)
        info = EvalData(name=data, items=items, sha256=f"{data}{limit}".ljust(64, "0"))
        return collect(
            evaluation,
            info,
            system=system,
            alpha=alpha,
            command=f"parasketch evaluate --outputs {system}.txt",
            seed=0,
            seconds=None,
            uses_references=uses_references,
        )

    return make
