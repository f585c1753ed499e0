"""Stage 7 - Recurrent networks: RNN, LSTM and GRU, and the corresponding cells.

Weights and biases are initialized uniformly in ±1 / √hidden_size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.creation import cat, stack
from minitorch.core.errors import ElementError
from minitorch.core.layout_functions import Select
from minitorch.nn.dropouts import dropout as drop
from minitorch.nn.init import uniform_
from minitorch.nn.linears import linear
from minitorch.nn.module import Module
from minitorch.nn.options import refuse_unless
from minitorch.nn.packed import PackedSequence, packed_recurrence
from minitorch.nn.parameter import Parameter
from minitorch.nn.recurrence import KINDS, States, recurrence
from minitorch.ops.checks import check_float_tensor, check_tensor, positive_ints
from minitorch.tensor import Tensor, zeros
from minitorch.torch.placement import placement
from minitorch.torch.promotion import require_one_dtype


class _Recurrent(Module):
    """Base class of layers and cells.

    Attributes:
        kind: A key of `KINDS`.
    """

    kind: str
    hidden_size: int

    def reset_parameters(self) -> None:
        """Initialize the parameters uniformly in ±1 / √hidden_size."""
        bound = max(self.hidden_size, 1) ** -0.5
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def _add(self, suffix: str, gates: int, input_size: int, bias: bool, place: dict[str, Any]) -> list[str]:
        """Add parameters with a row for each element of the gates, and return their names."""
        names = [f"{part}{suffix}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 4 if bias else 2]]
        for name, columns in zip(names, ((input_size,), (self.hidden_size,), (), ()), strict=False):
            setattr(self, name, Parameter(zeros((gates * self.hidden_size, *columns), **place)))
        return names

    def _initial(self, x: Tensor, hx: Any, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
        """The initial states in a tuple, checked; zeros if hx is None.

        Raises:
            TypeError: If one is not a floating-point Tensor, or hx has the wrong number of states.
            ValueError: If a shape does not match.
        """
        name, count = type(self).__name__, KINDS[self.kind].states
        if hx is None:
            return tuple(x.zeros(shape) for _ in range(count))
        states = (hx,) if count == 1 else hx
        if not isinstance(states, (tuple, list)) or len(states) != count:
            raise TypeError(f"{name} expected hx as a pair of Tensors, hidden state and cell, got {type(states).__name__}")
        for state in states:
            if check_float_tensor(name, state, "hx").shape != shape:
                raise ValueError(f"{name} expected hx of shape {shape}, got {state.shape}")
            require_one_dtype(name, x, state)
        return tuple(states)


def _one_or_both(states: States) -> Any:
    """The hidden state, or hidden state and cell."""
    return states[0] if len(states) == 1 else states


def _check_nonlinearity(nonlinearity: str, layer: str) -> str:
    """Return the nonlinearity; raise ValueError if it is unknown."""
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f'{layer} expected nonlinearity "tanh" or "relu", got {nonlinearity!r}')
    return nonlinearity


def _check_input(layer: Any, input: Any, dims: tuple[int, int]) -> int:
    """Check the input and return its number of dimensions."""
    name = type(layer).__name__
    if check_tensor(name, input, "input").dims not in dims or input.shape[-1] != layer.input_size:
        rest = "" if dims[0] == 1 else "N, L, " if layer.batch_first else "L, N, "
        shapes = f"({rest or 'N, '}{layer.input_size}) or ({'L, ' if rest else ''}{layer.input_size}{'' if rest else ','})"
        raise ValueError(f"{name} expected input of shape {shapes}, got {input.shape}")
    dtype = next(layer.named_parameters())[1]._tensor.dtype
    if input._tensor.dtype is not dtype:
        expected = f"{name} expected input of {dtype.name}, the dtype of the weights"
        raise ElementError(f"{expected}, got {input.dtype.name}; convert it: input.to({dtype.name})")
    return input.dims


# Layers


MODES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}
"""The kind of network for each of PyTorch's modes."""


