"""Stage 6 - Recurrent layers."""

from __future__ import annotations

from typing import Any

import minitorch.nn as engine
from minitorch.nn.init import uniform_
from minitorch.torch.nn.functional import refuse_unless
from minitorch.torch.nn.module import adapt


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


class RNN(_Recurrent, adapt(engine.RNN)):
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


class _Gated(_Recurrent):
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
