"""Tasks 4.3 and 4.4: pooling, maximum, softmax and dropout: values by hand or from NumPy, and gradients."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis.strategies import composite, integers, permutations, sampled_from

import minitorch
from minitorch import Tensor, grad_check, manual_seed, rand, tensor
from minitorch.nn import functional
from minitorch.nn.functional import Max, argmax, avgpool2d, dropout, logsoftmax, max, maxpool2d, softmax, tile

from .strategies import small_floats
from .tensor_strategies import assert_close_tensor, few_numbers, laid_out, strides_in_order, tensors, tensors_and_dims

IMAGE = np.arange(16.0).reshape(1, 1, 4, 4)
"""One image whose rows are 0 1 2 3, 4 5 6 7, 8 9 10 11 and 12 13 14 15."""

SHIFTED = 1e-5
"""Tolerance where the logarithm may be that of x + 1e-6."""

NO_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]


def weights_for(x):
    """Distinct numbers in a tensor's shape, some negative, as gradient of a result: none can be confused with another, or with 1."""
    return np.cos(np.arange(1.0, 1 + x.size)).reshape(x.shape)


def gradient_of(f, x):
    """The gradient of x, which becomes a leaf, when the gradient of f's result is `weights_for` it; and these weights."""
    x.requires_grad_(True)
    x.zero_grad_()
    result = f(x)
    weights = weights_for(result)
    result.backward(tensor(weights))
    assert x.grad is not None, "no gradient arrived"
    return x.grad, weights


def windows_of(images, kernel):
    """The windows of images, each cut out by itself: shape (B, C, rows of windows, columns of windows, kh, kw)."""
    (kh, kw), (height, width) = kernel, images.shape[2:]
    rows = [[images[:, :, i : i + kh, j : j + kw] for j in range(0, width, kw)] for i in range(0, height, kh)]
    return np.stack([np.stack(row, 2) for row in rows], 2)


def put_back(windows):
    """The images that these windows, shape (B, C, rows, columns, kh, kw), were cut out of."""
    return np.concatenate([np.concatenate(list(np.moveaxis(row, 2, 0)), -1) for row in np.moveaxis(windows, 2, 0)], -2)


@composite
def images_and_kernels(draw, numbers=small_floats):
    """Images in any layout, and a window size that divides theirs."""
    batch, channels, rows, columns = (draw(integers(1, 2)) for _ in range(4))
    kernel = draw(integers(1, 3)), draw(integers(1, 3))
    return draw(tensors(numbers, (batch, channels, rows * kernel[0], columns * kernel[1]))), kernel


def permuted(array, order):
    """A tensor whose dimensions have another memory order."""
    return Tensor(laid_out(array, strides_in_order(array.shape, order)))


# Task 4.3: tiles


