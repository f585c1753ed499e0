"""Stage 6 - Functions of a language model with gradients derived by hand: layer normalization, GELU and embedding.

Composed of tensor operations they would be right, too. As one function each, they save less for the backward pass, and take fewer steps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.kernel import prefer_optimized
from minitorch.tensor import tensor
from minitorch.tensor_data import IndexingError
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715
"""The constants of GELU: the tanh of GELU_SCALE · (x + GELU_CUBIC · x³)."""


# Layer normalization


class Normalize(Function):
    """Each row minus its mean, divided by √(its variance + eps). A row is what the last dimension indexes."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, eps: float) -> Tensor:
        """Normalize the rows.

        Args:
            ctx: Saves what backward needs: the result, and one number for each row.
            input: Shape (…, N).
            eps: Added to the variance, so that a row of equal numbers becomes zeros. The
                variance is the mean square of the distances from the mean.

        Returns:
            Shape of input.
        """
        centered = input - input.mean(-1)
        factor = 1 / ((centered * centered).mean(-1) + eps).sqrt()
        normalized = centered * factor
        ctx.save_for_backward(normalized, factor)
        return normalized

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """The gradient of input; eps has none. Each number of a row influences every result of the row, through mean and variance."""
        normalized, factor = ctx.saved_values
        along = (grad_output * normalized).mean(-1)
        return (grad_output - grad_output.mean(-1) - normalized * along) * factor


@prefer_optimized
def layer_norm(input: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Normalize each row, then multiply by weight and add bias.

    Args:
        input: Shape (…, N).
        weight: Shape (N,).
        bias: Shape (N,).
        eps: See `Normalize`.

    Returns:
        Shape of input.

    Source: Ba et al. 2016, arXiv:1607.06450, eq. 3 and 4.
    """
    return Normalize.apply(input, eps) * weight + bias


# GELU


class Gelu(Function):
    """x · (1 + tanh(GELU_SCALE · (x + GELU_CUBIC · x³))) / 2, element by element."""

    @staticmethod
    def forward(ctx: Context, input: Tensor) -> Tensor:
        """The value; see the formula of the class. ctx saves what backward needs."""
        tanh = ((input + input * input * input * GELU_CUBIC) * GELU_SCALE).tanh()
        ctx.save_for_backward(input, tanh)
        return input * (tanh + 1) * 0.5

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        """The gradient of input. The derivative of tanh(u) is 1 - tanh(u)²."""
        input, tanh = ctx.saved_values
        slope = (input * input * (3 * GELU_CUBIC) + 1) * GELU_SCALE
        return grad_output * ((tanh + 1) + input * (1 - tanh * tanh) * slope) * 0.5


@prefer_optimized
def gelu(input: Tensor) -> Tensor:
    """Gaussian error linear unit with tanh, as in GPT-2: a smooth relu, nearly 0 for negative numbers, nearly x for positive ones.

    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2.
    """
    return Gelu.apply(input)


# Embedding


class Lookup(Function):
    """The rows of a table."""

    @staticmethod
    def forward(ctx: Context, tokens: Tensor, weight: Tensor) -> Tensor:
        """Look up a row for each token.

        Args:
            ctx: Saves what backward needs; not the table, only its shape.
            tokens: Numbers of rows, int64 or int32, any shape; `tokens.to_numpy()` is a copy of them as an array.
            weight: The table, shape (V, D).

        Returns:
            Shape (*tokens.shape, D).
        """
        rows = tokens.to_numpy()  # a copy, because tokens may be changed before the backward pass
        ctx.save_for_backward(rows, weight.shape)
        return weight[rows]

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[None, Tensor]:
        """The gradients: None for tokens, and that of weight, shape (V, D), on the backend and with the dtype of grad_output.

        A row that was looked up several times gets the sum, and one that was not looked up gets zeros. `np.add.at` adds at repeated
        indices.
        """
        rows, shape = ctx.saved_values
        grad = np.zeros(shape, grad_output.dtype)
        np.add.at(grad, rows, grad_output.to_numpy())
        return None, tensor(grad, grad_output.backend)


@prefer_optimized
def embedding(tokens: Tensor, weight: Tensor) -> Tensor:
    """Look up a vector for each token.

    Args:
        tokens: int64 or int32, any shape.
        weight: The table, shape (V, D).

    Returns:
        Shape (*tokens.shape, D).

    Raises:
        TypeError: If tokens are not integers.
        IndexingError: If a token is not that of a row.
    """
    if tokens.dtype.kind != "i":
        raise TypeError(f"embedding expected tokens of int64 or int32, got {tokens.dtype.name}; make them with tensor([1, 2], dtype=int64)")
    numbers = tokens.to_numpy()
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < weight.shape[0]):
        wrong = numbers[(numbers < 0) | (numbers >= weight.shape[0])][0]
        raise IndexingError(f"embedding expected tokens from 0 to {weight.shape[0] - 1} for {weight.shape[0]} rows, got {wrong}")
    return Lookup.apply(tokens, weight)
