"""The trainers of networks of Scalars and of Tensors: valid settings, and the progress of training."""

import math
import time
from collections.abc import Sequence

import pytest

from minitorch import Module, Parameter, Scalar, Tensor, datasets, manual_seed, rand, tensor
from project import run_scalar, run_tensor
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.tensor_trainer import TensorTrainer
from project.lab.training.trainer import Setting, Trainer
from project.lab.training.training_run import TrainingRun
from tests.errors import raises


class OneScalar(Module):
    """sigmoid(w · x_1), from w = 0: small enough to be trained by hand."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.weight = Parameter(Scalar(0.0))

    def forward(self, x: Sequence[Scalar]) -> Scalar:
        return (self.weight.value * x[0]).sigmoid()


class OneTensor(Module):
    """The same of tensors."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = Parameter(tensor([0.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (self.weight.value * x[:, 0]).sigmoid()


SCALARS, TENSORS = (ScalarTrainer, OneScalar, run_scalar.Network), (TensorTrainer, OneTensor, run_tensor.Network)
both_trainers = pytest.mark.parametrize(("trainer_class", "one_weight", "network"), [SCALARS, TENSORS], ids=["of scalars", "of tensors"])


def weight_of(trainer: Trainer) -> float:
    """The weight of OneScalar or OneTensor."""
    weight = trainer.network.weight.value
    return weight.data if isinstance(weight, Scalar) else weight.item()


def train(trainer: Trainer) -> Trainer:
    while not trainer.done:
        trainer.run_epoch()
    return trainer


def epochs_by_hand(setting: Setting) -> tuple[list[float], list[int], float]:
    """Losses, correct points and the last weight, from the derivative of the loss: (probability - label) · x_1."""
    graph = datasets[setting.dataset](setting.points, setting.seed)
    weight, losses, correct = 0.0, [], []
    for _ in range(setting.epochs):
        loss, right, derivative = 0.0, 0, 0.0
        for (x_1, _), label in zip(graph.X, graph.y, strict=True):
            p = 1 / (1 + math.exp(-weight * x_1))
            probability = p if label == 1 else 1 - p
            loss -= math.log(probability)
            right += probability > 0.5
            derivative += (p - label) * x_1 / setting.points
        weight -= setting.rate * derivative
        losses.append(loss)
        correct.append(right)
    return losses, correct, weight


def check_results(trainer: Trainer, setting: Setting) -> None:
    """A trained network of one weight has the results that are computed by hand."""
    losses, correct, weight = epochs_by_hand(setting)
    assert trainer.losses == pytest.approx(losses, abs=1e-4)  # log is shifted by 1e-6 a point
    assert trainer.correct == correct
    assert weight_of(trainer) == pytest.approx(weight, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("dataset", "Moon", "one of Simple, Diag, Split, Xor, Circle, Spiral"),
        *[("points", value, "a whole number from 1 to 10000") for value in (0, 10_001, 5.0, True)],
        *[("hidden", value, "a whole number from 1 to 1000") for value in (0, "many")],
        ("epochs", 0, "a whole number from 1 to 1000000"),
        ("seed", -1, "a whole number from 0 to 4294967295"),
        *[("rate", value, "a number above 0, such as 0.5") for value in (0, math.inf, math.nan, "fast", True)],
    ],
)
def test_a_setting_refuses_an_invalid_value_in_one_line(name, value, expected) -> None:
    with raises(ValueError, f"{name} expected {expected}, got {value!r}"):
        Setting(**{name: value})


@pytest.mark.parametrize(
    "edge",
    [{"points": 1}, {"points": 10_000}, {"hidden": 1}, {"hidden": 1_000}, {"epochs": 1}, {"epochs": 1_000_000}, {"seed": 0}, {"rate": 1}],
)
def test_a_setting_allows_the_smallest_and_largest_values(edge: dict) -> None:
    Setting(**edge)


