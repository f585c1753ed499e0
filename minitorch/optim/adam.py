"""Stage 1 - Adam: gradient descent with a step size per element, from running averages of the gradient and its square."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import minitorch.operators as operators
from minitorch.core import math_operators
from minitorch.optim.arithmetic import (
    apply_elementwise,
    apply_weight_decay,
    divide,
    running_mean,
    running_mean_square,
    sqrt_plus,
    zero_state,
)
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate, settings_among


class Adam(Optimizer):
    """Adam: value - lr · mean' / (√square' + eps).

    mean and square are exponential moving averages of the gradient and its square, starting at 0. mean' and square' are
    corrected for that bias: divided by 1 - beta ** step.

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate, about the largest change of an element in one step; not negative.
        betas: Decay rates of the moving averages of the gradient and its square, each from 0 to below 1.
        eps: Added to the denominator to avoid division by zero; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.
        amsgrad: Whether to divide by the largest mean square so far (Reddi et al. 2018, arXiv:1904.09237, algorithm 2).
        decoupled_weight_decay: Whether the value is multiplied by 1 - lr · weight_decay instead, as in `AdamW`.

    Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.001),
        "betas": Setting("two betas from 0 to below 1", "try (0.9, 0.999)", below=1.0, kind=tuple),
        "eps": Setting("eps >= 0", "try 1e-8"),
        "weight_decay": WEIGHT_DECAY,
    }
    state_names: tuple[str, ...] = ("step", "exp_avg", "exp_avg_sq")
    optional_state_names = ("max_exp_avg_sq",)

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        factors = begin_step(state, value, group)
        value, _, mean, square = update_averages(value, gradient, state, group)
        if group.get("amsgrad"):
            largest = state.setdefault("max_exp_avg_sq", zero_state(value))
            square = state["max_exp_avg_sq"] = apply_elementwise(math_operators.maximum, largest, square, out=largest)
        denominator = apply_elementwise(sqrt_plus, square, factors.eps)
        step = apply_elementwise(divide, mean, denominator, out=denominator)
        step = apply_elementwise(operators.mul, step, factors.step_size, out=step)
        return apply_elementwise(operators.add, value, step, out=value)


def update_averages(value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Apply the weight decay of a group, and update the moving averages of the gradient and its square.

    Returns:
        The value and its gradient, of which the decay has changed one, and the two averages.
    """
    if group.get("decoupled_weight_decay") and group["weight_decay"]:
        value = apply_elementwise(operators.mul, value, 1 - group["lr"] * group["weight_decay"], out=value)
    else:
        gradient = apply_weight_decay(gradient, value, group["weight_decay"])
    (beta1, beta2), mean, square = group["betas"], state["exp_avg"], state["exp_avg_sq"]
    state["exp_avg"] = apply_elementwise(running_mean(beta1), mean, gradient, out=mean)
    state["exp_avg_sq"] = apply_elementwise(running_mean_square(beta2), square, gradient, out=square)
    return value, gradient, state["exp_avg"], state["exp_avg_sq"]


class StepFactors(NamedTuple):
    """Scalars of one step of Adam, the same for all elements.

    The bias correction of the squares is moved into them: √(square / c) + eps = (√square + eps · √c) / √c.

    Attributes:
        step_size: Factor of mean / (√square + eps), negative.
        eps: The corrected eps.
    """

    step_size: float
    eps: float


def ensure_averages(state: dict[str, Any], value: Any) -> None:
    """Create the state of a parameter before its first step."""
    if not state:
        state.update(step=0, exp_avg=zero_state(value), exp_avg_sq=zero_state(value))


def begin_step(state: dict[str, Any], value: Any, group: dict[str, Any]) -> StepFactors:
    """Count a step, create the state if it is the first, and return the step's factors."""
    ensure_averages(state, value)
    state["step"] += 1
    beta1, beta2 = group["betas"]
    root_correction = math.sqrt(1 - beta2 ** state["step"])
    return StepFactors(-group["lr"] * root_correction / (1 - beta1 ** state["step"]), group["eps"] * root_correction)
