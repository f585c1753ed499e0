"""The trainer for compiled backends: mini-batches, compilation, and its backends."""

import numpy as np
import pytest

from minitorch import FastBackend, Module, Parameter, datasets, tensor
from project.lab.training import fast_trainer
from project.lab.training.fast_trainer import FastSetting, FastTrainer
from project.run_fast_tensor import Network
from tests.errors import raises


class OneWeight(Module):
    """sigmoid(w · x_1), from w = 0: small enough to be trained by hand."""

    def __init__(self, hidden, backend):
        super().__init__()
        self.weight = Parameter(tensor([0.0], backend=backend))

    def forward(self, x):
        return (self.weight.value * x[:, 0]).sigmoid()


def trained(trainer):
    while not trainer.done:
        trainer.run_epoch()
    return trainer


def test_every_mini_batch_is_a_step_and_the_loss_is_the_mean_of_the_epoch():
    trainer = FastTrainer(FastSetting("Xor", points=25, rate=0.8, epochs=3, seed=3), OneWeight)
    weight = 0.0
    for epoch in range(3):
        points, labels = trainer.points.to_numpy()[:, 0].copy(), trainer.labels.to_numpy().copy()
        trainer.run_epoch()
        losses, correct = 0.0, 0
        for first in (0, 10, 20):
            x, y = points[first : first + 10], labels[first : first + 10]
            p = 1 / (1 + np.exp(-weight * x))
            losses -= np.log(np.where(y == 1, p, 1 - p)).sum()
            correct += int((np.where(y == 1, p, 1 - p) > 0.5).sum())
            weight -= 0.8 * ((p - y) * x).mean()
        assert trainer.losses[epoch] == pytest.approx(losses / 25, abs=1e-4)  # log adds 1e-6 for each point
        assert trainer.correct[epoch] == correct
    assert trainer.network.weight.value.item() == pytest.approx(weight, abs=1e-4)


def test_every_epoch_goes_through_all_points_in_another_order():
    trainer = FastTrainer(FastSetting("Split", points=23, epochs=2, seed=4), OneWeight)
    graph = datasets["Split"](23, 4)
    expected = sorted(zip(graph.X, graph.y, strict=True))
    orders = []
    for _ in range(2):
        pairs = list(zip(map(tuple, trainer.points.tolist()), trainer.labels.tolist(), strict=True))
        assert sorted(pairs) == expected
        orders.append(pairs)
        trainer.run_epoch()
    assert orders[0] != orders[1]


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    settings = [FastSetting("Xor", points=12, hidden=3, epochs=2, seed=seed) for seed in (0, 0, 1)]
    first, again, other = (trained(FastTrainer(setting, Network)).losses for setting in settings)
    assert first == again != other


def test_compiling_is_told_apart_and_teaches_nothing():
    trainer = FastTrainer(FastSetting("Xor", points=12, hidden=3, epochs=1), Network)
    start = [parameter.value.tolist() for parameter in trainer.network.parameters()]
    trainer.compile()
    assert trainer.compiling > 0
    assert [parameter.value.tolist() for parameter in trainer.network.parameters()] == start
    assert trainer.optimizer.lr == 0.5
    assert (trainer.epoch, trainer.loss, trainer.right) == (0, 0.0, 0)
    assert all(parameter.value.grad is None for parameter in trainer.network.parameters())


def test_the_first_epoch_compiles_first_and_its_time_is_its_own(monkeypatch):
    trainer = FastTrainer(FastSetting("Xor", points=20, hidden=3, epochs=2), Network)
    monkeypatch.setattr(trainer, "compile", lambda: setattr(trainer, "compiling", 1000.0))
    trained(trainer)
    assert trainer.compiling == 1000.0
    assert sum(trainer.seconds) < 500


def test_predictions_come_from_the_chosen_backend():
    seen = []

    class Watched(OneWeight):
        def forward(self, x):
            seen.append(x.backend)
            return super().forward(x)

    trainer = FastTrainer(FastSetting(points=5), Watched)
    assert trainer.grid(2) == [[0.5, 0.5], [0.5, 0.5]]
    assert trainer.backend is FastBackend
    assert seen == [FastBackend]


def test_another_backend_is_refused():
    with raises(ValueError, "backend expected one of cpu, gpu, got 'tpu'"):
        FastSetting(backend="tpu")


def test_the_gpu_is_what_cuda_backend_makes(monkeypatch):
    monkeypatch.setattr(fast_trainer, "require_cuda", lambda: None)
    monkeypatch.setitem(fast_trainer.BACKENDS, "gpu", lambda: FastBackend)  # replaces it
    assert FastTrainer(FastSetting(points=5, backend="gpu"), OneWeight).backend is FastBackend
