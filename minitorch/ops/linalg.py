"""Stage 7 - Linear algebra: solutions, determinants and factorizations by LAPACK through NumPy, with gradients.

A Function returns one tensor. The parts of a factorization are the rows of one matrix: U, the singular values and V, for example.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.creation import cat
from minitorch.core.dtypes import float32, float64
from minitorch.core.errors import LinAlgError
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function


def made(like: Tensor, values: np.ndarray) -> Tensor:
    """A tensor of these values, in the dtype and on the backend of another."""
    values = np.asarray(values, like.dtype, order="C")
    return like._like(TensorData(values.reshape(-1), values.shape))


def mT(x: Tensor) -> Tensor:
    """The last two dimensions exchanged, as an operation: a gradient may be differentiated again."""
    return x.transpose(-1, -2)


def square(a: Tensor, name: str) -> np.ndarray:
    """The numbers of a tensor of square matrices.

    Raises:
        ValueError: If they are not square, or neither of float32 nor of float64.
    """
    if a.dims < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name} expected square matrices, got shape {a.shape}")
    return matrices(a, name)


def matrices(a: Tensor, name: str) -> np.ndarray:
    """The numbers of a tensor of matrices, as LAPACK takes them.

    Raises:
        ValueError: If it has fewer than two dimensions, or is neither of float32 nor of float64.
    """
    if a.dims < 2 or a.dtype not in (float32, float64):
        raise ValueError(
            f"{name} expected matrices, in two or more dimensions, of float32 or float64, got shape {a.shape} of {a.dtype.name}"
        )
    return a._tensor.array()


def solved(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    """x of a @ x = b. Raises LinAlgError if a matrix is singular."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise LinAlgError(f"{name} expected matrices of full rank, got a singular one") from None


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
        turned = mT(y)
        return -(turned @ grad_output @ turned)


class Solve(Function):
    """x of a @ x = b, for matrices b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        left, right = square(a, "solve"), matrices(b, "solve")
        if a.dtype is not b.dtype or left.shape[-1] != right.shape[-2]:
            raise ValueError(f"solve expected matrices of one dtype with as many rows, got shapes {a.shape} and {b.shape}")
        np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        x = made(b, solved(left, right, "solve"))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        a, x = ctx.saved_values
        grad_b = Solve.apply(mT(a), grad_output)
        return -(grad_b @ mT(x)), grad_b


class Cholesky(Function):
    """The lower triangular factor L of symmetric positive definite matrices, a = L @ Lᵀ.

    Source of the gradient: Murray 2016, "Differentiation of the Cholesky decomposition".
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        try:
            out = made(a, np.linalg.cholesky(square(a, "cholesky")))
        except np.linalg.LinAlgError:
            raise LinAlgError("cholesky expected positive definite matrices, got one that is not; add a small multiple of eye") from None
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (factor,) = ctx.saved_values
        n = factor.shape[-1]
        halved = made(factor, np.tril(np.ones((n, n))) - 0.5 * np.eye(n))
        turned = mT(factor)
        inner = (turned @ grad_output) * halved
        inner = 0.5 * (inner + mT(inner))
        return Solve.apply(turned, mT(Solve.apply(turned, mT(inner))))


class Det(Function):
    """The determinant of square matrices."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        out = made(a, np.linalg.det(square(a, "det")))
        ctx.save_for_backward(a, out, bool((out._tensor.array() == 0).any()))
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        a, out, is_singular = ctx.saved_values
        cofactors = made(a, cofactors_of(a._tensor.array())) if is_singular else as_matrices(out) * mT(Inverse.apply(a))
        return as_matrices(grad_output) * cofactors


def as_matrices(x: Tensor) -> Tensor:
    """A number for each matrix as a matrix of one row and one column."""
    return x.reshape(*x.shape, 1, 1)


def cofactors_of(a: np.ndarray) -> np.ndarray:
    """The cofactors of square matrices, which may be singular: of a = U S Vᵀ they are det(U) det(V) U S' Vᵀ.

    An element of the diagonal matrix S' is the product of the other singular values.
    """
    u, s, vh = np.linalg.svd(a)
    others = np.where(np.eye(a.shape[-1], dtype=bool), 1, s[..., None, :]).prod(-1)
    return (np.linalg.det(u) * np.linalg.det(vh))[..., None, None] * (u * others[..., None, :]) @ vh


class LogAbsDet(Function):
    """ln |det a| of square matrices; -∞ for a singular one, which has no gradient."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return made(a, np.linalg.slogdet(square(a, "slogdet"))[1])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return as_matrices(grad_output) * mT(Inverse.apply(a))


