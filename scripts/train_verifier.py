"""Make the shipped verifier: build labelled pairs and train on them. `judge_verifier.py` does the rest.

    python scripts/train_verifier.py pairs DATA --base BASE --out WORK
    python scripts/train_verifier.py train WORK/labelled.jsonl --base BASE --out WORK/first --minutes 25 --end-rate 1
    python scripts/train_verifier.py train WORK/train.jsonl --base BASE --out WORK/second \
        --start WORK/first/checkpoint --minutes 50

DATA is the data directory (meaning/, everyday/, news/, qqp/, captions-extra/), BASE the directory of a BERT encoder
(model.safetensors, tokenizer.json): MiniLM-L6. docs/verifier.md explains the steps and has the figures.
"""

import argparse
import json
import random
import sys
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from parasketch.model.cross_encoder import CrossEncoder, CrossEncoderConfig
from parasketch.text.crf import CrfTagger
from parasketch.verify.bank import Bank, add_neighbours, gather, synonyms_in
from parasketch.verify.inputs import PairTokenizer
from parasketch.verify.making import Corpus, balance, count, make_pairs
from parasketch.verify.pairs import MadePair, choose, read_clusters, read_pairs, write_pairs
from parasketch.verify.sentence_vectors import SentenceVectors
from parasketch.verify.storage import Decision, save_verifier
from parasketch.verify.train import LabelledPair, Progress, TrainingPlan, train_verifier

MEANING = {
    ("paws_wiki", True): 7_000, ("paws_wiki", False): 9_000,
    ("condaqa_edits", True): 700, ("condaqa_edits", False): 1_200,
    ("sugarcrepe_pp", True): 5_000, ("sugarcrepe_pp", False): 5_000, ("demetr", True): 1_000, ("demetr", False): 2_500,
    ("glue_diag", True): 300, ("glue_diag", False): 600,
    ("checklist_qqp", True): 2_300, ("checklist_qqp", False): 2_500,
    ("qqp_dev", True): 2_300, ("qqp_dev", False): 2_900, ("wikifactcheck_neg", False): 3_000,
    ("cad_revisions", False): 2_000, ("breaking_nli", False): 1_200, ("comve", False): 1_200, ("valse", False): 1_200,
    ("sugarcrepe_add", False): 1_200, ("conjnli", False): 400,
}  # fmt: skip
"""How many pairs of `meaning` are trained on at most, by source and label."""
LABELLED = {
    ("paws_wiki", True): 99_999, ("paws_wiki", False): 99_999,
    ("condaqa_edits", True): 9_999, ("condaqa_edits", False): 9_999,
    ("sugarcrepe_pp", True): 9_999, ("sugarcrepe_pp", False): 6_000, ("demetr", True): 9_999, ("demetr", False): 2_500,
    ("glue_diag", True): 999, ("glue_diag", False): 999,
    ("checklist_qqp", True): 2_000, ("checklist_qqp", False): 2_500,
    ("qqp_dev", True): 9_999, ("qqp_dev", False): 9_999, ("breaking_nli", False): 1_500,
    ("cad_revisions", False): 2_000, ("comve", False): 1_000, ("valse", False): 1_200,
    ("wikifactcheck_neg", False): 3_000, ("sugarcrepe_add", False): 800, ("conjnli", False): 999,
}  # fmt: skip
"""The same for the first stage, which sees no made mistakes."""
LABELLED_CLUSTERS = {"everyday": 6_000, "news": 6_000, "qqp": 3_500}
"""Clusters that give the first stage a right pair."""


@dataclass(frozen=True)
class Recipe:
    """How pairs are made from the clusters of one set."""

    clusters: int
    clean: float
    distinct: float
    is_question: bool = False


RECIPES = {
    "everyday": Recipe(5_500, 0.70, 0.88),
    "news": Recipe(3_500, 0.85, 0.90),
    "qqp": Recipe(4_500, 0.80, 0.86, True),
    "captions-extra": Recipe(2_000, 0.85, 0.85),
}
MOST_WORDS, PERCENT = 70, 60
WHOLE = frozenset(["paws_wiki", "number", "name", "amount", "same_kind"])
HELD_OUT = {"everyday": 1_000, "news": 500, "qqp": 1_000}
"""Clusters of a dev or test set from which pairs are made."""