class RNNBase(_Recurrent):
    """Base class of RNN, LSTM and GRU; for the other arguments see `RNN`.

    Args:
        mode: A key of `MODES`.

    Attributes:
        all_weights: The parameters of every layer and direction, in lists.

    Raises:
        ValueError: If mode is unknown.
        NotImplementedError: If proj_size is not 0.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name, place = type(self).__name__, placement(device, dtype)
        if mode not in MODES:
            raise ValueError(f"{name} expected mode {', '.join(MODES)}, got {mode!r}")
        self.mode, self.kind = mode, MODES[mode]
        refuse_unless(name, proj_size=(proj_size, 0))
        positive_ints((input_size, hidden_size, num_layers), name, "input_size, hidden_size and num_layers")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name} expected dropout from 0 to 1, got {dropout}; it is the probability that an element is zeroed")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional, self.proj_size = bias, batch_first, dropout, bidirectional, 0
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            self._all_weights += [self._add(suffix, KINDS[self.kind].gates, size, bias, place) for suffix in self._suffixes(layer)]
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of every layer and direction, in the order of PyTorch's."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Does nothing: PyTorch's arranges the parameters for a library of the GPU."""

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
        data = args[0].data if isinstance(args[0], PackedSequence) else args[0]
        weights = sum(getattr(self, name).numel() for name in self._flat_weights_names if name.startswith("weight"))
        return 2 * (data.numel() // self.input_size) * weights

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> Any:
        """Return the last layer's hidden states at every step, and the final states of all layers.

        Args:
            input: Shape (L, N, input_size), (N, L, input_size) if batch_first, or (L, input_size) without a batch; or a PackedSequence.
            hx: Initial hidden states, shape (num_layers · directions, N, H), without N if input has no batch; zeros by default. For an LSTM
                a pair, hidden states and cell states.

        Returns:
            The output, shape (L, N, directions · H) in the layout of input, or packed if input is; and the final states, like hx. The
            states of packed sequences are in the original order of the batch.

        Raises:
            TypeError: If an argument is not a floating-point Tensor.
            ValueError: If a shape does not match, or the sequences are empty.
        """
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        batched = _check_input(self, input, (2, 3)) == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        if not x.shape[0]:
            raise ValueError(f"{type(self).__name__} expected sequences of at least one element, got input of shape {input.shape}")
        layers_and_directions = self.num_layers * (1 + self.bidirectional)
        shape = (layers_and_directions, *[x.shape[1]] * batched, self.hidden_size)
        states = tuple(state if batched else state.unsqueeze(1) for state in self._initial(x, hx, shape))

        def run(x: Tensor, initial: States, suffix: str, reverse: bool) -> tuple[Tensor, States]:
            input_gates, weight, bias = self._input_gates(x.flip(0) if reverse else x, suffix)
            all_states = recurrence(input_gates, weight, bias, self.kind, initial)
            output, last = all_states[:, 0], all_states[-1]
            return output.flip(0) if reverse else output, tuple(last[i] for i in range(len(initial)))

        x, final = self._run_layers(x, states, run)
        out = x.squeeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        return out, _one_or_both(final if batched else tuple(state.squeeze(1) for state in final))

    def _run_packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """`forward` of packed sequences."""
        data, batch_sizes = input.data, input.batch_sizes.tolist()
        _check_input(self, data, (2, 2))
        states = self._initial(data, hx, (self.num_layers * (1 + self.bidirectional), batch_sizes[0], self.hidden_size))

        def run(x: Tensor, initial: States, suffix: str, reverse: bool) -> tuple[Tensor, States]:
            input_gates, weight, bias = self._input_gates(x, suffix)
            return packed_recurrence(input_gates, batch_sizes, weight, bias, self.kind, initial, reverse)

        def select(states: States, indices: Tensor | None) -> States:
            return states if indices is None else tuple(state[:, indices.to_numpy()] for state in states)

        output, final = self._run_layers(data, select(states, input.sorted_indices), run)
        return input._replace(data=output), _one_or_both(select(final, input.unsorted_indices))

    def _run_layers(self, x: Tensor, states: States, run: Callable[..., tuple[Tensor, States]]) -> tuple[Tensor, States]:
        """Return the last layer's hidden states and the final states of all layers.

        Args:
            x: Elements of the sequences in any layout with the features last.
            states: The initial states, each (num_layers · directions, N, H).
            run: Takes the elements, the initial states, a suffix of parameter names and whether to run in reverse; returns the hidden
                states of one layer in one direction, and its final states.
        """
        finals: list[States] = []
        for layer in range(self.num_layers):
            x = drop(x, self.dropout, self.training) if layer else x
            outputs = []
            for reverse, suffix in enumerate(self._suffixes(layer)):
                output, final = run(x, tuple(state[len(finals)] for state in states), suffix, bool(reverse))
                outputs.append(output)
                finals.append(final)
            x = cat(outputs, -1) if self.bidirectional else outputs[0]
        return x, tuple(stack(final) for final in zip(*finals, strict=True))

    def _input_gates(self, x: Tensor, suffix: str) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the input gates of all elements, and the hidden-to-hidden weight and bias of one direction of a layer."""
        bias_ih, bias_hh = (getattr(self, part + suffix) if self.bias else None for part in ("bias_ih", "bias_hh"))
        return linear(x, getattr(self, f"weight_ih{suffix}"), bias_ih), getattr(self, f"weight_hh{suffix}"), bias_hh


class RNN(RNNBase):
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
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        ValueError: If a size is less than 1, dropout is outside [0, 1], or nonlinearity is unknown.

    Source: Elman 1990, Cognitive Science 14, pages 179 to 211.
    """

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
        mode = f"RNN_{_check_nonlinearity(nonlinearity, 'RNN').upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class _Gated(RNNBase):
    """Base class of GRU and LSTM."""

    mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        super().__init__(self.mode, input_size, hidden_size, *options)


class GRU(_Gated):
    """Gated recurrent unit; for the arguments and errors see `RNN` and `RNNBase`.

    With the reset gate r and the update gate z, n = tanh(W_in · x + b_in + r · (W_hn · h + b_hn)) and the hidden state becomes
    (1 - z) · n + z · h. The weights stack the rows of r, z and n in this order.

    Source: Cho et al. 2014, arXiv:1406.1078, section 2.3; r is applied after the matrix product, as in cuDNN and PyTorch.
    """

    mode = "GRU"


class LSTM(_Gated):
    """Long short-term memory; for the arguments and errors see `RNN` and `RNNBase`. The states are pairs, hidden states and cell states.

    With the input gate i, forget gate f, candidate g and output gate o, the cell state becomes f · cell + i · g, and the hidden state
    o · tanh(cell). The weights stack the rows of i, f, g and o in this order.

    Source: Hochreiter and Schmidhuber 1997, Neural Computation 9, pages 1735 to 1780; f: Gers et al. 2000, Neural Computation 12.
    """

    mode = "LSTM"


# Cells


class RNNCellBase(_Recurrent):
    """Base class of cells, also of those of your own.

    Args:
        input_size: Number of features of the input.
        hidden_size: Number of features of the hidden state, H.
        bias: Whether to use biases.
        num_chunks: Number of gates; the weights have a row for each of their H elements.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        ValueError: If a size is negative.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size = positive_ints((input_size, hidden_size), type(self).__name__, "input_size and hidden_size", 0)
        self.bias = bias
        self._add("", num_chunks, input_size, bias, placement(device, dtype))
        if not bias:
            self.bias_ih = self.bias_hh = None
        self.reset_parameters()

    def extra_repr(self) -> str:
        """The sizes, and bias and nonlinearity if they differ from their defaults."""
        nonlinearity = ", nonlinearity=relu" if getattr(self, "nonlinearity", "tanh") == "relu" else ""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False") + nonlinearity


class _Cell(RNNCellBase):
    """Base class of RNNCell, LSTMCell and GRUCell."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, KINDS[self.kind].gates, device, dtype)

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Two operations for each weight and each sample."""
        return 2 * args[0].numel() // self.input_size * (self.weight_ih.numel() + self.weight_hh.numel())

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Return the next hidden state.

        Args:
            input: Shape (N, input_size) or (input_size,).
            hx: Hidden state, shape (N, H) or (H,); zeros by default. For an LSTMCell a pair, hidden state and cell state.

        Returns:
            Like hx.

        Raises:
            TypeError: If input or hx is not a floating-point Tensor.
            ValueError: If a shape does not match.
        """
        batched = _check_input(self, input, (1, 2)) == 2
        states = self._initial(input, hx, (*input.shape[:-1], self.hidden_size))
        x, *states = (input, *states) if batched else [each.unsqueeze(0) for each in (input, *states)]
        input_gates = linear(x, self.weight_ih, self.bias_ih)
        input_gates = Tensor.view(input_gates, 1, *input_gates._tensor.shape)  # its gradient is a view, too, that of unsqueeze a copy
        stacked = recurrence(input_gates, self.weight_hh, self.bias_hh, self.kind, tuple(states))
        if len(states) == 1:
            return stacked.view(*input.shape[:-1], self.hidden_size)
        rest = () if batched else (0,)
        return Select.apply(stacked, (0, 0, *rest)), Select.apply(stacked, (0, 1, *rest))


class RNNCell(_Cell):
    """One step of a single-layer `RNN`.

    Args:
        input_size: See `RNNCellBase` for this, the other arguments and the errors.
        nonlinearity: "tanh" or "relu"; others raise a ValueError.
    """

    kind = "tanh"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        kind = _check_nonlinearity(nonlinearity, "RNNCell")
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.kind = self.nonlinearity = kind


class GRUCell(_Cell):
    """One step of a single-layer `GRU`; for the arguments see `RNNCell`."""

    kind = "gru"


class LSTMCell(_Cell):
    """One step of a single-layer `LSTM`; for the arguments see `RNNCell`. The states are pairs, hidden state and cell state."""

    kind = "lstm"
