"""scripts/use_rewrites.py: near misses are never learnt as paraphrases, and held-out rows are not learnt at all."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import use_rewrites

from parasketch.errors import DataError


def row(number: int) -> str:
    return "\t".join(
        ["fact", f"Sentence {number}.", f"First {number}.", f"Second {number}.", f"Third {number}.", f"Miss {number}."]
    )


def rows_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_is_learnt_from_rewrites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "rewrites.tsv"
    source.write_text("\n".join(row(number) for number in range(1, 81)) + "\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["use_rewrites.py", str(source), "--out", str(tmp_path / "out")])
    use_rewrites.main()
    pairs, dev = rows_of(tmp_path / "out" / "pairs.jsonl"), rows_of(tmp_path / "out" / "dev.jsonl")
    assert len(pairs) == 78 * 2 * 3
    assert not any("Miss" in str(pair) for pair in pairs)
    assert {str(pair["source"]).split()[1] for pair in pairs} == {str(pair["target"]).split()[1] for pair in pairs}
    assert [item["input"] for item in dev] == ["Sentence 40.", "Sentence 80."]
    assert not any(" 40." in str(pair) or " 80." in str(pair) for pair in pairs)
    labelled = rows_of(tmp_path / "out" / "verifier.jsonl")
    assert all(("Miss" in f"{pair['a']} {pair['b']}") != bool(pair["same"]) for pair in labelled)
    assert sum(bool(pair["same"]) for pair in labelled) == len(labelled) / 2


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rewrites.tsv"
    path.write_text(row(1) + "\nfact\tonly this\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rewrites\.tsv:2"):
        use_rewrites.read_rewrites(path)
