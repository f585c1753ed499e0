"""Stage 7 - LU factorizations, the exponential of a matrix, and the functions of torch that torch.linalg has replaced."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import int32
from minitorch.core.errors import DimensionError, LinAlgError
from minitorch.ops import linalg as ops
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch import factorizations, shapes

SVDResult = namedtuple("SVDResult", "U S V")
TriangularSolveResult = namedtuple("TriangularSolveResult", "solution cloned_coefficient")
LUResult = namedtuple("LUResult", "P L U")
LUFactorResult = namedtuple("LUFactorResult", "LU pivots")


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SVDResult:
    """input = U @ diag(S) @ Vᵀ: `linalg.svd` with V in place of its transpose.

    Args:
        input: Matrices, shape (..., m, n).
        some: Whether U and V have min(m, n) columns; else they are square.
        compute_uv: Whether U and V are computed; else they are 0.
    """
    if not compute_uv:
        m, n = ops.matrices(input, "svd").shape[-2:]
        u, v = (input.zeros((*input.shape[:-2], size, size)) for size in (m, n))
        return SVDResult(u, factorizations.svdvals(input), v)
    u, s, vh = factorizations.svd(input, full_matrices=not some)
    return SVDResult(u, s, ops.mT(vh))


# LU


def eliminate(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian elimination: L without its diagonal and U in one matrix, and the row, from 1 on, that each row is exchanged with."""
    packed = a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]).copy()
    count = min(a.shape[-2:])
    batch, pivots = np.arange(len(packed)), np.zeros((len(packed), count), int32)
    for j in range(count):
        best = j + np.abs(packed[:, j:, j]).argmax(-1)
        pivots[:, j] = best + 1
        packed[batch, j], packed[batch, best] = packed[batch, best], packed[batch, j]
        pivot = packed[:, j, j, None]
        packed[:, j + 1 :, j] /= np.where(pivot == 0, 1, pivot)
        packed[:, j + 1 :, j + 1 :] -= packed[:, j + 1 :, j, None] * packed[:, j, None, j + 1 :]
    return packed.reshape(a.shape), pivots.reshape(*a.shape[:-2], count)


def permutation(pivots: np.ndarray, rows: int) -> np.ndarray:
    """The matrices P of A = P @ L @ U for exchanged rows."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    batch = np.arange(len(flat))
    for j in range(flat.shape[-1]):
        best = flat[:, j] - 1
        order[batch, j], order[batch, best] = order[batch, best], order[batch, j]
    return np.swapaxes(np.eye(rows)[order], -1, -2).reshape(*pivots.shape[:-1], rows, rows)


class LU(Function):
    """L and U of square matrices, whose rows need no exchange, in one matrix: a = L @ U.

    From da = dL U + L dU follows L⁻¹ da U⁻¹ = L⁻¹ dL + dU U⁻¹, a strictly lower triangle and an upper one.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, packed: np.ndarray) -> Tensor:
        """The factors, already computed, in one matrix."""
        out = ops.made(a, packed)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        """The gradient of the matrix."""
        (out,) = ctx.saved_values
        lower, upper = halves(out)
        below = ops.mT(lower) @ shapes.tril(grad_output, -1)
        above = shapes.triu(grad_output) @ ops.mT(upper)
        inner = ops.Solve.apply(ops.mT(lower), shapes.tril(below, -1) + shapes.triu(above))
        return ops.mT(ops.Solve.apply(upper, ops.mT(inner)))


def halves(packed: Tensor) -> tuple[Tensor, Tensor]:
    """L with its diagonal of ones, and U."""
    m, n = packed.shape[-2:]
    count = min(m, n)
    lower = shapes.tril(packed[..., :count], -1)
    return lower + ops.made(lower, np.broadcast_to(np.eye(m, count), lower.shape)), shapes.triu(packed[..., :count, :])


