"""How fast LBoW and BTmPG train, against plain implementations and the machine's matmul peak; and BTmPG's memory.

    python benchmarks/recurrent.py --threads 1

Ours and plain (plain_recurrent.py: padded, cell by cell, gate by gate) see the same pairs and take turns; the median
turn counts. With one thread the time is the process's own: what else the machine does hardly matters. `lstm` is the
encoder of BTmPG alone, forward and backward, of which the share of the matmul peak is told. Memory is that of a whole
training step of BTmPG at batch 32 with sentences of 30 tokens, in a process of its own; 3 GB is the bound.
"""

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import torch
from plain_recurrent import BOS, EOS, PAD, PlainBTmPG, PlainCell, PlainLBoW

from parasketch.data.pairs import Pairs
from parasketch.data.prepared import Ragged
from parasketch.model.lstm import BiLstm, Steps
from parasketch.model.ragged import Layout
from parasketch.systems.btmpg.config import BtmpgConfig
from parasketch.systems.btmpg.network import BTmPG
from parasketch.systems.lbow.config import LbowConfig
from parasketch.systems.lbow.network import LBoW
from parasketch.systems.recurrent.pairs import SequencePairs
from parasketch.train.machine import fast_machine

VOCABULARY, MASK, WANTED = 8000, 3, 3.0
Step = Callable[[], None]


def make_pairs(size: int, rng: np.random.Generator, *, length: int | None = None) -> Pairs:
    """Random tokens in sentences of 11 subwords on average (deviation 5), as Quora questions have."""
    parts = []
    for _ in range(2):
        lengths = np.clip(np.rint(rng.normal(11, 5, size)), 2, 44).astype(np.int32)
        lengths = lengths if length is None else np.full(size, length, dtype=np.int32)
        tokens = rng.zipf(1.3, int(lengths.sum())) % (VOCABULARY - 200) + 200
        parts.append(Ragged(tokens.astype(np.int32), lengths))
    return Pairs(*parts, source_sentence=np.arange(size), target_sentence=np.arange(size))


def learn(network: torch.nn.Module, loss: Callable[[], torch.Tensor]) -> Step:
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        loss().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def lists(part: Ragged) -> list[list[int]]:
    return [row.tolist() for row in part.rows()]


def lbow(pairs: Pairs, bags: np.ndarray) -> tuple[Step, Step]:
    config = replace(LbowConfig().model, vocab_size=VOCABULARY)
    ours = LBoW(config, mask_id=MASK).train()
    plain = PlainLBoW(VOCABULARY, config.width, config.layers, config.neighbours, config.slots)

    def loss() -> torch.Tensor:
        batch = SequencePairs.from_pairs(pairs, bos=BOS, eos=EOS, bags=bags)
        output = ours(batch)
        return output.bag_loss.mean() - output.log_likelihood.mean()

    sources, targets, words = lists(pairs.source), lists(pairs.target), torch.from_numpy(bags)
    return learn(ours, loss), learn(plain, lambda: plain(sources, targets, words))


def btmpg(pairs: Pairs) -> tuple[Step, Step]:
    c = replace(BtmpgConfig().model, vocab_size=VOCABULARY)
    ours = BTmPG(c, mask_id=MASK).train()
    plain = PlainBTmPG(
        VOCABULARY, c.width, c.lstm_width, c.layers, c.latent, c.back_heads, c.back_ff, c.back_layers
    ).train()

    def loss() -> torch.Tensor:
        output = ours(SequencePairs.from_pairs(pairs, bos=BOS, eos=EOS), sharpness=1.0)
        parts = (-output.log_likelihood.sum(), output.divergence.sum(), -output.back.sum(), -output.back_again.sum())
        return torch.stack(parts).sum() / len(pairs.source.lengths)

    return learn(ours, loss), learn(plain, lambda: plain(lists(pairs.source), lists(pairs.target)))


def lstm(pairs: Pairs, width: int, layers: int) -> tuple[Step, Step, float]:
    """The encoder alone, and its FLOPs on real tokens, forward and backward."""
    ours, cells = BiLstm(input_width=width, width=width, layers=layers, dropout=0.0), torch.nn.ModuleList()
    for layer in range(layers):
        cells.extend(PlainCell(2 * width if layer else width, width) for _ in range(2))
    layout = Layout(pairs.source.lengths.astype(np.int64))
    flat = torch.randn(layout.num_tokens, width, requires_grad=True)
    padded, mask = torch.randn(layout.batch_size, layout.longest, width, requires_grad=True), layout.mask
    plain = PlainBTmPG(PAD + 4, width, width, layers, 4, 1, 4, 1)

    def ours_step() -> None:
        states, _ = ours(flat, Steps.of(layout, flat.device))
        states.sum().backward()

    def plain_step() -> None:
        states, _ = plain.encode(cells, padded, mask)
        states.sum().backward()

    inputs = sum((2 * width if layer else width) + width for layer in range(layers))
    return ours_step, plain_step, 3 * 2 * 2 * layout.num_tokens * inputs * 4 * width


def take_turns(steps: tuple[Step, ...], rounds: int, clock: Callable[[], float]) -> list[float]:
    for step in steps:
        step()
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for step, taken in zip(steps, times, strict=True):
            start = clock()
            step()
            taken.append(clock() - start)
    return [statistics.median(taken) for taken in times]


def matmul() -> Step:
    a, b, c = (torch.randn(1024, 1024) for _ in range(3))

    def step() -> None:
        torch.mm(a, b, out=c)

    return step


def memory() -> float:
    """The peak of a process that trains BTmPG on long sentences, in GB."""
    torch.set_num_threads(1)
    step, _ = btmpg(make_pairs(32, np.random.default_rng(0), length=29))
    step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("lstm", "lbow", "btmpg", "memory"), help="default: all")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    rng, size = np.random.default_rng(0), arguments.batch_size
    pairs, bags = make_pairs(size, rng), rng.integers(200, VOCABULARY, (size, 12))
    with fast_machine():
        config = BtmpgConfig().model
        ours_lstm, plain_lstm, flops = lstm(pairs, config.lstm_width, config.layers)
        rows: dict[str, Callable[[], tuple[Step, Step]]] = {
            "lstm": lambda: (ours_lstm, plain_lstm),
            "lbow": lambda: lbow(pairs, bags),
            "btmpg": lambda: btmpg(pairs),
        }
        print(f"batch {size}, {arguments.threads} threads, {arguments.rounds} turns, vocabulary {VOCABULARY}")
        print(f"  {'':6} {'ours/s':>9} {'plain/s':>9} {'ratio':>6}")
        for name, make in rows.items():
            if arguments.only and name not in arguments.only:
                continue
            ours, plain, peak = take_turns((*make(), matmul()), arguments.rounds, clock)
            share = f", {flops / ours / (2 * 1024**3 / peak):.0%} of the matmul peak" if name == "lstm" else ""
            print(f"  {name:6} {size / ours:9.1f} {size / plain:9.1f} {plain / ours:6.2f}{share}", flush=True)
    print(f"  wanted: ours at least {WANTED:g} times plain")
    if arguments.only and "memory" not in arguments.only:
        return
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(f"  btmpg, batch 32, 30 tokens: {pool.submit(memory).result():.2f} GB at most (wanted: 3)")


if __name__ == "__main__":
    main()
