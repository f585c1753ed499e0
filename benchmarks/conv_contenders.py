"""What `benchmarks.conv` measures in each library: convolutions of images with 3 × 3 kernels, ours, PyTorch's and the textbook kernel.

As a program, this is the process of one library; see `benchmarks.contenders`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np

from benchmarks.contenders import Run, work


def arrays(name: str) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray]:
    """Whether a row includes the backward pass, and its images, weights and gradient of the result.

    Args:
        name: Operation, batch, input channels, output channels and size of the images, as in "forward 16 1 4 28".
    """
    way, *numbers = name.split()
    batch, channels, out, size = map(int, numbers)
    random = np.random.default_rng(0)
    shapes = (batch, channels, size, size), (out, channels, 3, 3), (batch, out, size, size)
    images, weights, gradient = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    return way == "both", images, weights, gradient


def of_minitorch(name: str) -> Run:
    """A row in our library."""
    from minitorch import FastBackend, from_numpy
    from minitorch.nn.convolution import conv2d

    backward, *given = arrays(name)
    images, weights, gradient = (from_numpy(array, backend=FastBackend) for array in given)
    if not backward:
        return lambda: conv2d(images, weights, padding=1)
    images.requires_grad_()
    weights.requires_grad_()

    def both() -> None:
        conv2d(images, weights, padding=1).backward(gradient)
        images.grad = weights.grad = None

    return both


def of_torch(name: str) -> Run:
    """A row in PyTorch."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    backward, *given = arrays(name)
    images, weights, gradient = map(torch.from_numpy, given)
    if not backward:
        return lambda: torch.nn.functional.conv2d(images, weights, padding=1)
    images.requires_grad_()
    weights.requires_grad_()

    def both() -> None:
        torch.nn.functional.conv2d(images, weights, padding=1).backward(gradient)
        images.grad = weights.grad = None

    return both


def of_textbook(name: str) -> Run:
    """A row with the textbook kernel of `minitorch.fast_conv`, whose window begins at its position: as much work as a centered one."""
    from minitorch.fast_conv import tensor_conv2d

    backward, images, weights, gradient = arrays(name)
    swap = (1, 0, 2, 3)

    def convolve(a: np.ndarray, weight: np.ndarray, out: np.ndarray, reverse: bool = False) -> np.ndarray:
        parts = [
            x for array in (a, weight) for x in (memory(array), np.array(array.shape, np.int32), np.array(array.strides, np.int32) // 4)
        ]
        tensor_conv2d(out.reshape(-1), np.array(out.shape, np.int32), np.array(out.strides, np.int32) // 4, out.size, *parts, reverse)
        return out

    def forward() -> np.ndarray:
        return convolve(images, weights, np.empty_like(gradient))

    def both() -> None:
        forward()
        convolve(gradient, weights.transpose(swap), np.empty_like(images), reverse=True)
        convolve(images.transpose(swap), gradient.transpose(swap), np.empty_like(weights.transpose(swap), order="C"))

    return both if backward else forward


def memory(array: np.ndarray) -> np.ndarray:
    """Return the elements of an array, which may be permuted, in memory order."""
    return array.ravel(order="K")


LIBRARIES: dict[str, Callable[[str], Run]] = {"minitorch": of_minitorch, "torch": of_torch, "textbook": of_textbook}


if __name__ == "__main__":
    work(LIBRARIES[sys.argv[1]])
