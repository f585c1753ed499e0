"""Stage 5 - The recurrences of networks for sequences: step by step of tensor operations, and all steps in one function where compiled.

A step makes new states from what one element of the sequence gives (`given`: its product with weights, a row of gates for each sample) and
from the states before it. Where kernels are compiled no graph of steps is kept, and the gradient of the weights is one product in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.creation import stack
from minitorch.fast_math import sigmoid, tanh
from minitorch.nn.fused import fusible
from minitorch.nn.linear import linear
from minitorch.nn.loops import Loop, flat, loop
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


def tanh_forward(states, given, known, kept, sizes, start, stop):
    """`tanh_step`."""
    samples, size = sizes
    for row in range(start * size, stop * size):
        states[samples * size + row] = tanh(given[row] + known[row])


def tanh_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    for row in range(start * size, stop * size):
        y = states[samples * size + row]
        grads[row] = carried[row] * (1 - y * y)
        carried[row] = 0


def relu_forward(states, given, known, kept, sizes, start, stop):
    """`relu_step`."""
    samples, size = sizes
    for row in range(start * size, stop * size):
        x = given[row] + known[row]
        states[samples * size + row] = x if x > 0 else 0


def relu_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    for row in range(start * size, stop * size):
        grads[row] = carried[row] if states[samples * size + row] > 0 else 0
        carried[row] = 0


def lstm_forward(states, given, known, kept, sizes, start, stop):
    """`lstm_step`; keeps the four gates."""
    samples, size = sizes
    cells, after = samples * size, 2 * samples * size
    for task in range(start, stop):
        row, gate = task * size, 4 * task * size
        a, b, gates = given[gate : gate + 4 * size], known[gate : gate + 4 * size], kept[gate : gate + 4 * size]
        for j in range(2 * size):
            gates[j] = sigmoid(a[j] + b[j])
        for j in range(2 * size, 3 * size):
            gates[j] = tanh(a[j] + b[j])
        for j in range(3 * size, 4 * size):
            gates[j] = sigmoid(a[j] + b[j])
        for j in range(size):
            cell = gates[size + j] * states[cells + row + j] + gates[j] * gates[2 * size + j]
            states[after + cells + row + j] = cell
            states[after + row + j] = gates[3 * size + j] * tanh(cell)


def lstm_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    cells, after = samples * size, 2 * samples * size
    for task in range(start, stop):
        row, gate = task * size, 4 * task * size
        gates, out = kept[gate : gate + 4 * size], grads[gate : gate + 4 * size]
        for j in range(size):
            i, f, g, o = gates[j], gates[size + j], gates[2 * size + j], gates[3 * size + j]
            squashed = tanh(states[after + cells + row + j])
            d = carried[row + j]
            d_cell = carried[cells + row + j] + d * o * (1 - squashed * squashed)
            out[j] = d_cell * g * i * (1 - i)
            out[size + j] = d_cell * states[cells + row + j] * f * (1 - f)
            out[2 * size + j] = d_cell * i * (1 - g * g)
            out[3 * size + j] = d * squashed * o * (1 - o)
            carried[row + j] = 0
            carried[cells + row + j] = d_cell * f


def gru_forward(states, given, known, kept, sizes, start, stop):
    """`gru_step`; keeps r, z, n and the third part of known."""
    samples, size = sizes
    after = samples * size
    for task in range(start, stop):
        row, gate = task * size, 3 * task * size
        a, b, gates = given[gate : gate + 3 * size], known[gate : gate + 3 * size], kept[4 * row : 4 * (row + size)]
        for j in range(2 * size):
            gates[j] = sigmoid(a[j] + b[j])
        for j in range(size):
            n = tanh(a[2 * size + j] + gates[j] * b[2 * size + j])
            gates[2 * size + j], gates[3 * size + j] = n, b[2 * size + j]
            states[after + row + j] = n + gates[size + j] * (states[row + j] - n)


def gru_backward(grads, states, kept, carried, sizes, start, stop):
    """Its gradient."""
    samples, size = sizes
    other = 3 * samples * size
    for task in range(start, stop):
        row, gate = task * size, 3 * task * size
        gates = kept[4 * row : 4 * (row + size)]
        into_given, into_known = grads[gate : gate + 3 * size], grads[other + gate : other + gate + 3 * size]
        for j in range(size):
            r, z, n, known = gates[j], gates[size + j], gates[2 * size + j], gates[3 * size + j]
            d = carried[row + j]
            d_n = d * (1 - z) * (1 - n * n)
            d_z = d * (states[row + j] - n) * z * (1 - z)
            d_r = d_n * known * r * (1 - r)
            into_given[j], into_given[size + j], into_given[2 * size + j] = d_r, d_z, d_n
            into_known[j], into_known[size + j], into_known[2 * size + j] = d_r, d_z, d_n * r
            carried[row + j] = d * z


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
    "lstm": Kind(4, 2, lstm_step, loop(lstm_forward, 3), loop(lstm_backward, 3), 4),
    "gru": Kind(3, 1, gru_step, loop(gru_forward, 3), loop(gru_backward), 4, 2),
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
        rows = flat(given).reshape(length, -1)
        for t in range(length):
            hidden = given._like(TensorData(found[t, 0].reshape(-1), (samples, size)))
            known = linear(hidden, weight, bias)
            made.forward.run(found[t : t + 2].reshape(-1), (rows[t], flat(known), kept[t]), (samples, size), samples)
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
            carried[: samples * size] += flat(into_known @ weight)
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
