"""Stage 6 - A cache of keys and values, so that each new token costs as much as one token, not as much as the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.core.context import no_grad

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class KeyValueCache:
    """The keys and values of all tokens so far, for one block. Memory for all of them is taken once.

    It is for generating, and records no gradients.

    Args:
        capacity: The largest number of tokens.

    Attributes:
        capacity: The largest number of tokens.
        length: The number of tokens so far.
        keys: Memory for the keys, shape (B, H, capacity, D), of which the first `length` tokens are written; None before the first.
        values: The same for the values.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write keys and values of new tokens after those so far, and return those of all tokens.

        The first call takes the memory: zeros of the dtype and on the backend of key, `key.zeros(shape)`. Later ones write only what is
        new: no number of an earlier token is copied.

        Args:
            key: Shape (B, H, T, D), T of at least 1.
            value: Shape of key.

        Returns:
            The keys and the values of all tokens so far, shape (B, H, length, D), as views of the memory.

        Raises:
            ValueError: If they are more than the capacity; `_check_space` says so. Then nothing has changed.
        """
        _check_space(self, key)
        batch, heads, count, size = key.shape
        if self.keys is None or self.values is None:
            self.keys, self.values = (key.zeros((batch, heads, self.capacity, size)) for _ in range(2))
        end = self.length + count
        with no_grad():
            self.keys[:, :, self.length : end] = key
            self.values[:, :, self.length : end] = value
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def nbytes(self) -> int:
        """The number of bytes of the memory, 0 before the first token."""
        return sum(part.numel() * part.dtype.itemsize for part in (self.keys, self.values) if part is not None)


def _check_space(cache: KeyValueCache, key: Tensor) -> None:
    """Check that the tokens of key fit into a cache."""
    if cache.length + key.shape[2] > cache.capacity:
        found = f"{key.shape[2]} after {cache.length}"
        raise ValueError(f"KeyValueCache expected at most {cache.capacity} tokens, got {found}; make it with a larger capacity")
