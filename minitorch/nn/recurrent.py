"""Stage 5 - Networks that go through a sequence step by step and remember: RNN, LSTM and GRU, and one step of each as a cell.

All weights and biases begin uniform in ±1 / √hidden_size, as PyTorch's do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minitorch.core.creation import cat, stack
from minitorch.core.dtypes import is_float
from minitorch.nn.functional import dropout
from minitorch.nn.init import uniform_
from minitorch.nn.linear import linear
from minitorch.nn.module import Module, Parameter
from minitorch.nn.recurrence import KINDS, States, recurrence
from minitorch.nn.sizes import at_least_1
from minitorch.tensor import Tensor, zeros
from minitorch.tensor_ops import SimpleBackend

if TYPE_CHECKING:
    from minitorch.core.backend import TensorBackend


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
