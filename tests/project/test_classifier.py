"""The trainer of classifiers and its setting: the results of an epoch, and exact resumption from any step."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from minitorch import SGD, Module, Parameter, SimpleBackend, manual_seed, rand, tensor
from minitorch.data import ArrayDataset, DataLoader
from minitorch.tensor import generator
from project.lab.training import checkpoint
from project.lab.training.checkpoint import CheckpointError
from project.lab.training.classifier import ClassifierSetting, ClassifierTrainer, Epoch
from project.lab.training.settings import option
from tests.errors import raises

POINTS = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 0.5], [-2.0, 1.0], [0.5, 3.0], [-1.0, -1.0], [3.0, 0.0]])
LABELS = np.array([1, 1, 0, 0, 1, 0, 1])


@dataclass(frozen=True)
class Setting(ClassifierSetting):
    program: ClassVar[str] = "run_points"
    dataset: str = option("points", "what to train on", choices=("points", "others"))
    epochs: int = option(3, "epochs", low=1, high=100)
    rate: float = option(0.5, "rate", above=0)
    momentum: float = option(0.0, "momentum", low=0, high=0.9)
    batch: int = option(3, "batch", low=1)
    limit: int | None = option(None, "limit", low=4)


class Line(Module):
    """w · x; in training, dropout removes about half of x."""

    def __init__(self, noise):
        super().__init__()
        self.noise = noise
        self.weight = Parameter(rand((2, 1)))

    def forward(self, x):
        if self.noise and self.training:
            x = x * (rand(x.shape) > 0.5)
        return (x @ self.weight.value).view(x.shape[0])


class PointTrainer(ClassifierTrainer):
    """Logistic regression."""

    def __init__(self, setting, noise=True, fingerprint="points"):
        manual_seed(setting.seed)
        line = Line(noise)
        loader = DataLoader(ArrayDataset(POINTS, LABELS), setting.batch, shuffle=True, seed=setting.seed, backend=SimpleBackend)
        super().__init__(setting, line, SGD(line.parameters(), setting.rate, setting.momentum), loader, (7, 4), fingerprint)
        self.batches: list[tuple[list, list]] = []
        self.modes: list[tuple[bool, bool]] = []

    def batch_loss(self, *batch):
        points, labels = batch
        self.batches.append((points.tolist(), labels.tolist()))
        output = self.network(points)
        sign = tensor((2 * labels.to_numpy() - 1).astype(float))
        return (1 + (-output * sign).exp()).log().mean(), int(((output.to_numpy() > 0) == labels.to_numpy()).sum()), len(labels)

    def validate(self):
        self.modes.append((self.network.training, (self.network.weight.value * 1).requires_grad))
        return float(((self.network(tensor(POINTS[:4])).to_numpy() > 0) == LABELS[:4]).mean())


def train(trainer):
    while not trainer.done:
        trainer.advance()
    return trainer


def exact_result(trainer):
    """Weights and history, bit for bit, without the times."""
    record = [(epoch.loss, epoch.train, epoch.valid) for epoch in trainer.history]
    return [parameter.value.to_numpy().tobytes() for parameter in trainer.network.parameters()], record


def test_every_batch_is_one_step_and_the_history_has_means_over_all_examples():
    trainer = PointTrainer(Setting(), noise=False)
    weight = trainer.network.weight.value.to_numpy()[:, 0]
    train(trainer)
    batches = trainer.batches[1:]  # the first batch is also used to compile, without an update
    assert [len(labels) for _, labels in batches] == [3, 3, 1] * 3
    assert trainer.batches[0] == batches[0]
    for epoch in range(3):
        losses, right = 0.0, 0
        for points, labels in batches[3 * epoch : 3 * epoch + 3]:
            x, sign = np.array(points), 2 * np.array(labels) - 1
            margin = sign * (x @ weight)
            losses += np.log(1 + np.exp(-margin)).sum()
            right += int((margin > 0).sum())
            weight = weight - 0.5 * (-(sign / (1 + np.exp(margin)))[:, None] * x).mean(0)
        entry = trainer.history[epoch]
        assert entry.loss == pytest.approx(losses / 7, abs=1e-5)  # log is shifted by 1e-6
        assert entry.train == right / 7
        assert entry.valid == ((POINTS[:4] @ weight > 0) == LABELS[:4]).mean()
        assert entry.seconds > 0
    np.testing.assert_allclose(trainer.network.weight.value.to_numpy()[:, 0], weight, atol=1e-5)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_the_optimizer_step_is_compiled_in_advance_without_an_update(momentum, monkeypatch):
    moved = []
    step = SGD.step

    def record_gradients(optimizer):
        gradients = [parameter.value.grad.to_numpy() for parameter in optimizer.parameters]
        moved.append((trainer.compiling > 0, gradients))
        step(optimizer)

    monkeypatch.setattr(SGD, "step", record_gradients)
    trainer = PointTrainer(Setting(momentum=momentum), noise=False)
    before = [parameter.value.to_numpy() for parameter in trainer.network.parameters()]
    trainer.advance()
    assert [compiled for compiled, _ in moved] == [False, True]  # while compiling, and afterwards
    expected = [value - 0.5 * gradient for value, gradient in zip(before, moved[1][1], strict=True)]
    assert [parameter.value.tolist() for parameter in trainer.network.parameters()] == [array.tolist() for array in expected]


def test_every_epoch_has_all_examples_in_a_new_order():
    trainer = train(PointTrainer(Setting(batch=7)))
    orders = [points for points, _ in trainer.batches[1:]]
    assert [sorted(order) for order in orders] == [sorted(POINTS.tolist())] * 3
    assert len({str(order) for order in orders}) == 3


def test_validation_uses_evaluation_mode_and_records_no_gradients():
    trainer = train(PointTrainer(Setting(epochs=2)))
    assert trainer.modes == [(False, False)] * 3  # before the first epoch, to compile the kernels, and after both epochs
    assert trainer.network.training


def test_the_best_epoch_is_the_first_with_the_highest_accuracy():
    trainer = PointTrainer(Setting())
    assert trainer.best == 0
    trainer.history = [Epoch(1.0, 0.5, valid, 0.1) for valid in (0.25, 0.75, 0.5, 0.75)]
    assert trainer.best == 2


def test_training_can_run_for_an_epoch_or_for_a_time():
    trainer = PointTrainer(Setting())
    trainer.advance()
    for run in (trainer.run_epoch, lambda: trainer.run_for(0)):
        run()
        assert (trainer.epoch, trainer.step) == (1, 0)
    trainer.run_for(60)
    assert trainer.done
    trainer.run_epoch()
    assert trainer.epoch == 3


@pytest.mark.parametrize(("method", "parameters"), [("batch_loss", "self, *batch"), ("validate", "self")])
def test_an_error_names_the_method_that_a_trainer_lacks(monkeypatch, method, parameters):
    monkeypatch.setattr(PointTrainer, method, getattr(ClassifierTrainer, method))
    with raises(NotImplementedError, f"PointTrainer has no {method}; define {method}({parameters}) in the class"):
        PointTrainer(Setting()).advance()


def test_the_seed_determines_the_run():
    first, again, other = (exact_result(train(PointTrainer(Setting(seed=seed)))) for seed in (5, 5, 6))
    assert first == again != other


def test_other_uses_of_random_numbers_and_the_run_do_not_affect_each_other():
    expected = exact_result(train(PointTrainer(Setting())))
    manual_seed(99)
    undisturbed = rand((4,)).tolist()
    trainer = PointTrainer(Setting())
    manual_seed(99)
    drawn = []
    while not trainer.done:
        if len(drawn) < 4:
            drawn += rand((1,)).tolist()
        trainer.advance()
    assert exact_result(trainer) == expected
    assert drawn == undisturbed


def state_of(trainer):
    """What a checkpoint of a trainer contains."""
    saved = trainer.checkpoint()
    return saved.about, {name: array.tobytes() for name, array in saved.arrays.items()}


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("steps", range(10))
def test_a_run_resumes_from_any_step_bit_for_bit(steps, momentum, tmp_path):
    setting = Setting(seed=2, momentum=momentum)
    expected = train(PointTrainer(setting))
    first = PointTrainer(setting)
    for _ in range(steps):
        first.advance()
    checkpoint.save(tmp_path / "c", first.checkpoint())
    second = PointTrainer(setting)
    second.restore(checkpoint.load(tmp_path / "c"))
    assert (second.epoch, second.step) == divmod(steps, 3)
    assert state_of(second) == state_of(first)
    train(second)
    assert exact_result(second) == exact_result(expected)
    assert second.batches[1:] == expected.batches[1 + steps :]
    assert exact_result(train(first)) == exact_result(expected)  # saving a checkpoint does not change the run


def test_a_checkpoint_for_other_data_or_another_network_is_refused():
    trainer = PointTrainer(Setting())
    state = trainer.checkpoint()
    with raises(CheckpointError, "the checkpoint was made with other data; put the same files into the data directory, or begin anew"):
        trainer.restore(PointTrainer(Setting(), fingerprint="others").checkpoint())
    trainer.network.bias = Parameter(rand((1,)))
    with raises(CheckpointError, "the checkpoint is one of another network, which differs in bias; bring that network back, or begin anew"):
        trainer.restore(state)


@pytest.mark.parametrize("method", ["batch_loss", "validate"])
def test_an_error_restores_the_global_random_generator_and_the_training_mode(method):
    trainer = PointTrainer(Setting(batch=7))
    before = generator.bit_generator.state
    setattr(trainer, method, lambda *batch: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        trainer.advance()
    assert generator.bit_generator.state == before
    assert trainer.network.training


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *[("dataset", value, "one of points, others") for value in ("moon", None)],
        *[("epochs", value, "a whole number from 1 to 100") for value in (0, 101, 2.5, True, None)],
        *[("rate", value, "a number above 0, such as 0.5") for value in (0.0, float("nan"), float("inf"), "fast")],
        *[("momentum", value, "a number from 0 to 0.9, such as 0.0") for value in (-0.1, 1.0)],
        ("batch", 0, "a whole number from 1"),
        *[("limit", value, "a whole number from 4") for value in (3, "all")],
        ("seed", 2**32, "a whole number from 0 to 4294967295"),
    ],
)
def test_an_invalid_value_is_refused_in_one_line(name, value, expected):
    with raises(ValueError, f"{name} expected {expected}, got {value!r}"):
        Setting(**{name: value})


def test_both_ends_of_every_range_are_allowed():
    Setting("others", epochs=1, rate=1e-300, momentum=0.0, batch=1, seed=0, limit=4)
    Setting("points", epochs=100, rate=1, momentum=0.9, batch=10**9, seed=2**32 - 1, limit=None)


def test_the_command_names_every_given_value():
    expected = "python project/run_points.py --dataset points --epochs 3 --rate 0.5 --batch 3 --seed 0 --momentum 0.0"
    assert Setting().command() == expected
    assert Setting(limit=8).command() == f"{expected} --limit 8"
