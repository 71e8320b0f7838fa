"""Choose the threshold of a trained verifier on dev pairs, and evaluate it on test pairs.

    python scripts/judge_verifier.py decide WORK/second DATA --pairs WORK/dev.jsonl --out MODEL --card CARD
    python scripts/judge_verifier.py evaluate MODEL DATA --base BASE --pairs WORK/test.jsonl --write docs/verifier.md

WORK and BASE are those of `train_verifier.py`, which also makes the pairs; DATA is the data directory.
"""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from parasketch.files import write_text
from parasketch.model.storage import CONFIG, WEIGHTS
from parasketch.verify.figures import equal_error_threshold, fit_temperature, judge
from parasketch.verify.pairs import MadePair, read_clusters, read_pairs, word_overlap
from parasketch.verify.sentence_vectors import SentenceVectors
from parasketch.verify.storage import Decision, load_verifier, save_verifier
from parasketch.verify.verifier import Verifier

MARK = "<!-- figures -->"
SETS = ("everyday", "news", "qqp")
COLUMNS = (
    *("pairs", "number", "right", "AUC", "AUC of cosine", "AUC of overlap"),
    *("precision", "right accepted", "wrong rejected"),
)


def decide(arguments: argparse.Namespace) -> None:
    """Fit temperature and threshold on dev pairs, and write the verifier with them."""
    torch.set_num_threads(1)
    loaded = load_verifier(arguments.run_directory / "export")
    verifier = Verifier.from_model(loaded.model, loaded.tokenizer, Decision())
    meaning = list(read_pairs(arguments.data / "meaning" / "dev.jsonl.gz"))
    made = first_of_each(read_pairs(arguments.pairs), arguments.most)
    texts, same = [(pair.a, pair.b) for pair in [*meaning, *made]], [pair.same for pair in [*meaning, *made]]
    logits = verifier.logits(texts).astype(float)
    verifier.decision = Decision(temperature=fit_temperature(logits, same))
    scores = 1 / (1 + np.exp(-logits / verifier.decision.temperature))
    of_made, labels = scores[len(meaning) :], same[len(meaning) :]
    decision = replace(verifier.decision, threshold=equal_error_threshold(of_made, labels))
    content = json.loads((arguments.run_directory / "export" / CONFIG).read_text(encoding="utf-8"))
    card = arguments.card.read_text(encoding="utf-8") if arguments.card else None
    sections = {"train": content["train"]}
    save_verifier(arguments.out, loaded.model, loaded.tokenizer, decision, sections=sections, card=card)
    print(decision)
    print(
        "| threshold | made right accepted | made wrong rejected | "
        + " | ".join(f"{name} references" for name in SETS)
        + " |"
    )
    print("|---:|" + "---:|" * 5)
    references = [
        verifier(reference_pairs(arguments.data / name / "dev.jsonl.gz")[: arguments.references]) for name in SETS
    ]
    for threshold in sorted({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, decision.threshold}):
        figures = judge(of_made, labels, threshold)
        accepted = [judge(group, [True] * len(group), threshold).accepted for group in references]
        cells = [cell(value) for value in (figures.accepted, figures.rejected, *accepted)]
        print(f"| {threshold:.2f} | {' | '.join(cells)} |")
    if arguments.compare:
        both = (logits + verifier.logits([(b, a) for a, b in texts]).astype(float)) / 2
        one, two = (judge(values[: len(meaning)], same[: len(meaning)], 0.0).auc for values in (logits, both))
        print(f"AUC on meaning dev: one direction {cell(one)}, both {cell(two)}")
        loaded.model.load_state_dict(load_file(arguments.run_directory / "checkpoint" / WEIGHTS))
        exact = verifier.logits(texts[: len(meaning)]).astype(float)
        changes = np.abs(np.diff([1 / (1 + np.exp(-values)) for values in (exact, logits[: len(meaning)])], axis=0))
        print(f"8 bits change probabilities by {changes.mean():.4f} on average, {changes.max():.4f} at most")


def first_of_each(pairs: Iterable[MadePair], most: int) -> list[MadePair]:
    """The first pairs of every source, kind and label, at most so many of each."""
    kept: dict[tuple[str, str, bool], list[MadePair]] = {}
    for pair in pairs:
        group = kept.setdefault((pair.source, pair.kind, pair.same), [])
        if len(group) < most:
            group.append(pair)
    return [pair for group in kept.values() for pair in group]


def reference_pairs(path: Path) -> list[tuple[str, str]]:
    """Every input with its first reference."""
    return [(cluster[0], cluster[1]) for cluster in read_clusters(path)]


