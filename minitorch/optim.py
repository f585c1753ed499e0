"""Stage 1 - Optimizers: how parameters follow their derivatives downhill."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import minitorch.operators as operators
from minitorch.module import Parameter


class Optimizer:
    """What all optimizers share: the parameters they move, and what they remember from step to step.

    Args:
        parameters: The parameters, as `module.parameters()` gives them.

    Attributes:
        settings: Names of the attributes that `state` saves, such as lr.
        memories: Names of what is remembered for each parameter.

    Raises:
        TypeError: If one is not a Parameter.
        ValueError: If there are none.
    """

    settings: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer expected at least one parameter, got none; pass module.parameters()")
        for parameter in self.parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"an optimizer expected Parameters, got {type(parameter).__name__}; pass module.parameters()")
        self._kept: dict[str, Any] = {}  # "mean.2" of the third parameter: a number, or a tensor that nobody else holds

    def zero_grad(self) -> None:
        """Forget the derivatives that have been gathered."""
        for parameter in self.parameters:
            for kept in ("derivative", "grad"):
                if hasattr(parameter.value, kept):
                    setattr(parameter.value, kept, None)

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        raise NotImplementedError("Optimizer has no step of its own; use SGD, or define step(self) in the subclass")

    def _moving(self) -> Iterator[tuple[int, Any, Any]]:
        """The parameters that have a derivative: number, value and derivative, as numbers for a Scalar, else as tensors."""
        for number, parameter in enumerate(self.parameters):
            value = parameter.value
            if getattr(value, "derivative", None) is not None:  # a Scalar
                yield number, value.data, value.derivative
            elif getattr(value, "grad", None) is not None:  # a Tensor
                yield number, value.detach(), value.grad

    def _move(self, number: int, moved: Any) -> None:
        """Give a parameter its new value, a number or a tensor of its own."""
        parameter = self.parameters[number]
        parameter.update(moved if hasattr(moved, "f") else type(parameter.value)(moved))

    # Saving and going on

    def state(self) -> dict[str, Any]:
        """Settings and memories, for a checkpoint: arrays, which are copies, and what JSON can hold."""
        settings = {name: getattr(self, name) for name in self.settings}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        kept = {name: value.to_numpy() if hasattr(value, "f") else value for name, value in self._kept.items()}
        return {"optimizer": type(self).__name__, **plain, **kept}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state`, that of the same kind of optimizer over parameters of the same shapes. Without an error all of it is taken.

        Raises:
            ValueError: If it is that of another optimizer, lacks a setting, or a memory does not fit its parameter.
        """
        name = type(self).__name__
        if state.get("optimizer") != name:
            raise ValueError(f"{name}.restore expected the state of {name}, got that of {state.get('optimizer')}; build that optimizer")
        missing = [setting for setting in self.settings if setting not in state]
        if missing:
            raise ValueError(f"{name}.restore expected {', '.join(self.settings)}, got a state without {', '.join(missing)}")
        kept = {key: self._remembered(key, value) for key, value in state.items() if key not in ("optimizer", *self.settings)}
        for setting in self.settings:
            setattr(self, setting, tuple(state[setting]) if isinstance(state[setting], list) else state[setting])
        self._kept = kept

    def _remembered(self, key: str, value: Any) -> Any:
        """A memory out of a state, as `step` keeps it."""
        memory, _, number = key.partition(".")
        if memory not in self.memories or not number.isdecimal() or int(number) >= len(self.parameters):
            raise ValueError(
                f"{type(self).__name__}.restore expected {' and '.join(self.memories) or 'no memories'} of {len(self.parameters)} "
                f"parameters, got {key!r}; build the optimizer over the parameters that it was saved with"
            )
        parameter = self.parameters[int(number)].value
        if not hasattr(value, "shape") or not hasattr(parameter, "f"):
            return value
        if value.shape != parameter.shape or value.dtype != parameter.dtype:
            raise ValueError(
                f"{type(self).__name__}.restore expected {key} of shape {parameter.shape} and {parameter.dtype.name}, as its parameter, "
                f"got {value.shape} and {value.dtype.name}"
            )
        kept = parameter.detach().zeros()
        kept[...] = value
        return kept


class SGD(Optimizer):
    """Gradient descent: value - lr · velocity, where velocity = momentum · velocity before + derivative + weight_decay · value.

    A step gives each parameter a new value object, whose derivative is empty; what holds the old one keeps its graph.

    Args:
        parameters: What to move.
        lr: Learning rate, the length of a step; not negative.
        momentum: How much of its velocity a parameter keeps from step to step, from 0 to below 1.
        weight_decay: How strongly values are drawn to 0; not negative.

    Raises:
        ValueError: If one of them is out of its range, infinite or NaN.
    """

    settings = ("lr", "momentum", "weight_decay")
    memories = ("velocity",)

    def __init__(self, parameters: Sequence[Parameter], lr: float = 1.0, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters)
        if not 0.0 <= lr < math.inf:
            raise ValueError(f"SGD expected a learning rate lr >= 0, got {lr}; try 0.5")
        if not 0.0 <= momentum < 1.0:
            raise ValueError(f"SGD expected momentum from 0 to below 1, got {momentum}; try 0.9")
        _check_decay(weight_decay, "SGD")
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        for number, value, derivative in self._moving():
            velocity = decayed(derivative, value, self.weight_decay)
            if self.momentum:
                key = f"velocity.{number}"
                before = self._kept.get(key, nothing_like(value))
                velocity = self._kept[key] = each(plus_scaled(self.momentum), velocity, before, out=before)
            way = each(operators.mul, velocity, -self.lr)
            self._move(number, each(operators.add, value, way, out=way))


