"""Stage 6 - Dropout and Flatten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.nn.functional import dropout
from minitorch.nn.module import Module
from minitorch.nn.sizes import check_probability

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class Dropout(Module):
    """During training, set elements to 0 at random and scale the others by 1 / (1 - p) to preserve the mean; identity in evaluation.

    Args:
        p: Probability of an element to be zeroed, from 0 to 1.

    Raises:
        TypeError: If p is not a number.
        ValueError: If p is outside [0, 1].

    Source: Srivastava et al. 2014, Journal of Machine Learning Research 15, section 10 (which scales during evaluation instead).
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = check_probability("Dropout", "p", p, "an element")

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"

    def forward(self, input: Tensor) -> Tensor:
        """Return input with dropout applied, same shape."""
        if not self.training or not self.p:
            return input
        out = dropout(input, self.p)
        return out * (1 / (1 - self.p)) if self.p < 1 else out


class Flatten(Module):
    """Flatten the dimensions from start_dim to end_dim into one; by default all but the batch dimension."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"

    def forward(self, input: Tensor) -> Tensor:
        """Map shape (B, …) to (B, product of the others) by default."""
        return input.flatten(self.start_dim, self.end_dim)
