"""Task 6.8: quantization: rows of integers within half a scale, exact products, a layer, and a model that predicts as well as before."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers, sampled_from, tuples

import minitorch
from minitorch import no_grad, tensor
from minitorch.language import quantization
from minitorch.language.layers import Linear
from minitorch.language.model import GPT2, cross_entropy
from minitorch.language.quantization import MAX_INNER, TINY, QuantizedLinear, dequantize, int_product, quantize, quantize_rows
from minitorch.optim import Adam
from minitorch.tensor_ops import SimpleBackend

from ..errors import raises
from .test_model import random_weights

BOUND = 1 / 2 + 2**-16
"""The largest distance of a weight from what its integer represents, in scales: half a step and the rounding of float32."""

few = settings(max_examples=30, deadline=None)

matrices = sampled_from([np.float32, np.float64]).flatmap(
    lambda dtype: arrays(dtype, tuples(integers(1, 4), integers(1, 5)), elements=floats(-(2.0**100), 2.0**100, width=32))
)


def int8(values):
    return np.array(values, np.int8)


def product(left, right):
    """The result of the kernel; what was in the memory before must not matter."""
    out = np.full((len(left), len(right)), 77, np.int32)
    int_product(out, left, right)
    return out


def exact(left, right):
    """The product with Python's integers, which have no largest one."""
    return (left.astype(object) @ right.astype(object).T).tolist()


# Rows of integers


@pytest.mark.task6_8
def test_a_row_by_hand():
    quantized, scales = quantize_rows(np.array([[0.5, -1.27, 0.016], [25.4, 0.3, -0.1]], np.float32))
    assert quantized.tolist() == [[50, -127, 2], [127, 2, 0]]  # 1.6 and 1.5 and -0.5 steps
    np.testing.assert_allclose(scales, [0.01, 0.2], rtol=1e-6)


@pytest.mark.task6_8
def test_the_types_are_int8_and_float32_also_for_float64():
    for dtype in (np.float32, np.float64):
        quantized, scales = quantize_rows(np.ones((3, 2), dtype))
        assert (quantized.dtype, quantized.shape) == (np.int8, (3, 2))
        assert (scales.dtype, scales.shape) == (np.float32, (3,))
        assert quantized.flags.c_contiguous
        assert dequantize(quantized, scales).dtype == np.float32


@pytest.mark.task6_8
def test_numbers_are_rounded_to_the_nearest_integer_and_halves_to_the_even_one():
    row = np.array([[127, 1.7, -1.7, 0.5, 1.5, -0.5, -2.5, 126.5]], np.float32)
    quantized, scales = quantize_rows(row)
    assert scales.tolist() == [1]
    assert quantized.tolist() == [[127, 2, -2, 0, 2, 0, -2, 126]]


@pytest.mark.task6_8
@given(matrices)
@example(np.array([[0.0, 0.0], [1e-45, 0.0], [1e-38, -3e-39]], np.float32))
@example(np.array([[1e38, -1e38], [1e30, 1e-30]], np.float32))
@settings(max_examples=100, deadline=None)
def test_each_weight_is_within_half_a_scale_of_what_its_integer_represents(weight):
    quantized, scales = quantize_rows(weight)
    assert np.abs(quantized.astype(int)).max() <= 127
    assert (scales > 0).all()
    distance = np.abs(weight.astype(np.float64) - dequantize(quantized, scales).astype(np.float64))
    assert (distance <= BOUND * scales.astype(np.float64)[:, None]).all()


@pytest.mark.task6_8
@given(matrices)
@few
def test_the_scale_is_the_largest_magnitude_over_127_and_the_sign_does_not_matter(weight):
    before = weight.copy()
    quantized, scales = quantize_rows(weight)
    np.testing.assert_allclose(scales, np.maximum([max(map(abs, row)) / 127 for row in weight.tolist()], TINY), rtol=1e-6)
    negative, same = quantize_rows(-weight)
    assert (negative == -quantized).all()
    assert (same == scales).all()
    assert np.array_equal(weight, before)


@pytest.mark.task6_8
def test_each_row_has_its_own_scale():
    small, large = np.array([0.001, -0.002]), np.array([100.0, 50.0])
    alone, together = quantize_rows(small[None]), quantize_rows(np.stack([large, small]))
    assert (alone[0][0] == together[0][1]).all()
    assert alone[1][0] == together[1][1]


@pytest.mark.task6_8
def test_a_row_of_zeros_has_the_smallest_scale_and_stays_zero():
    quantized, scales = quantize_rows(np.zeros((2, 3), np.float32))
    assert scales.tolist() == [TINY, TINY]
    assert not dequantize(quantized, scales).any()


