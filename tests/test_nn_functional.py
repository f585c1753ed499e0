"""Pooling, maximum, softmax and dropout on the CPU backends: layouts, dtypes, threads, messages, NaN and empty tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from minitorch import FastBackend, SimpleBackend, Tensor, TensorData, float64, int64, manual_seed, rand, tensor
from minitorch.kernels import pool
from minitorch.kernels import softmax as softmax_kernels
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

from .errors import raises
from .op_table import in_layout, layout_of

LAYOUTS = ("contiguous", "offset", "permuted", "sliced", "expanded")


@pytest.fixture(params=[SimpleBackend, FastBackend], ids=["plain", "in loops"])
def backend(request: pytest.FixtureRequest) -> Any:
    """The simple or the compiled backend."""
    return request.param


def numbers(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """A few distinct numbers in float64, so that some elements are equal."""
    return np.random.default_rng(seed).integers(-4, 5, shape) / 2


def tensor_in(values: np.ndarray, layout: str, backend: Any) -> tuple[Tensor, np.ndarray]:
    """A tensor with these values in a layout, and the array of its values."""
    base, view = in_layout(values, layout)
    return Tensor(TensorData(base, *layout_of(base, view)), backend=backend), np.array(view)


def gradient_of(f: Any, x: Tensor, given: np.ndarray) -> np.ndarray:
    """The gradient of x when f's result has the given gradient."""
    x = x.detach().requires_grad_()
    f(x).backward(tensor(given, backend=x.backend))
    assert x.grad is not None
    assert x.grad.dtype == x.dtype
    return x.grad.to_numpy()


