"""The same run of the playground elsewhere, for further settings."""

import time

import pytest

from project.lab.playground.setting import NETWORKS, PlaygroundSetting
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
