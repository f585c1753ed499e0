"""Stage 6 - Linear algebra of square matrices, factorized by LAPACK through NumPy, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two


def made(like: Tensor, values: np.ndarray) -> Tensor:
    """A tensor of these values, in the dtype and on the backend of another."""
    values = np.ascontiguousarray(values, like.dtype)
    return like._like(TensorData(values.reshape(-1), values.shape))


def square(a: Tensor, name: str) -> np.ndarray:
    """The numbers of a tensor of square matrices.

    Raises:
        ValueError: If they are not square, or not floating-point numbers.
    """
    if a.dims < 2 or a.shape[-1] != a.shape[-2] or a.dtype.kind != "f":
        raise ValueError(f"{name} expected square matrices of floating-point numbers, got shape {a.shape} of {a.dtype.name}")
    return a._tensor.array()


def solved(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    """x of a @ x = b.

    Raises:
        ValueError: If a matrix is singular.
    """
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} expected matrices of full rank, got a singular one") from None


class Inverse(Function):
    """The inverse of square matrices."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        numbers = square(a, "inv")
        out = made(a, solved(numbers, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), "inv"))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (y,) = ctx.saved_values
        turned = transpose_last_two(y)
        return -(turned @ grad_output @ turned)


class Solve(Function):
    """x of a @ x = b, for matrices b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        x = made(b, solved(square(a, "solve"), b._tensor.array(), "solve"))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, x = ctx.saved_values
        grad_b = Solve.apply(transpose_last_two(a), grad_output)
        return -(grad_b @ transpose_last_two(x)), grad_b


class Cholesky(Function):
    """The lower triangular factor L of symmetric positive definite matrices, a = L @ Lᵀ.

    Source of the gradient: Murray 2016, "Differentiation of the Cholesky decomposition".
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        try:
            out = made(a, np.linalg.cholesky(square(a, "cholesky")))
        except np.linalg.LinAlgError:
            raise ValueError("cholesky expected positive definite matrices, got one that is not; add a small multiple of eye") from None
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (factor,) = ctx.saved_values
        n = factor.shape[-1]
        halved = made(factor, np.tril(np.ones((n, n))) - 0.5 * np.eye(n))
        turned = transpose_last_two(factor)
        inner = (turned @ grad_output) * halved
        inner = 0.5 * (inner + transpose_last_two(inner))
        return Solve.apply(turned, transpose_last_two(Solve.apply(turned, transpose_last_two(inner))))
