"""Stage 5 - RMSprop: steps divided by the size that each element's derivative has had."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.elements import decayed, each, nothing_like, plus_scaled, quotient, root_plus, running_mean, running_square
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate
from minitorch.optim.sgd import MOMENTUM


class RMSprop(Optimizer):
    """Gradient descent that divides every element's derivative by the root of the running mean of its squares.

    With square that running mean, begun at 0, a step is value - lr · derivative / (√square + eps). If centered, the square of the running
    mean of derivatives is first taken off square, which leaves their variance. With momentum a velocity is kept of what follows lr.

    Args:
        parameters: What to move, or groups; see `Optimizer`.
        lr: Learning rate; not negative.
        alpha: How much of its running means an element keeps from step to step, from 0 to below 1.
        eps: Added to the root, so that nothing is divided by 0; positive.
        weight_decay: How strongly values are drawn to 0, by weight_decay · value in the derivative; not negative.
        momentum: How much of its velocity a parameter keeps from step to step, from 0 to below 1.
        centered: Whether to divide by the root of the variance.

    Raises:
        TypeError: If a setting is of another kind.
        ValueError: If one is out of its range, infinite or NaN.

    Source: Tieleman and Hinton 2012, lecture 6.5 of Neural Networks for Machine Learning; centered, Graves 2013, arXiv:1308.0850, eq. 38.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.01),
        "alpha": Setting("alpha from 0 to below 1", "try 0.99", below=1.0),
        "eps": Setting("eps > 0", "try 1e-8", low=math.ulp(0.0)),
        "weight_decay": WEIGHT_DECAY,
        "momentum": MOMENTUM,
        "centered": Setting("centered=True or False", "try False", kind=bool),
    }
    memories = ("square_avg",)
    may_remember = ("momentum_buffer", "grad_avg")

    def __init__(
        self,
        parameters: Iterable[Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum, "centered": centered}
        super().__init__(parameters, defaults)

    def moved(self, value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
        """See `Optimizer.moved`."""
        prepared(memory, value, settings)
        alpha, derivative = settings["alpha"], decayed(derivative, value, settings["weight_decay"])
        square = memory["square_avg"] = each(running_square(alpha), memory["square_avg"], derivative, out=memory["square_avg"])
        if settings["centered"]:
            mean = memory["grad_avg"] = each(running_mean(alpha), memory["grad_avg"], derivative, out=memory["grad_avg"])
            square = each(less_square, square, mean)
        way = each(quotient, derivative, each(root_plus, square, settings["eps"]))
        if settings["momentum"]:
            velocity = memory["momentum_buffer"]
            way = memory["momentum_buffer"] = each(plus_scaled(settings["momentum"]), way, velocity, out=velocity)
        way = each(operators.mul, way, -settings["lr"])
        return each(operators.add, value, way, out=value)


def prepared(memory: dict[str, Any], value: Any, settings: dict[str, Any]) -> None:
    """Make the memories that a step needs, unless they are there."""
    needed = {"square_avg": True, "grad_avg": settings["centered"], "momentum_buffer": settings["momentum"]}
    for name, wanted in needed.items():
        if wanted and name not in memory:
            memory[name] = nothing_like(value)


def less_square(x: float, y: float) -> float:
    """x - y², but no less than 0, which rounding alone could lead to."""
    rest = x - y * y
    return 0.0 if rest < 0 else rest
