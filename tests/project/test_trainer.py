"""The trainer: valid settings, and the progress of training."""

import math
import re
import shlex
import time
from collections.abc import Sequence

import pytest

from minitorch import Module, Parameter, Scalar, datasets
from project import run_scalar
from project.lab.training import program
from project.lab.training.scalar_trainer import ScalarTrainer
from project.lab.training.trainer import Setting, Trainer
from project.run_scalar import Network


class OneWeight(Module):
    """sigmoid(w · x_1), from w = 0: small enough to be trained by hand."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.weight = Parameter(Scalar(0.0))

    def forward(self, x: Sequence[Scalar]) -> Scalar:
        return (self.weight.value * x[0]).sigmoid()


def epochs_by_hand(setting: Setting) -> tuple[list[float], list[int], float]:
    """Losses, correct points and the last weight of OneWeight, from the derivative of the loss: (probability - label) · x_1."""
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


# Setting


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dataset": "Moon"}, "dataset expected one of Simple, Diag, Split, Xor, Circle, Spiral, got 'Moon'"),
        ({"points": 0}, "points expected a whole number from 1 to 10000, got 0"),
        ({"points": 10_001}, "points expected a whole number from 1 to 10000, got 10001"),
        ({"points": 5.0}, "points expected a whole number from 1 to 10000, got 5.0"),
        ({"points": True}, "points expected a whole number from 1 to 10000, got True"),
        ({"hidden": 0}, "hidden expected a whole number from 1 to 1000, got 0"),
        ({"hidden": "many"}, "hidden expected a whole number from 1 to 1000, got 'many'"),
        ({"epochs": 0}, "epochs expected a whole number from 1 to 1000000, got 0"),
        ({"seed": -1}, "seed expected a whole number from 0 to 4294967295, got -1"),
        ({"rate": 0}, "rate expected a number above 0, such as 0.5, got 0"),
        ({"rate": math.inf}, "rate expected a number above 0, such as 0.5, got inf"),
        ({"rate": math.nan}, "rate expected a number above 0, such as 0.5, got nan"),
        ({"rate": "fast"}, "rate expected a number above 0, such as 0.5, got 'fast'"),
        ({"rate": True}, "rate expected a number above 0, such as 0.5, got True"),
    ],
)
def test_a_setting_refuses_an_invalid_value_in_one_line(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Setting(**wrong)


@pytest.mark.parametrize(
    "edge",
    [{"points": 1}, {"points": 10_000}, {"hidden": 1}, {"hidden": 1_000}, {"epochs": 1}, {"epochs": 1_000_000}, {"seed": 0}, {"rate": 1}],
)
def test_a_setting_allows_the_smallest_and_largest_values(edge: dict) -> None:
    Setting(**edge)


def test_the_command_names_every_value() -> None:
    setting = Setting("Xor", points=40, hidden=3, rate=0.25, epochs=7, seed=5)
    assert setting.command() == "python project/run_scalar.py --dataset Xor --points 40 --hidden 3 --rate 0.25 --epochs 7 --seed 5"


def test_the_command_names_the_program() -> None:
    assert Setting(program="run_tensor").command().startswith("python project/run_tensor.py --dataset Simple ")


def test_the_command_repeats_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("Circle", points=9, hidden=3, rate=1e-05, epochs=2, seed=5)
    seen = []
    monkeypatch.setattr(program, "train", lambda trainer, every, folder: seen.append(trainer.setting) or 0)
    run_scalar.main(shlex.split(setting.command())[2:])
    assert seen == [setting]


# Trainer


@pytest.mark.parametrize("dataset", ["Simple", "Xor"])
def test_losses_and_weights_equal_those_computed_by_hand(dataset: str) -> None:
    setting = Setting(dataset, points=12, rate=0.8, epochs=5, seed=3)
    trainer = ScalarTrainer(setting, OneWeight)
    while not trainer.done:
        trainer.run_epoch()
    losses, correct, weight = epochs_by_hand(setting)
    assert trainer.losses == pytest.approx(losses, abs=1e-4)  # log is shifted by 1e-6 a point
    assert trainer.correct == correct
    assert trainer.network.weight.value.data == pytest.approx(weight, abs=1e-4)


def test_the_network_is_created_once_with_its_hidden_size() -> None:
    made = []
    ScalarTrainer(Setting(hidden=7), lambda hidden: made.append(hidden) or OneWeight(hidden))
    assert made == [7]


def test_the_data_set_is_that_of_the_setting() -> None:
    assert ScalarTrainer(Setting("Split", points=8, seed=4), OneWeight).graph == datasets["Split"](8, 4)


def test_the_seed_determines_the_run() -> None:
    def losses(seed: int) -> list[float]:
        trainer = ScalarTrainer(Setting("Xor", points=6, epochs=3, seed=seed), Network)
        while not trainer.done:
            trainer.run_epoch()
        return trainer.losses

    assert losses(0) == losses(0)
    assert losses(0) != losses(1)


def test_an_epoch_adds_one_entry_to_each_list() -> None:
    trainer = ScalarTrainer(Setting(points=5, epochs=2), Network)
    assert (trainer.epoch, trainer.losses, trainer.correct, trainer.seconds, trainer.done) == (0, [], [], [], False)
    trainer.run_epoch()
    assert (trainer.epoch, len(trainer.losses), len(trainer.correct), len(trainer.seconds), trainer.done) == (1, 1, 1, 1, False)
    trainer.run_epoch()
    assert (trainer.epoch, trainer.done) == (2, True)
    assert all(seconds > 0 for seconds in trainer.seconds)


def test_training_stops_after_the_last_epoch() -> None:
    trainer = ScalarTrainer(Setting(points=5, epochs=1), OneWeight)
    trainer.run_epoch()
    weight = trainer.network.weight.value.data
    trainer.run_epoch()
    trainer.run_for(0.01)
    assert (trainer.epoch, trainer.network.weight.value.data) == (1, weight)


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
    parts = ScalarTrainer(setting, OneWeight)
    parts.run_for(11)  # the clock is read three times per point, so there is time for a few points, not for all 20
    assert parts.epoch == 0
    calls = 1
    while not parts.done:
        parts.run_for(11)
        calls += 1
    assert calls > 10
    losses, correct, weight = epochs_by_hand(setting)
    assert parts.losses == pytest.approx(losses, abs=1e-4)
    assert parts.correct == correct
    assert parts.network.weight.value.data == pytest.approx(weight, abs=1e-4)


def test_training_for_no_time_does_nothing() -> None:
    trainer = ScalarTrainer(Setting(points=1, epochs=1), OneWeight)
    trainer.run_for(0)
    assert trainer.epoch == 0


def test_run_epoch_finishes_an_epoch_that_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = ScalarTrainer(Setting(points=20, epochs=3), OneWeight)
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock())
        trainer.run_for(11)
    trainer.run_epoch()
    assert trainer.epoch == 1
    assert trainer.losses == pytest.approx(epochs_by_hand(Setting(points=20, epochs=1))[0], abs=1e-4)


def test_the_learning_rate_may_change_during_training() -> None:
    trainer = ScalarTrainer(Setting(points=5, epochs=2), OneWeight)
    trainer.optimizer.lr = 0.0
    trainer.run_epoch()
    assert trainer.network.weight.value.data == 0.0


def test_a_prediction_is_the_probability_of_label_1() -> None:
    trainer = ScalarTrainer(Setting(), OneWeight)
    trainer.network.weight.update(Scalar(2.0))
    assert trainer.probabilities([(0.5, 0.9), (0.0, 0.9)]) == pytest.approx([1 / (1 + math.exp(-1)), 0.5])


def test_the_grid_contains_the_centers_of_its_cells_row_by_row_from_the_bottom() -> None:
    trainer = ScalarTrainer(Setting(), OneWeight)
    trainer.probabilities = lambda points: [x_1 + 10 * x_2 for x_1, x_2 in points]
    assert trainer.grid(2) == [[2.75, 3.25], [7.75, 8.25]]


def test_predicting_does_not_affect_training() -> None:
    disturbed, quiet = (ScalarTrainer(Setting("Xor", points=5, epochs=2), Network) for _ in range(2))
    for trainer in (disturbed, quiet):
        trainer.run_epoch()
        if trainer is disturbed:
            trainer.grid(3)
        trainer.run_epoch()
    assert disturbed.losses == quiet.losses


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("seed", (0,), "Bare has no seed; define seed(self, seed) in the class"),
        ("train_step", (), "Bare has no train_step; define train_step(self) in the class"),
        ("probabilities", ([],), "Bare has no probabilities; define probabilities(self, points) in the class"),
    ],
)
def test_an_error_names_the_method_that_a_trainer_must_define(name: str, arguments: tuple, message: str) -> None:
    class Bare(Trainer):
        pass

    with pytest.raises(NotImplementedError, match=f"^{re.escape(message)}$"):
        getattr(Trainer, name)(object.__new__(Bare), *arguments)
