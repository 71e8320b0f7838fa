from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from parasketch.config import DataConfig
from parasketch.data import prepare as prepare_module
from parasketch.data.prepare import prepare
from parasketch.data.prepared import Prepared
from parasketch.errors import DataError, UsageError
from parasketch.text.tagger import TaggedToken, Tagger

CONFIG = DataConfig(vocab_size=400)
CLUSTERS = [
    ["the dog runs", "runs the dog ?", "The dog runs!"],
    ["the cat sleeps", "sleeps the cat ?"],
    ["a horse waits", "a snail sings"],
    ["so so the queen sings " * 10],
]

WriteClusters = Callable[[Sequence[Sequence[str]]], Path]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def times(directory: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in sorted(directory.iterdir())}


def test_what_the_manifest_counts(tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger) -> None:
    prepared = prepare([write_clusters(CLUSTERS)], tmp_path / "out", CONFIG, tagger=rule_tagger)
    assert prepared.manifest["counts"] == {
        "clusters": 3,
        "clusters_without_pairs": 1,
        "sentences": 6,
        "dropped_sentences": {"duplicate": 1, "empty": 0, "too_long": 1},
        "tokens": len(prepared.arrays.tokens),
        "templates": 3,
        "spans": 4,
        "pairs": 4,
        "share_with_real_exemplar": 0.6667,
    }
    assert prepared.manifest["settings"]["tagger"] == "rules-1"
    assert prepared.manifest["tokenizer"] == prepared.tokenizer.fingerprint
    assert prepared.templates == ["the NP VP", "VP the NP ?", "a NP VP"]
    assert prepared.summary()["sentences with a real exemplar"] == "66.7%"


