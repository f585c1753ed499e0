"""Stage 7 - Norms, distances and similarities of vectors, and the bilinear layer."""

from __future__ import annotations

import math
from typing import Any

from minitorch.nn.init import uniform_
from minitorch.nn.module import Module
from minitorch.nn.options import layer, refuse_unless
from minitorch.nn.parameter import Parameter
from minitorch.ops.checks import positive_ints
from minitorch.tensor import Tensor, zeros
from minitorch.torch.arithmetic import clamp_min
from minitorch.torch.placement import placement
from minitorch.torch.promotion import promote, require_one_dtype
from minitorch.torch.reductions import norm
from minitorch.torch.saved import RESULT, saves


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None) -> Tensor:
    """input divided by its p-norm along a dimension, but at least by eps. The argument out is not supported."""
    refuse_unless("normalize", out=(out, None))
    return input / clamp_min(norm(input, p, dim, True), eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension; the norms count as at least eps.

    Args:
        x1: Any shape.
        x2: A shape that broadcasts with it.
        dim: The dimension of the vectors.
        eps: Smallest norm.

    Returns:
        The common shape without dim.
    """
    x1, x2 = promote(x1, x2)
    directions = [normalize(x, 2.0, dim, eps) for x in (x1, x2)]
    return Tensor.sum(directions[0] * directions[1], dim, False)


@saves(RESULT)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


@saves((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ · W_k · x2 + b_k for every output feature k.

    Args:
        input1: Shape (…, in1).
        input2: Shape (…, in2).
        weight: Shape (out, in1, in2).
        bias: Shape (out,), or None.

    Returns:
        Shape (…, out).

    Raises:
        TypeError: If the dtypes differ.
        ValueError: If the shapes do not match.
    """
    out, in1, in2 = weight.shape
    if input1.shape[:-1] != input2.shape[:-1] or (input1.shape[-1], input2.shape[-1]) != (in1, in2):
        raise ValueError(
            f"bilinear expected inputs of shapes (…, {in1}) and (…, {in2}) for weight of shape {weight.shape}, "
            f"got {input1.shape} and {input2.shape}"
        )
    require_one_dtype("bilinear", input1, input2, weight, bias)
    rows1, rows2 = input1.reshape(-1, 1, in1), input2.reshape(-1, in2, 1)
    products = rows1.unsqueeze(1) @ weight.unsqueeze(0) @ rows2.unsqueeze(1)  # (rows, out, 1, 1)
    result = products.reshape(*input1.shape[:-1], out)
    return result if bias is None else result + bias


# Layers


CosineSimilarity = layer("CosineSimilarity", cosine_similarity, shown="")
PairwiseDistance = layer("PairwiseDistance", pairwise_distance, shown="")


class Bilinear(Module):
    """See `bilinear`.

    Args:
        in1_features: Number of features of the first input.
        in2_features: Number of features of the second.
        out_features: Number of output features.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √in1_features.

        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        ValueError: If a size is less than 1.
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        sizes = positive_ints((out_features, in1_features, in2_features), "Bilinear", "out_features, in1_features and in2_features")
        self.out_features, self.in1_features, self.in2_features = sizes
        self.weight = Parameter(zeros(sizes, **placement(device, dtype)))
        self.bias = Parameter(zeros(sizes[:1], **placement(device, dtype))) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Map shapes (…, in1_features) and (…, in2_features) to (…, out_features)."""
        return bilinear(input1, input2, self.weight, self.bias)