@pytest.mark.task4_3
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ((2, 2), [[[0, 1, 4, 5], [2, 3, 6, 7]], [[8, 9, 12, 13], [10, 11, 14, 15]]]),
        ((1, 2), [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]], [[12, 13], [14, 15]]]),
        ((2, 1), [[[0, 4], [1, 5], [2, 6], [3, 7]], [[8, 12], [9, 13], [10, 14], [11, 15]]]),
        ((1, 4), [[[0, 1, 2, 3]], [[4, 5, 6, 7]], [[8, 9, 10, 11]], [[12, 13, 14, 15]]]),
        ((4, 4), [[[*range(16)]]]),
        ((1, 1), [[[0], [1], [2], [3]], [[4], [5], [6], [7]], [[8], [9], [10], [11]], [[12], [13], [14], [15]]]),
    ],
)
def test_tile_cuts_an_image_into_windows(kernel, expected):
    """The windows are arranged as in the image, and the numbers of each are read row by row."""
    windows, new_height, new_width = tile(tensor(IMAGE), kernel)
    assert_close_tensor(windows, [[expected]])
    assert (new_height, new_width) == (4 // kernel[0], 4 // kernel[1])


@pytest.mark.task4_3
def test_tile_tells_height_from_width():
    """Windows of 2 rows and 3 columns, in an image of 2 rows and 6 columns: one row of two windows."""
    windows, new_height, new_width = tile(tensor(np.arange(12.0).reshape(1, 1, 2, 6)), (2, 3))
    assert (new_height, new_width) == (1, 2)
    assert_close_tensor(windows, [[[[[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]]]])


@pytest.mark.task4_3
@given(images_and_kernels())
@example((tensor(np.arange(72.0).reshape(2, 3, 4, 3)), (2, 1)))
@example((permuted(np.arange(48.0).reshape(2, 1, 4, 6), (3, 2, 1, 0)), (2, 3)))
@example((permuted(np.arange(48.0).reshape(2, 1, 4, 6), (0, 1, 3, 2)), (2, 3)))
def test_tile_cuts_every_image_and_channel(given_images):
    """The windows of every image and channel, in any layout."""
    x, kernel = given_images
    windows, new_height, new_width = tile(x, kernel)
    expected = windows_of(x.to_numpy(), kernel)
    assert (new_height, new_width) == expected.shape[2:4]
    assert_close_tensor(windows, expected.reshape(*expected.shape[:4], -1))


@pytest.mark.task4_3
@pytest.mark.parametrize(
    ("shape", "kernel"),
    [((1, 1, 5, 4), (2, 2)), ((1, 1, 4, 5), (2, 2)), ((1, 1, 4, 6), (3, 2)), ((1, 1, 2, 2), (4, 4)), ((1, 1, 6, 4), (2, 3))],
)
@pytest.mark.parametrize("function", [tile, avgpool2d])
def test_windows_that_do_not_fill_the_image_are_an_error(function, shape, kernel):
    """A kernel that does not divide height and width raises ValueError; no row or column is dropped."""
    with pytest.raises(ValueError, match=r"."):
        function(tensor(np.ones(shape)), kernel)


@pytest.mark.task4_3
@given(images_and_kernels())
@example((permuted(np.zeros((2, 2, 2, 4)), (3, 1, 0, 2)), (2, 2)))
def test_the_gradient_of_a_tile_goes_back_to_its_place(given_images):
    """Every number of a window passes its gradient to the pixel it came from."""
    x, kernel = given_images
    grad, weights = gradient_of(lambda x: tile(x, kernel)[0], x)
    assert_close_tensor(grad, put_back(weights.reshape(*weights.shape[:4], *kernel)))


# Task 4.3: average pooling


@pytest.mark.task4_3
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ((2, 2), [[2.5, 4.5], [10.5, 12.5]]),
        ((1, 2), [[0.5, 2.5], [4.5, 6.5], [8.5, 10.5], [12.5, 14.5]]),
        ((2, 1), [[2, 3, 4, 5], [10, 11, 12, 13]]),
        ((4, 1), [[6, 7, 8, 9]]),
        ((4, 4), [[7.5]]),
        ((1, 1), IMAGE[0, 0]),
    ],
)
def test_avgpool2d_by_hand(kernel, expected):
    """The mean of every window."""
    out = avgpool2d(tensor(IMAGE), kernel)
    assert out.to_numpy().tolist() == [[np.asarray(expected, float).tolist()]]


@pytest.mark.task4_3
@given(images_and_kernels())
@example((permuted(np.arange(72.0).reshape(2, 3, 4, 3), (1, 3, 0, 2)), (4, 1)))
def test_avgpool2d_is_the_mean_of_every_window(given_images):
    """The mean of every window of every image and channel, in any layout; the shape is (B, C, H / kh, W / kw)."""
    x, kernel = given_images
    assert_close_tensor(avgpool2d(x, kernel), windows_of(x.to_numpy(), kernel).mean((4, 5)))


@pytest.mark.task4_3
@given(images_and_kernels())
@example((permuted(np.zeros((2, 2, 2, 4)), (3, 1, 0, 2)), (2, 2)))
def test_the_gradient_of_avgpool2d_is_shared_among_the_window(given_images):
    """Each of the kh · kw numbers of a window receives 1/(kh · kw) of its gradient."""
    x, kernel = given_images
    grad, weights = gradient_of(lambda x: avgpool2d(x, kernel), x)
    assert_close_tensor(grad, np.kron(weights, np.ones(kernel)) / math.prod(kernel))


