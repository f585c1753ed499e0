"""Attention and transformers against PyTorch's of the same name: values, gradients, names and representations."""

import numpy as np
import pytest

from minitorch import float32, float64

from .torch_comparison import check_function, check_layer, check_names, part, row, x

QUERY, KEY, VALUE = x(3, 2, 4), x(5, 2, 4), x(5, 2, 4, seed=1)
SEQUENCES = [x(2, 3, 4)] * 3
IGNORED = np.array([[False, False, True], [False, False, False]])
CAUSAL = np.triu(np.ones((4, 4), bool), 1)
LATER = CAUSAL[:3, :3]
PADDING = np.array([[False, False, False, True], [False] * 4, [False, False, True, True]])

LAYERS = [
    row("MultiheadAttention", 4, 2, on=[QUERY, KEY, VALUE]),
    row("MultiheadAttention", 4, 2, bias=False, on=[QUERY, KEY, VALUE, None, False]),
    row("MultiheadAttention", 4, 2, on=[QUERY[:, 0], KEY[:, 0], VALUE[:, 0]]),
    row("MultiheadAttention", 4, 2, 0.0, True, False, False, 3, 6, True, on=[x(2, 3, 4), x(2, 5, 3), x(2, 5, 6)]),
    row("MultiheadAttention", 4, 2, kdim=3, vdim=6, on=[QUERY, x(5, 2, 3), x(5, 2, 6), None, True, None, False]),
    row("MultiheadAttention", 4, 2, batch_first=True, on=[*SEQUENCES, IGNORED]),
    row("MultiheadAttention", 4, 2, batch_first=True, on=[*SEQUENCES, None, True, LATER]),
    row("MultiheadAttention", 4, 2, batch_first=True, on=[*SEQUENCES, IGNORED, True, LATER]),
    row("MultiheadAttention", 4, 2, batch_first=True, on=[*SEQUENCES, None, True, x(4, 3, 3)]),
    *[row("TransformerEncoderLayer", 8, 2, 5, 0.0, batch_first=batch_first, on=[x(3, 4, 8)]) for batch_first in (False, True)],
    row("TransformerEncoderLayer", 8, 2, 5, 0.0, on=[x(4, 8)]),
    row("TransformerEncoderLayer", 8, 4, 5, 0.0, "gelu", 0.1, True, True, False, on=[x(3, 4, 8), CAUSAL, PADDING]),
    row("TransformerEncoderLayer", 8, 2, 5, 0.0, batch_first=True, on=[x(3, 4, 8), CAUSAL, None, True]),
    row("TransformerEncoderLayer", 8, 2, 5, 0.0, part("Tanh"), batch_first=True, on=[x(3, 4, 8)]),
    row("TransformerDecoderLayer", 8, 2, 5, 0.0, on=[x(4, 3, 8), x(5, 3, 8)]),
    row("TransformerDecoderLayer", 8, 4, 5, 0.0, "gelu", 0.1, True, True, on=[x(3, 4, 8), x(3, 5, 8), CAUSAL, None, PADDING]),
    row("TransformerEncoder", part("TransformerEncoderLayer", 8, 2, 5, 0.0, batch_first=True), 2, on=[x(3, 4, 8), CAUSAL, PADDING]),
    row(
        "TransformerDecoder",
        part("TransformerDecoderLayer", 8, 2, 5, 0.0, norm_first=True),
        num_layers=2,
        norm=part("LayerNorm", 8),
        on=[x(4, 3, 8), x(5, 3, 8), CAUSAL],
    ),
    row("Transformer", 4, 2, 1, 2, 8, 0.0, batch_first=True, on=[x(2, 5, 4), x(2, 3, 4)]),
    row("Transformer", 4, 2, 1, 1, 8, 0.0, norm_first=True, bias=False, on=[x(5, 2, 4), x(3, 2, 4), None, LATER]),
]

FUNCTIONS = [
    row("scaled_dot_product_attention", on=[x(2, 5, 4), x(2, 3, 4, seed=1), x(2, 3, 6)]),
    row("scaled_dot_product_attention", is_causal=True, scale=0.3, on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    row("scaled_dot_product_attention", attn_mask=np.tri(4, dtype=bool), on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
    row("scaled_dot_product_attention", attn_mask=x(4, 4), on=[x(2, 4, 4), x(2, 4, 4, seed=1), x(2, 4, 4, seed=2)]),
]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning", "ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize(("name", "args", "settings", "inputs"), LAYERS)
def test_a_layer_agrees_with_pytorch(name, args, settings, inputs, dtype):
    check_names(*check_layer(name, args, settings, inputs, dtype=dtype))


@pytest.mark.parametrize(("name", "args", "settings", "inputs"), FUNCTIONS)
def test_a_function_agrees_with_pytorch(name, args, settings, inputs):
    check_function(name, args, settings, inputs)
