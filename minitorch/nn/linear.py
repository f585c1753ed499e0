"""Stage 5 - Linear functions with a bias, and relu behind one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minitorch.autodiff import Context
from minitorch.nn.fused import bias_relu_back, bias_then_relu, fusible
from minitorch.nn.loops import flat
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.t() + bias.

    Args:
        input: Shape (…, in_features).
        weight: Shape (out_features, in_features), as the field stores it: a row for each output.
        bias: Shape (out_features,); None for none.

    Returns:
        Shape (…, out_features).

    Raises:
        ValueError: If the shapes do not fit.
    """
    if weight.dims != 2 or not input.dims or input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear expected input of shape (…, in_features) and weight of shape (out_features, in_features), got {input.shape} and "
            f"{weight.shape}; the last size of both must be the same"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"linear expected bias of shape {weight.shape[:1]} for weight of shape {weight.shape}, got {bias.shape}")
    # one product of matrices, not one for each batch
    rows = input if input.dims == 2 else input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    out = rows @ weight.permute(1, 0)
    out = out if bias is None else out + bias
    return out if input.dims == 2 else out.view(*input.shape[:-1], weight.shape[0])


def bias_relu(input: Tensor, bias: Tensor) -> Tensor:
    """relu(input + bias), in one pass forward, and on the compiled backend in one pass backward.

    Args:
        input: Of any shape.
        bias: A shape that broadcasts to that of input, such as (C,) for (N, C), or (C, 1, 1) for (B, C, H, W).

    Returns:
        Shape of input.

    Raises:
        ValueError: If bias does not broadcast to the shape of input.
    """
    given, own = bias.shape, input.shape
    if len(given) > len(own) or any(size not in (1, other) for size, other in zip(reversed(given), reversed(own), strict=False)):
        raise ValueError(f"bias_relu expected a bias that broadcasts to the shape of input, {own}, got {given}; view puts in a 1")
    return BiasReLU.apply(input, bias)


class BiasReLU(Function):
    """relu(a + b)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        y = a.f.zip(bias_then_relu)(a, b)
        ctx.save_for_backward(y, b.shape)  # positive where the sum was
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        y, shape = ctx.saved_values
        if not (fusible(y) and y.dims and shape == y.shape[-1:] and y.dtype == grad_output.dtype):
            grad = y.f.relu_back_zip(y, grad_output)
            return grad, grad  # who asks for that of b sums it over what was repeated
        grad, grad_bias = TensorData.empty(y.shape, y.dtype), np.zeros(shape, y.dtype)
        columns = shape[0]
        bias_relu_back()(grad._storage, grad_bias, flat(y), flat(grad_output), y.size // max(columns, 1), columns)
        return y._like(grad), y._like(TensorData(grad_bias, shape))
