"""Stage 7 - The recurrence of recurrent networks: its steps, their kernels, and the run over a sequence.

A step computes new states from the input gates (the input times weight_ih, one row of gates per sample), the hidden gates (the hidden
state times weight_hh) and the previous states. On the compiled backend all steps run in one `Function`: no graph is saved per step, and the
gradient of the weights is a single matrix product at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minitorch.core import recording
from minitorch.core.creation import stack
from minitorch.core.recording import call, copy
from minitorch.kernels.jit import jitable
from minitorch.kernels.loop import Loop, accepts, flat, loop
from minitorch.kernels.vector_math import sigmoid, tanh
from minitorch.nn.linears import linear
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function, transpose_last_two

States = tuple["Tensor", ...]
"""The states passed from step to step, each of shape (N, H): the hidden state and, for an LSTM, the cell state."""


# One step, composed of tensor operations


def tanh_step(input_gates: Tensor, hidden_gates: Tensor, states: States) -> States:
    """tanh(input_gates + hidden_gates)."""
    return ((input_gates + hidden_gates).tanh(),)


def relu_step(input_gates: Tensor, hidden_gates: Tensor, states: States) -> States:
    """relu(input_gates + hidden_gates)."""
    return ((input_gates + hidden_gates).relu(),)


def lstm_step(input_gates: Tensor, hidden_gates: Tensor, states: States) -> States:
    """With gates i, f, g and o: cell = f · cell + i · g and hidden = o · tanh(cell)."""
    i, f, g, o = (input_gates + hidden_gates).split(input_gates.shape[1] // 4, 1)
    cell = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_step(input_gates: Tensor, hidden_gates: Tensor, states: States) -> States:
    """With gates r and z: n = tanh(input_n + r · hidden_n) and hidden = (1 - z) · n + z · hidden."""
    size = input_gates.shape[1] // 3
    (r, z, n), (hidden_r, hidden_z, hidden_n) = input_gates.split(size, 1), hidden_gates.split(size, 1)
    r, z = (r + hidden_r).sigmoid(), (z + hidden_z).sigmoid()
    n = (n + r * hidden_n).tanh()
    return (n + z * (states[0] - n),)


# One step and its gradient, compiled. The samples from start to stop are computed; sizes are N and H.
# states: the states before the step, followed by those after it.
# saved: the values saved for the backward pass.
# grad_states: on entry the gradient of the states after the step, on exit that of the states before it, without the path through h_gates.
# grads: the gradient of x_gates; for a GRU followed by that of h_gates, which for the others is the same.
# Rows are slices and each loop writes one of them, so that the compiler can vectorize it.


@jitable
def add_sigmoid(out, a, b):
    """sigmoid(a + b)."""
    for j in range(len(out)):
        out[j] = sigmoid(a[j] + b[j])


@jitable
def add_tanh(out, a, b):
    """tanh(a + b)."""
    for j in range(len(out)):
        out[j] = tanh(a[j] + b[j])


@jitable
def sigmoid_grad(out, y, d, factor):
    """d · factor · y · (1 - y), where y is a sigmoid."""
    one = y.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * factor[j] * y[j] * (one - y[j])


@jitable
def tanh_grad(out, y, d, factor):
    """d · factor · (1 - y²), where y is a tanh."""
    one = y.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * factor[j] * (one - y[j] * y[j])


@jitable
def multiply_into(out, a, b):
    """a · b."""
    for j in range(len(out)):
        out[j] = a[j] * b[j]


def tanh_forward(states, x_gates, h_gates, saved, sizes, start, stop):
    """Compiled `tanh_step`."""
    samples, size = sizes
    add_tanh(
        states[(samples + start) * size : (samples + stop) * size], x_gates[start * size : stop * size], h_gates[start * size : stop * size]
    )


def tanh_backward(grads, states, saved, grad_states, sizes, start, stop):
    """Compiled gradient of `tanh_step`."""
    samples, size = sizes
    rows = slice(start * size, stop * size)
    y, d, out, one = states[samples * size :][rows], grad_states[rows], grads[rows], states.dtype.type(1)
    for j in range(len(out)):
        out[j] = d[j] * (one - y[j] * y[j])
    d[:] = 0


def relu_forward(states, x_gates, h_gates, saved, sizes, start, stop):
    """Compiled `relu_step`."""
    samples, size = sizes
    rows, zero = slice(start * size, stop * size), states.dtype.type(0)
    a, b, out = x_gates[rows], h_gates[rows], states[samples * size :][rows]
    for j in range(len(out)):
        x = a[j] + b[j]
        out[j] = x if x > 0 else zero


def relu_backward(grads, states, saved, grad_states, sizes, start, stop):
    """Compiled gradient of `relu_step`."""
    samples, size = sizes
    rows, zero = slice(start * size, stop * size), states.dtype.type(0)
    y, d, out = states[samples * size :][rows], grad_states[rows], grads[rows]
    for j in range(len(out)):
        out[j] = d[j] if y[j] > 0 else zero
    d[:] = 0


def lstm_forward(states, x_gates, h_gates, saved, sizes, start, stop):
    """Compiled `lstm_step`; saves the four gates and tanh of the cell."""
    samples, size = sizes
    block = samples * size
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 4 * task * size
        a, b, gates = (x_gates[gate : gate + 4 * size], h_gates[gate : gate + 4 * size], saved[5 * task * size : 5 * (task + 1) * size])
        before, hidden, cell = states[block:][row], states[2 * block :][row], states[3 * block :][row]
        add_sigmoid(gates[: 2 * size], a[: 2 * size], b[: 2 * size])
        add_tanh(gates[2 * size : 3 * size], a[2 * size : 3 * size], b[2 * size : 3 * size])
        add_sigmoid(gates[3 * size : 4 * size], a[3 * size :], b[3 * size :])
        i, f, g, o, tanh_cell = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :], gates[4 * size :]
        for j in range(size):
            cell[j] = f[j] * before[j] + i[j] * g[j]
        for j in range(size):
            tanh_cell[j] = tanh(cell[j])
        multiply_into(hidden, o, tanh_cell)


def lstm_backward(grads, states, saved, grad_states, sizes, start, stop):
    """Compiled gradient of `lstm_step`."""
    samples, size = sizes
    block, d, one = samples * size, np.empty(size, states.dtype), states.dtype.type(1)
    for task in range(start, stop):
        row = slice(task * size, (task + 1) * size)
        gates, out = saved[5 * task * size : 5 * (task + 1) * size], grads[4 * task * size : 4 * (task + 1) * size]
        i, f, g, o, tanh_cell = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :], gates[4 * size :]
        d_hidden, d_cell = grad_states[row], grad_states[block:][row]
        for j in range(size):
            d[j] = d_cell[j] + d_hidden[j] * o[j] * (one - tanh_cell[j] * tanh_cell[j])
        sigmoid_grad(out[:size], i, d, g)
        sigmoid_grad(out[size : 2 * size], f, d, states[block:][row])
        tanh_grad(out[2 * size : 3 * size], g, d, i)
        sigmoid_grad(out[3 * size :], o, d_hidden, tanh_cell)
        multiply_into(d_cell, d, f)
        d_hidden[:] = 0


def gru_forward(states, x_gates, h_gates, saved, sizes, start, stop):
    """Compiled `gru_step`; saves r, z, n and the third part of h_gates."""
    samples, size = sizes
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 3 * task * size
        a, b, gates = (x_gates[gate : gate + 3 * size], h_gates[gate : gate + 3 * size], saved[4 * task * size : 4 * (task + 1) * size])
        before, hidden = states[row], states[samples * size :][row]
        add_sigmoid(gates[: 2 * size], a[: 2 * size], b[: 2 * size])
        r, z, n, other = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :]
        other[:] = b[2 * size :]
        multiply_into(n[:size], r, other)
        add_tanh(n[:size], a[2 * size :], n[:size])
        for j in range(size):
            hidden[j] = n[j] + z[j] * (before[j] - n[j])


def gru_backward(grads, states, saved, grad_states, sizes, start, stop):
    """Compiled gradient of `gru_step`."""
    samples, size = sizes
    other, scratch, one = 3 * samples * size, np.empty(size, states.dtype), states.dtype.type(1)
    for task in range(start, stop):
        row, gate = slice(task * size, (task + 1) * size), 3 * task * size
        gates, before, d = saved[4 * task * size : 4 * (task + 1) * size], states[row], grad_states[row]
        r, z, n, h_gates = gates[:size], gates[size:], gates[2 * size :], gates[3 * size :]
        grad_input_gates, grad_hidden_gates = grads[gate : gate + 3 * size], grads[other + gate : other + gate + 3 * size]
        for j in range(size):
            scratch[j] = one - z[j]
        d_n = grad_input_gates[2 * size :]
        tanh_grad(d_n, n, d, scratch)
        multiply_into(grad_hidden_gates[2 * size :], d_n, r)
        sigmoid_grad(grad_input_gates[:size], r, d_n, h_gates)
        for j in range(size):
            scratch[j] = before[j] - n[j]
        sigmoid_grad(grad_input_gates[size : 2 * size], z, d, scratch)
        grad_hidden_gates[: 2 * size] = grad_input_gates[: 2 * size]
        multiply_into(d, d, z)


class CellKind(NamedTuple):
    """One kind of recurrent cell.

    Attributes:
        gates: Number of gates, each with H rows in the weights.
        states: Number of states passed from step to step.
        step: One step, composed of tensor operations.
        forward: The compiled step.
        backward: The compiled gradient of the step.
        saved: Values that forward saves per element of the hidden state.
        gate_grads: 2 if the gradients of input_gates and hidden_gates differ, else 1.
    """

    gates: int
    states: int
    step: Callable[[Tensor, Tensor, States], States]
    forward: Loop
    backward: Loop
    saved: int = 0
    gate_grads: int = 1


KINDS = {
    "tanh": CellKind(1, 1, tanh_step, loop(tanh_forward, 3), loop(tanh_backward)),
    "relu": CellKind(1, 1, relu_step, loop(relu_forward), loop(relu_backward)),
    "lstm": CellKind(4, 2, lstm_step, loop(lstm_forward, 3), loop(lstm_backward, 1), 5),
    "gru": CellKind(3, 1, gru_step, loop(gru_forward, 3), loop(gru_backward, 1), 4, 2),
}


# The whole sequence


def contiguous(array: np.ndarray, shape: tuple[int, ...]) -> TensorData:
    """The numbers of an array in another shape, in a new storage if they are not contiguous. The shape is not checked."""
    data = TensorData.empty(shape, array.dtype)
    if array.flags.c_contiguous:
        data._storage = array.reshape(-1)
    else:
        call(copy, data._storage.reshape(array.shape), array)
    return data


class Recurrence(Function):
    """The states after every step, shape (L, states, N, H), computed by compiled kernels."""

    @staticmethod
    def forward(ctx: Any, input_gates: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *states: Tensor) -> Tensor:
        cell, (length, samples, _), size, dtype = KINDS[kind], input_gates.shape, weight.shape[1], input_gates.dtype
        all_states = np.empty((length + 1, cell.states, samples, size), dtype)
        saved = np.empty((length, samples * cell.saved * size), dtype)
        for i, state in enumerate(states):
            call(copy, all_states[0, i], state._tensor.array())
        rows, row = flat(input_gates).reshape(length, -1), None if bias is None else flat(bias)
        if row is not None and cell.gate_grads == 1:  # then the bias can be added to the input gates of all steps at once
            shifted = np.empty((length * samples, len(row)), dtype)
            call(np.add, rows.reshape(-1, len(row)), row, shifted)
            rows, row = shifted.reshape(length, -1), None
        weight_t, multiply = transpose_last_two(weight), input_gates.f.matrix_multiply
        weight_t = weight_t.contiguous() if length > 1 else weight_t  # copied once, not at every step
        for t in range(length):
            hidden_gates = flat(multiply(input_gates._like(contiguous(all_states[t, 0], (samples, size))), weight_t))
            if row is not None:
                call(np.add, hidden_gates.reshape(samples, -1), row, hidden_gates.reshape(samples, -1))
            cell.forward.run(all_states[t : t + 2].reshape(-1), (rows[t], hidden_gates, saved[t]), (samples, size), samples)
        out = input_gates._like(contiguous(all_states[1:], all_states[1:].shape))
        ctx.save_for_backward(input_gates, weight, bias, kind, all_states, saved, out)  # out shares memory with all_states
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        input_gates, weight, bias, kind, all_states, saved, _ = ctx.saved_values
        cell, (length, samples, gates), size = KINDS[kind], input_gates.shape, weight.shape[1]
        grad_outputs = flat(grad_output).reshape(length, -1)
        grads = np.empty((length, cell.gate_grads, samples, gates), input_gates.dtype)
        grad_states = recording.zeros(cell.states * samples * size, input_gates.dtype)
        first = grad_states[: samples * size]
        for t in reversed(range(length)):
            call(np.add, grad_states, grad_outputs[t], grad_states)
            cell.backward.run(grads[t].reshape(-1), (all_states[t : t + 2].reshape(-1), saved[t], grad_states), (samples, size), samples)
            grad_hidden_gates = input_gates._like(contiguous(grads[t, -1], (samples, gates)))
            call(np.add, first, flat(input_gates.f.matrix_multiply(grad_hidden_gates, weight)), first)
        grad_hidden_gates = input_gates._like(contiguous(grads[:, -1], (length * samples, gates)))
        hidden = input_gates._like(contiguous(all_states[:-1, 0], (length * samples, size)))
        grad_initial = grad_states.reshape(cell.states, samples * size)
        return (
            input_gates._like(contiguous(grads[:, 0], input_gates.shape)),
            input_gates.f.matrix_multiply(transpose_last_two(grad_hidden_gates), hidden),
            None if bias is None else input_gates._like(contiguous(flat(input_gates.f.add_reduce(grad_hidden_gates, 0)), (gates,))),
            None,
            *[input_gates._like(contiguous(numbers, (samples, size))) for numbers in grad_initial],
        )

    @staticmethod
    def composed(input_gates: Tensor, weight: Tensor, bias: Tensor | None, kind: str, *states: Tensor) -> Tensor:
        """The same computation composed of differentiable tensor operations."""
        all_states = []
        for t in range(input_gates.shape[0]):
            states = KINDS[kind].step(input_gates[t], linear(states[0], weight, bias), states)
            all_states.append(stack(states))
        return stack(all_states)


def recurrence(input_gates: Tensor, weight: Tensor, bias: Tensor | None, kind: str, states: States) -> Tensor:
    """Run a recurrence over a sequence and return the states after every step.

    Args:
        input_gates: Input gates of each step, shape (L, N, gates · H), with L ≥ 1.
        weight: Hidden-to-hidden weights, shape (gates · H, H).
        bias: Hidden-to-hidden bias, shape (gates · H,).
        kind: A key of `KINDS`.
        states: The initial states.

    Returns:
        Shape (L, states, N, H).
    """
    same_dtype = all(x is None or x.dtype == input_gates.dtype for x in (weight, bias, *states))
    run = Recurrence.apply if accepts(input_gates) and input_gates.numel() and same_dtype else Recurrence.composed
    return run(input_gates, weight, bias, kind, *states)
