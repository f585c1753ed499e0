"""Quantization: the given code that replaces the layers of a model and counts its bytes."""

import numpy as np
import pytest

from minitorch import no_grad, tensor
from minitorch.language.generation import generate
from minitorch.language.layers import Linear
from minitorch.language.model import GPT2, SelfAttention, cross_entropy
from minitorch.language.quantization import MAX_INNER, QuantizedLinear, model_nbytes, quantize
from minitorch.tensor_ops import SimpleBackend

from ..errors import raises
from .test_model import random_weights


def test_quantize_replaces_all_linear_layers_and_tells_the_bytes():
    model, width = GPT2(10, 6, 2, 2, 8), 8
    before, after = quantize(model)
    itemsize = model.wte.weight.value.dtype.itemsize
    rest = (10 + 6 + 2 * 4 + 2) * width * itemsize  # embeddings and normalizations
    weights, outputs = 12 * width * width, 9 * width  # of a block: 3 + 1 + 4 + 4 matrices; 3 + 1 + 4 + 1 vectors
    assert before == rest + 2 * (weights + outputs) * itemsize
    assert after == rest + 2 * (weights + outputs * (4 + 4)) == model_nbytes(model)
    for block in model.h.modules():
        assert all(isinstance(layer, QuantizedLinear) for layer in (*block.attn.modules(), *block.mlp.modules()))
    assert not [name for name, _ in model.named_parameters() if "attn" in name or "mlp" in name]


def test_a_quantized_model_generates_and_cannot_be_trained():
    model = GPT2(6, 8, 1, 2, 4)
    random_weights(model)
    quantize(model)
    assert len(list(generate(model, [1, 2], 4, temperature=0))) == 4
    tokens = tensor(np.array([[1, 2, 3]]))
    with pytest.raises(RuntimeError, match="QuantizedLinear expected an input that needs no gradient, because rounding has none"):
        cross_entropy(model(tokens), tokens).backward()
    with no_grad():
        assert model(tokens).shape == (1, 3, 6)


def test_weights_that_are_not_finite_leave_the_model_unchanged():
    model = SelfAttention(4, 2, SimpleBackend)
    model.c_proj.weight.update(tensor(np.full((4, 4), np.nan)))
    with pytest.raises(ValueError, match=r"got nan at \[0, 0\]"):
        quantize(model)
    assert all(isinstance(layer, Linear) for layer in model.modules())


def test_biases_that_are_not_finite_are_refused():
    layer = Linear(1, 1, SimpleBackend)
    layer.bias.update(tensor([np.inf]))
    with raises(ValueError, "QuantizedLinear expected finite biases, got infinite or NaN; train again with a smaller learning rate"):
        QuantizedLinear(layer)


def test_layers_with_too_many_inputs_are_refused():
    QuantizedLinear(Linear(MAX_INNER, 1, SimpleBackend))
    message = "QuantizedLinear expected at most 133144 inputs, whose sum fits into int32, got 133145; split the layer"
    with raises(ValueError, message):
        QuantizedLinear(Linear(MAX_INNER + 1, 1, SimpleBackend))


def test_a_model_is_quantized_only_once():
    model = GPT2(4, 4, 1, 1, 2)
    quantize(model)
    with raises(ValueError, "quantize expected a model with Linear layers, got GPT2 without; quantize a model only once"):
        quantize(model)
