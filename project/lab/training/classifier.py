"""Training of a classifier on mini-batches, with a validation set: the settings of a run, and a trainer that can stop after any step."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import minitorch
from minitorch.tensor import generator
from project.lab.training.checkpoint import Checkpoint, CheckpointError
from project.lab.training.compiled_step import CompiledStep
from project.lab.training.settings import EAGER_HELP, BaseSetting, option
from project.lab.training.training_run import TrainingRun


@dataclass(frozen=True)
class ClassifierSetting(BaseSetting):
    """The settings of every classifier. A subclass adds its own, or redefines one of these with another default.

    Attributes:
        log: The file that a report's log is written to.
        dataset: The data set.
        epochs: Number of epochs.
        rate: Learning rate.
        batch: Batch size.
        seed: For the initial weights, the order of the examples and dropout.
        eager: Whether every step runs as it is.
    """

    log: ClassVar[str] = "log.txt"

    dataset: str = option("", "what to train on")
    epochs: int = option(10, "how often to go through the training data", low=1, high=1_000_000)
    rate: float = option(0.05, "learning rate", above=0)
    batch: int = option(16, "how many examples make a batch", low=1, high=100_000)
    seed: int = option(0, "for the initial weights, the order of the examples and dropout", low=0, high=2**32 - 1)
    eager: bool = option(False, EAGER_HELP)


@dataclass(frozen=True)
class Epoch:
    """The results of an epoch.

    Attributes:
        loss: Mean over the training examples, each as the network saw it in its batch.
        train: Training accuracy, measured in the same way (with dropout, and with weights that still changed).
        valid: Validation accuracy at the end of the epoch.
        seconds: The time it took, validation included.
    """

    loss: float
    train: float
    valid: float
    seconds: float


class ClassifierTrainer(TrainingRun):
    """Gradient descent on mini-batches, epoch after epoch, with validation after each epoch.

    Between any two steps, `checkpoint` returns everything that `restore` needs to continue as if nothing had happened. The run has its own
    random numbers, which follow those of the initial weights: random numbers drawn elsewhere in between change nothing.

    Args:
        setting: The settings.
        network: The Module, just created, after `minitorch.manual_seed(setting.seed)`.
        optimizer: Over its parameters.
        loader: Yields the batches of an epoch, each a tuple; a DataLoader or similar.
        examples: The numbers of training and validation examples.
        fingerprint: A digest of the data, which detects a checkpoint of other data.

    Attributes:
        about: A line on the data, printed before the log; "" for none.
        history: The results of every finished epoch.
        step: Number of finished steps in the current epoch.
        steps: Number of steps in an epoch.
        loss: Sum over the examples of the current epoch so far.
        right: The number of them that were correct.
        compiling: Seconds that the first step took to compile its kernels.
    """

    about = ""
    is_recordable: ClassVar[bool] = False
    """Whether a step consists of `prepare`, `loss_and_output` and `tally`, so that the second one can be recorded and replayed."""

    def __init__(
        self,
        setting: ClassifierSetting,
        network: Any,
        optimizer: minitorch.Optimizer,
        loader: Any,
        examples: tuple[int, int],
        fingerprint: str,
    ) -> None:
        self.setting, self.network, self.optimizer, self.loader = setting, network, optimizer, loader
        self.examples, self.fingerprint = examples, fingerprint
        self.history: list[Epoch] = []
        self.steps = len(loader)
        self.compiling = 0.0
        self._random = generator.bit_generator.state
        self._start_epoch()
        self._make_step()

    # Defined by a subclass

    def batch_loss(self, *batch: Any) -> tuple[minitorch.Tensor, int, int]:
        """The mean loss of a batch, the number of its correct examples, and its size."""
        raise NotImplementedError(f"{type(self).__name__} has no batch_loss; define batch_loss(self, *batch) in the class")

    def prepare(self, *batch: Any) -> tuple[minitorch.Tensor, ...]:
        """The arguments of `loss_and_output` for a batch."""
        raise NotImplementedError(f"{type(self).__name__} cannot be recorded; define prepare, loss_and_output and tally in the class")

    def loss_and_output(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """The mean loss of a batch and the network's output, computed by tensor operations alone."""
        raise NotImplementedError(f"{type(self).__name__} cannot be recorded; define prepare, loss_and_output and tally in the class")

    def tally(self, output: minitorch.Tensor, *batch: Any) -> tuple[int, int]:
        """The number of a batch's correct examples, and its size."""
        raise NotImplementedError(f"{type(self).__name__} cannot be recorded; define prepare, loss_and_output and tally in the class")

    def validate(self) -> float:
        """The validation accuracy; the network is in evaluation mode, and no gradients are recorded."""
        raise NotImplementedError(f"{type(self).__name__} has no validate; define validate(self) in the class")

    def details(self) -> dict[str, Any]:
        """JSON data about the latest epoch for a page, besides its numbers."""
        return {}

    def closing(self) -> str:
        """A sentence at the end of the summary, requested once, when all epochs are finished; "" for none."""
        return ""

    # Called by programs and pages

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.history)

    @property
    def finished(self) -> int:
        """Number of finished steps, of `total`, for the training loop."""
        return self.epoch * self.steps + self.step

    @property
    def total(self) -> int:
        """Number of steps in all epochs."""
        return self.setting.epochs * self.steps

    @property
    def best(self) -> int:
        """The first epoch, counted from 1, with the highest validation accuracy; 0 before any is finished."""
        return 1 + max(range(self.epoch), key=lambda i: self.history[i].valid, default=-1)

    def advance(self) -> None:
        """Train one batch; the last one of an epoch is followed by validation."""
        begun = time.perf_counter()
        batch = next(self._batches)
        with self._own_random_numbers():
            if not self.compiling:
                self._compile(batch)
                begun = time.perf_counter()
            if self._step.left:
                loss, output = self._step(*self.prepare(*batch))
                right, count = self.tally(output, *batch)
            else:
                self.optimizer.zero_grad()
                loss, right, count = self.batch_loss(*batch)
                loss.backward()
                self.optimizer.step()
            self.loss += loss.item() * count
            self.right += right
            self.step += 1
            if self.step == self.steps:
                self._end_epoch(begun)
            else:
                self._seconds += time.perf_counter() - begun

    def learn(self, *tensors: minitorch.Tensor) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """Take a step on a prepared batch; returns its mean loss and the network's output."""
        self.optimizer.zero_grad()
        loss, output = self.loss_and_output(*tensors)
        loss.backward()
        self.optimizer.step()
        return loss.detach(), output.detach()

    def curves(self) -> dict[str, list[Any]]:
        """See `TrainingRun.curves`."""
        fields = {"loss": "loss", "train_accuracy": "train", "valid_accuracy": "valid"}
        return {name: [getattr(epoch, field) for epoch in self.history] for name, field in fields.items()}

    def time_spent(self) -> float:
        """See `TrainingRun.time_spent`."""
        return sum(epoch.seconds for epoch in self.history) + self._seconds

    def checkpoint(self) -> Checkpoint:
        """Everything that `restore` needs."""
        arrays = {f"parameter.{name}": parameter.value.to_numpy() for name, parameter in self.network.named_parameters()}
        kept = self.optimizer.state_dict()
        memories = {str(number): dict(memory) for number, memory in kept["state"].items()}
        for number, memory in memories.items():
            for name in [name for name, value in memory.items() if isinstance(value, minitorch.Tensor)]:
                arrays[f"optimizer.{number}.{name}"] = memory.pop(name).to_numpy()
        about = {
            "program": self.setting.program,
            "setting": asdict(self.setting),
            "data": self.fingerprint,
            "version": minitorch.__version__,
            "history": [asdict(epoch) for epoch in self.history],
            "step": self.step,
            "loss": self.loss,
            "right": self.right,
            "seconds": self._seconds,
            "loader": self._loader_state,
            "random": self._random,
            "optimizer": kept | {"state": memories},
        }
        return Checkpoint(about, arrays)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint.

        Raises:
            CheckpointError: If it belongs to other data, or to a network with other parameters.
        """
        about, arrays = checkpoint.about, checkpoint.arrays
        if about["data"] != self.fingerprint:
            raise CheckpointError("the checkpoint was made with other data; put the same files into the data directory, or begin anew")
        expected = {f"parameter.{name}": parameter.value.shape for name, parameter in self.network.named_parameters()}
        found = {name: array.shape for name, array in arrays.items() if name.startswith("parameter.")}
        if found != expected:
            names = [name.partition(".")[2] for name in found | expected if found.get(name) != expected.get(name)]
            raise CheckpointError(
                f"the checkpoint is one of another network, which differs in {', '.join(names)}; bring that network back, or begin anew"
            )
        for name, parameter in self.network.named_parameters():
            values = arrays[f"parameter.{name}"]
            parameter.update(minitorch.tensor(values, backend=parameter.value.backend, dtype=values.dtype))
        memories = {number: dict(memory) for number, memory in about["optimizer"]["state"].items()}
        for key, array in arrays.items():
            if key.startswith("optimizer."):
                _, number, name = key.split(".")
                memories[number][name] = array
        self.optimizer.load_state_dict(about["optimizer"] | {"state": memories})
        self.history = [Epoch(**epoch) for epoch in about["history"]]
        self.loader.restore(about["loader"])
        self._start_epoch()
        for _ in range(about["step"]):
            next(self._batches)
        self.step, self.loss, self.right, self._seconds = about["step"], about["loss"], about["right"], about["seconds"]
        self._random = about["random"]
        self._make_step()

    def _make_step(self) -> None:
        self._step = CompiledStep(self.learn, self.total - self.finished if self.is_recordable and not self.setting.eager else 0)

    # Within an epoch

    def _start_epoch(self) -> None:
        self.step, self.loss, self.right, self._seconds = 0, 0.0, 0, 0.0
        self._loader_state = self.loader.state()
        self._batches = iter(self.loader)

    def _end_epoch(self, begun: float) -> None:
        """Validate, and add the epoch to the record."""
        valid = self._validated()
        next(self._batches, None)  # lets the loader finish its epoch
        count = self.examples[0]
        seconds = self._seconds + time.perf_counter() - begun
        self.history.append(Epoch(self.loss / count, self.right / count, valid, seconds))
        self._start_epoch()

    def _validated(self) -> float:
        """`validate`, in evaluation mode and without gradients."""
        self.network.eval()
        try:
            with minitorch.no_grad():
                return self.validate()
        finally:
            self.network.train()

    def _compile(self, batch: Any) -> None:
        """Run a batch and validation without learning, so that all kernels are compiled and no epoch's time includes compilation."""
        begun = time.perf_counter()
        before = generator.bit_generator.state
        loss, _, _ = self.batch_loss(*batch)
        loss.backward()
        self._try_step()
        self._validated()
        generator.bit_generator.state = before
        self.compiling = time.perf_counter() - begun

    def _try_step(self) -> None:
        """Take a step with a copy of the optimizer, and undo it."""
        spare = copy.copy(self.optimizer)
        spare.load_state_dict(self.optimizer.state_dict())  # gives the copy its own state
        held = [(parameter, parameter.value.detach().clone()) for parameter in self.network.parameters()]
        spare.step()
        for parameter, value in held:
            parameter.update(value)

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """In the `with` block, minitorch uses the run's own random numbers; afterwards, the global ones continue where they were."""
        others = generator.bit_generator.state
        generator.bit_generator.state = self._random
        try:
            yield
        finally:
            self._random = generator.bit_generator.state
            generator.bit_generator.state = others
