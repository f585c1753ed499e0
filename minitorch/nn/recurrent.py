"""Stage 5 - Networks that go through a sequence step by step and remember: RNN, LSTM and GRU, and one step of each as a cell.

All weights and biases begin uniform in ±1 / √hidden_size, as PyTorch's do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minitorch.core.creation import cat, stack
from minitorch.core.dtypes import is_float
from minitorch.kernels.jit import jitable
from minitorch.kernels.losses import fusible
from minitorch.kernels.pool import Loop, flat, loop
from minitorch.kernels.vector_math import sigmoid, tanh
from minitorch.nn.functional import dropout
from minitorch.nn.init import uniform_
from minitorch.nn.linear import linear
from minitorch.nn.module import Module, Parameter
from minitorch.nn.sizes import at_least_1
from minitorch.tensor import Tensor, zeros
from minitorch.tensor_data import TensorData
from minitorch.tensor_functions import Function
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend

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


class _Recurrent(Module):
    """What RNN, LSTM and GRU share.

    Attributes:
        kind: A name in `KINDS`.
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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        at_least_1((input_size, hidden_size, num_layers), name, "input_size, hidden_size and num_layers")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name} expected dropout from 0 to 1, got {dropout}; it is the share of the elements that become 0")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        rows = KINDS[self.kind].gates * hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for ending in self._endings(layer):
                for part, shape in (("ih", (rows, size)), ("hh", (rows, hidden_size))):
                    _add_uniform(self, f"weight_{part}{ending}", shape, hidden_size, backend, dtype)
                for part in ("ih", "hh") if bias else ():
                    _add_uniform(self, f"bias_{part}{ending}", (rows,), hidden_size, backend, dtype)

    def _endings(self, layer: int) -> list[str]:
        """How the names of a layer's parameters end, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    def extra_repr(self) -> str:
        """Its settings, where they are not the usual ones."""
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        others = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *others])

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two for each number of the weights and each element of a sequence."""
        elements = args[0].size // self.input_size
        return 2 * elements * sum(x.value.size for name, x in self._parameters.items() if name.startswith("weight"))

    def _run(self, input: Tensor, states: tuple[Tensor, ...] | None) -> tuple[Tensor, States]:
        """The hidden states of the last layer, in the layout of input, and all final states, each (num_layers · directions, N, H)."""
        name, batched = type(self).__name__, _checked(self, input, (2, 3)) == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if not x.shape[0]:
            raise ValueError(f"{name} expected sequences of at least one element, got input of shape {input.shape}")
        places = self.num_layers * (1 + self.bidirectional)
        shape = (places, x.shape[1], self.hidden_size)
        if states is None:
            states = tuple(x.zeros(shape) for _ in range(KINDS[self.kind].states))
        else:
            _check_states(self, states, shape if batched else (shape[0], shape[2]))
            states = states if batched else tuple(state.unsqueeze(1) for state in states)
        finals: list[States] = []
        for layer in range(self.num_layers):
            if layer and self.training and self.dropout:
                x = dropout(x, self.dropout) * (1 / (1 - self.dropout) if self.dropout < 1 else 0.0)
            found = []
            for reverse, ending in enumerate(self._endings(layer)):
                before = tuple(state[len(finals)] for state in states)
                outputs, final = self._one(x.flip(0) if reverse else x, before, ending)
                found.append(outputs.flip(0) if reverse else outputs)
                finals.append(final)
            x = cat(found, 2) if self.bidirectional else found[0]
        ends = tuple(stack(final) for final in zip(*finals, strict=True))
        out = x.squeeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        return out, ends if batched else tuple(end.squeeze(1) for end in ends)

    def _one(self, x: Tensor, states: States, ending: str) -> tuple[Tensor, States]:
        """The hidden states of one layer in one direction, (L, N, H), and its final states."""
        weights = {part: self._parameters[part + ending].value for part in ("weight_ih", "weight_hh")}
        biases = {part: self._parameters[part + ending].value for part in ("bias_ih", "bias_hh") if self.bias}
        given = linear(x, weights["weight_ih"], biases.get("bias_ih"))
        found = recurrence(given, weights["weight_hh"], biases.get("bias_hh"), self.kind, states)
        last = found[-1]
        return found[:, 0], tuple(last[i] for i in range(len(states)))


