"""Stage 7 - Optimizer steps on the compiled backend: value, gradient and state are updated in place, in one pass.

Composed of tensor operations, a step of Adam reads and writes ten tensors of the parameter's size. Here each element is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from minitorch.core.kernel import register_kernel
from minitorch.kernels.loop import Loop, loop
from minitorch.kernels.loop import accepts as accepts_fused
from minitorch.optim.adam import Adam, begin_step, ensure_averages
from minitorch.optim.rmsprop import RMSprop, ensure_state
from minitorch.optim.sgd import SGD
from minitorch.tensor_data import Storage

if TYPE_CHECKING:
    from minitorch.tensor import Tensor


def storage(x: Tensor) -> Storage:
    """The storage of a contiguous tensor, from its first element."""
    return x._tensor.tuple()[0]


def run(steps: Loop, value: Tensor, operands: tuple[Any, ...], factors: Callable[[], tuple[Any, ...]]) -> None:
    """Run a loop over a parameter, its gradient and its state, and count the write to value.

    Args:
        steps: The loop.
        value: The parameter.
        operands: Its gradient and its state.
        factors: Computes the settings of this step; called once a step.
    """
    data = value._tensor
    steps.run(data.tuple()[0], operands, factors, data.size)
    data.bump_version()


def accepts(value: Tensor, gradient: Tensor, state: dict[str, Any]) -> bool:
    """Whether these loops can update a parameter: contiguous float32 or float64 tensors on the compiled backend."""
    data, ops = value._tensor, value.backend.ops
    if not accepts_fused(value) or not data.is_contiguous():
        return False
    shape, strides, dtype = data.shape, data.strides, data.dtype
    for other in (gradient, *state.values()):
        if type(other) is int:  # the number of steps
            continue
        x = other._tensor
        if x.shape != shape or x.dtype != dtype or other.backend.ops is not ops or (x.strides != strides and not x.is_contiguous()):
            return False
    return True


# Each loop takes value, gradient and up to two state tensors as flat arrays, then the settings. Slices avoid checks for negative indices.


@cache
def sgd_loop(momentum: bool, nesterov: bool) -> Loop:
    """The loop of SGD, with or without momentum."""

    def plain(out, gradient, velocity, c, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        value, d = out[start:stop], gradient[start:stop]
        for i in range(len(value)):
            value[i] -= rate * (d[i] + decay * value[i])

    def with_momentum(out, gradient, velocity, c, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        momentum, weight = out.dtype.type(factors[2]), out.dtype.type(factors[3])
        value, d, v = out[start:stop], gradient[start:stop], velocity[start:stop]
        for i in range(len(value)):
            x = d[i] + decay * value[i]
            v[i] = momentum * v[i] + weight * x
            value[i] -= rate * (x + momentum * v[i] if nesterov else v[i])

    return loop(with_momentum if momentum else plain, halvings=1)


def sgd(value: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> bool:
    """`SGD.update` of a tensor. Returns whether the arguments were accepted."""
    if not accepts(value, gradient, state):
        return False
    momentum, is_first = group["momentum"] > 0, "momentum_buffer" not in state
    operands = (storage(gradient),)
    if momentum:
        if is_first:
            state["momentum_buffer"] = value.zeros()
        operands = (*operands, storage(state["momentum_buffer"]))

    def factors() -> tuple[float, ...]:
        nonlocal is_first
        weight, is_first = 1.0 if is_first else 1.0 - group["dampening"], False
        return (group["lr"], group["weight_decay"], group["momentum"], weight)[: 4 if momentum else 2]

    run(sgd_loop(momentum, group["nesterov"]), value, operands, factors)
    return True


@cache
def adam_loop(amsgrad: bool) -> Loop:
    """The loop of Adam and AdamW. With amsgrad, the last operand is a pair: averages of the squares, and the largest so far."""

    def adam(out, gradient, exp_avg, squares, factors, start, stop):
        beta1, beta2 = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        weight1, weight2 = out.dtype.type(1 - factors[0]), out.dtype.type(1 - factors[1])
        step_size, eps = out.dtype.type(factors[2]), out.dtype.type(factors[3])
        decay, shrink = out.dtype.type(factors[4]), out.dtype.type(factors[5])
        value, d, mean = out[start:stop], gradient[start:stop], exp_avg[start:stop]
        if amsgrad:
            square, largest = squares[0][start:stop], squares[1][start:stop]
        else:
            square = squares[start:stop]
        for i in range(len(value)):
            x = d[i] + decay * value[i]
            mean[i] = beta1 * mean[i] + weight1 * x
            square[i] = beta2 * square[i] + weight2 * (x * x)
            divisor = square[i]
            if amsgrad:
                divisor = largest[i] = largest[i] if largest[i] > divisor else divisor
            value[i] = shrink * value[i] + step_size * (mean[i] / (math.sqrt(divisor) + eps))

    return loop(adam, halvings=2)


def adam(value: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> bool:
    """`Adam.update` of a tensor, also of AdamW's. Returns whether the arguments were accepted."""
    if not accepts(value, gradient, state):
        return False
    ensure_averages(state, value)
    amsgrad, squares = bool(group.get("amsgrad")), storage(state["exp_avg_sq"])
    if amsgrad:
        if "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = value.zeros()
        squares = squares, storage(state["max_exp_avg_sq"])
    operands = (storage(gradient), storage(state["exp_avg"]), squares)

    def factors() -> tuple[float, ...]:
        step, decay, decoupled = begin_step(state, value, group), group["weight_decay"], group.get("decoupled_weight_decay")
        return (*group["betas"], *step, *((0.0, 1 - group["lr"] * decay) if decoupled else (decay, 1.0)))

    run(adam_loop(amsgrad), value, operands, factors)
    return True


