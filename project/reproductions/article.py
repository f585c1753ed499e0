"""An article that teaches PyTorch from its storage up: floating-point formats, views, copies, files, and the training loop."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import minitorch
from minitorch import FastBackend, bits, finfo, from_numpy, tensor
from minitorch.nn import Linear, mse_loss
from project.reproductions.results import Row, close, equal, not_run, reproduction

SOURCE = "Learning PyTorch"

FLOATS = {"float32": (8, 23, 3.4028235e38), "float16": (5, 10, 65504.0), "bfloat16": (8, 7, 3.3895314e38)}
"""Bits of the exponent and of the fraction, and the largest number."""


@reproduction("learning-pytorch", f"{SOURCE}: floats in bits, storage and strides, NumPy without a copy, files, accumulated gradients")
def article() -> Iterator[Row]:
    """All results of the article, in its order."""
    for name, (exponent, fraction, largest) in FLOATS.items():
        try:
            one = tensor([1.0], dtype=name)
        except (TypeError, ImportError) as error:
            yield not_run(f"{name}, its bits", f"1 + {exponent} + {fraction}", str(error).split(";")[0])
            continue
        fields = bits(one)[0].split()
        yield equal(f"{name}, bits of its fields", (1, exponent, fraction), tuple(map(len, fields)))
        yield close(f"{name}, the largest", [largest / 10.0 ** int(np.log10(largest))], [_scaled(finfo(name).max)], 4)
    yield from _views()
    yield from _numpy()
    yield from _files()
    yield from _accumulated()


def _scaled(x: Any) -> float:
    """Return the leading digits of a large number: the number divided by a power of ten."""
    return float(x) / 10.0 ** int(np.log10(float(x)))


def _views() -> Iterator[Row]:
    """Storage, offset and strides of a tensor, of a slice and of its transpose."""
    points = tensor([[4.0, 1.0], [5.0, 3.0], [2.0, 1.0]])
    second = points[1]
    yield equal("offset and strides of a row", (2, (1,)), (second.storage_offset(), second.stride()))
    turned = points.t()
    yield equal("strides of the transpose", (1, 2), turned.stride())
    yield equal("contiguous, and after contiguous()", (False, True), (turned.is_contiguous(), turned.contiguous().is_contiguous()))


def _numpy() -> Iterator[Row]:
    """A tensor and an array that share one storage."""
    array = np.ones(3)
    shared = from_numpy(array)
    array[0], shared[1] = 7.0, 8.0
    yield equal("changes visible on both sides", ([7.0, 8.0, 1.0], [7.0, 8.0, 1.0]), (shared.tolist(), array.tolist()))


def _files() -> Iterator[Row]:
    """A state dict that is saved and loaded."""
    model = Linear(3, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        minitorch.save(model.state_dict(), path)
        other = Linear(3, 2)
        other.load_state_dict(minitorch.load(path))
    kept = all(np.array_equal(model.state_dict()[name].numpy(), other.state_dict()[name].numpy()) for name in model.state_dict())
    yield equal("a state saved and loaded", "the same", "the same" if kept else "different")


def _accumulated() -> Iterator[Row]:
    """The gradients of two halves of a batch add up to the gradient of the batch; a training loop fits a line."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (20, 1))
    heights = 3 * points - 1 + 0.1 * rng.standard_normal(points.shape)
    x, y = tensor(points, FastBackend), tensor(heights, FastBackend)
    minitorch.manual_seed(0)
    model = Linear(1, 1, device=FastBackend, dtype="float64")
    mse_loss(model(x), y, reduction="sum").backward()
    whole = model.weight.value.grad.tolist()
    model.zero_grad()
    for part in (slice(0, 7), slice(7, None)):
        mse_loss(model(x[part]), y[part], reduction="sum").backward()
    yield close("gradients of two halves add up", whole[0], model.weight.value.grad.tolist()[0], 6)
    optimizer = minitorch.SGD(model.parameters(), lr=0.5)
    for _ in range(200):
        loss = mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    best = np.linalg.lstsq(np.hstack([points, np.ones_like(points)]), heights, rcond=None)[0][:, 0]
    assert model.bias is not None
    yield close("the fitted line, by least squares", best.tolist(), [model.weight.value.item(), model.bias.value.item()], 4)
