"""Stage 6 - All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from minitorch.core.context import no_grad
from minitorch.core.creation import cat
from minitorch.torch.tensor import Tensor, as_torch


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other.

    Args:
        parameters: As from `module.parameters()`.
    """
    return as_torch(cat([x.reshape(-1) for x in parameters]))


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of a vector into parameters, in order.

    Args:
        vec: Shape (number of elements,).
        parameters: As from `module.parameters()`.

    Raises:
        TypeError: If vec is not a Tensor.
        ValueError: If it has too few or too many elements.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters expected a Tensor, got {type(vec).__name__}")
    targets, source, start = list(parameters), vec.detach(), 0
    if source.shape != (sum(x.numel() for x in targets),):
        raise ValueError(f"vector_to_parameters expected a vector of {sum(x.numel() for x in targets)} elements, got shape {source.shape}")
    with no_grad():
        for x in targets:
            x[...] = source[start : start + x.numel()].reshape(*x.shape)
            start += x.numel()
