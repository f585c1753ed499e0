"""Stage 7 - Small classic networks: multilayer perceptrons and LeNet-5."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from minitorch.nn.activations import ReLU
from minitorch.nn.containers import Sequential
from minitorch.nn.convolution import Conv2d
from minitorch.nn.layers import Flatten
from minitorch.nn.linears import Linear
from minitorch.nn.module import Module
from minitorch.nn.pooling import MaxPool2d

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def mlp(sizes: Sequence[int], activation: Callable[[], Module] = ReLU, device: Any = None, dtype: Any = None) -> Sequential:
    """Make a multilayer perceptron: linear layers with activations in between, from shape (N, sizes[0]) to (N, sizes[-1]).

    Args:
        sizes: Sizes of the input, of every hidden layer and of the output.
        activation: Class of the activation.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Raises:
        TypeError: If sizes is not a list of integers, or activation does not make a Module.
        ValueError: If there are fewer than two sizes, or a size is less than 1.
    """
    if not hasattr(sizes, "__len__"):
        raise TypeError(f"mlp expected a list of sizes, got {sizes!r}; try mlp([784, 100, 10])")
    if isinstance(activation, Module) or not callable(activation):
        raise TypeError(f"mlp expected the class of an activation, such as ReLU, got {activation!r}")
    if len(sizes) < 2:
        raise ValueError(f"mlp expected sizes of an input and an output at least, got {tuple(sizes)}; try mlp([784, 100, 10])")
    layers: list[Module] = []
    for in_features, out_features in itertools.pairwise(sizes):
        layers += [Linear(in_features, out_features, device=device, dtype=dtype), activation()]
    return Sequential(*layers[:-1])


def lenet(num_classes: int = 10, in_channels: int = 1, device: Any = None, dtype: Any = None) -> Sequential:
    """Make LeNet-5 with ReLU and max pooling, from images of shape (N, in_channels, 28, 28) to logits of shape (N, num_classes).

    Args:
        num_classes: Number of classes.
        in_channels: Channels of the images.
        device: Where the weights are stored.
        dtype: Dtype of the weights; None for the default dtype.

    Source: LeCun et al. 1998, Proceedings of the IEEE 86, section II.B.
    """
    on = {"device": device, "dtype": dtype}
    return Sequential(
        *(Conv2d(in_channels, 6, 5, padding=2, **on), ReLU(), MaxPool2d(2)),
        *(Conv2d(6, 16, 5, **on), ReLU(), MaxPool2d(2)),
        *(Flatten(), Linear(16 * 5 * 5, 120, **on), ReLU(), Linear(120, 84, **on), ReLU(), Linear(84, num_classes, **on)),
    )
