"""Forward and backward pass of a small network with our scalars and with micrograd's, in one run.

MLP(2, [16, 16, 1]) with ReLU, 100 points, mean squared error: one loss and its gradient with respect to all 337 parameters.

    python -m benchmarks.scalar --repeats 7 --seed 0
"""

from __future__ import annotations

import argparse
import gc
import math
import platform
import random
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import micrograd.nn

from benchmarks.machine import processor
from minitorch import Scalar, dot

POINTS = 100
SIZES = [16, 16, 1]

Points = list[tuple[float, float]]
Gradient = tuple[float, list[float]]
"""The loss, and its derivative with respect to every parameter."""


class Network:
    """The network `micrograd.nn.MLP` with our scalars.

    Args:
        weights: For every layer and every neuron the weights, the bias last.
        use_dot: Whether a neuron is one `dot`, or a sum of products.
    """

    def __init__(self, weights: list[list[list[float]]], use_dot: bool) -> None:
        self.layers = [[[Scalar(w) for w in neuron] for neuron in layer] for layer in weights]
        self.neuron = self.by_dot if use_dot else self.op_by_op

    def parameters(self) -> list[Scalar]:
        """All weights and biases, in micrograd's order."""
        return [w for layer in self.layers for neuron in layer for w in neuron]

    @staticmethod
    def by_dot(w: list[Scalar], x: list[Any]) -> Scalar:
        """A neuron as one node of the graph."""
        return dot(w, [*x, 1.0])

    @staticmethod
    def op_by_op(w: list[Scalar], x: list[Any]) -> Scalar:
        """A neuron with one node for every `+` and `*`, as in micrograd."""
        return sum((wi * xi for wi, xi in zip(w[:-1], x, strict=True)), w[-1])

    def __call__(self, x: list[Any]) -> Scalar:
        """The output for one point."""
        *hidden, last = self.layers
        for layer in hidden:
            x = [self.neuron(w, x).relu() for w in layer]
        return self.neuron(last[0], x)


def mean_squared_error(model: Callable[[list[Any]], Any], points: Points, labels: list[int]) -> Any:
    """The loss, written with operations that both libraries have."""
    return sum((model(list(x)) - y) ** 2 for x, y in zip(points, labels, strict=True)) * (1.0 / len(points))


def our_step(network: Network, points: Points, labels: list[int]) -> Gradient:
    """Forward and backward pass with our scalars."""
    parameters = network.parameters()
    for p in parameters:
        p.derivative = None
    loss = mean_squared_error(network, points, labels)
    loss.backward()
    return loss.data, [p.derivative or 0.0 for p in parameters]


def micrograd_step(network: micrograd.nn.MLP, points: Points, labels: list[int]) -> Gradient:
    """Forward and backward pass with micrograd's values."""
    parameters = network.parameters()
    network.zero_grad()
    loss = mean_squared_error(network, points, labels)
    loss.backward()
    return loss.data, [p.grad for p in parameters]


def check_same(name: str, ours: Gradient, theirs: Gradient) -> None:
    """Exit if two programs do not compute the same numbers."""
    for a, b in zip([ours[0], *ours[1]], [theirs[0], *theirs[1]], strict=True):
        if not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12):
            sys.exit(f"{name} and micrograd differ: {a!r} and {b!r}; their times are meaningless")


def measure(step: Callable[[], Gradient], collect: bool) -> float:
    """Processor seconds of one step, with garbage collection on or off; garbage is collected outside of the measurement."""
    gc.collect()
    (gc.enable if collect else gc.disable)()
    start = process_time()
    step()
    seconds = process_time() - start
    gc.enable()
    return seconds


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scalar", description="Our scalars against micrograd's: forward and backward pass."
    )
    parser.add_argument("--repeats", type=int, default=7, help="measurements of each program (7)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the points and the weights (0)")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats expected at least 1, got {options.repeats}")

    random.seed(options.seed)
    points = [(random.uniform(-1, 1), random.uniform(-1, 1)) for _ in range(POINTS)]
    labels = [1 if x_1 * x_2 > 0 else -1 for x_1, x_2 in points]
    theirs = micrograd.nn.MLP(2, SIZES)
    for p in theirs.parameters():  # biases too: they start at 0
        p.data = random.uniform(-1, 1)
    weights = [[[p.data for p in neuron.parameters()] for neuron in layer.neurons] for layer in theirs.layers]
    with_dot, op_by_op = Network(weights, use_dot=True), Network(weights, use_dot=False)
    steps: dict[str, Callable[[], Gradient]] = {
        "micrograd": lambda: micrograd_step(theirs, points, labels),
        "minitorch, dot": lambda: our_step(with_dot, points, labels),
        "minitorch, + and *": lambda: our_step(op_by_op, points, labels),
    }
    expected = steps["micrograd"]()
    for name, step in steps.items():
        check_same(name, step(), expected)

    print(f"MLP(2, {SIZES}), {POINTS} points, forward and backward, in processor time")
    print(f"all three compute the loss {expected[0]:.6f} and the same {len(expected[1])} derivatives")
    print(f"{processor()}, {platform.system()}, Python {platform.python_version()}")
    print(f"python -m benchmarks.scalar --repeats {options.repeats} --seed {options.seed}\n")
    print(f"{'':20}{'collector':10}{'median':>10}{'min - max':>20}{'times faster':>15}{'min - max':>16}")
    for collect in (True, False):
        times: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(options.repeats):  # alternately, so that other load on the machine affects all of them equally
            for name, step in steps.items():
                times[name].append(measure(step, collect))
        for name, own in times.items():
            print_row(name, collect, own, times["micrograd"])


def print_row(name: str, collect: bool, own: list[float], base: list[float]) -> None:
    """Print one line of the table."""
    ratios = [theirs / ours for theirs, ours in zip(base, own, strict=True)]
    spread = f"{min(own) * 1e3:.1f} - {max(own) * 1e3:.1f}"
    ratio, ratio_spread = f"{median(base) / median(own):.2f}", f"{min(ratios):.2f} - {max(ratios):.2f}"
    print(f"{name:20}{'on' if collect else 'off':10}{median(own) * 1e3:>7.1f} ms{spread:>20}{ratio:>15}{ratio_spread:>16}", flush=True)


if __name__ == "__main__":
    main()
