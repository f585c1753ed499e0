"""Normalization: values from NumPy, and gradients from finite differences."""

from itertools import product

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, float16, float32, float64, grad_check, no_grad, tensor
from minitorch.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
    RMSNorm,
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from tests.autograd.test_double_backward import assert_second_derivatives
from tests.marks import needs_compiler
from tests.nn.checks import leaf, random, refuses


def normalize(x, axes, eps=1e-5):
    """The formula of the papers."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


# By hand and from NumPy


SHORT = [(5, 3), (4, 3, 1), (2, 3, 4, 5)]
LONG = [(1, 3, 1, 40), (2, 3, 1, 1100)]  # more than the loops add at once


@pytest.mark.parametrize("dtype", [float64, float32], ids=str)
@pytest.mark.parametrize(("backend", "shape"), [*product([SimpleBackend, FastBackend], SHORT), *product([FastBackend], LONG)], ids=str)
def test_a_batch_is_normalized_channel_by_channel(backend, dtype, shape):
    values, weight, bias = (100 + random(shape)).astype(dtype), random((3,), 1), random((3,), 2)
    y = batch_norm(tensor(values, backend), None, None, *(tensor(x, backend, dtype=dtype) for x in (weight, bias)), training=True)
    along = [1, 3] + [1] * (len(shape) - 2)
    expected = normalize(values.astype(float), (0, *range(2, len(shape)))) * weight.reshape(along) + bias.reshape(along)
    assert (y.shape, y.dtype) == (shape, dtype)
    np.testing.assert_allclose(y.to_numpy(), expected, atol=1e-9 if dtype == float64 else 1e-4)


def test_groups_of_channels_are_normalized_sample_by_sample(backend):
    values, weight, bias = random((2, 6, 5)), random((6,), 1), random((6,), 2)
    for groups in (1, 2, 3, 6):
        y = group_norm(tensor(values, backend), groups, tensor(weight, backend), tensor(bias, backend))
        expected = normalize(values.reshape(2, groups, -1), 2).reshape(2, 6, 5) * weight[:, None] + bias[:, None]
        np.testing.assert_allclose(y.to_numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 1, 4, 1), (2, 3, 20)], ids=str)
def test_the_last_dimensions_are_normalized(backend, shape):
    for dims in range(1, len(shape) + 1):
        last, axes = shape[-dims:], tuple(range(-dims, 0))
        values, weight, bias = random(shape), random(last, 1), random(last, 2)
        x, w, b = (tensor(v, backend) for v in (values, weight, bias))
        np.testing.assert_allclose(layer_norm(x, last, w, b).to_numpy(), normalize(values, axes) * weight + bias, atol=1e-12)
        root = np.sqrt((values**2).mean(axes, keepdims=True) + 1e-5)
        np.testing.assert_allclose(rms_norm(x, last, w, 1e-5).to_numpy(), values / root * weight, atol=1e-12)


@needs_compiler
def test_rows_longer_than_a_block_keep_float32_precision():
    values = (1000 + random((3, 5000))).astype(np.float32)
    np.testing.assert_allclose(layer_norm(tensor(values, FastBackend), 5000).to_numpy(), normalize(values.astype(float), 1), atol=1e-4)


@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 20)], ids=str)
@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_nan_affects_only_its_channel_and_sample(backend, shape, strange):
    values = random(shape)
    plain = batch_norm(tensor(values, backend), None, None, training=True).to_numpy()
    values[1, 2] = strange
    x = tensor(values, backend)
    y = batch_norm(x, None, None, training=True).to_numpy()
    assert np.isnan(y[:, 2]).all()
    np.testing.assert_array_equal(y[:, :2], plain[:, :2])
    for z in (layer_norm(x, shape[1:]), rms_norm(x, shape[1:]), group_norm(x, 1)):
        strangers = ~np.isfinite(z.to_numpy())
        assert strangers[1, 2].all()
        assert not strangers[[i for i in range(shape[0]) if i != 1]].any()


@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 20)], ids=str)
def test_in_evaluation_infinity_stays_infinite_with_a_regular_gradient(shape):
    values, mean, var = random(shape), np.array([0.5, 1.0, -1.0]), np.array([1.0, 4.0, 0.25])
    values[1, 2] = np.inf
    x = leaf(values, FastBackend)
    y = batch_norm(x, tensor(mean, FastBackend), tensor(var, FastBackend), eps=0.0)
    y.sum().backward()
    along = (slice(None), *[None] * (len(shape) - 2))
    np.testing.assert_allclose(y.to_numpy(), (values - mean[along]) / np.sqrt(var)[along], rtol=1e-12)
    np.testing.assert_allclose(x.grad.to_numpy(), np.broadcast_to(1 / np.sqrt(var)[along], shape), rtol=1e-12)


def test_equal_values_become_zeros_and_rms_norm_of_zeros_is_zero(backend):
    same = tensor(np.full((4, 3), 0.1), backend)
    for y in (batch_norm(same, None, None, training=True), layer_norm(same, 3), group_norm(same, 1), rms_norm(same * 0, 3)):
        np.testing.assert_allclose(y.to_numpy(), 0, atol=1e-12)


def test_input_and_gradient_may_have_any_layout(backend):
    values = random((3, 4, 3, 2))
    results = []
    for x in (leaf(values, backend), leaf(values.transpose(1, 3, 0, 2).copy(), backend)):
        gradient = tensor(random((3, 2, 2, 4), 1), backend).permute(2, 3, 0, 1)
        for run in (lambda v: batch_norm(v, None, None, training=True), lambda v: group_norm(v, 2), lambda v: layer_norm(v, (3, 2))):
            run((x if x.shape == (3, 4, 3, 2) else x.permute(2, 0, 3, 1))[1:]).backward(gradient)
        results.append(x.grad.to_numpy())
    np.testing.assert_allclose(results[1].transpose(2, 0, 3, 1), results[0], atol=1e-12)
    assert not results[0][0].any()


# Gradients

MEAN_AND_VAR = tensor([0.5, -1.0], FastBackend), tensor([2.0, 0.5], FastBackend)


@pytest.mark.parametrize(("backend", "shape"), [(SimpleBackend, (3, 2, 2)), (FastBackend, (4, 2)), (FastBackend, (2, 2, 4, 4))], ids=str)
def test_gradients_of_batch_statistics_agree_with_finite_differences(backend, shape):
    factors, weight, bias = tensor(random(shape, 1), backend), tensor(random((2,), 2), backend), tensor(random((2,), 3), backend)
    mean, var = tensor([0.5, -1.0], backend), tensor([2.0, 0.5], backend)
    grad_check(lambda x, w, b: batch_norm(x, None, None, w, b, True) * factors, tensor(random(shape), backend), weight, bias)
    grad_check(lambda x, w, b: batch_norm(x, mean, var, w, b, False) * factors, tensor(random(shape), backend), weight, bias)
    grad_check(lambda x: batch_norm(x, None, None, training=True) * factors, tensor(random(shape), backend))


def test_gradients_of_sample_statistics_agree_with_finite_differences(backend):
    grad_check(
        lambda x, w, b: group_norm(x, 2, w, b) * tensor(random((2, 4, 2), 1), backend),
        *(tensor(random(shape, i), backend) for i, shape in enumerate([(2, 4, 2), (4,), (4,)])),
    )
    factors, given = tensor(random((2, 2, 2), 1), backend), tensor(random((2, 2, 2)), backend)
    wide, bias = tensor(random((2, 2), 4), backend), tensor(random((2, 2), 5), backend)
    grad_check(lambda x, w, b: layer_norm(x, (2, 2), w, b) * factors, given, wide, bias)
    grad_check(lambda x, b: layer_norm(x, (2, 2), None, b) * factors, given, bias)
    grad_check(lambda x, w: rms_norm(x, (2, 2), w) * factors, given, wide)
    grad_check(lambda x: rms_norm(x, 2) * factors + layer_norm(x, (2, 2), eps=0.1) * factors, given)


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_frozen_operands_get_no_gradient_and_the_others_keep_theirs(frozen):
    def gradients(freeze):
        leaves = [leaf(v, FastBackend) for v in (random((3, 4, 20)), random((4,), 1), random((4,), 2))]
        rows = [leaf(v, FastBackend) for v in (random((3, 4)), random((4,), 1), random((4,), 2))]
        for i in range(3):
            if i == freeze:
                leaves[i].requires_grad_(False), rows[i].requires_grad_(False)
        x, weight, bias = leaves
        y = batch_norm(x, tensor(np.zeros(4), FastBackend), tensor(np.ones(4), FastBackend), weight, bias)
        (y * y).sum().backward()
        (layer_norm(rows[0], 4, *rows[1:]) * tensor(random((3, 4), 5), FastBackend)).sum().backward()
        return [None if t.grad is None else t.grad.tolist() for t in leaves + rows]

    got, full = gradients(frozen), gradients(None)
    assert got[frozen] is None
    assert got[3 + frozen] is None
    assert [g for i, g in enumerate(got) if i % 3 != frozen] == [g for i, g in enumerate(full) if i % 3 != frozen]


@pytest.mark.parametrize(
    ("function", "count"),
    [
        pytest.param(lambda x, w, b: batch_norm(x, None, None, w, b, True), 3, id="batch_norm in training"),
        pytest.param(lambda x, w, b: batch_norm(x, *MEAN_AND_VAR, w, b), 3, id="batch_norm"),
        pytest.param(lambda x, w, b: group_norm(x, 2, w, b), 3, id="group_norm"),
        pytest.param(lambda x, w, b: layer_norm(x, 2, w, b), 3, id="layer_norm"),
        pytest.param(lambda x, w: rms_norm(x, 2, w), 2, id="rms_norm"),
    ],
)
def test_gradients_have_gradients(function, count):
    assert_second_derivatives(function, [random((3, 2, 2)), random((2,), 1), random((2,), 2)][:count], FastBackend)


# Running statistics


def test_training_updates_the_running_statistics_and_evaluation_uses_them(backend):
    layer = BatchNorm1d(2, device=backend, dtype=float64)
    mean, var = np.zeros(2), np.ones(2)
    for step in range(3):
        batch = random((4, 2), step)
        layer(tensor(batch, backend))
        mean, var = 0.9 * mean + 0.1 * batch.mean(0), 0.9 * var + 0.1 * batch.var(0, ddof=1)
    np.testing.assert_allclose(layer.running_mean.to_numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.to_numpy(), var, rtol=1e-12)
    assert layer.num_batches_tracked.item() == 3
    layer.eval()
    one = random((1, 2), 9)
    np.testing.assert_allclose(layer(tensor(one, backend)).to_numpy(), (one - mean) / np.sqrt(var + 1e-5), rtol=1e-12)
    assert layer.num_batches_tracked.item() == 3
    np.testing.assert_allclose(layer.running_mean.to_numpy(), mean, rtol=1e-12)


def test_without_momentum_the_running_statistics_are_means_over_all_batches():
    layer = BatchNorm2d(2, momentum=None, dtype=float64)
    batches = [random((3, 2, 4, 5), seed) for seed in range(4)]
    for batch in batches:
        layer(tensor(batch, FastBackend))
    np.testing.assert_allclose(layer.running_mean.to_numpy(), np.mean([b.mean((0, 2, 3)) for b in batches], 0), rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.to_numpy(), np.mean([b.var((0, 2, 3), ddof=1) for b in batches], 0), rtol=1e-12)


def test_without_running_statistics_evaluation_uses_the_batch():
    layer = BatchNorm1d(2, track_running_stats=False, device=SimpleBackend, dtype=float64).eval()
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(tensor(random((5, 2)))).to_numpy(), normalize(random((5, 2)), 0), atol=1e-12)


def test_initial_layers_are_plain_normalization():
    layer = BatchNorm2d(3)
    state = layer.state_dict()
    assert [x.tolist() for x in state.values()] == [[1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 0]
    assert {x.backend for x in state.values()} == {FastBackend}
    assert [x.dtype.name for x in state.values()] == ["float32"] * 4 + ["int64"]
    assert [x.tolist() for x in LayerNorm((2, 1)).state_dict().values()] == [[[1], [1]], [[0], [0]]]
    assert layer.to(float64).num_batches_tracked.dtype.name == "int64"
    assert layer.running_var.dtype == float64


def test_a_reset_layer_is_as_new():
    layer = BatchNorm1d(2)
    state = {name: value.tolist() for name, value in layer.state_dict().items()}
    layer(tensor(random((4, 2)), FastBackend, dtype=float32))
    with no_grad():
        layer.weight[...] = 5.0
        layer.bias[...] = 5.0
    layer.reset_running_stats()
    assert (layer.running_mean.tolist(), layer.running_var.tolist(), layer.num_batches_tracked.item()) == ([0, 0], [1, 1], 0)
    layer.reset_parameters()
    assert {name: value.tolist() for name, value in layer.state_dict().items()} == state


def test_an_instance_is_normalized_by_its_own_statistics_or_the_running_ones(backend):
    layer = InstanceNorm1d(3, momentum=0.5, track_running_stats=True, device=backend, dtype=float64)
    mean, var = np.zeros(3), np.ones(3)
    for step in range(2):
        values = random((4, 3, 5), step)
        np.testing.assert_allclose(layer(tensor(values, backend)).to_numpy(), normalize(values, 2), atol=1e-12)
        mean, var = (mean + values.mean((0, 2))) / 2, (var + values.var(2, ddof=1).mean(0)) / 2
    np.testing.assert_allclose(layer.running_mean.to_numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.to_numpy(), var, rtol=1e-12)
    expected = (values - mean[:, None]) / np.sqrt(var + 1e-5)[:, None]
    np.testing.assert_allclose(layer.eval()(tensor(values, backend)).to_numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(layer(tensor(values[0], backend)).to_numpy(), expected[0], rtol=1e-12)
    np.testing.assert_allclose(layer.running_mean.to_numpy(), mean, rtol=1e-12)


@pytest.mark.parametrize("layer", [InstanceNorm1d(3), InstanceNorm2d(3), InstanceNorm3d(3)], ids=lambda layer: type(layer).__name__)
def test_a_single_instance_needs_no_batch(layer):
    values = random((3, 4, 5, 2)[: 1 + len(layer.sizes[0])]).astype(np.float32)
    expected = normalize(values, tuple(range(1, values.ndim)))
    for x, y in ((values, expected), (values[None], expected[None])):
        np.testing.assert_allclose(layer(tensor(x, FastBackend)).to_numpy(), y, atol=1e-5)


def test_volumes_are_normalized_channel_by_channel(backend):
    values = random((2, 4, 5, 3, 2))
    out = BatchNorm3d(4, device=backend, dtype=float64)(tensor(values, backend))
    np.testing.assert_allclose(out.to_numpy(), normalize(values, (0, 2, 3, 4)), atol=1e-12)


def test_half_precision_stays_half_precision_with_parameters_of_float32():
    x = tensor(random((2, 4, 3)), FastBackend, dtype=float16)
    for layer in (BatchNorm1d(4), InstanceNorm1d(4, affine=True), GroupNorm(2, 4), LayerNorm(3), RMSNorm(3)):
        assert layer(x).dtype == float16


BATCH = ["running_mean", "running_var", "num_batches_tracked"]


@pytest.mark.parametrize(
    ("layer", "names", "shown"),
    [
        (BatchNorm2d(3), ["weight", "bias", *BATCH],
         "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"),
        (BatchNorm1d(3, 0.1, None, False), BATCH,
         "BatchNorm1d(3, eps=0.1, momentum=None, affine=False, bias=False, track_running_stats=True)"),
        (LayerNorm(3, bias=False), ["weight"], "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"),
        (LayerNorm((2, 1)), ["weight", "bias"], "LayerNorm((2, 1), eps=1e-05, elementwise_affine=True, bias=True)"),
        (LayerNorm(2, elementwise_affine=False), [], "LayerNorm((2,), eps=1e-05, elementwise_affine=False, bias=False)"),
        (GroupNorm(2, 4), ["weight", "bias"], "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)"),
        (GroupNorm(2, 4, bias=False), ["weight"], "GroupNorm(2, 4, eps=1e-05, affine=True, bias=False)"),
        (InstanceNorm2d(3, 0.1, 0.2, True, True, bias=False), ["weight", *BATCH],
         "InstanceNorm2d(3, eps=0.1, momentum=0.2, affine=True, bias=False, track_running_stats=True)"),
        (InstanceNorm1d(3), [], "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)"),
        (RMSNorm((3, 2)), ["weight"], "RMSNorm((3, 2), eps=None, elementwise_affine=True)"),
    ],
    ids=repr,
)  # fmt: skip
def test_layers_have_the_names_of_pytorch_and_show_their_settings(layer, names, shown):
    assert (list(layer.state_dict()), repr(layer)) == (names, shown)


# Invalid arguments


TOO_FEW = (
    "batch_norm expected more than one number for each channel in training, got input of shape {}; take larger batches, or call eval()"
)


def test_one_value_per_channel_is_refused_in_training(backend):
    layer, x = BatchNorm1d(2, device=backend, dtype=float64), tensor([[1.0, 2.0]], backend)
    refuses(ValueError, TOO_FEW.format((1, 2)), layer, x)
    assert layer.num_batches_tracked.item() == 0
    np.testing.assert_allclose(layer.eval()(x).to_numpy(), np.array([[1, 2]]) / np.sqrt(1 + 1e-5), rtol=1e-12)


def test_an_empty_batch_gives_an_empty_result_and_is_refused_in_training(backend):
    layer, x = BatchNorm1d(2, device=backend, dtype=float64), tensor(np.zeros((0, 2)), backend)
    refuses(ValueError, TOO_FEW.format((0, 2)), layer, x)
    for y in (layer.eval()(x), layer_norm(x, 2), group_norm(x, 1), rms_norm(x, 2)):
        assert y.shape == (0, 2)


def test_layers_refuse_wrong_shapes():
    for shape in ((3, 4), (3, 2, 4, 4)):
        message = f"… expected input of shape (N, 2) or (N, 2, L), got {shape}"
        refuses(ValueError, message, BatchNorm1d(2), tensor(random(shape)))
    refuses(ValueError, "… expected input of shape (N, 2, H, W), got (3, 2, 4)", BatchNorm2d(2), tensor(random((3, 2, 4))))
    refuses(ValueError, "… expected input of shape (N, 2, D, H, W), got (2, 4, 4, 4)", BatchNorm3d(2), tensor(random((2, 4, 4, 4))))
    message = "… expected input of shape (N, 2, L) or (2, L), got {}"
    refuses(ValueError, message.format((2,)), InstanceNorm1d(2), tensor(random((2,))))
    refuses(ValueError, message.format((4, 3, 5)), InstanceNorm1d(2, affine=True), tensor(random((4, 3, 5))))
    message = "InstanceNorm1d got 3 channels, not num_features, 2, which has no effect without affine; make it the number of channels"
    with pytest.warns(UserWarning, match=message):
        assert InstanceNorm1d(2)(tensor(random((4, 3, 5)))).shape == (4, 3, 5)
    message = "layer_norm expected input of shape (…, 3) for normalized_shape (3,), got (3, 4)"
    refuses(ValueError, message, LayerNorm(3), tensor(random((3, 4))))
    message = "… expected input of shape (…, 2, 3) for normalized_shape (2, 3), got (3,)"
    refuses(ValueError, message, rms_norm, tensor(random((3,))), (2, 3))
    for call, x in ((group_norm, [tensor(random((2, 4))), 3]), (GroupNorm, [3, 4])):
        refuses(ValueError, "… expected num_groups that divides the number of channels, 4, got 3", call, *x)
    refuses(ValueError, "… expected num_groups of at least 1, got 0", GroupNorm, 0, 4)
    refuses(ValueError, "… expected num_features of at least 0, got -1", BatchNorm2d, -1)
    refuses(ValueError, "… expected normalized_shape as the sizes of at least one dimension, got ()", LayerNorm, ())
    refuses(ValueError, "… expected input of shape (N, C) or (N, C, …), got (4,)", group_norm, tensor(random((4,))), 2)


def test_functions_refuse_incompatible_arguments():
    x, good, bad = tensor(random((3, 4))), tensor(np.ones(4)), tensor(np.ones(3))
    floats = "… expected a Tensor of floats as {}; make one with tensor(...)"
    refuses(
        TypeError,
        "… expected a Tensor of floats as input, got int64; convert it: input.to(float32)",
        layer_norm,
        tensor(np.ones((2, 2), int)),
        2,
    )
    refuses(TypeError, floats.format("input, got ndarray"), batch_norm, random((3, 4)), None, None)
    refuses(TypeError, floats.format("weight, got list"), batch_norm, x, None, None, [1, 1, 1, 1])
    shape = "… expected {} of shape (4,) for input of shape (3, 4), got (3,)"
    refuses(ValueError, shape.format("bias"), batch_norm, x, None, None, good, bad)
    refuses(ValueError, shape.format("running_mean"), batch_norm, x, bad, good)
    refuses(ValueError, shape.format("weight"), layer_norm, x, 4, bad)
    refuses(ValueError, shape.format("bias"), group_norm, x, 2, good, bad)
    message = "… expected running_mean and running_var, or neither, got no running_var; pass both, or None for both"
    refuses(ValueError, message, batch_norm, x, good, None)
    message = "… expected running_mean and running_var, or neither and use_input_stats; pass both"
    refuses(ValueError, message, instance_norm, x, good)
    refuses(ValueError, message, instance_norm, x, use_input_stats=False)
    message = "… expected input of shape (N, C, …) with more than one element per channel, got {}"
    for shape in ((3, 4), (3, 4, 1)):
        refuses(ValueError, message.format(shape), instance_norm, tensor(random(shape)))