def evaluate(arguments: argparse.Namespace) -> None:
    """Print the figures of a verifier on test pairs beside those of cosine and overlap; write them into a document."""
    torch.set_num_threads(1)
    verifier = Verifier.from_pretrained(arguments.model)
    embedder = SentenceVectors(arguments.base)
    part = arguments.part
    groups: dict[str, list[MadePair]] = {
        "meaning, all": list(read_pairs(arguments.data / "meaning" / f"{part}.jsonl.gz"))
    }
    for pair in groups["meaning, all"]:
        groups.setdefault(pair.source, []).append(pair)
    made = first_of_each(read_pairs(arguments.pairs), arguments.most)
    groups["made, all"] = made
    for pair in made:
        groups.setdefault(f"made from {pair.source}", []).append(pair)
    for name in SETS:
        path = arguments.data / name / f"{part}.jsonl.gz"
        groups[f"{name} {part} references"] = [
            MadePair(a, b, True, name, "reference") for a, b in reference_pairs(path)[: arguments.references]
        ]
    kinds: dict[str, list[MadePair]] = {}
    for pair in sorted(made, key=lambda pair: (pair.same, pair.kind)):
        kinds.setdefault(f"{'right' if pair.same else 'wrong'}: {pair.kind}", []).append(pair)
    pairs = list(dict.fromkeys(pair for group in groups.values() for pair in group))
    places = {pair: place for place, pair in enumerate(pairs)}
    scores = np.asarray(verifier([(pair.a, pair.b) for pair in pairs]))
    overlap = np.asarray([word_overlap(pair.a, pair.b) for pair in pairs])
    vectors = embedder([text for pair in pairs for text in (pair.a, pair.b)])
    cosine = (vectors[::2] * vectors[1::2]).sum(axis=1).astype(np.float64)

    def row(name: str, group: list[MadePair]) -> str:
        chosen, same = [places[pair] for pair in group], [pair.same for pair in group]
        figures = judge(scores[chosen], same, verifier.decision.threshold)
        others = [judge(other[chosen], same, 0.5).auc for other in (cosine, overlap)]
        cells = [cell(value) for value in (figures.auc, *others, figures.precision, figures.accepted, figures.rejected)]
        return f"| {name} | {figures.pairs} | {figures.right} | {' | '.join(cells)} |"

    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * (len(COLUMNS) - 1)]
    lines += [*(row(name, group) for name, group in groups.items())]
    lines += [
        "",
        "By kind of made pair:",
        "",
        "| kind | " + " | ".join(SETS) + " | all | number |",
        "|---|" + "---:|" * 5,
    ]
    for kind, group in kinds.items():
        parts = [[pair for pair in group if pair.source == name] for name in SETS]
        values = [
            judge(scores[[places[p] for p in g]], [p.same for p in g], verifier.decision.threshold) if g else None
            for g in (*parts, group)
        ]
        cells = [cell(None if v is None else v.accepted if group[0].same else v.rejected) for v in values]
        lines.append(f"| {kind} | {' | '.join(cells)} | {len(group)} |")
    text = "\n".join(lines)
    print(text)
    if arguments.write:
        before, after = arguments.write.read_text(encoding="utf-8").split(MARK)[::2]
        with write_text(arguments.write) as stream:
            stream.write(f"{before}{MARK}\n{text}\n{MARK}{after}")


def cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("decide", help="fit temperature and threshold")
    command.set_defaults(run=decide)
    command.add_argument("run_directory", type=Path)
    command.add_argument("data", type=Path)
    command.add_argument("--pairs", type=Path, required=True)
    command.add_argument("--most", type=int, default=50, help="made pairs of each source, kind and label")
    command.add_argument("--references", type=int, default=1_000, help="items of each set whose reference is judged")
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--compare", action="store_true", help="what both directions and 8 bits change")
    command.add_argument("--card", type=Path, help="the README.md to put into the model's directory")
    command = commands.add_parser("evaluate", help="figures on held-out pairs")
    command.set_defaults(run=evaluate)
    command.add_argument("model", type=Path)
    command.add_argument("data", type=Path)
    command.add_argument("--base", type=Path, required=True)
    command.add_argument("--pairs", type=Path, required=True)
    command.add_argument("--most", type=int, default=50, help="made pairs of each source, kind and label")
    command.add_argument("--references", type=int, default=1_000, help="items of each set whose reference is judged")
    command.add_argument("--part", choices=["dev", "test"], default="test")
    command.add_argument("--write", type=Path, help="a document with two marks between which the tables go")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
