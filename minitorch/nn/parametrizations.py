"""Stage 7 - Weights that are normalized or orthogonal by construction, as parametrizations; see `minitorch.nn.parametrize`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch.core.context import no_grad
from minitorch.core.creation import cat, eye, randn
from minitorch.core.dtypes import convert_array
from minitorch.nn.module import Module
from minitorch.nn.parametrize import register_parametrization
from minitorch.nn.reparametrization import _norm
from minitorch.tensor import generator, tensor
from minitorch.torch.products import solve
from minitorch.torch.tensor import as_torch


def _tensor_of(module: Any, name: str) -> Any:
    """A parameter or buffer of a module. Raises ValueError if there is none."""
    if name not in module._parameters and name not in module._buffers and "parametrizations" not in module._modules:
        raise ValueError(f"{type(module).__name__} has no parameter or buffer {name!r}; it has {', '.join(module._parameters) or 'none'}")
    return getattr(module, name)


# Weight normalization


class _WeightNorm(Module):
    """g · v / ‖v‖; see `weight_norm`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = None if dim == -1 else dim  # as PyTorch reads it

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """The weight, in the shape of weight_v."""
        return weight_v * (weight_g / _norm(weight_v, self.dim))

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """Norms and direction of a weight of any shape."""
        return _norm(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Compute a parameter of its norms, `original0`, and its direction, `original1`.

    Args:
        module: The module, which is changed and returned.
        name: Name of the parameter, of any shape.
        dim: The dimension that keeps its size in the norms; None or -1 for a single norm.

    It reads the state dicts of modules with the older `torch.nn.utils.weight_norm`, too.

    Raises:
        ValueError: If the module has no such parameter.

    Source: Salimans and Kingma 2016, arXiv:1602.07868, eq. 2.
    """
    _tensor_of(module, name)

    def rename(module: Any, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        old, new = [f"{prefix}{name}_{part}" for part in "gv"], [f"{prefix}parametrizations.{name}.original{i}" for i in range(2)]
        if all(each in state_dict for each in old):
            state_dict.update({after: state_dict.pop(before) for before, after in zip(old, new, strict=True)})

    module.register_load_state_dict_pre_hook(rename)
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


# Spectral normalization


class _SpectralNorm(Module):
    """A weight divided by its largest singular value; see `spectral_norm`."""

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations < 1:
            raise ValueError(f"spectral_norm expected n_power_iterations of at least 1, got {n_power_iterations}")
        self.n_power_iterations, self.eps, self.dim = n_power_iterations, eps, dim % max(weight.dim(), 1)
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, self._unit(as_torch(randn((size,), weight.backend, dtype=weight.dtype))))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        """The weight as a matrix whose rows are the outputs."""
        return weight.transpose(0, self.dim).flatten(1) if self.dim == 1 and weight.dim() == 2 else weight.movedim(self.dim, 0).flatten(1)

    def _unit(self, x: Any) -> Any:
        """A vector of length 1."""
        return x / max(x.norm().item(), self.eps)

    def _iterate(self, matrix: Any, steps: int) -> None:
        """Improve the singular vectors by power iterations."""
        with no_grad():
            for _ in range(steps):
                self._u = self._unit(matrix @ self._v)
                self._v = self._unit(matrix.mT @ self._u)

    def forward(self, weight: Any) -> Any:
        """The divided weight, same shape; in training mode after further power iterations. A vector is divided by its length."""
        if weight.dim() < 2:
            return weight / weight.norm().clamp(min=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / (self._u @ (matrix @ self._v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself, of any shape: one whose largest singular value is 1 is not changed."""
        return value


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """Divide a parameter by its largest singular value, which power iterations estimate whenever it is read in training mode.

    Args:
        module: The module, which is changed and returned.
        name: Name of the parameter, of any shape.
        n_power_iterations: Iterations each time.
        eps: Smallest length of a vector before it is divided by its length.
        dim: The dimension of the outputs; 0, but 1 for transposed convolutions.

    Raises:
        ValueError: If the module has no such parameter, or n_power_iterations is less than 1.

    Source: Miyato et al. 2018, arXiv:1802.05957, algorithm 1.
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = int(type(module).__name__.startswith("ConvTranspose"))
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


# Orthogonal matrices

ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if it is wide; see `orthogonal`."""

    def __init__(self, shape: tuple[int, ...], orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map, self.use_trivialization = shape, orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix of a matrix of any numbers, same shape."""
        wide = X.shape[-2] < X.shape[-1]
        X = X.mT if wide else X
        Q = householder(X) if self.orthogonal_map == "householder" else self._of_skew_symmetric(X)
        Q = self.base @ Q if self.use_trivialization else Q
        return Q.mT if wide else Q

    def _of_skew_symmetric(self, X: Any) -> Any:
        """The first columns of the orthogonal matrix of a skew-symmetric one, whose first columns X determines; the same shape as X."""
        n, k = X.shape[-2:]
        X = X.tril()
        X = X if n == k else as_torch(cat([X, X.zeros((*X.shape[:-1], n - k))], -1))
        A, unit = X - X.mT, as_torch(eye(n, X.backend, dtype=X.dtype))
        Q = matrix_exp(A) if self.orthogonal_map == "matrix_exp" else solve(unit - A * 0.5, unit + A * 0.5)
        return Q[..., :k]

    def right_inverse(self, value: Any) -> Any:
        """The numbers of which forward computes an orthogonal matrix of the layer's shape; of the nearest by its columns if it is not one.

        Raises:
            ValueError: If the shape is another.
            NotImplementedError: If orthogonal_map has no inverse and there is no base.
        """
        if tuple(value.shape) != self.shape:
            raise ValueError(f"orthogonal expected a value of shape {self.shape}, got {tuple(value.shape)}")
        wide = self.shape[-2] < self.shape[-1]
        Q = value.detach().to_numpy().astype(np.float64)
        Q = np.swapaxes(Q, -1, -2) if wide else Q
        if self.use_trivialization:
            self.base = _as(_complete(Q), value)
            X = -np.broadcast_to(np.eye(*Q.shape[-2:]), Q.shape)  # whose Householder product is the identity
        elif self.orthogonal_map == "householder":
            X = reflectors(Q)
        else:
            raise NotImplementedError(
                f"orthogonal cannot assign to a matrix that {self.orthogonal_map} computes without a base; pass use_trivialization=True"
            )
        return _as(np.swapaxes(X, -1, -2) if wide else X, value)


def _as(values: np.ndarray, x: Any) -> Any:
    """Numbers as a tensor on the device of another, of the same dtype."""
    return as_torch(tensor(convert_array(np.ascontiguousarray(values), x.dtype, "a matrix"), x.backend, dtype=x.dtype))


def _complete(Q: np.ndarray) -> np.ndarray:
    """Square orthogonal matrices (…, n, n) whose first columns are those of Q, shape (…, n, k), as far as they are orthonormal."""
    n, k = Q.shape[-2:]
    full, R = np.linalg.qr(np.concatenate([Q, generator.standard_normal((*Q.shape[:-1], n - k))], -1))
    signs = np.sign(np.diagonal(R, axis1=-2, axis2=-1))
    return full * np.where(signs == 0, 1.0, signs)[..., None, :]


def matrix_exp(A: Any) -> Any:
    """The exponential of square matrices, shape (…, n, n): the Taylor series of A / 2ˢ, squared s times."""
    largest = float(np.abs(A.detach().to_numpy()).sum(-2).max(initial=0.0))
    squarings = max(0, math.ceil(math.log2(largest)) + 1) if largest else 0
    unit = as_torch(eye(A.shape[-1], A.backend, dtype=A.dtype))
    scaled, out = A * 0.5**squarings, unit
    for degree in range(18, 0, -1):  # norms of at most 1/2: what is left out is below rounding
        out = unit + (scaled @ out) * (1 / degree)
    for _ in range(squarings):
        out = out @ out
    return out


def householder(X: Any) -> Any:
    """The first columns of a product of reflections, times the diagonal of X, which holds ±1.

    Args:
        X: Shape (…, n, k); the columns below the diagonal are the reflected vectors, which have 1 on the diagonal.

    Returns:
        Orthonormal columns, shape (…, n, k).
    """
    n, k = X.shape[-2:]
    columns = as_torch(eye(n, X.backend, dtype=X.dtype))[:, :k]
    vectors = X.tril(-1) + columns
    Q = columns
    for i in range(k - 1, -1, -1):
        v = vectors[..., i : i + 1]
        Q = Q - v @ (v.mT @ Q) * (2 / (v.mT @ v))
    return Q * X.detach().diagonal(0, -2, -1).unsqueeze(-2)


def reflectors(Q: np.ndarray) -> np.ndarray:
    """The inverse of `householder`, for orthonormal columns, shape (…, n, k)."""
    R, out = Q.copy(), np.zeros_like(Q)
    for i in range(Q.shape[-1]):
        x = R[..., i:, i]
        first, rest = x[..., :1], np.linalg.norm(x[..., 1:], axis=-1, keepdims=True)
        length = -np.where(first < 0, -1.0, 1.0) * np.hypot(first, rest)
        vector = np.concatenate([np.ones_like(first), x[..., 1:] / (first - length)], -1)[..., None]
        out[..., i:, i] = vector[..., 0]
        out[..., i, i] = np.sign(length)[..., 0]
        block = R[..., i:, :]
        R[..., i:, :] = block - vector @ (np.swapaxes(vector, -1, -2) @ block) * (2 / (np.swapaxes(vector, -1, -2) @ vector))
    return out


def orthogonal(module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True) -> Any:
    """Compute a parameter so that its columns, or its rows if it is wide, are orthonormal.

    Args:
        module: The module, which is changed and returned.
        name: Name of the parameter, shape (…, rows, columns).
        orthogonal_map: "matrix_exp", the exponential of a skew-symmetric matrix; "cayley", (1 - A / 2)⁻¹ (1 + A / 2) of one; or
            "householder", a product of reflections. The first for square matrices if left out, and the last for others.
        use_trivialization: Whether the result is multiplied with a constant matrix, its buffer `base`, so that any orthogonal matrix can be
            assigned.

    Raises:
        ValueError: If the module has no such parameter, it has less than two dimensions, or orthogonal_map is unknown.

    Source: Lezcano-Casado and Martínez-Rubio 2019, arXiv:1901.08428; Lezcano-Casado 2019, arXiv:1909.09501, section 4.
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(f"orthogonal expected a parameter of shape (…, rows, columns), got {tuple(weight.shape)}")
    square = weight.shape[-2] == weight.shape[-1]
    orthogonal_map = orthogonal_map or ("matrix_exp" if square else "householder")
    if orthogonal_map not in ORTHOGONAL_MAPS:
        raise ValueError(f"orthogonal expected orthogonal_map {', '.join(ORTHOGONAL_MAPS)}, got {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(tuple(weight.shape), orthogonal_map, use_trivialization), unsafe=True)
