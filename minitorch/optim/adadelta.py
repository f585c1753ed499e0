"""Stage 7 - Adadelta and Adagrad: gradient descent with a step size per element, from sums of squared gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.optim.arithmetic import (
    add_step,
    apply_elementwise,
    apply_weight_decay,
    divide,
    is_tensor,
    running_mean_square,
    sqrt_plus,
    zero_state,
)
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate, settings_among

EPS = Setting("eps >= 0", "try 1e-8")


def root(value: Any, eps: float) -> Any:
    """√(value + eps)."""
    return apply_elementwise(sqrt_plus, apply_elementwise(operators.add, value, eps), 0.0)


class Adadelta(Optimizer):
    """Adadelta: value - lr · gradient · √(mean square of steps + eps) / √(mean square of gradients + eps).

    Both mean squares are exponential moving averages, starting at 0.

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Factor of every step; not negative.
        rho: Decay rate of the moving averages, from 0 to 1.
        eps: Added to both mean squares; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.

    Source: Zeiler 2012, arXiv:1212.5701, algorithm 1.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(1.0),
        "rho": Setting("rho from 0 to 1", "try 0.9", below=math.nextafter(1.0, 2.0)),
        "eps": EPS,
        "weight_decay": WEIGHT_DECAY,
    }
    state_names = ("step", "square_avg", "acc_delta")

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not state:
            state.update(step=0, square_avg=zero_state(value), acc_delta=zero_state(value))
        state["step"] += 1
        average, eps, gradient = running_mean_square(group["rho"]), group["eps"], apply_weight_decay(gradient, value, group["weight_decay"])
        square = state["square_avg"] = apply_elementwise(average, state["square_avg"], gradient, out=state["square_avg"])
        ratio = apply_elementwise(divide, root(state["acc_delta"], eps), root(square, eps))
        step = apply_elementwise(operators.mul, ratio, gradient)
        state["acc_delta"] = apply_elementwise(average, state["acc_delta"], step, out=state["acc_delta"])
        return add_step(value, step, -group["lr"])


class Adagrad(Optimizer):
    """Adagrad: value - lr · gradient / (√(sum of squared gradients) + eps).

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate; not negative. It is divided by 1 + lr_decay · (number of earlier steps).
        lr_decay: See lr; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.
        initial_accumulator_value: Initial value of the sums; not negative.
        eps: Added to the denominator; not negative.

    Source: Duchi et al. 2011, Journal of Machine Learning Research 12, figure 1.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.01),
        "lr_decay": Setting("lr_decay >= 0", "0 leaves it out"),
        "weight_decay": WEIGHT_DECAY,
        "initial_accumulator_value": Setting("initial_accumulator_value >= 0", "try 0"),
        "eps": EPS,
    }
    state_names = ("step", "sum")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not state:
            start = apply_elementwise(operators.add, zero_state(value), group["initial_accumulator_value"])
            state.update(step=0, sum=start)
        gradient, rate = apply_weight_decay(gradient, value, group["weight_decay"]), group["lr"] / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        squares = apply_elementwise(operators.mul, gradient, gradient)
        total = state["sum"] = apply_elementwise(operators.add, state["sum"], squares, out=state["sum"] if is_tensor(value) else None)
        step = apply_elementwise(divide, gradient, apply_elementwise(sqrt_plus, total, group["eps"]))
        return add_step(value, step, -rate)
