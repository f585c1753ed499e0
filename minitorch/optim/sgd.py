"""Stage 1 - Gradient descent, with momentum if one likes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import minitorch.operators as operators
from minitorch.module import Parameter
from minitorch.optim.elements import decayed, each, nothing_like, plus_scaled, running_mean
from minitorch.optim.optimizer import WEIGHT_DECAY, Optimizer, Setting, learning_rate

MOMENTUM = Setting("momentum from 0 to below 1", "try 0.9", below=1.0)


class SGD(Optimizer):
    """Gradient descent: value - lr · velocity, where velocity = momentum · velocity before + (1 - dampening) · derivative.

    The first velocity is the derivative itself.

    Args:
        parameters: What to move, or groups; see `Optimizer`.
        lr: Learning rate, the length of a step; not negative.
        momentum: How much of its velocity a parameter keeps from step to step, from 0 to below 1.
        dampening: How much of the derivative its velocity is spared, from 0 to below 1.
        weight_decay: How strongly values are drawn to 0, by weight_decay · value in the derivative; not negative.
        nesterov: Whether to step along derivative + momentum · velocity instead: from where the velocity will have led.

    Raises:
        TypeError: If a setting is of another kind.
        ValueError: If one is out of its range, infinite or NaN, or nesterov meets dampening or no momentum.

    Source: Sutskever et al. 2013, On the importance of initialization and momentum in deep learning, section 2, as PyTorch writes it.
    """

    settings: ClassVar[Mapping[str, Setting]] = {
        "lr": learning_rate(0.5),
        "momentum": MOMENTUM,
        "dampening": Setting("dampening from 0 to below 1", "0 leaves it out", below=1.0),
        "weight_decay": WEIGHT_DECAY,
        "nesterov": Setting("nesterov=True or False", "True needs momentum", kind=bool),
    }
    may_remember = ("momentum_buffer",)

    def __init__(
        self,
        parameters: Iterable[Parameter] | Iterable[dict[str, Any]],
        lr: float = 1.0,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(parameters, defaults)

    def check(self, settings: dict[str, Any]) -> None:
        """See `Optimizer.check`."""
        if settings["nesterov"] and (not settings["momentum"] or settings["dampening"]):
            raise ValueError(
                f"SGD expected momentum above 0 and dampening 0 beside nesterov, got {settings['momentum']} and {settings['dampening']}; "
                "try momentum=0.9"
            )

    def moved(self, value: Any, derivative: Any, memory: dict[str, Any], settings: dict[str, Any]) -> Any:
        """See `Optimizer.moved`."""
        momentum, way = settings["momentum"], decayed(derivative, value, settings["weight_decay"])
        if momentum:
            velocity = memory.get("momentum_buffer")
            if velocity is None:
                velocity = nothing_like(value)
                velocity = each(operators.add, velocity, way, out=velocity)
            elif settings["dampening"]:
                velocity = each(running_mean(momentum, 1.0 - settings["dampening"]), velocity, way, out=velocity)
            else:
                velocity = each(plus_scaled(momentum), way, velocity, out=velocity)
            memory["momentum_buffer"] = velocity
            way = each(plus_scaled(momentum), way, velocity) if settings["nesterov"] else velocity
        way = each(operators.mul, way, -settings["lr"])
        return each(operators.add, value, way, out=value)
