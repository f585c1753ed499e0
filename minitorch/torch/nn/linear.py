"""Stage 6 - Linear layers, embeddings and layers that only change the shape."""

from __future__ import annotations

import math
from typing import Any

import minitorch.nn as engine
from minitorch.nn.init import fans, kaiming_uniform_, uniform_
from minitorch.torch.nn.functional import refuse_unless
from minitorch.torch.nn.module import adapt, adapts
from minitorch.torch.tensor import Tensor


def reset_weight_and_bias(layer: Any) -> None:
    """Initialize weight and bias uniformly in ±1 / √fan_in, as PyTorch does."""
    kaiming_uniform_(layer.weight, math.sqrt(5))
    if layer.bias is not None:
        bound = 1 / math.sqrt(fans(layer.weight.value.shape)[0])
        uniform_(layer.bias, -bound, bound)


@adapts(engine.Linear)
class Linear(adapt(engine.Linear)):
    """Linear layer x @ weight.t() + bias.

    Args:
        in_features: Number of input features.
        out_features: Number of output features.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √in_features.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        reset_weight_and_bias(self)


class NonDynamicallyQuantizableLinear(Linear):
    """The linear layer at the end of attention, under PyTorch's name for it."""


class Bilinear(adapt(engine.Bilinear)):
    """x1ᵀ · W_k · x2 + b_k for every output feature k.

    Args:
        in1_features: Number of features of the first input.
        in2_features: Number of features of the second.
        out_features: Number of output features.
        bias: Whether to learn a bias. Weight and bias are initialized uniformly in ±1 / √in1_features.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(in1_features, in2_features, out_features, bias, device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Initialize the parameters."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)


@adapts(engine.Embedding)
class Embedding(adapt(engine.Embedding)):
    """A vector for each index; initialized from the standard normal distribution.

    Args:
        num_embeddings: Number of vectors.
        embedding_dim: Dimension of each vector.
        padding_idx: Row that is initialized to zeros and receives no gradient.
        max_norm: Not supported.
        norm_type: Not supported.
        scale_grad_by_freq: Not supported.
        sparse: Not supported.
        device: Where the table is stored.
        dtype: Dtype of the table; the default dtype if left out.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        refuse_unless(
            "Embedding",
            max_norm=(max_norm, None),
            norm_type=(norm_type, 2.0),
            scale_grad_by_freq=(scale_grad_by_freq, False),
            sparse=(sparse, False),
        )
        super().__init__(num_embeddings, embedding_dim, padding_idx, device=device, dtype=dtype)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """An embedding layer around a given table.

        Args:
            embeddings: The table, shape (num_embeddings, embedding_dim); it is not copied.
            freeze: Whether the table keeps its values in training.
            padding_idx: Row that receives no gradient.
        """
        table = embeddings
        made = cls(*table.shape, padding_idx, device=table.backend, dtype=table.dtype)  # type: ignore
        made.weight._take(table.detach().requires_grad_(not freeze))
        return made


Flatten = adapt(engine.Flatten)
Identity = adapt(engine.Identity, lifted=False)
CosineSimilarity = adapt(engine.CosineSimilarity)
PairwiseDistance = adapt(engine.PairwiseDistance)
PixelShuffle = adapt(engine.PixelShuffle)
ChannelShuffle = adapt(engine.ChannelShuffle)
PixelUnshuffle = adapt(engine.PixelUnshuffle)
Unflatten = adapt(engine.Unflatten)