def build_pairs(arguments: argparse.Namespace) -> None:
    """Write train.jsonl, dev.jsonl and test.jsonl."""
    data: Path = arguments.data
    write_pairs(arguments.out / "labelled.jsonl", labelled_pairs(data, arguments.seed))
    embedder = SentenceVectors(arguments.base)
    tagger = CrfTagger()
    banks: dict[str, Bank] = {}
    train = choose(list(read_pairs(data / "meaning" / "train.jsonl.gz")), MEANING, arguments.seed)
    for name, recipe in RECIPES.items():
        clusters = [cluster for cluster in read_clusters(data / name / "train.jsonl.gz") if len(cluster) > 1]
        corpus = chosen_corpus(name, clusters, recipe, recipe.clusters, tagger, embedder, arguments.seed)
        banks[name] = gather(corpus.tags, corpus.texts)
        add_neighbours(banks[name], corpus.tags, embedder.words(), synonyms_in(clusters))
        made = balance(make_pairs(corpus, banks[name], arguments.seed), arguments.seed)
        train += made
        print(f"{name}: {len(made)} pairs, {sum(pair.same for pair in made)} right", flush=True)
    random.Random(arguments.seed).shuffle(train)
    train = thinned(train)
    write_pairs(arguments.out / "train.jsonl", train)
    for part in ("dev", "test"):
        held = []
        for name, number in HELD_OUT.items():
            clusters = read_clusters(data / name / f"{part}.jsonl.gz")
            corpus = chosen_corpus(name, clusters, RECIPES[name], number, tagger, embedder, arguments.seed)
            held += make_pairs(corpus, banks[name], arguments.seed, mistakes_each=4)
        write_pairs(arguments.out / f"{part}.jsonl", held)
    for (source, kind, same), number in count(train).items():
        print(f"{source}\t{kind}\t{int(same)}\t{number}")


def thinned(pairs: Sequence[MadePair]) -> list[MadePair]:
    """What fits into the time there is: no very long pairs, all of what is hard or rare and a part of the others."""
    return [
        pair
        for pair in pairs
        if len(pair.a.split()) + len(pair.b.split()) <= MOST_WORDS
        and (pair.source in WHOLE or pair.kind in WHOLE or zlib.crc32(f"{pair.a}\t{pair.b}".encode()) % 100 < PERCENT)
    ]


def labelled_pairs(data: Path, seed: int) -> list[MadePair]:
    """What the first stage learns from: pairs labelled by people, and pairs of whole clusters."""
    pairs = choose(list(read_pairs(data / "meaning" / "train.jsonl.gz")), LABELLED, seed)
    draw = random.Random(seed)
    for name, number in LABELLED_CLUSTERS.items():
        clusters = [cluster for cluster in read_clusters(data / name / "train.jsonl.gz") if len(cluster) > 1]
        for cluster in draw.sample(clusters, number):
            a, b = draw.sample(cluster, 2)
            pairs.append(MadePair(a, b, True, name, "cluster"))
    return pairs


def chosen_corpus(
    name: str,
    clusters: Sequence[Sequence[str]],
    recipe: Recipe,
    number: int,
    tagger: CrfTagger,
    embedder: SentenceVectors,
    seed: int,
) -> Corpus:
    """Two random sentences of some random clusters, tagged and embedded."""
    draw = random.Random(f"{seed}/{name}")
    chosen = draw.sample(list(clusters), min(number, len(clusters)))
    texts = [text.strip() for cluster in chosen for text in draw.sample(list(cluster), 2)]
    return Corpus(
        name, texts, tagger.tag(texts), embedder(texts), recipe.clean, recipe.distinct, is_question=recipe.is_question
    )


def train(arguments: argparse.Namespace) -> None:
    """Train, and export a usable verifier at every checkpoint."""
    torch.set_num_threads(1)
    config = CrossEncoderConfig()
    tokenizer = PairTokenizer(arguments.base / "tokenizer.json", max_length=config.max_length)
    torch.manual_seed(arguments.seed)
    model = CrossEncoder(config)
    if arguments.start:
        model.load_state_dict(load_file(arguments.start / "model.safetensors"))
    else:
        model.encoder.read_bert(load_file(arguments.base / "model.safetensors"))
    pairs = [LabelledPair((pair.a, pair.b), pair.same) for pair in read_pairs(arguments.pairs)]
    plan = TrainingPlan(
        minutes=arguments.minutes,
        seed=arguments.seed,
        batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        end_rate=arguments.end_rate,
    )
    print(
        f"{len(pairs)} pairs, {sum(pair.same for pair in pairs)} of them right; {json.dumps(asdict(plan))}", flush=True
    )

    def export(progress: Progress) -> None:
        sections = {"train": {**asdict(plan), **asdict(progress)}}
        save_verifier(arguments.out / "export", model, tokenizer, Decision(), sections=sections)

    checkpoint = arguments.out / "checkpoint"
    done = train_verifier(
        model, tokenizer, pairs, plan, checkpoint=checkpoint, on_save=export, log=lambda line: print(line, flush=True)
    )
    export(done)
    print(f"{done.steps} steps, {done.seconds / 60:.1f} minutes, {done.epoch} whole epochs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("pairs", help="build the labelled pairs")
    command.set_defaults(run=build_pairs)
    command.add_argument("data", type=Path)
    command.add_argument("--base", type=Path, required=True)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("train", help="train on a file of pairs")
    command.set_defaults(run=train)
    command.add_argument("pairs", type=Path)
    command.add_argument("--base", type=Path, required=True)
    command.add_argument("--start", type=Path, help="a checkpoint whose weights to start from")
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--minutes", type=float, required=True)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--batch-size", type=int, default=16)
    command.add_argument("--learning-rate", type=float, default=1e-4)
    command.add_argument("--end-rate", type=float, default=0.0)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