def windows_of(images: np.ndarray, kernel: tuple[int, int]) -> np.ndarray:
    """Images of shape (B, C, H, W) as (B, C, rows, kh, columns, kw)."""
    (batch, channels, height, width), (kh, kw) = images.shape, kernel
    return images.reshape(batch, channels, height // kh, kh, width // kw, kw)


def softmax_of(array: np.ndarray, dim: int) -> np.ndarray:
    powers = np.exp(array - array.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def logsoftmax_of(array: np.ndarray, dim: int) -> np.ndarray:
    shifted = array - array.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


def check(got: Tensor | np.ndarray, expected: np.ndarray, dtype: Any = float64) -> None:
    """Fail unless both are equal up to rounding."""
    values = got.to_numpy() if isinstance(got, Tensor) else got
    assert values.dtype == dtype
    assert values.shape == expected.shape
    tolerance = 1e-12 if dtype == float64 else 2e-6
    np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


# Values and gradients


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", [(1, 1), (2, 3), (4, 1), (1, 6), (4, 6)])
def test_pooling_equals_numpy_in_any_layout(kernel, layout, backend):
    x, array = tensor_in(numbers((2, 3, 4, 6)), layout, backend)
    windows = windows_of(array, kernel)
    largest = windows.max((3, 5), keepdims=True)
    given = np.cos(np.arange(largest.size)).reshape(largest[:, :, :, 0, :, 0].shape)
    spread = given[:, :, :, None, :, None] * np.ones(windows.shape)
    check(avgpool2d(x, kernel), windows.mean((3, 5)))
    check(gradient_of(lambda x: avgpool2d(x, kernel), x, given), (spread / math.prod(kernel)).reshape(array.shape))
    check(maxpool2d(x, kernel), windows.max((3, 5)))
    check(gradient_of(lambda x: maxpool2d(x, kernel), x, given), (spread * (windows == largest)).reshape(array.shape))


def check_softmax(shape: tuple[int, ...], layout: str, backend: Any, dims: Iterable[int]) -> None:
    """Check both along some dimensions."""
    x, array = tensor_in(numbers(shape), layout, backend)
    given = np.cos(np.arange(array.size)).reshape(shape)
    for dim in dims:
        y = softmax_of(array, dim)
        check(softmax(x, dim), y)
        check(gradient_of(lambda x, dim=dim: softmax(x, dim), x, given), y * (given - (given * y).sum(dim, keepdims=True)))
        check(logsoftmax(x, dim), logsoftmax_of(array, dim))
        check(gradient_of(lambda x, dim=dim: logsoftmax(x, dim), x, given), given - y * given.sum(dim, keepdims=True))


SHAPES = [(3, 4, 5), (2, 50), (1, 3, 1), (4,)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_max_equals_numpy_in_any_layout(shape, layout, backend):
    x, array = tensor_in(numbers(shape), layout, backend)
    for dim in range(-len(shape), len(shape)):
        largest = array.max(dim, keepdims=True)
        given = np.cos(np.arange(largest.size)).reshape(largest.shape)
        check(max(x, dim), largest)
        for f in (lambda x, dim=dim: max(x, dim), lambda x, dim=dim: Max.apply(x, dim)):
            check(gradient_of(f, x, given), np.where(array == largest, given, 0))
        check(argmax(x, dim), array == largest, bool)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_equals_numpy_in_any_layout(shape, layout, backend):
    """On the compiled backend along the last dimension: along others, it is composed of tensor operations."""
    check_softmax(shape, layout, backend, range(-len(shape), len(shape)) if backend is SimpleBackend else (-1, len(shape) - 1))


@pytest.mark.parametrize("fused", [softmax_kernels.fused_softmax, softmax_kernels.fused_logsoftmax])
def test_softmax_is_fused_along_the_last_dimension_only(fused):
    x = tensor(numbers((3, 4, 5)), backend=FastBackend)
    assert [fused(x, dim) is NotImplemented for dim in (-3, -2, -1, 0, 1, 2)] == [True, True, False] * 2


# Threads


@pytest.mark.parametrize(
    ("body", "sizes", "of_a_task", "operands"),
    [
        (pool.avgpool_backward, (2, 2, 3), 12, [2]),
        (pool.maxpool_backward, (2, 2, 3), 12, [12, 2, 2]),
        (softmax_kernels.max_backward, (5, 1), 5, [5, 1, 1]),
        (softmax_kernels.max_backward, (3, 2), 6, [6, 2, 2]),
        (softmax_kernels.max_rows, (9,), 1, [9]),
        (softmax_kernels.softmax_rows, (9,), 9, [9]),
        (softmax_kernels.softmax_backward, (9,), 9, [9, 9]),
        (softmax_kernels.logsoftmax_rows, (9,), 9, [9]),
        (softmax_kernels.logsoftmax_backward, (9,), 9, [9, 9]),
    ],
)
def test_a_loop_may_be_divided_into_ranges(body, sizes, of_a_task, operands):
    """Two tasks, two, and one, in another order, write the same as all five in a row, run in Python and compiled."""
    a, b, c = (numbers((5 * size,), seed) for seed, size in enumerate([*operands, 1, 1][:3]))
    whole, dealt = np.full(5 * of_a_task, math.nan), np.full(5 * of_a_task, math.nan)
    body(whole, a, b, c, sizes, 0, 5)
    for start, stop in [(4, 5), (0, 2), (2, 4)]:
        body(dealt, a, b, c, sizes, start, stop)
    assert not np.isnan(whole).any()
    assert dealt.tolist() == whole.tolist()


# Extreme inputs


def check_extremes(dtype: Any, backend: Any) -> None:
    """Check both for extreme inputs.

    The published logarithm of x + 1e-6 would be wrong in the seventh digit, and the logarithm of softmax in all digits.
    """
    rows = [[1000.25, -1000.0, 1000.0], [-1000.0, -1000.5, -1000.25], [0.0, -30.0, -60.0], [3.0, 3.0, 3.0]]
    array = np.array(rows, dtype)
    check(logsoftmax(tensor(array, backend=backend), 1), logsoftmax_of(array.astype(float64), 1), dtype)
    check(softmax(tensor(array, backend=backend), 1), softmax_of(array.astype(float64), 1), dtype)


def test_logsoftmax_is_exact_for_extreme_inputs(backend):
    check_extremes(float64, backend)


def test_nan_propagates(backend):
    array = np.array([[1.0, math.nan, 3.0], [1.0, 2.0, 3.0]])
    x = tensor(array, backend=backend)
    for out in (softmax(x, 1), logsoftmax(x, 1)):
        assert np.isnan(out.to_numpy()[0]).all()
        assert not np.isnan(out.to_numpy()[1]).any()
    assert np.isnan(max(x, 1).to_numpy()).tolist() == [[True], [False]]
    assert argmax(x, 1).tolist() == [[False, False, False], [False, False, True]]
    long = np.zeros((30, 30))
    np.fill_diagonal(long, math.nan)
    assert np.isnan(max(tensor(long, backend=backend), 1).to_numpy()).all()
    assert np.isnan(softmax(tensor(long, backend=backend), 1).to_numpy()).all()
    images = tensor(array.reshape(1, 1, 2, 3), backend=backend)
    for pooling in (avgpool2d, maxpool2d):
        assert np.isnan(pooling(images, (1, 3)).to_numpy()).tolist() == [[[[True], [False]]]]


# Which dimension


def test_max_and_argmax_reduce_all_elements(backend):
    """Also for the only number of a tensor without dimensions."""
    array = numbers((2, 3, 4))
    x = tensor(array, backend=backend)
    check(max(x), array.max().reshape(1))
    check(argmax(x), array == array.max(), bool)
    check(max(tensor(3.0, backend=backend)), np.array([3.0]))


def test_nn_max_and_tensor_max_differ_in_ties():
    """nn.max gives every largest number the gradient, Tensor.max only the first."""
    x, given = tensor([3.0, 1.0, 3.0]), np.array([5.0])
    assert gradient_of(lambda x: max(x, 0), x, given).tolist() == [5.0, 0.0, 5.0]
    assert gradient_of(lambda x: Max.apply(x, 0), x, given).tolist() == [5.0, 0.0, 5.0]
    assert gradient_of(lambda x: x.max(0), x, given).tolist() == [5.0, 0.0, 0.0]


# Integers and empty tensors


def test_integers_are_accepted():
    array = np.arange(24).reshape(1, 1, 4, 6)
    x = tensor(array)
    assert x.dtype == int64
    check(avgpool2d(x, (2, 3)), windows_of(array, (2, 3)).mean((3, 5)))
    check(maxpool2d(x, (2, 3)), windows_of(array, (2, 3)).max((3, 5)), int64)
    check(max(x, 2), array.max(2, keepdims=True), int64)
    check(softmax(x, 3), softmax_of(array, 3))
    check(logsoftmax(x, 3), logsoftmax_of(array, 3))
    assert dropout(x, 1.0).tolist() == np.zeros(array.shape).tolist()
    assert argmax(tensor([True, False, True]), 0).tolist() == [True, False, True]


# Dropout


def test_ignored_dropout_returns_its_input(backend):
    x = tensor([1.0, 2.0], backend=backend)
    assert dropout(x, 1.0, ignore=True) is x


def test_elements_whose_random_number_is_below_the_rate_are_dropped(backend):
    manual_seed(5)
    drawn = rand((50,)).to_numpy()
    manual_seed(5)
    assert dropout(tensor(np.ones(50), backend=backend), 0.3).tolist() == (drawn >= 0.3).astype(float).tolist()


# Messages


FIT = "pooling expected a height and width that the window {} divides, got {}; cut the images to {}, or take another window"
SIZES = "pooling expected a window of two sizes of at least 1, got {}; write it as (2, 2)"


@pytest.mark.parametrize("pool", [tile, avgpool2d, maxpool2d])
@pytest.mark.parametrize(
    ("shape", "kernel", "message"),
    [
        ((2, 3, 5, 4), (2, 3), FIT.format("(2, 3)", "5 and 4 (input (2, 3, 5, 4))", "4 and 3")),
        ((1, 1, 2, 2), (1, 4), FIT.format("(1, 4)", "2 and 2 (input (1, 1, 2, 2))", "2 and 0")),
        ((4, 4), (2, 2), "pooling expected images of shape (B, C, H, W), got input of shape (4, 4); add dimensions by view"),
        *(((1, 1, 4, 4), kernel, SIZES.format(kernel)) for kernel in ((0, 2), (2, -2), 2)),
        ((1, 1, 4, 4), (2,), SIZES.format("(2,)")),
    ],
)
def test_windows_that_do_not_fit_are_refused(pool, shape, kernel, message, backend):
    with raises(ValueError, message):
        pool(tensor(np.ones(shape), backend=backend), kernel)


@pytest.mark.parametrize("function", [max, argmax, softmax, logsoftmax])
def test_a_missing_or_an_empty_dimension_is_refused(function, backend):
    for dim in (2, -3):
        with raises(IndexError, f"dimension {dim} is out of range for shape (2, 3), which has 2"):
            function(tensor(np.ones((2, 3)), backend=backend), dim)
    with raises(ValueError, "max and min expected at least one element along dimension 1, got shape (2, 0)"):
        function(tensor(np.ones((2, 0)), backend=backend), 1)


@pytest.mark.parametrize("rate", [-0.1, 1.5, math.nan])
@pytest.mark.parametrize("ignore", [False, True])
def test_a_rate_must_be_between_0_and_1(rate, ignore, backend):
    with raises(ValueError, f"dropout expected a rate from 0 to 1, got {rate}; it is the share of the elements that become 0"):
        dropout(tensor([1.0], backend=backend), rate, ignore)


# Against PyTorch


def test_values_and_gradients_agree_with_pytorch(backend):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    array = np.random.default_rng(3).normal(0, 5, (2, 3, 4, 6))  # no two alike: PyTorch gives the gradient to one of several largest
    pairs = [
        (lambda x: avgpool2d(x, (2, 3)), lambda x: torch.nn.functional.avg_pool2d(x, (2, 3))),
        (lambda x: maxpool2d(x, (2, 3)), lambda x: torch.nn.functional.max_pool2d(x, (2, 3))),
        (lambda x: max(x, 1), lambda x: x.amax(1, keepdim=True)),
        *((lambda x, dim=dim: softmax(x, dim), lambda x, dim=dim: torch.softmax(x, dim)) for dim in (2, 3)),
        *((lambda x, dim=dim: logsoftmax(x, dim), lambda x, dim=dim: torch.log_softmax(x, dim)) for dim in (1, 3)),
    ]
    for ours, theirs in pairs:
        x, y = tensor(array, backend=backend), torch.from_numpy(array.copy()).requires_grad_()
        answer = theirs(y)
        given = np.cos(np.arange(answer.numel())).reshape(answer.shape)
        answer.backward(torch.from_numpy(given))
        check(ours(x), answer.detach().numpy())
        check(gradient_of(ours, x, given), y.grad.numpy())
