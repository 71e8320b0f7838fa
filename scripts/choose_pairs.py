"""Choose training pairs for the language-model kind from clusters of paraphrases.

Most pairs of most corpora teach copying ("someone" for "somebody") or something wrong. Kept are pairs that differ in
words of content or in their order, agree in facts (text/facts), are of like length, and look like whole sentences;
each source of the data has its share, and names that a corpus repeats ("Tom") vary.

    python scripts/choose_pairs.py everyday.jsonl.gz news.jsonl.gz qqp.jsonl.gz --out pairs.jsonl
    python scripts/choose_pairs.py everyday.jsonl.gz news.jsonl.gz qqp.jsonl.gz --out first.jsonl --loose

With --loose trivial differences pass, too, and facts are not compared: many pairs, for a first stage.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from parasketch.console import console, track
from parasketch.files import read_lines, write_text
from parasketch.text.facts import compare, facts_of
from parasketch.text.templates import STOP_WORDS

SHARES = {  # at most so many pairs of each source, and the least share of words that a pair must have in common
    "tatoeba_diverse": (11_000, 0.42),
    "paraphrase_nlu": (6_000, 0.25),
    "wmt_outputs_nocommercial": (5_000, 0.42),
    "qqp": (4_000, 0.42),
    "wmt_testsuites_nocommercial": (2_500, 0.42),
    "qcpg_parabk2": (1_200, 0.42),
    "msvd_tight": (600, 0.42),
    "paradetox_neutral": (300, 0.42),
}
LOOSE_FACTOR = 3
MOST_COMMON, LONGEST = 0.82, 40
MEN = "James Daniel Peter Omar Luis Chen Ravi Ben Jack Oliver Sam Mark Paul Ali Kenji Ivan David Karim Leo Max"
WOMEN = "Anna Maria Emma Sarah Julia Lucy Mei Priya Fatima Laura Nora Clara Lena Sofia Olga Kate Susan Helen"
NAMES = {"Tom": MEN.split(), "Mary": WOMEN.split()}
LIGHT_WORDS = """would could should might may must shall will can cannot somebody someone anyone anybody everybody
everyone also too much many lot lots really very quite"""
_WORD = re.compile(r"[\w']+")
_ODD = re.compile(r"[<>{}|\\@#]|http|\s[.,?!;]|[A-Z]{6,}|''|``")
_LIGHT = STOP_WORDS | frozenset(LIGHT_WORDS.split())
_ENDINGS = ("ing", "ed", "es", "s", "ly", "er")


def words_of(text: str) -> list[str]:
    """The words of a text, without casing."""
    return _WORD.findall(text.lower().replace("’", "'"))


def stem(word: str) -> str:
    """A word without a common ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content(words: list[str]) -> list[str]:
    """The stems of the words that are not function words."""
    return [stem(word) for word in words if word not in _LIGHT and "'" not in word]


def is_whole(text: str) -> bool:
    """Whether a text looks like one proper sentence."""
    words = len(text.split())
    proper = (text[0].isupper() or text[0].isdigit() or text[0] in "\"'") and text[-1] in '.?!"'
    return 4 <= words <= LONGEST and proper and not _ODD.search(text)


def shared(first: list[str], second: list[str]) -> float:
    """The F1 of two lists of words."""
    both = sum((Counter(first) & Counter(second)).values())
    return 2 * both / max(len(first) + len(second), 1)


def is_useful(a: str, b: str, least: float, *, loose: bool) -> bool:
    """Whether b is a paraphrase of a that teaches something."""
    first, second = words_of(a), words_of(b)
    if not 0.72 <= len(second) / max(len(first), 1) <= 1.4 or (a[-1] == "?") != (b[-1] == "?"):
        return False
    if not least <= shared(first, second) <= MOST_COMMON:
        return False
    if loose:
        return True
    ours, theirs = content(first), content(second)
    if ours == theirs:
        return False  # only function words differ
    before, after = facts_of(a), facts_of(b)
    return not compare(before, after) and not compare(after, before)


def pairs_in(path: Path, *, loose: bool, draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Useful pairs of a file of clusters, in random order, with their source."""
    clusters = [json.loads(line) for _, line in read_lines(path)]
    draw.shuffle(clusters)
    for cluster in clusters:
        source = cluster.get("source", path.parent.name or path.stem)
        if source not in SHARES:
            continue
        sentences = [text for text in dict.fromkeys(cluster["sentences"]) if is_whole(text)]
        pairs = list(permutations(sentences, 2))
        draw.shuffle(pairs)
        found = [pair for pair in pairs[:12] if is_useful(*pair, SHARES[source][1], loose=loose)]
        for a, b in found[:3]:
            yield a, b, source


def rename(a: str, b: str, draw: random.Random) -> tuple[str, str]:
    """Another name for the one that a corpus repeats."""
    for name, others in NAMES.items():
        if name in a + b and draw.random() < 0.93:
            new = draw.choice(others)
            a, b = (re.sub(rf"\b{name}\b", new, text) for text in (a, b))
    return a, b


def main() -> None:
    """Read clusters, write pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clusters", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--loose", action="store_true")
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    counts: Counter[str] = Counter()
    chosen: list[tuple[str, str]] = []
    for path in arguments.clusters:
        for a, b, source in track(pairs_in(path, loose=arguments.loose, draw=draw), path.name):
            if counts[source] < SHARES[source][0] * (LOOSE_FACTOR if arguments.loose else 1):
                counts[source] += 1
                a, b = rename(a, b, draw)
                # People also type without capitals and full stops; the answer has them.
                a = a.lower() if draw.random() < 0.03 else a.rstrip(".?!") if draw.random() < 0.03 else a
                chosen.append((a, b))
    draw.shuffle(chosen)
    with write_text(arguments.out) as stream:
        for a, b in chosen:
            stream.write(json.dumps({"source": a, "target": b}, ensure_ascii=False) + "\n")
    console.print(
        f"{len(chosen):,} pairs: " + ", ".join(f"{source} {count:,}" for source, count in counts.most_common())
    )


if __name__ == "__main__":
    main()
