"""FastOps computes what NumPy and SimpleOps compute, for any function, dtype and layout, on one thread and on several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, FastOps, SimpleBackend, Tensor, TensorBackend, fast_ops, operators
from minitorch.core import math_operators
from minitorch.core.dtypes import comparison_dtype, promote_to_float, promote_to_number, promote_types
from minitorch.kernels import elementwise, matmul, reduce, vector_math
from minitorch.tensor_data import TensorData


@pytest.fixture(params=["one thread", "several threads"])
def thread_setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run everything, however small, on one thread or on several."""
    least = 1 << 60 if request.param == "one thread" else 1
    for module in (elementwise, reduce, matmul):
        monkeypatch.setattr(module, "PARALLEL_THRESHOLD", least)
    return request.param


def tensor(array: np.ndarray, backend: TensorBackend = FastBackend) -> Tensor:
    """A tensor over an array's memory, with its strides."""
    base = array
    while base.base is not None:
        base = base.base
    offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // array.itemsize
    strides = [step // array.itemsize for step in array.strides]
    return Tensor(TensorData(base.reshape(-1), array.shape, strides, offset if array.size else 0), backend=backend)


def numbers(shape: tuple[int, ...], dtype: Any = "float64", seed: int = 0) -> np.ndarray:
    """Random numbers that differ in every dtype."""
    values = np.random.default_rng(seed).normal(0, 3, shape)
    return values > 0 if dtype == "bool" else values.astype(dtype)


# Layouts


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize("shape", [(100, 300), (300, 100), (31, 33), (2, 70, 64), (5000,), (1, 20000), (20000, 1), (20001,)])
def test_large_transposed_and_broadcast_operands_equal_numpy(shape: tuple[int, ...]) -> None:
    a = numbers(shape, seed=1)
    turned = np.ascontiguousarray(a.T).T  # the same numbers, with the first dimension varying fastest
    row, column, one = numbers((shape[-1],), seed=2), numbers((*shape[:-1], 1), seed=3), numbers((), seed=4)
    for x, y in [(a, turned), (turned, a), (turned, turned), (turned, row), (turned, column), (a, row), (row, a), (a, column), (a, one)]:
        np.testing.assert_array_equal((tensor(x) + tensor(y)).to_numpy(), x + y)
    np.testing.assert_array_equal((-tensor(turned)).to_numpy(), -a)
    for x in (a, turned):
        for dim in range(a.ndim):
            np.testing.assert_allclose(tensor(x).sum(dim).to_numpy(), a.sum(dim, keepdims=True), rtol=1e-12, atol=1e-10)


# Functions and dtypes


MAPS = [
    *((operators.neg, promote_to_number), (operators.id, promote_types), (operators.relu, promote_types)),
    *((fn, promote_to_float) for fn in (operators.sigmoid, operators.log, operators.exp, operators.inv)),
    *((fn, promote_to_float) for fn in (math_operators.sin, math_operators.cos, math_operators.tanh, math_operators.sqrt)),
    (math_operators.magnitude, promote_types),
]
COURSE_MAPS, COURSE_ZIPS = 7, 8
"""How many are the course's: tests/exhaustive has the others."""
ZIPS = [
    *((operators.add, promote_types), (operators.mul, promote_types)),
    *((fn, comparison_dtype) for fn in (operators.lt, operators.eq, operators.is_close)),
    *((operators.relu_back, promote_types), (operators.log_back, promote_to_float), (operators.inv_back, promote_to_float)),
    *((math_operators.log_base, promote_to_float), (math_operators.le, comparison_dtype), (math_operators.ne, comparison_dtype)),
    *(
        (fn, promote_types)
        for fn in (operators.max, math_operators.abs_back, math_operators.select_if, math_operators.maximum, math_operators.minimum)
    ),
]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-3, 30.0, -30.0, 700.0, -700.0]
INFINITE = [math.inf, -math.inf, math.nan, 1e30, -1e30]


