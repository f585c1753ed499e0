"""Training of a network of Tensors on a compiled backend, in mini-batches."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minitorch
from minitorch.kernels.cuda.device import require_cuda
from project.lab.training.compiled_step import CompiledStep
from project.lab.training.settings import EAGER_HELP, option
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting

BACKENDS: dict[str, Callable[[], minitorch.TensorBackend]] = {"cpu": lambda: minitorch.FastBackend, "gpu": minitorch.cuda_backend}
"""What can be asked for, and what makes it."""

BATCH = 10
"""Points of a mini-batch; the last one of an epoch may have fewer."""


@dataclass(frozen=True)
class FastSetting(Setting):
    """A Setting with a choice of backends.

    Attributes:
        eager: Whether every step runs as it is.
        backend: A name in BACKENDS.

    Raises:
        ValueError: If a value is not allowed, or if there is no GPU for "gpu".
    """

    eager: bool = option(False, EAGER_HELP)
    backend: str = option("cpu", "what computes: cpu or gpu", choices=tuple(BACKENDS))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.backend == "gpu":
            try:
                require_cuda()
            except RuntimeError as error:
                raise ValueError(str(error)) from error


class FastTrainer(TensorTrainer):
    """Gradient descent on mini-batches of ten points; the points are shuffled in every epoch.

    `losses` contains the mean over all points of the epoch; the loss of a point is the one of its own training step. Before the
    first epoch, a step with learning rate 0 compiles the kernels, so that no epoch's time includes compilation.

    Args:
        setting: The settings.
        make_network: Creates a Module from the size of its hidden layers and a backend, which maps points, shape (n, 2), to their
            probabilities of label 1, shape (n,); called once, after `minitorch.manual_seed`.

    Attributes:
        points: The data set in the order of this epoch, shape (N, 2).
        labels: Its labels, shape (N,).
    """

    def __init__(self, setting: FastSetting, make_network: Callable[[int, minitorch.TensorBackend], Any]) -> None:
        self.backend = BACKENDS[setting.backend]()
        super().__init__(setting, lambda hidden: make_network(hidden, self.backend))
        self._random = random.Random(setting.seed)
        self._step = CompiledStep(self.learn, 0 if setting.eager else setting.epochs * -(-self.graph.N // BATCH))
        self._shuffle()

    def compile(self) -> None:
        """Take a step with learning rate 0, so that all kernels are compiled."""
        begun = time.perf_counter()
        rate, self.optimizer.lr = self.optimizer.lr, 0.0
        self.learn(*self._batch(0))
        self.optimizer.lr = rate
        self.compiling = time.perf_counter() - begun

    def train_step(self) -> bool:
        """Train one mini-batch."""
        loss, probability = self._step(*self._batch(self._first))
        last = min(self._first + BATCH, self.graph.N)
        self.loss += loss.item() * (last - self._first) / self.graph.N
        self.right += int((probability.to_numpy() > 0.5).sum())
        self._first = last
        if last < self.graph.N:
            return False
        self._shuffle()
        return True

    def _batch(self, first: int) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """The points and labels of a mini-batch."""
        return self.points[first : first + BATCH], self.labels[first : first + BATCH]

    def _shuffle(self) -> None:
        """Start an epoch with all points in a new order."""
        order = self._random.sample(range(self.graph.N), self.graph.N)
        self.points = minitorch.tensor([self.graph.X[i] for i in order], backend=self.backend)
        self.labels = minitorch.tensor([self.graph.y[i] for i in order], backend=self.backend, dtype=self.points.dtype)
        self._first = 0

    def advance(self) -> None:
        """Train one mini-batch; compile before the first one."""
        if not self.compiling:
            self.compile()
        else:
            super().advance()