class Adam(Optimizer):
    """Gradient descent that measures every element's steps by the size that its derivative has had.

    With mean and square the running means of the derivative and of its square, begun at 0, a step is
    value - lr · mean' / (√square' + eps), where mean' and square' are divided by what the running mean of ones would have reached.

    Args:
        parameters: What to move.
        lr: Learning rate, about the most that an element moves in a step; not negative.
        betas: How much of its running mean of derivatives and of squares an element keeps from step to step, from 0 to below 1.
        eps: Added to the root, so that nothing is divided by 0; positive.
        weight_decay: How strongly values are drawn to 0, by weight_decay · value in the derivative; not negative.

    Raises:
        ValueError: If one of them is out of its range, infinite or NaN.

    Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
    """

    settings = ("lr", "betas", "eps", "weight_decay")
    memories = ("steps", "mean", "square")

    def __init__(
        self,
        parameters: Sequence[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters)
        if not 0.0 <= lr < math.inf:
            raise ValueError(f"Adam expected a learning rate lr >= 0, got {lr}; try 0.001")
        if len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
            raise ValueError(f"Adam expected two betas from 0 to below 1, got {betas}; try (0.9, 0.999)")
        if not 0.0 < eps < math.inf:
            raise ValueError(f"Adam expected eps > 0, got {eps}; try 1e-8")
        _check_decay(weight_decay, "Adam")
        self.lr, self.betas, self.eps, self.weight_decay = lr, tuple(betas), eps, weight_decay

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        beta1, beta2 = self.betas
        kept = self._kept
        for number, value, derivative in self._moving():
            keys = steps, mean, square = f"steps.{number}", f"mean.{number}", f"square.{number}"
            if steps not in kept:
                kept.update(zip(keys, (0, nothing_like(value), nothing_like(value)), strict=True))
            derivative = decayed(derivative, value, self.weight_decay)
            kept[steps] += 1
            kept[mean] = each(running_mean(beta1), kept[mean], derivative, out=kept[mean])
            kept[square] = each(running_square(beta2), kept[square], derivative, out=kept[square])
            # √(square / of_ones) + eps is (√square + eps · √of_ones) / √of_ones, whose last factor joins the others
            root_of_ones = math.sqrt(1 - beta2 ** kept[steps])
            root = each(root_plus, kept[square], self.eps * root_of_ones)
            way = each(quotient, kept[mean], root, out=root)
            way = each(operators.mul, way, -self.lr * root_of_ones / (1 - beta1 ** kept[steps]), out=way)
            self._move(number, each(operators.add, value, way, out=way))


def _check_decay(weight_decay: float, name: str) -> None:
    if not 0.0 <= weight_decay < math.inf:
        raise ValueError(f"{name} expected weight_decay >= 0, got {weight_decay}; 0 leaves it out")


# One rule for numbers and for tensors. The functions of two numbers are made once for every setting: a backend may compile them.


def each(fn: Callable[[float, float], float], a: Any, b: Any, out: Any = None) -> Any:
    """fn of two numbers, or of a tensor and another or a number, element by element; tensors write it into out, perhaps one of them."""
    return a.f.zip(fn)(a, a._ensure_tensor(b), out) if hasattr(a, "f") else fn(a, b)


def nothing_like(value: Any) -> Any:
    """Zero, or zeros in a tensor like value."""
    return value.zeros() if hasattr(value, "f") else 0.0


def decayed(derivative: Any, value: Any, weight_decay: float) -> Any:
    """The derivative of what is minimised with weight_decay / 2 · value² added to it."""
    return each(plus_scaled(weight_decay), derivative, value) if weight_decay else derivative


@cache
def plus_scaled(factor: float) -> Callable[[float, float], float]:
    """The function x + factor · y."""

    def fn(x: float, y: float) -> float:
        return x + factor * y

    return fn


@cache
def running_mean(beta: float) -> Callable[[float, float], float]:
    """The function that makes of a running mean and the next number the running mean that follows."""
    rest = 1.0 - beta

    def fn(mean: float, x: float) -> float:
        return beta * mean + rest * x

    return fn


@cache
def running_square(beta: float) -> Callable[[float, float], float]:
    """As `running_mean`, of squares."""
    rest = 1.0 - beta

    def fn(mean: float, x: float) -> float:
        return beta * mean + rest * (x * x)

    return fn


def root_plus(x: float, y: float) -> float:
    """√x + y."""
    return math.sqrt(x) + y


def quotient(x: float, y: float) -> float:
    """x / y."""
    return x / y
