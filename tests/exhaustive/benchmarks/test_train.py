"""The training benchmark: the same weights and images for both libraries, and a verdict on times, losses and memory."""

import tracemalloc

import numpy as np
import pytest

from benchmarks import point_contenders, resnet_contenders, train, train_contenders


def test_the_first_loss_is_numpys_and_the_steps_go_down():
    w = list(train_contenders.weights("mlp").values())
    images, labels = next(train_contenders.batches("mlp"))
    x = images.reshape(len(images), -1).astype(float)
    for matrix, bias in ((w[0], w[1]), (w[2], w[3])):
        x = np.maximum(x @ matrix + bias, 0)
    logits = x @ w[4] + w[5]
    expected = np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(len(labels)), labels])
    step = train_contenders.of_minitorch("mlp")
    losses = [step(images, labels) for _ in range(3)]
    assert losses[0] == pytest.approx(expected, rel=1e-5)
    assert losses[0] > losses[1] > losses[2]


@pytest.mark.parametrize("network", ["module2", "module3"])
def test_the_first_loss_over_points_is_numpys_and_the_steps_go_down(network):
    w = point_contenders.weights(network)
    x, labels = point_contenders.points(network)
    for matrix, bias in ((w[0], w[1]), (w[2], w[3])):
        x = np.maximum(x @ matrix + bias, 0)
    output = 1 / (1 + np.exp(-(x @ w[4] + w[5])[:, 0]))
    expected = -np.log(np.where(labels == 1, output, 1 - output)).mean()
    step = point_contenders.of_minitorch(network)
    losses = [step() for _ in range(3)]
    assert losses[0] == pytest.approx(expected, rel=1e-5)  # our log is that of x + 1e-6
    assert losses[0] > losses[1] > losses[2]


def test_every_row_is_found_by_its_name():
    for network in train.ROWS:
        found = [module for module in (train_contenders.SHAPES, point_contenders.NETWORKS, resnet_contenders.NETWORKS) if network in module]
        assert len(found) == 1
    step, data = train_contenders.prepared("minitorch", "module2")
    assert 0 < step(*next(data)) < 2
    step, data = train_contenders.prepared("minitorch", "mlp")
    assert step(*next(data)) > 0


def test_arrays_are_those_alive_and_what_a_call_adds():
    tracemalloc.start()
    try:
        before = train_contenders.arrays()
        kept = np.zeros(1000)
        python = list(range(100_000))
        assert train_contenders.arrays() - before == 8000
        assert 24_000 <= train_contenders.added(lambda: (kept + 1.0) + (kept + 2.0)) < 26_000
    finally:
        tracemalloc.stop()
    assert python
