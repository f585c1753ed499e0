"""Stage 2 - Half precision: float16 and bfloat16 are stored in 16 bits and computed in float32.

Every operation widens its operands to float32, computes, and rounds the result once, to the nearest half-precision number (ties to
even). Kernels never see half precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from minitorch.core.dtypes import cast_into, compute_dtype, float32, is_half
from minitorch.core.recording import call as call_kernel
from minitorch.core.tensor_base import Tensor
from minitorch.tensor_data import TensorData

Method = TypeVar("Method", bound=Callable[..., Any])


def compute_widened(
    operation: Callable[..., Tensor], result: Callable[..., np.dtype], operands: Sequence[Tensor], out: Tensor | None = None
) -> Tensor:
    """Apply an operation to widened operands and round its result once.

    Args:
        operation: Takes and returns tensors that are not in half precision.
        result: Maps the dtypes of the operands to that of the result.
        operands: The tensors.
        out: The tensor that the result is written to; None for a new one.
    """
    computed = operation(*[widen(x) for x in operands])
    if out is None:
        return round_to(computed, result(*[x.dtype for x in operands]))
    call_kernel(cast_into, out._tensor.array(), computed._tensor.array())
    return out


def widen(x: Tensor) -> Tensor:
    """A half-precision tensor as float32, without a history; any other tensor as it is."""
    return round_to(x, compute_dtype(x.dtype))


def round_to(x: Tensor, dtype: np.dtype) -> Tensor:
    """A tensor in another dtype, without a history, rounded once; the tensor itself if it has that dtype."""
    if x.dtype is dtype:
        return x
    data = TensorData.empty(x.shape, dtype)
    call_kernel(cast_into, data._storage, x._tensor.array())
    return x._like(data)


def compute_in_float32(method: Method) -> Method:
    """Decorator of a function of a tensor: in half precision, compute in float32 and round the result once.

    A sum may overflow where the mean does not.
    """

    @wraps(method)
    def call(x: Tensor, *args: Any, **options: Any) -> Tensor:
        if not is_half(x.dtype):
            return method(x, *args, **options)
        return method(x.to(float32), *args, **options).to(x.dtype)

    return cast("Method", call)
