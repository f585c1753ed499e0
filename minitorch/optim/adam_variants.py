"""Stage 7 - Variants of Adam: AMSGrad, Adamax, NAdam and RAdam."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.core import math_operators
from minitorch.optim.adam import Adam, ensure_averages, update_averages
from minitorch.optim.arithmetic import add_step, apply_elementwise, apply_weight_decay, divide, running_mean, sqrt_plus, zero_state
from minitorch.optim.optimizer import Setting, settings_among


class AMSGrad(Adam):
    """`Adam` with amsgrad=True: it divides by the largest mean square so far."""

    def __init__(self, params: Any, *args: Any, **options: Any) -> None:
        super().__init__(params, *args, **{"amsgrad": True, **options})


class Adamax(Adam):
    """Adam with the maximum norm: value - lr · mean' / largest, where largest = max(beta2 · largest, |gradient| + eps).

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate; not negative.
        betas: Decay rates of the moving average of the gradient and of the maximum, each from 0 to below 1.
        eps: Added to the size of the gradient; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.

    Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 2.
    """

    state_names = ("step", "exp_avg", "exp_inf")

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super(Adam, self).__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not state:
            state.update(step=0, exp_avg=zero_state(value), exp_inf=zero_state(value))
        state["step"] += 1
        (beta1, beta2), gradient = group["betas"], apply_weight_decay(gradient, value, group["weight_decay"])
        mean = state["exp_avg"] = apply_elementwise(running_mean(beta1), state["exp_avg"], gradient, out=state["exp_avg"])
        decayed = apply_elementwise(operators.mul, state["exp_inf"], beta2, out=state["exp_inf"])
        size = apply_elementwise(operators.add, abs(gradient), group["eps"])
        largest = state["exp_inf"] = apply_elementwise(math_operators.maximum, decayed, size, out=decayed)
        return add_step(value, apply_elementwise(divide, mean, largest), -group["lr"] / (1 - beta1 ** state["step"]))


class NAdam(Adam):
    """Adam with Nesterov momentum.

    Args:
        params: See `Adam` for the arguments that are not described here, and for the errors.
        momentum_decay: How fast the momentum approaches its final value; not negative.

    Source: Dozat 2016, ICLR workshop, algorithm 1.
    """

    settings: ClassVar[Mapping[str, Setting]] = {**Adam.settings, "momentum_decay": Setting("momentum_decay >= 0", "try 4e-3")}
    state_names = ("step", "mu_product", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super(Adam, self).__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        ensure_averages(state, value)
        state["step"] += 1
        beta1, beta2 = group["betas"]
        now, following = (beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"])) for step in (state["step"], state["step"] + 1))
        product = state["mu_product"] = state.get("mu_product", 1.0) * now
        value, gradient, mean, square = update_averages(value, gradient, state, group)
        corrected = apply_elementwise(operators.mul, square, 1 / (1 - beta2 ** state["step"]))
        denominator = apply_elementwise(sqrt_plus, corrected, group["eps"])
        value = add_step(value, apply_elementwise(divide, gradient, denominator), -group["lr"] * (1 - now) / (1 - product))
        return add_step(value, apply_elementwise(divide, mean, denominator), -group["lr"] * following / (1 - product * following))


class RAdam(Adam):
    """Adam whose steps are rectified while the mean square is uncertain.

    For the arguments and errors see `Adam`.

    Source: Liu et al. 2020, arXiv:1908.03265, algorithm 2.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super(Adam, self).__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        ensure_averages(state, value)
        value, _, mean, square = update_averages(value, gradient, state, group)
        state["step"] += 1
        step, (beta1, beta2) = state["step"], group["betas"]
        correction, longest = 1 - beta2**step, 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction
        rate = -group["lr"] / (1 - beta1**step)
        if length <= 5:
            return add_step(value, mean, rate)
        rectified = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        denominator = apply_elementwise(sqrt_plus, square, group["eps"])
        return add_step(value, apply_elementwise(divide, mean, denominator), rate * rectified * math.sqrt(correction))