@pytest.mark.task6_8
def test_matrices_without_rows_or_columns_are_quantized():
    assert [part.shape for part in quantize_rows(np.zeros((0, 3), np.float32))] == [(0, 3), (0,)]
    assert [part.shape for part in quantize_rows(np.zeros((2, 0), np.float32))] == [(2, 0), (2,)]


@pytest.mark.task6_8
def test_dequantize_multiplies_each_row_by_its_scale():
    found = dequantize(int8([[127, -127, 0], [1, 2, 3]]), np.array([0.5, 2], np.float32))
    assert found.tolist() == [[63.5, -63.5, 0], [2, 4, 6]]


@pytest.mark.task6_8
@pytest.mark.parametrize(("wrong", "text"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (2e38, "2e+38")])
def test_numbers_that_have_no_scale_are_refused(wrong, text):
    weight = np.ones((2, 3))
    weight[1, 2] = wrong
    message = f"quantize_rows expected finite numbers of magnitude up to 1e+38, got {text} at [1, 2]; train with a smaller learning rate"
    with raises(ValueError, message):
        quantize_rows(weight)


@pytest.mark.task6_8
def test_what_is_no_matrix_is_refused():
    with raises(ValueError, "quantize_rows expected a matrix, got shape (3,); reshape it to (rows, columns)"):
        quantize_rows(np.ones(3))


# The product


@pytest.mark.task6_8
@given(integers(1, 3), integers(1, 5), integers(0, 70), integers(0, 1000))
@example(1, 1, 0, 0)
@example(3, 2, 65, 1)
@few
def test_the_product_is_that_of_whole_numbers(n, r, size, seed):
    rng = np.random.default_rng(seed)
    left, right = (rng.integers(-127, 128, (rows, size)).astype(np.int8) for rows in (n, r))
    before = left.copy(), right.copy()
    assert product(left, right).tolist() == exact(left, right)
    assert np.array_equal(left, before[0])
    assert np.array_equal(right, before[1])


@pytest.mark.task6_8
def test_the_largest_sums_fit_and_one_more_product_would_not():
    assert MAX_INNER == 133_144
    assert MAX_INNER * 127 * 127 <= 2**31 - 1 < (MAX_INNER + 1) * 127 * 127
    ones = np.ones((1, MAX_INNER), np.int8)
    left, right = 127 * ones, np.concatenate([127 * ones, -127 * ones, ones])
    assert product(left, right).tolist() == [[MAX_INNER * 127 * 127, -MAX_INNER * 127 * 127, MAX_INNER * 127]]


@pytest.mark.task6_8
def test_sums_beyond_the_digits_of_float32_are_exact():
    left, right = np.full((1, 4097), 127, np.int8), np.full((1, 4097), 127, np.int8)
    left[0, -1] = right[0, -1] = 1
    assert product(left, right).tolist() == [[4096 * 127 * 127 + 1]]


# The layer


def make_layer(in_size, out_size, seed=0):
    layer = Linear(in_size, out_size, SimpleBackend)
    return layer, random_weights(layer, seed)


@pytest.mark.task6_8
def test_a_layer_by_hand():
    layer = Linear(2, 2, SimpleBackend)
    layer.weight.update(tensor([[1.27, 25.4], [-0.5, 12.8]]))
    layer.bias.update(tensor([10.0, 20.0]))
    quantized = QuantizedLinear(layer)
    assert quantized.weight.tolist() == [[127, -50], [127, 64]]
    out = quantized(tensor([[12.7, 0.1], [0.0, 254.0]]))
    np.testing.assert_allclose(out.to_numpy(), [[12.7 * 1.27 - 0.05 + 10, 322.58 + 1.28 + 20], [-127 + 10, 254 * 12.8 + 20]], rtol=1e-6)


@pytest.mark.task6_8
@given(tuples(integers(1, 3), integers(1, 3)), integers(1, 9), integers(1, 4), integers(0, 1000))
@few
def test_the_layer_multiplies_the_numbers_that_the_integers_represent(shape, in_size, out_size, seed):
    layer, w = make_layer(in_size, out_size, seed)
    x = np.random.default_rng(seed).normal(0, 10.0 ** np.arange(shape[1])[:, None], (*shape, in_size))
    found = QuantizedLinear(layer)(tensor(x))

    def rounded(rows):
        scales = np.abs(rows).max(-1, keepdims=True) / 127
        return np.rint(rows / scales) * scales

    expected = rounded(x) @ rounded(w["weight"].T).T + w["bias"]
    assert found.shape == (*shape, out_size)
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.task6_8
@given(integers(1, 40), integers(0, 1000))
@few
def test_the_result_is_within_the_bound_of_the_exact_one(in_size, seed):
    layer, w = make_layer(in_size, 3, seed)
    x = np.random.default_rng(seed + 1).normal(size=(4, in_size))
    found = QuantizedLinear(layer)(tensor(x)).to_numpy()
    step_x, step_w = np.abs(x).max(1)[:, None] / 254, np.abs(w["weight"]).max(0) / 254
    # (x + d) · (w + e) - x · w = x · e + d · w + d · e
    bound = np.abs(x).sum(1)[:, None] * step_w + step_x * np.abs(w["weight"]).sum(0) + in_size * step_x * step_w
    assert (np.abs(found - (x @ w["weight"] + w["bias"])) <= bound * 1.001 + 1e-5).all()


