"""Stage 7 - RMSprop: gradient descent with each gradient divided by a running root mean square."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from minitorch.optim.arithmetic import (
    add_scaled,
    add_step,
    apply_elementwise,
    apply_weight_decay,
    divide,
    running_mean,
    running_mean_square,
    sqrt_plus,
    zero_state,
)
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate, settings_among
from minitorch.optim.sgd import MOMENTUM


class RMSprop(Optimizer):
    """RMSprop: value - lr · gradient / (√square + eps).

    square is an exponential moving average of the squared gradient, starting at 0. If centered, the square of the gradient's
    moving average is subtracted from it, which estimates the variance. With momentum, the quotient is accumulated in a velocity.

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate; not negative.
        alpha: Decay rate of the moving averages; not negative, and below 1 for a mean.
        eps: Added to the denominator to avoid division by zero; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.
        momentum: Decay rate of the velocity; not negative, and below 1 to converge.
        centered: Whether to divide by the estimated standard deviation.

    Source: Tieleman and Hinton 2012, lecture 6.5 of Neural Networks for Machine Learning; centered, Graves 2013, arXiv:1308.0850, eq. 38.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.01),
        "alpha": Setting("alpha >= 0", "try 0.99"),
        "eps": Setting("eps >= 0", "try 1e-8"),
        "weight_decay": WEIGHT_DECAY,
        "momentum": MOMENTUM,
        "centered": Setting("centered=True or False", "try False", kind=bool),
    }
    state_names = ("square_avg",)
    optional_state_names = ("step", "momentum_buffer", "grad_avg")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        ensure_state(state, value, group)
        state["step"] = state.get("step", 0) + 1
        alpha, gradient = group["alpha"], apply_weight_decay(gradient, value, group["weight_decay"])
        square = apply_elementwise(running_mean_square(alpha), state["square_avg"], gradient, out=state["square_avg"])
        state["square_avg"] = square
        if group["centered"]:
            mean = state["grad_avg"] = apply_elementwise(running_mean(alpha), state["grad_avg"], gradient, out=state["grad_avg"])
            square = apply_elementwise(variance, square, mean)
        step = apply_elementwise(divide, gradient, apply_elementwise(sqrt_plus, square, group["eps"]))
        if group["momentum"]:
            velocity = state["momentum_buffer"]
            step = state["momentum_buffer"] = apply_elementwise(add_scaled(group["momentum"]), step, velocity, out=velocity)
        return add_step(value, step, -group["lr"])


def ensure_state(state: dict[str, Any], value: Any, group: dict[str, Any]) -> None:
    """Create the entries of a parameter's state that its group's settings need and that are missing."""
    required = {"square_avg": True, "grad_avg": group["centered"], "momentum_buffer": group["momentum"]}
    for name, needed in required.items():
        if needed and name not in state:
            state[name] = zero_state(value)


def variance(mean_square: float, mean: float) -> float:
    """mean_square - mean², but at least 0: rounding can make the difference negative."""
    difference = mean_square - mean * mean
    return 0.0 if difference < 0 else difference
