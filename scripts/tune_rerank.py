"""Fit how a model chooses among its candidates, and store it with the model.

    python scripts/tune_rerank.py MODEL --clusters train.jsonl.gz --limit 2000 --check dev.jsonl.gz --write

Candidates are generated once, for one member of each cluster, and their BLEU statistics with the other members and with
the input are counted once. A softmax over the scores of an input's candidates makes the expected statistics, and so the
iBLEU of the whole set, a smooth function of the weights, which is climbed by its gradient. `--data` takes
evaluation items in the place of clusters; `--check` shows what the weights are worth on others.

Fluent sentences that say little earn iBLEU, too: `--semantic minilm --meaning 10` pays for closeness to the input.
BLEU hardly notices a lost number or name: `--fix lost=2` sets that weight instead of fitting it. Fitted weights give
the candidates of an input scores with a standard deviation of about 1: set weights and `diversity` have a scale.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from parasketch.config import to_dict
from parasketch.console import track
from parasketch.data.clusters import distinct_sentences
from parasketch.data.corpora import EvalItem, read_clusters, read_eval
from parasketch.evaluate.metrics import ibleu_from_sums
from parasketch.evaluate.statistics import bleu_statistics
from parasketch.files import write_text
from parasketch.generate.candidates import FEATURES, Judged
from parasketch.generate.choice import COSTLY
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.pretrained import find_model
from parasketch.generate.settings import GenerateConfig, RerankWeights, stored_settings
from parasketch.model.storage import CONFIG
from parasketch.systems.kinds import load_model
from parasketch.text.sentence_encoder import SentenceTransformersModel

COPY = 1e9  # a copy is chosen when there is nothing else, as in `rerank`
SET_BY_HAND = ("likeness", "semantic")
"""Judgements that plain inputs do not have; their weights stay."""

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
        """How close the chosen candidates are to their inputs, on average; 0 without a sentence encoder."""
        chosen = self.features[np.arange(len(self.features)), self.choose(weights)]
        return float(chosen[:, FEATURES.index("semantic")].mean())

    def line(self, start: Floats, weights: Floats) -> str:
        return (
            f"{len(self.counts)} items: iBLEU {self.ibleu(start):.2f} -> {self.ibleu(weights):.2f}, "
            f"cosine {self.cosine(start):.3f} -> {self.cosine(weights):.3f}"
        )


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


def fit(table: Table, start: Floats, fitted: Sequence[int], steps: int, meaning: float = 0.0) -> Floats:
    """Weights (F,) that differ from the start in the fitted places only, with a high iBLEU + meaning * mean cosine."""
    allowed = table.handicap == 0
    centred = table.features - _mean(table.features, allowed)[:, None]
    spread = centred[allowed].std(axis=0) + 1e-9
    some = [place for place in fitted if spread[place] > 1e-6]  # what never differs cannot be weighed
    inputs = torch.from_numpy(centred[:, :, some] / spread[some])
    given = torch.from_numpy(centred @ np.where(np.isin(np.arange(len(start)), fitted), 0.0, start))
    mask, counts = torch.from_numpy(allowed), torch.from_numpy(table.counts)
    cosines = torch.from_numpy(table.features[:, :, FEATURES.index("semantic")])
    direction = torch.from_numpy(start[some] * spread[some] + 0.01).requires_grad_()
    sharpness = torch.zeros((), dtype=torch.float64, requires_grad=True)

    optimizer = torch.optim.Adam([direction, sharpness], lr=0.03)
    for _ in track(range(steps), "fitting", steps):
        raw = inputs @ direction
        scores = (raw / raw[mask].std() + given) * sharpness.exp()
        chances = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=1)
        expected = torch.einsum("nm,nmc->c", chances * mask, counts)
        loss = -(expected * torch.from_numpy(_gradient(expected.detach().numpy()))).sum()
        loss = loss - meaning * (chances * cosines).sum() / len(chances)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        scale = float((inputs @ direction)[mask].std())
    weights = start.copy()
    weights[list(fitted)] = 0.0
    weights[some] = direction.detach().numpy() / spread[some] / scale
    return weights


def _mean(features: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Mean features of each item's candidates, (N, F)."""
    return np.asarray((features * allowed[..., None]).sum(axis=1) / np.maximum(allowed.sum(axis=1), 1)[:, None])


