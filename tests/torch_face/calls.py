"""A valid call of every function of minitorch/torch/names.py, as data: what changes.py varies."""

import math
from typing import Any, NamedTuple

import numpy as np

from minitorch.torch import names

LAYOUTS = ("contiguous", "transposed", "stepped", "expanded", "offset")


class Numbers(NamedTuple):
    """A tensor of an argument: its shape, and what numbers it holds.

    Attributes:
        shape: The shape.
        kind: "float", "integer", "bool", "unit" for numbers from 0 to 1, "matrix" for diagonally dominant symmetric
            matrices, "sorted", or "pivots".
        high: The integers are below it.
        dtype: The dtype; float32 and int64 if left out.
        layout: How it lies in memory.
    """

    shape: tuple[int, ...]
    kind: str = "float"
    high: int = 3
    dtype: str = ""
    layout: str = "contiguous"

    def values(self, seed: int) -> np.ndarray:
        """The numbers, the same for the same seed."""
        random, count = np.random.default_rng(seed), math.prod(self.shape)
        if self.kind == "integer":
            found = random.integers(0, self.high, self.shape)
        elif self.kind == "pivots":
            found = np.broadcast_to(np.arange(1, self.shape[-1] + 1) if self.shape else np.asarray(1), self.shape).copy()
        elif self.kind == "bool":
            found = random.random(self.shape) < 0.5
        elif self.kind == "unit":
            found = random.permutation(np.linspace(0.05, 0.95, count)).reshape(self.shape)
        elif self.kind == "sorted":
            found = np.sort(random.standard_normal(self.shape)) if self.shape else np.asarray(0.5)
        else:
            found = random.permutation(np.linspace(-2.17, 2.31, count)).reshape(self.shape)
            if self.kind == "matrix" and len(self.shape) > 1 and self.shape[-1] == self.shape[-2]:
                found = found + np.swapaxes(found, -1, -2) + 9 * np.eye(self.shape[-1]) + np.diag(np.arange(self.shape[-1]))
        return np.asarray(found).astype(self.dtype or {"integer": "int64", "bool": "bool"}.get(self.kind, "float32"))

    def on(self, lib: Any, seed: int) -> Any:
        """The tensor of a library."""
        found = self.values(seed)
        if not self.shape or self.layout == "contiguous":
            return lib.tensor(found)
        if self.layout == "transposed":
            return lib.tensor(np.ascontiguousarray(found.T)).permute(tuple(range(found.ndim))[::-1])
        if self.layout == "stepped":
            return lib.tensor(np.repeat(found, 2, -1))[..., ::2]
        if self.layout == "expanded":
            return lib.tensor(np.ascontiguousarray(found[:1])).expand(self.shape) if self.shape[0] else lib.tensor(found)
        return lib.tensor(np.concatenate([found[:1], found]))[min(1, self.shape[0]) :]


def F(*shape: int) -> Numbers:
    """Floating-point numbers."""
    return Numbers(shape)


def U(*shape: int) -> Numbers:
    """Numbers from 0 to 1."""
    return Numbers(shape, "unit")


def M(*shape: int) -> Numbers:
    """Matrices of full rank."""
    return Numbers(shape, "matrix")


def S(*shape: int) -> Numbers:
    """Sorted numbers."""
    return Numbers(shape, "sorted")


def I(*shape: int, high: int = 3) -> Numbers:  # noqa: E743
    """Integers from 0 on."""
    return Numbers(shape, "integer", high)


def P(*shape: int) -> Numbers:
    """Rows that are exchanged with themselves, as the pivots of an LU factorization."""
    return Numbers(shape, "pivots", dtype="int32")


def B(*shape: int) -> Numbers:
    """Truth values."""
    return Numbers(shape, "bool")


