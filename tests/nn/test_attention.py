"""Attention and transformers: by hand and from NumPy, and gradients from finite differences."""

import math
import pickle

import numpy as np
import pytest

from minitorch import FastBackend, float32, float64, grad_check, manual_seed, tensor, zeros
from minitorch.nn import LayerNorm, Linear, MultiheadAttention, PReLU, Transformer, TransformerEncoder, TransformerEncoderLayer
from minitorch.nn.attention import scaled_dot_product_attention
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.nn.checks import random, refuses


def expected_attention(query, key, value, seen=None, added=0.0, scale=None):
    """The paper's formula; seen and added broadcast to the scores."""
    scores = query @ np.swapaxes(key, -1, -2) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale) + added
    powers = np.exp(scores) * (1 if seen is None else seen)
    sums = powers.sum(-1, keepdims=True)
    return np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0) @ value


# The function


@pytest.mark.parametrize(
    "sizes", [((2, 3, 4), (2, 5, 4), (2, 5, 2)), ((2, 1, 3, 2), (3, 3, 2), (3, 3, 2)), ((4, 2), (2, 2), (2, 3))], ids=str
)
def test_masks_hide_keys_or_add_to_their_scores(backend, sizes):
    query, key, value = (random(shape, i) for i, shape in enumerate(sizes))
    scores = (sizes[0][-2], sizes[1][-2])
    seen, added = random(scores, 3) > -0.5, random(scores, 4)
    seen[:, 0] = True
    q, k, v = (tensor(x, backend) for x in (query, key, value))
    triangle = np.tri(*scores, dtype=bool)
    for settings, expected in [
        ({}, expected_attention(query, key, value)),
        ({"scale": 2.0}, expected_attention(query, key, value, scale=2.0)),
        ({"attn_mask": tensor(seen, backend)}, expected_attention(query, key, value, seen)),
        ({"attn_mask": tensor(added, backend)}, expected_attention(query, key, value, added=added)),
        ({"is_causal": True}, expected_attention(query, key, value, triangle)),
        ({"is_causal": True, "attn_mask": tensor(seen, backend)}, expected_attention(query, key, value, seen & triangle)),
    ]:
        np.testing.assert_allclose(scaled_dot_product_attention(q, k, v, **settings).to_numpy(), expected, rtol=1e-11, atol=1e-13)


def test_gradients_agree_with_finite_differences(backend):
    query, key, value, added = random((1, 3, 2)), random((2, 3, 2), 1), random((2, 3, 2), 2), random((3, 3), 3)
    tensors = [tensor(x, backend) for x in (query, key, value)]
    factors = tensor(random((2, 3, 2), 4), backend)
    grad_check(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True) * factors, *tensors)
    grad_check(lambda q, k, v, m: scaled_dot_product_attention(q, k, v, m) * factors, *tensors, tensor(added, backend))
    seen = tensor(np.array([[True, False, True], [True, True, False], [False, True, True]]), backend)
    grad_check(lambda q, k, v: scaled_dot_product_attention(q, k, v, seen) * factors, *tensors)


def test_whole_tiles_that_a_mask_hides_are_skipped():
    shapes, seen = [(1, 150, 3), (1, 140, 3), (1, 140, 2)], np.ones((150, 140), bool)
    for hidden in (
        np.s_[:70, 60:],
        np.s_[70:, :64],
        np.s_[80:84],
        np.s_[64:128, 64],
        np.s_[128, 64:128],
    ):  # some tiles, and parts of others
        seen[hidden] = False
    tensors = [tensor(random(shape, i), FastBackend).requires_grad_() for i, shape in enumerate(shapes)]
    grad = random((1, 150, 2), 3)
    out = scaled_dot_product_attention(*tensors, tensor(seen, FastBackend))
    out.backward(tensor(grad, FastBackend))
    query, key, value = (x.detach().to_numpy() for x in tensors)
    np.testing.assert_allclose(out.to_numpy(), expected_attention(query, key, value, seen), rtol=1e-10, atol=1e-12)
    powers = np.exp(query @ np.swapaxes(key, -1, -2) / math.sqrt(3)) * seen
    sums = powers.sum(-1, keepdims=True)
    weights = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
    changes = weights * (grad @ np.swapaxes(value, -1, -2) - (grad * out.to_numpy()).sum(-1, keepdims=True)) / math.sqrt(3)
    expected = changes @ key, np.swapaxes(changes, -1, -2) @ query, np.swapaxes(weights, -1, -2) @ grad
    for x, gradient in zip(tensors, expected, strict=True):
        np.testing.assert_allclose(x.grad.to_numpy(), gradient, rtol=1e-9, atol=1e-11)


