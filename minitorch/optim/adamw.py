"""Stage 5 - AdamW: Adam whose values are drawn to 0 beside its steps, not in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.adam import Adam, adapted
from minitorch.optim.elements import each


class AdamW(Adam):
    """Adam, but for the decay: before each step a value is multiplied with 1 - lr · weight_decay, and its derivative is left as it is.

    Args:
        parameters: What to move, or groups; see `Optimizer`.
        lr: Learning rate, about the most that an element moves in a step; not negative.
        betas: How much of its running mean of derivatives and of squares an element keeps from step to step, from 0 to below 1.
        eps: Added to the root, so that nothing is divided by 0; positive.
        weight_decay: How strongly values are drawn to 0; not negative.

    Raises:
        TypeError: If a setting is of another kind.
        ValueError: If one is out of its range, infinite or NaN.

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

    def moved(self, value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
        """See `Optimizer.moved`."""
        if settings["weight_decay"]:
            value = each(operators.mul, value, 1 - settings["lr"] * settings["weight_decay"], out=value)
        return adapted(value, derivative, memory, settings)