def factored(A: Tensor, pivot: bool) -> LUFactorResult:
    """The result of `lu_factor`, of singular matrices, too. Raises RuntimeError if rows must not be exchanged."""
    if not pivot:
        raise RuntimeError("lu supports pivot=True only; leave it out: without exchanged rows, rounding errors would grow")
    packed, exchanged = eliminate(ops.matrices(A, "lu"))
    pivots = A.detach()._like(TensorData(exchanged.reshape(-1), exchanged.shape))
    if A.history is None:
        return LUFactorResult(ops.made(A, packed), pivots)
    m, n = A.shape[-2:]
    count = min(m, n)
    rows = ops.made(A.detach(), np.swapaxes(permutation(exchanged, m), -1, -2)) @ A
    out = LU.apply(rows[..., :count, :count], packed[..., :count, :count])
    lower, upper = halves(out)
    if m > n:
        below = ops.mT(ops.Solve.apply(ops.mT(upper), ops.mT(rows[..., count:, :])))
        out = shapes.cat([out, below], -2)
    elif m < n:
        out = shapes.cat([out, ops.Solve.apply(lower, rows[..., count:])], -1)
    return LUFactorResult(out, pivots)


def first_zeros(packed: Tensor) -> np.ndarray:
    """The first diagonal element of each U, from 1 on, that is 0, or 0."""
    zeros = np.diagonal(packed._tensor.array(), axis1=-2, axis2=-1) == 0
    return np.asarray(np.where(zeros.any(-1), zeros.argmax(-1) + 1 if zeros.shape[-1] else 0, 0), int32)


def lu_factor(A: Tensor, *, pivot: bool = True) -> LUFactorResult:
    """P @ A = L @ U, with L and U in one matrix, and the row, from 1 on, that each row was exchanged with.

    Args:
        A: Matrices of full rank, shape (..., m, n).
        pivot: True.

    Raises:
        LinAlgError: If a matrix is singular.
        RuntimeError: If rows must not be exchanged.
    """
    packed, pivots = factored(A, pivot)
    if first_zeros(packed).any():
        raise LinAlgError("lu_factor expected matrices of full rank, got a singular one; factor it with torch.linalg.lu")
    return LUFactorResult(packed, pivots)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Any, ...]:
    """`linalg.lu_factor`, of singular matrices, too; with get_infos also the first diagonal element of U, from 1 on, that is 0, or 0."""
    packed, pivots = factored(A, pivot)
    if not get_infos:
        return packed, pivots
    infos = first_zeros(packed)
    return packed, pivots, A.detach()._like(TensorData(infos.reshape(-1), infos.shape))


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> LUResult:
    """P, L and U of A = P @ L @ U from the results of `lu`; those that are not unpacked are empty.

    Raises:
        ValueError: If there is no matrix, or there are more or fewer pivots than such matrices have.
    """
    if LU_data.dims < 2:
        raise DimensionError(f"lu_unpack expected a matrix of factors, got shape {LU_data.shape}")
    expected = (*LU_data.shape[:-2], min(LU_data.shape[-2:]))
    if tuple(LU_pivots.shape) != expected or LU_pivots.dtype is not int32:
        raise DimensionError(
            f"lu_unpack expected int32 pivots of shape {expected} for factors of shape {LU_data.shape}, got {LU_pivots.shape}"
        )
    lower, upper = halves(LU_data) if unpack_data else (LU_data.zeros((0,)), LU_data.zeros((0,)))
    if not unpack_pivots:
        return LUResult(LU_data.zeros((0,)), lower, upper)
    return LUResult(ops.made(LU_data.detach(), permutation(LU_pivots._tensor.array(), LU_data.shape[-2])), lower, upper)


