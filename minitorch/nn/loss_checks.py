"""Stage 5 - What losses are given, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtypes import is_float
from minitorch.nn.sizes import a_tensor
from minitorch.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


def check_reduction(reduction: Any, op: str) -> None:
    """That a reduction is known."""
    if reduction not in REDUCTIONS:
        raise ValueError(f'{op} expected reduction "mean", "sum" or "none", got {reduction!r}')


def check_both(input: Any, target: Any, reduction: str, op: str) -> None:
    """That both are tensors, input one of floats, and the reduction is known."""
    for name, x in (("input", input), ("target", target)):
        a_tensor(op, x, name)
    if not is_float(input.dtype):
        raise TypeError(f"{op} expected input of float64 or float32, got {input.dtype.name}; convert it: input.to(float64)")
    check_reduction(reduction, op)


def check_rows(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That input has a row of classes for each sample."""
    check_both(input, target, reduction, op)
    if input.dims != 2 or not input.shape[1]:
        raise ValueError(f"{op} expected input of shape (N, C), a row of C classes for each sample, got {input.shape}")


def check_weight(input: Tensor, weight: Any, op: str) -> None:
    """That every class has a weight, if there are weights."""
    if weight is not None and (not isinstance(weight, Tensor) or weight.shape != input.shape[1:]):
        raise _unfit(op, f"as weight a Tensor of shape {input.shape[1:]}, a number for each class", weight)


def check_factor(input: Tensor, factor: Any, name: str, op: str) -> None:
    """That every element has a factor, if there are factors."""
    if factor is None:
        return
    given, own = getattr(factor, "shape", ()), input.shape
    fits = isinstance(factor, Tensor) and len(given) <= len(own)
    if not fits or any(n not in (1, m) for n, m in zip(reversed(given), reversed(own), strict=False)):
        raise _unfit(op, f"as {name} a Tensor whose shape broadcasts to that of input, {own}", factor)


def _unfit(op: str, wanted: str, given: Any) -> ValueError:
    """What to say of a weight."""
    got = given.shape if isinstance(given, Tensor) else repr(given)
    remedy = f"; a reduction goes by its name: reduction={given!r}" if isinstance(given, str) else ""
    return ValueError(f"{op} expected {wanted}, got {got}{remedy}")


def check_classes(input: Tensor, target: Tensor, op: str, ignore_index: int) -> np.ndarray:
    """Which samples count; that every one of them has one of the classes."""
    samples, classes = input.shape
    if target.dtype.kind != "i" or target.shape != (samples,):
        error = TypeError if target.shape == (samples,) else ValueError
        raise error(
            f"{op} expected as target the classes of {samples} samples, int64 of shape ({samples},), for input of shape {input.shape}, "
            f"got {target.dtype.name} of shape {target.shape}"
        )
    numbers = target._tensor.array()
    counts = numbers != ignore_index
    if samples and not (numbers.min() >= 0 and numbers.max() < classes):
        wrong = counts & ((numbers < 0) | (numbers >= classes))
        if wrong.any():
            sample = int(wrong.argmax())
            raise ValueError(f"{op} expected classes from 0 to {classes - 1}, of {classes}, got {numbers[sample]} for sample {sample}")
    return counts


def check_pairs(input: Tensor, target: Tensor, reduction: str, op: str) -> None:
    """That every element has its target."""
    check_both(input, target, reduction, op)
    if input.shape != target.shape:
        raise ValueError(f"{op} expected input and target of one shape, got {input.shape} and {target.shape}; view one as the other")


def check_probabilities(x: Tensor, name: str, op: str) -> None:
    """That all elements are from 0 to 1."""
    values = x._tensor.array()
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        wrong = values[~((values >= 0) & (values <= 1))][0].item()
        raise ValueError(f"{op} expected probabilities from 0 to 1 as {name}, got {wrong}")