@pytest.mark.task6_8
def test_vectors_do_not_depend_on_one_another():
    layer = QuantizedLinear(make_layer(5, 3)[0])
    x = np.random.default_rng(1).normal(size=(2, 3, 5))
    x[0, 1] *= 1000
    together = layer(tensor(x)).to_numpy()
    for b, t in np.ndindex(2, 3):
        np.testing.assert_array_equal(layer(tensor(x[b, t])).to_numpy(), together[b, t])


@pytest.mark.task6_8
def test_zeros_give_the_bias():
    layer, w = make_layer(4, 3)
    np.testing.assert_allclose(QuantizedLinear(layer)(tensor(np.zeros((2, 4)))).to_numpy(), [w["bias"]] * 2, rtol=1e-6)


@pytest.mark.task6_8
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_result_has_the_dtype_and_the_backend_of_the_input(dtype):
    x = tensor(np.ones((1, 2, 4), dtype), minitorch.FastBackend, dtype=dtype)
    out = QuantizedLinear(make_layer(4, 3)[0])(x)
    assert out.dtype == dtype
    assert out.backend is x.backend


@pytest.mark.task6_8
def test_the_layer_calls_the_product_of_integers_once(monkeypatch):
    calls, layer = [], QuantizedLinear(make_layer(4, 3)[0])

    def counted(out, left, right):
        calls.append((out.dtype.name, left.dtype.name, right.dtype.name, left.shape, right.shape))
        int_product(out, left, right)

    monkeypatch.setattr(quantization, "int_product", counted)
    layer(tensor(np.ones((2, 3, 4))))
    assert calls == [("int32", "int8", "int8", (6, 4), (3, 4))]


@pytest.mark.task6_8
def test_an_input_that_needs_a_gradient_is_refused_and_no_grad_is_the_remedy():
    layer, x = QuantizedLinear(make_layer(4, 3)[0]), tensor(np.ones((2, 4)), requires_grad=True)
    message = (
        "QuantizedLinear expected an input that needs no gradient, because rounding has none, got one that does; compute inside "
        "`with no_grad():`, and train the model before you quantize it"
    )
    with no_grad():
        assert not layer(x * 2).requires_grad
    with raises(RuntimeError, message):  # afterwards: unwritten code would raise a RuntimeError as well
        layer(x * 2)


@pytest.mark.task6_8
def test_an_input_of_another_size_is_refused():
    with raises(ValueError, "QuantizedLinear expected an input of shape (…, 4), got (2, 5); pass vectors of 4 numbers"):
        QuantizedLinear(make_layer(4, 3)[0])(tensor(np.ones((2, 5))))


# The model


def train_model(backend=SimpleBackend, width=8, count=2, length=4, steps=20):
    """A small model that has learned texts in which the next token comes after a token three times in four."""
    minitorch.manual_seed(0)
    model, rng = GPT2(6, length, 1, 2, width, backend), np.random.default_rng(0)
    texts = np.where(rng.random((count, length + 1)) < 0.75, 1, 3).cumsum(1) % 6
    optimizer = Adam(model.parameters(), lr=0.03)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(model(tensor(texts[:, :-1], backend)), tensor(texts[:, 1:], backend)).backward()
        optimizer.step()
    return model, texts


def perplexity(model, texts):
    backend = model.wte.weight.value.backend
    with no_grad():
        return math.exp(cross_entropy(model(tensor(texts[:, :-1], backend)), tensor(texts[:, 1:], backend)).item())


@pytest.mark.task6_8
def test_the_perplexity_of_a_trained_model_changes_by_at_most_a_hundredth():
    model, texts = train_model()
    before = perplexity(model, texts)
    assert before < 3  # about 6 without training
    quantize(model)
    after = perplexity(model, texts)
    assert after != before
    assert abs(after / before - 1) <= 0.01