def test_the_command_names_the_program_and_every_value() -> None:
    setting = Setting("Xor", points=40, hidden=3, rate=0.25, epochs=7, seed=5)
    assert setting.command() == "python project/run_scalar.py --dataset Xor --points 40 --hidden 3 --rate 0.25 --epochs 7 --seed 5"
    assert Setting(program="run_tensor").command().startswith("python project/run_tensor.py --dataset Simple ")


@both_trainers
@pytest.mark.parametrize("dataset", ["Simple", "Xor"])
def test_losses_and_weights_equal_those_computed_by_hand(trainer_class, one_weight, network, dataset) -> None:
    setting = Setting(dataset, points=12, rate=0.8, epochs=5, seed=3)
    check_results(train(trainer_class(setting, one_weight)), setting)


def test_the_network_is_created_once_with_its_hidden_size() -> None:
    made = []
    ScalarTrainer(Setting(hidden=7), lambda hidden: made.append(hidden) or OneScalar(hidden))
    assert made == [7]


def test_the_data_set_is_that_of_the_setting() -> None:
    assert ScalarTrainer(Setting("Split", points=8, seed=4), OneScalar).graph == datasets["Split"](8, 4)


@both_trainers
def test_the_seed_determines_the_run(trainer_class, one_weight, network) -> None:
    first, again, other = (train(trainer_class(Setting("Xor", points=6, epochs=3, seed=seed), network)).losses for seed in (0, 0, 1))
    assert first == again != other


@both_trainers
def test_an_epoch_adds_one_entry_to_each_list(trainer_class, one_weight, network) -> None:
    trainer = trainer_class(Setting(points=5, epochs=2), network)
    assert (trainer.epoch, trainer.losses, trainer.correct, trainer.seconds, trainer.done) == (0, [], [], [], False)
    trainer.run_epoch()
    assert (trainer.epoch, len(trainer.losses), len(trainer.correct), len(trainer.seconds), trainer.done) == (1, 1, 1, 1, False)
    trainer.run_epoch()
    assert (trainer.epoch, trainer.done) == (2, True)
    assert all(seconds > 0 for seconds in trainer.seconds)
    assert all(type(right) is int and type(loss) is float for right, loss in zip(trainer.correct, trainer.losses, strict=True))


def test_training_stops_after_the_last_epoch() -> None:
    trainer = ScalarTrainer(Setting(points=5, epochs=1), OneScalar)
    trainer.run_epoch()
    weight = trainer.network.weight.value.data
    trainer.run_epoch()
    trainer.run_for(0.01)
    assert (trainer.epoch, trainer.network.weight.value.data) == (1, weight)


def test_training_for_no_time_does_nothing() -> None:
    trainer = ScalarTrainer(Setting(points=1, epochs=1), OneScalar)
    trainer.run_for(0)
    assert trainer.epoch == 0


class Clock:
    """A clock that advances one second with every reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_training_for_a_time_stops_within_an_epoch_and_continues_there(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("Xor", points=20, epochs=3, seed=2)
    monkeypatch.setattr(time, "perf_counter", Clock())
    parts = ScalarTrainer(setting, OneScalar)
    parts.run_for(11)  # the clock is read three times per point, so there is time for a few points, not for all 20
    assert parts.epoch == 0
    calls = 1
    while not parts.done:
        parts.run_for(11)
        calls += 1
    assert calls > 10
    check_results(parts, setting)


def test_run_epoch_finishes_an_epoch_that_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = ScalarTrainer(Setting(points=20, epochs=3), OneScalar)
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock())
        trainer.run_for(11)
    trainer.run_epoch()
    assert trainer.epoch == 1
    assert trainer.losses == pytest.approx(epochs_by_hand(Setting(points=20, epochs=1))[0], abs=1e-4)


def test_the_learning_rate_may_change_during_training() -> None:
    trainer = ScalarTrainer(Setting(points=5, epochs=2), OneScalar)
    trainer.optimizer.lr = 0.0
    trainer.run_epoch()
    assert trainer.network.weight.value.data == 0.0


def test_a_prediction_is_the_probability_of_label_1() -> None:
    trainer = ScalarTrainer(Setting(), OneScalar)
    trainer.network.weight.update(Scalar(2.0))
    assert trainer.probabilities([(0.5, 0.9), (0.0, 0.9)]) == pytest.approx([1 / (1 + math.exp(-1)), 0.5])


class FirstPlusTenSecond(Module):
    """x_1 + 10 · x_2; not a probability, but it shows where each value belongs."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(tensor([1.0, 10.0]))

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.weight.value).sum(1).view(x.shape[0])


