"""Stage 6 - AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.adam import Adam, adam_update
from minitorch.optim.arithmetic import apply_elementwise


class AdamW(Adam):
    """Adam with decoupled weight decay: before each step the value is multiplied by 1 - lr · weight_decay; the gradient is unchanged.

    Args:
        parameters: The parameters to update, or groups of them; see `Optimizer`.
        lr: Learning rate, about the largest change of an element in one step; not negative.
        betas: Decay rates of the moving averages of the gradient and its square, each from 0 to below 1.
        eps: Added to the denominator to avoid division by zero; positive.
        weight_decay: Weight decay coefficient; not negative.

    Raises:
        TypeError: If a setting has the wrong type.
        ValueError: If a setting is out of range, infinite or NaN.

    Source: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2.
    """

    def __init__(
        self,
        parameters: Iterable[Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """See `Optimizer.update`."""
        if group["weight_decay"]:
            value = apply_elementwise(operators.mul, value, 1 - group["lr"] * group["weight_decay"], out=value)
        return adam_update(value, gradient, state, group)
