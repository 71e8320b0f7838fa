"""scripts/use_rewrites.py, use_grades.py: what is wrong is never learnt as right, and held-out rows are not learnt."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import use_grades
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


def test_what_is_learnt_from_grades(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrites, graded, held = (tmp_path / name for name in ("rewrites.tsv", "graded.tsv", "held.tsv"))
    rewrites.write_text("\n".join(row(number) for number in range(1, 41)) + "\n", encoding="utf-8")
    graded.write_text("2\tWho?\tWho is it?\n0\tWho?\tWhy?\n2\tHeld.\tOut.\n1\tWho?\tWho is it?\n", encoding="utf-8")
    held.write_text("1\tHeld.\tHeld!\n", encoding="utf-8")
    arguments = [str(graded), "--held-out", str(held), "--rewrites", str(rewrites), "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["use_grades.py", *arguments])
    use_grades.main()
    rows = rows_of(tmp_path / "out" / "graded.jsonl")
    assert {(each["target"], each["grade"]) for each in rows if each["source"] == "Who?"} == {
        ("Who is it?", 1),
        ("Why?", 0),
    }
    assert not any(each["source"] in {"Held.", "Sentence 40."} for each in rows)
    assert all(
        (each["grade"] == 0) == str(each["target"]).startswith("Miss") for each in rows if each["source"] != "Who?"
    )
    pairs = [(each["b"], each["same"]) for each in rows_of(tmp_path / "out" / "verifier.jsonl")]
    assert sorted(pairs) == [("Who is it?", True), ("Why?", False)]
    assert [each["b"] for each in rows_of(tmp_path / "out" / "verifier_dev.jsonl")] == ["Held!"]
