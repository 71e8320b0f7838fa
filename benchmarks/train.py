"""How fast training is, against the machine's own matmul peak and against a plain implementation of the same network.

    python benchmarks/train.py                      # sentences drawn with the lengths of Quora questions
    python benchmarks/train.py --data PREPARED      # the triples of a prepared corpus

Both implementations see the same triples. They take turns, each in a process of its own (so that memory can be told
apart), and the median turn counts: what else the machine does hits both alike. For the same reason training is held
against the median of large matmuls timed between the turns, and the best turn against the best matmul. FLOPs are the
useful ones: matmuls of real tokens only, forward and backward. A step is batch, forward, backward, clipping and Adam.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from plain_model import PAD, PlainModel
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pad_sequence

from parasketch.data.prepared import Prepared, Ragged
from parasketch.data.triples import TripleBatch, Triples
from parasketch.systems.hrqvae.config import HrqVaeConfig, ModelConfig, load_preset
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.systems.hrqvae.objective import objective
from parasketch.systems.hrqvae.task import parameter_groups
from parasketch.systems.triples import TrainingBatch
from parasketch.train.machine import fast_machine
from parasketch.train.optimizer import make_optimizer, set_learning_rates

BOS, EOS, MASK = 101, 102, 103
BARS = {"small": {"share": 0.60, "ratio": 2.5}, "paper": {"share": None, "ratio": 3.0}}
VOCABULARY = {"small": 8000, "paper": 30522}


def preset_config(preset: str) -> HrqVaeConfig:
    """A preset; only the size of its vocabulary matters here, so none is needed for `paper`."""
    return load_preset(preset, ["data.bert_vocab=none"] if preset == "paper" else [])


@dataclass(frozen=True)
class Task:
    """What is measured."""

    preset: str
    steps: int
    threads: int
    data: Path | None
    batch_size: int

    def config(self) -> HrqVaeConfig:
        config = preset_config(self.preset)
        size = {"vocab_size": VOCABULARY.get(self.preset, 8000)}
        if self.data is not None:
            prepared = Prepared(self.data)
            size = {"vocab_size": prepared.tokenizer.vocab_size, "max_length": prepared.max_tokens + 2}
        train = replace(config.train, batch_size=self.batch_size, accumulate=1)
        return replace(config, model=replace(config.model, **size), train=train)

    def batches(self) -> Iterator[TripleBatch]:
        if self.data is None:
            yield from synthetic_batches(self.batch_size, self.config().model.vocab_size)
            return
        triples = Triples(Prepared(self.data), seed=1, template_dropout=0.3, max_pairs=26)
        order = triples.order(0)
        for start in range(0, len(order) - self.batch_size, self.batch_size):
            yield triples.batch(0, order[start : start + self.batch_size])


def synthetic_batches(size: int, vocabulary: int) -> Iterator[TripleBatch]:
    """Random tokens in sentences of 11 subwords on average (deviation 5), as Quora questions have."""
    rng = np.random.default_rng(0)
    nothing = np.zeros(size, np.int64)
    while True:
        parts = []
        for _ in range(3):
            lengths = np.clip(np.rint(rng.normal(13, 5, size)), 4, 46).astype(np.int32) - 2
            frequent = rng.zipf(1.3, int(lengths.sum())) % (vocabulary - 200) + 200
            parts.append(Ragged(frequent.astype(np.int32), lengths))
        yield TripleBatch(*parts, source_sentence=nothing, target_sentence=nothing, real_exemplar=nothing.astype(bool))


class Ours:
    def __init__(self, config: HrqVaeConfig) -> None:
        self.machine = fast_machine()
        self.machine.__enter__()  # for the life of this process: each side is measured in one of its own
        self.config = config
        self.model = HRQVAE(config.model, mask_id=MASK).train()
        self.optimizer = make_optimizer(parameter_groups(self.model, config.train), config.train)
        set_learning_rates(self.optimizer, 0.1 * config.train.warmup, config.train)

    def step(self, triples: TripleBatch) -> None:
        batch = TrainingBatch.from_triples(triples, bos=BOS, eos=EOS)
        output = self.model(batch, 1.0)
        objective(output, batch, self.model, self.config.train, 0.5).value.backward()
        clip_grad_norm_(self.model.parameters(), self.config.train.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


class Plain:
    def __init__(self, config: HrqVaeConfig) -> None:
        self.config = config
        self.model = PlainModel(config.model, mask_id=MASK).train()
        self.optimizer = torch.optim.Adam([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)

    def step(self, triples: TripleBatch) -> None:
        self.model(*(padded(part) for part in (triples.source, triples.exemplar, triples.target))).backward()
        clip_grad_norm_(self.model.parameters(), self.config.train.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def padded(sentences: Ragged) -> torch.Tensor:
    rows = [torch.tensor([BOS, *row.tolist(), EOS]) for row in sentences.rows()]
    return pad_sequence(rows, batch_first=True, padding_value=PAD)


ENGINES = {"ours": Ours, "plain": Plain}
_worker: dict[str, Any] = {}  # what a worker process keeps between turns


@dataclass(frozen=True)
class Turn:
    seconds: float
    examples: int
    tokens: int
    flops: float
    megabytes: float


def start_worker(name: str, task: Task) -> None:
    torch.set_num_threads(task.threads)
    torch.manual_seed(0)
    _worker["engine"], _worker["batches"] = ENGINES[name](task.config()), task.batches()
    _worker["engine"].step(next(_worker["batches"]))  # the first step allocates


def take_turn(steps: int) -> Turn:
    batches = [next(_worker["batches"]) for _ in range(steps)]
    start = time.perf_counter()
    for batch in batches:
        _worker["engine"].step(batch)
    seconds = time.perf_counter() - start
    tokens = sum(len(part.tokens) + 2 * len(part.lengths) for b in batches for part in (b.source, b.exemplar, b.target))
    flops = sum(useful_flops(_worker["engine"].config.model, batch) for batch in batches)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Turn(seconds, sum(len(batch.source.lengths) for batch in batches), tokens, flops, megabytes)


def matmul_rates(threads: int) -> list[float]:
    """The FLOP/s of some large fp32 matmuls, now."""
    torch.set_num_threads(threads)
    size, rates = 2048, []
    a, b = torch.randn(size, size), torch.randn(size, size)
    torch.mm(a, b)
    for _ in range(8):
        start = time.perf_counter()
        torch.mm(a, b)
        rates.append(2 * size**3 / (time.perf_counter() - start))
    return rates


def useful_flops(c: ModelConfig, batch: TripleBatch) -> float:
    """Of all matmuls on real tokens, forward and backward; what is masked (pads, the future) is not useful."""
    s, e, t = (part.lengths.astype(np.float64) + 2 for part in (batch.source, batch.exemplar, batch.target))
    t = t - 1  # begin + target in, target + end out
    size, meaning_input = len(s), c.meaning_width if c.split_encoding else c.width
    form_input = c.form_width if c.split_encoding else c.width
    source, exemplar, target = s.sum(), e.sum(), t.sum()
    encoded = np.concatenate([s, e])
    pairs = (encoded * (encoded + 1) / 2 if c.causal_encoder else encoded**2).sum()
    block = 8 * c.width**2 + 4 * c.width * c.ff
    encoder = c.encoder_layers * (block * encoded.sum() + 4 * c.width * pairs)
    meaning = 4 * meaning_input * c.meaning_width * (source + exemplar)
    form = 2 * (form_input * (c.form_heads + c.form_width) + c.form_width) * exemplar
    quantizer = 4 * c.codes * c.form_width * c.levels * size
    cross = 4 * c.width**2 * target + 4 * c.meaning_width * c.width * source + 2 * c.form_width * c.width * size
    attention = 4 * c.width * ((t * (t + 1) / 2).sum() + (t * s).sum())
    decoder = c.decoder_layers * (block * target + cross + attention)
    predictor = 2 * (meaning_input + c.predictor_heads + c.predictor_width + 1) * c.predictor_width * source
    mlp = (c.predictor_width + c.form_width + c.predictor_hidden + c.codes) * c.predictor_hidden
    predictor += 2 * c.levels * mlp * size
    copying = 2 * c.copy_width * (c.width * (target + source) + (t * s).sum()) if c.copy_head else 0.0
    output = 2 * c.width * c.vocab_size * target
    backward = 2 * (encoder + meaning + form + quantizer + decoder + predictor + copying)
    backward += output if c.frozen_embeddings else 2 * output  # a frozen output layer needs no gradient of its own
    return float(encoder + meaning + form + quantizer + decoder + predictor + copying + output + backward)


def measure(task: Task, rounds: int) -> None:
    """Print one table: ours and the plain implementation, turn by turn."""
    context = multiprocessing.get_context("spawn")
    turns: dict[str, list[Turn]] = {name: [] for name in ENGINES}
    rates = matmul_rates(task.threads)
    pools = {
        name: ProcessPoolExecutor(1, mp_context=context, initializer=start_worker, initargs=(name, task))
        for name in ENGINES
    }
    for pool in pools.values():  # start and warm up one after the other
        pool.submit(take_turn, 1).result()
    for _ in range(rounds):
        for name, pool in pools.items():
            turns[name].append(pool.submit(take_turn, task.steps).result())
        rates += matmul_rates(task.threads)
    for pool in pools.values():
        pool.shutdown()
    peak, best_peak = statistics.median(rates), max(rates)
    print(f"\n{task.preset}: batch {task.batch_size}, {task.threads} threads, {rounds} turns of {task.steps} steps")
    print(f"  fp32 matmul peak {peak / 1e9:.1f} GFLOP/s (median of {len(rates)}), {best_peak / 1e9:.1f} (best)")
    print(f"  {'':6} {'examples/s':>10} {'tokens/s':>10} {'GFLOP/s':>8} {'of peak':>8} {'best':>8} {'memory':>9}")
    speed = {}
    for name, taken in turns.items():
        middle = sorted(taken, key=lambda turn: turn.examples / turn.seconds)[len(taken) // 2]
        speed[name] = middle.examples / middle.seconds
        useful = middle.flops / middle.seconds
        best = max(turn.flops / turn.seconds for turn in taken)
        print(
            f"  {name:6} {speed[name]:10.1f} {middle.tokens / middle.seconds:10.0f} {useful / 1e9:8.1f} "
            f"{useful / peak:8.1%} {best / best_peak:8.1%} {middle.megabytes:6.0f} MB"
        )
    ratio = speed["ours"] / speed["plain"]
    bar = BARS.get(task.preset, {"share": None, "ratio": 0})
    share = f", at least {bar['share']:.0%} of peak" if bar["share"] else ""
    print(f"  ours is {ratio:.2f} times as fast as plain (wanted: {bar['ratio']} times{share})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=["small", "paper"])
    parser.add_argument("--data", type=Path, help="a prepared corpus, instead of synthetic sentences")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, help="steps a turn (default: 8 for small, 2 for paper)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, help="default: the preset's")
    arguments = parser.parse_args()
    for preset in arguments.presets:
        size = arguments.batch_size or preset_config(preset).train.batch_size
        steps = arguments.steps or (2 if preset == "paper" else 8)
        task = Task(preset=preset, steps=steps, threads=arguments.threads, data=arguments.data, batch_size=size)
        measure(task, arguments.rounds)


if __name__ == "__main__":
    main()
