"""Fit the weights of the everyday model's choice to grades that blind readers gave to its candidates.

    python scripts/fit_choice.py candidates INPUTS.json --model everyday --out candidates.json
    python scripts/fit_choice.py items candidates.json --out items.tsv
    python scripts/fit_choice.py fit candidates.json grades.tsv

`candidates` writes the finalists of each input with their features; `items` writes them in random order for readers
(id, input, output), who write `id<TAB>grade` with 0 wrong, 1 weak, 2 good; `fit` prints weights for the section
`generate.choice` of the model's config.json, and what would have been chosen for inputs that the fit had not seen.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from parasketch.console import console, track
from parasketch.files import write_text
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, Request

FEATURES = ["likelihood", "surprise", "verified", "right", "good", "difference", "length"]
Rows = list[tuple[int, str, dict[str, Any]]]


def write_candidates(inputs: Path, model: str, out: Path) -> None:
    """The finalists of each input, with their features."""
    from parasketch.generate.pretrained import find_model
    from parasketch.systems.sketchlm.engine import load_engine

    texts = [row if isinstance(row, str) else row["text"] for row in json.loads(inputs.read_text("utf-8"))]
    engine = load_engine(find_model(model), "cpu", None)
    result = {}
    for text in track(texts, "candidates", len(texts)):
        result[text] = [
            {
                "text": each.candidate.text,
                "sketch": list(each.candidate.sketch),
                "features": each.features,
                "changes": [*each.changes.lost, *each.changes.added],
            }
            for each in engine.judged(Request(text=engine.prepare([text])[0], prefix=Sketch()), Options())
        ]
    with write_text(out) as stream:
        json.dump(result, stream, indent=0)


def numbered(candidates: Path) -> Rows:
    """All candidates without lost facts in the order of their ids, which is random but always the same."""
    content = json.loads(candidates.read_text("utf-8"))
    rows = [(source, row) for source, found in content.items() for row in found if not row["changes"]]
    random.Random(0).shuffle(rows)
    return [(number, source, row) for number, (source, row) in enumerate(rows)]


def features_of(rows: Rows) -> NDArray[np.float64]:
    """(candidates, features)."""
    return np.array([[row["features"][name] for name in FEATURES] for _, _, row in rows])


def chances(
    x: NDArray[np.float64], grades: NDArray[np.int64], asked: NDArray[np.float64]
) -> tuple[NDArray[np.float64], dict[str, dict[str, float]]]:
    """Expected grades of `asked`, and the weights of "at least weak" and of "good", learnt from graded candidates."""
    expected, weights = np.zeros(len(asked)), {}
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    for grade, name in ((1, "right"), (2, "good")):
        fitted = LogisticRegression(C=0.3, max_iter=2000).fit((x - mean) / scale, grades >= grade)
        expected += fitted.predict_proba((asked - mean) / scale)[:, 1]
        slopes = fitted.coef_[0] / scale
        constant = fitted.intercept_[0] - slopes @ mean
        values = dict(zip(FEATURES, slopes, strict=True), constant=constant)
        weights[name] = {key: round(float(value), 2) for key, value in values.items()}
    return expected, weights


def fit(candidates: Path, grades: Path, folds: int = 10) -> None:
    """Print the weights, and the grades of what they choose for inputs that were held out."""
    lines = [line.split("\t") for line in grades.read_text("utf-8").splitlines() if line.strip()]
    given = {int(number): int(grade) for number, grade, *_ in lines}
    rows = [row for row in numbered(candidates) if row[0] in given]
    x, y = features_of(rows), np.array([given[number] for number, _, _ in rows])
    sources = sorted({source for _, source, _ in rows})
    fold = {source: place % folds for place, source in enumerate(random.Random(1).sample(sources, len(sources)))}
    expected = np.zeros(len(rows))
    for number in range(folds):
        held = np.array([fold[source] == number for _, source, _ in rows])
        expected[held] = chances(x[~held], y[~held], x[held])[0]
    places = {source: [place for place, row in enumerate(rows) if row[1] == source] for source in sources}
    chosen = Counter(int(y[max(each, key=lambda place: float(expected[place]))]) for each in places.values())
    best_possible = Counter(int(max(y[each])) for each in places.values())
    for name, counts in (("all", Counter(y.tolist())), ("chosen, held out", chosen), ("best possible", best_possible)):
        total = sum(counts.values())
        shares = "  ".join(
            f"{label} {100 * counts[g] / total:.1f} %" for g, label in enumerate(("wrong", "weak", "good"))
        )
        console.print(f"{name:18} {total:4}  {shares}")
    print(json.dumps(chances(x, y, x)[1]))


def main() -> None:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    first = steps.add_parser("candidates")
    first.add_argument("inputs", type=Path)
    first.add_argument("--model", default="everyday")
    first.add_argument("--out", type=Path, required=True)
    second = steps.add_parser("items")
    second.add_argument("candidates", type=Path)
    second.add_argument("--out", type=Path, required=True)
    third = steps.add_parser("fit")
    third.add_argument("candidates", type=Path)
    third.add_argument("grades", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "candidates":
        write_candidates(arguments.inputs, arguments.model, arguments.out)
    elif arguments.step == "items":
        with write_text(arguments.out) as stream:
            for number, source, row in numbered(arguments.candidates):
                stream.write(f"{number}\t{source}\t{row['text']}\n")
    else:
        fit(arguments.candidates, arguments.grades)


if __name__ == "__main__":
    main()
