"""What a run tells: a progress bar, `metrics.jsonl` (always), TensorBoard (when installed), dev samples."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from torch import Tensor

from parasketch.console import console
from parasketch.errors import DataError
from parasketch.files import write_text
from parasketch.train.checkpoint import Progress
from parasketch.train.task import DevResult

_TERMS_SHOWN, _HEALTH_SHOWN = 2, 3  # in the progress bar, where there is room; all are in the file
_BAR, _BESIDE_NEWS = 16, 52  # columns


class Journal:
    """The record of one run; on processes other than the first it does nothing."""

    def __init__(self, run: Path, progress: Progress, *, enabled: bool) -> None:
        self.path, self.enabled = run / "metrics.jsonl", enabled
        self.last_time, self.last_step = time.monotonic(), progress.step
        self.writer: Any = None
        self.bar = Bar(
            TextColumn("step {task.fields[step]}"),
            BarColumn(_BAR),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[news]}"),
            console=console,
            disable=not enabled or console.quiet or not console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=1.0, step=progress.step, news="")
        if enabled:
            self._forget_after(progress.step)
            self.writer = _tensorboard(run)

    def __enter__(self) -> "Journal":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()
        if self.writer is not None:
            self.writer.close()

    def advance(self, progress: Progress, share: float) -> None:
        """Move the progress bar."""
        self.bar.update(self.task, completed=share, step=progress.step)

    def log_step(
        self,
        progress: Progress,
        terms: Sequence[Mapping[str, Tensor]],
        *,
        schedule: Mapping[str, float],
        health: Mapping[str, float],
        examples: int,
    ) -> None:
        """Terms of the loss, schedules, speed and health; `examples` is how many of them all processes take a step."""
        if not self.enabled:
            return
        now, steps = time.monotonic(), progress.step - self.last_step
        speed = examples * steps / max(1e-9, now - self.last_time)
        self.last_time, self.last_step = now, progress.step
        values = {name: torch.stack([part[name] for part in terms]).mean().item() for name in terms[0]}
        shown = list(values.items())[:_TERMS_SHOWN] + list(health.items())[:_HEALTH_SHOWN]
        self.bar.update(self.task, news=_fitting([f"{speed:.0f}/s", *(f"{name} {value:.2f}" for name, value in shown)]))
        self._write("train", progress, {**values, **health, **schedule, "examples_per_second": speed})

    def log_dev(self, progress: Progress, result: DevResult | None) -> None:
        """Scores on the dev set, and a few paraphrases to look at."""
        if not self.enabled or result is None:
            return
        self._write("dev", progress, result.metrics)
        scores = "  ".join(f"{name} {value:.2f}" for name, value in result.metrics.items())
        console.print(f"step {progress.step}  {progress.seconds / 60:.1f} min  {scores}", markup=False, soft_wrap=True)
        for source, paraphrase in result.samples:
            console.print(f"    {source}  ->  {paraphrase}", markup=False, soft_wrap=True)
        self.last_time = time.monotonic()

    def _write(self, part: str, progress: Progress, values: Mapping[str, float]) -> None:
        record = {"step": progress.step, "seconds": round(progress.seconds, 1), part: values}
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(record) + "\n")
        except OSError as error:
            raise DataError(f"cannot be written: {error.strerror or error}", path=self.path) from error
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(f"{part}/{name}", value, progress.step)

    def _forget_after(self, step: int) -> None:
        """A resumed run repeats the steps since its checkpoint: drop what was noted of them."""
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        with write_text(self.path) as stream:
            stream.writelines(f"{line}\n" for line in lines if _step_of(line) <= step)


def _fitting(news: Sequence[str]) -> str:
    """As much as there is room for beside the bar: a line that is too long would squeeze it away."""
    room, kept = console.width - _BESIDE_NEWS, ""
    for part in news:
        longer = f"{kept}  {part}" if kept else part
        if len(longer) > room:
            break
        kept = longer
    return kept


def _step_of(line: str) -> float:
    """The step of a record; the torn last line of a killed run is of no step that ever was."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def _tensorboard(run: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(run / "tensorboard"))
