"""Stage 7 - torch.nn.functional: PyTorch's names and arguments over the engine's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.dtypes import int64
from minitorch.core.errors import DtypeError
from minitorch.core.math_functions import ExactLog
from minitorch.nn import (
    activations,
    attention,
    channels,
    convolution,
    ctc,
    distances,
    distribution_losses,
    dropouts,
    embeddings,
    linears,
    losses,
    margin_losses,
    normalization,
    padding,
    pooling,
    regression_losses,
    resizing,
    sampling,
    transposed,
    volumes,
)
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import rand
from minitorch.tensor_data import TensorData
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import Tensor, lift

NAMES = {
    activations: """
        celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish prelu relu relu6 rrelu selu
        sigmoid silu softmax softmin softplus softshrink softsign tanh tanhshrink threshold""",
    attention: "scaled_dot_product_attention",
    channels: "channel_shuffle local_response_norm",
    convolution: "conv1d conv2d",
    distances: "bilinear cosine_similarity normalize pairwise_distance",
    dropouts: "alpha_dropout dropout dropout1d dropout2d dropout3d",
    embeddings: "embedding embedding_bag",
    losses: "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy nll_loss",
    regression_losses: "huber_loss l1_loss mse_loss smooth_l1_loss",
    distribution_losses: "gaussian_nll_loss kl_div poisson_nll_loss",
    margin_losses: """
        cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_soft_margin_loss soft_margin_loss
        triplet_margin_loss triplet_margin_with_distance_loss""",
    ctc: "ctc_loss",
    linears: "linear",
    normalization: "batch_norm group_norm instance_norm layer_norm rms_norm",
    padding: "pad",
    pooling: """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d avg_pool2d max_pool1d max_pool2d
        max_unpool2d""",
    resizing: "fold interpolate pixel_shuffle pixel_unshuffle unfold upsample",
    sampling: "affine_grid grid_sample",
    transposed: "conv_transpose1d conv_transpose2d conv_transpose3d",
    volumes: "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d conv3d max_pool3d",
}
"""The functions of torch.nn.functional, by the module that has them."""

globals().update({name: getattr(family, name) for family, names in NAMES.items() for name in names.split()})


# Activations


def _always_in_place(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An activation whose result becomes its input."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, **kwargs, inplace=True)

    function.__name__ = function.__qualname__ = f"{fn.__name__}_"
    function.__doc__ = f"`{fn.__name__}` in place."
    return function


IN_PLACE = "relu leaky_relu hardtanh threshold elu selu celu rrelu"
globals().update({f"{name}_": _always_in_place(getattr(activations, name)) for name in IN_PLACE.split()})


@lift
def gumbel_softmax(logits: EngineTensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> EngineTensor:
    """A sample of the Gumbel-softmax distribution; with hard, a one-hot vector whose gradient is that of the sample.

    Source: Jang et al. 2017, arXiv:1611.01144, eq. 2.
    """
    uniform = rand(logits.shape, logits.backend, dtype=logits.dtype).clip(np.finfo(np.float32).tiny)  # type: ignore
    noise = -ExactLog.apply(-ExactLog.apply(uniform).clip(None, -1e-20))
    soft = activations.softmax((logits + noise) * (1 / tau), dim)
    if not hard:
        return soft
    size = soft.shape[dim]
    at_maximum = soft.detach().argmax(dim, keepdim=True) == _numbers(soft, size).reshape(
        *[size if d == dim % soft.dims else 1 for d in range(soft.dims)]
    )
    return at_maximum.to(soft.dtype) - soft.detach() + soft


# Classes as vectors


@lift
def one_hot(tensor: EngineTensor, num_classes: int = -1) -> EngineTensor:
    """1 at the index of each class, else 0, as int64 in a new last dimension.

    Args:
        tensor: Class indices, int64 of any shape.
        num_classes: Number of classes; one more than the largest index by default.

    Raises:
        TypeError: If tensor does not hold int64.
        ValueError: If an index is negative or out of range.

    Example:
        >>> torch.nn.functional.one_hot(torch.tensor([0, 2]), num_classes=4)
        tensor([[1, 0, 0, 0],
                [0, 0, 1, 0]])
    """
    if tensor.dtype is not int64:
        raise DtypeError(f"one_hot expected class indices of int64, got {tensor.dtype.name}; convert them: x.long()")
    numbers = tensor.to_numpy()
    count = int(numbers.max()) + 1 if num_classes == -1 else num_classes
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < count):
        raise ValueError(f"one_hot expected class indices from 0 to {count - 1}, got {numbers.min()} to {numbers.max()}")
    return tensor._like(TensorData((numbers[..., None] == np.arange(count)).astype(np.int64).reshape(-1), (*numbers.shape, count)))


def _numbers(like: EngineTensor, count: int) -> EngineTensor:
    """0 to count - 1 as int64 on the backend of a tensor."""
    return like._like(TensorData(np.arange(count), (count,)))


__getattr__ = refuse_absent(
    "torch.nn.functional", {*defined(globals()), *" ".join(NAMES.values()).split(), *(f"{name}_" for name in IN_PLACE.split())}
)