def arguments(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call."""
    return args, kwargs


def each(names: str, call: str) -> dict[str, str]:
    """The same calls for several functions."""
    return dict.fromkeys(names.split(), call)


ONE = "F(3, 4)"
UNIT = "U(3, 4)"
TWO = "F(3, 4), F(3, 4)"
ALONG = "F(3, 4), 1 ; F(3, 4), dim=0, keepdim=True"
ALL = "F(3, 4) ; F(3, 4), 1 ; F(3, 4), (0, 1) ; F(3, 4), dim=-1, keepdim=True"
PICK = "F(3, 4) ; F(3, 4), 1 ; F(3, 4), dim=0, keepdim=True"
INTEGERS = "I(3, 4), I(3, 4) ; I(3, 4), 2"

CALLS: dict[str, str] = {
    **each(
        """add sub mul maximum minimum eq ne lt le gt ge isclose allclose equal atan2 copysign hypot logaddexp
        fmod""",
        TWO,
    ),
    **each("logical_and logical_or logical_xor nextafter remainder", TWO),
    "xlogy": "F(3, 4), U(3, 4)",
    "div": TWO + " ; F(3, 4), F(3, 4), rounding_mode='floor' ; F(3, 4), F(3, 4), rounding_mode='trunc' ; F(3, 4), 2",
    "floor_divide": TWO,
    "pow": "F(3, 4), 2 ; U(3, 4), F(3, 4)",
    **each("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift", INTEGERS),
    "bitwise_not": "I(3, 4)",
    "masked_fill": "F(3, 4), B(3, 4), 2.0 ; F(3, 4), B(4), F()",
    "nan_to_num": ONE + " ; F(3, 4), 1.0, 2.0, -2.0",
    "clamp_min": "F(3, 4), 0.5 ; F(3, 4), U(4)",
    "clamp_max": "F(3, 4), 0.5 ; F(3, 4), U(3, 1)",
    "clamp": "F(3, 4), -1, 1 ; F(3, 4), U(4) ; F(3, 4), None, U(3, 1) ; F(3, 4), max=0.5",
    "lerp": "F(3, 4), F(3, 4), 0.25 ; F(3, 4), F(3, 4), F(3, 4)",
    "addcmul": "F(3, 4), F(3, 4), F(4) ; F(3, 4), F(3, 4), F(3, 4), value=0.5",
    "addcdiv": "F(3, 4), F(3, 4), U(4) ; F(3, 4), F(3, 4), U(3, 4), value=0.5",
    **each(
        "exp sin cos tanh sigmoid reciprocal tan atan sinh cosh erf expm1 asinh erfc neg logical_not exp2 sinc lgamma digamma i0",
        ONE,
    ),
    **each(
        "floor ceil trunc abs square sign frac relu isnan isinf isfinite signbit deg2rad rad2deg",
        ONE,
    ),
    **each("log sqrt log1p log2 log10 rsqrt asin acos atanh erfinv", UNIT),
    "polygamma": "1, U(3, 4) ; 2, U(3, 4)",
    "acosh": "M(3, 3)",
    "logit": "U(3, 4) ; U(3, 4), 0.1",
    "round": ONE + " ; F(3, 4), decimals=1",
    **each("softmax log_softmax", "F(3, 4), 1 ; F(2, 3, 4), 0 ; F(3, 4), dim=-1"),
    **each("sum mean all any amax amin nansum nanmean count_nonzero", ALL),
    "count_nonzero": "F(3, 4) ; F(3, 4), 1 ; F(3, 4), (0, 1)",
    "prod": PICK,
    **each("argmax argmin max min median nanmedian", PICK),
    **each("var std var_mean std_mean", ALL + " ; F(3, 4), 1, correction=0 ; F(3, 4), unbiased=False"),
    "logsumexp": "F(3, 4), 1 ; F(3, 4), (0, 1) ; F(3, 4), dim=-1, keepdim=True",
    "norm": "F(3, 4) ; F(3, 4), 1, 1 ; F(3, 4), 3, (0, 1) ; F(3, 4), float('inf'), -1, True",
    **each("cumsum cumprod logcumsumexp cummax cummin", "F(3, 4), 1 ; F(3, 4), dim=0"),
    "unique": "I(3, 4) ; I(3, 4), return_inverse=True, return_counts=True",
    "bincount": "I(5) ; I(5), F(5) ; I(5), minlength=6",
    "aminmax": "F(3, 4) ; F(3, 4), dim=1, keepdim=True",
    "diff": "F(3, 4) ; F(3, 4), 2, 0 ; F(3, 4), prepend=F(3, 1)",
    **each("quantile nanquantile", "F(3, 4), 0.3 ; F(3, 4), U(2), 1 ; F(3, 4), 0.5, 0, True, interpolation='lower'"),
    "histc": "F(3, 4), 5 ; F(3, 4), 4, -1, 1",
    "cov": "F(3, 4) ; F(3, 4), correction=0",
    "corrcoef": ONE,
    "trapezoid": "F(3, 4) ; F(3, 4), F(4) ; F(3, 4), dx=0.5, dim=0",
    "unflatten": "F(3, 4), 1, (2, 2) ; F(3, 4), -1, (2, -1)",
    "movedim": "F(2, 3, 4), 0, 2 ; F(2, 3, 4), (0, 1), (1, 2)",
    "transpose": "F(2, 3, 4), 0, 1",
    "t": ONE,
    "squeeze": "F(1, 3, 1) ; F(1, 3, 1), 0 ; F(1, 3, 1), (0, 2)",
    "tile": "F(3, 4), (2, 1) ; F(3, 4), (2,)",
    "repeat_interleave": "F(3, 4), 2 ; F(3, 4), 2, 1 ; F(3, 4), I(4), 1",
    "split": "F(3, 4), 2 ; F(3, 4), 3, 1 ; F(3, 4), [1, 3], 1",
    "chunk": "F(3, 4), 2 ; F(3, 4), 3, 1",
    "unbind": "F(3, 4) ; F(3, 4), 1",
    "narrow": "F(3, 4), 0, 1, 2 ; F(3, 4), 1, -2, 1",
    "flip": "F(3, 4), (0, 1) ; F(3, 4), (-1,)",
    "roll": "F(3, 4), 1 ; F(3, 4), 5, 1 ; F(3, 4), (1, -1), (0, 1)",
    **each("tril triu", "F(3, 4) ; F(2, 3, 4), 1"),
    "diagonal": "F(3, 4) ; F(2, 3, 4), 1, 0, 2",
    "diag": "F(3, 4) ; F(3) ; F(3), -1",
    "rot90": "F(3, 4) ; F(2, 3, 4), 3, (1, 2)",
    **each("fliplr flipud ravel argwhere", ONE),
    "tensor_split": "F(3, 4), 2 ; F(3, 4), (1, 2), 1",
    "hsplit": "F(3, 4), 2 ; F(3, 4), (1, 2)",
    "vsplit": "F(4, 3), 2 ; F(4, 3), (1, 2)",
    "dsplit": "F(2, 3, 4), 2 ; F(2, 3, 4), (1, 2)",
    "diagflat": "F(2, 2) ; F(2, 2), 1",
    "diag_embed": "F(3, 4) ; F(3, 4), 1, 0, 2",
    "gather": "F(3, 4), 1, I(3, 2) ; F(3, 4), 0, I(2, 4)",
    "take_along_dim": "F(3, 4), I(3, 1), 1 ; F(3, 4), I(5)",
    "scatter": "F(3, 4), 0, I(2, 4), F(3, 4) ; F(3, 4), 1, I(3, 1), 2.0",
    "scatter_add": "F(3, 4), 1, I(3, 2), F(3, 4)",
    "scatter_reduce": "F(3, 4), 1, I(3, 2), F(3, 4), 'sum' ; F(3, 4), 0, I(2, 4), F(3, 4), 'mean', include_self=False ; "
    "F(3, 4), 1, I(3, 4), F(3, 4), 'amax' ; F(3, 4), 0, I(3, 4), F(3, 4), 'amin', include_self=False ; "
    "I(3, 4), 1, I(3, 4), I(3, 4), 'prod'",
    "index_put": "F(3, 4), [I(2), I(2)], F(2) ; F(3, 4), [I(5)], F(4), True ; F(3, 4), [B(3, 4)], F()",
    "index_select": "F(3, 4), 1, I(2)",
    "index_add": "F(3, 4), 1, I(2), F(3, 2) ; F(3, 4), 0, I(2), F(2, 4), alpha=2",
    "index_fill": "F(3, 4), 1, I(2), 2.0 ; F(3, 4), 0, I(2), F()",
    "index_copy": "F(3, 4), 1, I(1), F(3, 1)",
    "masked_select": "F(3, 4), B(3, 4) ; F(3, 4), B(4)",
    "nonzero": "F(3, 4) ; F(3, 4), as_tuple=True",
    "select": "F(3, 4), 0, 1 ; F(3, 4), 1, -1",
    "isin": "I(3, 4), I(2) ; I(3, 4), 1",
    "bucketize": "F(3, 4), S(3) ; F(3, 4), S(3), right=True",
    "searchsorted": "S(4), F(3, 2) ; S(3, 4), F(3, 2), right=True ; S(4), F(3), side='right' ; S(4), 0.5",
    "argsort": "F(3, 4) ; F(3, 4), 0, True",
    "sort": "F(3, 4) ; F(3, 4), 0, True",
    "topk": "F(3, 4), 2 ; F(3, 4), 2, 0, False",
    "kthvalue": "F(3, 4), 2 ; F(3, 4), 1, 0, True",
    "matmul": "F(3, 4), F(4, 2) ; F(2, 3, 4), F(4) ; F(4), F(4) ; F(2, 3, 4), F(2, 4, 2)",
    "mm": "F(3, 4), F(4, 2)",
    "bmm": "F(2, 3, 4), F(2, 4, 2)",
    "mv": "F(3, 4), F(4)",
    "dot": "F(4), F(4)",
    "outer": "F(3), F(4)",
    "addmm": "F(3, 2), F(3, 4), F(4, 2) ; F(2), F(3, 4), F(4, 2), beta=0.5, alpha=2",
    "addmv": "F(3), F(3, 4), F(4) ; F(), F(3, 4), F(4), beta=0",
    "addr": "F(3, 4), F(3), F(4) ; F(4), F(3), F(4), beta=0.5",
    "baddbmm": "F(2, 3, 2), F(2, 3, 4), F(2, 4, 2) ; F(2), F(2, 3, 4), F(2, 4, 2), alpha=2",
    "addbmm": "F(3, 2), F(2, 3, 4), F(2, 4, 2)",
    "inner": "F(3, 4), F(2, 4) ; F(4), F(4)",
    "kron": "F(3, 2), F(2, 2)",
    "cross": "F(3, 4), F(3, 4), 0 ; F(4, 3), F(4, 3), dim=1",
    "dist": TWO + " ; F(3, 4), F(3, 4), 1",
    "trace": ONE,
    "cholesky": "M(3, 3) ; M(2, 3, 3)",
    **each("det slogdet logdet", "M(3, 3) ; M(2, 3, 3)"),
    "matrix_power": "M(3, 3), 2 ; M(2, 3, 3), -1 ; M(3, 3), 0",
    "qr": "F(4, 3) ; F(2, 3, 4)",
    "where": "B(3, 4), F(3, 4), F(3, 4) ; B(3, 4), F(4), 0.0 ; B(3, 4)",
    "reshape": "F(3, 4), (2, 6) ; F(3, 4), (-1,)",
    "flatten": "F(2, 3, 4) ; F(2, 3, 4), 1 ; F(2, 3, 4), 0, 1",
    "permute": "F(2, 3, 4), (2, 0, 1)",
    "unsqueeze": "F(3, 4), 1 ; F(3, 4), -1",
    "cat": "[F(3, 4), F(2, 4)] ; [F(3, 4), F(3, 2)], 1 ; [F(0), F(3, 4)]",
    "stack": "[F(3, 4), F(3, 4)] ; [F(3, 4), F(3, 4)], 2",
    **each("vstack dstack", "[F(3, 4), F(3, 4)] ; [F(4), F(4)]"),
    **each("hstack column_stack", "[F(3, 4), F(3, 2)] ; [F(4), F(4)]"),
    "meshgrid": "F(3), F(2), indexing='ij' ; F(3), F(2), indexing='xy'",
    "broadcast_tensors": "F(3, 1), F(4)",
    "cartesian_prod": "F(3), F(2)",
    "combinations": "F(4) ; F(4), 3, True",
    "block_diag": "F(2, 3), F(1, 2) ; F(2), F()",
    "einsum": "'ij,jk->ik', F(3, 4), F(4, 2) ; 'bij,bjk->bik', F(2, 3, 4), F(2, 4, 2) ; 'ii', F(3, 3) ; "
    "'...i,i', F(2, 3), F(3) ; 'i,j', F(2), F(3)",
    "cdist": "F(3, 4), F(2, 4) ; F(2, 3, 4), F(2, 2, 4), 1.0",
    "tensordot": "F(3, 4), F(4, 2), 1 ; F(3, 4), F(4, 3), ([0, 1], [1, 0])",
    "svd": "F(3, 4) ; F(4, 3)",
    **each("lu linalg.lu_factor", "M(3, 3) ; F(2, 4, 3)"),
    "linalg.matmul": "F(3, 4), F(4, 2)",
    "lu_solve": "F(3, 2), M(3, 3), P(3)",
    "lu_unpack": "M(3, 3), P(3)",
    **each("matrix_exp linalg.matrix_exp", "U(3, 3) ; U(2, 3, 3)"),
    "triangular_solve": "F(3, 2), M(3, 3) ; F(3, 2), M(3, 3), False, True, True",
    "cholesky_inverse": "M(3, 3) ; M(3, 3), True",
    "chain_matmul": "F(3, 4), F(4, 2), F(2, 3)",
    "cholesky_solve": "F(3, 2), M(3, 3) ; F(3, 2), M(3, 3), True",
    "tensor": "[1, 2] ; [[1.0], [2.0]] ; 3.5 ; F(3)",
    "as_tensor": "[1, 2] ; F(3)",
    "from_numpy": "np.arange(3.0)",
    "zeros": "3, 4 ; (3, 4)",
    "ones": "3, 4 ; (3, 4)",
    "empty": "3, 4",
    "full": "(3, 4), 2.0 ; (2,), True",
    **each("zeros_like ones_like empty_like rand_like randn_like", ONE),
    "full_like": "F(3, 4), 2",
    "arange": "5 ; 1, 5 ; 0, 1, 0.25 ; 5, 0, -2",
    "linspace": "0, 1, 5 ; 0, 1, steps=1",
    "logspace": "0, 1, 5 ; 0, 3, 4, 2.0",
    "eye": "3 ; 3, 4",
    **each("tril_indices triu_indices", "3, 4 ; 3, 4, 1"),
    **each("rand randn", "3, 4 ; (3, 4)"),
    "randint": "5, (3, 4) ; 2, 5, (3,)",
    "randint_like": "F(3, 4), 5 ; F(3, 4), 2, 5",
    "randperm": "5",
    "normal": "0.0, 1.0, (3, 4) ; F(3, 4), U(3, 4) ; F(3, 4), 1.0",
    "bernoulli": UNIT,
    "multinomial": "U(4), 2 ; U(3, 4), 5, True",
    "view": "F(3, 4), (2, 6) ; F(3, 4), -1",
    "expand": "F(3, 1), 3, 4 ; F(3, 1), (2, -1, 4)",
    "repeat": "F(3, 4), 2, 1 ; F(3, 4), (2, 1, 1)",
    "unfold": "F(3, 4), 1, 2, 1",
    "new_zeros": "F(3), 2, 2",
    "new_ones": "F(3), (2, 2)",
    "new_empty": "F(3), (2, 2)",
    "new_full": "F(3), (2, 2), 1.5",
    "new_tensor": "F(3), [1, 2]",
    "linalg.cholesky": "M(3, 3)",
    "linalg.inv": "M(3, 3) ; M(2, 3, 3)",
    "linalg.solve": "M(3, 3), F(3, 2) ; M(3, 3), F(3) ; M(2, 3, 3), F(2, 3, 2)",
    "linalg.solve_triangular": "M(3, 3), F(3, 2), upper=True ; M(3, 3), F(2, 3), upper=False, left=False",
    "linalg.vecdot": "F(3, 4), F(3, 4) ; F(3, 4), F(3, 4), dim=0",
    "linalg.det": "M(3, 3)",
    "linalg.slogdet": "M(3, 3)",
    "linalg.qr": "F(4, 3) ; F(3, 4), 'r' ; F(4, 3), 'complete'",
    "linalg.svd": "F(3, 4) ; F(4, 3), False",
    "linalg.svdvals": "F(3, 4)",
    **each("linalg.eigh linalg.eigvalsh", "M(3, 3) ; M(3, 3), 'U'"),
    "linalg.lstsq": "F(4, 3), F(4, 2)",
    "linalg.pinv": "F(4, 3) ; F(4, 3), rtol=0.01",
    "linalg.matrix_rank": "F(4, 3) ; M(3, 3), rtol=0.01",
    "linalg.matrix_power": "M(3, 3), 2",
    "linalg.multi_dot": "[F(3, 4), F(4, 2)] ; [F(3), F(3, 2), F(2)]",
    "linalg.norm": "F(3, 4) ; F(3, 4), 2 ; F(3, 4), 1, 0 ; F(3, 4), 'fro'",
    "linalg.vector_norm": "F(3, 4) ; F(3, 4), 1, 0 ; F(3, 4), 0 ; F(3, 4), 3.5, (0, 1), True",
    "linalg.matrix_norm": "F(3, 4) ; F(3, 4), 1 ; F(3, 4), 'nuc' ; F(2, 3, 4), -2, (0, 2), True",
}
"""Valid calls of each function, divided by semicolons."""


def functions() -> list[str]:
    """The names of all functions."""
    plain = [name for table in (names.BOTH, names.FUNCTIONS, names.METHODS) for words in table.values() for name in words.split()]
    return plain + [f"linalg.{name}" for words in names.LINALG.values() for name in words.split()]
