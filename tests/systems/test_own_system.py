"""What docs/overview.md says about a system of one's own works as it stands."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from grammar import Language, write_clusters
from tiny import TINY_SETTINGS

from parasketch.experiment import make_fabric, run_experiment, set_up, understand
from parasketch.generate.paraphraser import Paraphraser
from parasketch.systems.kinds import KINDS, load_model

TEXT = (Path(__file__).parents[2] / "docs" / "overview.md").read_text(encoding="utf-8")
SNIPPET = re.search(r"## Add a system of your own.*?```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The snippet as the module `mine`; its registration ends with the test."""
    assert SNIPPET is not None
    module = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)
    monkeypatch.setitem(KINDS, "mean", KINDS["ae"])  # is taken back at the end, whatever the snippet puts there
    exec(compile(SNIPPET[1], "overview.md", "exec"), module.__dict__)
    return module


def test_a_system_of_ones_own(mine: ModuleType, language: Language, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("model: {pool_heads: 2}\n")
    clusters = write_clusters(tmp_path / "clusters.jsonl", language.clusters())
    order = understand(["mean", str(clusters)], preset=str(tmp_path / "mine.yaml"), data=None)
    overrides = [*TINY_SETTINGS["all"].split(), "train.steps=6"]
    experiment = set_up(order, dev=None, run=tmp_path / "run", overrides=overrides)
    fabric = make_fabric(accelerator="cpu", devices="1", precision="32-true")
    best = run_experiment(experiment, fabric=fabric, resume=True)
    assert isinstance(load_model(best).model, mine.Mean)
    assert len(Paraphraser.from_pretrained(best, device="cpu")("anna sees the dogs", n=2)) == 2
