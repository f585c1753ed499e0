"""Stage 6 - Views in another shape of tensors that are not contiguous."""

from __future__ import annotations

from typing import Any

from minitorch.core.tensor_base import Tensor
from minitorch.tensor_functions import Function


class StridedView(Function):
    """The same memory in another shape, if strides can express it.

    Raises:
        RuntimeError: If they cannot.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        ctx.save_for_backward(a.shape)
        data = a._tensor
        array = data.array().view()
        try:
            array.shape = shape
        except AttributeError:
            raise RuntimeError(
                f"view expected a shape that fits the strides {data.strides} of shape {a.shape}, got {shape}; use reshape, which copies"
            ) from None
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return a._like(data.as_view(shape, strides, data.offset))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (shape,) = ctx.saved_values
        return grad_output.reshape(*shape)
