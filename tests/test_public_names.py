import subprocess
import sys

import pytest

import parasketch


def test_every_public_name_is_there() -> None:
    assert set(parasketch.__all__) <= set(dir(parasketch))
    for name in parasketch.__all__:
        assert getattr(parasketch, name) is not None
    assert parasketch.Sketch(1, 2) == (1, 2)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="module 'parasketch' has no attribute 'Nonsense'"):
        _ = parasketch.Nonsense


@pytest.mark.parametrize("statement", ["import parasketch", "import parasketch.cli.generate"])
def test_torch_is_not_loaded_before_it_is_needed(statement: str) -> None:
    code = f"{statement}; import sys; assert not {{'torch', 'tokenizers', 'numpy'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_generation_loads_nothing_that_it_does_not_need() -> None:
    heavy = {"sklearn", "sacrebleu", "lightning_fabric", "pycrfsuite", "scipy", "matplotlib", "sentence_transformers"}
    code = (
        f"from parasketch import Paraphraser; import sys; found = {heavy!r} & set(sys.modules); assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
