"""The training benchmark: the same weights and images for both libraries, and a verdict on times, losses and memory."""

import itertools
from collections import Counter

import numpy as np
import pytest

from benchmarks import point_contenders, resnet_contenders, train, train_contenders
from benchmarks.rivals import MISSED, NOT_RUN, REACHED
from minitorch import datasets


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


def test_the_points_are_those_of_the_data_sets_that_the_programs_train_on():
    for network, (hidden, _, dataset) in point_contenders.NETWORKS.items():
        x, labels = point_contenders.points(network)
        assert (x.shape, x.dtype, labels.shape, labels.dtype) == ((50, 2), np.float64, (50,), np.float64)
        inside = {"Xor": lambda a, b: (a < 0.5) != (b < 0.5), "Split": lambda a, b: a < 0.2 or a > 0.8}[dataset]
        assert labels.tolist() == [inside(a, b) for a, b in x]
        known = datasets[dataset](200, 1)
        assert known.y == [inside(a, b) for a, b in known.X]
        shapes = [(2, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, 1), (1,)]
        assert [w.shape for w in point_contenders.weights(network)] == shapes
        assert next(point_contenders.batches(network)) == ()


@pytest.mark.parametrize("network", ["module2", "module3"])
def test_the_steps_over_points_are_pytorchs(network, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    ours, theirs = point_contenders.of_minitorch(network), point_contenders.of_torch(network)
    assert [ours() for _ in range(5)] == pytest.approx([theirs() for _ in range(5)], rel=1e-5)


def test_weights_of_a_residual_network_depend_on_names_and_shapes_not_on_their_order():
    names = ("weight", "running_var", "bias")
    shapes = [("conv1.weight", (4, 3, 7, 7)), *((f"bn1.{name}", (4,)) for name in names), ("bn1.num_batches_tracked", ())]
    made, again = resnet_contenders.weights(shapes), resnet_contenders.weights(reversed(shapes))
    assert {name: values.shape for name, values in made.items()} == dict(shapes)
    assert all((made[name] == again[name]).all() for name in made)
    assert [made[name].dtype for name, _ in shapes] == [np.float32] * 4 + [np.int64]
    assert made["conv1.weight"].std() == pytest.approx((2 / 147) ** 0.5, rel=0.1)
    assert (made["bn1.running_var"] > 0).all()
    images, labels = next(resnet_contenders.batches("resnet18"))
    assert (images.shape, images.dtype, labels.shape) == ((8, 3, 64, 64), np.float32, (8,))


class Recorded:
    """A library's process that answers from a list."""

    def __init__(self, name, seconds, loss, memory):
        self.name, self.seconds, self.loss, self.memory, self.closed = name, seconds, loss, memory, False

    def ask(self, line):
        if line == "":
            return str(self.seconds)  # of a step of an optimizer
        return {"memory": str(self.memory)}.get(line) or (f"{self.seconds * int(line)} {self.loss}" if line.isdigit() else "ready")

    def close(self):
        self.closed = True


def beside(monkeypatch, ours, theirs):
    """Have both libraries answer from lists."""
    made = {"minitorch": ours, "torch": theirs}
    monkeypatch.setattr(train, "Library", lambda name, *_: Recorded(name, *made[name]))


@pytest.mark.parametrize(
    ("ours", "verdicts"),
    [
        ((1.3, 2.0, 130), [REACHED] * 3),
        ((1.31, 2.0, 130), [MISSED, REACHED, REACHED]),
        ((1.3, 2.001, 131), [REACHED, MISSED, MISSED]),
        ((1.3, float("nan"), 130), [REACHED, MISSED, REACHED]),
    ],
    ids=["all reached", "too slow", "other losses, more memory", "no losses"],
)
def test_times_losses_and_memory_are_judged(ours, verdicts, monkeypatch, capsys):
    beside(monkeypatch, ours, (1.0, 2.0, 100))
    assert train.table(2, {"minitorch": "", "torch": ""}, 1, "lenet") == Counter(verdicts)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:2] == ["2 threads"]
    assert lines[3].startswith("lenet, batch 16            at most 1.3")


@pytest.mark.parametrize(
    ("network", "asked"), [("mlp", {1: 1.3, 2: 1.0}), ("module2", {2: 0.6}), ("module3", {2: 0.6}), ("adam", {1: 1.0, 2: 1.0})]
)
def test_goals_are_so_many_times_pytorchs_time(network, asked, monkeypatch, capsys):
    for threads, most in asked.items():
        for seconds, expected in ((most, REACHED), (most + 0.01, MISSED)):
            beside(monkeypatch, (seconds, 2.0, 100), (1.0, 2.0, 100))
            train.table(threads, {"minitorch": "", "torch": ""}, 1, network)
            words = capsys.readouterr().out.splitlines()[3].partition(";")[0].split()
            assert words[-5:] == ["at", "most", f"{most:.4g}", f"{seconds:.3g}", expected]


@pytest.mark.parametrize(
    ("network", "reported", "row"), [("module2", 1, "module2, batch 50          "), ("resnet18", 2, "resnet18 forward, batch 8  ")]
)
def test_small_networks_on_one_thread_and_the_forward_pass_of_a_residual_network_have_no_goal(network, reported, row, monkeypatch, capsys):
    beside(monkeypatch, (9.0, 2.0, 130 if network == "module2" else 900), (1.0, 2.0, 100))
    assert train.table(1, {"minitorch": "", "torch": ""}, 1, network) == {train.REPORTED: reported, REACHED: 3 - reported}
    assert capsys.readouterr().out.splitlines()[3].startswith(f"{row}no goal          9          reported; ours 9 s")


def test_without_pytorch_only_our_times_are_shown(monkeypatch, capsys):
    monkeypatch.setattr(train, "Library", lambda name, *_: Recorded(name, 0.5, 1.0, 10))
    assert train.table(1, {"minitorch": ""}, 1, "mlp") == {NOT_RUN: 1}
    assert "NOT RUN; ours 500 ms" in capsys.readouterr().out
