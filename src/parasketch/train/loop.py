"""The training loop, top to bottom. CPU, one GPU and many processes are the same code (Lightning Fabric).

What is trained is a task (task.py); the loop holds what is the same for all.

With a length in steps a run is reproducible bit for bit, also when it is cut and resumed: the batch of step t is a pure
function of (seed, t), and every random state is in the checkpoint. With a length in minutes the schedules follow
the clock instead.
"""

from pathlib import Path
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from torch import Tensor

from parasketch.config import TrainConfig
from parasketch.console import console
from parasketch.errors import ModelError
from parasketch.train.batches import Batches
from parasketch.train.checkpoint import (
    PREFIX,
    Progress,
    load_checkpoint,
    random_state,
    remove_unfinished,
    resumable,
    save_checkpoint,
)
from parasketch.train.clock import Clock
from parasketch.train.expectations import doubt_after, doubts_before
from parasketch.train.journal import Journal
from parasketch.train.machine import fast_machine
from parasketch.train.optimizer import make_optimizer, set_learning_rates
from parasketch.train.schedules import learning_rate_factor
from parasketch.train.selection import Selection
from parasketch.train.task import Task

LOG_EVERY = 50
BEST, CHECKPOINTS = "best", "checkpoints"


def train(task: Task[Any], run: Path, *, fabric: Fabric, resume: bool = False) -> Progress:
    """Train `task.network`; leaves checkpoints, `metrics.jsonl` and the best model, `best`, in `run`.

    Returns where the run stands at its end.
    """
    settings, rank, processes = task.config.train, fabric.global_rank, fabric.world_size
    torch.manual_seed(settings.seed)  # the same weights on every process ...
    model = task.build()
    optimizer = make_optimizer(task.parameter_groups(), settings)
    network, stepper = cast(tuple[Any, Any], fabric.setup(model, optimizer))
    torch.manual_seed(settings.seed + 1 + rank)  # ... but different noise
    batches = Batches(task.examples(), settings, rank=rank, processes=processes, device=fabric.device)
    selection = Selection(task, run / BEST, fabric=fabric)
    progress, folder = Progress(), run / CHECKPOINTS
    if fabric.is_global_zero:
        remove_unfinished(folder / PREFIX)
        remove_unfinished(run / BEST)
    if resume and (last := resumable(folder)):
        progress = load_checkpoint(last, task=task, optimizer=optimizer, rank=rank, processes=processes)
        console.print(f"resuming {run} at step {progress.step}")
    clock = Clock(settings.clock, progress, fabric)
    for doubt in doubts_before(len(batches.examples), settings) if task.start is None else []:
        console.print(doubt)

    with fast_machine(), Journal(run, progress, enabled=fabric.is_global_zero) as journal:
        while (share := share_done(settings, progress)) < 1 and not selection.is_over(progress):
            # Where the schedules stand.
            set_learning_rates(optimizer, share, settings)
            schedule = task.schedule(share) | {"learning_rate_factor": learning_rate_factor(share, settings)}
            task.before_step(share, fabric)

            # Forward and backward over the parts of the batch, then one step.
            network.train()
            parts, terms = batches[progress.step], []
            for number, part in enumerate(parts, start=1):
                with fabric.no_backward_sync(network, enabled=number < len(parts)):
                    loss = task.loss(network, part, share)
                    fabric.backward(loss.value / len(parts))
                terms.append(loss.terms)
            norm = cast(
                Tensor, fabric.clip_gradients(network, stepper, max_norm=settings.clip, error_if_nonfinite=False)
            )
            _require_finite(norm, progress, settings)
            stepper.step()
            stepper.zero_grad(set_to_none=True)
            progress.step += 1
            task.after_step(progress.step, fabric)

            # Tell, look at dev, save.
            clock.tick()
            share = share_done(settings, progress)
            journal.advance(progress, share)
            looks = selection.is_due(progress, share)
            if looks or progress.step % LOG_EVERY == 0:
                terms = [{**part, "gradient_norm": norm} for part in terms]
                journal.log_step(progress, terms, schedule=schedule, health=task.health(), examples=batches.size)
            if looks:
                journal.log_dev(progress, selection.look(progress, share))
                clock.tick()
            if looks or progress.seconds - progress.saved_at >= settings.checkpoint_minutes * 60:
                progress.saved_at = progress.seconds
                states = gather_random_states(fabric)
                if fabric.is_global_zero:
                    save_checkpoint(
                        folder,
                        task=task,
                        optimizer=optimizer,
                        random_states=states,
                        progress=progress,
                        keep=settings.keep_checkpoints,
                    )
                fabric.barrier()
    if task.start is None and (outcome := doubt_after(progress.step)):
        console.print(outcome)
    return progress


def gather_random_states(fabric: Fabric) -> Tensor:
    """The states of all processes' random numbers, (processes, bytes)."""
    own = random_state(fabric.device)
    states = own.new_zeros(fabric.world_size, len(own))
    states[fabric.global_rank] = own
    return cast(Tensor, fabric.all_reduce(states, reduce_op="sum"))


def share_done(config: TrainConfig, progress: Progress) -> float:
    """How much of the run is behind us, 0 to 1, by the clock or by steps."""
    if config.minutes is not None:
        return progress.seconds / (60 * config.minutes)
    return progress.step / config.steps


def _require_finite(norm: Tensor, progress: Progress, config: TrainConfig) -> None:
    """Stop a run that has diverged; in 16 bits single steps may overflow, and Fabric leaves them out."""
    if config.precision != "16-mixed" and not torch.isfinite(norm):
        raise ModelError(
            f"training diverged at step {progress.step}: the gradient is {float(norm)}; "
            "go on from the last checkpoint with a lower train.learning_rate"
        )
