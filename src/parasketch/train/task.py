"""The seam between the training loop and what is trained.

The loop knows the clock, accumulation, clipping, the journal, selection and checkpoints. A task knows everything else:
the network, its data, the loss, what is done about it between steps, how good it is on dev, and how it is saved. To
add a system, write a task and name it in `parasketch.systems.kinds`; the loop stays as it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from parasketch.config import Config
from parasketch.errors import UsageError

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Batch(Protocol):
    """What one forward pass learns from."""

    def to(self, device: torch.device) -> Self:
        """The same batch on another device."""
        ...


B = TypeVar("B", bound=Batch)
Made = TypeVar("Made", bound=Batch, covariant=True)


class Examples(Protocol[Made]):
    """What there is to learn from: `len()` examples an epoch.

    Each is a pure function of the seed, the epoch and its index: so a run can be cut anywhere and split over processes.
    """

    def __len__(self) -> int: ...

    def order(self, epoch: int) -> NDArray[np.int64]:
        """The indices of all examples in the order of an epoch."""
        ...

    def batch(self, epoch: int, indices: NDArray[np.int64]) -> Made:
        """Some examples of an epoch as one batch, on the CPU."""
        ...


@dataclass(frozen=True)
class Loss:
    """The loss to minimise, a scalar, and its terms for the log, which have no gradient."""

    value: Tensor
    terms: Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class ParameterGroup:
    """Parameters that share a learning rate; a group may learn in a part of the run only."""

    parameters: list[nn.Parameter]
    learning_rate: float
    """Peak rate."""
    betas: tuple[float, float]
    first: float = 0.0
    last: float = 1.0
    """The shares of the run between which it learns; warm-up and decay are laid out between them."""


@dataclass(frozen=True)
class DevResult:
    """What an evaluation found; `score` (higher is better) selects the best model."""

    score: float
    metrics: dict[str, float]
    samples: list[tuple[str, str]] = field(default_factory=list)
    """Some inputs and their paraphrases, to look at."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the user named to train on; every task decides what it makes of it."""

    data: Path | None
    """A prepared corpus, a file of clusters, or whatever else the task's examples are in."""
    dev: Path | None
    """Evaluation items."""
    run: Path
    """The directory of the run: what has to be prepared goes there."""
    begun: bool = False
    """Whether the run has checkpoints already, so that its data may no longer change."""
    start: Path | None = None
    """The model to go on with; None to begin with random weights."""


class Task(ABC, Generic[B]):
    """Something that can be trained."""

    kind: ClassVar[str]
    """The name of the system: in `config.json` of its models, on the command line, and of its presets' folder."""
    config_type: ClassVar[type[Config]]
    """The sections of its configuration."""

    start: Path | None = None
    """The model that it goes on with, if it does."""

    config: Config
    network: nn.Module
    """What is trained; it is there once the loop has called `build`."""

    @classmethod
    @abstractmethod
    def set_up(cls, config: Any, sources: Sources) -> Self:
        """The task of a configuration (a `config_type`) on what the user named; opens or prepares its data."""

    @classmethod
    def going_on(cls, config: Any, directory: Path) -> Any:
        """The configuration to go on training a model with: its shape, and the settings of its data."""
        del config
        raise UsageError(f"--from {directory}: models of the kind {cls.kind} cannot be trained further")

    @abstractmethod
    def build(self) -> nn.Module:
        """A new network, which becomes `self.network` too; random weights come from torch's own generator."""

    @abstractmethod
    def examples(self) -> Examples[B]:
        """What it learns from."""

    @abstractmethod
    def loss(self, forward: Callable[..., Any], batch: B, share: float) -> Loss:
        """The loss of one batch when this share of the run is done.

        `forward` is the network as several processes train it: call it, once, instead of `self.network`. Every
        parameter has to take part in every loss (times 0 where it does not matter).
        """

    @abstractmethod
    def save(self, directory: Path, dev: Mapping[str, float]) -> None:
        """Write `self.network` as a model directory, with the dev scores it reached."""

    def parameter_groups(self) -> list[ParameterGroup]:
        """What the optimiser changes, by learning rate."""
        trained = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        settings = self.config.train
        return [ParameterGroup(parameters=trained, learning_rate=settings.learning_rate, betas=settings.betas)]

    def before_step(self, share: float, fabric: "Fabric") -> None:
        """Whatever has to be done at this share of the run before the next batch, on all processes."""

    def after_step(self, step: int, fabric: "Fabric") -> None:
        """Whatever has to be done after the optimiser's step of this number (from 1), on all processes."""

    def schedule(self, share: float) -> dict[str, float]:
        """Settings that change during the run, for the log."""
        del share
        return {}

    def health(self) -> dict[str, float]:
        """Figures of the network's state for the log, such as how many codes are in use."""
        return {}

    def evaluate(self) -> DevResult | None:
        """How good the network is on dev, or None if there is no dev set.

        It is called on the first process alone, in evaluation mode and without gradients, and may draw random numbers.
        """
        return None

    def tensors(self) -> dict[str, Tensor]:
        """What of the network goes into a checkpoint; leave out what is frozen and can be had again."""
        return self.network.state_dict()

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Take up what `tensors` gave."""
        self.network.load_state_dict(tensors)

    def state(self) -> dict[str, Any]:
        """What else it has to remember between steps, as JSON."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave."""
        del state