def test_up_to_date_means_no_work(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write_clusters(CLUSTERS), tmp_path / "out"
    prepare([path], out, CONFIG, tagger=rule_tagger)
    before = times(out)
    assert "up to date" not in capsys.readouterr().err
    prepare([path], out, replace(CONFIG, template_dropout=0.5, max_pairs=1), tagger=rule_tagger)
    assert times(out) == before, "how examples are drawn is no matter of preparation"
    assert "up to date" in capsys.readouterr().err


@pytest.mark.parametrize("change", [{"max_tokens": 9}, {"templates": "pos"}, {"vocab_size": 300}])
def test_other_settings_mean_work(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger, change: dict[str, int]
) -> None:
    path, out = write_clusters(CLUSTERS), tmp_path / "out"
    first = prepare([path], out, CONFIG, tagger=rule_tagger).manifest
    second = prepare([path], out, replace(CONFIG, **change), tagger=rule_tagger).manifest
    assert first["settings_hash"] != second["settings_hash"]
    assert first["inputs_hash"] == second["inputs_hash"]


def test_other_inputs_mean_work(tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger) -> None:
    out = tmp_path / "out"
    prepare([write_clusters(CLUSTERS)], out, CONFIG, tagger=rule_tagger)
    again = prepare([write_clusters(CLUSTERS), write_clusters([["my dog"]])], out, CONFIG, tagger=rule_tagger)
    assert again.num_clusters == 4


def test_a_failure_leaves_nothing_behind_and_the_old_result_untouched(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger
) -> None:
    class Breaking:
        name = "breaking"

        def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
            raise KeyboardInterrupt(sentences[0])

    path, work = write_clusters(CLUSTERS), tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        prepare([path], work / "out", CONFIG, tagger=Breaking(), workers=1)
    assert list(work.iterdir()) == []
    prepare([path], work / "out", CONFIG, tagger=rule_tagger)
    before = contents(work / "out")
    with pytest.raises(KeyboardInterrupt):
        prepare([path], work / "out", CONFIG, tagger=Breaking(), workers=1)
    assert [entry.name for entry in work.iterdir()] == ["out"]
    assert contents(work / "out") == before


def test_a_run_that_was_killed_is_taken_up_again(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting:
        name = "counting"

        def __init__(self, dies_after: int) -> None:
            self.seen: list[str] = []
            self._left = dies_after

        def tag(self, sentences: Sequence[str]) -> list[list[TaggedToken]]:
            if self._left == 0:
                raise KeyboardInterrupt
            self._left -= 1
            self.seen += sentences
            return rule_tagger.tag(sentences)

    monkeypatch.setattr(prepare_module, "CHUNK_SENTENCES", 2)
    monkeypatch.setattr(prepare_module, "_MARK_EVERY", 1)
    path, work = write_clusters(CLUSTERS[:3]), tmp_path / "work"
    whole = Counting(-1)
    prepare([path], tmp_path / "whole", CONFIG, tagger=whole, workers=1)
    first, second = Counting(2), Counting(-1)
    with pytest.raises(KeyboardInterrupt):
        prepare([path], work / "out", CONFIG, tagger=first, workers=1)
    assert [entry.name for entry in work.iterdir()] == [".out.unfinished"]
    tokens = work / ".out.unfinished" / "tokens.bin"
    tokens.write_bytes(tokens.read_bytes() + b"half a chunk")
    prepare([path], work / "out", CONFIG, tagger=second, workers=1)
    assert first.seen + second.seen == whole.seen
    assert contents(work / "out") == contents(tmp_path / "whole")
    assert [entry.name for entry in work.iterdir()] == ["out"]


def test_an_unfinished_run_of_other_inputs_is_not_taken_up(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger
) -> None:
    unfinished = tmp_path / "work" / ".out.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "origin.json").write_text('{"inputs": []}')
    (unfinished / "journal.jsonl").write_text('{"sizes": {}, "types": {}, "state": {"chunks": 1}}\n')
    prepare([write_clusters(CLUSTERS)], tmp_path / "work" / "out", CONFIG, tagger=rule_tagger, workers=1)
    assert Prepared(tmp_path / "work" / "out").manifest["counts"]["clusters"] == 3
    assert not unfinished.exists()


def test_neither_processes_nor_chunks_change_a_byte(
    tmp_path: Path, write_clusters: WriteClusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = [
        [f"How heavy is {thing}?", f"What is the weight of {thing}?", f'Does "{thing}" weigh a lot?']
        for thing in ("a moose", "an old ship", "the Moon", "my neighbour's dog", "New York", "C++", "the U.S. army")
    ]
    path = write_clusters(clusters)
    prepare([path], tmp_path / "whole", CONFIG, workers=1)
    monkeypatch.setattr(prepare_module, "CHUNK_SENTENCES", 5)
    prepare([path], tmp_path / "chunks", CONFIG, workers=1)
    prepare([path], tmp_path / "processes", CONFIG, workers=2)
    assert contents(tmp_path / "whole") == contents(tmp_path / "chunks") == contents(tmp_path / "processes")
    counts = Prepared(tmp_path / "whole").manifest["counts"]
    assert (counts["clusters"], counts["sentences"]) == (7, 21)
    assert counts["share_with_real_exemplar"] > 0.5  # the shipped tagger sees that the forms are the same


def test_two_corpora_share_a_tokenizer(tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger) -> None:
    first = prepare([write_clusters(CLUSTERS)], tmp_path / "first", CONFIG, tagger=rule_tagger)
    other = write_clusters([["the robot shines", "shines it gladly ?"]])
    file = tmp_path / "first" / "tokenizer.json"
    second = prepare([other], tmp_path / "second", CONFIG, tokenizer=file, tagger=rule_tagger)
    assert second.tokenizer == first.tokenizer
    assert second.text(0) == "the robot shines"
    alone = prepare([other], tmp_path / "second", CONFIG, tagger=rule_tagger)
    assert alone.tokenizer != first.tokenizer


def test_a_bert_vocabulary(tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger) -> None:
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "run", "##s", "?"]) + "\n")
    config = DataConfig(tokenizer="bert", bert_vocab=str(vocab))
    prepared = prepare([write_clusters([["the dog runs ?"]])], tmp_path / "out", config, tagger=rule_tagger)
    assert prepared.sentence_tokens(0).tolist() == [5, 6, 7, 8, 9]
    assert prepared.arrays.slot_ends.tolist() == [1, 2, 4, 5]


def test_what_is_no_prepared_corpus_is_not_replaced(
    tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger
) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("words")
    with pytest.raises(UsageError, match="thesis exists and is not a prepared corpus"):
        prepare([write_clusters(CLUSTERS)], precious, CONFIG, tagger=rule_tagger)
    assert (precious / "chapter.txt").read_text() == "words"
    (precious / "chapter.txt").unlink()
    assert prepare([write_clusters(CLUSTERS)], precious, CONFIG, tagger=rule_tagger).num_clusters == 3


def test_inputs_that_cannot_be(tmp_path: Path, write_clusters: WriteClusters, rule_tagger: Tagger) -> None:
    with pytest.raises(DataError, match=r"missing.jsonl: no such file \(expected a file of clusters\)"):
        prepare([tmp_path / "missing.jsonl"], tmp_path / "out", CONFIG, tagger=rule_tagger)
    with pytest.raises(UsageError, match="no file of clusters"):
        prepare([], tmp_path / "out", CONFIG, tagger=rule_tagger)
    with pytest.raises(DataError, match=r"no sentence is left \(expected sentences of 1 to 2 tokens\)"):
        prepare([write_clusters(CLUSTERS)], tmp_path / "out", replace(CONFIG, max_tokens=2), tagger=rule_tagger)
    assert not (tmp_path / "out").exists()
