"""Stage 7 - Determinants, factorizations, solutions and norms of matrices, with PyTorch's arguments, on tensors of the engine.

Further dimensions in front are batches.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch.core.dtypes import int64
from minitorch.core.errors import LinAlgError
from minitorch.ops import linalg as ops
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.torch import arithmetic, pointwise, products, reductions, shapes

QRResult = namedtuple("QRResult", "Q R")
SVDResult = namedtuple("SVDResult", "U S Vh")
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
LstsqResult = namedtuple("LstsqResult", "solution residuals rank singular_values")


# Determinants


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    return ops.Det.apply(A)


def slogdet(A: Tensor) -> SlogdetResult:
    """The sign of the determinant, which has no gradient, and the logarithm of its absolute value.

    Example:
        >>> sign, logabsdet = torch.linalg.slogdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign, logabsdet
        (tensor(-1.), tensor(0.))
    """
    sign = np.linalg.slogdet(ops.square(A, "slogdet"))[0]
    return SlogdetResult(ops.made(A.detach(), sign), ops.LogAbsDet.apply(A))


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative."""
    sign = ops.made(input.detach(), np.linalg.slogdet(ops.square(input, "logdet"))[0])
    return arithmetic.masked_fill(ops.LogAbsDet.apply(input), sign < 0, math.nan)


# Factorizations


def qr(A: Tensor, mode: str = "reduced") -> QRResult:
    """A = Q @ R with orthonormal columns of Q and an upper triangle R.

    Args:
        A: Matrices, shape (..., m, n).
        mode: "reduced": Q has min(m, n) columns; "complete": m, of which those after the first n have no gradient; "r": R alone.

    Raises:
        ValueError: If mode is unknown.

    Example:
        >>> Q, R = torch.linalg.qr(torch.ones(4, 2))
        >>> Q.shape, R.shape
        (torch.Size([4, 2]), torch.Size([2, 2]))
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f'qr expected mode "reduced", "complete" or "r", got {mode!r}')
    ops.matrices(A, "qr")
    m, n = A.shape[-2:]
    packed = ops.QR.apply(A if m >= n else A[..., :m])
    q, r = packed[..., :m, :], shapes.transpose(packed[..., m:, :], -1, -2)
    if m < n:
        r = shapes.cat([r, shapes.transpose(q, -1, -2) @ A[..., m:]], -1)
    elif mode == "complete":
        q = ops.complete(q)
        r = shapes.cat([r, r.zeros((*A.shape[:-2], m - n, n))], -2) if m > n else r
    return QRResult(q.zeros((0,)) if mode == "r" else q, r)


def svd(A: Tensor, full_matrices: bool = True) -> SVDResult:
    """A = U @ diag(S) @ Vh with orthonormal columns of U and rows of Vh, and S in descending order.

    Args:
        A: Matrices, shape (..., m, n).
        full_matrices: Whether U and Vh are square. Columns after the first min(m, n) have no gradient.

    Example:
        >>> U, S, Vh = torch.linalg.svd(torch.ones(4, 2), full_matrices=False)
        >>> U.shape, S.shape, Vh.shape
        (torch.Size([4, 2]), torch.Size([2]), torch.Size([2, 2]))
    """
    u, s, v = _svd(A)
    if full_matrices:
        u, v = ops.complete(u), ops.complete(v)
    return SVDResult(u, s, shapes.transpose(v, -1, -2))


def _svd(A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V."""
    packed = ops.SVD.apply(A)
    m = A.shape[-2]
    return packed[..., :m, :], packed[..., m, :], packed[..., m + 1 :, :]


def svdvals(A: Tensor) -> Tensor:
    """The singular values in descending order."""
    return _svd(A)[1]


def eigh(A: Tensor, UPLO: str = "L") -> EighResult:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric matrices; of A one triangle is read."""
    packed = _eigh(A, UPLO)
    n = A.shape[-1]
    return EighResult(packed[..., n, :], packed[..., :n, :])


def _eigh(A: Tensor, UPLO: str) -> Tensor:
    """The packed result of `ops.Eigh`. Raises ValueError if UPLO is neither "L" nor "U"."""
    if UPLO not in ("L", "U"):
        raise ValueError(f'eigh expected UPLO "L" or "U", the triangle to read, got {UPLO!r}')
    ops.square(A, "eigh")
    return ops.Eigh.apply(A if UPLO == "L" else shapes.transpose(A, -1, -2))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order; see `eigh`.

    Example:
        >>> torch.linalg.eigvalsh(torch.diag(torch.tensor([3.0, 1.0, 2.0])))
        tensor([1., 2., 3.])
    """
    return _eigh(A, UPLO)[..., A.shape[-1], :]


