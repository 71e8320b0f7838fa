"""Write docs/results.md from results directories and runs: only the paper's own figures are typed by hand.

    python scripts/write_results.py --against questions --run questions=runs/questions RESULTS... > docs/results.md

Learning curves of the runs go to docs/curves-NAME.svg (needs the `plots` extra).
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

from parasketch.evaluate.compare import Table, paired_tests, tables
from parasketch.evaluate.outputs import Outputs
from parasketch.evaluate.report import render
from parasketch.evaluate.results import OUTPUTS, Results

PAPER_TABLE_1 = {
    "copy": ("34.52 / 100 / 7.61", "19.85 / 100 / -4.12"),
    "tfidf": ("24.05 / 62.49 / 6.75", "18.26 / 38.37 / 6.93"),
    "hrqvae": ("33.11 / 40.35 / 18.42", "27.90 / 16.58 / 19.04"),
    "oracle": ("50.47 / 36.84 / 33.01", "35.80 / 12.85 / 26.07"),
}
PAPER_TOP_3 = {"hrqvae": ("17.49 / 57.29", "18.39 / 41.29")}
PAPER_DATA = {"qqp/test": 0, "mscoco/test": 1}
"""Which of the paper's sets each of ours is a part of."""
PAPER_NOTE = """\
The columns "the paper's" repeat what the paper reports, the same scores in the same order, for data of its own: six
times as many COCO images, and a QQP split in which 31 % of the test inputs occur in the training data. They cannot be
compared downwards.
"""
EXAMPLES = 10
DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="directories that `parasketch evaluate` wrote")
    parser.add_argument("--against", action="append", default=[], help="a system that others are tested against")
    parser.add_argument("--run", action="append", default=[], metavar="NAME=DIR", help="a training run to plot")
    arguments = parser.parse_args()

    loaded = [Results.load(path) for path in arguments.results]
    tests = [test for system in arguments.against for test in paired_tests(on_its_data(loaded, system), system)]
    print("# Results\n")
    print("Written by `scripts/write_results.py`; the commands that made each number stand at the end.\n")
    print(PAPER_NOTE)
    first, *others = tables(loaded, tests)
    roles = dict.fromkeys(arguments.against, "hrqvae") | {f"{name} oracle": "oracle" for name in arguments.against}
    shown = [beside_paper(first, loaded, PAPER_TABLE_1, roles)]
    shown += [beside_paper(one, loaded, PAPER_TOP_3, roles) if one.title.startswith("Top 3") else one for one in others]
    print(render("markdown", shown, loaded).replace("### ", "## "))
    for path, result in zip(arguments.results, loaded, strict=True):
        if result.system in arguments.against:
            print(f"## {EXAMPLES} examples, unselected: {result.system} on {result.data}\n")
            print(examples(path))
    for run in arguments.run:
        name, _, directory = run.partition("=")
        print(curves(name, Path(directory)))


def beside_paper(
    table: Table, results: list[Results], paper: dict[str, tuple[str, str]], roles: dict[str, str]
) -> Table:
    """A table of systems with a further column for each data set: what the paper reports for a system in that role."""
    sets = [data for data in dict.fromkeys(one.data for one in results) if data in PAPER_DATA]
    evaluated = {(one.system, one.data) for one in results}

    def cell(system: str, data: str) -> str:
        figures = paper.get(roles.get(system, system))
        return figures[PAPER_DATA[data]] if figures and (system, data) in evaluated else "–"

    return replace(
        table,
        header=[*table.header, *(f"{data}: the paper's" for data in sets)],
        rows=[[*row, *(cell(row[0], data) for data in sets)] for row in table.rows],
    )


def on_its_data(results: list[Results], system: str) -> list[Results]:
    """The results on the data sets that a system was evaluated on."""
    known = {result.data for result in results if result.system == system}
    return [result for result in results if result.data in known]


def examples(path: Path) -> str:
    """The first items of a results directory as a table."""
    lines = ["| input | output |", "|---|---|"]
    for line in (path / OUTPUTS).read_text("utf-8").splitlines()[:EXAMPLES]:
        item: dict[str, Outputs] = json.loads(line)
        cells = [str(item["input"]), " <br> ".join(str(output) for output in item["outputs"])]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def curves(name: str, run: Path) -> str:
    """Dev scores and code perplexities over the run: a plot, and the table of the dev scores."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    train = [record for record in records if "train" in record]
    dev = [record for record in records if "dev" in record]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.5))
    for key in [key for key in dev[-1]["dev"] if key == "ibleu" or key.startswith("oracle")]:
        left.plot([one["seconds"] / 60 for one in dev], [one["dev"][key] for one in dev], label=key)
    for key in [key for key in train[-1]["train"] if key.startswith("perplexity")]:
        right.plot([one["seconds"] / 60 for one in train], [one["train"][key] for one in train], label=key)
    for axes, title in ((left, "dev iBLEU (greedy)"), (right, "codes in use")):
        axes.set(title=title, xlabel="minutes")
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(DOCS / f"curves-{name}.svg")
    keys = list(dev[-1]["dev"])
    lines = [
        f"## Learning curve: {name}",
        "",
        f"![dev iBLEU and code perplexities](curves-{name}.svg)",
        "",
        "| step | minutes | " + " | ".join(keys) + " |",
        "|---:|---:|" + "---:|" * len(keys),
    ]
    for one in dev:
        cells = " | ".join(f"{one['dev'][key]:.2f}" for key in keys)
        lines.append(f"| {one['step']} | {one['seconds'] / 60:.1f} | {cells} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
