"""Tasks 4.1 and 4.2: convolution in one and in two dimensions: first the kernels on storages, then the functions with their gradients.

A kernel receives three tensors (storages from the first element on, shapes and strides as arrays) and whether it is reversed. The
dimensions of out may have any memory order, without gaps; inputs may have any layout.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import booleans, composite, data, integers, permutations

from minitorch import FastBackend, SimpleBackend, Tensor, grad_check, tensor
from minitorch.fast_conv import Conv1dFun, Conv2dFun, tensor_conv1d, tensor_conv2d
from minitorch.kernels.jit import compiler_is_off

from .parallel import assert_shares_its_loop
from .tensor_strategies import assert_close_tensor, laid_out, layouts, strides_in_order

MANY = (3, 2, 5, 9, 3) if compiler_is_off() else (20, 6, 7, 60, 5)
"""Batch, input channels, output channels, width and kernel width of a convolution so large that several threads are at work at once."""

LONG = 60 if compiler_is_off() else 300_000
"""So many channels has a convolution whose result is one number."""

TIMES = 2 if compiler_is_off() else 50
"""So many times that number is computed."""

IMAGE = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])
SQUARE = np.array([[1.0, 10.0], [100.0, 1000.0]])


def arrays_of(*operands):
    """A kernel's arguments: for each operand the storage, and shape and strides as arrays."""
    given = []
    for x in operands:
        storage, shape, strides = x.tuple()
        given.append([storage, np.array(shape, np.int32), np.array(strides, np.int32)])
    return given


def ordered(array, order=None):
    """TensorData with an array's elements and its dimensions in this memory order, the last one varying fastest."""
    return laid_out(np.array(array, dtype=float), strides_in_order(np.shape(array), range(np.ndim(array)) if order is None else order))


def convolved(image, weight, size=None, reverse=False, out=None):
    """The result after the kernel for images of that many dimensions has written it; as large as the input unless a size is given."""
    if out is None:
        out = ordered(np.full((image.shape[0], weight.shape[0], *(image.shape[2:] if size is None else size)), np.nan))
    kernel = tensor_conv1d if out.dims == 3 else tensor_conv2d
    result, *operands = arrays_of(out, image, weight)
    kernel(*result, out.size, *operands[0], *operands[1], reverse)
    return Tensor(out)


def by_numpy(image, weight, size=None, reverse=False):
    """The convolution of two arrays: the image padded with zeros at its end, and the sum of products for every window."""
    axes = tuple(range(2, image.ndim))
    if reverse:
        full = np.flip(by_numpy(np.flip(image, axes), weight), axes)
    else:
        padded = np.pad(image, [(0, 0), (0, 0), *((0, k - 1) for k in weight.shape[2:])])
        windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axes)
        full = np.einsum("bcwk,ock->bow" if image.ndim == 3 else "bchwkl,ockl->bohw", windows, weight)
    return full[(..., *(slice(n) for n in size))] if size else full


