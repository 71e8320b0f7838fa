"""Fit the settings of the choice among candidates on development data, and store them with the model.

    python scripts/tune_rerank.py MODEL --data dev.jsonl.gz --write

First the penalty on the input's own codes: the one whose plain outputs (the best sentence of the best sketch) have the
highest iBLEU. Then the weights: candidates are generated once, their BLEU statistics are counted once, and a setting
of the weights costs a few milliseconds, so thousands are tried: at random, then one weight at a time around the best.
Half of the items are tuned on and the other half shows what is left of the gain; the stored weights are fitted
to all. `--semantic MODEL --floor 0.8` only allows settings whose outputs stay that close to their inputs on average.
BLEU hardly notices a lost number or name: `--fix lost=1` sets that weight instead of tuning it.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parasketch.config import from_dict, to_dict
from parasketch.console import track
from parasketch.data.corpora import EvalItem, read_eval
from parasketch.evaluate.metrics import ibleu_from_sums
from parasketch.evaluate.statistics import bleu_statistics
from parasketch.files import write_text
from parasketch.generate.candidates import FEATURES, Judged
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.pretrained import find_model
from parasketch.generate.rerank import COSTLY
from parasketch.generate.semantic import SentenceTransformersModel
from parasketch.generate.settings import GenerateConfig, RerankWeights
from parasketch.model.storage import CONFIG, load_model

# Up to where each weight is searched; a candidate is judged by (log-)probabilities and by shares.
LARGEST = {
    "sketch": 2.0, "likelihood": 5.0, "cycle": 5.0, "difference": 10.0, "consensus": 20.0, "lost": 2.0,
    "repeats": 2.0, "brevity": 5.0, "semantic": 10.0,
}  # fmt: skip
COPY = 1e9  # a copy is chosen when there is nothing else, as in `rerank`

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """The candidates of N items, at most M each, as arrays."""

    features: Floats
    """(N, M, F)"""
    handicap: Floats
    """(N, M): 0, or something huge where there is no candidate or a copy of the input."""
    counts: Floats
    """(N, M, 20): what each candidate adds to BLEU and Self-BLEU."""
    finalists: int

    def choose(self, weights: Floats) -> NDArray[np.int64]:
        """The candidate of each item that these weights (F,) choose, (N,); as `Engine.paraphrase` does it."""
        cheap = weights.copy()
        cheap[[FEATURES.index(name) for name in COSTLY]] = 0
        first = self.features @ cheap - self.handicap
        if first.shape[1] > self.finalists:
            least = -np.partition(-first, self.finalists - 1, axis=1)[:, self.finalists - 1, None]
        else:
            least = np.full((len(first), 1), -np.inf)
        scores = np.where(first >= least, self.features @ weights - self.handicap, -np.inf)
        return np.asarray(scores.argmax(axis=1))

    def ibleu(self, weights: Floats) -> float:
        return float(ibleu_from_sums(self.counts[np.arange(len(self.counts)), self.choose(weights)].sum(axis=0)))

    def cosine(self, weights: Floats) -> float:
        """How close the chosen candidates are to their inputs, on average."""
        chosen = self.features[np.arange(len(self.features)), self.choose(weights)]
        return float(chosen[:, FEATURES.index("semantic")].mean())

    def some(self, places: slice) -> "Table":
        return Table(self.features[places], self.handicap[places], self.counts[places], self.finalists)


def make_table(items: Sequence[EvalItem], judged: Sequence[Judged], finalists: int) -> Table:
    most = max(len(each.candidates) for each in judged)
    features = np.zeros((len(items), most, len(FEATURES)))
    handicap, counts = np.full((len(items), most), np.inf), np.zeros((len(items), most, 20))
    for place, (item, each) in enumerate(track(zip(items, judged, strict=True), "counting", len(items))):
        size = len(each.candidates)
        texts = [candidate.text for candidate in each.candidates]
        features[place, :size] = each.features
        handicap[place, :size] = [COPY * candidate.is_copy for candidate in each.candidates]
        counts[place, :size, :10] = bleu_statistics(texts, [item.references] * size)
        counts[place, :size, 10:] = bleu_statistics(texts, [[item.input]] * size)
    handicap[np.isinf(handicap).all(axis=1), 0] = 0  # an item without candidates counts as an empty output
    return Table(features, handicap, counts, finalists)


def search(score: Callable[[Floats], float], start: Floats, names: Sequence[str], trials: int, seed: int) -> Floats:
    """Weights with a high score: random ones, then steps of one weight at a time from the best; (F,).

    Weights that are not named stay as they are at the start.
    """
    random = np.random.default_rng(seed)
    largest = np.array([LARGEST[name] if name in names else 0.0 for name in FEATURES])
    best, best_score = start, score(start)
    for _ in range(trials):
        found = largest * random.random(len(FEATURES)) ** 3 * (random.random(len(FEATURES)) > 0.2)
        found = np.where(largest > 0, found, start)
        if (value := score(found)) > best_score:
            best, best_score = found, value
    improved = True
    while improved:
        improved = False
        for place in np.flatnonzero(largest):
            for factor in (0.0, 0.5, 0.8, 0.9, 1.1, 1.25, 2.0):
                found = best.copy()
                found[place] = min(
                    largest[place], factor * best[place] if best[place] else 0.05 * factor * largest[place]
                )
                if (value := score(found)) > best_score + 1e-6:
                    best, best_score, improved = found, value, True
    return best


def tune_penalty(load: Callable[[GenerateConfig], Paraphraser], config: GenerateConfig, items: Sequence[EvalItem],
                 penalties: Sequence[float], batch_size: int) -> float:  # fmt: skip
    """The own-code penalty with the best plain outputs."""
    results = {}
    inputs, references = [item.input for item in items], [item.references for item in items]
    for penalty in penalties:
        plain = load(replace(config, own_code_penalty=penalty))
        outputs = [each[0].text for each in plain(inputs, rerank=False, batch_size=batch_size, show_progress=True)]
        counts = [bleu_statistics(outputs, references), bleu_statistics(outputs, [[text] for text in inputs])]
        results[penalty] = float(ibleu_from_sums(np.concatenate(counts, axis=1).sum(axis=0).astype(np.float64)))
        print(f"own-code penalty {penalty:4}: plain iBLEU {results[penalty]:.2f}", flush=True)
    return max(results, key=lambda penalty: results[penalty])


def tune_weights(
    table: Table, config: GenerateConfig, names: Sequence[str], options: argparse.Namespace
) -> RerankWeights:
    # The stored weights must also serve those who have no sentence encoder: its opinion is only a floor here.
    start = np.array([0.0 if name == "semantic" else getattr(config.weights, name) for name in FEATURES])

    def fit(part: Table) -> Floats:
        def score(weights: Floats) -> float:
            enough = options.floor is None or part.cosine(weights) >= options.floor
            return part.ibleu(weights) if enough else part.cosine(weights) - 1000

        return search(score, start, names, options.trials, options.seed)

    one, other = table.some(slice(0, None, 2)), table.some(slice(1, None, 2))
    half = fit(one)
    print(f"tuned on one half: iBLEU {one.ibleu(start):.2f} -> {one.ibleu(half):.2f}", end=", ")
    print(f"on the other half: {other.ibleu(start):.2f} -> {other.ibleu(half):.2f}")
    best = fit(table)
    cosine = f", cosine {table.cosine(best):.3f}" if options.semantic else ""
    print(f"tuned on all: iBLEU {table.ibleu(start):.2f} -> {table.ibleu(best):.2f}{cosine}")
    best *= start.sum() / max(best.sum(), 1e-9)  # only ratios matter to one output: keep the scale that diversity knows
    return RerankWeights(**{name: round(float(weight), 4) for name, weight in zip(FEATURES, best, strict=True)})


def store(directory: Path, config: GenerateConfig) -> None:
    content = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
    with write_text(directory / CONFIG) as stream:
        stream.write(json.dumps({**content, "generate": to_dict(config)}, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> GenerateConfig:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or directory of the model")
    parser.add_argument("--data", required=True, help="evaluation items of the development set")
    parser.add_argument("--limit", type=int, help="only the first so many items")
    parser.add_argument("--sketches", type=int, help="sketches tried for each input, to be stored as well")
    parser.add_argument("--penalties", default="0,0.2,0.5,0.8", help="own-code penalties to compare")
    parser.add_argument("--fix", action="append", default=[], metavar="NAME=WEIGHT", help="not tuned; may be repeated")
    parser.add_argument("--trials", type=int, default=3000, help="random settings of the weights")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--semantic", help="a sentence-transformers model that judges the candidates")
    parser.add_argument("--floor", type=float, help="least mean cosine of output and input, with --semantic")
    parser.add_argument("--write", action="store_true", help="store the result in the model's config.json")
    options = parser.parse_args(arguments)
    if options.floor is not None and not options.semantic:
        parser.error("--floor needs --semantic")
    items = list(read_eval(options.data))[: options.limit]
    directory = find_model(options.model)
    loaded = load_model(directory)
    config = from_dict(GenerateConfig, loaded.sections.get("generate", {}))
    config = replace(config, sketches=options.sketches or config.sketches)
    semantic = SentenceTransformersModel(options.semantic) if options.semantic else None

    def load(settings: GenerateConfig) -> Paraphraser:
        return Paraphraser.from_model(loaded.model, loaded.tokenizer, config=settings, semantic=semantic)

    penalties = [float(part) for part in options.penalties.split(",")]
    config = replace(config, own_code_penalty=tune_penalty(load, config, items, penalties, options.batch_size))
    inputs = [item.input for item in items]
    judged = load(config).candidates(inputs, batch_size=options.batch_size, show_progress=True)
    fixed = {name: float(value) for name, _, value in (setting.partition("=") for setting in options.fix)}
    config = replace(config, weights=replace(config.weights, **fixed))
    names = [name for name in FEATURES if name not in ("semantic", *fixed)]
    weights = tune_weights(make_table(items, judged, config.finalists), config, names, options)
    config = replace(config, weights=replace(weights, semantic=config.weights.semantic))
    print(json.dumps(to_dict(config), indent=1))
    if options.write:
        store(directory, config)
    return config


if __name__ == "__main__":
    main()
