"""Turn what blind readers graded into what the everyday model and its verifier learn from.

    python scripts/use_grades.py docs/grades/candidates-[1-6].tsv --held-out docs/grades/candidates-7.tsv \
        --rewrites data/rewrites/*.tsv.gz --out WORK

A graded file has `grade<TAB>input<TAB>output` lines: 0 wrong, 1 weak, 2 good. Written are

- `graded.jsonl`: for `parasketch train sketchlm`, the outputs of each input with their grades in random order. Rewrites
  are mixed in, their near misses as wrong, so that the model does not forget how people write;
- `verifier.jsonl`, `verifier_dev.jsonl`: labelled pairs for `train_verifier.py`, wrong ones against weak and good ones.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from use_rewrites import Rewrites, read_split, write_rows

from parasketch.errors import DataError
from parasketch.files import read_lines
from parasketch.generate.wording import Overlaps
from parasketch.verify.pairs import MadePair, write_pairs

GRADES = ("0", "1", "2")
Graded = dict[str, dict[str, int]]
"""The grades of outputs by their input."""


def read_grades(paths: Iterable[Path]) -> Graded:
    """All files together; of several grades of the same output the lowest."""
    grades: Graded = {}
    for path in paths:
        for number, line in read_lines(path):
            fields = line.split("\t")
            if len(fields) != 3 or fields[0] not in GRADES:
                raise DataError("not a graded output", path=path, line=number, expected="grade, input, output")
            outputs = grades.setdefault(fields[1], {})
            outputs[fields[2]] = min(int(fields[0]), outputs.get(fields[2], 2))
    return grades


def turned(row: Rewrites, draw: random.Random) -> Rewrites:
    """The same rewrites with one of the paraphrases as the sentence."""
    place = draw.randrange(len(row.paraphrases))
    others = (row.sentence, *row.paraphrases[:place], *row.paraphrases[place + 1 :])
    return Rewrites(row.kind, row.paraphrases[place], others, row.near_miss)


def shared(a: str, b: str) -> float:
    """The share of words that two sentences have in common."""
    overlaps = Overlaps.among([a, b])
    return float(2 * overlaps.matches[0, 0, 1] / overlaps.sizes[0].sum())


def training_rows(
    grades: Graded, rewrites: Sequence[Rewrites], draw: random.Random, least_shared: float = 0.0
) -> list[dict[str, object]]:
    """Sources with graded targets; those of one source follow each other. Bolder paraphrases are left out."""
    together = {source: dict(outputs) for source, outputs in grades.items()}
    for row in rewrites:
        kept = [each for each in row.paraphrases if shared(row.sentence, each) >= least_shared]
        if kept:
            together.setdefault(row.sentence, {}).update(dict.fromkeys(kept, 2) | {row.near_miss: 0})
    rows: list[dict[str, object]] = []
    for source, outputs in together.items():
        targets = [(target, grade) for target, grade in outputs.items() if target]
        for target, grade in draw.sample(targets, len(targets)):
            rows.append({"source": source, "target": target, "grade": grade})
    return rows


def labelled_pairs(grades: Graded) -> list[MadePair]:
    """An input and an output, which says the same unless it was found wrong."""
    return [
        MadePair(source, output, grade > 0, "graded", "people")
        for source, outputs in grades.items()
        for output, grade in outputs.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--held-out", type=Path, nargs="*", default=[], help="graded files whose inputs are not learnt")
    parser.add_argument("--rewrites", type=Path, nargs="*", default=[])
    parser.add_argument(
        "--most-rewrites", type=int, default=1500, help="rewrites of other inputs, drawn at random (default 1500)"
    )
    parser.add_argument(
        "--least-shared",
        type=float,
        default=0.62,
        help="share of words that a paraphrase must have in common with its sentence: bolder ones are too hard",
    )
    parser.add_argument(
        "--turned", type=float, default=0.4, help="share of the rewrites that are also learnt from a paraphrase on"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    held = read_grades(arguments.held_out)
    train = {source: graded for source, graded in read_grades(arguments.files).items() if source not in held}
    rewrites, _ = read_split(arguments.rewrites)
    others = [row for row in rewrites if row.sentence not in train]
    chosen = draw.sample(others, min(arguments.most_rewrites, len(others)))
    chosen += [row for row in rewrites if row.sentence in train]  # what those inputs should have become
    chosen += [turned(row, draw) for row in chosen if draw.random() < arguments.turned]
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_rows(arguments.out / "graded.jsonl", training_rows(train, chosen, draw, arguments.least_shared))
    write_pairs(arguments.out / "verifier.jsonl", labelled_pairs(train))
    write_pairs(arguments.out / "verifier_dev.jsonl", labelled_pairs(held))


if __name__ == "__main__":
    main()
