"""PyNorch, a PyTorch from scratch in Python, C and CUDA: the losses of its final program, its worked examples, its image network."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

import minitorch
from minitorch import FastBackend, float32, float64, tensor
from minitorch.data import DataLoader, load_mnist
from minitorch.nn import Linear, Module, Sequential, cross_entropy, mse_loss
from minitorch.nn.activations import Sigmoid
from project.reproductions.results import Absent, Row, close, equal, measured, not_run, reproduction

SOURCE = "PyNorch, L. de Lima 2024"

LOSSES = (1.7035, 0.7193, 0.3068, 0.1742, 0.1342, 0.1232, 0.1220, 0.1241, 0.1270, 0.1297)
"""The loss of the last sample of each epoch."""


class Toy(Module):
    """1 → 10 → sigmoid → 1, on column vectors: weight @ x + bias."""

    def __init__(self, dtype: Any, backend: Any) -> None:
        super().__init__()
        drawn = random.Random(1)
        for name, shape in (("w1", (10, 1)), ("b1", (10, 1)), ("w2", (1, 10)), ("b2", (1, 1))):
            values = [[drawn.uniform(-1, 1) for _ in range(shape[1])] for _ in range(shape[0])]
            self.add_parameter(name, tensor(values, backend, dtype=dtype))

    def forward(self, x: minitorch.Tensor) -> minitorch.Tensor:
        """Map shape (1, 1) to (1, 1)."""
        hidden = (self.w1.value @ x + self.b1.value).sigmoid()
        return self.w2.value @ hidden + self.b2.value


def toy_losses(dtype: Any, backend: Any) -> list[float]:
    """Return the loss of the last sample of each of ten epochs on sin²(x) at 0, 0.4, … 20."""
    model = Toy(dtype, backend)
    optimizer = minitorch.SGD(model.parameters(), lr=0.001)
    points = [(0.4 * i, math.sin(0.4 * i) ** 2) for i in range(51)]
    losses = []
    for _ in range(len(LOSSES)):
        last = 0.0
        for x, y in points:
            loss = mse_loss(model(tensor([[x]], backend, dtype=dtype)), tensor([[y]], backend, dtype=dtype))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            last = loss.item()
        losses.append(last)
    return losses


@reproduction("norch-toy", f"{SOURCE}, the final program: a network learns sin², ten losses")
def toy() -> Iterator[Row]:
    """The ten losses in both dtypes, on the CPU and, if there is one, on the GPU."""
    for dtype in (float32, float64):
        yield close(f"losses, {dtype.name}", LOSSES, toy_losses(dtype, FastBackend), 4)
    try:
        backend = minitorch.cuda_backend()
    except RuntimeError as error:
        yield not_run("losses, float32 on a GPU", " ".join(f"{x:.4f}" for x in LOSSES), str(error).split(";")[0])
    else:
        yield close("losses, float32 on a GPU", LOSSES, toy_losses(float32, backend), 4)


@reproduction("norch-autograd", f"{SOURCE}, a worked gradient")
def autograd() -> Iterator[Row]:
    """The gradient of Σ (x - y)³ with respect to x."""
    x = tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], requires_grad=True)
    y = tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    ((x - y) ** 3).sum().backward()
    assert x.grad is not None
    yield equal("gradient of Σ(x - y)³", [[12.0, 0.0, 12.0], [12.0, 0.0, 12.0]], x.grad.tolist())


@reproduction("norch-strides", f"{SOURCE}, strides of shapes and of views")
def strides() -> Iterator[Row]:
    """Strides before and after a reshape and a transpose."""
    x = minitorch.zeros((5, 4, 8))
    yield equal("strides of (5, 4, 8)", (32, 8, 1), x.stride())
    yield equal("strides as (4, 5, 2, 2, 2)", (40, 8, 4, 2, 1), x.view(4, 5, 2, 2, 2).stride())
    y = minitorch.arange(24).view(2, 3, 4)
    turned = y.transpose(0, 1)
    yield equal("strides of 2 × 3 × 4", (12, 4, 1), y.stride())
    yield equal("transposed", (4, 12, 1), turned.stride())
    yield equal("the same buffer", True, bool(np.shares_memory(y.tuple()[0], turned.tuple()[0])))
    yield equal("contiguous", False, turned.is_contiguous())


@reproduction("norch-mnist", f"{SOURCE}, MNIST, 784 → 30 → 10, SGD 0.01, batches of 32, 10 epochs", needs="MNIST")
def mnist() -> Iterator[Row]:
    """Its network; the source gives no number, so ours is only measured."""
    train, test = mnist_sets()
    minitorch.manual_seed(0)
    model = Sequential(Linear(784, 30), Sigmoid(), Linear(30, 10)).to("cpu", float32)
    optimizer = minitorch.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(train, batch_size=32, shuffle=True, seed=0, backend=FastBackend, dtype=float32)
    start = perf_counter()
    for _ in range(10):
        for images, labels in loader:
            loss = cross_entropy(model(images.view(images.shape[0], 784)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    took = perf_counter() - start
    yield measured(f"accuracy on {len(test)} images", "not given", f"{100 * accuracy(model, test):.2f} %")
    yield measured(f"seconds, {len(train)} images", "not given", f"{took:.1f}")


def mnist_sets() -> tuple[Any, Any]:
    """Return MNIST's training and test images. If only the test images are available, return four fifths of them and the rest.

    Raises:
        Absent: If there are no images.
    """
    try:
        test = load_mnist("test")
    except OSError as error:
        raise Absent(str(error)) from None
    try:
        return load_mnist("train"), test
    except OSError:
        return test.split(0.8, seed=0)


def accuracy(model: Module, images: Any) -> float:
    """Return the fraction of images whose largest logit is that of the correct class."""
    model.eval()
    with minitorch.no_grad():
        logits = model(tensor(images.images.reshape(len(images), -1), FastBackend, dtype=float32)).to_numpy()
    model.train()
    return float((logits.argmax(1) == images.labels).mean())
