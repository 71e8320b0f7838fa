"""Fit the faithfulness from which on a model's paraphrases are accepted, and show what it is worth.

    python scripts/fit_acceptance.py questions --dev qqp/dev.jsonl.gz --test qqp/test.jsonl.gz --write

Right pairs are inputs with their first references. Wrong ones are inputs with something else: another item's reference,
the reference with its words shuffled; the input with a negation more or less, another number, another name. The facts
are checked besides, as in generation. The threshold accepts no more than a share of the right dev pairs with kept facts
(`--accept`): references are freer than a model's outputs, and what is nonsense is worse than what is missed. It is
higher where more than a share of all pairs with another item's reference would pass (`--wrong`).
"""

import argparse
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parasketch.data.corpora import EvalItem, read_eval
from parasketch.files import write_text
from parasketch.generate.backend import form_of
from parasketch.generate.hrqvae import HrqvaeEngine, load_engine
from parasketch.generate.pretrained import find_model
from parasketch.model.storage import CONFIG
from parasketch.text.facts import compare, facts_of

Pair = tuple[str, str]
OTHER = "other item"
KINDS = ("references", OTHER, "shuffled", "negated", "number", "name")
_NOT = re.compile(r"\b(?:not|never)\s+|n't\b")
_VERB = re.compile(r"\b(?:is|are|was|were|can|could|will|would|should|do|does|did|has|have)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


def make_pairs(items: Sequence[EvalItem], seed: int) -> dict[str, list[Pair]]:
    """Pairs of every kind; items without a number or a name have none of that kind."""
    draw = random.Random(seed)
    names = [item.input[name.start : name.end] for item in items for name in facts_of(item.input).names.parts]
    pairs: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    for place, item in enumerate(items):
        reference = item.references[0]
        pairs["references"].append((item.input, reference))
        pairs[OTHER].append((item.input, items[place - 1].references[0]))
        words = reference.split()
        draw.shuffle(words)
        pairs["shuffled"].append((item.input, " ".join(words)))
        if negated := _negated(item.input):
            pairs["negated"].append((item.input, negated))
        if number := _NUMBER.search(item.input):
            other = str(int(number[0]) + draw.randint(1, 9))
            pairs["number"].append((item.input, item.input[: number.start()] + other + item.input[number.end() :]))
        parts = facts_of(item.input).names.parts
        if parts and (new := draw.choice(names)).casefold() not in item.input.casefold():
            pairs["name"].append((item.input, item.input[: parts[0].start] + new + item.input[parts[0].end :]))
    return pairs


def _negated(text: str) -> str | None:
    if _NOT.search(text):
        return _NOT.sub("", text, count=1)
    return _VERB.sub(lambda verb: f"{verb[0]} not", text, count=1) if _VERB.search(text) else None


def faithfulness(engine: HrqvaeEngine, pairs: Sequence[Pair]) -> np.ndarray:
    """How well the model gets the first text of each pair back from the second, as in generation."""
    begin, end = engine.tokenizer.bos_id, engine.tokenizer.eos_id
    texts, others = (engine.prepare([pair[side] for pair in pairs]) for side in (0, 1))
    form = form_of(engine.backend.codebooks, np.array(engine.sketches_of(texts)))
    framed = [[[begin, *text.tokens, end] for text in side] for side in (others, texts)]
    lengths = np.array([len(tokens) - 1 for tokens in framed[1]])
    with engine.backend.working():
        return np.exp(engine.backend.log_likelihood(framed[0], framed[1], form) / lengths)


def keeps_facts(pairs: Sequence[Pair]) -> np.ndarray:
    return np.array([not compare(facts_of(one), facts_of(other)) for one, other in pairs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dev", type=Path, required=True, help="items that the threshold is fitted to")
    parser.add_argument("--test", type=Path, help="items that only the table is made of")
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--accept", type=float, default=0.8, help="share of the right dev pairs with kept facts")
    parser.add_argument("--wrong", type=float, default=0.05, help="share of the pairs with another item's reference")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="store the threshold in the model's config.json")
    arguments = parser.parse_args()
    directory = find_model(arguments.model)
    engine = load_engine(directory, "cpu", None)
    made = make_pairs(list(read_eval(arguments.dev))[: arguments.limit], arguments.seed)
    right, wrong = (np.where(keeps_facts(made[k]), faithfulness(engine, made[k]), 0) for k in ("references", OTHER))
    bounds = np.quantile(right[right > 0], 1 - arguments.accept), np.quantile(wrong, 1 - arguments.wrong)
    threshold = round(float(max(bounds)), 3)
    print(f"{arguments.model}: least_faithfulness {threshold}")
    for path in filter(None, (arguments.dev, arguments.test)):
        print(f"{path.parent.name}/{path.name}: accepted by facts, by faithfulness, by both")
        for kind, pairs in make_pairs(list(read_eval(path))[: arguments.limit], arguments.seed).items():
            if pairs:
                kept, faithful = keeps_facts(pairs), faithfulness(engine, pairs) >= threshold
                shares = (f"{100 * each.mean():5.1f} %" for each in (kept, faithful, kept & faithful))
                print(f"  {kind:12}{len(pairs):5} pairs {' '.join(shares)}")
    if arguments.write:
        content = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
        content.setdefault("generate", {})["least_faithfulness"] = threshold
        with write_text(directory / CONFIG) as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")


if __name__ == "__main__":
    main()
