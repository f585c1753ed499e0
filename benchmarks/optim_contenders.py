"""What `benchmarks.optim` measures in each library: a step of an optimizer over float32 parameters, ours and PyTorch's.

As a program, this is the process of one library; see `benchmarks.contenders`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import Run, work

RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.01}),
    "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}),
    "adam": ("Adam", {"lr": 0.001}),
    "adamw": ("AdamW", {"lr": 0.001}),
    "rmsprop": ("RMSprop", {"lr": 0.001}),
}
"""The optimizers by their names in a row: class and settings."""

LAYOUTS = {
    "one": [(1_000_000,)],
    "mlp": [(256, 784), (256,), (256, 256), (256,), (10, 256), (10,)],
    "small": [(100, 2), (100,), (100, 100), (100,), (1, 100), (1,)],
}
"""Shapes of the parameters: one tensor of a million numbers, and two networks."""


def arrays(layout: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The parameters of a layout and their gradients."""
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape, np.float32), random.standard_normal(shape, np.float32)) for shape in LAYOUTS[layout]]


def of_minitorch(name: str) -> Run:
    """A step of our optimizer."""
    from minitorch import FastBackend, Parameter, optim, tensor

    rule, layout, _ = name.split()
    kind, settings = RULES[rule]
    pairs = [(Parameter(tensor(value, FastBackend)), tensor(gradient, FastBackend)) for value, gradient in arrays(layout)]
    optimizer = getattr(optim, kind)([parameter for parameter, _ in pairs], **settings)

    def step() -> None:
        for parameter, gradient in pairs:
            parameter.value.grad = gradient
        optimizer.step()

    return step


def of_torch(name: str) -> Run:
    """A step of PyTorch's optimizer, with its default or its fused implementation."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    rule, layout, way = name.split()
    kind, settings = RULES[rule]
    parameters = []
    for value, gradient in arrays(layout):
        parameter = torch.from_numpy(value).requires_grad_()
        parameter.grad = torch.from_numpy(gradient)
        parameters.append(parameter)
    optimizer = getattr(torch.optim, kind)(parameters, **settings, **({"fused": True} if way == "fused" else {}))
    return lambda: optimizer.step()


LIBRARIES: dict[str, Callable[[str], Run]] = {"minitorch": of_minitorch, "torch": of_torch}


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
