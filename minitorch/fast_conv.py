"""Stage 4 - The course's convolutions: outputs as large as the input, compiled by numba.

`_tensor_conv1d` and `_tensor_conv2d` are the textbook solutions of Tasks 4.1 and 4.2. Optimized kernels are in
`kernels/`; `convolve` is the place where they are preferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from minitorch.autodiff import Context
from minitorch.core.dtypes import compute_dtype, promote_to_float
from minitorch.core.kernel import find_kernel
from minitorch.fast_ops import FastOps, arrays, njit
from minitorch.kernels.jit import launch
from minitorch.tensor_data import MAX_DIMS, Shape, Storage, Strides, TensorData, index_to_position, to_index
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


# The textbook kernels. A storage begins with the tensor's first element: index (0, 0, …) is at position 0. Shapes and strides are arrays.


def _tensor_conv1d(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    out_size: int,
    input: Storage,
    input_shape: Shape,
    input_strides: Strides,
    weight: Storage,
    weight_shape: Shape,
    weight_strides: Strides,
    reverse: bool,
) -> None:
    """The convolution along one dimension, in parallel.

    out[b, o, w] = Σ_c Σ_k input[b, c, w + k] · weight[o, c, k]; if reverse, input[b, c, w - k]. Terms whose position w + k or w - k is
    outside the input are 0.

    * Shapes: out (batch, out_channels, out_width), input (batch, in_channels, width), weight (out_channels, in_channels, kernel_width).
      out may be narrower than the input, and the kernel wider than either.
    * The outer loop is a `prange`; every element of out is written once, whatever its value was.
    """
    for i in prange(out_size):
        index = np.empty(MAX_DIMS, np.int32)
        to_index(i, out_shape, index)
        b, o, w = index[0], index[1], index[2]
        total = 0.0
        for c in range(weight_shape[1]):
            for k in range(weight_shape[2]):
                x = w - k if reverse else w + k
                if 0 <= x < input_shape[2]:
                    value = input[b * input_strides[0] + c * input_strides[1] + x * input_strides[2]]
                    total += value * weight[o * weight_strides[0] + c * weight_strides[1] + k * weight_strides[2]]
        out[index_to_position(index, out_strides)] = total


def _tensor_conv2d(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    out_size: int,
    input: Storage,
    input_shape: Shape,
    input_strides: Strides,
    weight: Storage,
    weight_shape: Shape,
    weight_strides: Strides,
    reverse: bool,
) -> None:
    """The convolution along two dimensions, in parallel.

    out[b, o, h, w] = Σ_c Σ_j Σ_k input[b, c, h + j, w + k] · weight[o, c, j, k]; if reverse, input[b, c, h - j, w - k]. As
    `_tensor_conv1d`, with a height before each width.
    """
    for i in prange(out_size):
        index = np.empty(MAX_DIMS, np.int32)
        to_index(i, out_shape, index)
        b, o, h, w = index[0], index[1], index[2], index[3]
        total = 0.0
        for c in range(weight_shape[1]):
            for j in range(weight_shape[2]):
                y = h - j if reverse else h + j
                for k in range(weight_shape[3]):
                    x = w - k if reverse else w + k
                    if 0 <= y < input_shape[2] and 0 <= x < input_shape[3]:
                        value = input[b * input_strides[0] + c * input_strides[1] + y * input_strides[2] + x * input_strides[3]]
                        weight_at = o * weight_strides[0] + c * weight_strides[1] + j * weight_strides[2] + k * weight_strides[3]
                        total += value * weight[weight_at]
        out[index_to_position(index, out_strides)] = total


tensor_conv1d: Any = njit(_tensor_conv1d, parallel=True)
"""`_tensor_conv1d`, compiled at its first call."""

tensor_conv2d: Any = njit(_tensor_conv2d, parallel=True)
"""`_tensor_conv2d`, compiled at its first call."""


# The functions (given): the kernels compute everything


class Conv1dFun(Function):
    """The convolution along one dimension, anchored at the left: shapes (B, C, W) and (O, C, K) give (B, O, W)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """The sum of products of the weights and the K elements from position w on; zeros past the right edge."""
        check("conv1d", input, weight, 3)
        ctx.save_for_backward(input, weight)
        return convolve("conv1d", input, weight, (*input.shape[:1], *weight.shape[:1], *input.shape[2:]))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Both gradients are convolutions by the same kernel: of the gradient with the weights, and of the input with the gradient."""
        input, weight = ctx.saved_values
        return gradients("conv1d", grad_output, input, weight)


class Conv2dFun(Function):
    """The convolution along two dimensions, anchored top left: shapes (B, C, H, W) and (O, C, KH, KW) give (B, O, H, W)."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """The sum of products of the weights and the KH × KW elements from (h, w) on; zeros past the edges."""
        check("conv2d", input, weight, 4)
        ctx.save_for_backward(input, weight)
        return convolve("conv2d", input, weight, (*input.shape[:1], *weight.shape[:1], *input.shape[2:]))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """See `Conv1dFun.backward`."""
        input, weight = ctx.saved_values
        return gradients("conv2d", grad_output, input, weight)


def check(op: str, input: Tensor, weight: Tensor, dims: int) -> None:
    """Raise an error if two tensors cannot be convolved.

    Raises:
        RuntimeError: If they are on a GPU for which there is no kernel.
        ValueError: If the number of dimensions is wrong, or the channels differ.
    """
    sizes, kernel = (("W", "K"), ("H, W", "KH, KW"))[dims - 3]
    if input.backend.cuda and find_kernel(op, input.backend.ops) is None:
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


def convolve(op: str, input: Tensor, weight: Tensor, shape: tuple[int, ...], reverse: bool = False) -> Tensor:
    """The convolution ("conv1d" or "conv2d") of input and weight, as a new tensor of this shape."""
    dtype = promote_to_float(input.dtype, weight.dtype)
    inner = compute_dtype(dtype)
    x, w = input.to(inner), weight.to(inner)
    kernel = find_kernel(op, input.backend.ops if input.backend.cuda else FastOps)  # all CPU backends share the compiled kernels
    if kernel:
        out = x._like(x.backend.ops.zeros(shape, inner) if x.backend.cuda else TensorData.empty(shape, inner))
        kernel(out._tensor, x._tensor, w._tensor, reverse)
    else:
        out = x.zeros(shape)
        textbook = tensor_conv1d if op == "conv1d" else tensor_conv2d
        launch(textbook, *arrays(out._tensor), out._tensor.size, *arrays(x._tensor), *arrays(w._tensor), reverse)
    return out.to(dtype)


def gradients(op: str, grad_output: Tensor, input: Tensor, weight: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of a convolution with respect to input and weight; None where none is needed.

    * An element of the input contributes to the outputs up to one kernel before it. Its gradient is the convolution of grad_output with
      the weight, reversed, summed over the output channels.
    * A weight contributes to every output, with the input at a fixed distance from it. Its gradient is the convolution of the input with
      grad_output, summed over the batch.
    """
    swap = (1, 0, *range(2, input.dims))
    grad_input = grad_weight = None
    if input.requires_grad:
        grad_input = convolve(op, grad_output, weight.permute(*swap), input.shape, reverse=True)
    if weight.requires_grad:
        shape = (weight.shape[1], weight.shape[0], *weight.shape[2:])
        grad_weight = convolve(op, input.permute(*swap), grad_output.permute(*swap), shape).permute(*swap)
    return grad_input, grad_weight


conv1d = Conv1dFun.apply
conv2d = Conv2dFun.apply
