"""Stage 6 - Quantization: weights as 8-bit integers with a scale for each row, and products of integers in a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch.core.context import grad_mode
from minitorch.fast_ops import njit
from minitorch.language.layers import Linear
from minitorch.module import Module
from minitorch.tensor import tensor

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

LEVELS = 127
"""The largest integer. The smallest is -127, so that a number and its negative have the same distance from the grid; -128 is not used."""

TINY = np.finfo(np.float32).tiny
"""The smallest scale, about 1.2e-38: the smallest float32 with all its digits. A row of zeros has it."""

LARGEST = 1e38
"""The largest magnitude of a number: 127 times its scale is still a float32."""

MAX_INNER = (2**31 - 1) // LEVELS**2
"""The largest inner size of a product, 133,144: a sum of as many products of ±127 and ±127 fits into int32, and of one more it does not."""


# Rows of integers


def quantize_rows(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round each row to multiples of its scale.

    The scale is the largest magnitude of the row, divided by LEVELS, as float32, and at least TINY. Each number becomes the integer nearest
    to number / scale; of two that are equally near, the even one.

    Args:
        weight: Shape (R, C), floats.

    Returns:
        The integers, int8, shape (R, C), contiguous, from -127 to 127; and the scales, float32, shape (R,). A number w with the integer q
        and the scale s satisfies |w - q · s| ≤ s · (1/2 + 2**-16), where 2**-16 leaves space for the rounding of float32.

    Raises:
        ValueError: If weight is not a matrix, or a number is NaN or has a magnitude above LARGEST; `_check_rows` says so.

    Source: Jacob et al. 2017, arXiv:1712.05877, section 2.1, with the zero point 0.
    """
    _check_rows(weight)
    largest = np.abs(weight).max(axis=1, initial=0).astype(np.float64)
    scales = np.maximum(largest / LEVELS, TINY).astype(np.float32)
    return np.rint(weight / scales[:, None]).astype(np.int8), scales


