"""What only training and evaluation need is no part of a plain installation, and its absence is explained."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def run(missing: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command where a library is not installed."""
    hide = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['parasketch', *{arguments!r}]"
    program = f"{hide}; from parasketch.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("missing", "arguments", "message"),
    [
        (
            "lightning_fabric",
            ["train", "x.jsonl"],
            "training needs lightning_fabric, which is missing: pip install 'par",
        ),
        ("sacrebleu", ["evaluate", "--system", "copy", "--data", "x.jsonl"], "pip install 'parasketch[eval]'"),
    ],
)
def test_a_missing_extra_is_named(missing: str, arguments: list[str], message: str) -> None:
    result = run(missing, *arguments)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())


def test_a_plain_installation_is_small_and_tests_have_everything() -> None:
    def names(requirements: list[str]) -> set[str]:
        return {requirement.partition(">")[0] for requirement in requirements}

    heavy = {"torch", "onnx", "lightning-fabric", "scikit-learn", "scipy", "sacrebleu"}
    assert not heavy & names(PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    assert heavy <= set().union(*(names(extras[name]) for name in ("torch", "train", "eval", "dev")))
    assert "parasketch[torch]" in extras["train"]
    assert "parasketch[train,eval]" in extras["dev"]
