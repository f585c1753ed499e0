"""Stage 7 - A batch from a list of examples, as in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minitorch.tensor import Tensor


def default_collate(batch: list[Any]) -> Any:
    """Make a batch of examples: tensors, arrays and numbers are stacked; tuples, lists and dictionaries are collated element by element.

    Args:
        batch: The examples, at least one.

    Returns:
        A tensor, or a list or dictionary of such; strings stay a list. Tensors stay of their class; arrays and numbers become tensors of
        `minitorch.torch`.

    Raises:
        TypeError: If the examples are of another type.
        RuntimeError: If sequences in the examples have different lengths.

    Example:
        >>> default_collate([(torch.tensor([1, 2]), 0), (torch.tensor([3, 4]), 1)])
        [tensor([[1, 2],
                [3, 4]]), tensor([0, 1])]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        from minitorch.torch.shapes import stack  # when it is used: torch.utils.data imports this module

        return stack(batch)
    if isinstance(first, (np.ndarray, np.generic)):
        return _tensor(np.stack(batch))
    if isinstance(first, float):
        return _tensor(np.array(batch, np.float64))
    if isinstance(first, (bool, int)):
        return _tensor(np.array(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([example[key] for example in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("default_collate expected examples of equal lengths, got different ones; pad them, or pass collate_fn")
        columns = [default_collate(list(column)) for column in zip(*batch, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(
        f"default_collate expected tensors, arrays, numbers, text, dictionaries or lists, got {type(first).__name__}; pass collate_fn"
    )


def default_convert(example: Any) -> Any:
    """An example whose arrays, also those in dictionaries, tuples and lists, are tensors of `minitorch.torch`; the rest is unchanged."""
    if isinstance(example, (np.ndarray, np.generic)):
        return _tensor(example)
    if isinstance(example, Mapping):
        return {key: default_convert(value) for key, value in example.items()}
    if type(example) in (tuple, list):
        return type(example)(map(default_convert, example))
    if hasattr(example, "_fields"):
        return type(example)(*map(default_convert, example))
    return example


def _tensor(array: Any) -> Tensor:
    """A tensor of PyTorch's interface of the same dtype."""
    from minitorch.torch.creation import tensor  # when they are used, as above
    from minitorch.torch.tensor import as_torch

    return as_torch(tensor(array))
