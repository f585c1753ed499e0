"""FastOps computes what NumPy and SimpleOps compute, for any function, dtype and layout, on one thread and on several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitorch import FastBackend, FastOps, SimpleBackend, operators
from minitorch.core import math_operators
from minitorch.core.dtypes import accumulator_dtype
from tests.test_fast_ops import (
    MAPS,
    ZIPS,
    check,
    check_extremes,
    check_last_digits,
    check_pairs,
    numbers,
    tensor,
    thread_setting,
    values,
)

QUICK = settings(max_examples=60, deadline=None, database=None)


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...] | None = None, dtype: str = "float64") -> np.ndarray:
    """An array of any layout: elements in another order, with gaps, after an offset, or repeated."""
    if shape is None:
        shape = tuple(draw(st.lists(st.integers(0, 40) if draw(st.booleans()) else st.integers(1, 4), max_size=4)))
        if math.prod(shape) > 5000:
            shape = shape[:2]
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in shape]
    starts = [draw(st.sampled_from([0, 0, 3])) for _ in shape]
    stretched = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
    sizes = [1 if once else start + length * step for length, step, start, once in zip(shape, steps, starts, stretched, strict=True)]
    base = numbers(tuple(sizes[dim] for dim in order), dtype, draw(st.integers(0, 99)))
    view = base.transpose(np.argsort(order)) if shape else base
    cut = [
        slice(None) if once else slice(start, start + length * step, step)
        for length, step, start, once in zip(shape, steps, starts, stretched, strict=True)
    ]
    return np.broadcast_to(view[tuple(cut)], shape) if shape else base


def smaller_shape(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to another."""
    kept = tuple(1 if draw(st.integers(0, 3)) == 0 else size for size in shape)
    return kept[draw(st.integers(0, len(kept))) :] if draw(st.booleans()) else kept


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of any layout whose shapes broadcast."""
    a = draw(arrays())
    b = draw(arrays(smaller_shape(draw, a.shape)))
    return (a, b) if draw(st.booleans()) else (b, a)


@pytest.mark.usefixtures("thread_setting")
class TestLayouts:
    @QUICK
    @given(arrays())
    def test_a_map_equals_numpy(self, a: np.ndarray) -> None:
        np.testing.assert_array_equal(FastBackend.neg_map(tensor(a)).to_numpy(), -a)

    @QUICK
    @given(pairs())
    def test_a_zip_equals_numpy(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        a, b = pair
        np.testing.assert_array_equal(FastBackend.add_zip(tensor(a), tensor(b)).to_numpy(), a + b)

    @QUICK
    @given(arrays(), st.data())
    def test_a_map_writes_into_any_layout(self, a: np.ndarray, data: st.DataObject) -> None:
        order = data.draw(st.permutations(range(a.ndim)))
        out = np.zeros([2 * a.shape[dim] for dim in order])
        view = out[(slice(None, None, 2),) * a.ndim].transpose(np.argsort(order)) if a.ndim else out
        FastBackend.id_map(tensor(a), tensor(view))
        np.testing.assert_array_equal(view, a)
        assert np.count_nonzero(out) == np.count_nonzero(a)  # and nowhere else

    @QUICK
    @given(arrays(), st.data())
    def test_a_sum_equals_numpy(self, a: np.ndarray, data: st.DataObject) -> None:
        if a.ndim:
            dim = data.draw(st.integers(0, a.ndim - 1))
            np.testing.assert_allclose(FastBackend.add_reduce(tensor(a), dim).to_numpy(), a.sum(dim, keepdims=True), rtol=1e-12, atol=1e-12)

    @QUICK
    @given(arrays(), st.data())
    def test_several_dimensions_are_reduced_in_one_pass(self, a: np.ndarray, data: st.DataObject) -> None:
        dims = tuple(data.draw(st.sets(st.integers(0, a.ndim - 1)))) if a.ndim else ()
        out = FastOps.reduce(math_operators.maximum, -math.inf)(tensor(a), dims)
        np.testing.assert_array_equal(out.to_numpy(), a.max(dims, keepdims=True, initial=-math.inf))

    @QUICK
    @given(arrays(), st.data())
    def test_a_reduction_that_is_not_a_sum_goes_in_order(self, a: np.ndarray, data: st.DataObject) -> None:
        dims = tuple(sorted(data.draw(st.sets(st.integers(0, a.ndim - 1))))) if a.ndim else ()
        out = FastOps.reduce(half_and_add, 1.0)(tensor(a), dims)
        if not a.size:
            return
        moved = np.moveaxis(a, dims, range(a.ndim - len(dims), a.ndim)).reshape(*np.delete(a.shape, dims).astype(int), -1)
        expected = np.ones(moved.shape[:-1])
        for k in range(moved.shape[-1]):
            expected = expected / 2 + moved[..., k]
        np.testing.assert_allclose(out.to_numpy().reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)

    @QUICK
    @given(st.data())
    def test_a_product_equals_numpy(self, data: st.DataObject) -> None:
        batch = data.draw(st.sampled_from([(), (3,), (2, 3), (2, 1, 2)]))
        n, k, m = (data.draw(st.integers(0, 40)) for _ in range(3))
        a_batch, b_batch = smaller_shape(data.draw, batch), smaller_shape(data.draw, batch)
        a, b = data.draw(arrays((*a_batch, n, k))), data.draw(arrays((*b_batch, k, m)))
        np.testing.assert_allclose((tensor(a) @ tensor(b)).to_numpy(), a @ b, rtol=1e-11, atol=1e-11)


def half_and_add(total: float, x: float) -> float:
    """A reduction that depends on the order."""
    return total / 2 + x


def views(seed: int) -> list[np.ndarray]:
    """A (3, 4) of every layout, tensors that broadcast to it, and empty tensors."""
    a = np.abs(numbers((3, 4), seed=seed)) + 0.5
    inside = np.zeros((8, 9))
    inside[1:7:2, 1:9:2] = a
    return [a, np.ascontiguousarray(a.T).T, inside[1:7:2, 1:9:2], np.broadcast_to(a[:1], (3, 4)), a[:, :1], a[0], a[1, 2].reshape(())]


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize("fn", [fn for fn, _ in MAPS], ids=lambda fn: fn.__name__)
def test_a_function_of_one_number_equals_simple_ops_on_every_layout(fn: Any) -> None:
    for a in [*views(1), np.zeros((0, 4))]:
        expected = SimpleBackend.map(fn)(tensor(a, SimpleBackend)).to_numpy()
        np.testing.assert_allclose(FastBackend.map(fn)(tensor(a)).to_numpy(), expected, rtol=1e-14, atol=0, err_msg=str(a.strides))


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize("fn", [fn for fn, _ in ZIPS], ids=lambda fn: fn.__name__)
def test_a_function_of_two_numbers_equals_simple_ops_on_every_pair_of_layouts(fn: Any) -> None:
    pairs = [(a, b) for a in views(1) for b in views(2)] + [(np.zeros((0, 4)), views(1)[5]), (np.zeros((3, 0)), views(1)[4])]
    for a, b in pairs:
        expected = SimpleBackend.zip(fn)(tensor(a, SimpleBackend), tensor(b, SimpleBackend)).to_numpy()
        got = FastBackend.zip(fn)(tensor(a), tensor(b)).to_numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0, err_msg=f"{a.shape} {a.strides}, {b.shape} {b.strides}")


def test_operands_of_two_dtypes_promote_as_in_numpy() -> None:
    for one, other in [("float32", "float64"), ("int64", "float32"), ("bool", "int32"), ("int64", "int64"), ("bool", "bool")]:
        a, b = numbers((3, 4), one, 1), numbers((4, 2), other, 2)
        product, sums = tensor(a) @ tensor(b), tensor(a) + tensor(b[:, 0])
        np.testing.assert_allclose(product.to_numpy(), a @ b, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(sums.to_numpy(), a + b[:, 0], rtol=1e-6)
        assert (product.dtype, sums.dtype) == ((a @ b).dtype, (a + b[:, 0]).dtype)


REDUCES = [
    (operators.add, 0.0, np.sum, "float64"),
    (operators.add, 0.0, np.sum, "float32"),
    (operators.add, 0.0, np.sum, "bool"),
    (operators.mul, 1.0, np.prod, "float64"),
    (math_operators.maximum, -100.0, np.max, "float64"),
    (math_operators.minimum, 100.0, np.min, "int64"),
]


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize(("fn", "start", "expected", "dtype"), REDUCES)
def test_reductions_of_any_length_equal_numpy(fn: Any, start: float, expected: Any, dtype: str) -> None:
    for length in (0, 1, 2, 63, 64, 65, 127, 320, 321, 1000, 1024, 1025, 5000):
        for shape, dim in [((length,), 0), ((3, length), 1), ((length, 3), 0), ((2, length, 2), 1)]:
            a = numbers(shape, dtype, seed=length)
            a = np.exp(a / 1000) if fn is operators.mul else a
            got = FastBackend.reduce(fn, start, accumulator_dtype)(tensor(a), dim).to_numpy()
            want = expected(a.astype("float64"), axis=dim, keepdims=True, initial=start)
            tolerance = 3e-6 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(got, want.astype(got.dtype), rtol=tolerance, atol=tolerance * length, err_msg=f"{shape}, {dim}")


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize("place", [0, 1, 63, 64, 200, 999])
def test_nan_propagates_from_any_position(place: int) -> None:
    a = numbers((1000, 2))
    a[place, 1] = math.nan
    for fn in (math_operators.maximum, math_operators.minimum, operators.add):
        got = FastBackend.reduce(fn, 0.0)(tensor(a), 0).to_numpy()
        assert np.isfinite(got[0, 0])
        assert np.isnan(got[0, 1])
        assert np.isnan(FastBackend.reduce(fn, 0.0)(tensor(np.ascontiguousarray(a[:, 1])), 0).to_numpy()[0])


def test_a_sum_of_many_float32_stays_exact() -> None:
    a = np.full(3_000_000, 0.1, np.float32)
    exact = float(np.float32(0.1)) * a.size
    assert FastBackend.add_reduce(tensor(a), 0).item() == pytest.approx(exact, rel=1e-5)


EDGES = [1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 67, 127, 128, 129, 255, 256, 257]


@pytest.mark.usefixtures("thread_setting")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_at_tile_edges_equal_numpy(dtype: str) -> None:
    for edge in EDGES:
        for n, k, m in [(edge, 7, 9), (7, edge, 9), (7, 9, edge), (edge, edge, edge)]:
            a, b = numbers((n, k), dtype, 1), numbers((k, m), dtype, 2)
            tolerance = 1e-11 if dtype == "float64" else 2e-4
            np.testing.assert_allclose((tensor(a) @ tensor(b)).to_numpy(), a @ b, rtol=tolerance, atol=tolerance, err_msg=f"{n, k, m}")


# Functions in every dtype


DTYPES = ["float64", "float32", "int64", "int32", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("fn", "result"), MAPS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_of_one_number_equals_simple_ops_in_every_dtype(fn: Any, result: Any, dtype: str) -> None:
    check(fn, result, values(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("fn", "result"), ZIPS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_of_two_numbers_equals_simple_ops_in_every_dtype(fn: Any, result: Any, dtype: str) -> None:
    check_pairs(fn, result, dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_power_equals_numpy_in_every_dtype(dtype: str) -> None:
    x, y = np.repeat(values(dtype), len(values(dtype))), np.tile(values(dtype), len(values(dtype)))
    with np.errstate(all="ignore"):
        expected = (x * 1.0) ** y
        np.testing.assert_allclose((tensor(x * 1.0) ** tensor(y)).to_numpy(), expected, rtol=3e-7 if dtype == "float32" else 1e-15)
        np.testing.assert_allclose((tensor(x * 1.0) ** 2).to_numpy(), (x * 1.0) ** 2, rtol=0)


def test_exp_sigmoid_and_tanh_of_float32() -> None:
    check_last_digits("float32", 2.5e-7)
    check_extremes("float32", 88.722, 88.723)
