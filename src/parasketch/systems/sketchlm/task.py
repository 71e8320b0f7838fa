"""The language-model kind as something to train: pairs, two losses, and how much the sketch matters on dev."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from parasketch.console import console
from parasketch.data.corpora import EvalItem, read_eval
from parasketch.errors import DataError, ModelError, UsageError
from parasketch.model.storage import open_model, save_model
from parasketch.systems.sketchlm.base import BaseTokenizer
from parasketch.systems.sketchlm.config import KIND, SketchLMConfig
from parasketch.systems.sketchlm.examples import Pair, PairExamples, by_source, read_pairs
from parasketch.systems.sketchlm.network import Example, Losses, Rows, SketchLM, Target, load_base
from parasketch.train.task import DevResult, Loss, ParameterGroup, Sources, Task


class SketchLMTask(Task[Rows]):
    """Adapters, codes and the form that gives targets their codes; the base stays as it is."""

    kind = KIND
    config_type = SketchLMConfig
    config: SketchLMConfig
    network: SketchLM

    def __init__(self, config: SketchLMConfig, pairs: Sequence[Pair], dev: Sequence[EvalItem] = ()) -> None:
        self.config, self._pairs, self._dev = config, pairs, dev

    @classmethod
    def set_up(cls, config: SketchLMConfig, sources: Sources) -> Self:
        if sources.data is None:
            raise UsageError('--data is missing: a file of pairs, {"source": ..., "target": ...} a line')
        dev = [] if sources.dev is None else list(read_eval(sources.dev))
        return cls(config, read_pairs(sources.data), dev)

    def build(self) -> SketchLM:
        self.network = SketchLM(self.config.model)
        self._tokenizer: BaseTokenizer = load_base(self.network.language_model)
        if self.config.train.start is not None:
            self._go_on_from(Path(self.config.train.start))
        else:
            self._learn_form()
        return self.network

    def examples(self) -> PairExamples:
        settings = self.config.train
        groups = by_source(self._pairs, settings.targets_together)
        sources = self._tokenizer.encode_batch([group[0].source for group in groups])
        flat = [pair.target for group in groups for pair in group]
        console.print(f"finding the sketches of {len(flat):,} targets of {len(groups):,} sources ...")
        encoded = zip(self._tokenizer.encode_batch(flat), self.network.form.encoder().sketches(flat), strict=True)
        levels = self.config.model.levels
        examples: list[Example] = []
        for source, group in zip(sources, groups, strict=True):
            targets = [Target(*next(encoded), levels, pair.grade) for pair in group]
            fitting = [each for each in targets if len(source) + len(each.tokens) <= settings.max_tokens]
            if fitting:
                examples.append(Example(source, fitting))
        left_out = len(flat) - sum(len(each.targets) for each in examples)
        if not examples:
            raise DataError(f"all pairs are longer than {settings.max_tokens} tokens (train.max_tokens)")
        if left_out:
            console.print(f"{left_out:,} pairs of more than {settings.max_tokens} tokens are left out")
        return PairExamples(
            examples,
            ids=self.network.ids,
            seed=settings.seed,
            batch_size=settings.batch_size,
            depth_dropout=settings.depth_dropout,
        )

    def parameter_groups(self) -> list[ParameterGroup]:
        settings, network = self.config.train, self.network
        codes = [network.code_embedding, network.form_embedding, network.code_output, network.grade_output]
        adapters = [value for value in network.language_model.parameters() if value.requires_grad]
        return [
            ParameterGroup(parameters=adapters, learning_rate=settings.learning_rate, betas=settings.betas),
            ParameterGroup(parameters=codes, learning_rate=settings.code_learning_rate, betas=settings.betas),
        ]

    def loss(self, forward: Callable[..., Any], batch: Rows, share: float) -> Loss:
        del share
        losses: Losses = forward(batch)
        settings = self.config.train
        value = losses.target + settings.code_weight * torch.stack(losses.codes).sum()
        value = value + settings.contrast_weight * losses.contrast + settings.grade_weight * losses.grades
        # Levels that no row of the batch shows take part with a weight of 0, for the sake of several processes.
        value = value + 0 * self.network.code_output.sum()
        codes = {f"sketch_{level + 1}": each.detach() for level, each in enumerate(losses.codes)}
        others = {"contrast": losses.contrast.detach(), "grades": losses.grades.detach()}
        return Loss(value, {"nll": losses.target.detach(), **others, **codes})

    def evaluate(self) -> DevResult | None:
        """The NLL of first references given their own sketches, none, and those of other items."""
        if not self._dev:
            return None
        items = self._dev[: self.config.train.evaluation_items]
        sources = self._tokenizer.encode_batch([item.input for item in items])
        references = [item.references[0] for item in items]
        targets = self._tokenizer.encode_batch(references)
        sketches = self.network.form.encoder().sketches(references)
        others = [sketches[place] for place in np.random.default_rng(0).permutation(len(sketches))]
        levels = self.config.model.levels
        own = self._mean_losses(sources, targets, sketches, levels)
        metrics = {
            "nll": own[0],
            "nll_no_sketch": self._mean_losses(sources, targets, sketches, 0)[0],
            "nll_other_sketch": self._mean_losses(sources, targets, others, levels)[0],
            **{f"sketch_{level + 1}": value for level, value in enumerate(own[1])},
        }
        return DevResult(-metrics["nll"], metrics)

    def save(self, directory: Path, dev: Mapping[str, float]) -> None:
        sections = {"trained": {"dev": dict(dev)}} if dev else {}
        save_model(directory, self.network, self._tokenizer, sections=sections, half=True)

    def _mean_losses(
        self,
        sources: Sequence[list[int]],
        targets: Sequence[list[int]],
        sketches: Sequence[tuple[int, ...]],
        depth: int,
    ) -> tuple[float, list[float]]:
        """Mean NLL of a target token and of each level's codes, batch by batch."""
        examples = [
            Example(source, [Target(target, sketch, depth)])
            for source, target, sketch in zip(sources, targets, sketches, strict=True)
        ]
        examples.sort(key=lambda each: each.length(self.config.model.levels))
        total, tokens = torch.zeros(1 + self.config.model.levels), 0
        for start in range(0, len(examples), 16):
            rows = Rows.from_examples(examples[start : start + 16], self.network.ids)
            losses: Losses = self.network(rows)
            weight = len(rows.targets)
            total += weight * torch.stack([losses.target, *losses.codes])
            tokens += weight
        mean: list[float] = (total / tokens).tolist()
        return mean[0], mean[1:]

    def _learn_form(self) -> None:
        """The form from some of the targets, the same ones on every process."""
        targets = sorted({pair.target for pair in self._pairs})
        count = min(self.config.train.form_sentences, len(targets))
        chosen = np.random.default_rng(self.config.train.seed).choice(len(targets), count, replace=False)
        console.print(f"learning what forms there are from {count:,} targets ...")
        self.network.form.fit([targets[place] for place in chosen], seed=self.config.train.seed)

    def _go_on_from(self, directory: Path) -> None:
        stored = open_model(directory)
        if stored.kind != self.kind:
            raise ModelError(f"{directory}: a model of the kind {stored.kind}, not {self.kind}")
        stored.fill(self.network, newer=self.network.newer_weights).train()
