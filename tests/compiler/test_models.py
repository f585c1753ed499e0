"""A network trains exactly alike, compiled and as it is: losses, parameters and random numbers."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float32, float64, int64, models, nn, optim
from tests.marks import needs_compiler

from .programs import assert_alike

pytestmark = needs_compiler

STEPS = 5


def randn(*shape, dtype=float32):
    return minitorch.randn(shape, backend=FastBackend, dtype=dtype)


def classes(count, samples):
    numbers = np.random.default_rng(int(minitorch.rand((1,)).item() * 1e6)).integers(0, count, samples)
    return minitorch.tensor(numbers, backend=FastBackend, dtype=int64)


def on(**settings):
    return {"device": FastBackend, "dtype": float32, **settings}


def of_classes(model, x, y):
    return nn.cross_entropy(model(x), y)


def train(make, data, loss_of, optimizer_class, settings, compiled):
    """Train a model; returns its losses, all its numbers, the random numbers that come next, and the step."""
    minitorch.manual_seed(1)
    model = make()
    optimizer = optimizer_class(model.parameters(), **settings)

    def step(x, y):
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = compiled(step)
    losses = [step(*data()).item() for _ in range(STEPS)]
    numbers = [parameter.value.to_numpy() for parameter in model.parameters()]
    if isinstance(model, nn.Module):
        numbers += [buffer.to_numpy() for buffer in model.buffers()]
    model.eval()
    numbers.append(model(data()[0]).detach().to_numpy())
    return losses, numbers, minitorch.rand((3,)).tolist(), step


def mlp(dtype):
    """What makes a network, what makes the arguments of a step, its loss, its optimizer and the settings of that."""
    make, data = lambda: models.mlp([12, 16, 4], **on(dtype=dtype)), lambda: (randn(8, 12, dtype=dtype), classes(4, 8))
    return make, data, of_classes, optim.Adam, {"lr": 0.01}


def test_a_network_trains_exactly_alike():
    check_training(mlp(float64))


def check_training(case):
    losses, numbers, following, _ = train(*case, lambda step: step)
    replayed, replayed_numbers, replayed_following, step = train(*case, minitorch.compile)
    assert (step.recorded, step.replayed) == (1, STEPS - 1)
    assert replayed == losses
    assert_alike(replayed_numbers, numbers)
    assert replayed_following == following


def test_a_class_out_of_range_is_an_error_in_a_replay_too():
    model = models.mlp([2, 3], **on(dtype=float64))
    loss = minitorch.compile(lambda x, y: nn.cross_entropy(model(x), y).detach())
    x = randn(2, 2, dtype=float64)
    for good in ([0, 1], [2, 2], [1, 0]):
        loss(x, minitorch.tensor(good, backend=FastBackend, dtype=int64))
    with pytest.raises(IndexError, match="cross_entropy expected classes from 0 to 2, of 3, got 3 for sample 1"):
        loss(x, minitorch.tensor([0, 3], backend=FastBackend, dtype=int64))
    with pytest.raises(ValueError, match="cross_entropy got a sample to ignore, -100, in a compiled step that was recorded without"):
        loss(x, minitorch.tensor([0, -100], backend=FastBackend, dtype=int64))
    assert np.isfinite(loss(x, minitorch.tensor([0, 1], backend=FastBackend, dtype=int64)).item())
