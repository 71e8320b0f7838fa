"""Turn the written rewrites (data/rewrites) into what is trained on.

    python scripts/use_rewrites.py data/rewrites/*.tsv.gz --out WORK

Each row is a kind, a sentence, three paraphrases of it and a near miss: a sentence that looks like a fourth but changes
something that matters; where there is none its field is empty. Every 40th row is held out. Written are

- `pairs.jsonl`, `dev.jsonl`: for `parasketch train sketchlm`. The sentence becomes its paraphrases, and one of the
  paraphrases becomes the sentence and the other two, so that the model also learns to begin from a paraphrase;
- `verifier.jsonl`, `verifier_dev.jsonl`: labelled pairs for `train_verifier.py`, as many right ones as near misses.
"""

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parasketch.console import console
from parasketch.errors import DataError
from parasketch.files import read_lines, write_text
from parasketch.verify.pairs import MadePair, write_pairs

HELD_OUT = 40
FIELDS = ["kind", "sentence", "paraphrase", "paraphrase", "paraphrase", "near miss"]


@dataclass(frozen=True)
class Rewrites:
    """One row."""

    kind: str
    sentence: str
    paraphrases: tuple[str, ...]
    near_miss: str


def read_rewrites(path: Path) -> list[Rewrites]:
    """All rows of a file, plain or .gz."""
    rows = []
    for number, line in read_lines(path):
        fields = [" ".join(field.split()) for field in line.split("\t")]
        if len(fields) != len(FIELDS) or not all(fields[:-1]):
            raise DataError("not a row of rewrites", path=path, line=number, expected=", ".join(FIELDS))
        rows.append(Rewrites(fields[0], fields[1], tuple(fields[2:5]), fields[5]))
    return rows


def read_split(paths: Iterable[Path]) -> tuple[list[Rewrites], list[Rewrites]]:
    """The rows of files to learn from, and those that are held out."""
    train: list[Rewrites] = []
    held: list[Rewrites] = []
    for path in paths:
        for number, row in enumerate(read_rewrites(path), 1):
            (train if number % HELD_OUT else held).append(row)
    return train, held


def training_pairs(rows: Iterable[Rewrites], draw: random.Random) -> list[dict[str, str]]:
    """Pairs of a source and a target; those of one source follow each other."""
    pairs = []
    for row in rows:
        everyone = [row.sentence, *row.paraphrases]
        for source in (row.sentence, draw.choice(row.paraphrases)):
            targets = [each for each in everyone if each.lower() != source.lower()]
            pairs += [{"source": source, "target": target} for target in targets]
    return pairs


def labelled_pairs(rows: Iterable[Rewrites], draw: random.Random) -> list[MadePair]:
    """Right and wrong pairs that look alike."""
    pairs = []
    for row in rows:
        everyone = [row.sentence, *row.paraphrases]
        for a in draw.sample(everyone, 3):
            b = draw.choice([each for each in everyone if each != a])
            pairs.append(MadePair(a, b, True, "rewrites", "cluster"))
            if row.near_miss:
                first, second = draw.sample([a, row.near_miss], 2)
                pairs.append(MadePair(first, second, False, "rewrites", "near_miss"))
    return pairs


def write_rows(path: Path, rows: Sequence[object]) -> None:
    """One JSON object a line."""
    with write_text(path) as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    console.print(f"{path}: {len(rows):,} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    train, held = read_split(arguments.files)
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_rows(arguments.out / "pairs.jsonl", training_pairs(train, random.Random(arguments.seed)))
    write_rows(
        arguments.out / "dev.jsonl",
        [{"input": row.sentence, "references": row.paraphrases, "kind": row.kind} for row in held],
    )
    write_pairs(arguments.out / "verifier.jsonl", labelled_pairs(train, random.Random(arguments.seed)))
    write_pairs(arguments.out / "verifier_dev.jsonl", labelled_pairs(held, random.Random(arguments.seed)))


if __name__ == "__main__":
    main()