def test_gradients_have_gradients(backend):
    shapes = [random((2, 2), i) for i in range(3)]
    assert_second_derivatives(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True), shapes, backend)


def test_incompatible_arguments_are_refused():
    op, x, integer = scaled_dot_product_attention, tensor(random((3, 2))), tensor(np.ones((3, 2), int))
    refuses(TypeError, "… expected a Tensor of floats as key, got int64; convert it: key.to(float32)", op, x, integer, x)
    refuses(ValueError, "… expected value of at least 2 dimensions, got shape (2,)", op, x, x, x[0])
    shapes = "… expected query (…, L, E), key (…, S, E) and value (…, S, V) with S and E of at least 1, got {}"
    refuses(ValueError, shapes.format("(3, 2), (2, 3) and (3, 2)"), op, x, x.t(), x)
    refuses(ValueError, shapes.format("(3, 2), (0, 2) and (0, 2)"), op, x, x[:0], x[:0])
    refuses(ValueError, "… expected a mask that broadcasts to the scores, (3, 3), got (2, 3)", op, x, x, x, tensor(np.ones((2, 3))))
    message = "… expected a Tensor of bool or floats as mask, got int64; convert it, for example with x != 0"
    refuses(TypeError, message, op, x, x, x, tensor(np.ones((3, 3), int)))
    refuses(
        ValueError, "… expected dropout_p from 0 to 1, got 1.5; it is the probability that a weight is zeroed", op, x, x, x, dropout_p=1.5
    )


# The layers


def test_one_head_with_identity_matrices_is_plain_attention():
    layer = MultiheadAttention(2, 1, bias=False, batch_first=True)
    layer.in_proj_weight.update(tensor(np.tile(np.eye(2), (3, 1))))
    layer.out_proj.weight.update(tensor(np.eye(2)))
    query, key, value = random((2, 3, 2)), random((2, 4, 2), 1), random((2, 4, 2), 2)
    out, weights = layer(tensor(query), tensor(key), tensor(value))
    np.testing.assert_allclose(out.to_numpy(), expected_attention(query, key, value), rtol=1e-12)
    np.testing.assert_allclose(weights.to_numpy(), expected_attention(query, key, np.eye(4)), rtol=1e-12)


def test_initial_weights_follow_glorot_and_have_pytorch_names():
    manual_seed(0)
    layer = MultiheadAttention(20, 4)
    shapes = {"in_proj_weight": (60, 20), "in_proj_bias": (60,), "out_proj.weight": (20, 20), "out_proj.bias": (20,)}
    assert {name: x.shape for name, x in layer.state_dict().items()} == shapes
    for weight, bound in ((layer.in_proj_weight, math.sqrt(6 / 80)), (layer.out_proj.weight, math.sqrt(1 / 20))):
        assert 0.95 * bound < abs(weight.to_numpy()).max() <= bound
    assert not layer.in_proj_bias.to_numpy().any()
    assert not layer.out_proj.bias.to_numpy().any()
    assert {x.dtype for x in layer.state_dict().values()} == {float32}
    names = ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"]
    assert list(MultiheadAttention(4, 2, bias=False, kdim=3).state_dict()) == names
    assert repr(layer) == (
        "MultiheadAttention(\n  (out_proj): NonDynamicallyQuantizableLinear(in_features=20, out_features=20, bias=True)\n)"
    )


def test_the_summary_counts_operations():
    x, other = tensor(random((2, 3, 4))), tensor(random((2, 5, 4)))
    layer = MultiheadAttention(4, 2, batch_first=True)
    assert layer.flops((x, x, x), None) == 3 * 2 * 24 * 4 + 2 * (2 * 2 * 3 * 3 * 4)  # three projections, scores and sums of values
    assert layer.flops((x, other, other), None) == 2 * (24 + 40 + 40) * 4 + 2 * (2 * 2 * 3 * 5 * 4)