@pytest.mark.task4_3
@settings(max_examples=5, phases=NO_SHRINKING)
@given(tensors(shape=(1, 2, 4, 4)))
def test_the_gradient_of_avgpool2d_agrees_with_differences(x):
    """grad_check finds the same gradient by central differences."""
    grad_check(lambda x: avgpool2d(x, (2, 2)), x)


# Task 4.4: the maximum


@pytest.mark.task4_4
@given(tensors_and_dims())
def test_max(x_and_dim):
    """For any x and dim, max(x, dim) has x's shape with size 1 along dim, and holds the largest of the elements along dim."""
    x, dim = x_and_dim
    numbers, largest = np.moveaxis(x.to_numpy(), dim, 0), np.moveaxis(max(x, dim).to_numpy(), dim, 0)
    assert largest.shape == (1, *numbers.shape[1:])
    assert np.array_equal(largest[0], np.sort(numbers, 0)[-1])


def swap(monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., Tensor]) -> None:
    """Replace max by another function, for tests that call `max` and for tests that call `minitorch.max` or `minitorch.nn.max`."""
    monkeypatch.setitem(globals(), "max", wrong)
    for module in (functional, minitorch.nn, minitorch):
        monkeypatch.setattr(module, "max", wrong, raising=False)


def fails(test: Callable[[], None]) -> bool:
    """Whether the test fails, also with an error caused by a wrong shape; the error of unwritten code is raised."""
    for _ in range(10):  # other inputs each time: a test that can fail should not pass by bad luck
        try:
            test()
        except NotImplementedError:
            raise
        except Exception:
            return True
    return False


def folded(fn):
    """A wrong max: a NumPy function, called with an array and a dim; None reduces all dimensions."""
    return lambda x, dim=None: tensor(np.asarray(fn(x.to_numpy(), dim), float).reshape(shape_of_max(x, dim)))


def shape_of_max(x, dim):
    """The shape of a maximum."""
    return (1,) if dim is None else np.sum(x.to_numpy(), dim, keepdims=True).shape


WRONG_MAXES = {
    "gives the smallest number": folded(np.min),
    "gives the largest size of a number, without its sign": folded(lambda a, dim: np.max(np.abs(a), dim)),
    "is never below 0": folded(lambda a, dim: np.max(a, dim, initial=0)),
    "is 1 too large": folded(lambda a, dim: np.max(a, dim) + 1),
    "gives the first number": folded(lambda a, dim: np.take(a, 0, dim)),
    "gives the last number": folded(lambda a, dim: np.take(a, -1, dim)),
    "adds the numbers up": folded(np.sum),
    "gives the largest number of all everywhere": lambda x, dim=None: tensor(np.full(shape_of_max(x, dim), x.to_numpy().max())),
    "gives 1000, whatever the numbers": lambda x, dim=None: tensor(np.full(shape_of_max(x, dim), 1000.0)),
    "folds the first dimension, whichever is asked for": lambda x, dim=None: tensor(x.to_numpy().max(0, keepdims=True)),
    "folds the last dimension, whichever is asked for": lambda x, dim=None: tensor(x.to_numpy().max(-1, keepdims=True)),
}


