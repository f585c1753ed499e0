"""Stage 1 - SGD: gradient descent, optionally with momentum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.optim.arithmetic import add_scaled, add_step, apply_elementwise, apply_weight_decay, running_mean, value_of, zero_state
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate, settings_among

MOMENTUM = Setting("momentum >= 0", "try 0.9")


class SGD(Optimizer):
    """Stochastic gradient descent: value - lr · velocity.

    Each step updates velocity = momentum · velocity + (1 - dampening) · gradient. The first velocity is the gradient.

    Args:
        params: Parameters or Tensors to update, or groups of them. See `Optimizer` for these, the other arguments and the errors.
        lr: Learning rate; not negative. Left out: 1.0 for Parameters that hold a value, as published, and 1e-3 for Tensors, as in PyTorch.
        momentum: Decay rate of the velocity; not negative, and below 1 to converge.
        dampening: Reduction of the gradient's weight in the velocity.
        weight_decay: L2 penalty; weight_decay · value is added to the gradient. Not negative.
        nesterov: Whether to use Nesterov momentum: the step follows gradient + momentum · velocity.

    Raises:
        TypeError: If a setting has the wrong type.
        ValueError: If a setting is out of range, infinite or NaN, or nesterov is combined with dampening or zero momentum.

    Source: Sutskever et al. 2013, On the importance of initialization and momentum in deep learning, section 2, in PyTorch's form.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.5),
        "momentum": MOMENTUM,
        "dampening": Setting("dampening as a finite number", "0 leaves it out", low=-math.inf),
        "weight_decay": WEIGHT_DECAY,
        "nesterov": Setting("nesterov=True or False", "True needs momentum", kind=bool),
    }
    optional_state_names = ("momentum_buffer",)

    def __init__(
        self,
        params: Any,
        lr: float | None = None,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, settings_among(locals()))

    def _validate_settings(self, group: Mapping[str, Any]) -> dict[str, Any]:
        if group["lr"] is None:
            self.defaults["lr"] = 1.0 if any(value_of(x) is not x for x in group["params"]) else 1e-3
        return super()._validate_settings({**group, "lr": self.defaults["lr"]} if group["lr"] is None else group)

    def check(self, settings: dict[str, Any]) -> None:
        """See `Optimizer.check`."""
        if settings["nesterov"] and (not settings["momentum"] or settings["dampening"]):
            raise ValueError(
                f"SGD expected momentum above 0 and dampening 0 beside nesterov, got {settings['momentum']} and {settings['dampening']}; "
                "try momentum=0.9"
            )

    def update(self, value: Any, gradient: Any, state: dict[str, Any], group: dict[str, Any]) -> Any:
        momentum, gradient = group["momentum"], apply_weight_decay(gradient, value, group["weight_decay"])
        direction = gradient
        if momentum:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = zero_state(value)
                velocity = apply_elementwise(operators.add, velocity, gradient, out=velocity)
            elif group["dampening"]:
                velocity = apply_elementwise(running_mean(momentum, 1.0 - group["dampening"]), velocity, gradient, out=velocity)
            else:
                velocity = apply_elementwise(add_scaled(momentum), gradient, velocity, out=velocity)
            state["momentum_buffer"] = velocity
            direction = apply_elementwise(add_scaled(momentum), gradient, velocity) if group["nesterov"] else velocity
        return add_step(value, direction, -group["lr"])
