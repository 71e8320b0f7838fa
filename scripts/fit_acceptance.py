"""Fit what a model's paraphrases need to be accepted, and show what it is worth.

    python scripts/fit_acceptance.py questions --dev qqp/dev.jsonl.gz --test qqp/test.jsonl.gz --write

Right pairs are inputs with their first references. Wrong ones are inputs with something else: another item's reference,
the reference with its words shuffled; the input with a negation more or less, another number, another name. The facts
are compared as in generation. Thresholds are fitted to the dev pairs:

- the fluency that all but a share of the shuffled references stay below (`--shuffled`);
- the faithfulness and the verifier's probability, as high as they can be if a share of the right pairs whose facts are
  kept is to be accepted in the end (`--accept`), each rejecting as many of them.

A model without a faithfulness of its own (`everyday`) is judged by the rest, and nothing is written.
"""

import argparse
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.data.corpora import EvalItem, read_eval
from parasketch.files import write_text
from parasketch.generate.backend import form_of
from parasketch.generate.hrqvae import HrqvaeEngine, load_engine
from parasketch.generate.pretrained import find_model
from parasketch.model.directory import ModelDirectory, open_directory
from parasketch.model.storage import CONFIG
from parasketch.text.facts import compare, facts_of
from parasketch.text.fluency import fluency, words_of
from parasketch.verify import Verifier

