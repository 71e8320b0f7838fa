"""The training of a verifier: one small loop over labelled pairs, by the clock, that can be stopped and taken up again.

Batches hold pairs of about the same length. Each epoch orders the pairs anew and reads each in a random direction, both
by the seed alone, so a run that resumes goes on with the batch it would have come to. The learning rate rises, then
falls to zero over the minutes planned. There is no dropout: no pair is seen more than a few times.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from parasketch.files import write_directory
from parasketch.model.cross_encoder import CrossEncoder
from parasketch.verify.inputs import EncodedPair, Pair, PairTokenizer, by_length, collate

_POOL = 64  # batches that are sorted by length together
_MOMENTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """How to train; the defaults are what the shipped verifier was trained with."""

    minutes: float
    """Of wall clock, over all resumed parts."""
    seed: int = 1
    batch_size: int = 16
    learning_rate: float = 1e-4
    """At its peak."""
    head_rate: float = 5.0
    """How much faster the parts learn that are new."""
    warmup: float = 0.05
    """Part of the time in which the learning rate rises."""
    end_rate: float = 0.0
    """The learning rate at the end as a part of its peak: 0 falls to nothing, 1 stays."""
    weight_decay: float = 0.01
    smoothing: float = 0.03
    """How far labels are from 0 and 1."""
    clip: float = 1.0
    save_minutes: float = 5.0


@dataclass(frozen=True)
class LabelledPair:
    """A pair and whether both say the same."""

    pair: Pair
    same: bool


@dataclass
class Progress:
    """Where a run stands."""

    epoch: int = 0
    batch: int = 0
    """Of the epoch, the next to come."""
    steps: int = 0
    seconds: float = 0.0


def train_verifier(
    model: CrossEncoder,
    tokenizer: PairTokenizer,
    pairs: Sequence[LabelledPair],
    plan: TrainingPlan,
    *,
    checkpoint: Path | None = None,
    on_save: Callable[[Progress], None] | None = None,
    log: Callable[[str], None] = print,
) -> Progress:
    """Train until the planned minutes are over, from `checkpoint` on if it exists; token embeddings stay."""
    model.encoder.tokens.weight.requires_grad_(False)  # saves time, and rare words keep their neighbourhood
    model.train()
    encoded = tokenizer.encode([pair.pair for pair in pairs])
    labels = torch.tensor([float(pair.same) for pair in pairs])
    targets = labels * (1 - 2 * plan.smoothing) + plan.smoothing
    optimizer = _optimizer(model, plan)
    progress = _resume(checkpoint, model, optimizer) if checkpoint and checkpoint.is_dir() else Progress()
    started, saved = time.monotonic() - progress.seconds, progress.seconds
    recent: list[float] = []
    total = plan.minutes * 60
    while (fraction := progress.seconds / total) < 1:
        batches = _epoch_batches(encoded, plan, progress.epoch)
        for places, swapped in batches[progress.batch :]:
            _set_rate(optimizer, plan, fraction)
            batch = collate(
                [
                    encoded[place].turned() if swap else encoded[place]
                    for place, swap in zip(places, swapped, strict=True)
                ]
            )
            loss = F.binary_cross_entropy_with_logits(
                model(batch.tokens, batch.segments, batch.matches, batch.mask), targets[places]
            )
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
            optimizer.step()
            optimizer.zero_grad()
            recent.append(loss.item())
            progress.batch, progress.steps = progress.batch + 1, progress.steps + 1
            progress.seconds = time.monotonic() - started
            fraction = progress.seconds / total
            if progress.steps % 50 == 0:
                log(f"step {progress.steps}  {progress.seconds / 60:.1f} min  loss {sum(recent) / len(recent):.4f}")
                recent.clear()
            if checkpoint and progress.seconds - saved > plan.save_minutes * 60:
                _save(checkpoint, model, optimizer, progress)
                saved = progress.seconds
                if on_save:
                    on_save(progress)
            if fraction >= 1:
                break
        else:
            progress.epoch, progress.batch = progress.epoch + 1, 0
    if checkpoint:
        _save(checkpoint, model, optimizer, progress)
    model.eval()
    return progress


def _epoch_batches(pairs: Sequence[EncodedPair], plan: TrainingPlan, epoch: int) -> list[tuple[list[int], list[bool]]]:
    """The batches of one epoch in order: positions, and which of the pairs are read as (B, A)."""
    draw = random.Random(f"{plan.seed}/{epoch}")
    order = list(range(len(pairs)))
    draw.shuffle(order)
    batches = []
    for pool in _cut(order, _POOL * plan.batch_size):
        batches += [
            [pool[place] for place in places] for places in by_length([pairs[place] for place in pool], plan.batch_size)
        ]
    draw.shuffle(batches)
    return [(batch, [draw.random() < 0.5 for _ in batch]) for batch in batches]


def _cut(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (order[start : start + size] for start in range(0, len(order), size))


def _optimizer(model: CrossEncoder, plan: TrainingPlan) -> torch.optim.AdamW:
    head = {id(parameter) for part in (model.matches, model.hidden, model.score) for parameter in part.parameters()}
    groups = [
        {
            "params": [
                p
                for p in model.parameters()
                if p.requires_grad and (id(p) in head) == is_head and (p.dim() > 1) == is_matrix
            ],
            "weight_decay": plan.weight_decay if is_matrix else 0.0,
            "factor": plan.head_rate if is_head else 1.0,
        }
        for is_head in (False, True)
        for is_matrix in (False, True)
    ]
    return torch.optim.AdamW(groups, lr=plan.learning_rate, betas=(0.9, 0.98), fused=True)


def _set_rate(optimizer: torch.optim.Optimizer, plan: TrainingPlan, fraction: float) -> None:
    rest = (1 - fraction) / (1 - plan.warmup)
    height = fraction / plan.warmup if fraction < plan.warmup else plan.end_rate + (1 - plan.end_rate) * rest
    for group in optimizer.param_groups:
        group["lr"] = plan.learning_rate * group["factor"] * max(height, 1e-3)


def _save(checkpoint: Path, model: CrossEncoder, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    moments = {
        f"{moment}/{names[id(parameter)]}": state[moment]
        for parameter, state in optimizer.state.items()
        for moment in _MOMENTS
    }
    with write_directory(checkpoint) as temporary:
        save_file(model.state_dict(), temporary / "model.safetensors")
        save_file(moments, temporary / "optimizer.safetensors")
        (temporary / "progress.json").write_text(json.dumps(asdict(progress)) + "\n", encoding="utf-8")


def _resume(checkpoint: Path, model: CrossEncoder, optimizer: torch.optim.Optimizer) -> Progress:
    progress = Progress(**json.loads((checkpoint / "progress.json").read_text(encoding="utf-8")))
    model.load_state_dict(load_file(checkpoint / "model.safetensors"))
    moments = load_file(checkpoint / "optimizer.safetensors")
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            state = {moment: moments[f"{moment}/{name}"] for moment in _MOMENTS}
            optimizer.state[parameter] = {"step": torch.tensor(float(progress.steps)), **state}
    return progress
