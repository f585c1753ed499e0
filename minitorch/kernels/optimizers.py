"""Stage 5 - Steps of optimizers on the compiled backend: value, gradient and memories in one pass, written where they lie.

Composed of tensor operations, a step of Adam goes through ten tensors of the parameter's size one after the other. Here each number is
read once.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import Loop, loop
from minitorch.optim.adam import Adam, counted
from minitorch.optim.adamw import AdamW
from minitorch.optim.optimizer import IN_ONE_PASS
from minitorch.optim.rmsprop import RMSprop, prepared
from minitorch.optim.sgd import SGD
from minitorch.tensor_data import Storage

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def storage(x: Tensor) -> Storage:
    """The elements of a tensor without gaps, where they lie."""
    return x._tensor.tuple()[0]


def run(steps: Loop, value: Tensor, operands: tuple[Any, ...], factors: tuple[Any, ...]) -> None:
    """Have a loop go through a parameter, its gradient and its memories; what it does to value is counted as a write."""
    data = value._tensor
    steps.run(data.tuple()[0], operands, factors, data.size)
    data.bump_version()


def takes(value: Tensor, gradient: Tensor, memory: dict[str, Any]) -> bool:
    """Whether these loops can move a parameter: float32 or float64 on the compiled backend, and no gaps anywhere."""
    data, ops = value._tensor, value.backend.ops
    if not fusible(value) or not data.is_contiguous():
        return False
    shape, strides, dtype = data.shape, data.strides, data.dtype
    for other in (gradient, *memory.values()):
        if type(other) is int:  # how many steps it has taken
            continue
        x = other._tensor
        if x.shape != shape or x.dtype != dtype or other.backend.ops is not ops or (x.strides != strides and not x.is_contiguous()):
            return False
    return True


# Each loop takes value, gradient and up to two memories as flat arrays, then the settings. A slice of an array counts from 0.


@cache
def sgd_loop(momentum: bool, nesterov: bool) -> Loop:
    """Gradient descent without or with momentum."""

    def plain(out, gradient, velocity, c, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        value, d = out[start:stop], gradient[start:stop]
        for i in range(len(value)):
            way = d[i] + decay * value[i]
            value[i] -= rate * way

    def moving(out, gradient, velocity, c, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        kept, rest = out.dtype.type(factors[2]), out.dtype.type(factors[3])
        value, d, v = out[start:stop], gradient[start:stop], velocity[start:stop]
        for i in range(len(value)):
            way = d[i] + decay * value[i]
            v[i] = kept * v[i] + rest * way
            value[i] -= rate * (way + kept * v[i] if nesterov else v[i])

    return loop(moving if momentum else plain, halvings=1)


def sgd(value: Tensor, gradient: Tensor, memory: dict[str, Any], settings: dict[str, Any]) -> bool:
    """`SGD.moved` of a tensor; whether it could be done."""
    if not takes(value, gradient, memory):
        return False
    momentum, factors = settings["momentum"], (settings["lr"], settings["weight_decay"])
    operands = (storage(gradient),)
    if momentum:
        rest = 1.0 - settings["dampening"]
        if "momentum_buffer" not in memory:
            memory["momentum_buffer"] = value.zeros()
            rest = 1.0
        operands, factors = (*operands, storage(memory["momentum_buffer"])), (*factors, momentum, rest)
    run(sgd_loop(momentum > 0, settings["nesterov"]), value, operands, factors)
    return True


@cache
def adam_loop() -> Loop:
    """A step of Adam, with decay in the derivative or beside it."""

    def adam(out, gradient, exp_avg, exp_avg_sq, factors, start, stop):
        beta1, beta2 = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        rest1, rest2 = out.dtype.type(1 - factors[0]), out.dtype.type(1 - factors[1])
        way, eps = out.dtype.type(factors[2]), out.dtype.type(factors[3])
        decay, left = out.dtype.type(factors[4]), out.dtype.type(factors[5])
        value, d, mean, square = out[start:stop], gradient[start:stop], exp_avg[start:stop], exp_avg_sq[start:stop]
        for i in range(len(value)):
            x = d[i] + decay * value[i]
            mean[i] = beta1 * mean[i] + rest1 * x
            square[i] = beta2 * square[i] + rest2 * (x * x)
            value[i] = left * value[i] + way * (mean[i] / (math.sqrt(square[i]) + eps))

    return loop(adam, halvings=2)


def adam(value: Tensor, gradient: Tensor, memory: dict[str, Any], settings: dict[str, Any], beside: bool = False) -> bool:
    """`Adam.moved` of a tensor; whether it could be done.

    Args:
        value: The parameter.
        gradient: Its gradient.
        memory: What is remembered for it.
        settings: Of its group.
        beside: Whether the decay stands beside the step, as in AdamW.
    """
    if not takes(value, gradient, memory):
        return False
    factors, decay = counted(memory, value, settings), settings["weight_decay"]
    decays = (0.0, 1 - settings["lr"] * decay) if beside else (decay, 1.0)
    operands = tuple([storage(x) for x in (gradient, memory["exp_avg"], memory["exp_avg_sq"])])
    run(adam_loop(), value, operands, (*settings["betas"], *factors, *decays))
    return True


def adamw(value: Tensor, gradient: Tensor, memory: dict[str, Any], settings: dict[str, Any]) -> bool:
    """`AdamW.moved` of a tensor; whether it could be done."""
    return adam(value, gradient, memory, settings, beside=True)


@cache
def rmsprop_loop(centered: bool, momentum: bool) -> Loop:
    """A step of RMSprop. Of its memories the last operand is a pair: the means, and the velocities."""

    def rmsprop(out, gradient, square_avg, others, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        alpha, rest = out.dtype.type(factors[2]), out.dtype.type(1 - factors[2])
        eps, kept = out.dtype.type(factors[3]), out.dtype.type(factors[4])
        nothing = out.dtype.type(0)
        value, d, square = out[start:stop], gradient[start:stop], square_avg[start:stop]
        mean, velocity = others[0][start:stop], others[1][start:stop]
        for i in range(len(value)):
            x = d[i] + decay * value[i]
            square[i] = alpha * square[i] + rest * (x * x)
            size = square[i]
            if centered:
                mean[i] = alpha * mean[i] + rest * x
                size = size - mean[i] * mean[i]
                size = nothing if size < nothing else size
            way = x / (math.sqrt(size) + eps)
            if momentum:
                velocity[i] = kept * velocity[i] + way
                way = velocity[i]
            value[i] -= rate * way

    return loop(rmsprop, halvings=2)


def rmsprop(value: Tensor, gradient: Tensor, memory: dict[str, Any], settings: dict[str, Any]) -> bool:
    """`RMSprop.moved` of a tensor; whether it could be done."""
    if not takes(value, gradient, memory):
        return False
    prepared(memory, value, settings)
    square = storage(memory["square_avg"])
    centered, momentum = settings["centered"], settings["momentum"] > 0
    others = (storage(memory["grad_avg"]) if centered else square, storage(memory["momentum_buffer"]) if momentum else square)
    factors = tuple([settings[name] for name in ("lr", "weight_decay", "alpha", "eps", "momentum")])
    run(rmsprop_loop(centered, momentum), value, (storage(gradient), square, others), factors)
    return True


IN_ONE_PASS.update({SGD.moved: sgd, Adam.moved: adam, AdamW.moved: adamw, RMSprop.moved: rmsprop})