def numbers(*shape, seed=4):
    """Small integers, so that sums are exact; no two rows or columns are alike."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(float)


# Along one dimension, by hand


@pytest.mark.task4_1
def test_every_window_is_multiplied_by_the_weights():
    """Input 0 1 2 3, weights 1 2 3: 0·1 + 1·2 + 2·3 = 8, then 14; the last windows extend past the right edge: 2·1 + 3·2 = 8, and 3."""
    assert convolved(ordered([[[0, 1, 2, 3]]]), ordered([[[1, 2, 3]]])).to_numpy().tolist() == [[[8, 14, 8, 3]]]


@pytest.mark.task4_1
def test_a_reversed_window_lies_to_the_left():
    """Input 0 1 2 3, weights 1 2 3: at the left edge 0·1, then 1·1 + 0·2, 2·1 + 1·2 + 0·3 = 4 and 3·1 + 2·2 + 1·3 = 10."""
    assert convolved(ordered([[[0, 1, 2, 3]]]), ordered([[[1, 2, 3]]]), reverse=True).to_numpy().tolist() == [[[0, 1, 4, 10]]]


@pytest.mark.task4_1
def test_the_channels_of_the_input_are_added_up():
    """Channels 1 2 3 and 10 20 30, weights 1 1 and 1 0: 1 + 2 + 10, 2 + 3 + 20, 3 + 30."""
    assert convolved(ordered([[[1, 2, 3], [10, 20, 30]]]), ordered([[[1, 1], [1, 0]]])).to_numpy().tolist() == [[[13, 25, 33]]]


@pytest.mark.task4_1
def test_every_channel_of_the_result_has_its_own_weights_and_every_input_of_the_batch_its_own_result():
    """Inputs 1 2 3 and 4 5 6: weight 2 doubles each number, weights 0 1 give its right neighbor."""
    result = convolved(ordered([[[1, 2, 3]], [[4, 5, 6]]]), ordered([[[2, 0]], [[0, 1]]]))
    assert result.to_numpy().tolist() == [[[2, 4, 6], [2, 3, 0]], [[8, 10, 12], [5, 6, 0]]]


@pytest.mark.task4_1
@pytest.mark.parametrize(("reverse", "expected"), [(False, [[[14, 8, 3]]]), (True, [[[1, 4, 10]]])])
def test_a_kernel_may_be_wider_than_the_input(reverse, expected):
    """Input 1 2 3, weights 1 2 3 4 5: weights past the end of the input contribute nothing."""
    assert convolved(ordered([[[1, 2, 3]]]), ordered([[[1, 2, 3, 4, 5]]]), reverse=reverse).to_numpy().tolist() == expected


@pytest.mark.task4_1
@pytest.mark.parametrize(("reverse", "expected"), [(False, [[[8, 14]]]), (True, [[[0, 1]]])])
def test_a_result_may_be_narrower_than_the_input(reverse, expected):
    """The first two of four windows: the second is still complete, 1·1 + 2·2 + 3·3. The gradient of the weights uses this."""
    result = convolved(ordered([[[0, 1, 2, 3]]]), ordered([[[1, 2, 3]]]), (2,), reverse)
    assert result.to_numpy().tolist() == expected


@pytest.mark.task4_1
def test_the_result_is_written_by_its_strides():
    """In out, width comes before channels in memory; its old contents do not matter."""
    out = ordered(np.full((1, 2, 3), 1000.0), (0, 2, 1))
    result = convolved(ordered([[[1, 2, 3]]]), ordered([[[2, 0]], [[0, 1]]]), out=out)
    assert result.to_numpy().tolist() == [[[2, 4, 6], [2, 3, 0]]]


@pytest.mark.task4_1
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored left", "anchored right"])
@pytest.mark.parametrize("weight_order", [(0, 1, 2), (1, 0, 2), (2, 1, 0)], ids=str)
@pytest.mark.parametrize("image_order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)], ids=str)
def test_input_and_weights_may_have_their_dimensions_in_any_order(image_order, weight_order, reverse):
    """Permuted operands: channels before batch, width before channels."""
    image, weight = numbers(2, 3, 5), numbers(4, 3, 2)
    result = convolved(ordered(image, image_order), ordered(weight, weight_order), reverse=reverse)
    assert_close_tensor(result, by_numpy(image, weight, reverse=reverse))


# Along two dimensions, by hand


@pytest.mark.task4_2
def test_every_window_of_an_image_is_multiplied_by_the_weights():
    """Image 0 1 2, 3 4 5, 6 7 8, weights 1 10, 100 1000: at the top left 0 + 10·1 + 100·3 + 1000·4; past the edges are zeros."""
    expected = [[4310, 5421, 502], [7643, 8754, 805], [76, 87, 8]]
    assert convolved(ordered([[IMAGE]]), ordered([[SQUARE]])).to_numpy().tolist() == [[expected]]


@pytest.mark.task4_2
def test_a_reversed_window_of_an_image_lies_above_and_to_the_left():
    """At the bottom right 8 + 10·7 + 100·5 + 1000·4; in the first row and column, only what is inside the image."""
    expected = [[0, 1, 12], [3, 134, 1245], [306, 3467, 4578]]
    assert convolved(ordered([[IMAGE]]), ordered([[SQUARE]]), reverse=True).to_numpy().tolist() == [[expected]]


@pytest.mark.task4_2
def test_the_channels_of_an_image_are_added_up():
    """The image with weight 1, plus ten times the image with the weight for its right neighbor: 0 + 10, 1 + 20, 2."""
    result = convolved(ordered([[IMAGE, 10 * IMAGE]]), ordered([[[[1, 0]], [[0, 1]]]]))
    assert result.to_numpy().tolist() == [[[[10, 21, 2], [43, 54, 5], [76, 87, 8]]]]


@pytest.mark.task4_2
def test_every_channel_of_the_result_has_its_own_weights_and_every_image_its_own_result():
    """An image and its double: weights 1 over 0 give the image itself, weights 0 over 1 the row below."""
    result = convolved(ordered([[IMAGE], [2 * IMAGE]]), ordered([[[[1], [0]]], [[[0], [1]]]]))
    below = [[3, 4, 5], [6, 7, 8], [0, 0, 0]]
    assert_close_tensor(result, np.array([[IMAGE, below], [2 * IMAGE, 2 * np.array(below)]]))


@pytest.mark.task4_2
@pytest.mark.parametrize(("reverse", "expected"), [(False, [[6, 5, 3]]), (True, [[1, 3, 6]])])
def test_height_and_width_are_not_mixed_up(reverse, expected):
    """One row with a row of weights, one column with a column of weights: 1 2 3 and 1 1 1 give 6 5 3, reversed 1 3 6."""
    row, ones = np.array([[1.0, 2.0, 3.0]]), np.ones((1, 3))
    assert convolved(ordered([[row]]), ordered([[ones]]), reverse=reverse).to_numpy().tolist() == [[expected]]
    result = convolved(ordered([[row.T]]), ordered([[ones.T]]), reverse=reverse)
    assert result.to_numpy().tolist() == [[np.transpose(expected).tolist()]]


@pytest.mark.task4_2
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored top left", "anchored bottom right"])
def test_a_kernel_may_be_larger_than_the_image(reverse):
    """A 3 × 3 image with 5 × 4 weights."""
    image, weight = numbers(1, 1, 3, 3), numbers(1, 1, 5, 4)
    assert_close_tensor(convolved(ordered(image), ordered(weight), reverse=reverse), by_numpy(image, weight, reverse=reverse))


@pytest.mark.task4_2
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored top left", "anchored bottom right"])
def test_a_result_may_be_smaller_than_the_image(reverse):
    """A 2 × 1 result; its first windows still see the rest of the image. The gradient of the weights uses this."""
    image, weight = numbers(2, 3, 4, 5), numbers(2, 3, 3, 2)
    result = convolved(ordered(image), ordered(weight), (2, 1), reverse)
    assert_close_tensor(result, by_numpy(image, weight, (2, 1), reverse))


@pytest.mark.task4_2
def test_the_result_of_an_image_is_written_by_its_strides():
    """out is column-major; its old contents do not matter."""
    out = ordered(np.full((1, 1, 3, 3), 1000.0), (0, 1, 3, 2))
    result = convolved(ordered([[IMAGE]]), ordered([[SQUARE]]), out=out)
    assert result.to_numpy().tolist() == [[[[4310, 5421, 502], [7643, 8754, 805], [76, 87, 8]]]]


@pytest.mark.task4_2
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored top left", "anchored bottom right"])
@pytest.mark.parametrize("weight_order", [(0, 1, 2, 3), (1, 0, 2, 3), (3, 2, 1, 0)], ids=str)
@pytest.mark.parametrize("image_order", [(0, 1, 2, 3), (1, 0, 2, 3), (0, 2, 3, 1)], ids=str)
def test_image_and_weights_may_have_their_dimensions_in_any_order(image_order, weight_order, reverse):
    """Permuted operands: channels before batch, channels after columns."""
    image, weight = numbers(2, 3, 4, 5), numbers(4, 3, 2, 3)
    result = convolved(ordered(image, image_order), ordered(weight, weight_order), reverse=reverse)
    assert_close_tensor(result, by_numpy(image, weight, reverse=reverse))


# Any shape and layout


@composite
def operands(draw, dims):
    """An image, weights, and the size of a result no larger than the image."""
    batch, channels, out = (draw(integers(1, 3)) for _ in range(3))
    size = [draw(integers(1, 5)) for _ in range(dims)]
    weight = [draw(integers(1, 4)) for _ in range(dims)]
    result = [draw(integers(1, n)) for n in size] if draw(booleans()) else size
    return numbers(batch, channels, *size), numbers(out, channels, *weight, seed=5), tuple(result)


def check_any_layout(case, draw, reverse):
    """Check a convolution whose image and weights have any layout, and whose result has any memory order."""
    image, weight, size = case
    a, b = (ordered(x) if draw is None else laid_out(x, *draw.draw(layouts(x.shape))) for x in (image, weight))
    empty = np.full((image.shape[0], weight.shape[0], *size), np.nan)
    out = ordered(empty, None if draw is None else draw.draw(permutations(range(empty.ndim))))
    assert_close_tensor(convolved(a, b, size, reverse, out), by_numpy(image, weight, size, reverse))


@pytest.mark.task4_1
@settings(max_examples=60)
@given(operands(1), data(), booleans())
@example((np.ones((1, 1, 1)), np.ones((1, 1, 1)), (1,)), None, False)
@example((np.ones((2, 0, 3)), np.ones((2, 0, 2)), (3,)), None, False)
@example((np.ones((0, 2, 3)), np.ones((2, 2, 2)), (3,)), None, True)
@example((np.ones((1, 2, 3)), np.ones((0, 2, 2)), (3,)), None, False)
def test_a_convolution_of_any_layout(case, draw, reverse):
    """Input and weights may have any memory order, with gaps, and the result any memory order; without channels the sums are 0."""
    check_any_layout(case, draw, reverse)


@pytest.mark.task4_2
@settings(max_examples=60)
@given(operands(2), data(), booleans())
@example((np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1)), (1, 1)), None, False)
@example((np.ones((2, 0, 3, 2)), np.ones((2, 0, 2, 2)), (3, 2)), None, True)
@example((np.ones((0, 2, 3, 2)), np.ones((2, 2, 2, 2)), (3, 2)), None, False)
@example((np.ones((1, 2, 3, 2)), np.ones((0, 2, 2, 2)), (3, 2)), None, False)
def test_a_convolution_of_images_of_any_layout(case, draw, reverse):
    """Image and weights may have any memory order, with gaps, and the result any memory order; without channels the sums are 0."""
    check_any_layout(case, draw, reverse)


# In parallel


@pytest.mark.task4_1
@pytest.mark.skipif(compiler_is_off(), reason="NUMBA_DISABLE_JIT=1: nothing is compiled, so nothing runs in parallel")
def test_the_loop_of_a_convolution_is_shared_among_threads(capsys):
    """The kernel is compiled by njit with parallel=True, and one of its loops is a prange, as numba's report says."""
    convolved(ordered([[[0, 1, 2, 3]]]), ordered([[[1, 2, 3]]]))
    assert_shares_its_loop(tensor_conv1d, capsys)


