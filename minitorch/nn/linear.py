"""Stage 5 - Linear functions with a bias, relu behind one, and the layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.autodiff import Context
from minitorch.kernels.activations import relu_back
from minitorch.kernels.losses import bias_relu_back, bias_then_relu, fusible
from minitorch.kernels.pool import flat
from minitorch.nn.init import kaiming_uniform_
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import check_tensor, positive_ints
from minitorch.tensor import zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
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
        TypeError: If input is no Tensor.
        ValueError: If the shapes do not fit.
    """
    if weight.dims != 2 or not check_tensor("linear", input, "input").dims or input.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"linear expected input of shape (…, in_features) and weight of shape (out_features, in_features), got {input.shape} and "
            f"{weight.shape}; the last size of both must be the same"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"linear expected bias of shape {weight.shape[:1]} for weight of shape {weight.shape}, got {bias.shape}")
    # one product of matrices, not one for each batch
    rows = input if input.dims == 2 else input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    alike = rows.dtype == weight.dtype and (bias is None or bias.dtype == rows.dtype)
    out = (Affine.apply if alike else Affine.composed)(rows, weight, bias)
    return out if input.dims == 2 else out.view(*input.shape[:-1], weight.shape[0])


class Affine(Function):
    """rows @ weight.t() + bias, of matrices of one dtype."""

    @staticmethod
    def forward(ctx: Context, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        out = rows.f.matrix_multiply(rows, transpose_last_two(weight))
        return out if bias is None else rows.f.add_zip(out, bias, out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_values
        product = grad_output.f.matrix_multiply
        by_rows = product(grad_output, weight) if rows.requires_grad else None
        by_weight = product(transpose_last_two(grad_output), rows) if weight.requires_grad else None
        return by_rows, by_weight, grad_output  # who asks for that of bias sums it over the rows

    @staticmethod
    def composed(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same of other functions."""
        out = rows @ weight.permute(1, 0)
        return out if bias is None else out + bias


def bias_relu(input: Tensor, bias: Tensor) -> Tensor:
    """`relu` of input + bias, in one pass forward, and on the compiled backend in one pass backward.

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
            grad = y.f.zip(relu_back)(y, grad_output)
            return grad, grad  # who asks for that of b sums it over what was repeated
        grad, grad_bias = TensorData.empty(y.shape, y.dtype), np.zeros(shape, y.dtype)
        columns = shape[0]
        bias_relu_back()(grad._storage, grad_bias, flat(y), flat(grad_output), y.size // max(columns, 1), columns)
        return y._like(grad), y._like(TensorData(grad_bias, shape))


class Linear(Module):
    """`linear`, x @ weight.t() + bias.

    Args:
        in_features: Size of the last dimension of what comes in.
        out_features: Size of the last dimension of what goes out.
        bias: Whether there is one; it begins as zeros, the weight as `init.kaiming_uniform_`.

    Raises:
        TypeError: If a size is not whole.
        ValueError: If one is less than 1.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, backend: TensorBackend = SimpleBackend, dtype: Any = None
    ) -> None:
        super().__init__()
        shape = positive_ints((out_features, in_features), "Linear", "out_features and in_features")
        self.weight = Parameter(zeros(shape, backend, dtype=dtype))
        kaiming_uniform_(self.weight)
        self.bias = Parameter(zeros(shape[:1], backend, dtype=dtype)) if bias else None

    def extra_repr(self) -> str:
        """Its sizes."""
        out_features, in_features = self.weight.value.shape
        return f"in_features={in_features}, out_features={out_features}, bias={self.bias is not None}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two for each weight and row; the sum with the bias is that with the first product."""
        return 2 * output.size * self.weight.value.shape[1]

    def forward(self, input: Tensor) -> Tensor:
        """From shape (…, in_features) to (…, out_features)."""
        return linear(input, self.weight.value, self.bias and self.bias.value)
