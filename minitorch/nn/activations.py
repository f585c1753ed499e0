"""Stage 5 - Activations: functions of one number, applied to every element, as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minitorch.nn.module import Module

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


class ReLU(Module):
    """What is positive, else 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape, which stays."""
        return input.relu()
