"""Recurrent layers and cells against PyTorch's of the same name: values, gradients, names and representations."""

import pytest

from minitorch import float32, float64

from .torch_comparison import check_layer, check_names, row, x

SEQUENCE, ROWS = x(6, 2, 4), x(5, 4)

LAYERS = [
    row("RNN", 4, 3, on=[SEQUENCE]),
    row("RNN", 4, 3, 2, "relu", False, bidirectional=True, on=[SEQUENCE, x(4, 2, 3)]),
    row("LSTM", 4, 3, 2, batch_first=True, on=[x(2, 6, 4)]),
    row("LSTM", 4, 3, 2, True, True, 0.0, True, on=[x(2, 6, 4)]),
    row("LSTM", 4, 3, on=[SEQUENCE, (x(1, 2, 3), x(1, 2, 3, seed=1))]),
    row("LSTM", 4, 3, on=[x(6, 4), (x(1, 3), x(1, 3, seed=1))]),
    row("GRU", 4, 3, bidirectional=True, bias=False, on=[SEQUENCE]),
    row("GRU", 4, 3, on=[x(6, 4)]),
    row("RNNCell", 4, 3, on=[ROWS, x(5, 3)]),
    row("RNNCell", 4, 3, False, "relu", on=[x(4)]),
    row("LSTMCell", 4, 3, on=[ROWS, (x(5, 3), x(5, 3, seed=1))]),
    row("GRUCell", 4, 3, bias=False, on=[ROWS]),
]


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs, dtype):
    check_names(*check_layer(name, args, settings, inputs, dtype=dtype))