Pair = tuple[str, str]
RIGHT, SHUFFLED = "references", "shuffled"
KINDS = (RIGHT, "other item", SHUFFLED, "negated", "number", "name")
_NOT = re.compile(r"\b(?:not|never)\s+|n't\b")
_VERB = re.compile(r"\b(?:is|are|was|were|can|could|will|would|should|do|does|did|has|have)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Measured:
    """What is known of pairs, one value a pair."""

    kept: NDArray[np.bool_]
    """Whether the facts are the same."""
    fluency: NDArray[np.float64]
    faithfulness: NDArray[np.float64] | None
    verified: NDArray[np.float64]


@dataclass(frozen=True)
class Thresholds:
    """What is stored with the model."""

    least_fluency: float
    least_faithfulness: float
    least_verified: float

    def checks(self, measured: Measured) -> dict[str, NDArray[np.bool_]]:
        """Which pairs pass each check, and all of them."""
        found = {"facts": measured.kept, "fluency": measured.fluency >= self.least_fluency}
        if measured.faithfulness is not None:
            found["faithfulness"] = measured.faithfulness >= self.least_faithfulness
        found["verifier"] = measured.verified >= self.least_verified
        return found | {"all": np.all(list(found.values()), axis=0)}


def make_pairs(items: Sequence[EvalItem], seed: int) -> dict[str, list[Pair]]:
    """Pairs of every kind; items without a number or a name have none of that kind."""
    draw = random.Random(seed)
    names = [item.input[name.start : name.end] for item in items for name in facts_of(item.input).names.parts]
    pairs: dict[str, list[Pair]] = {kind: [] for kind in KINDS}
    for place, item in enumerate(items):
        reference = item.references[0]
        pairs[RIGHT].append((item.input, reference))
        pairs["other item"].append((item.input, items[place - 1].references[0]))
        words = reference.split()
        draw.shuffle(words)
        if words_of(" ".join(words)) != words_of(reference):
            pairs[SHUFFLED].append((item.input, " ".join(words)))
        if negated := _negated(item.input):
            pairs["negated"].append((item.input, negated))
        if number := _NUMBER.search(item.input):
            other = str(int(number[0]) + draw.randint(1, 9))
            pairs["number"].append((item.input, item.input[: number.start()] + other + item.input[number.end() :]))
        parts = facts_of(item.input).names.parts
        if parts and (new := draw.choice(names)).casefold() not in item.input.casefold():
            pairs["name"].append((item.input, item.input[: parts[0].start] + new + item.input[parts[0].end :]))
    return {kind: made for kind, made in pairs.items() if made}


def _negated(text: str) -> str | None:
    if _NOT.search(text):
        return _NOT.sub("", text, count=1)
    return _VERB.sub(lambda verb: f"{verb[0]} not", text, count=1) if _VERB.search(text) else None


def measure(pairs: Sequence[Pair], engine: HrqvaeEngine | None, verifier: Verifier) -> Measured:
    return Measured(
        kept=np.array([not compare(facts_of(one), facts_of(other)) for one, other in pairs]),
        fluency=np.array([fluency(other) for _, other in pairs]),
        faithfulness=None if engine is None else faithfulness(engine, pairs),
        verified=np.array(verifier(pairs)),
    )


def faithfulness(engine: HrqvaeEngine, pairs: Sequence[Pair]) -> NDArray[np.float64]:
    """How well the model gets the first text of each pair back from the second, as in generation."""
    begin, end = engine.tokenizer.bos_id, engine.tokenizer.eos_id
    texts, others = (engine.prepare([pair[side] for pair in pairs]) for side in (0, 1))
    form = form_of(engine.backend.codebooks, np.array(engine.sketches_of(texts)))
    framed = [[[begin, *text.tokens, end] for text in side] for side in (others, texts)]
    lengths = np.array([len(tokens) - 1 for tokens in framed[1]])
    with engine.backend.working():
        return np.exp(engine.backend.log_likelihood(framed[0], framed[1], form) / lengths)


def fit(right: Measured, shuffled: Measured, *, passing: float, accept: float, verifier: bool) -> Thresholds:
    """The strictest thresholds with which so many of the right pairs are accepted whose facts are kept."""
    least_fluency = round(float(np.quantile(shuffled.fluency, 1 - passing)), 2)
    good = right.kept & (right.fluency >= least_fluency)
    judges = (right.faithfulness, right.verified if verifier else None)
    for doubt in np.arange(0.5, 0, -0.005):  # the share of the right pairs that each of the two judges rejects
        least = [0.0 if each is None else round(float(np.quantile(each[good], doubt)), 3) for each in judges]
        thresholds = Thresholds(least_fluency, *least)
        if thresholds.checks(right)["all"][right.kept].mean() >= accept:
            break
    return thresholds


def show(thresholds: Thresholds, measured: dict[str, Measured]) -> None:
    """The share of each kind that passes each check, and all of them."""
    for kind, each in measured.items():
        checks = thresholds.checks(each)
        shares = "  ".join(f"{check} {100 * passed.mean():5.1f} %" for check, passed in checks.items())
        print(f"  {kind:12}{len(each.kept):5} pairs  {shares}")
    checks = thresholds.checks(measured[RIGHT])
    among = 100 * checks["all"][checks["facts"]].mean()
    print(f"  of the references whose facts are kept, accepted: {among:.1f} %")


def graded_pairs(paths: Sequence[Path], inputs: str) -> dict[str, list[Pair]]:
    """What the small models said of inputs that match, by the grade that a blind reader gave it (docs/grades)."""
    pairs: dict[str, list[Pair]] = {"wrong": [], "weak": [], "good": []}
    for line in (line for path in paths for line in path.read_text(encoding="utf-8").splitlines()):
        grade, system, _, text, output = line.split("\t")
        if system == "before" and re.search(inputs, text):
            pairs[list(pairs)[int(grade)]].append((text, output))
    return {grade: found for grade, found in pairs.items() if found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dev", type=Path, nargs="+", required=True, help="items that the thresholds are fitted to")
    parser.add_argument("--test", type=Path, nargs="*", default=[], help="items that only the table is made of")
    parser.add_argument("--limit", type=int, default=500, help="items of each file, drawn by the seed")
    parser.add_argument("--shuffled", type=float, default=0.03, help="share of the shuffled references that may pass")
    parser.add_argument("--accept", type=float, default=0.88, help="share of the right dev pairs with kept facts")
    parser.add_argument("--no-verifier", action="store_true", help="leave the verifier out: least_verified is 0")
    parser.add_argument(
        "--graded", type=Path, nargs="*", default=[], help="docs/grades/everyday-*.tsv, in the table too"
    )
    parser.add_argument("--inputs", default="", help="only graded outputs whose inputs match: '[?]', '^[^?]*$'")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="store the thresholds in the model's config.json")
    arguments = parser.parse_args()
    directory = find_model(arguments.model)
    own = open_directory(directory, ModelDirectory).kind == HrqvaeEngine.kind
    engine, verifier = load_engine(directory, "cpu", None) if own else None, Verifier.from_pretrained()

    def measured(paths: Sequence[Path]) -> dict[str, Measured]:
        items = [item for path in paths for item in _drawn(path, arguments.limit, arguments.seed)]
        return {kind: measure(pairs, engine, verifier) for kind, pairs in make_pairs(items, arguments.seed).items()}

    dev = measured(arguments.dev)
    wanted = {"passing": arguments.shuffled, "accept": arguments.accept, "verifier": not arguments.no_verifier}
    thresholds = fit(dev[RIGHT], dev[SHUFFLED], **wanted)
    print(f"{arguments.model}: {thresholds}\naccepted on {', '.join(map(str, arguments.dev))}")
    show(thresholds, dev)
    for path in arguments.test:
        print(f"accepted on {path}")
        show(thresholds, measured([path]))
    for grade, pairs in graded_pairs(arguments.graded, arguments.inputs).items():
        passed = thresholds.checks(measure(pairs, engine, verifier))["all"]
        print(f"outputs graded {grade}: {passed.sum()} of {len(pairs)} accepted")
    if arguments.write and own:
        content = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
        content.setdefault("generate", {}).update(vars(thresholds))
        with write_text(directory / CONFIG) as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")


def _drawn(path: Path, limit: int, seed: int) -> list[EvalItem]:
    items = list(read_eval(path))
    random.Random(seed).shuffle(items)
    return items[:limit]


if __name__ == "__main__":
    main()