# Solutions


def _tolerances(A: Tensor, atol: float | None, rtol: float | None) -> tuple[float, float]:
    """Up to which singular values count as 0, absolutely and relative to the largest: by default what rounding may leave."""
    if rtol is None:
        rtol = 0.0 if atol else max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)
    return atol or 0.0, rtol


def _refuse_hermitian(name: str, hermitian: bool) -> None:
    """Raise NotImplementedError if hermitian is set."""
    if hermitian:
        raise NotImplementedError(f"{name} supports hermitian=False only; leave it out: the result is the same")


def pinv(A: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse.

    Args:
        A: Matrices, shape (..., m, n).
        atol: Up to which singular values count as 0.
        rtol: The same, relative to the largest one.
        hermitian: False.

    Raises:
        NotImplementedError: If hermitian is set.
    """
    _refuse_hermitian("pinv", hermitian)
    ops.matrices(A, "pinv")
    return ops.PseudoInverse.apply(A, *_tolerances(A, atol, rtol))


def matrix_rank(
    A: Tensor, tol: float | None = None, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values that do not count as 0, as int64; for the arguments and the error see `pinv`.

    Example:
        >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    _refuse_hermitian("matrix_rank", hermitian)
    return _rank(A, *((tol, 0.0) if tol is not None else _tolerances(A, atol, rtol)))


def _rank(A: Tensor, atol: float, rtol: float) -> Tensor:
    s = np.linalg.svd(ops.matrices(A, "matrix_rank"), compute_uv=False)
    count = np.asarray((s > np.maximum(atol, rtol * s.max(-1, keepdims=True, initial=0))).sum(-1), int64)
    return A._like(TensorData(count.reshape(-1), count.shape))


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> LstsqResult:
    """The X of smallest norm for which ‖A @ X - B‖ is smallest, and what LAPACK's drivers return with it.

    Args:
        A: Matrices, shape (..., m, n).
        B: Right-hand sides, shape (..., m, k), or (..., m) for one of each.
        rcond: Relative to the largest singular value, up to which others count as 0.
        driver: "gelsy", the default: solution and rank. "gelsd" and "gelss": also the singular values, and the squared residuals
            if m > n and all matrices are of full rank. "gels", for matrices of full rank: solution and residuals. The others are empty.

    Raises:
        LinAlgError: If the driver is "gels" and a matrix is not of full rank.
        ValueError: If there is no such driver, or the shapes do not match.
    """
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError(f'lstsq expected driver "gels", "gelsy", "gelsd" or "gelss", got {driver!r}')
    *_, m, n = ops.matrices(A, "lstsq").shape
    is_vector = tuple(B.shape) == A.shape[:-1]
    if not is_vector and (B.dims != A.dims or B.shape[-2] != m):
        rows = ", ".join(map(str, A.shape[:-1]))
        raise ValueError(f"lstsq expected B of shape ({rows}), or ({rows}, k) for k right-hand sides of each matrix, got {tuple(B.shape)}")
    tolerances = _tolerances(A, None, rcond)
    b = B.unsqueeze(-1) if is_vector else B
    x = ops.PseudoInverse.apply(A, *tolerances) @ b
    rank = _rank(A, *tolerances)
    is_full = (rank._tensor.array() == min(m, n)).all()
    if driver == "gels" and not is_full:
        raise LinAlgError('lstsq with driver="gels" expected matrices of full rank; leave the driver out')
    empty = A.zeros((0,))
    residuals = reductions.sum(pointwise.square(A @ x - b), -2) if driver != "gelsy" and m > n and is_full else empty
    values = svdvals(A.detach()) if driver in ("gelsd", "gelss") else empty
    no_rank = A._like(TensorData(np.zeros(0, int64), (0,)))
    return LstsqResult(x.squeeze(-1) if is_vector else x, residuals, no_rank if driver == "gels" else rank, values)


# Products


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of n square matrices A; of the inverse for negative n.

    Raises:
        ValueError: If they are not square.

    Example:
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    if A.dims < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"matrix_power expected square matrices, got shape {A.shape}")
    if n < 0:
        A, n = ops.Inverse.apply(A), -n
    out = None
    while n:
        if n % 2:
            out = A if out is None else out @ A
        n //= 2
        A = A @ A if n else A
    return ops.made(A.detach(), np.broadcast_to(np.eye(A.shape[-1]), A.shape)) if out is None else out


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the order that takes the fewest multiplications; the first and the last may be vectors.

    Raises:
        ValueError: If there are fewer than two, or one has other dimensions.
    """
    given = list(tensors)
    dims = [x.dims for x in given]
    if len(given) < 2 or any(count != 2 for count in dims[1:-1]) or not {dims[0], dims[-1]} <= {1, 2}:
        found = [x.shape for x in given]
        raise ValueError(f"multi_dot expected two or more matrices, the first and last perhaps vectors, got shapes {found}")
    first, last = given[0].dims == 1, given[-1].dims == 1
    given[0] = given[0].unsqueeze(0) if first else given[0]
    given[-1] = given[-1].unsqueeze(1) if last else given[-1]
    best: dict[tuple[int, int], tuple[int, int]] = {}  # of the product from i to j the cost, and after which factor it is divided
    sizes = [given[0].shape[0], *(x.shape[1] for x in given)]
    for length in range(len(given)):
        for i in range(len(given) - length):
            j = i + length
            costs = [(best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            best[i, j] = min(costs, default=(0, i))

    def product(i: int, j: int) -> Tensor:
        return given[i] if i == j else products.matmul(product(i, best[i, j][1]), product(best[i, j][1] + 1, j))

    out = product(0, len(given) - 1)
    out = out.squeeze(0) if first else out
    return out.squeeze(-1) if last else out


# Norms


def largest_of(x: Tensor, largest: bool, dim: int) -> Tensor:
    """The largest or the smallest element along dim; the largest of none is 0."""
    return reductions.sum(x, dim) if largest and not x.shape[dim] else (reductions.amax if largest else reductions.amin)(x, dim)


def matrix_norm(A: Tensor, ord: float | str = "fro", dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """A norm of matrices in two dimensions.

    It is √Σx² for "fro", the sum of the singular values for "nuc", the largest for 2, the smallest for -2, the largest and smallest sum of
    |x| in a row for ±∞, and in a column for ±1.

    Raises:
        ValueError: If it is unknown.

    Example:
        >>> torch.linalg.matrix_norm(torch.tensor([[1.0, -2.0], [3.0, 4.0]]), ord=1)
        tensor(6.)
    """
    dim = shapes.sizes((dim,))
    if len(dim) != 2:
        raise ValueError(f"matrix_norm expected two dimensions, got {dim}")
    rows, columns = A._normalize_dims(dim)
    if ord == "fro":
        return reductions.norm(A, 2, (rows, columns), keepdim)
    if ord in (2, -2, "nuc"):
        s = _svd(shapes.movedim(A, (rows, columns), (-2, -1)))[1]
        out = reductions.sum(s, -1) if ord == "nuc" else largest_of(s, ord > 0, -1)
    elif ord in (1, -1, math.inf, -math.inf):
        summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reductions.sum(pointwise.abs(A), summed)
        out = largest_of(sums, ord > 0, other - (summed < other))
    else:
        raise ValueError(f'matrix_norm expected ord 1, -1, 2, -2, inf, -inf, "fro" or "nuc", got {ord!r}')
    if keepdim:
        for each in sorted((rows, columns)):
            out = out.unsqueeze(each)
    return out


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The norm (Σ|x|ᵒʳᵈ)^(1/ord) of all elements, or along dim; 0 counts those other than 0.

    Example:
        >>> torch.linalg.vector_norm(torch.tensor([[3.0, -4.0], [0.0, 2.0]]), ord=1, dim=1)
        tensor([7., 2.])
    """
    if ord == 0:
        return reductions.sum(arithmetic.ne(x, 0), dim, keepdim).to(x.dtype)
    return reductions.norm(x, ord, dim, keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Tensor:
    """`matrix_norm` if ord is given and there are two dimensions, in dim or of A; else `vector_norm`; without ord √Σx².

    Raises:
        ValueError: If ord is given without dim, and A has neither one dimension nor two.
    """
    if ord is None:
        return reductions.norm(A, 2, dim, keepdim)
    if dim is None and A.dims not in (1, 2):
        raise ValueError(f"norm expected one dimension or two, or dim, got shape {A.shape}")
    dims: Any = (-2, -1) if dim is None and A.dims == 2 else dim
    if isinstance(ord, str) or (isinstance(dims, Sequence) and len(dims) == 2):
        pair: Any = dims or (-2, -1)
        return matrix_norm(A, ord, pair, keepdim)
    return vector_norm(A, ord, dim, keepdim)
