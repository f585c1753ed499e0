"""Stage 5 - Layers without parameters of their own that belong to no family: dropout and flattening."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.nn.functional import dropout
from minitorch.nn.module import Module
from minitorch.nn.sizes import check_probability

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class Dropout(Module):
    """In training, set elements to 0 at random and divide the others by what share is left, so that the mean stays; in evaluation, nothing.

    Args:
        p: With which probability an element becomes 0, from 0 to 1.

    Raises:
        TypeError: If p is no number.
        ValueError: If it is out of range.

    Source: Srivastava et al. 2014, Journal of Machine Learning Research 15, section 10 (there scaled in evaluation instead).
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_probability("Dropout", "p", p, "the elements that become 0")

    def extra_repr(self) -> str:
        """Its probability."""
        return f"p={self.p}"

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        if not self.training or not self.p:
            return input
        kept = dropout(input, self.p)
        return kept * (1 / (1 - self.p)) if self.p < 1 else kept


class Flatten(Module):
    """The dimensions from start_dim to end_dim made one; unless told otherwise all but that of the samples."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def extra_repr(self) -> str:
        """Its dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"

    def forward(self, input: Tensor) -> Tensor:
        """From shape (B, …) to (B, product of the others)."""
        return input.flatten(self.start_dim, self.end_dim)