def _gradient(sums: Floats) -> Floats:
    """How iBLEU changes with each of the summed statistics, (20,)."""
    steps = np.maximum(1.0, 1e-3 * np.abs(sums))
    return np.asarray((ibleu_from_sums(sums + np.diag(steps)) - ibleu_from_sums(sums)) / steps)


def items_of_clusters(path: str, limit: int, seed: int) -> list[EvalItem]:
    """A random member of each of some random clusters as input, the others as references."""
    choice = random.Random(seed)
    clusters = [sentences for each in read_clusters(path) if len(sentences := distinct_sentences(each.sentences)) > 1]
    items = []
    for sentences in choice.sample(clusters, min(limit, len(clusters))):
        place = choice.randrange(len(sentences))
        items.append(EvalItem(sentences[place], sentences[:place] + sentences[place + 1 :]))
    return items


def store(directory: Path, config: GenerateConfig) -> None:
    content = json.loads((directory / CONFIG).read_text(encoding="utf-8"))
    with write_text(directory / CONFIG) as stream:
        stream.write(json.dumps({**content, "generate": to_dict(config)}, indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> GenerateConfig:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or directory of the model")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--clusters", help="clusters to make items of, as for training")
    source.add_argument("--data", help="evaluation items")
    parser.add_argument("--check", help="evaluation items that show what the weights are worth")
    parser.add_argument("--limit", type=int, default=2000, help="at most so many items of each")
    parser.add_argument("--sketches", type=int, help="sketches tried for each input, to be stored as well")
    parser.add_argument("--own-code-penalty", type=float, help="to be stored as well")
    parser.add_argument("--fix", action="append", default=[], metavar="NAME=WEIGHT", help="not fitted; may be repeated")
    parser.add_argument("--semantic", help="a sentence-transformers model that judges meaning")
    parser.add_argument(
        "--meaning", type=float, default=0.0, help="points of iBLEU that a cosine of 1 to the input is worth"
    )
    parser.add_argument("--steps", type=int, default=300, help="of the climb")
    parser.add_argument("--seed", type=int, default=0, help="which clusters")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--write", action="store_true", help="store the result in the model's config.json")
    options = parser.parse_args(arguments)
    if options.meaning and not options.semantic:
        parser.error("--meaning needs --semantic")
    directory = find_model(options.model)
    loaded = load_model(directory)
    config = stored_settings(loaded.sections.get("generate", {}))
    if options.sketches is not None:
        config = replace(config, sketches=options.sketches)
    if options.own_code_penalty is not None:
        config = replace(config, own_code_penalty=options.own_code_penalty)
    fixed = {name: float(value) for name, _, value in (setting.partition("=") for setting in options.fix)}
    config = replace(config, weights=replace(config.weights, **fixed))
    semantic = SentenceTransformersModel(options.semantic) if options.semantic else None
    paraphraser = Paraphraser.from_model(loaded.model, loaded.tokenizer, config=config, semantic=semantic)

    def table_of(items: Sequence[EvalItem]) -> Table:
        inputs = [item.input for item in items]
        judged = paraphraser.candidates(inputs, batch_size=options.batch_size, show_progress=True)
        return make_table(items, judged, config.finalists)

    if options.clusters:
        items = items_of_clusters(options.clusters, options.limit, options.seed)
    else:
        items = list(read_eval(options.data))[: options.limit]
    start = np.array([0.0 if name in SET_BY_HAND else getattr(config.weights, name) for name in FEATURES])
    fitted = [place for place, name in enumerate(FEATURES) if name not in (*SET_BY_HAND, *fixed)]
    table = table_of(items)
    weights = fit(table, start, fitted, options.steps, options.meaning)
    # The stored weights serve those who have no sentence encoder: here its opinion only guides the fit.
    print(f"fitted on {table.line(start, weights)}")
    if options.check:
        print(f"on other {table_of(list(read_eval(options.check))[: options.limit]).line(start, weights)}")
    named = {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)}
    kept = {name: getattr(config.weights, name) for name in SET_BY_HAND}
    config = replace(config, weights=RerankWeights(**named | kept))
    print(json.dumps(to_dict(config), indent=1))
    if options.write:
        store(directory, config)
    return config


if __name__ == "__main__":
    main()