@cache
def rmsprop_loop(centered: bool, momentum: bool) -> Loop:
    """The loop of RMSprop. Its last operand is a pair: averages of the gradient, and velocities."""

    def rmsprop(out, gradient, square_avg, others, factors, start, stop):
        rate, decay = out.dtype.type(factors[0]), out.dtype.type(factors[1])
        alpha, weight = out.dtype.type(factors[2]), out.dtype.type(1 - factors[2])
        eps, momentum_factor = out.dtype.type(factors[3]), out.dtype.type(factors[4])
        zero = out.dtype.type(0)
        value, d, square = out[start:stop], gradient[start:stop], square_avg[start:stop]
        mean, velocity = others[0][start:stop], others[1][start:stop]
        for i in range(len(value)):
            x = d[i] + decay * value[i]
            square[i] = alpha * square[i] + weight * (x * x)
            variance = square[i]
            if centered:
                mean[i] = alpha * mean[i] + weight * x
                variance = variance - mean[i] * mean[i]
                variance = zero if variance < zero else variance
            step = x / (math.sqrt(variance) + eps)
            if momentum:
                velocity[i] = momentum_factor * velocity[i] + step
                step = velocity[i]
            value[i] -= rate * step

    return loop(rmsprop, halvings=2)


def rmsprop(value: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> bool:
    """`RMSprop.update` of a tensor. Returns whether the arguments were accepted."""
    if not accepts(value, gradient, state):
        return False
    ensure_state(state, value, group)
    square = storage(state["square_avg"])
    centered, momentum = group["centered"], group["momentum"] > 0
    others = (storage(state["grad_avg"]) if centered else square, storage(state["momentum_buffer"]) if momentum else square)

    def factors() -> tuple[float, ...]:
        state["step"] = state.get("step", 0) + 1
        return tuple([group[name] for name in ("lr", "weight_decay", "alpha", "eps", "momentum")])

    run(rmsprop_loop(centered, momentum), value, (storage(gradient), square, others), factors)
    return True


for rule, kernel in ((SGD, sgd), (Adam, adam), (RMSprop, rmsprop)):
    register_kernel(rule.update, "fast", kernel)
