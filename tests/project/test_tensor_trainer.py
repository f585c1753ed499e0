"""The trainer of networks of Tensors: the same gradient descent as with Scalars, one epoch at a time."""

import math
import time

import pytest

import minitorch
from minitorch import Module, Parameter, Scalar, Tensor, datasets, tensor
from project import run_scalar, run_tensor
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting, Trainer


class OneWeight(Module):
    """sigmoid(w · x_1), from w = 0: small enough to be trained by hand."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = Parameter(tensor([0.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (self.weight.value * x[:, 0]).sigmoid()


def train(trainer: Trainer) -> Trainer:
    while not trainer.done:
        trainer.run_epoch()
    return trainer


@pytest.mark.parametrize("dataset", ["Simple", "Xor"])
def test_losses_and_weights_equal_those_computed_by_hand(dataset: str) -> None:
    trainer = train(TensorTrainer(Setting(dataset, points=12, rate=0.8, epochs=5, seed=3), OneWeight))
    graph = datasets[dataset](12, 3)
    weight, losses, correct = 0.0, [], []
    for _ in range(5):
        ones = [1 / (1 + math.exp(-weight * x_1)) for x_1, _ in graph.X]
        right = [p if label == 1 else 1 - p for p, label in zip(ones, graph.y, strict=True)]
        losses.append(-sum(math.log(p) for p in right))
        correct.append(sum(p > 0.5 for p in right))
        weight -= 0.8 * sum((p - label) * x_1 for p, label, (x_1, _) in zip(ones, graph.y, graph.X, strict=True)) / 12
    assert trainer.losses == pytest.approx(losses, abs=1e-4)  # log is shifted by 1e-6 a point
    assert trainer.correct == correct
    assert trainer.network.weight.value.item() == pytest.approx(weight, abs=1e-4)


def test_a_network_of_scalars_with_the_same_initial_weights_trains_alike() -> None:
    setting = Setting("Xor", points=10, hidden=3, rate=0.5, epochs=4, seed=2)
    tensors, scalars = TensorTrainer(setting, run_tensor.Network), ScalarTrainer(setting, run_scalar.Network)
    for k in (1, 2, 3):
        layer, copy = getattr(tensors.network, f"layer{k}"), getattr(scalars.network, f"layer{k}")
        for j in range(layer.bias.value.size):
            copy.bias[j].update(Scalar(layer.bias.value[j]))
            for i in range(layer.weights.value.shape[0]):
                copy.weights[i][j].update(Scalar(layer.weights.value[i, j]))
    train(tensors)
    train(scalars)
    assert tensors.losses == pytest.approx(scalars.losses, abs=1e-9)
    assert tensors.correct == scalars.correct
    assert [row for line in tensors.grid(3) for row in line] == pytest.approx([row for line in scalars.grid(3) for row in line], abs=1e-9)


def test_the_seed_determines_the_run() -> None:
    def losses(seed: int) -> list[float]:
        return train(TensorTrainer(Setting("Xor", points=6, epochs=3, seed=seed), run_tensor.Network)).losses

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_the_weights_are_initialized_after_the_seed_is_set() -> None:
    minitorch.manual_seed(5)
    first = minitorch.rand((1,)).item()
    drawn = []
    TensorTrainer(Setting(seed=5), lambda hidden: drawn.append(minitorch.rand((1,)).item()) or OneWeight(hidden))
    assert drawn == [first]


def test_points_and_labels_are_tensors_that_require_no_gradient() -> None:
    trainer = TensorTrainer(Setting("Split", points=8, seed=4), OneWeight)
    graph = datasets["Split"](8, 4)
    assert trainer.points.tolist() == [list(point) for point in graph.X]
    assert trainer.labels.tolist() == graph.y
    trainer.run_epoch()
    assert trainer.points.is_constant()
    assert trainer.points.grad is None


def test_an_epoch_adds_one_entry_to_each_list() -> None:
    trainer = TensorTrainer(Setting(points=5, epochs=2), run_tensor.Network)
    assert (trainer.epoch, trainer.losses, trainer.correct, trainer.seconds, trainer.done) == (0, [], [], [], False)
    trainer.run_epoch()
    assert (trainer.epoch, len(trainer.losses), len(trainer.correct), len(trainer.seconds), trainer.done) == (1, 1, 1, 1, False)
    train(trainer)
    assert trainer.epoch == 2
    assert all(seconds > 0 for seconds in trainer.seconds)
    assert all(type(right) is int and type(loss) is float for right, loss in zip(trainer.correct, trainer.losses, strict=True))


def test_training_for_a_time_stops_between_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))  # the clock advances one second with every reading
    trainer = TensorTrainer(Setting("Xor", points=4, epochs=9), OneWeight)
    trainer.run_for(8)  # read at 0; before, in and after each epoch at 1 2 3, 4 5 6; at 7 there is time left, at 10 there is none
    assert trainer.epoch == 3
    trainer.run_for(0)
    assert trainer.epoch == 3
    trainer.run_for(1000)
    assert trainer.done


def test_the_grid_contains_the_centers_of_its_cells_row_by_row_from_the_bottom() -> None:
    trainer = TensorTrainer(Setting(), lambda hidden: FirstPlusTenSecond())
    assert trainer.grid(2) == [[2.75, 3.25], [7.75, 8.25]]


class FirstPlusTenSecond(Module):
    """x_1 + 10 · x_2; not a probability, but it shows where each value belongs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(tensor([1.0, 10.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight.value).sum(1).view(x.shape[0])


def test_predicting_does_not_affect_training_and_records_no_gradients() -> None:
    recorded = []

    class Watched(OneWeight):
        def forward(self, x: Tensor) -> Tensor:
            output = super().forward(x)
            recorded.append(output.requires_grad)
            return output

    disturbed, quiet = (TensorTrainer(Setting("Xor", points=5, epochs=2), network) for network in (Watched, OneWeight))
    for trainer in (disturbed, quiet):
        trainer.run_epoch()
        if trainer is disturbed:
            trainer.grid(3)
        trainer.run_epoch()
    assert disturbed.losses == quiet.losses
    assert recorded == [True, False, True]
