"""Thunder, a deep-learning system presented in a series of talks: arrays on a GPU, a worked gradient, a forward trace, and MNIST."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np

import minitorch
from minitorch import FastBackend, Scalar, float32, tensor
from minitorch.data import DataLoader
from minitorch.models import mlp
from minitorch.nn import cross_entropy
from project.reproductions.norch import accuracy, mnist_sets
from project.reproductions.results import Row, at_most, close, equal, measured, not_run, reproduction

SOURCE = "Thunder"


@reproduction("thunder-array", f"{SOURCE}: an array of (500, 200) on a GPU, filled by a kernel and read back")
def array() -> Iterator[Row]:
    """The array on the CPU and, if there is one, on the GPU."""
    for name in ("cpu", "cuda"):
        try:
            ones = minitorch.zeros((500, 200), dtype=float32).to(name) + 1.0
        except RuntimeError as error:
            yield not_run(f"500 × 200 ones on {name}", "all 1", str(error).split(";")[0])
            continue
        values = ones.to_numpy()
        yield equal(f"500 × 200 ones on {name}", ((500, 200), True), (values.shape, bool((values == 1).all())))


@reproduction("thunder-trace", f"{SOURCE}: z = x / y + x / 2 + 4 at (2, 3), and ln x₁ + x₁x₂ - sin x₂ at (2, 5) forward and in reverse")
def trace() -> Iterator[Row]:
    """Derivatives by reverse mode and by forward mode."""
    x, y = tensor([2.0], requires_grad=True), tensor([3.0], requires_grad=True)
    (x / y + x * 0.5 + 4.0).backward()
    assert x.grad is not None
    assert y.grad is not None
    yield close("∂z/∂x, ∂z/∂y", [1 / 3 + 1 / 2, -2 / 9], [x.grad.item(), y.grad.item()], 6)
    value, tangent = minitorch.jvp(lambda a, b: a.log() + a * b - b.sin(), (2.0, 5.0), (1.0, 0.0))
    yield close("forward mode: y, ∂y/∂x₁", [11.652, 5.5], [value, tangent], 3)
    a, b = Scalar(2.0), Scalar(5.0)
    (a.log() + a * b - b.sin()).backward()
    assert a.derivative is not None
    assert b.derivative is not None
    yield close("reverse mode: ∂y/∂x₁, ∂y/∂x₂", [5.5, 2 - np.cos(5.0)], [a.derivative, b.derivative], 3)


@reproduction("thunder-mnist", f"{SOURCE}: MNIST, 784 → 256 → 100 → 10, batches of 128, momentum 0.9, 100 steps", needs="MNIST")
def mnist() -> Iterator[Row]:
    """A hundred steps of its network; the source shows curves but gives no number."""
    train, test = mnist_sets()
    minitorch.manual_seed(0)
    model = mlp([784, 256, 100, 10], device=FastBackend, dtype=float32)
    optimizer = minitorch.SGD(model.parameters(), lr=0.128, momentum=0.9)  # 1e-3 on a sum of 128 losses
    loader = DataLoader(train, batch_size=128, shuffle=True, seed=0, drop_last=True, backend=FastBackend, dtype=float32)
    losses: list[float] = []
    start = perf_counter()
    while len(losses) < 100:
        for images, labels in loader:
            loss = cross_entropy(model(images.view(images.shape[0], 784)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == 100:
                break
    took = perf_counter() - start
    yield at_most("loss, the last ten steps' mean", "falls", float(np.mean(losses[-10:])), 0.5 * losses[0])
    yield measured(f"accuracy on {len(test)} images", "not given", f"{100 * accuracy(model, test):.2f} %")
    yield measured("seconds for 100 steps", "not given", f"{took:.2f}")
