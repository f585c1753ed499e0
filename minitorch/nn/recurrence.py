"""Stage 5 - The recurrences of networks for sequences: step by step of tensor operations, and all steps in one function where compiled.

A step makes new states from what one element of the sequence gives (`given`: its product with weights, a row of gates for each sample) and
from the states before it. Where kernels are compiled no graph of steps is kept, and the gradient of the weights is one product in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.creation import stack
from minitorch.kernels.jit import jitable
from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import Loop, flat, loop
from minitorch.kernels.vector_math import sigmoid, tanh
from minitorch.nn.linear import linear
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

States = tuple["Tensor", ...]
"""What goes from one step to the next, each of shape (N, H): the hidden state, and of an LSTM the cell behind it."""


# One step, of tensor operations. known is the product of weights with the hidden state.


def tanh_step(given: Tensor, known: Tensor, states: States) -> States:
    """tanh(given + known)."""
    return ((given + known).tanh(),)


def relu_step(given: Tensor, known: Tensor, states: States) -> States:
    """relu(given + known)."""
    return ((given + known).relu(),)


def lstm_step(given: Tensor, known: Tensor, states: States) -> States:
    """Gates i, f, g and o; the cell becomes f · cell + i · g, the hidden state o · tanh(cell)."""
    i, f, g, o = (given + known).split(given.shape[1] // 4, 1)
    cell = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(given: Tensor, known: Tensor, states: States) -> States:
    """Gates r and z; n = tanh(given + r · known); the hidden state becomes (1 - z) · n + z · itself."""
    size = given.shape[1] // 3
    (r, z, n), (known_r, known_z, known_n) = given.split(size, 1), known.split(size, 1)
    r, z = (r + known_r).sigmoid(), (z + known_z).sigmoid()
    n = (n + r * known_n).tanh()
    return (n + z * (states[0] - n),)


# One step and its gradient, compiled. A task is a sample; sizes are N and H. states holds the states before the step, then those after it.
# kept takes what the gradient needs. carried holds what flows into the states after the step, and takes what flows into those before it,
# without what goes through known. grads takes what flows into given, and of a GRU then what flows into known, which elsewhere is the same.
# Rows are slices, and each loop writes one of them: then the compiler makes vectors of them.


@jitable
def sigmoids(out, a, b):
    """sigmoid(a + b)."""
    for j in range(len(out)):
        out[j] = sigmoid(a[j] + b[j])


@jitable
def tanhs(out, a, b):
    """tanh(a + b)."""
    for j in range(len(out)):
        out[j] = tanh(a[j] + b[j])


@jitable
def through_sigmoid(out, y, d, factor):
    """d · factor · y · (1 - y), where y is a sigmoid."""
    one = y.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * factor[j] * y[j] * (one - y[j])


@jitable
def through_tanh(out, y, d, factor):
    """d · factor · (1 - y²), where y is a tanh."""
    one = y.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * factor[j] * (one - y[j] * y[j])


@jitable
def product(out, a, b):
    """a · b."""
    for j in range(len(out)):
        out[j] = a[j] * b[j]


def tanh_forward(states, given, known, kept, sizes, start, stop):
    """`tanh_step`."""
    samples, size = sizes
    tanhs(states[(samples + start) * size : (samples + stop) * size], given[start * size : stop * size], known[start * size : stop * size])


def tanh_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    rows = slice(start * size, stop * size)
    y, d, out, one = states[samples * size :][rows], carried[rows], grads[rows], states.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * (one - y[j] * y[j])
    d[:] = 0


def relu_forward(states, given, known, kept, sizes, start, stop):
    """`relu_step`."""
    samples, size = sizes
    rows, nothing = slice(start * size, stop * size), states.dtype.type(0)
    a, b, out = given[rows], known[rows], states[samples * size :][rows]
    for j in range(len(out)):
        x = a[j] + b[j]
        out[j] = x if x > 0 else nothing


def relu_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    rows, nothing = slice(start * size, stop * size), states.dtype.type(0)
    y, d, out = states[samples * size :][rows], carried[rows], grads[rows]
    for j in range(len(out)):
        out[j] = d[j] if y[j] > 0 else nothing
    d[:] = 0


def lstm_forward(states, given, known, kept, sizes, start, stop):
    """`lstm_step`; keeps the four gates, and tanh of the cell."""
    samples, size = sizes
    block = samples * size
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 4 * task * size
        a, b, gates = given[gate : gate + 4 * size], known[gate : gate + 4 * size], kept[5 * task * size : 5 * (task + 1) * size]
        before, hidden, cell = states[block:][row], states[2 * block :][row], states[3 * block :][row]
        sigmoids(gates[: 2 * size], a[: 2 * size], b[: 2 * size])
        tanhs(gates[2 * size : 3 * size], a[2 * size : 3 * size], b[2 * size : 3 * size])
        sigmoids(gates[3 * size : 4 * size], a[3 * size :], b[3 * size :])
        i, f, g, o, squashed = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :], gates[4 * size :]
        for j in range(size):
            cell[j] = f[j] * before[j] + i[j] * g[j]
        for j in range(size):
            squashed[j] = tanh(cell[j])
        product(hidden, o, squashed)


def lstm_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    block, d, one = samples * size, np.empty(size, states.dtype), states.dtype.type(1)
    for task in range(start, stop):
        row = slice(task * size, (task + 1) * size)
        gates, out = kept[5 * task * size : 5 * (task + 1) * size], grads[4 * task * size : 4 * (task + 1) * size]
        i, f, g, o, squashed = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :], gates[4 * size :]
        d_hidden, d_cell = carried[row], carried[block:][row]
        for j in range(size):
            d[j] = d_cell[j] + d_hidden[j] * o[j] * (one - squashed[j] * squashed[j])
        through_sigmoid(out[:size], i, d, g)
        through_sigmoid(out[size : 2 * size], f, d, states[block:][row])
        through_tanh(out[2 * size : 3 * size], g, d, i)
        through_sigmoid(out[3 * size :], o, d_hidden, squashed)
        product(d_cell, d, f)
        d_hidden[:] = 0


def gru_forward(states, given, known, kept, sizes, start, stop):
    """`gru_step`; keeps r, z, n and the third part of known."""
    samples, size = sizes
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 3 * task * size
        a, b, gates = given[gate : gate + 3 * size], known[gate : gate + 3 * size], kept[4 * task * size : 4 * (task + 1) * size]
        before, hidden = states[row], states[samples * size :][row]
        sigmoids(gates[: 2 * size], a[: 2 * size], b[: 2 * size])
        r, z, n, other = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :]
        other[:] = b[2 * size :]
        product(n[:size], r, other)
        tanhs(n[:size], a[2 * size :], n[:size])
        for j in range(size):
            hidden[j] = n[j] + z[j] * (before[j] - n[j])


def gru_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    other, line, one = 3 * samples * size, np.empty(size, states.dtype), states.dtype.type(1)
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 3 * task * size
        gates, before, d = kept[4 * task * size : 4 * (task + 1) * size], states[row], carried[row]
        r, z, n, known = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :]
        into_given, into_known = grads[gate : gate + 3 * size], grads[other + gate : other + gate + 3 * size]
        for j in range(size):
            line[j] = one - z[j]
        d_n = into_given[2 * size :]
        through_tanh(d_n, n, d, line)
        product(into_known[2 * size :], d_n, r)
        through_sigmoid(into_given[:size], r, d_n, known)
        for j in range(size):
            line[j] = before[j] - n[j]
        through_sigmoid(into_given[size : 2 * size], z, d, line)
        into_known[: 2 * size] = into_given[: 2 * size]
        product(d, d, z)


class Kind(NamedTuple):
    """A kind of recurrence.

    Attributes:
        gates: Rows of weights for each number of the hidden state.
        states: How many states go from step to step.
        step: One step.
        forward: The same, compiled.
        backward: Its gradient.
        kept: Numbers that forward keeps for each of the hidden state.
        inflows: 2 if what flows into known is not what flows into given.
    """

    gates: int
    states: int
    step: Callable[[Tensor, Tensor, States], States]
    forward: Loop
    backward: Loop
    kept: int = 0
    inflows: int = 1


KINDS = {
    "tanh": Kind(1, 1, tanh_step, loop(tanh_forward, 3), loop(tanh_backward)),
    "relu": Kind(1, 1, relu_step, loop(relu_forward), loop(relu_backward)),
    "lstm": Kind(4, 2, lstm_step, loop(lstm_forward, 3), loop(lstm_backward, 1), 5),
    "gru": Kind(3, 1, gru_step, loop(gru_forward, 3), loop(gru_backward, 1), 4, 2),
}


# All steps


class Recurrence(Function):
    """The states after every step, shape (L, states, N, H)."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *states: Tensor) -> Tensor:
        made, (length, samples, _), size, dtype = KINDS[kind], given.shape, weight.shape[1], given.dtype
        found = np.empty((length + 1, made.states, samples, size), dtype)
        kept = np.empty((length, samples * made.kept * size), dtype)
        for i, state in enumerate(states):
            found[0, i] = state._tensor.array()
        rows, row = flat(given).reshape(length, -1), None if bias is None else flat(bias)
        if row is not None and made.inflows == 1:  # it may be added to the other part once for all
            rows, row = (rows.reshape(-1, len(row)) + row).reshape(length, -1), None
        across, multiply = weight.t().contiguous(), given.f.matrix_multiply  # one copy, not one for each step
        for t in range(length):
            known = flat(multiply(given._like(TensorData(found[t, 0].reshape(-1), (samples, size))), across))
            if row is not None:
                known.reshape(samples, -1)[:] += row
            made.forward.run(found[t : t + 2].reshape(-1), (rows[t], known, kept[t]), (samples, size), samples)
        out = given._like(TensorData(found[1:].reshape(-1), found[1:].shape))
        ctx.save_for_backward(given, weight, bias, kind, found, kept, out)  # out: nobody may write into it, for found shares its numbers
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        given, weight, bias, kind, found, kept, _ = ctx.saved_values
        made, (length, samples, gates), size = KINDS[kind], given.shape, weight.shape[1]
        arriving = flat(grad_output).reshape(length, -1)
        grads = np.empty((length, made.inflows, samples, gates), given.dtype)
        carried = np.zeros(made.states * samples * size, given.dtype)
        for t in reversed(range(length)):
            carried += arriving[t]
            made.backward.run(grads[t].reshape(-1), (found[t : t + 2].reshape(-1), kept[t], carried), (samples, size), samples)
            into_known = given._like(TensorData(grads[t, -1].reshape(-1), (samples, gates)))
            carried[: samples * size] += flat(given.f.matrix_multiply(into_known, weight))
        into_known = given._like(TensorData(np.ascontiguousarray(grads[:, -1]).reshape(-1), (length * samples, gates)))
        hidden = given._like(TensorData(np.ascontiguousarray(found[:-1, 0]).reshape(-1), (length * samples, size)))
        into_given = np.ascontiguousarray(grads[:, 0]).reshape(-1)
        into_states = carried.reshape(made.states, samples * size)
        return (
            given._like(TensorData(into_given, given.shape)),
            into_known.t() @ hidden,
            None if bias is None else into_known.sum(0, keepdim=False),
            None,
            *[given._like(TensorData(numbers.copy(), (samples, size))) for numbers in into_states],
        )

    @staticmethod
    def composed(given: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *states: Tensor) -> Tensor:
        """The same of operations on tensors."""
        found = []
        for t in range(given.shape[0]):
            states = KINDS[kind].step(given[t], linear(states[0], weight, bias), states)
            found.append(stack(states))
        return stack(found)


def recurrence(given: Tensor, weight: Tensor, bias: Tensor | None, kind: str, states: States) -> Tensor:
    """The states after every step, shape (L, states, N, H).

    Args:
        given: What each element of the sequence gives, shape (L, N, gates · H), with L of at least 1.
        weight: What the hidden state is multiplied with, shape (gates · H, H).
        bias: Added to that product, shape (gates · H,).
        kind: One of `KINDS`.
        states: Before the first step.
    """
    alike = all(x is None or x.dtype == given.dtype for x in (weight, bias, *states))
    run = Recurrence.apply if fusible(given) and given.size and alike else Recurrence.composed
    return run(given, weight, bias, kind, *states)