def test_the_grid_contains_the_centers_of_its_cells_row_by_row_from_the_bottom() -> None:
    trainer = ScalarTrainer(Setting(), OneScalar)
    trainer.probabilities = lambda points: [x_1 + 10 * x_2 for x_1, x_2 in points]
    tensors = TensorTrainer(Setting(), lambda hidden: FirstPlusTenSecond())
    assert trainer.grid(2) == tensors.grid(2) == [[2.75, 3.25], [7.75, 8.25]]


@both_trainers
def test_predicting_does_not_affect_training_and_records_no_gradients(trainer_class, one_weight, network) -> None:
    recorded = []

    class Watched(one_weight):
        def forward(self, x):
            output = super().forward(x)
            recorded.append(isinstance(output, Tensor) and output.requires_grad)
            return output

    disturbed, quiet = (trainer_class(Setting("Xor", points=5, epochs=2), network) for network in (Watched, one_weight))
    for trainer in (disturbed, quiet):
        trainer.run_epoch()
        if trainer is disturbed:
            trainer.grid(3)
        trainer.run_epoch()
    assert disturbed.losses == quiet.losses
    assert trainer_class is ScalarTrainer or recorded == [True, False, True]


@pytest.mark.parametrize(
    ("name", "arguments", "parameters"),
    [
        ("seed", (0,), "self, seed"),
        ("train_step", (), "self"),
        ("probabilities", ([],), "self, points"),
    ],
)
def test_an_error_names_the_method_that_a_trainer_must_define(name: str, arguments: tuple, parameters: str) -> None:
    class Bare(Trainer):
        pass

    with raises(NotImplementedError, f"Bare has no {name}; define {name}({parameters}) in the class"):
        getattr(Trainer, name)(object.__new__(Bare), *arguments)


def test_an_error_names_what_a_training_run_must_define() -> None:
    class Bare(TrainingRun):
        pass

    for name, what in (("epoch", "the property epoch"), ("advance", "advance(self)"), ("curves", "curves(self)")):
        with raises(NotImplementedError, f"Bare has no {name}; define {what} in the class"):
            getattr(Bare(), name)()


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


def test_the_weights_are_initialized_after_the_seed_is_set() -> None:
    manual_seed(5)
    first = rand((1,)).item()
    drawn = []
    TensorTrainer(Setting(seed=5), lambda hidden: drawn.append(rand((1,)).item()) or OneTensor(hidden))
    assert drawn == [first]


def test_points_and_labels_are_tensors_that_require_no_gradient() -> None:
    trainer = TensorTrainer(Setting("Split", points=8, seed=4), OneTensor)
    graph = datasets["Split"](8, 4)
    assert trainer.points.tolist() == [list(point) for point in graph.X]
    assert trainer.labels.tolist() == graph.y
    trainer.run_epoch()
    assert trainer.points.is_constant()
    assert trainer.points.grad is None


def test_training_for_a_time_stops_between_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(range(1000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(readings)))  # the clock advances one second with every reading
    trainer = TensorTrainer(Setting("Xor", points=4, epochs=9), OneTensor)
    trainer.run_for(8)  # read at 0; before, in and after each epoch at 1 2 3, 4 5 6; at 7 there is time left, at 10 there is none
    assert trainer.epoch == 3
    trainer.run_for(0)
    assert trainer.epoch == 3
    trainer.run_for(1000)
    assert trainer.done
