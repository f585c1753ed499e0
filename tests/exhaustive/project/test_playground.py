"""The same run of the playground elsewhere, for further settings."""

import time

import pytest

from project.lab.playground.presets import PRESETS
from project.lab.playground.setting import NETWORKS, RATES, PlaygroundSetting
from project.lab.playground.trainers import make_trainer
from tests.project.test_playground import check_learning, check_repeated_run


@pytest.mark.parametrize(
    "values",
    [
        {"network": "tensors", "optimizer": "Adam", "rate": 0.03, "regularization": "L1", "test": 0, "seed": 3},
        {"network": "fast", "layers": "none", "features": "x1,x1*x2,sin(x2)", "optimizer": "momentum", "activation": "relu"},
        {"network": "compiled", "optimizer": "momentum", "rate": 0.05, "regularization": "L2", "batch": 9},
        {"regularization": "L1", "layers": "3", "activation": "linear", "batch": 7},
    ],
    ids=str,
)
def test_script_and_command_repeat_the_run(values, capsys):
    check_repeated_run(values, capsys)


def test_the_compiled_network_learns_circle():
    check_learning("fast", "SGD", 0.5, epochs=60)


def test_compiled_steps_are_the_fastest():
    rates = {network: epochs_per_second(network) for network in NETWORKS}
    assert max(rates, key=rates.get) == "compiled", rates


def epochs_per_second(network):
    """Epochs in a second of processor time, after those in which kernels and the step are compiled."""
    trainer = make_trainer(PlaygroundSetting(network=network, epochs=100_000))
    for _ in range(20):
        trainer.run_epoch()
    if network == "compiled":
        trainer._step.fuse()  # it is fused in the background otherwise
    before, begun = trainer.epoch, time.process_time()
    while time.process_time() < begun + 1:
        trainer.run_epoch()
    return trainer.epoch - before


def train(network, epochs, **values):
    trainer = make_trainer(PlaygroundSetting(network=network, epochs=epochs, **values))
    while not trainer.done:
        trainer.run_epoch()
    return trainer


@pytest.mark.parametrize("optimizer", RATES)
@pytest.mark.parametrize(("network", "epochs"), [("scalars", 150), ("compiled", 500)])
def test_a_default_run_learns_with_the_rate_of_each_optimizer(network, epochs, optimizer):
    assert train(network, epochs, optimizer=optimizer, rate=RATES[optimizer]).losses[-1] < 0.2


EPOCHS = [60, 300, 20, 40]


@pytest.mark.parametrize("network", ["scalars", "compiled"])
def test_each_preset_shows_what_it_says(network):
    spiral, overfit, dead, jumps = (
        train(network, epochs, **preset.changed) for epochs, preset in zip(EPOCHS, PRESETS.values(), strict=True)
    )
    assert max(spiral.correct) > 0.97 * 140
    assert overfit.losses[-1] < 0.1
    assert overfit.test_losses[-1] > 2 * min(overfit.test_losses)
    assert sum(max(unit) == min(unit) == 0 for column in dead.maps(8)[1:-1] for unit in column) >= 3
    assert min(jumps.losses[20:]) > 0.69  # that of a guess
