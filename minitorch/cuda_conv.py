"""Stage 4 - Convolution on the GPU: the kernels of conv1d and conv2d, with one thread per element of out.

They are the textbook solutions of Task 4.4b. The optimized kernels in `kernels/cuda/conv.py` compute several output channels in a thread.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from minitorch.core.kernel import register_kernel
from minitorch.kernels.cuda.device import SIMULATED, blocks_for, cuda, jit, launch

CONV_BLOCK = 8 if SIMULATED else 128
"""Threads per block."""


def _tensor_conv1d(
    out: Any,
    out_shape: Any,
    out_strides: Any,
    out_size: int,
    input: Any,
    input_shape: Any,
    input_strides: Any,
    weight: Any,
    weight_shape: Any,
    weight_strides: Any,
    reverse: bool,
) -> None:
    """The kernel of the 1-D convolution: out[b, o, w] = Σ_c Σ_k input[b, c, w + k] · weight[o, c, k].

    It is launched with blocks of CONV_BLOCK threads and at least one thread per element of out. out may be shorter than the input.
    The input is 0 past its right edge. With reverse the term is input[b, c, w - k], which is 0 past the left edge.

    Args:
        out: Storage of out, with shape (B, O, W), strides and the number of its elements.
        input: Storage of the input, with shape (B, C, W of the input) and strides.
        weight: Storage of the weights, with shape (O, C, K) and strides.
        reverse: Whether the window extends to the left.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < out_size:
        w = i % out_shape[2]
        o = i // out_shape[2] % out_shape[1]
        b = i // out_shape[2] // out_shape[1]
        total = 0.0
        for c in range(weight_shape[1]):
            for k in range(weight_shape[2]):
                x = w - k if reverse else w + k
                if 0 <= x < input_shape[2]:
                    value = input[b * input_strides[0] + c * input_strides[1] + x * input_strides[2]]
                    total += value * weight[o * weight_strides[0] + c * weight_strides[1] + k * weight_strides[2]]
        out[b * out_strides[0] + o * out_strides[1] + w * out_strides[2]] = total


def _tensor_conv2d(
    out: Any,
    out_shape: Any,
    out_strides: Any,
    out_size: int,
    input: Any,
    input_shape: Any,
    input_strides: Any,
    weight: Any,
    weight_shape: Any,
    weight_strides: Any,
    reverse: bool,
) -> None:
    """The kernel of the 2-D convolution, like `_tensor_conv1d`.

    out[b, o, h, w] = Σ_c Σ_j Σ_k input[b, c, h + j, w + k] · weight[o, c, j, k]; with reverse h - j and w - k.

    Args:
        out: Storage of out, with shape (B, O, H, W), strides and the number of its elements.
        input: Storage of the input, with shape (B, C, H and W of the input) and strides.
        weight: Storage of the weights, with shape (O, C, KH, KW) and strides.
        reverse: Whether the window extends up and to the left.
    """
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < out_size:
        w = i % out_shape[3]
        h = i // out_shape[3] % out_shape[2]
        o = i // out_shape[3] // out_shape[2] % out_shape[1]
        b = i // out_shape[3] // out_shape[2] // out_shape[1]
        total = 0.0
        for c in range(weight_shape[1]):
            for j in range(weight_shape[2]):
                y = h - j if reverse else h + j
                for k in range(weight_shape[3]):
                    x = w - k if reverse else w + k
                    if 0 <= y < input_shape[2] and 0 <= x < input_shape[3]:
                        p = b * input_strides[0] + c * input_strides[1] + y * input_strides[2] + x * input_strides[3]
                        q = o * weight_strides[0] + c * weight_strides[1] + j * weight_strides[2] + k * weight_strides[3]
                        total += input[p] * weight[q]
        out[b * out_strides[0] + o * out_strides[1] + h * out_strides[2] + w * out_strides[3]] = total


def textbook_conv(out: Any, input: Any, weight: Any, reverse: bool) -> None:
    """Write the 1-D or 2-D convolution into out with the kernels above; all data is on the GPU, shapes as in `fast_conv`."""
    if out.size:
        kernel = _compiled(_tensor_conv1d if len(out.shape) == 3 else _tensor_conv2d)
        target = out.target(), out.shape, out.strides, out.size
        launch(kernel, blocks_for(out.size, CONV_BLOCK), CONV_BLOCK, *target, *input.tuple(), *weight.tuple(), reverse)


@cache
def _compiled(kernel: Any) -> Any:
    """The kernel, compiled at its first launch."""
    return jit(kernel)


for op in ("conv1d", "conv2d"):
    register_kernel(op, "cuda", textbook_conv, textbook=True)
