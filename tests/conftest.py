"""What the tests of several parts share: one thread, and a prepared corpus of a language that is known."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))  # for `grammar` and `tiny`

from grammar import Language, prepare_language, use_grammar_parser

from parasketch.data.prepared import Prepared


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Sums of several threads may differ in the last bit, and tests share the machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever base is on this machine, tests begin without one; those that need one make a tiny one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARASKETCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def own_parser() -> None:
    """Tests that train every kind need no spaCy; those of spaCy itself ask for it."""
    use_grammar_parser()


@pytest.fixture(scope="session")
def language() -> Language:
    return Language.sample(meanings=20, forms=4)


@pytest.fixture(scope="session")
def language_corpus(language: Language, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare_language(tmp_path_factory.mktemp("language"), language, vocab_size=300)


@pytest.fixture(scope="session")
def fixtures() -> Path:
    """The directory of the files that tests read."""
    return Path(__file__).parent / "fixtures"
