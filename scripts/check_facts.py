"""How often do two sentences differ in their facts? People's paraphrases should seldom, changed sentences often.

    python scripts/check_facts.py everyday/dev.jsonl.gz qqp/dev.jsonl.gz meaning/dev.jsonl.gz --show 20

Files hold evaluation items (input against first reference) or labelled pairs ({"a", "b", "same", "source"}).
"""

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from parasketch.text.facts import Changes, compare, facts_of


class Pair(NamedTuple):
    """Two sentences and the group in which they are counted."""

    group: str
    source: str
    output: str


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file, in order."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Pair(f"{path.parent.name} same={row['same']} {row['source']}", row["a"], row["b"])
        if "same" in row
        else Pair(path.parent.name, row["input"], row["references"][0])
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=0, help="flagged pairs to print for each group")
    parser.add_argument("--passed", action="store_true", help="print pairs that were not flagged instead")
    parser.add_argument("--only", default="", help="groups whose names contain this")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    pairs = [pair for path in arguments.files for pair in read_pairs(path) if arguments.only in pair.group]
    groups: dict[str, list[tuple[Pair, Changes]]] = defaultdict(list)
    begun = time.process_time()
    for pair in pairs:
        groups[pair.group].append((pair, compare(facts_of(pair.source), facts_of(pair.output))))
    seconds = time.process_time() - begun
    for group, results in sorted(groups.items()):
        shown = [result for result in results if bool(result[1]) != arguments.passed]
        random.Random(arguments.seed).shuffle(shown)
        for pair, changes in shown[: arguments.show]:
            print(f"  {pair.source}\n  {pair.output}\n      lost {changes.lost} added {changes.added}")
        flagged = sum(bool(changes) for _, changes in results)
        print(f"{group:40} {flagged:5} of {len(results):5} = {flagged / len(results):6.1%}")
    for label in ("same=0", "same=1"):
        results = [result for group, members in groups.items() if label in group for result in members]
        if results:
            print(f"{label:40} {sum(bool(changes) for _, changes in results) / len(results):.1%} of {len(results)}")
    print(f"{len(pairs) / seconds:.0f} pairs a second, both sides read")


if __name__ == "__main__":
    main()