def test_layers_refuse_incompatible_arguments():
    refuses(ValueError, "… expected num_heads that divides embed_dim, 6, got 4", MultiheadAttention, 6, 4)
    refuses(ValueError, "… expected embed_dim and num_heads of at least 1, got 6, 0", MultiheadAttention, 6, 0)
    message = "… expected dropout from 0 to 1, got 2; it is the probability that a weight is zeroed"
    refuses(ValueError, message, MultiheadAttention, 6, 2, 2)
    refuses(ValueError, "… expected kdim and vdim of at least 1, got 0, 6", MultiheadAttention, 6, 2, kdim=0)
    refuses(TypeError, "… expected embed_dim and num_heads as integers, got '6', 2", MultiheadAttention, "6", 2)
    layer, x = MultiheadAttention(2, 1, dtype=float64), tensor(random((3, 4, 2)), FastBackend)
    message = "… expected query, key and value of shapes (L, N, 2), (S, N, 2), (S, N, 2), or each without N, got {}"
    refuses(ValueError, message.format("(3, 4, 2), (3, 2, 2) and (3, 2, 2)"), layer, x, x[:, :2], x[:, :2])
    message = "… expected key_padding_mask of shape (4, 3) or (3,), got (3, 4)"
    refuses(ValueError, message, layer, x, x, x, tensor(np.zeros((3, 4), bool), FastBackend))
    message = "… expected attn_mask of shape (3, 3) or (4, 3, 3), got (4, 3)"
    refuses(ValueError, message, layer, x, x, x, attn_mask=tensor(np.zeros((4, 3), bool), FastBackend))
    message = "… expected a Tensor of bool or floats as attn_mask, got int64; convert it, for example with x != 0"
    refuses(TypeError, message, layer, x, x, x, attn_mask=tensor(np.zeros((3, 3), int), FastBackend))
    for wrong in ("tanh", 3):
        message = f"… expected activation relu or gelu, or a function, got {wrong!r}"
        refuses(ValueError, message, TransformerEncoderLayer, 2, 1, activation=wrong)
    for name in ("add_bias_kv", "add_zero_attn"):
        message = f"… supports {name}=False only, got True; leave {name} out"
        refuses(NotImplementedError, message, MultiheadAttention, 2, 1, **{name: True})
    message = "… supports enable_gqa=False only, got True; leave enable_gqa out"
    refuses(NotImplementedError, message, scaled_dot_product_attention, x, x, x, enable_gqa=True)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_survives_pickling(activation):
    layer = TransformerEncoderLayer(4, 2, 8, activation=activation).eval()
    x = zeros((3, 4), layer.linear1.weight.backend, dtype=float32) + 0.5
    assert pickle.loads(pickle.dumps(layer))(x).tolist() == layer(x).tolist()


def test_an_element_of_a_causal_layer_ignores_later_elements():
    manual_seed(0)
    layer = TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True, norm_first=True, dtype=float64)
    x = random((1, 5, 4))
    before = layer(tensor(x, FastBackend), is_causal=True).to_numpy()
    x[0, 3:] += 1
    after = layer(tensor(x, FastBackend), is_causal=True).to_numpy()
    np.testing.assert_array_equal(after[0, :3], before[0, :3])
    assert (after[0, 3:] != before[0, 3:]).all()


def test_dropout_is_active_only_in_training():
    manual_seed(0)
    layer = TransformerEncoderLayer(4, 2, 8, 0.5, dtype=float64)
    x = tensor(random((1, 3, 4)), FastBackend)
    assert layer(x).tolist() != layer(x).tolist()
    layer.eval()
    assert layer(x).tolist() == layer(x).tolist()


def test_an_activation_may_be_a_layer_with_parameters():
    layer = TransformerEncoderLayer(4, 2, 8, activation=PReLU())
    assert list(layer.state_dict())[-1] == "activation.weight"


def test_an_encoder_copies_its_layer():
    encoder = TransformerEncoder(TransformerEncoderLayer(4, 2, 8), 2, LayerNorm(4))
    first, second = (layer.linear1.weight for layer in encoder.layers)
    assert first is not second
    assert first.tolist() == second.tolist()


def test_a_transformer_may_have_another_encoder_and_its_matrices_follow_glorot():
    manual_seed(0)
    model = Transformer(20, 4, custom_encoder=Linear(20, 20), num_decoder_layers=1, dim_feedforward=40)
    assert [type(part).__name__ for part in model.children()] == ["Linear", "TransformerDecoder"]
    weight = model.decoder.layers[0].linear1.weight.to_numpy()
    assert 0.95 * math.sqrt(6 / 60) < abs(weight).max() <= math.sqrt(6 / 60)


def test_the_mask_of_later_elements_adds_minus_infinity():
    mask = Transformer.generate_square_subsequent_mask(3)
    assert (mask.dtype, mask.tolist()) == (float32, [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]])