def values(dtype: str) -> np.ndarray:
    """Numbers at which functions change their behavior."""
    return np.array(SPECIAL + (INFINITE if dtype.startswith("float") else [])).astype(dtype)


def check(fn: Any, result: Any, *operands: np.ndarray) -> None:
    """Check that FastOps returns the same values and dtype as SimpleOps."""
    of = {1: TensorBackend.map, 2: TensorBackend.zip}[len(operands)]
    with np.errstate(over="ignore"):  # a float64 that SimpleOps stores as float32
        expected = of(SimpleBackend, fn, result)(*(tensor(x, SimpleBackend) for x in operands)).to_numpy()
    got = of(FastBackend, fn, result)(*map(tensor, operands)).to_numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=3e-7 if got.dtype == np.float32 else 1e-15, atol=0)


def check_pairs(fn: Any, result: Any, dtype: str) -> None:
    """Check a function of two numbers at all pairs of values."""
    check(fn, result, np.repeat(values(dtype), len(values(dtype))), np.tile(values(dtype), len(values(dtype))))


@pytest.mark.parametrize(("fn", "result"), MAPS[:COURSE_MAPS], ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_of_one_number_equals_simple_ops(fn: Any, result: Any) -> None:
    check(fn, result, values("float64"))


@pytest.mark.parametrize(("fn", "result"), ZIPS[:COURSE_ZIPS], ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_of_two_numbers_equals_simple_ops(fn: Any, result: Any) -> None:
    check_pairs(fn, result, "float64")


@pytest.mark.usefixtures("thread_setting")
def test_a_result_may_be_written_over_an_operand() -> None:
    a, b = numbers((130, 70), seed=1), numbers((130, 70), seed=2)
    for order in ((0, 1), (1, 0)):
        x = np.array(a.transpose(order), order="C").transpose(order)
        FastBackend.add_zip(tensor(x), tensor(b), tensor(x))
        np.testing.assert_array_equal(x, a + b)
        FastBackend.relu_map(tensor(x), tensor(x))
        np.testing.assert_array_equal(x, np.maximum(a + b, 0))


@pytest.mark.parametrize(("x", "y"), [(3.0, 2), (-0.5, 2), (2.0, 10), (2.0, -1.0), (9.0, 0.5), (-2.0, 3)])
def test_a_power_equals_python_s(x: float, y: float) -> None:
    """Not compiled, which takes long; tests/exhaustive compiles it."""
    assert vector_math.power(x, y) == x**y


def check_last_digits(dtype: str, digits: float) -> None:
    """Check exp, sigmoid and tanh, within two units in the last place, against longdouble."""
    last = 745 if dtype == "float64" else 103
    normal = 708 if dtype == "float64" else 87  # above this, results have fewer digits
    x = np.concatenate([np.linspace(-last, last, 20001), np.linspace(-2, 2, 20001), np.logspace(-30, 0, 200)]).astype(dtype)
    exact = x.astype(np.longdouble)
    with np.errstate(over="ignore", under="ignore"):
        small = np.exp(-abs(exact))
        wanted = [(operators.exp, np.exp(exact)), (math_operators.tanh, np.tanh(exact))]
        wanted.append((operators.sigmoid, np.where(exact < 0, small, 1) / (1 + small)))
        for fn, value in wanted:
            got, value = FastBackend.map(fn)(tensor(x)).to_numpy(), value.astype(dtype)
            np.testing.assert_allclose(got[abs(x) < normal], value[abs(x) < normal], rtol=digits, atol=0, err_msg=fn.__name__)
            np.testing.assert_allclose(got, value, rtol=digits, atol=np.finfo(dtype).smallest_subnormal, err_msg=fn.__name__)


def test_exp_sigmoid_and_tanh_are_exact_within_two_units_in_the_last_place() -> None:
    check_last_digits("float64", 5e-16)


def check_extremes(dtype: str, last: float, beyond: float) -> None:
    """Check exp, sigmoid and tanh at infinity, NaN, zeros and where exp overflows."""
    exp, sigmoid, tanh = (
        lambda *xs, fn=fn: FastBackend.map(fn)(tensor(np.array(xs, dtype))).to_numpy().tolist()
        for fn in (operators.exp, operators.sigmoid, math_operators.tanh)
    )
    tiny = float(np.finfo(dtype).smallest_subnormal)
    assert exp(beyond, 1e30, math.inf, -1e30, -math.inf, 0.0, -0.0, tiny) == [math.inf] * 3 + [0.0] * 2 + [1.0] * 3
    assert exp(last)[0] == pytest.approx(float(np.finfo(dtype).max), rel=1e-2)
    assert sigmoid(1e30, math.inf, -1e30, -math.inf, 0.0, tiny) == [1.0, 1.0, 0.0, 0.0, 0.5, 0.5]
    assert tanh(1e30, math.inf, -1e30, -math.inf, 0.0, tiny, -tiny) == [1.0, 1.0, -1.0, -1.0, 0.0, tiny, -tiny]
    assert math.copysign(1, tanh(-0.0)[0]) == -1
    assert np.isnan([exp(math.nan), sigmoid(math.nan), tanh(math.nan)]).all()


def test_exp_sigmoid_and_tanh_handle_extreme_inputs() -> None:
    check_extremes("float64", 709.782, 709.783)


def test_a_large_contiguous_result_is_divided_among_threads() -> None:
    a, b = numbers((600, 500), seed=1), numbers((600, 500), seed=2)
    assert a.size >= elementwise.PARALLEL_THRESHOLD
    np.testing.assert_array_equal(FastBackend.add_zip(tensor(a), tensor(b)).to_numpy(), a + b)


@pytest.mark.usefixtures("thread_setting")
def test_products_without_elements_are_zeros() -> None:
    for n, k, m in [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)]:
        np.testing.assert_array_equal((tensor(np.ones((n, k))) @ tensor(np.ones((k, m)))).to_numpy(), np.zeros((n, m)))


@pytest.mark.usefixtures("thread_setting")
def test_products_of_transposed_factors_and_batches_equal_numpy() -> None:
    a, b = numbers((5, 70, 40), seed=1), numbers((5, 40, 130), seed=2)
    turned = tensor(np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1))
    np.testing.assert_allclose((tensor(a) @ turned).to_numpy(), a @ b, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((tensor(a) @ tensor(b[0])).to_numpy(), a @ b[0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((tensor(a[0]) @ tensor(b)).to_numpy(), a[0] @ b, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((tensor(a[:, None]) @ tensor(b[None])).to_numpy(), a[:, None] @ b[None], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["cpu", "fast"])
def test_the_compiled_backend_can_be_selected_by_name(name):
    x = minitorch.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(name)
    assert y.backend is minitorch.FastBackend
    (y * y).sum().backward()
    assert x.grad.backend is minitorch.SimpleBackend
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_replaced_matrix_product_kernel_is_called_with_three_dimensions(monkeypatch):
    seen = []

    def kernel(out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides):
        seen.append([tuple(map(int, shape)) for shape in (out_shape, a_shape, b_shape)])
        out[:] = [19, 22, 43, 50]

    monkeypatch.setattr(FastOps, "optimized", False)
    monkeypatch.setattr(fast_ops, "tensor_matrix_multiply", kernel)
    a = minitorch.tensor([[1, 2], [3, 4]], backend=FastBackend)
    b = minitorch.tensor([[5, 6], [7, 8]], backend=FastBackend)
    assert (a @ b).tolist() == [[19, 22], [43, 50]]
    assert seen == [[(1, 2, 2)] * 3]


def test_a_zip_without_out_has_the_promoted_dtype():
    a, b = minitorch.tensor([1], dtype=minitorch.int64, backend=FastBackend), minitorch.tensor([0.5], backend=FastBackend)
    assert FastOps.zip(operators.add)(a, b).tolist() == [1.5]
