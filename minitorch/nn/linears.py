"""Stage 7 - The linear layer, and bias followed by relu."""

from __future__ import annotations

import math
from typing import Any

from minitorch.autodiff import Context
from minitorch.core import recording
from minitorch.core.context import bilinear
from minitorch.kernels.activations import relu_back
from minitorch.kernels.loop import accepts, flat
from minitorch.kernels.losses import add_relu, bias_relu_backward
from minitorch.nn.init import init_uniformly
from minitorch.nn.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import check_tensor, positive_ints
from minitorch.tensor import Tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two
from minitorch.torch.placement import placement
from minitorch.torch.promotion import require_numbers, require_one_dtype


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.t() + bias.

    Args:
        input: Shape (…, in_features).
        weight: Shape (out_features, in_features), one row per output, as in PyTorch.
        bias: Shape (out_features,), or None.

    Returns:
        Shape (…, out_features).

    Raises:
        TypeError: If input is not a Tensor, or the dtypes differ.
        ValueError: If the shapes do not match.
    """
    size, sizes = check_tensor("linear", input, "input")._tensor.shape, weight._tensor.shape
    if len(sizes) != 2 or not size or size[-1] != sizes[1]:
        raise ValueError(
            f"linear expected input of shape (…, in_features) and weight of shape (out_features, in_features), got {input.shape} and "
            f"{weight.shape}; the last size of both must be the same"
        )
    if bias is not None and bias._tensor.shape != sizes[:1]:
        raise ValueError(f"linear expected bias of shape {weight.shape[:1]} for weight of shape {weight.shape}, got {bias.shape}")
    require_one_dtype("linear", require_numbers("linear", input), weight, bias)
    # flatten the batch dimensions, so that one matrix product is enough
    rows = input if len(size) == 2 else input.reshape(math.prod(size[:-1]), size[-1])
    out = Affine.apply(rows, weight, bias)
    return out if len(size) == 2 else out.view(*size[:-1], sizes[0])


class Affine(Function):
    """rows @ weight.t() + bias for matrices of the same dtype."""

    @staticmethod
    def forward(ctx: Context, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, weight)
        out = rows.f.matrix_multiply(rows, transpose_last_two(weight))
        return out if bias is None else rows.f.add_zip(out, bias, out)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_values
        product = grad_output.f.matrix_multiply
        grad_rows = product(grad_output, weight) if rows.requires_grad else None
        grad_weight = product(transpose_last_two(grad_output), rows) if weight.requires_grad else None
        return grad_rows, grad_weight, grad_output  # autograd sums the last one to the shape of bias

    @staticmethod
    def composed(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The same function composed of differentiable tensor operations."""
        out = rows @ weight.permute(1, 0)
        return out if bias is None else out + bias


bilinear.add(Affine)


def bias_relu(input: Tensor, bias: Tensor) -> Tensor:
    """relu(input + bias) in one pass; on the compiled backend the backward pass is fused, too.

    Args:
        input: Any shape.
        bias: Must broadcast to the shape of input, such as (C,) for (N, C), or (C, 1, 1) for (B, C, H, W).

    Returns:
        Shape of input.

    Raises:
        ValueError: If bias does not broadcast to the shape of input.
    """
    given, own = bias.shape, input.shape
    if len(given) > len(own) or any(size not in (1, other) for size, other in zip(reversed(given), reversed(own), strict=False)):
        raise ValueError(
            f"bias_relu expected a bias that broadcasts to the shape of input, {own}, got {given}; insert dimensions of size 1 with view"
        )
    return BiasReLU.apply(input, bias)


class BiasReLU(Function):
    """relu(a + b)."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, b: Tensor) -> Tensor:
        y = a.f.zip(add_relu)(a, b)
        ctx.save_for_backward(y, b.shape)  # y > 0 exactly where a + b > 0
        return y

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        y, shape = ctx.saved_values
        if not (accepts(y) and y.dims and shape == y.shape[-1:] and y.dtype == grad_output.dtype):
            grad = y.f.zip(relu_back)(y, grad_output)
            return grad, grad  # autograd sums the second one to the shape of b
        grad, grad_bias = TensorData.empty(y.shape, y.dtype), recording.zeros(shape, y.dtype)
        columns = shape[0]
        recording.call(bias_relu_backward(), grad._storage, grad_bias, flat(y), flat(grad_output), y.numel() // max(columns, 1), columns)
        return y._like(grad), y._like(TensorData(grad_bias, shape))


class Linear(Module):
    """Linear layer x @ weight.t() + bias.

    Args:
        in_features: Number of input features.
        out_features: Number of output features.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √in_features.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        TypeError: If a size is not an integer.
        ValueError: If a size is negative.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        shape = positive_ints((out_features, in_features), "Linear", "out_features and in_features", minimum=0)
        self.out_features, self.in_features = shape
        place = placement(device, dtype)
        self.weight = Parameter(zeros(shape, **place))
        self.bias = Parameter(zeros(shape[:1], **place)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        init_uniformly(self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations per weight and row; adding the bias replaces one addition of the product."""
        return 2 * output.numel() * self.weight.shape[1]

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (…, in_features) to (…, out_features)."""
        return linear(input, self.weight, self.bias)


class NonDynamicallyQuantizableLinear(Linear):
    """The linear layer at the end of attention, under PyTorch's name for it."""
