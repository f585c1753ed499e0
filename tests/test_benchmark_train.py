"""The training benchmark: the same weights and images for both libraries, and a verdict on times, losses and memory."""

import itertools
from collections import Counter

import numpy as np
import pytest

from benchmarks import train, train_contenders
from benchmarks.rivals import MISSED, NOT_RUN, REACHED


def test_weights_and_images_are_the_same_in_every_process():
    for network in train_contenders.SHAPES:
        first, second = train_contenders.weights(network), train_contenders.weights(network)
        assert {name: values.shape for name, values in first.items()} == train_contenders.SHAPES[network]
        assert all((first[name] == second[name]).all() for name in first)
        for (x, y), (again, labels) in itertools.islice(
            zip(train_contenders.batches(network), train_contenders.batches(network), strict=False), 2
        ):
            assert x.shape == (train_contenders.BATCH[network], 1, 28, 28)
            assert x.dtype == np.float32
            assert (x == again).all()
            assert (y == labels).all()


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


class Recorded:
    """A library's process that answers from a list."""

    def __init__(self, name, seconds, loss, memory):
        self.name, self.seconds, self.loss, self.memory, self.closed = name, seconds, loss, memory, False

    def ask(self, line):
        return {"memory": str(self.memory)}.get(line) or (f"{self.seconds * train.STEPS} {self.loss}" if line.isdigit() else "ready")

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("ours", "verdicts"),
    [((1.2, 2.0, 140), [REACHED] * 3), ((1.4, 2.0, 140), [MISSED, REACHED, REACHED]), ((1.2, 2.001, 160), [REACHED, MISSED, MISSED])],
    ids=["all reached", "too slow", "other losses, more memory"],
)
def test_times_losses_and_memory_are_judged(ours, verdicts, monkeypatch, capsys):
    made = {"minitorch": ours, "torch": (1.0, 2.0, 100)}
    monkeypatch.setattr(train, "Library", lambda name, *_: Recorded(name, *made[name]))
    assert train.table(2, {"minitorch": "", "torch": ""}, 1, "lenet") == Counter(verdicts)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:2] == ["2 threads"]
    assert lines[3].startswith("lenet, batch 16            at most 1.3")


def test_without_pytorch_only_our_times_are_shown(monkeypatch, capsys):
    monkeypatch.setattr(train, "Library", lambda name, *_: Recorded(name, 0.5, 1.0, 10))
    assert train.table(1, {"minitorch": ""}, 1, "mlp") == {NOT_RUN: 1}
    assert "NOT RUN; ours 500 ms" in capsys.readouterr().out
