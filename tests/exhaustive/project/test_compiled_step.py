"""Programs that compile many kernels first, eager and recorded, and runs that are recorded and resumed."""

import dataclasses

import numpy as np
import pytest

from project import run_fast_tensor, run_mnist_multiclass
from project.lab.training.fast_trainer import FastTrainer
from project.lab.training.image_trainer import ImageSetting, ImageTrainer
from tests.project.test_compiled_step import PROGRAMS, check_program, steps

IMAGES = ImageSetting(limit=72, epochs=4)
"""Four batches of 16 in an epoch, and one of 8."""


def weights(trainer):
    return {name: parameter.value.to_numpy().copy() for name, parameter in trainer.network.named_parameters()}


def check_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_prints_the_same_as_with_eager(name, steps, capsys):
    check_program(name, steps, capsys)


def test_a_recorded_run_has_the_weights_of_an_eager_one_after_each_step(steps):
    setting = dataclasses.replace(run_fast_tensor.SETTING, points=25, hidden=4, epochs=8)
    trainers = [FastTrainer(dataclasses.replace(setting, eager=eager), run_fast_tensor.Network) for eager in (False, True)]
    while not trainers[0].done:
        for trainer in trainers:
            trainer.advance()
        check_equal(*map(weights, trainers))
    assert trainers[0].losses == trainers[1].losses
    assert trainers[0]._step.compiled.replayed > 0


def test_a_recorded_run_resumes_within_an_epoch_as_an_eager_one(steps):
    eager = ImageTrainer(dataclasses.replace(IMAGES, eager=True), run_mnist_multiclass.Network)
    while not eager.done:
        eager.advance()
    first = ImageTrainer(IMAGES, run_mnist_multiclass.Network)
    for _ in range(12):
        first.advance()
    second = ImageTrainer(IMAGES, run_mnist_multiclass.Network)
    second.restore(first.checkpoint())
    assert second._step.left == 8
    while not second.done:
        second.advance()
    assert first._step.compiled.replayed > 0
    assert second._step.compiled.recorded == 1
    check_equal(weights(second), weights(eager))
    assert [epoch.loss for epoch in second.history] == [epoch.loss for epoch in eager.history]