@pytest.mark.task4_2
@pytest.mark.skipif(compiler_is_off(), reason="NUMBA_DISABLE_JIT=1: nothing is compiled, so nothing runs in parallel")
def test_the_loop_of_a_convolution_of_images_is_shared_among_threads(capsys):
    """The kernel is compiled by njit with parallel=True, and one of its loops is a prange, as numba's report says."""
    convolved(ordered([[IMAGE]]), ordered([[SQUARE]]))
    assert_shares_its_loop(tensor_conv2d, capsys)


@pytest.mark.task4_1
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored left", "anchored right"])
def test_a_convolution_that_several_threads_share(reverse):
    """A result of one number, many times, then a large one: no two threads may write the same element or share a buffer."""
    image, weight = numbers(1, LONG, 1), numbers(1, LONG, 1, seed=5)
    expected, a, b = by_numpy(image, weight), ordered(image), ordered(weight)
    for _ in range(TIMES):  # on a busy machine the threads may come one after the other, and nothing is lost
        assert_close_tensor(convolved(a, b, reverse=reverse), expected)
    batch, channels, out, width, kernel = MANY
    image, weight = numbers(batch, channels, width), numbers(out, channels, kernel, seed=5)
    expected, a, b = by_numpy(image, weight, reverse=reverse), ordered(image), ordered(weight)
    for _ in range(TIMES):
        assert_close_tensor(convolved(a, b, reverse=reverse), expected)