class RNN(_Recurrent):
    """The hidden state becomes tanh (or relu) of weights · input + weights · itself.

    Args:
        input_size: Numbers of each element of a sequence.
        hidden_size: H, numbers of the hidden state.
        num_layers: How many layers, each of which goes through the hidden states of the one before it.
        nonlinearity: "tanh" or "relu".
        bias: Whether there are biases.
        batch_first: Whether sequences come as (N, L, …), not as (L, N, …).
        dropout: With which probability a number between two layers becomes 0 in training.
        bidirectional: Whether another recurrence of each layer goes through the sequence from its end.

    Raises:
        ValueError: If a size is less than 1, dropout is not from 0 to 1, or nonlinearity is unknown.

    Source: Elman 1990, Cognitive Science 14, pages 179 to 211.
    """

    kind = "tanh"  # as many weights as with relu

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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        kind = _known(nonlinearity, "RNN")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, backend, dtype)
        self.kind = kind

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The hidden states of the last layer after every element, and those of all layers after the last element.

        Args:
            input: Shape (L, N, input_size), or (N, L, input_size) if batch_first; (L, input_size) of one sequence.
            hx: Hidden states before the first element, shape (num_layers · directions, N, H), without N of one sequence; zeros if left out.

        Returns:
            Shape (L, N, directions · H) in the layout of input, and the shape of hx.

        Raises:
            TypeError: If one is no Tensor of floats.
            ValueError: If a shape does not fit, or sequences have no elements.
        """
        output, (final,) = self._run(input, None if hx is None else (hx,))
        return output, final


class GRU(_Recurrent):
    """Gates r and z decide how much of the hidden state a new one sees, and how much of it stays; for the arguments see RNN.

    With gates r, z and n one after the other in the weights, n = tanh(input's part + r · the state's part), and the hidden state becomes
    (1 - z) · n + z · itself.

    Raises:
        ValueError: If a size is less than 1, or dropout is not from 0 to 1.

    Source: Cho et al. 2014, arXiv:1406.1078, section 2.3; r behind the product, as in cuDNN and PyTorch.
    """

    kind = "gru"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """As `RNN.forward`."""
        output, (final,) = self._run(input, None if hx is None else (hx,))
        return output, final


class LSTM(_Recurrent):
    """Behind the hidden state stands a cell, which gates let in, forget and show; for the arguments see RNN.

    With gates i, f, g and o one after the other in the weights, the cell becomes f · cell + i · g, and the hidden state o · tanh(cell).

    Raises:
        ValueError: If a size is less than 1, or dropout is not from 0 to 1.

    Source: Hochreiter and Schmidhuber 1997, Neural Computation 9, pages 1735 to 1780; f: Gers et al. 2000, Neural Computation 12.
    """

    kind = "lstm"

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """As `RNN.forward`; hx is a pair, of hidden states and of cells, and so is what comes second."""
        output, (hidden, cell) = self._run(input, hx)
        return output, (hidden, cell)


# One step


class _Cell(Module):
    """What RNNCell, LSTMCell and GRUCell share."""

    def __init__(self, kind: str, input_size: int, hidden_size: int, bias: bool, backend: TensorBackend, dtype: Any) -> None:
        super().__init__()
        self.kind = kind
        self.input_size, self.hidden_size = at_least_1((input_size, hidden_size), type(self).__name__, "input_size and hidden_size")
        rows = KINDS[kind].gates * hidden_size
        self.weight_ih = _add_uniform(self, "weight_ih", (rows, input_size), hidden_size, backend, dtype)
        self.weight_hh = _add_uniform(self, "weight_hh", (rows, hidden_size), hidden_size, backend, dtype)
        self.bias_ih = _add_uniform(self, "bias_ih", (rows,), hidden_size, backend, dtype) if bias else None
        self.bias_hh = _add_uniform(self, "bias_hh", (rows,), hidden_size, backend, dtype) if bias else None

    def extra_repr(self) -> str:
        """Its sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias_ih is not None else ", bias=False")

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two for each number of the weights and each sample."""
        return 2 * args[0].size // self.input_size * (self.weight_ih.value.size + self.weight_hh.value.size)

    def _step(self, input: Tensor, states: tuple[Tensor, ...] | None) -> States:
        """The states after one step, in the layout of input."""
        batched = _checked(self, input, (1, 2)) == 2
        x = input if batched else input.unsqueeze(0)
        if states is None:
            states = tuple(x.zeros((x.shape[0], self.hidden_size)) for _ in range(KINDS[self.kind].states))
        else:
            _check_states(self, states, (*input.shape[:-1], self.hidden_size))
            states = states if batched else tuple(state.unsqueeze(0) for state in states)
        given = linear(x, self.weight_ih.value, self.bias_ih and self.bias_ih.value).unsqueeze(0)
        found = recurrence(given, self.weight_hh.value, self.bias_hh and self.bias_hh.value, self.kind, states)[0]
        after = tuple(found[i] for i in range(len(states)))
        return after if batched else tuple(state.squeeze(0) for state in after)


class RNNCell(_Cell):
    """One step of an `RNN` of one layer.

    Args:
        input_size: Numbers of an element.
        hidden_size: H, numbers of the hidden state.
        bias: Whether there are biases.
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
        backend: TensorBackend = SimpleBackend,
        dtype: Any = None,
    ) -> None:
        super().__init__(_known(nonlinearity, "RNNCell"), input_size, hidden_size, bias, backend, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The hidden state, shape (N, H) or (H,), from input (N, input_size) or (input_size,) and the one before (zeros if left out).

        Raises:
            TypeError: If input or hx is no Tensor of floats.
            ValueError: If one has a shape that does not fit.
        """
        return self._step(input, None if hx is None else (hx,))[0]


class GRUCell(_Cell):
    """One step of a `GRU` of one layer; for the arguments see RNNCell."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, backend: TensorBackend = SimpleBackend, dtype: Any = None
    ) -> None:
        super().__init__("gru", input_size, hidden_size, bias, backend, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """As `RNNCell.forward`."""
        return self._step(input, None if hx is None else (hx,))[0]


class LSTMCell(_Cell):
    """One step of an `LSTM` of one layer; for the arguments see RNNCell."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, backend: TensorBackend = SimpleBackend, dtype: Any = None
    ) -> None:
        super().__init__("lstm", input_size, hidden_size, bias, backend, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """As `RNNCell.forward`; hx is a pair, of the hidden state and the cell, and so is what comes out."""
        hidden, cell = self._step(input, hx)
        return hidden, cell


# What they share


def _add_uniform(module: Module, name: str, shape: tuple[int, ...], hidden_size: int, backend: TensorBackend, dtype: Any) -> Parameter:
    """A new parameter, uniform in ±1 / √hidden_size."""
    parameter = module.add_parameter(name, zeros(shape, backend, dtype=dtype))
    bound = 1 / math.sqrt(hidden_size)
    uniform_(parameter, -bound, bound)
    return parameter


def _known(nonlinearity: str, layer: str) -> str:
    """A nonlinearity that there is a recurrence with."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f'{layer} expected nonlinearity "tanh" or "relu", got {nonlinearity!r}')
    return nonlinearity


def _checked(layer: Any, input: Any, dims: tuple[int, int]) -> int:
    """How many dimensions the input has, if it fits."""
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
    """That states are tensors of the right shape, as many as there must be."""
    name, count = type(layer).__name__, KINDS[layer.kind].states
    if not isinstance(states, (tuple, list)) or len(states) != count:
        raise TypeError(f"{name} expected hx as a pair of Tensors, hidden state and cell, got {type(states).__name__}")
    for state in states:
        if not isinstance(state, Tensor) or not is_float(state.dtype):
            got = state.dtype.name if isinstance(state, Tensor) else type(state).__name__
            raise TypeError(f"{name} expected a Tensor of floats as hx, got {got}; make one with tensor(...)")
        if state.shape != shape:
            raise ValueError(f"{name} expected hx of shape {shape}, got {state.shape}")
