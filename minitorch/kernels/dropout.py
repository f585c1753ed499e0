"""Stage 4 - What softmax and dropout do to each element: the exact logarithm, and zeros under a mask."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minitorch.autodiff import Context
from minitorch.core.dtypes import promote_to_float
from minitorch.core.math_functions import mask_select
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class Ln(Function):
    """ln a, exactly: `Tensor.log` is that of a + EPS."""

    @staticmethod
    def forward(ctx: Context, a: Tensor) -> Tensor:
        ctx.save_for_backward(a)
        return a.f.map(ln, promote_to_float)(a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        (a,) = ctx.saved_values
        return grad_output / a


def ln(x: float) -> float:
    """ln x, for x above 0."""
    return math.log(x)


class Keep(Function):
    """a where a mask is true, 0 elsewhere, be a infinite or NaN there."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return mask_select(mask, a)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_values
        return mask_select(mask, grad_output), None