class PseudoInverse(Function):
    """The Moore-Penrose inverse P of matrices; singular values up to rtol times the largest one, or atol, count as 0.

    Of P A P = P, where P A and A P are symmetric, follows dP = -P dA P + (1 - P A) dAᵀ Pᵀ P + P Pᵀ dAᵀ (1 - A P), if the rank stays.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, atol: float, rtol: float) -> Tensor:
        u, s, vh = np.linalg.svd(matrices(a, "pinv"), full_matrices=False)
        kept = s > np.maximum(atol, rtol * s.max(-1, keepdims=True, initial=0))
        inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
        out = made(a, np.swapaxes(vh, -1, -2) * inverse[..., None, :] @ np.swapaxes(u, -1, -2))
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        a, p = ctx.saved_values
        grad, turned = mT(grad_output), mT(p)
        first = -(turned @ grad_output @ turned)
        rows = turned @ (p @ grad)
        columns = (grad @ p) @ turned
        return first + (rows - rows @ p @ a) + (columns - a @ (p @ columns))


# Factorizations


class QR(Function):
    """Q and R of matrices with at least as many rows as columns, a = Q @ R: the rows of Q, then those of Rᵀ.

    Source of the gradient: Walter, Lehmann 2012, "On evaluating higher-order derivatives of the QR decomposition", arXiv:1009.6112.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        q, r = np.linalg.qr(matrices(a, "qr"))
        out = made(a, np.concatenate([q, np.swapaxes(r, -1, -2)], -2))
        ctx.save_for_backward(out, bool((np.diagonal(r, axis1=-1, axis2=-2) == 0).any()))
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        out, is_deficient = ctx.saved_values
        if is_deficient:
            raise RuntimeError("the gradient of qr expected matrices of full rank, got one with columns that depend on each other")
        m = out.shape[-2] - out.shape[-1]
        q, lower, grad_q, grad_lower = out[..., :m, :], out[..., m:, :], grad_output[..., :m, :], grad_output[..., m:, :]
        product = mT(lower) @ grad_lower - mT(grad_q) @ q
        below = product * made(product, np.tri(product.shape[-1], k=-1))
        symmetric = below + mT(below) + product * made(product, np.eye(product.shape[-1]))
        return mT(Solve.apply(mT(lower), mT(grad_q + q @ symmetric)))


def reciprocal_differences(x: Tensor) -> Tensor:
    """1 / (x_j - x_i), and 0 on the diagonal: shape (..., n) to (..., n, n)."""
    n = x.shape[-1]
    identity = made(x, np.eye(n))
    return (1.0 - identity) / (x.reshape(*x.shape[:-1], 1, n) - x.reshape(*x.shape, 1) + identity)


def refuse_equal(grads: tuple[Tensor, ...], what: str) -> None:
    """Check that no gradient flows into vectors that are not unique. Raises RuntimeError if one does."""
    if any(np.any(grad._tensor.array()) for grad in grads):
        raise RuntimeError(f"{what} have no gradient; only use the values, or add small different numbers to the diagonal")


class Eigh(Function):
    """Eigenvectors and eigenvalues of symmetric matrices, of which the lower triangle is read: the rows of V, then the values.

    From a V = V L and Vᵀ V = 1 follow dL = Vᵀ da V on the diagonal, and dV = V (F ∘ Vᵀ da V) with F_ij = 1 / (L_j - L_i).
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        values, vectors = np.linalg.eigh(square(a, "eigh"))
        out = made(a, np.concatenate([vectors, values[..., None, :]], -2))
        ctx.save_for_backward(out, bool((np.diff(values) == 0).any()))
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        out, has_equal = ctx.saved_values
        n = out.shape[-1]
        v, values, grad_v, grad_values = out[..., :n, :], out[..., n, :], grad_output[..., :n, :], grad_output[..., n:, :]
        inner = grad_values * made(out, np.eye(n))
        if has_equal:
            refuse_equal((grad_v,), "eigenvectors of equal eigenvalues")
        else:
            inner = inner + reciprocal_differences(values) * (mT(v) @ grad_v)
        grad = v @ inner @ mT(v)
        return 0.5 * (grad + mT(grad))


class SVD(Function):
    """The singular value decomposition a = U diag(s) Vᵀ, s in descending order: the rows of U, then s, then the rows of V.

    With dP = Uᵀ da V and F_ij = 1 / (s_j² - s_i²), ds = dP on the diagonal, dU = U (F ∘ (dP S + S dPᵀ)) + (1 - U Uᵀ) da V S⁻¹, and dV
    likewise with aᵀ.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        u, s, vh = np.linalg.svd(matrices(a, "svd"), full_matrices=False)
        out = made(a, np.concatenate([u, s[..., None, :], np.swapaxes(vh, -1, -2)], -2))
        is_square = a.shape[-1] == a.shape[-2]
        ctx.save_for_backward(out, a.shape[-2], bool((np.diff(s) == 0).any() or (not is_square and (s == 0).any())))
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        out, m, is_degenerate = ctx.saved_values
        k = out.shape[-1]
        u, row, v = out[..., :m, :], out[..., m : m + 1, :], out[..., m + 1 :, :]
        grad_u, grad_row, grad_v = grad_output[..., :m, :], grad_output[..., m : m + 1, :], grad_output[..., m + 1 :, :]
        ut, vt = mT(u), mT(v)
        inner = grad_row * made(out, np.eye(k))
        if is_degenerate:
            refuse_equal((grad_u, grad_v), "singular vectors of equal singular values, or of 0 for matrices that are not square,")
            return u @ inner @ vt
        factors = reciprocal_differences((row * row)[..., 0, :])
        of_u, of_v = ut @ grad_u, vt @ grad_v
        inner = inner + (factors * (of_u - mT(of_u))) * row
        inner = inner + mT(row) * (factors * (of_v - mT(of_v)))
        grad = u @ inner @ vt
        if m > k:
            grad = grad + ((grad_u - u @ of_u) / row) @ vt
        if v.shape[-2] > k:
            grad = grad + u @ mT((grad_v - v @ of_v) / row)
        return grad


class Completion(Function):
    """Orthonormal columns that complete those of a matrix to a basis, which leaves a choice: they have no gradient."""

    @staticmethod
    def forward(ctx: Any, q: Tensor) -> Tensor:
        numbers = matrices(q, "a complete basis")
        return made(q, np.linalg.svd(numbers)[0][..., numbers.shape[-1] :])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> None:
        refuse_equal((grad_output,), "the columns that complete an orthonormal basis")


def complete(q: Tensor) -> Tensor:
    """A square matrix that begins with the orthonormal columns of q; the others have no gradient."""
    return q if q.shape[-1] == q.shape[-2] else cat([q, Completion.apply(q)], -1)
