"""Stage 5 - Batch normalization: every channel brought to mean 0 and variance 1 over a batch, or, in evaluation, as batches were before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.creation import ones
from minitorch.kernels.losses import fusible
from minitorch.nn.module import Module, Parameter
from minitorch.nn.norm_functions import PlaneNorm, Planes, fits_loops
from minitorch.nn.normalization import check_fits, check_input
from minitorch.nn.sizes import at_least_1
from minitorch.tensor import tensor, zeros
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend
    from minitorch.tensor import Tensor


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Every channel less its mean, divided by its standard deviation: in training those of the batch, else the running ones.

    Args:
        input: Shape (N, C) or (N, C, …).
        running_mean: Mean of each channel in earlier batches, shape (C,); training writes into it. None for none.
        running_var: Their variance (of a sample: divided by n - 1), shape (C,); as running_mean.
        weight: Factor of each channel, shape (C,).
        bias: What is added to each channel, shape (C,).
        training: Whether the batch's own mean and variance (divided by n) count; without running ones they do in any case.
        momentum: How far the running ones move towards the batch's, from 0 to 1.
        eps: Added to the variance, so that nothing is divided by 0.

    Returns:
        Shape of input.

    Raises:
        TypeError: If one is no Tensor of floats.
        ValueError: If a shape does not fit, one of the running ones is missing, or the batch's own count and have one number a channel.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """
    check_input("batch_norm", input, 2, "(N, C) or (N, C, …)")
    samples, channels = input.shape[:2]
    for name, x in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        check_fits("batch_norm", name, x, (channels,), input)
    if (running_mean is None) != (running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise ValueError(f"batch_norm expected running_mean and running_var, or neither, got no {missing}; pass both, or None for both")
    batch = training or running_mean is None
    if batch and input.size <= channels:
        raise ValueError(
            f"batch_norm expected more than one number for each channel in training, got input of shape {input.shape}; "
            "take larger batches, or call eval()"
        )
    planes, in_loops = Planes((samples, channels), 0, math.prod(input.shape[2:])), fits_loops(input, weight, bias)
    kept = None if running_mean is None or running_var is None else (running_mean, running_var)
    if not batch and kept:
        moments = np.concatenate([running.to_numpy().astype(float) for running in kept])
    else:
        moments = np.empty(2 * channels) if in_loops else planes.moments(input)  # the loops will put them there
    y = (PlaneNorm.apply if in_loops else PlaneNorm.composed)(input, weight, bias, planes, moments, eps, batch)
    if batch and kept:
        unbiased = np.array([[1.0], [planes.count / (planes.count - 1)]])
        for running, numbers in zip(kept, moments.reshape(2, channels) * unbiased, strict=True):
            write(running, (1 - momentum) * running.to_numpy() + momentum * numbers)
    return y


def write(buffer: Tensor, numbers: Any) -> None:
    """Put other numbers into a buffer."""
    data = buffer._tensor
    if fusible(buffer) and data.is_contiguous():
        data.tuple()[0][:] = numbers
        data.bump_version()
    else:
        buffer[...] = numbers


# The layers


class _BatchNorm(Module):
    """What BatchNorm1d and BatchNorm2d share; see there."""

    dims: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = at_least_1((num_features,), type(self).__name__, "num_features")
        self.num_features, self.eps, self.momentum = shape[0], eps, momentum
        self.weight = Parameter(ones(shape, backend, dtype=dtype)) if affine else None
        self.bias = Parameter(zeros(shape, backend, dtype=dtype)) if affine else None
        self.register_buffer("running_mean", zeros(shape, backend, dtype=dtype) if track_running_stats else None)
        self.register_buffer("running_var", ones(shape, backend, dtype=dtype) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(np.array(0), backend) if track_running_stats else None)

    def extra_repr(self) -> str:
        """Its settings."""
        tracked = self.num_batches_tracked is not None
        settings = f"eps={self.eps}, momentum={self.momentum}, affine={self.weight is not None}, track_running_stats={tracked}"
        return f"{self.num_features}, {settings}"

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """A factor and a sum for each element, as in evaluation."""
        return 2 * output.size

    def forward(self, input: Tensor) -> Tensor:
        """Of shape (N, C, …), which stays."""
        name = type(self).__name__
        sizes = [f"(N, {self.num_features}{', L' * (dims == 3)}{', H, W' * (dims == 4)})" for dims in self.dims]
        check_input(name, input, self.dims[0], " or ".join(sizes))
        if input.dims not in self.dims or input.shape[1] != self.num_features:
            raise ValueError(f"{name} expected input of shape {' or '.join(sizes)}, got {input.shape}")
        momentum = self.momentum
        if momentum is None and self.num_batches_tracked is not None:
            momentum = 1 / (int(self.num_batches_tracked.item()) + 1)
        weight, bias = self.weight and self.weight.value, self.bias and self.bias.value
        out = batch_norm(input, self.running_mean, self.running_var, weight, bias, self.training, momentum or 0.0, self.eps)
        if self.training and self.num_batches_tracked is not None:
            write(self.num_batches_tracked, int(self.num_batches_tracked.item()) + 1)
        return out


class BatchNorm1d(_BatchNorm):
    """`batch_norm` of rows, shape (N, C), or of sequences, shape (N, C, L).

    Args:
        num_features: C, the number of channels.
        eps: Added to the variance, so that nothing is divided by 0.
        momentum: How far the running mean and variance move towards those of the batch; None: so that they are the mean over all batches.
        affine: Whether there are a weight, which begins as ones, and a bias, which begins as zeros.
        track_running_stats: Whether a running mean and variance are kept, which begin as zeros and ones and serve in evaluation. Without
            them the batch's own serve there, too.

    Raises:
        ValueError: If num_features is less than 1.

    Source: Ioffe and Szegedy 2015, arXiv:1502.03167, algorithms 1 and 2.
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`batch_norm` of images, shape (N, C, H, W); for the rest see BatchNorm1d."""

    dims = (4,)