@pytest.mark.task4_2
@pytest.mark.parametrize("reverse", [False, True], ids=["anchored top left", "anchored bottom right"])
def test_a_convolution_of_images_that_several_threads_share(reverse):
    """A result of one number, many times, then a large one: no two threads may write the same element or share a buffer."""
    image, weight = numbers(1, LONG, 1, 1), numbers(1, LONG, 1, 1, seed=5)
    expected, a, b = by_numpy(image, weight), ordered(image), ordered(weight)
    for _ in range(TIMES):
        assert_close_tensor(convolved(a, b, reverse=reverse), expected)
    batch, channels, out, width, kernel = MANY
    image, weight = numbers(batch, channels, 8, width // 4), numbers(out, channels, 2, kernel, seed=5)
    expected, a, b = by_numpy(image, weight, reverse=reverse), ordered(image), ordered(weight)
    for _ in range(TIMES):
        assert_close_tensor(convolved(a, b, reverse=reverse), expected)


# Tensors


def leaf(array, backend=FastBackend):
    return tensor(np.asarray(array, dtype=float).tolist(), backend=backend, requires_grad=True)


def check_gradients(function, image, weight, convolution=by_numpy):
    """Compare each gradient with a difference quotient of the weighted sum of the result.

    The tensors are permuted from another order of the dimensions.
    """
    order = (1, 0, *range(2, image.ndim))
    x, y = (leaf(np.transpose(array, order)) for array in (image, weight))
    result = function(x.permute(*order), y.permute(*order))
    assert_close_tensor(result, convolution(image, weight))
    factors = numbers(*result.shape, seed=6)
    (result * leaf(factors)).sum().backward()
    for whose, array, changed in (
        (x, image, lambda moved: convolution(moved, weight)),
        (y, weight, lambda moved: convolution(image, moved)),
    ):
        slopes = np.empty(array.shape)
        for index in np.ndindex(array.shape):
            step = np.zeros(array.shape)
            step[index] = 0.5  # the result is linear in each: no step is too large
            slopes[index] = (factors * (changed(array + step) - changed(array - step))).sum()
        assert_close_tensor(whose.grad, np.transpose(slopes, order))


@pytest.mark.task4_1
def test_conv1d_of_tensors():
    """Input 0 1 2 3, weights 1 2 3: the result is 8 14 8 3; its sum has gradients 1, 3, 6, 6 (input) and 6, 6, 5 (weights)."""
    x, weight = leaf([[[0, 1, 2, 3]]]), leaf([[[1, 2, 3]]])
    result = Conv1dFun.apply(x, weight)
    assert result.to_numpy().tolist() == [[[8, 14, 8, 3]]]
    result.sum().backward()
    assert x.grad.to_numpy().tolist() == [[[1, 3, 6, 6]]]
    assert weight.grad.to_numpy().tolist() == [[[6, 6, 5]]]


@pytest.mark.task4_1
@pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
@pytest.mark.parametrize(("image", "weight"), [((1, 1, 6), (1, 1, 4)), ((2, 2, 6), (3, 2, 2))], ids=str)
def test_conv1d_has_the_gradients_of_central_differences(image, weight, backend):
    grad_check(Conv1dFun.apply, leaf(numbers(*image), backend), leaf(numbers(*weight, seed=5), backend))


@pytest.mark.task4_1
@pytest.mark.parametrize(("image", "weight"), [((1, 1, 6), (1, 1, 4)), ((3, 2, 5), (4, 2, 3)), ((2, 3, 3), (2, 3, 5))], ids=str)
def test_the_gradients_of_conv1d_are_its_slopes(image, weight):
    """Gradients agree with finite differences, also for permuted inputs and for kernels wider than the input."""
    check_gradients(Conv1dFun.apply, numbers(*image), numbers(*weight, seed=5))


@pytest.mark.task4_2
def test_conv2d_of_tensors():
    """The 3 × 3 image with weights 1 10, 100 1000: the sum's gradient is 1111 for an inner pixel, and 1 for the top left one."""
    x, weight = leaf([[IMAGE]]), leaf([[SQUARE]])
    result = Conv2dFun.apply(x, weight)
    assert result.to_numpy().tolist() == [[[[4310, 5421, 502], [7643, 8754, 805], [76, 87, 8]]]]
    result.sum().backward()
    assert x.grad.to_numpy().tolist() == [[[[1, 11, 11], [101, 1111, 1111], [101, 1111, 1111]]]]
    assert weight.grad.to_numpy().tolist() == [[[[36, 27], [33, 24]]]]


@pytest.mark.task4_2
@pytest.mark.parametrize(
    ("image", "weight"),
    [((1, 1, 6, 6), (1, 1, 2, 4)), ((2, 1, 6, 6), (1, 1, 2, 4)), ((2, 2, 6, 6), (3, 2, 2, 4))],
    ids=str,
)
def test_conv2d_has_the_gradients_of_central_differences(image, weight):
    grad_check(Conv2dFun.apply, leaf(numbers(*image)), leaf(numbers(*weight, seed=5)))


@pytest.mark.task4_2
@pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)
@pytest.mark.parametrize(("image", "weight"), [((2, 3, 4, 3), (2, 3, 2, 3)), ((1, 2, 2, 3), (3, 2, 3, 2))], ids=str)
def test_the_gradients_of_conv2d_are_its_slopes(image, weight, backend):
    """Gradients agree with finite differences, also for permuted images and for kernels larger than the image."""
    check_gradients(Conv2dFun.apply, numbers(*image), numbers(*weight, seed=5))
