"""Stage 6 - Recurrent networks: RNN, LSTM and GRU, and the corresponding cells.

Weights and biases are initialized uniformly in ±1 / √hidden_size, as in PyTorch.

A step computes new states from the input gates (the input times weight_ih, one row of gates per sample), the hidden gates (the hidden
state times weight_hh) and the previous states. On the compiled backend all steps run in one `Function`: no graph is saved per step, and the
gradient of the weights is a single matrix product at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from minitorch.core import recording
from minitorch.core.creation import cat, stack
from minitorch.core.dtypes import as_dtype, is_float
from minitorch.core.recording import call, copy
from minitorch.kernels.jit import jitable
from minitorch.kernels.loop import Loop, accepts, flat, loop
from minitorch.kernels.vector_math import sigmoid, tanh
from minitorch.nn.functional import dropout
from minitorch.nn.init import uniform_
from minitorch.nn.linears import linear
from minitorch.nn.module import Module, Parameter, value_of
from minitorch.ops.checks import positive_ints
from minitorch.tensor import Tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.torch.placement import placement

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
        states[(samples + start) * size : (samples + stop) * size],
        x_gates[start * size : stop * size],
        h_gates[start * size : stop * size],
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
        a, b, gates = (
            x_gates[gate : gate + 4 * size],
            h_gates[gate : gate + 4 * size],
            saved[5 * task * size : 5 * (task + 1) * size],
        )
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
        a, b, gates = (
            x_gates[gate : gate + 3 * size],
            h_gates[gate : gate + 3 * size],
            saved[4 * task * size : 4 * (task + 1) * size],
        )
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


def contiguous_copy(array: np.ndarray, shape: tuple[int, ...]) -> TensorData:
    """The numbers of an array in a new storage."""
    data = TensorData.empty(shape, as_dtype(array.dtype))
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
        weight_t, multiply = weight.t().contiguous(), input_gates.f.matrix_multiply  # copied once, not at every step
        for t in range(length):
            hidden_gates = flat(multiply(input_gates._like(TensorData(all_states[t, 0].reshape(-1), (samples, size))), weight_t))
            if row is not None:
                call(np.add, hidden_gates.reshape(samples, -1), row, hidden_gates.reshape(samples, -1))
            cell.forward.run(all_states[t : t + 2].reshape(-1), (rows[t], hidden_gates, saved[t]), (samples, size), samples)
        out = input_gates._like(TensorData(all_states[1:].reshape(-1), all_states[1:].shape))
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
            grad_hidden_gates = input_gates._like(TensorData(grads[t, -1].reshape(-1), (samples, gates)))
            call(np.add, first, flat(input_gates.f.matrix_multiply(grad_hidden_gates, weight)), first)
        grad_hidden_gates = input_gates._like(contiguous_copy(grads[:, -1], (length * samples, gates)))
        hidden = input_gates._like(contiguous_copy(all_states[:-1, 0], (length * samples, size)))
        grad_initial = grad_states.reshape(cell.states, samples * size)
        return (
            input_gates._like(contiguous_copy(grads[:, 0], input_gates.shape)),
            grad_hidden_gates.t() @ hidden,
            None if bias is None else Tensor.sum(grad_hidden_gates, 0, keepdim=False),
            None,
            *[input_gates._like(contiguous_copy(numbers, (samples, size))) for numbers in grad_initial],
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


class _Recurrent(Module):
    """Base class of RNN, LSTM and GRU.

    Attributes:
        kind: A key of `KINDS`.
    """

    kind: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        positive_ints((input_size, hidden_size, num_layers), name, "input_size, hidden_size and num_layers")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name} expected dropout from 0 to 1, got {dropout}; it is the probability that an element is zeroed")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        rows = KINDS[self.kind].gates * hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for suffix in self._suffixes(layer):
                for part, shape in (("ih", (rows, size)), ("hh", (rows, hidden_size))):
                    _add_uniform(self, f"weight_{part}{suffix}", shape, hidden_size, device, dtype)
                for part in ("ih", "hh") if bias else ():
                    _add_uniform(self, f"bias_{part}{suffix}", (rows,), hidden_size, device, dtype)

    def _suffixes(self, layer: int) -> list[str]:
        """The parameter-name suffix of each direction of a layer."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def extra_repr(self) -> str:
        """The sizes, and the options that differ from their defaults."""
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        others = [f"{name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations for each weight and each sequence element."""
        elements = args[0].size // self.input_size
        return 2 * elements * sum(x.value.numel() for name, x in self._parameters.items() if name.startswith("weight"))

    def _run(self, input: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Tensor, States]:
        """Return the last layer's hidden states, in the layout of input, and the final states, each (num_layers · directions, N, H)."""
        name, batched = type(self).__name__, _check_input(self, input, (2, 3)) == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if not x.shape[0]:
            raise ValueError(f"{name} expected sequences of at least one element, got input of shape {input.shape}")
        layers_and_directions = self.num_layers * (1 + self.bidirectional)
        shape = (layers_and_directions, x.shape[1], self.hidden_size)
        if states is None:
            states = tuple(x.zeros(shape) for _ in range(KINDS[self.kind].states))
        else:
            _check_states(self, states, shape if batched else (shape[0], shape[2]))
            states = states if batched else tuple(state.unsqueeze(1) for state in states)
        x, final_states = self._run_layers(x, states, self._run_direction)
        out = x.squeeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        return out, final_states if batched else tuple(state.squeeze(1) for state in final_states)

    def _run_layers(self, x: Tensor, states: States, run: Callable[..., tuple[Tensor, States]]) -> tuple[Tensor, States]:
        """Return the last layer's hidden states and the final states of all layers.

        Args:
            x: Elements of the sequences in any layout with the features last.
            states: The initial states, each (num_layers · directions, N, H).
            run: Runs one direction of a layer, like `_run_direction`.
        """
        finals: list[States] = []
        for layer in range(self.num_layers):
            if layer and self.training and self.dropout:
                x = dropout(x, self.dropout) * (1 / (1 - self.dropout) if self.dropout < 1 else 0.0)
            outputs = []
            for reverse, suffix in enumerate(self._suffixes(layer)):
                output, final = run(x, tuple(state[len(finals)] for state in states), suffix, bool(reverse))
                outputs.append(output)
                finals.append(final)
            x = cat(outputs, -1) if self.bidirectional else outputs[0]
        return x, tuple(stack(final) for final in zip(*finals, strict=True))

    def _run_direction(self, x: Tensor, states: States, suffix: str, reverse: bool) -> tuple[Tensor, States]:
        """Return the hidden states of one layer in one direction, (L, N, H), and its final states."""
        input_gates, weight, bias = self._input_gates(x.flip(0) if reverse else x, suffix)
        all_states = recurrence(input_gates, weight, bias, self.kind, states)
        output, last = all_states[:, 0], all_states[-1]
        return output.flip(0) if reverse else output, tuple(last[i] for i in range(len(states)))

    def _input_gates(self, x: Tensor, suffix: str) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the input gates of all elements, and the hidden-to-hidden weight and bias of one direction of a layer."""
        weights = {part: self._parameters[part + suffix].value for part in ("weight_ih", "weight_hh")}
        biases = {part: self._parameters[part + suffix].value for part in ("bias_ih", "bias_hh") if self.bias}
        return linear(x, weights["weight_ih"], biases.get("bias_ih")), weights["weight_hh"], biases.get("bias_hh")


class RNN(_Recurrent):
    """Elman network: h = tanh(W_ih · x + b_ih + W_hh · h + b_hh), or relu in place of tanh.

    Args:
        input_size: Number of features of each sequence element.
        hidden_size: Number of features of the hidden state, H.
        num_layers: Number of stacked layers; each takes the hidden states of the previous one as its input.
        nonlinearity: "tanh" or "relu".
        bias: Whether to use biases.
        batch_first: Whether sequences have shape (N, L, …) instead of (L, N, …).
        dropout: Dropout probability between layers during training.
        bidirectional: Whether each layer also processes the sequence in reverse.

    Raises:
        ValueError: If a size is less than 1, dropout is outside [0, 1], or nonlinearity is unknown.

    Source: Elman 1990, Cognitive Science 14, pages 179 to 211.
    """

    kind = "tanh"  # relu has the same number of gates

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        kind = _check_nonlinearity(nonlinearity, "RNN")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype)
        self.kind = kind

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the last layer's hidden states at every step, and the final hidden states of all layers.

        Args:
            input: Shape (L, N, input_size), (N, L, input_size) if batch_first, or (L, input_size) without a batch.
            hx: Initial hidden states, shape (num_layers · directions, N, H), without N if input has no batch; zeros by default.

        Returns:
            The output, shape (L, N, directions · H) in the layout of input, and the final states, with the shape of hx.

        Raises:
            TypeError: If an argument is not a floating-point Tensor.
            ValueError: If a shape does not match, or the sequences are empty.
        """
        output, (final,) = self._run(input, None if hx is None else (hx,))
        return output, final


class GRU(_Recurrent):
    """Gated recurrent unit; for the arguments see `RNN`.

    With the reset gate r and the update gate z, n = tanh(W_in · x + b_in + r · (W_hn · h + b_hn)) and the hidden state becomes
    (1 - z) · n + z · h. The weights stack the rows of r, z and n in this order.

    Raises:
        ValueError: If a size is less than 1, or dropout is outside [0, 1].

    Source: Cho et al. 2014, arXiv:1406.1078, section 2.3; r is applied after the matrix product, as in cuDNN and PyTorch.
    """

    kind = "gru"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """See `RNN.forward`."""
        output, (final,) = self._run(input, None if hx is None else (hx,))
        return output, final


class LSTM(_Recurrent):
    """Long short-term memory; for the arguments see `RNN`.

    With the input gate i, forget gate f, candidate g and output gate o, the cell state becomes f · cell + i · g, and the hidden state
    o · tanh(cell). The weights stack the rows of i, f, g and o in this order.

    Raises:
        ValueError: If a size is less than 1, or dropout is outside [0, 1].

    Source: Hochreiter and Schmidhuber 1997, Neural Computation 9, pages 1735 to 1780; f: Gers et al. 2000, Neural Computation 12.
    """

    kind = "lstm"

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """See `RNN.forward`; hx and the final states are pairs (hidden states, cell states)."""
        output, (hidden, cell) = self._run(input, hx)
        return output, (hidden, cell)


# Cells


class _Cell(Module):
    """Base class of RNNCell, LSTMCell and GRUCell."""

    def __init__(self, kind: str, input_size: int, hidden_size: int, bias: bool, device: Any, dtype: Any) -> None:
        super().__init__()
        self.kind = kind
        self.input_size, self.hidden_size = positive_ints((input_size, hidden_size), type(self).__name__, "input_size and hidden_size")
        rows = KINDS[kind].gates * hidden_size
        self.weight_ih = _add_uniform(self, "weight_ih", (rows, input_size), hidden_size, device, dtype)
        self.weight_hh = _add_uniform(self, "weight_hh", (rows, hidden_size), hidden_size, device, dtype)
        self.bias_ih = _add_uniform(self, "bias_ih", (rows,), hidden_size, device, dtype) if bias else None
        self.bias_hh = _add_uniform(self, "bias_hh", (rows,), hidden_size, device, dtype) if bias else None

    def extra_repr(self) -> str:
        """The sizes, and bias if it is off."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias_ih is not None else ", bias=False")

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations for each weight and each sample."""
        return 2 * args[0].numel() // self.input_size * (self.weight_ih.value.numel() + self.weight_hh.value.numel())

    def _step(self, input: Tensor, states: tuple[Tensor, ...] | None) -> States:
        """Return the states after one step, in the layout of input."""
        batched = _check_input(self, input, (1, 2)) == 2
        x = input if batched else input.unsqueeze(0)
        if states is None:
            states = tuple(x.zeros((x.shape[0], self.hidden_size)) for _ in range(KINDS[self.kind].states))
        else:
            _check_states(self, states, (*input.shape[:-1], self.hidden_size))
            states = states if batched else tuple(state.unsqueeze(0) for state in states)
        input_gates = linear(x, self.weight_ih.value, value_of(self.bias_ih)).unsqueeze(0)
        stacked = recurrence(input_gates, self.weight_hh.value, value_of(self.bias_hh), self.kind, states)[0]
        new_states = tuple(stacked[i] for i in range(len(states)))
        return new_states if batched else tuple(state.squeeze(0) for state in new_states)


class RNNCell(_Cell):
    """One step of a single-layer `RNN`.

    Args:
        input_size: Number of input features.
        hidden_size: Number of features of the hidden state, H.
        bias: Whether to use biases.
        nonlinearity: "tanh" or "relu".

    Raises:
        ValueError: If a size is less than 1, or nonlinearity is unknown.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(_check_nonlinearity(nonlinearity, "RNNCell"), input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state.

        Args:
            input: Shape (N, input_size) or (input_size,).
            hx: Hidden state, shape (N, H) or (H,); zeros by default.

        Returns:
            Shape (N, H) or (H,).

        Raises:
            TypeError: If input or hx is not a floating-point Tensor.
            ValueError: If a shape does not match.
        """
        return self._step(input, None if hx is None else (hx,))[0]


class GRUCell(_Cell):
    """One step of a single-layer `GRU`; for the arguments see `RNNCell`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__("gru", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """See `RNNCell.forward`."""
        return self._step(input, None if hx is None else (hx,))[0]


class LSTMCell(_Cell):
    """One step of a single-layer `LSTM`; for the arguments see `RNNCell`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__("lstm", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """See `RNNCell.forward`; hx and the result are pairs (hidden state, cell state)."""
        hidden, cell = self._step(input, hx)
        return hidden, cell


# Parameters and checks


def _add_uniform(module: Module, name: str, shape: tuple[int, ...], hidden_size: int, device: Any, dtype: Any) -> Parameter:
    """Register a parameter initialized uniformly in ±1 / √hidden_size."""
    parameter = module.add_parameter(name, zeros(shape, **placement(device, dtype)))
    bound = 1 / math.sqrt(hidden_size)
    uniform_(parameter, -bound, bound)
    return parameter


def _check_nonlinearity(nonlinearity: str, layer: str) -> str:
    """Return the nonlinearity; raise ValueError if it is unknown."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f'{layer} expected nonlinearity "tanh" or "relu", got {nonlinearity!r}')
    return nonlinearity


def _check_input(layer: Any, input: Any, dims: tuple[int, int]) -> int:
    """Check the input and return its number of dimensions."""
    name = type(layer).__name__
    if not isinstance(input, Tensor) or not is_float(input.dtype):
        got = input.dtype.name if isinstance(input, Tensor) else type(input).__name__
        raise TypeError(f"{name} expected a Tensor of floats as input, got {got}; make one with tensor(...)")
    if input.dims not in dims or input.shape[-1] != layer.input_size:
        rest = "" if dims[0] == 1 else "N, L, " if layer.batch_first else "L, N, "
        shapes = f"({rest or 'N, '}{layer.input_size}) or ({'L, ' if rest else ''}{layer.input_size}{'' if rest else ','})"
        raise ValueError(f"{name} expected input of shape {shapes}, got {input.shape}")
    return input.dims


def _check_states(layer: Any, states: Any, shape: tuple[int, ...]) -> None:
    """Check the number, the types and the shapes of the states."""
    name, count = type(layer).__name__, KINDS[layer.kind].states
    if not isinstance(states, (tuple, list)) or len(states) != count:
        raise TypeError(f"{name} expected hx as a pair of Tensors, hidden state and cell, got {type(states).__name__}")
    for state in states:
        if not isinstance(state, Tensor) or not is_float(state.dtype):
            got = state.dtype.name if isinstance(state, Tensor) else type(state).__name__
            raise TypeError(f"{name} expected a Tensor of floats as hx, got {got}; make one with tensor(...)")
        if state.shape != shape:
            raise ValueError(f"{name} expected hx of shape {shape}, got {state.shape}")
