"""Stage 4 - Convolution as the course has it: results as large as the input, kernels anchored at its first or last tap, compiled.

The functions `conv1d_kernel` and `conv2d_kernel` return kernels. What the reference's stand on stands in rooms of its own (`conv_loops`,
`conv_products`), which they import for themselves: in a workspace where a student writes them, these rooms are not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: F401 - for what students write here
from numba import prange as prange  # likewise, as the names marked so below

from minitorch.autodiff import Context
from minitorch.core.dtypes import compute_dtype, promote_to_float
from minitorch.fast_ops import Later, is_reference, ready
from minitorch.fast_ops import njit as njit
from minitorch.tensor_data import MAX_DIMS as MAX_DIMS
from minitorch.tensor_data import Shape as Shape
from minitorch.tensor_data import Storage as Storage
from minitorch.tensor_data import Strides as Strides
from minitorch.tensor_data import TensorData
from minitorch.tensor_data import index_to_position as index_to_position
from minitorch.tensor_data import to_index as to_index
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

ConvKernel = Callable[[Storage, Shape, Strides, int, Storage, Shape, Strides, Storage, Shape, Strides, bool], None]


# The kernels. A storage is given from the tensor's offset on, so that index 0 stands at position 0; shapes and strides are arrays.


def conv1d_kernel() -> ConvKernel:
    """The compiled kernel of the convolution along one dimension, in parallel.

    out[b, o, w] = Σ_c Σ_k input[b, c, w + k] · weight[o, c, k]; reversed, input[b, c, w - k]. Where w + k or w - k leads out of the input,
    there is nothing to add.

    * Shapes: out (batch, out_channels, out_width), input (batch, in_channels, width), weight (out_channels, in_channels, kernel_width).
      out may be narrower than the input, and the kernel wider than either.
    * The outer loop is a `prange`; every element of out is written once, whatever stood there.

    Returns:
        `njit(_tensor_conv1d, parallel=True)` of a function _tensor_conv1d(out, out_shape, out_strides, out_size, input, input_shape,
        input_strides, weight, weight_shape, weight_strides, reverse).
    """
    from minitorch.kernels.conv_matmul import Anchored

    return Anchored(1)


def conv2d_kernel() -> ConvKernel:
    """The compiled kernel of the convolution along two dimensions, in parallel.

    out[b, o, h, w] = Σ_c Σ_k Σ_l input[b, c, h + k, w + l] · weight[o, c, k, l]; reversed, input[b, c, h - k, w - l]. As `conv1d_kernel`,
    with a height before each width.

    Returns:
        `njit(_tensor_conv2d, parallel=True)` of a function _tensor_conv2d, called like _tensor_conv1d.
    """
    from minitorch.kernels.conv_matmul import Anchored

    return Anchored(2)


tensor_conv1d: Any = Later(conv1d_kernel)
"""The kernel of `Conv1dFun`."""

tensor_conv2d: Any = Later(conv2d_kernel)
"""The kernel of `Conv2dFun`."""


CONVOLUTIONS: dict[str, Callable[[Any, Any, tuple[int, ...], bool], Any]] = {}
"""What convolves tensors of a GPU, by the name of its operations, called as `convolved` is; the room of its kernels enters it here."""


# The functions, which are given: the kernel is all that they compute with


class Conv1dFun(Function):
    """The convolution along one dimension, anchored at the left: shapes (B, C, W) and (O, C, K) give (B, O, W)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """What stands in the window of K numbers that begins at w, times the weights; beyond the right edge are zeros."""
        check("conv1d", input, weight, 3)
        ctx.save_for_backward(input, weight)
        return convolved(tensor_conv1d, input, weight, (*input.shape[:1], *weight.shape[:1], *input.shape[2:]))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Both gradients are convolutions by the same kernel: of the gradient with the weights, and of the input with the gradient."""
        input, weight = ctx.saved_values
        return gradients(tensor_conv1d, grad_output, input, weight)


class Conv2dFun(Function):
    """The convolution along two dimensions, anchored top left: shapes (B, C, H, W) and (O, C, KH, KW) give (B, O, H, W)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """What stands in the window of KH × KW numbers that begins at (h, w), times the weights; beyond the edges are zeros."""
        check("conv2d", input, weight, 4)
        ctx.save_for_backward(input, weight)
        return convolved(tensor_conv2d, input, weight, (*input.shape[:1], *weight.shape[:1], *input.shape[2:]))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """As that of `Conv1dFun`."""
        input, weight = ctx.saved_values
        return gradients(tensor_conv2d, grad_output, input, weight)


def check(op: str, input: Tensor, weight: Tensor, dims: int) -> None:
    """That two tensors can be convolved.

    Raises:
        RuntimeError: If they lie on a GPU for which there is no kernel.
        ValueError: If they have another number of dimensions, or the channels differ.
    """
    sizes, kernel = (("W", "K"), ("H, W", "KH, KW"))[dims - 3]
    if input.backend.cuda and input.backend.name not in CONVOLUTIONS:
        raise RuntimeError(f'{op} expected tensors on the CPU, got them on {input.backend.name}; move them: x.to("cpu")')
    if input.dims != dims or weight.dims != dims:
        raise ValueError(
            f"{op} expected an input of shape (B, C, {sizes}) and a weight of shape (O, C, {kernel}), "
            f"got {input.shape} and {weight.shape}; view puts in a dimension of size 1"
        )
    channels = weight.shape[1]
    if input.shape[1] != channels:
        raise ValueError(
            f"{op} expected input with {channels} channels (weight {weight.shape}), got {input.shape[1]} (input {input.shape}); "
            f"pass input of shape (B, {channels}, {sizes}) or weight of shape (O, {input.shape[1]}, {kernel})"
        )


def convolved(kernel: Any, input: Tensor, weight: Tensor, shape: tuple[int, ...], reverse: bool = False) -> Tensor:
    """A new tensor of this shape, into which the kernel has written, or that of the tensors' device."""
    if input.backend.cuda:
        return CONVOLUTIONS[input.backend.name](input, weight, shape, reverse)
    if isinstance(kernel, Later):  # else a solution to the published course has put its own in this place
        kernel = kernel.kernel()
    dtype = promote_to_float(input.dtype, weight.dtype)
    inner = compute_dtype(dtype)
    input, weight = input.to(inner), weight.to(inner)
    out = input._like(TensorData.empty(shape, inner)) if is_reference(kernel) else input.zeros(shape)
    ready(kernel)(*out.tuple(), out.size, *input.tuple(), *weight.tuple(), reverse)
    return out.to(dtype)


def gradients(kernel: Any, grad_output: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Those of a convolution's input and weight; None for one that is not needed.

    * An element of the input goes into the results up to one kernel before it: its gradient is the convolution of theirs, reversed, in
      which the output channels are what is summed over.
    * A weight goes into every result, with the input that lies as far from it as the weight from the anchor: its gradient is the
      convolution of the input by the gradient of the result, in which the batch is what is summed over.
    """
    swap = (1, 0, *range(2, input.dims))
    by_input = by_weight = None
    if input.requires_grad:
        by_input = convolved(kernel, grad_output, weight.permute(*swap), input.shape, reverse=True)
    if weight.requires_grad:
        shape = (weight.shape[1], weight.shape[0], *weight.shape[2:])
        by_weight = convolved(kernel, input.permute(*swap), grad_output.permute(*swap), shape).permute(*swap)
    return by_input, by_weight


conv1d = Conv1dFun.apply
conv2d = Conv2dFun.apply
