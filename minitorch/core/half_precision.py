"""Stage 5 - Narrow numbers: float16 and bfloat16, int8, int16 and uint8.

A half (float16 or bfloat16) is a way to keep a number, not to compute with one: every operation widens what it is given to float32,
computes as ever, and rounds the result once, to the nearest half, of two equally near to the even one. Kernels never see a half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.core import backend as tensor_backend
from minitorch.core import dtypes
from minitorch.core.backend import check_out
from minitorch.core.dlpack import borrow_bfloat16, lend_bfloat16
from minitorch.core.dtypes import cast_array, compute_dtype, is_half, promote_to_float
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

float16 = np.dtype(np.float16)
int16 = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)


@cache
def load_bfloat16() -> np.dtype:
    """The dtype of the package ml_dtypes, which is imported when it is first asked for.

    Raises:
        ImportError: If that is not installed.
    """
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        raise ImportError("bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes") from None
    return np.dtype(bfloat16)


if TYPE_CHECKING:
    bfloat16: np.dtype
else:

    def __getattr__(name: str) -> Any:
        if name != "bfloat16":
            raise AttributeError(f"minitorch has no {name}")
        return dtypes.as_dtype(name)


def _ready(load: Callable[[], np.dtype]) -> np.dtype:
    """A half, from now on looked out for by all operations."""
    dtype = load()
    tensor_backend.halves = _Halves
    return dtype


dtypes.EXTRA_DTYPES.update(
    float16=partial(_ready, lambda: float16),
    bfloat16=partial(_ready, load_bfloat16),
    int16=lambda: int16,
    int8=lambda: int8,
    uint8=lambda: uint8,
)


class _Halves:
    """What the operations of a backend ask when one of their tensors may hold halves."""

    @staticmethod
    def among(*tensors: Tensor | None) -> bool:
        """Whether one of them holds halves."""
        return any(x is not None and is_half(x._tensor.dtype) for x in tensors)

    @staticmethod
    def computed(
        operation: Callable[..., Tensor], result: Callable[..., np.dtype], operands: Sequence[Tensor], out: Tensor | None = None
    ) -> Tensor:
        """An operation on widened operands, its result rounded once.

        Args:
            operation: From tensors without halves to one.
            result: From their dtypes to that of the result; it is asked for what the halves make.
            operands: The tensors.
            out: Where the result is written; None for a new tensor.
        """
        answer = operation(*[widen(x) for x in operands])
        if out is None:
            return round_to(answer, result(*[x.dtype for x in operands]))
        check_out(out, answer.shape)._tensor.array()[...] = cast_array(answer._tensor.array(), out.dtype)
        return out

    lend = staticmethod(lend_bfloat16)
    borrow = staticmethod(borrow_bfloat16)

    @staticmethod
    def quotient(a: Tensor, b: Tensor) -> Tensor:
        """a / b, where one of them holds halves."""
        return Div.apply(a, b)


def widen(x: Tensor) -> Tensor:
    """Halves as float32, without a history; all others as they are."""
    return round_to(x, compute_dtype(x.dtype))


def round_to(x: Tensor, dtype: np.dtype) -> Tensor:
    """A tensor as another dtype, without a history, rounded once; itself if it has that dtype."""
    if x.dtype is dtype:
        return x
    data = TensorData.empty(x.shape, dtype)
    data._storage[:] = cast_array(x._tensor.array(), dtype).reshape(-1)
    return x._like(data)


class Div(Function):
    """a / b, in one division: 1 / b, which the course's division goes by, often leaves the range of float16, or its precision."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        """The quotient of widened numbers, rounded once."""
        ctx.save_for_backward(a, b)
        return a.f.zip(div, promote_to_float)(a, b)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """In float32: g / b and -(g / b) · (a / b), so that no square of b is needed."""
        a, b = ctx.saved_values
        if not grad_output.requires_grad:  # else a gradient of the gradient is wanted, too
            a, b = a.detach(), b.detach()
        share = grad_output.to(compute_dtype(grad_output.dtype)) / b.to(compute_dtype(b.dtype))
        by_a = share if ctx.needs_input_grad[0] else None
        by_b = -share * (a / b).to(share.dtype) if ctx.needs_input_grad[1] else None
        return by_a, by_b


def div(x: float, y: float) -> float:
    """x / y."""
    return x / y
