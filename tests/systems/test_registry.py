"""Names and directories to systems; Copy on the way."""

from pathlib import Path

import pytest

from parasketch.errors import ModelError, UsageError
from parasketch.systems.copy import Copy
from parasketch.systems.registry import SYSTEMS, load_system, new_system
from parasketch.systems.tfidf import TfIdf


def test_every_system_is_listed_under_its_name() -> None:
    assert list(SYSTEMS) == ["copy", "tfidf", "trained", "plain", "own-sketch", "oracle", "plain-oracle"]
    assert all(system.name == name and system.description for name, system in SYSTEMS.items())


def test_copy_repeats_its_input_and_needs_no_fitting(tmp_path: Path) -> None:
    copy = new_system("copy")
    assert copy.generate(["a b", ""], n=2) == [["a b", "a b"], ["", ""]]
    copy.save(tmp_path / "copy")
    assert isinstance(load_system(tmp_path / "copy"), Copy)
    with pytest.raises(ModelError, match="holds a system 'copy', not 'tfidf'"):
        TfIdf.load(tmp_path / "copy")


def test_unknown_systems_are_explained(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown system 'magic' \(expected copy, tfidf, or the directory"):
        new_system("magic")
    with pytest.raises(UsageError, match="oracle is a trained model: give it with --model"):
        new_system("oracle")
    with pytest.raises(ModelError, match="holds no saved system"):
        load_system(tmp_path)
    (tmp_path / "system.json").write_text('{"system": "magic"}')
    with pytest.raises(ModelError, match="holds a system 'magic' that is not known here"):
        load_system(tmp_path)
    (tmp_path / "system.json").write_text("[]")
    with pytest.raises(ModelError, match="does not say which system"):
        load_system(tmp_path)
