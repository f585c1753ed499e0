"""What `benchmarks.torch_face` measures: operations of the engine, the same through `minitorch.torch`, and PyTorch's; steps of programs.

As a program, this is the process of one library; see `benchmarks.contenders`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contenders import Run, work

OPERATIONS = ("add", "multiply", "relu", "exp", "sum", "matmul", "linear", "backward")
"""The measured operations; "linear" is a layer, "backward" a sum of products with its gradients."""

SIZES = (2, 100, 1000)
"""The operands are float32, of shape (size, size); a size of 2 shows what a call costs."""


def operands(name: str) -> tuple[str, np.ndarray, np.ndarray]:
    """The operation of a row such as "add 100", and its operands."""
    operation, size = name.split()
    random = np.random.default_rng(0)
    return operation, *(random.standard_normal((int(size), int(size)), np.float32) for _ in range(2))


def runs(a: Any, b: Any, layer: Any) -> dict[str, Run]:
    """The operations on two tensors, the engine's or PyTorch's, except the sum along a dimension, which is called differently."""
    x = a.detach().requires_grad_(True)

    def backward() -> None:
        (x * b).sum().backward()
        x.grad = None

    return {
        "add": lambda: a + b,
        "multiply": lambda: a * b,
        "relu": lambda: a.relu(),
        "exp": lambda: a.exp(),
        "matmul": lambda: a @ b,
        "linear": lambda: layer(a),
        "backward": backward,
    }


def of_engine(name: str) -> Run:
    """A row in the library's own interface."""
    from minitorch import FastBackend, nn, tensor

    operation, *arrays = operands(name)
    a, b = (tensor(array, FastBackend) for array in arrays)
    layer = nn.Linear(len(arrays[0]), len(arrays[0]), device=FastBackend, dtype="float32")
    return {**runs(a, b, layer), "sum": lambda: a.sum(1, keepdim=False)}[operation]


def through(package: str) -> Callable[[str], Run]:
    """The rows in PyTorch's interface: in `torch` or `minitorch.torch`."""

    def prepare(name: str) -> Run:
        torch = importlib.import_module(package)
        if package == "torch":
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        operation, *arrays = operands(name)
        a, b = map(torch.from_numpy, arrays)
        layer = torch.nn.Linear(len(arrays[0]), len(arrays[0]))
        return {**runs(a, b, layer), "sum": lambda: a.sum(1)}[operation]

    return prepare


LIBRARIES: dict[str, Callable[[str], Any]] = {"engine": of_engine, "minitorch": through("minitorch.torch"), "torch": through("torch")}


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