@pytest.mark.task4_4
@pytest.mark.parametrize("how", WRONG_MAXES)
def test_your_test_max_notices(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Your test_max fails for functions that are not the maximum along dim."""
    swap(monkeypatch, WRONG_MAXES[how])
    assert fails(test_max), f"your test_max passes with a max that {how}"


@pytest.mark.task4_4
@pytest.mark.parametrize(
    ("numbers", "dim", "expected"),
    [
        ([[1, 5, 2], [4, 3, 6]], 0, [[4, 5, 6]]),
        ([[1, 5, 2], [4, 3, 6]], 1, [[5], [6]]),
        ([[1, 5, 2], [4, 3, 6]], -1, [[5], [6]]),
        ([[1, 5, 2], [4, 3, 6]], None, [6]),
        ([[-3, -2], [-5, -7]], 1, [[-2], [-5]]),
        ([-2e12, -1e12, -3e12], 0, [-1e12]),
        ([4, 4, 4], 0, [4]),
    ],
)
def test_max_by_hand(numbers, dim, expected):
    """The largest number along a dimension, which keeps size 1; without a dimension, the largest of all."""
    assert_close_tensor(max(tensor(numbers), dim), expected)


@pytest.mark.task4_4
@given(tensors_and_dims())
def test_max_is_the_largest_along_any_dimension(x_and_dim):
    """The maximum along any dimension, in any layout."""
    x, dim = x_and_dim
    assert_close_tensor(max(x, dim), x.to_numpy().max(dim, keepdims=True))
    assert_close_tensor(max(x), x.to_numpy().max().reshape(1))


@pytest.mark.task4_4
@pytest.mark.parametrize(
    ("dim", "grad_output", "expected"),
    [
        (1, [[5], [-7]], [[0, 5, 5], [-7, 0, 0]]),
        (0, [[5, -7, 2]], [[0, -7, 2], [5, 0, 0]]),
        (None, [5], [[0, 5, 5], [0, 0, 0]]),
    ],
)
def test_every_largest_number_gets_the_whole_gradient(dim, grad_output, expected):
    """The gradient of a maximum flows to the largest number; if several are equally large, each receives all of it."""
    x = tensor([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]], requires_grad=True)
    max(x, dim).backward(tensor(grad_output))
    assert_close_tensor(x.grad, expected)


@pytest.mark.task4_4
@given(tensors_and_dims(few_numbers))
def test_the_gradient_of_max_along_any_dimension(x_and_dim):
    """The gradient of the result where x is the maximum, 0 elsewhere, in any layout."""
    x, dim = x_and_dim
    grad, weights = gradient_of(lambda x: max(x, dim), x)
    assert_close_tensor(grad, np.where(x.to_numpy() == x.to_numpy().max(dim, keepdims=True), weights, 0))
    assert_close_tensor(gradient_of(lambda x: Max.apply(x, dim), x)[0], grad.to_numpy())


@pytest.mark.task4_4
@settings(max_examples=10, phases=NO_SHRINKING)
@given(permutations(range(12)), sampled_from([0, 1, 2]))
def test_the_gradient_of_max_agrees_with_differences(numbers, dim):
    """If no two numbers are equal, grad_check finds the same gradient by central differences."""
    grad_check(lambda x: max(x, dim), tensor(np.reshape(numbers, (2, 3, 2)) * 1.0))


@pytest.mark.task4_4
@pytest.mark.parametrize(
    ("dim", "expected"),
    [(1, [[0, 1, 1], [1, 0, 0]]), (0, [[0, 1, 1], [1, 0, 0]]), (-1, [[0, 1, 1], [1, 0, 0]]), (None, [[0, 1, 1], [0, 0, 0]])],
)
def test_argmax_by_hand(dim, expected):
    """1 at the largest number, 0 elsewhere; each of several equal ones has a 1."""
    assert_close_tensor(argmax(tensor([[1, 3, 3], [2, 0, 1]]), dim), expected)


@pytest.mark.task4_4
@given(tensors_and_dims(few_numbers))
def test_argmax_marks_every_largest_number(x_and_dim):
    """Every largest number, along any dimension, in any layout."""
    x, dim = x_and_dim
    assert_close_tensor(argmax(x, dim), x.to_numpy() == x.to_numpy().max(dim, keepdims=True))


# Task 4.4: max pooling


@pytest.mark.task4_4
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ((2, 2), [[5, 7], [13, 15]]),
        ((1, 2), [[1, 3], [5, 7], [9, 11], [13, 15]]),
        ((2, 1), [[4, 5, 6, 7], [12, 13, 14, 15]]),
        ((4, 4), [[15]]),
    ],
)
def test_maxpool2d_by_hand(kernel, expected):
    """The largest number of every window, also if all are negative."""
    assert_close_tensor(maxpool2d(tensor(IMAGE), kernel), [[expected]])
    assert_close_tensor(maxpool2d(tensor(IMAGE - 100), kernel), np.array([[expected]]) - 100)


@pytest.mark.task4_4
@given(images_and_kernels())
@example((permuted(np.arange(72.0).reshape(2, 3, 4, 3), (1, 3, 0, 2)), (4, 1)))
def test_maxpool2d_is_the_maximum_of_every_window(given_images):
    """The maximum of every window of every image and channel, in any layout; the shape is (B, C, H / kh, W / kw)."""
    x, kernel = given_images
    assert_close_tensor(maxpool2d(x, kernel), windows_of(x.to_numpy(), kernel).max((4, 5)))


@pytest.mark.task4_4
@given(images_and_kernels(few_numbers))
@example((tensor(np.zeros((1, 1, 2, 4))), (2, 2)))
def test_the_gradient_of_maxpool2d_goes_to_every_largest_number(given_images):
    """Each of the largest numbers of a window receives the whole gradient, the others 0."""
    x, kernel = given_images
    grad, weights = gradient_of(lambda x: maxpool2d(x, kernel), x)
    windows = windows_of(x.to_numpy(), kernel)
    largest = windows == windows.max((4, 5), keepdims=True)
    assert_close_tensor(grad, put_back(largest * weights[..., None, None]))


@pytest.mark.task4_4
def test_maxpool2d_of_windows_that_do_not_fill_the_image_is_an_error():
    """A kernel that does not divide height and width raises ValueError."""
    for shape, kernel in [((1, 1, 5, 4), (2, 2)), ((1, 1, 4, 5), (2, 2)), ((1, 1, 4, 6), (3, 2))]:
        with pytest.raises(ValueError, match=r"."):
            maxpool2d(tensor(np.ones(shape)), kernel)


# Task 4.4: softmax


def softmax_of(array, dim):
    """Softmax, in NumPy."""
    powers = np.exp(array - array.max(dim, keepdims=True))
    return powers / powers.sum(dim, keepdims=True)


def logsoftmax_of(array, dim):
    """The logarithm of softmax, in NumPy."""
    shifted = array - array.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))


CUBE = np.array([[[1.0, -2.0], [0.5, 3.0], [0.0, 0.0]], [[-1.0, 4.0], [2.0, 2.5], [1.5, -0.5]]])

LARGE = [
    ([1000.0, 1000.0], [0.5, 0.5], [-math.log(2), -math.log(2)]),
    ([-1000.0, -1000.0], [0.5, 0.5], [-math.log(2), -math.log(2)]),
    ([1000.0, 0.0, -1000.0], [1.0, 0.0, 0.0], [0.0, -1000.0, -2000.0]),
    ([-1000.0, -1001.0], [1 / (1 + math.exp(-1)), 1 / (1 + math.e)], [-math.log(1 + math.exp(-1)), -1 - math.log(1 + math.exp(-1))]),
    ([0.0, -30.0], [1 / (1 + math.exp(-30)), 1 / (1 + math.exp(30))], [-math.log1p(math.exp(-30)), -30 - math.log1p(math.exp(-30))]),
]
"""Rows of numbers far out, their softmax and its logarithm."""


@pytest.mark.task4_4
def test_softmax_by_hand():
    """e^0, e^(ln 2) and e^(ln 4) are 1, 2 and 4; their sum is 7."""
    x = tensor([[0.0, math.log(2), math.log(4)]])
    assert_close_tensor(softmax(x, 1), [[1 / 7, 2 / 7, 4 / 7]])
    assert_close_tensor(logsoftmax(x, 1), np.log([[1 / 7, 2 / 7, 4 / 7]]), SHIFTED)


@pytest.mark.task4_4
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_softmax_along_every_dimension(dim):
    """Only the numbers along dim compete, and sum to 1; dim may be a keyword argument."""
    x = tensor(CUBE)
    assert_close_tensor(softmax(x, dim), softmax_of(CUBE, dim))
    assert_close_tensor(softmax(x, dim=dim).sum(dim), np.ones(CUBE.max(dim, keepdims=True).shape))
    assert_close_tensor(logsoftmax(x, dim), logsoftmax_of(CUBE, dim), SHIFTED)
    assert_close_tensor(logsoftmax(x, dim=dim), logsoftmax_of(CUBE, dim), SHIFTED)


@pytest.mark.task4_4
@given(tensors_and_dims())
def test_softmax_of_any_tensor(x_and_dim):
    """Softmax in any layout, along any dimension, of numbers up to 100."""
    x, dim = x_and_dim
    assert_close_tensor(softmax(x, dim), softmax_of(x.to_numpy(), dim))
    assert_close_tensor(logsoftmax(x, dim), logsoftmax_of(x.to_numpy(), dim), SHIFTED)


@pytest.mark.task4_4
@pytest.mark.parametrize(("row", "powers", "logarithms"), LARGE)
def test_numbers_far_out_are_no_trouble_for_softmax(row, powers, logarithms):
    """e^1000 overflows and e^-1000 underflows: neither may be computed as it stands, nor the logarithm of 0."""
    assert_close_tensor(softmax(tensor([row, row]), 1), [powers, powers])
    assert_close_tensor(logsoftmax(tensor([row, row]), 1), [logarithms, logarithms], SHIFTED)


@pytest.mark.task4_4
def test_every_row_has_a_largest_number_of_its_own():
    """Rows of very different size: each must subtract its own largest number, not another row's."""
    rows, columns = tensor([[1000.0, 999.0], [-1000.0, -999.0], [0.0, 1.0]]), tensor([[1000.0, -1000.0, 0.0], [999.0, -999.0, 1.0]])
    small, large = 1 / (1 + math.e), 1 / (1 + math.exp(-1))
    expected = np.array([[large, small], [small, large], [small, large]])
    assert_close_tensor(softmax(rows, 1), expected)
    assert_close_tensor(softmax(columns, 0), expected.T)
    assert_close_tensor(logsoftmax(rows, 1), np.log(expected), SHIFTED)
    assert_close_tensor(logsoftmax(columns, 0), np.log(expected).T, SHIFTED)


@pytest.mark.task4_4
@pytest.mark.parametrize(("row", "powers", "logarithms"), LARGE)
def test_gradients_of_numbers_far_out_are_numbers(row, powers, logarithms):
    """With y = softmax(x), a gradient g becomes y · (g - Σ g·y), and for the logarithm g - y · Σ g."""
    (y, g), x = np.array([powers, np.cos(np.arange(1.0, 1 + len(row)))]), tensor(row)
    assert_close_tensor(gradient_of(lambda x: softmax(x, 0), x)[0], y * (g - (g * y).sum()))
    assert_close_tensor(gradient_of(lambda x: logsoftmax(x, 0), x)[0], g - y * g.sum(), SHIFTED)


@pytest.mark.task4_4
@given(tensors_and_dims())
def test_the_gradients_of_softmax_and_its_logarithm(x_and_dim):
    """The gradients in any layout, along any dimension, also if several numbers are the largest."""
    x, dim = x_and_dim
    y = softmax_of(x.to_numpy(), dim)
    grad, g = gradient_of(lambda x: softmax(x, dim), x)
    assert_close_tensor(grad, y * (g - (g * y).sum(dim, keepdims=True)))
    grad, g = gradient_of(lambda x: logsoftmax(x, dim), x)
    assert_close_tensor(grad, g - y * g.sum(dim, keepdims=True), SHIFTED)


@pytest.mark.task4_4
def test_the_gradients_of_softmax_agree_with_differences():
    """grad_check finds the same gradients by central differences."""
    weights = tensor(weights_for(CUBE))
    for dim in range(3):
        grad_check(lambda x, dim=dim: softmax(x, dim) * weights, tensor(CUBE))
        grad_check(lambda x, dim=dim: logsoftmax(x, dim) * weights, tensor(CUBE))


# Task 4.4: dropout


@pytest.mark.task4_4
@given(tensors())
def test_dropout_at_its_ends(x):
    """A rate of 0 changes nothing, a rate of 1 leaves only zeros, and ignore=True changes nothing at any rate, all exactly."""
    assert dropout(x, 0.0).to_numpy().tolist() == x.to_numpy().tolist()
    assert dropout(x, 1.0).to_numpy().tolist() == np.zeros(x.shape).tolist()
    for rate in (0.0, 0.5, 1.0):
        assert dropout(x, rate, ignore=True).to_numpy().tolist() == x.to_numpy().tolist()


@pytest.mark.task4_4
@pytest.mark.parametrize("rate", [0.1, 0.25, 0.75])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dropout_drops_a_share_of_the_numbers(rate, seed):
    """Of 10,000 numbers about rate · 10,000 become 0, within five standard deviations; the others stay as they are and are not scaled."""
    manual_seed(seed)
    x = np.arange(1.0, 10001.0).reshape(100, 100)
    out = dropout(tensor(x), rate).to_numpy()
    assert ((out == 0) | (out == x)).all()
    assert abs((out == 0).sum() - rate * 10000) < 5 * math.sqrt(rate * (1 - rate) * 10000)


@pytest.mark.task4_4
def test_dropout_decides_for_each_number_alone():
    """Dropout decides for each number, not for whole rows or columns: of 100 numbers in each, about half are dropped."""
    manual_seed(0)
    dropped = dropout(tensor(np.ones((100, 100))), 0.5).to_numpy() == 0
    for count in (*dropped.sum(0), *dropped.sum(1)):
        assert 20 < count < 80
    assert not (dropped[0] == dropped[1]).all()
    assert not (dropped[:, 0] == dropped[:, 1]).all()


@pytest.mark.task4_4
def test_the_seed_decides_what_is_dropped():
    """The same seed drops the same numbers; without a new seed, every call drops different ones."""
    x = tensor(np.ones(100))
    manual_seed(7)
    first, second = dropout(x, 0.5).to_numpy(), dropout(x, 0.5).to_numpy()
    manual_seed(7)
    again = dropout(x, 0.5).to_numpy()
    assert (first == again).all()
    assert not (first == second).all()


@pytest.mark.task4_4
def test_ignored_dropout_draws_nothing():
    """The next random numbers are the same as if dropout had not been called."""
    manual_seed(7)
    expected = rand((5,)).to_numpy()
    manual_seed(7)
    dropout(tensor(np.ones(100)), 0.5, ignore=True)
    assert (rand((5,)).to_numpy() == expected).all()


@pytest.mark.task4_4
def test_gradients_flow_where_dropout_kept_the_number():
    """The gradient passes unchanged where the number was kept, and is 0 where it was dropped."""
    manual_seed(3)
    kept = []

    def f(x):
        out = dropout(x, 0.4)
        kept.append(out.to_numpy() != 0)
        return out

    grad, weights = gradient_of(f, tensor(np.ones((6, 8))))
    assert 0 < kept[0].sum() < 48
    assert_close_tensor(grad, weights * kept[0])
    assert_close_tensor(gradient_of(lambda x: dropout(x, 0.0), tensor(np.ones(5)))[0], np.cos(np.arange(1.0, 6.0)))
    assert_close_tensor(gradient_of(lambda x: dropout(x, 1.0), tensor(np.ones(5)))[0], np.zeros(5))
    assert_close_tensor(gradient_of(lambda x: dropout(x, 0.9, ignore=True), tensor(np.ones(5)))[0], np.cos(np.arange(1.0, 6.0)))


@pytest.mark.task4_4
@pytest.mark.parametrize("rate", [-0.1, 1.5, math.nan])
def test_a_rate_that_is_no_share_is_an_error(rate):
    """A rate below 0, above 1 or NaN raises ValueError."""
    with pytest.raises(ValueError, match=r"."):
        dropout(tensor([1.0, 2.0]), rate)