def linalg_lu(A: Tensor, *, pivot: bool = True) -> LUResult:
    """A = P @ L @ U with a permutation P, a lower triangle L of ones on the diagonal, and an upper triangle U.

    Example:
        >>> P, L, U = torch.linalg.lu(torch.tensor([[0.0, 2.0], [1.0, 3.0]]))
        >>> P @ L
        tensor([[0., 1.],
                [1., 0.]])
        >>> U
        tensor([[1., 3.],
                [0., 2.]])
    """
    return lu_unpack(*factored(A, pivot))


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X of A @ X = b, where `lu` has factored A.

    Raises:
        ValueError: If b has fewer than two dimensions.
    """
    if b.dims < 2:
        raise ValueError(f"lu_solve expected a matrix of right-hand sides, got shape {b.shape}; for one, pass b.unsqueeze(-1)")
    p, lower, upper = lu_unpack(LU_data, LU_pivots)
    return ops.Solve.apply(upper, ops.Solve.apply(lower, ops.mT(p) @ b))


# Triangles, products and powers


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolveResult:
    """X of A @ X = b with a triangle of A, and a copy of A; `linalg.solve_triangular` has the arguments in the other order.

    Args:
        b: Right-hand sides, shape (..., n, k).
        A: Matrices, shape (..., n, n).
        upper: Whether the upper triangle is read.
        transpose: Whether to solve Aᵀ @ X = b.
        unitriangular: Whether the diagonal counts as ones.
    """
    triangle = shapes.triu(A, int(unitriangular)) if upper else shapes.tril(A, -int(unitriangular))
    if unitriangular:
        triangle = triangle + ops.made(A.detach(), np.broadcast_to(np.eye(A.shape[-1]), A.shape))
    x = ops.Solve.apply(ops.mT(triangle) if transpose else triangle, b)
    return TriangularSolveResult(x, A.expand(*x.shape[:-2], *A.shape[-2:]).clone())


def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, of which input is the Cholesky factor: the lower one, or the upper one."""
    inverse = ops.Inverse.apply(shapes.triu(input) if upper else shapes.tril(input))
    return inverse @ ops.mT(inverse) if upper else ops.mT(inverse) @ inverse


def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices in the order that takes the fewest multiplications; `linalg.multi_dot` takes a list.

    Raises:
        ValueError: If there are none, or one is not a matrix.
    """
    if not len(matrices) or any(x.dims != 2 for x in matrices):
        found = [x.shape for x in matrices]
        raise ValueError(f"chain_matmul expected one or more matrices, got shapes {found}; linalg.multi_dot takes vectors, too")
    return factorizations.multi_dot(matrices) if len(matrices) > 1 else next(iter(matrices))


PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
        33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip
"""Coefficients of the rational approximation of eˣ of degree 13. Source: Higham 2005, "The scaling and squaring method", table 2.3."""


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices, Σ Aᵏ / k!."""
    numbers = ops.square(A, "matrix_exp")
    largest = float(np.abs(numbers).sum(-2).max(initial=0))
    halvings = max(0, int(np.ceil(np.log2(largest / 4)))) if 0 < largest < np.inf else 0
    x = A * 0.5**halvings
    identity = ops.made(A.detach(), np.broadcast_to(np.eye(A.shape[-1]), A.shape))
    second, powers = x @ x, [identity]
    for _ in range(6):
        powers.append(powers[-1] @ second)
    scale = float(PADE[0])
    even, odd = identity, identity * (PADE[1] / scale)
    for i, power in enumerate(powers[1:], 1):
        even, odd = even + power * (PADE[2 * i] / scale), odd + power * (PADE[2 * i + 1] / scale)
    odd = x @ odd
    out = ops.Solve.apply(even - odd, even + odd)
    for _ in range(halvings):
        out = out @ out
    return out


# Removed by PyTorch

REMOVED = {
    "symeig": "linalg.eigh(A), or torch.linalg.eigvalsh(A) for the eigenvalues alone",
    "eig": "linalg.eigh(A) for symmetric matrices; PyTorch's torch.linalg.eig has complex results, which minitorch does not have",
    "matrix_rank": "linalg.matrix_rank(A)",
    "lstsq": "linalg.lstsq(A, B).solution, with the arguments in the other order",
    "solve": "linalg.solve(A, B), with the arguments in the other order",
}
"""What to write in place of the functions that PyTorch has removed."""


def removed(name: str) -> Callable[..., Any]:
    """A function that PyTorch has removed, which says what to write in its place."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"torch.{name} was removed from PyTorch; write torch.{REMOVED[name]}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise RuntimeError: PyTorch has removed it; write torch.{REMOVED[name]}."
    return refuse


symeig, eig, matrix_rank, lstsq, solve = map(removed, REMOVED)
