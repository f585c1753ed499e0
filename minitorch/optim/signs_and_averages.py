"""Stage 7 - Rprop, which uses only the signs of gradients, and ASGD, which averages the parameters of all steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.optim.arithmetic import apply_elementwise, apply_weight_decay, zero_state
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate, settings_among


@cache
def grow_or_shrink(etas: tuple[float, float], limits: tuple[float, float]) -> Callable[[float, float], float]:
    """The next step size, from the last one and the product of two successive gradients: smaller if their signs differ."""
    (shrink, grow), (low, high) = etas, limits

    def fn(size: float, product: float) -> float:
        next_size = size * shrink if product < 0 else size * grow if product > 0 else size
        return low if next_size < low else high if next_size > high else next_size

    return fn


def keep_unless_negative(gradient: float, product: float) -> float:
    """The gradient, or 0 where the product is negative."""
    return 0.0 if product < 0 else gradient


def against_sign(size: float, gradient: float) -> float:
    """The step size with the sign opposite to the gradient's."""
    return -size if gradient > 0 else size if gradient < 0 else 0.0


class Rprop(Optimizer):
    """Resilient backpropagation: each element has a step size, which grows while the sign of its gradient stays.

    An element whose gradient has just changed its sign makes no step. For gradients of the whole data set, not of batches.

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Initial step size; not negative.
        etas: Factors of the step size after a change of sign and without one: below 1 and above 1.
        step_sizes: Smallest and largest step size; not negative.

    Source: Riedmiller and Braun 1993, ICNN, section II; a step is not undone, as in PyTorch.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.01),
        "etas": Setting("two etas >= 0", "try (0.5, 1.2)", kind=tuple),
        "step_sizes": Setting("two step_sizes >= 0", "try (1e-6, 50)", kind=tuple),
    }
    state_names = ("step", "prev", "step_size")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: tuple[float, float] = (1 / 2, 6 / 5),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, settings_among(locals()))
        if not etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop expected etas below and above 1, got {etas}; try (0.5, 1.2)")

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not state:
            start = apply_elementwise(operators.add, zero_state(value), group["lr"])
            state.update(step=0, prev=zero_state(value), step_size=start)
        state["step"] += 1
        product = apply_elementwise(operators.mul, gradient, state["prev"])
        sizes = grow_or_shrink(tuple(group["etas"]), tuple(group["step_sizes"]))
        size = state["step_size"] = apply_elementwise(sizes, state["step_size"], product, out=state["step_size"])
        state["prev"] = apply_elementwise(keep_unless_negative, gradient, product)
        return apply_elementwise(operators.add, value, apply_elementwise(against_sign, size, state["prev"]), out=value)


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: value · (1 - lambd · eta) - eta · gradient, and the mean of the values in the state "ax".

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate; not negative. In step t, eta is lr / (1 + lambd · lr · t)^alpha.
        lambd: Decay of the values; not negative.
        alpha: Exponent of eta; not negative.
        t0: Number of steps before averaging starts; not negative.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.

    Source: Polyak and Juditsky 1992, SIAM Journal on Control and Optimization 30, eq. 2.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.01),
        "lambd": Setting("lambd >= 0", "try 1e-4"),
        "alpha": Setting("alpha >= 0", "try 0.75"),
        "t0": Setting("t0 >= 0", "try 1e6"),
        "weight_decay": WEIGHT_DECAY,
    }
    state_names = ("step", "eta", "mu", "ax")

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 3 / 4,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not state:
            state.update(step=0, eta=group["lr"], mu=1.0, ax=zero_state(value))
        state["step"] += 1
        eta, mu = state["eta"], state["mu"]
        step = apply_elementwise(operators.mul, apply_weight_decay(gradient, value, group["weight_decay"]), -eta)
        kept = apply_elementwise(operators.mul, value, 1 - group["lambd"] * eta)
        value = apply_elementwise(operators.add, kept, step, out=value)
        change = apply_elementwise(operators.add, value, apply_elementwise(operators.mul, state["ax"], -1.0))
        state["ax"] = apply_elementwise(operators.add, state["ax"], apply_elementwise(operators.mul, change, mu))
        state["eta"] = group["lr"] / (1 + group["lambd"] * group["lr"] * state["step"]) ** group["alpha"]
        state["mu"] = 1 / max(1, state["step"] - group["t0"])
        return value
