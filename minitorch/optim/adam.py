"""Stage 1 - Adam: steps measured by the size that each element's derivative has had."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.elements import decayed, each, nothing_like, quotient, root_plus, running_mean, running_square
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate


class Adam(Optimizer):
    """Gradient descent that measures every element's steps by the size that its derivative has had.

    With mean and square the running means of the derivative and of its square, begun at 0, a step is
    value - lr · mean' / (√square' + eps), where mean' and square' are divided by what the running mean of ones would have reached.

    Args:
        parameters: What to move, or groups; see `Optimizer`.
        lr: Learning rate, about the most that an element moves in a step; not negative.
        betas: How much of its running mean of derivatives and of squares an element keeps from step to step, from 0 to below 1.
        eps: Added to the root, so that nothing is divided by 0; positive.
        weight_decay: How strongly values are drawn to 0, by weight_decay · value in the derivative; not negative.

    Raises:
        TypeError: If a setting is of another kind.
        ValueError: If one is out of its range, infinite or NaN.

    Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.001),
        "betas": Setting("two betas from 0 to below 1", "try (0.9, 0.999)", below=1.0, kind=tuple),
        "eps": Setting("eps > 0", "try 1e-8", low=math.ulp(0.0)),
        "weight_decay": WEIGHT_DECAY,
    }
    memories = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        parameters: Iterable[Parameter] | Iterable[dict[str, Any]],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def moved(self, value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
        """See `Optimizer.moved`."""
        return adapted(value, decayed(derivative, value, settings["weight_decay"]), memory, settings)


class Factors(NamedTuple):
    """What a step of Adam is worked out with, the same for all elements.

    √(square / of_ones) + eps is (√square + eps · √of_ones) / √of_ones, whose last factor joins the others.
    """

    way: float
    eps: float


def counted(memory: dict[str, Any], value: Any, settings: dict[str, Any]) -> Factors:
    """Begin a step: count it, make the memories if it is the first, and find its factors."""
    if not memory:
        memory.update(step=0, exp_avg=nothing_like(value), exp_avg_sq=nothing_like(value))
    memory["step"] += 1
    beta1, beta2 = settings["betas"]
    root_of_ones = math.sqrt(1 - beta2 ** memory["step"])
    return Factors(-settings["lr"] * root_of_ones / (1 - beta1 ** memory["step"]), settings["eps"] * root_of_ones)


def adapted(value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
    """A step of Adam without decay."""
    factors, (beta1, beta2) = counted(memory, value, settings), settings["betas"]
    mean = memory["exp_avg"] = each(running_mean(beta1), memory["exp_avg"], derivative, out=memory["exp_avg"])
    square = memory["exp_avg_sq"] = each(running_square(beta2), memory["exp_avg_sq"], derivative, out=memory["exp_avg_sq"])
    root = each(root_plus, square, factors.eps)
    way = each(quotient, mean, root, out=root)
    way = each(operators.mul, way, factors.way, out=way)
    return each(operators.add, value, way, out=value)
