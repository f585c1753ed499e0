"""The networks for points in the plane in `benchmarks.train`, ours and PyTorch's: those that Modules 2 and 3 train.

A step is a step of their programs: all 50 points at once, in float64, through two hidden layers to the probability of label 1; the mean of
-log(probability of the correct label), its gradients, a step of SGD, the loss as a number, and the number of correct labels.

Ours are the programs' own networks, on the compiled backend. PyTorch uses `addmm` for both ways in which ours compute a layer; its
log lacks the shift of 1e-6, which makes a difference of 3e-6 in the loss.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np


class Setting(NamedTuple):
    """How a network is trained.

    Attributes:
        hidden: Size of both hidden layers.
        rate: Learning rate.
        dataset: A name in `minitorch.datasets`.
    """

    hidden: int
    rate: float
    dataset: str


NETWORKS = {"module2": Setting(10, 0.5, "Xor"), "module3": Setting(100, 0.05, "Split")}
"""The networks of project/run_tensor.py and of project/run_fast_tensor.py."""

SMALL = Setting(16, 0.05, "Xor")
"""A network as small as those that one trains with scalars, MLP(2, [16, 16, 1]), with the layers of project/run_fast_tensor.py."""

POINTS = 50


def weights(network: str) -> list[np.ndarray]:
    """Weights and biases in order, drawn as in the program: between -1 and 1, in Module 3 divided by the square root of the inputs.

    From these, no step is so large that the loss jumps: after a jump, the shift of 1e-6 in the logarithm would make the libraries diverge.
    """
    hidden = setting_of(network).hidden
    random, made = np.random.default_rng(3), []
    for inputs, outputs in ((2, hidden), (hidden, hidden), (hidden, 1)):
        bound = 1.0 if network == "module2" else inputs**-0.5
        made += [random.uniform(-bound, bound, shape) for shape in ((inputs, outputs), (outputs,))]
    return made


def setting_of(network: str) -> Setting:
    """How a network is trained, "small" included."""
    return SMALL if network == "small" else NETWORKS[network]


def points(network: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels, shapes (POINTS, 2) and (POINTS,); twice as many for "small"."""
    x = np.random.default_rng(1).random((2 * POINTS if network == "small" else POINTS, 2))
    if setting_of(network).dataset == "Xor":
        return x, ((x[:, 0] < 0.5) != (x[:, 1] < 0.5)).astype(float)
    return x, (abs(x[:, 0] - 0.5) > 0.3).astype(float)


def batches(network: str) -> Iterator[tuple[()]]:
    """No arguments for each step: all points are prepared once, as in the programs."""
    return repeat(())


def as_it_is(function: Any) -> Any:
    """The function itself: what is compared with compiled ones."""
    return function


def of_minitorch(network: str, compiled: Callable[[Any], Any] = as_it_is) -> Callable[[], float]:
    """A training step in our library; returns the loss. `compiled` makes what is called of the step."""
    import minitorch
    from minitorch import FastBackend, from_numpy
    from project import run_fast_tensor, run_tensor

    hidden, rate, _ = setting_of(network)
    model = run_tensor.Network(hidden) if network == "module2" else run_fast_tensor.Network(hidden, FastBackend)
    for parameter, values in zip(model.parameters(), weights(network), strict=True):
        parameter.update(from_numpy(values, backend=FastBackend))
    x, labels = (from_numpy(values, backend=FastBackend) for values in points(network))
    optimizer = minitorch.SGD(model.parameters(), rate)

    def learn(x: Any, labels: Any) -> tuple[Any, Any]:
        output = model(x)
        probability = output * labels + (1 - output) * (1 - labels)
        loss = -probability.log().mean()
        loss.backward()
        optimizer.step()  # also clears the gradients
        return loss.detach(), probability.detach()

    learn = compiled(learn)

    def step() -> float:
        loss, probability = learn(x, labels)
        int((probability.numpy() > 0.5).sum())
        return loss.item()

    return step


def of_torch(network: str, compiled: Callable[[Any], Any] = as_it_is) -> Callable[[], float]:
    """A training step in PyTorch; returns the loss. `compiled` makes what is called of the function that computes it."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    w: list[Any] = [torch.from_numpy(values).requires_grad_() for values in weights(network)]
    x, labels = (torch.from_numpy(values) for values in points(network))
    optimizer = torch.optim.SGD(w, setting_of(network).rate)

    def loss_of(x: Any, labels: Any) -> tuple[Any, Any]:
        hidden = torch.addmm(w[3], torch.addmm(w[1], x, w[0]).relu(), w[2]).relu()
        output = torch.addmm(w[5], hidden, w[4]).sigmoid().view(len(labels))
        probability = output * labels + (1 - output) * (1 - labels)
        return -probability.log().mean(), probability

    loss_of = compiled(loss_of)

    def step() -> float:
        loss, probability = loss_of(x, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        int((probability > 0.5).sum())
        return loss.item()

    return step


LIBRARIES: dict[str, Callable[[str], Callable[..., float]]] = {"minitorch": of_minitorch, "torch": of_torch}