def dequantize(quantized: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return the numbers that the integers represent, each times the scale of its row.

    Args:
        quantized: int8, shape (R, C).
        scales: float32, shape (R,).

    Returns:
        float32, shape (R, C).
    """
    return quantized * scales[:, None]


# The product


def _int_product(out: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """The product of left and the transpose of right, exact: out[n, r] = Σ_c left[n, c] · right[r, c].

    Both matrices are read along their rows, which are contiguous. A product of two int8 needs 15 bits and a sum of them more, so both
    numbers become int32 before they are multiplied.

    Args:
        out: Written: int32, shape (N, R); every element once, whatever its value was.
        left: int8, shape (N, C), C up to MAX_INNER.
        right: int8, shape (R, C).
    """
    for n in range(left.shape[0]):
        for r in range(right.shape[0]):
            total = np.int32(0)
            for c in range(right.shape[1]):
                total += np.int32(left[n, c]) * np.int32(right[r, c])
            out[n, r] = total


int_product: Any = njit(_int_product)
"""`_int_product`, compiled at its first call."""


# The layer


class QuantizedLinear(Module):
    """A linear layer for inference, with 8-bit weights. It has no parameters, and no gradient flows through it.

    Args:
        layer: The `Linear` layer whose weights it gets.

    Attributes:
        weight: int8, shape (out_size, in_size): a row for each output, transposed against `Linear`.
        scales: float32, shape (out_size,).
        bias: float32, shape (out_size,).

    Raises:
        ValueError: If a weight or a bias is NaN or infinite, or in_size is above MAX_INNER.
    """

    def __init__(self, layer: Linear) -> None:
        super().__init__()
        weight, self.bias = layer.weight.value.to_numpy(), layer.bias.value.to_numpy().astype(np.float32)
        if weight.shape[0] > MAX_INNER:
            raise ValueError(
                f"QuantizedLinear expected at most {MAX_INNER} inputs, whose sum fits into int32, got {weight.shape[0]}; split the layer"
            )
        if not np.isfinite(self.bias).all():
            raise ValueError("QuantizedLinear expected finite biases, got infinite or NaN; train again with a smaller learning rate")
        self.weight, self.scales = quantize_rows(np.ascontiguousarray(weight.T))

    def forward(self, x: Tensor) -> Tensor:
        """Compute x · weight + bias with a product of integers.

        The rows of x, one for each vector of in_size numbers, are quantized as the weights are, with scales of their own; `int_product`
        multiplies; each sum of integers is multiplied by both of its scales; then the bias is added.

        Args:
            x: Shape (…, in_size).

        Returns:
            Shape (…, out_size), dtype and backend of x.

        Raises:
            RuntimeError: If a gradient is needed; `_check_input(layer, x)` says so.
            ValueError: If the last dimension of x has another size; `_check_input(layer, x)` says so.
        """
        _check_input(self, x)
        rows, scales = quantize_rows(x.to_numpy().reshape(-1, x.shape[-1]))
        sums = np.empty((len(rows), len(self.weight)), np.int32)
        int_product(sums, rows, self.weight)
        out = sums * (scales[:, None] * self.scales) + self.bias
        return tensor(out.reshape(*x.shape[:-1], -1), x.backend, dtype=x.dtype)

    def nbytes(self) -> int:
        """The number of bytes of weights, scales and biases."""
        return self.weight.nbytes + self.scales.nbytes + self.bias.nbytes


# The model


def quantize(model: Module) -> tuple[int, int]:
    """Replace all `Linear` layers of a model, which then is for inference. Nothing changes unless all can be quantized.

    Embeddings and normalizations remain, and so does the output layer of `GPT2`, which is the embedding of tokens.

    Args:
        model: The model, such as a `GPT2`; its own layers are replaced.

    Returns:
        The number of bytes of the model before and after.

    Raises:
        ValueError: If the model has no `Linear` layer, or one of them cannot be quantized.
    """
    before, found = model_nbytes(model), _linear_layers(model)
    if not found:
        raise ValueError(f"quantize expected a model with Linear layers, got {type(model).__name__} without; quantize a model only once")
    for parent, name, layer in [(parent, name, QuantizedLinear(layer)) for parent, name, layer in found]:
        setattr(parent, name, layer)
    return before, model_nbytes(model)


def model_nbytes(model: Module) -> int:
    """The number of bytes of all parameters and quantized layers."""
    own = [parameter.value for parameter in model._parameters.values()]
    children = sum(layer.nbytes() if isinstance(layer, QuantizedLinear) else model_nbytes(layer) for layer in model.modules())
    return sum(value.numel() * value.dtype.itemsize for value in own) + children


def _linear_layers(model: Module) -> list[tuple[Module, str, Linear]]:
    """Return all linear layers below a module, each with its parent and the name there."""
    found = []
    for name, child in model._modules.items():
        found += [(model, name, child)] if isinstance(child, Linear) else _linear_layers(child)
    return found


# Checks


def _check_rows(weight: np.ndarray) -> None:
    """Check that `quantize_rows` gets a matrix of numbers with a scale."""
    if weight.ndim != 2:
        raise ValueError(f"quantize_rows expected a matrix, got shape {weight.shape}; reshape it to (rows, columns)")
    if not (fits := np.abs(weight) <= LARGEST).all():  # NaN does not fit either
        row, column = np.argwhere(~fits)[0].tolist()
        found = f"{weight[row, column]:g} at [{row}, {column}]"
        raise ValueError(
            f"quantize_rows expected finite numbers of magnitude up to {LARGEST:g}, got {found}; train with a smaller learning rate"
        )


def _check_input(layer: QuantizedLinear, x: Tensor) -> None:
    """Check the input of a quantized layer, and that it needs no gradient."""
    size = layer.weight.shape[1]
    if not x.dims or x.shape[-1] != size:
        raise ValueError(f"QuantizedLinear expected an input of shape (…, {size}), got {x.shape}; pass vectors of {size} numbers")
    if x.requires_grad and grad_mode.enabled:
        raise RuntimeError(
            "QuantizedLinear expected an input that needs no gradient, because rounding has none, got one that does; compute inside "
            "`with no_grad():`, and train the model before you quantize it"
        )
