"""Stage 6 - Recurrent layers."""

from __future__ import annotations

from typing import Any

import minitorch.nn as engine
from minitorch.nn.init import uniform_
from minitorch.nn.options import refuse_unless
from minitorch.nn.packed import run_packed
from minitorch.tensor import Tensor as EngineTensor
from minitorch.torch.nn.module import adapt
from minitorch.torch.nn.utils.rnn import PackedSequence
from minitorch.torch.tensor import Tensor, as_torch


class _Recurrent:
    """What the recurrent layers have beyond the engine's."""

    def reset_parameters(self) -> None:
        """Initialize the parameters uniformly in ±1 / √hidden_size."""
        layer: Any = self
        bound = layer.hidden_size**-0.5
        for parameter in layer.parameters():
            uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: PyTorch's arranges the parameters for a library of the GPU."""


class _OverSequences(_Recurrent):
    """What the layers that run over sequences have beyond the engine's: packed sequences as input."""

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> Any:
        """Return the last layer's hidden states at every step, and the final states of all layers; see the engine's layers.

        Args:
            input: Shape (L, N, input_size), (N, L, input_size) if batch_first, or (L, input_size); or a PackedSequence.
            hx: Initial states, shape (num_layers · directions, N, H); a pair of them for an LSTM; zeros by default.

        Returns:
            The output, packed if input is, and the final states, with the shape of hx. The states are in the original order of the batch.
        """
        if not isinstance(input, PackedSequence):
            return super().forward(input, hx)  # type: ignore[misc]  # of the adapted class
        states = None if hx is None else hx if isinstance(hx, (tuple, list)) else (hx,)
        states = None if states is None else tuple(_select(state, input.sorted_indices) for state in states)
        output, final = run_packed(self, input.data, input.batch_sizes.tolist(), states)
        final = tuple(as_torch(_select(state, input.unsorted_indices)) for state in final)
        return input._replace(data=as_torch(output)), final[0] if len(final) == 1 else final


def _select(state: EngineTensor, indices: Tensor | None) -> EngineTensor:
    """The states of some sequences, shape (num_layers · directions, N, H); all if indices is None."""
    return state if indices is None else state[:, indices.to_numpy()]


class RNN(_OverSequences, adapt(engine.RNN)):
    """Elman network: h = tanh(W_ih · x + b_ih + W_hh · h + b_hh), or relu in place of tanh.

    Args:
        input_size: Number of features of each sequence element.
        hidden_size: Number of features of the hidden state, H.
        num_layers: Number of stacked layers.
        nonlinearity: "tanh" or "relu".
        bias: Whether to use biases.
        batch_first: Whether sequences have shape (N, L, …) instead of (L, N, …).
        dropout: Dropout probability between layers during training.
        bidirectional: Whether each layer also processes the sequence in reverse.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
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
        args = (input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore
        self.nonlinearity = nonlinearity


class _Gated(_OverSequences):
    """What LSTM and GRU have beyond the engine's layers.

    Args:
        input_size: Number of features of each sequence element.
        hidden_size: Number of features of the hidden state, H.
        num_layers: Number of stacked layers.
        bias: Whether to use biases.
        batch_first: Whether sequences have shape (N, L, …) instead of (L, N, …).
        dropout: Dropout probability between layers during training.
        bidirectional: Whether each layer also processes the sequence in reverse.
        proj_size: 0.
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.

    Raises:
        NotImplementedError: If proj_size is not 0.
    """

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
        refuse_unless(type(self).__name__, proj_size=(proj_size, 0))
        args = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(*args, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class


class LSTM(_Gated, adapt(engine.LSTM)):
    """Long short-term memory; for the arguments see its first base class."""


class GRU(_Gated, adapt(engine.GRU)):
    """Gated recurrent unit; for the arguments see its first base class."""


class RNNCell(_Recurrent, adapt(engine.RNNCell)):
    """One step of a single-layer `RNN`.

    Args:
        input_size: Number of input features.
        hidden_size: Number of features of the hidden state, H.
        bias: Whether to use biases.
        nonlinearity: "tanh" or "relu".
        device: Where the parameters are stored.
        dtype: Dtype of the parameters; the default dtype if left out.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, nonlinearity, device=device, dtype=dtype)  # type: ignore
        self.bias, self.nonlinearity = bias, nonlinearity


class _GatedCell(_Recurrent):
    """What LSTMCell and GRUCell have beyond the engine's layers; for the arguments see `RNNCell`."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, device=device, dtype=dtype)  # type: ignore[call-arg]  # of the adapted class
        self.bias = bias


class LSTMCell(_GatedCell, adapt(engine.LSTMCell)):
    """One step of a single-layer `LSTM`; for the arguments see `RNNCell`."""


class GRUCell(_GatedCell, adapt(engine.GRUCell)):
    """One step of a single-layer `GRU`; for the arguments see `RNNCell`."""
