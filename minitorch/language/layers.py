"""Stage 6 - Layers with parameters: linear layers, layer normalization and embedding, named and shaped as in GPT-2's weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.core.creation import ones
from minitorch.language.functions import embedding, layer_norm
from minitorch.module import Module, Parameter
from minitorch.tensor import zeros

if TYPE_CHECKING:
    from minitorch.tensor import Tensor
    from minitorch.tensor_ops import TensorBackend


class Linear(Module):
    """x · weight + bias, for x of shape (…, in_size). weight has shape (in_size, out_size), bias (out_size,); both begin as zeros."""

    def __init__(self, in_size: int, out_size: int, backend: TensorBackend) -> None:
        super().__init__()
        self.weight = Parameter(zeros((in_size, out_size), backend))
        self.bias = Parameter(zeros((out_size,), backend))

    def forward(self, x: Tensor) -> Tensor:
        """Shape (…, out_size)."""
        return x @ self.weight.value + self.bias.value


class LayerNorm(Module):
    """`layer_norm` with a weight, which begins as ones, and a bias, which begins as zeros."""

    def __init__(self, size: int, backend: TensorBackend) -> None:
        super().__init__()
        self.weight = Parameter(ones((size,), backend))
        self.bias = Parameter(zeros((size,), backend))

    def forward(self, x: Tensor) -> Tensor:
        """Shape of x, (…, size)."""
        return layer_norm(x, self.weight.value, self.bias.value)


class Embedding(Module):
    """A table with a row for each number; weight has shape (count, size) and begins as zeros."""

    def __init__(self, count: int, size: int, backend: TensorBackend) -> None:
        super().__init__()
        self.weight = Parameter(zeros((count, size), backend))

    def forward(self, numbers: Tensor) -> Tensor:
        """Shape (*numbers.shape, size)."""
        return embedding(numbers, self.weight.value)
