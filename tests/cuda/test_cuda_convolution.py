"""Task 4.4b: convolution on the GPU in one and in two dimensions: the kernels, and tensors on the GPU."""

import numpy as np
import pytest

from minitorch import Conv1dFun, Conv2dFun, CudaOps, conv1d, conv2d, grad_check, tensor
from minitorch.cuda_conv import CONV_BLOCK, _tensor_conv1d, _tensor_conv2d
from minitorch.kernels.cuda.device import blocks_for, jit

from ..tensor_strategies import assert_close_tensor
from .machine import assert_holds, only_the_simulator_counts, run

KERNELS = {3: _tensor_conv1d, 4: _tensor_conv2d}


@pytest.fixture
def students_kernels(monkeypatch):
    """Compute convolutions with the kernels of this task, not with optimized kernels."""
    monkeypatch.setattr(CudaOps, "optimized", False)


def random(*shape):
    return np.random.default_rng(shape).standard_normal(shape)


def shifted(array, steps):
    """The array shifted so that the element at `steps` moves to the origin; zeros move in."""
    moved = np.zeros_like(array)
    to, fro = [], []
    for step, size in zip((0,) * (array.ndim - len(steps)) + tuple(steps), array.shape, strict=True):
        to.append(slice(max(0, -step), max(0, size - max(0, step))))
        fro.append(slice(max(0, step), max(0, size + min(0, step))))
    moved[tuple(to)] = array[tuple(fro)]
    return moved


def convolution(input, weight, reverse=False):
    """The convolution in NumPy: for every tap of the window, the shifted input times the tap's weights."""
    out = np.zeros((input.shape[0], weight.shape[0], *input.shape[2:]))
    for place in np.ndindex(weight.shape[2:]):
        moved = shifted(input, [-k if reverse else k for k in place])
        out += np.einsum("bc...,oc->bo...", moved, weight[(..., *place)])
    return out


def contiguous(shape):
    return tuple(int(np.prod(shape[d + 1 :])) for d in range(len(shape)))


def launched(input, weight, reverse=False, size=None, out_strides=None, filled=np.nan, spare=1):
    """Launch the kernel with a few surplus blocks; returns the memory of out, input and weight."""
    shape = (input.shape[0], weight.shape[0], *(size or input.shape[2:]))
    n = int(np.prod(shape))
    layouts = [part for x in (input, weight) for part in (x.reshape(-1), x.shape, contiguous(x.shape))]
    out = np.full(n, filled)
    target = out, shape, out_strides or contiguous(shape), n
    return run(jit(KERNELS[input.ndim]), blocks_for(n, CONV_BLOCK) + spare, CONV_BLOCK, *target, *layouts, reverse)


@pytest.mark.task4_4b
def test_a_convolution_by_hand():
    """Input and weights 0 1 2 3 and 1 2 3: 0+2+6, 1+4+9, 2+6 and 3; reversed 0, 1, 2+2, 3+4+3."""
    input, weight = np.arange(4.0).reshape(1, 1, 4), np.array([[[1.0, 2.0, 3.0]]])
    assert_holds(launched(input, weight)[0], [8, 14, 8, 3])
    assert_holds(launched(input, weight, reverse=True)[0], [0, 1, 4, 10])


@pytest.mark.task4_4b
def test_a_convolution_of_two_dimensions_by_hand():
    """Image and weights (1 2, 3 4): 1+4+9+16, 2+12, 3+8, 4; reversed 1, 2+2, 3+3, 4+6+6+4."""
    square = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert_holds(launched(square, square)[0], [30, 14, 11, 4])
    assert_holds(launched(square, square, reverse=True)[0], [1, 4, 6, 20])


SHAPES = [
    ((1, 1, 1), (1, 1, 1)),
    ((2, 3, 7), (4, 3, 2)),
    ((1, 2, 3), (2, 2, 5)),
    ((2, 2, CONV_BLOCK + 1), (1, 2, 3)),
    ((1, 1, 3, 4), (1, 1, 2, 3)),
    ((2, 2, 4, 3), (3, 2, 3, 2)),
    ((1, 2, 2, 2), (2, 2, 3, 4)),
]


@pytest.mark.task4_4b
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(("input", "weight"), SHAPES, ids=str)
def test_channels_and_images_of_any_number(input, weight, reverse):
    """Every output channel sums over all input channels; a window may be larger than the input."""
    a, b = random(*input), random(*weight)
    assert_holds(launched(a, b, reverse)[0], convolution(a, b, reverse))


@pytest.mark.task4_4b
@pytest.mark.parametrize(("input", "weight", "size"), [((2, 2, 6), (3, 2, 5), (2,)), ((2, 2, 4, 5), (3, 2, 3, 4), (2, 3))], ids=str)
def test_out_may_be_smaller_than_the_input(input, weight, size):
    """A smaller out holds the first results: the gradient of the weights is such a convolution."""
    a, b = random(*input), random(*weight)
    assert_holds(launched(a, b, size=size)[0], convolution(a, b)[(..., *map(slice, size))])


@pytest.mark.task4_4b
def test_out_is_written_by_its_strides():
    """In memory, the last dimension of out comes first, or the one before it."""
    a, b = random(2, 2, 4), random(3, 2, 2)
    assert_holds(launched(a, b, out_strides=(3, 1, 6))[0], convolution(a, b).transpose(2, 0, 1))
    a, b = random(2, 1, 3, 2), random(2, 1, 2, 2)
    assert_holds(launched(a, b, out_strides=(12, 6, 1, 3))[0], convolution(a, b).transpose(0, 1, 3, 2))


@pytest.mark.task4_4b
@only_the_simulator_counts
@pytest.mark.parametrize(("input", "weight"), [SHAPES[1], SHAPES[5]], ids=str)
def test_each_element_of_out_is_written_once_and_none_is_read(input, weight):
    """Each thread accumulates its sum in a local variable and writes it once."""
    out = launched(random(*input), random(*weight))[0]
    assert set(out.writes.values()) == {1}
    assert not out.reads, "expected the sum to be made in the thread, got one that is made in out"


# Tensors


def both(shape, cuda, order=None):
    """An array, and its tensor on the GPU with this memory order of the dimensions."""
    order = order or tuple(range(len(shape)))
    values = random(*shape)
    there = tensor(values.transpose(order).copy(), backend=cuda)
    return values, there.permute(*np.argsort(order).tolist())


@pytest.mark.task4_4b
@pytest.mark.parametrize(("input", "weight"), SHAPES, ids=str)
def test_tensors_of_the_gpu_are_convolved_there(input, weight, cuda, students_kernels):
    """conv1d and conv2d give NumPy's values; both operands may be permuted."""
    fn = conv1d if len(input) == 3 else conv2d
    for order in (None, (1, 0, *range(len(input) - 1, 1, -1))):
        (a, x), (b, y) = both(input, cuda, order), both(weight, cuda, order)
        out = fn(x, y)
        assert out.backend is x.backend
        assert_close_tensor(out, convolution(a, b))


@pytest.mark.task4_4b
@pytest.mark.parametrize(
    ("fn", "input", "weight"),
    [(Conv1dFun, (1, 1, 4), (1, 1, 3)), (Conv1dFun, (2, 2, 3), (3, 2, 2)), (Conv2dFun, (2, 1, 3, 2), (2, 1, 2, 2))],
    ids=str,
)
def test_gradients_agree_with_differences(fn, input, weight, cuda, students_kernels):
    """The gradients of input and weights agree with central differences."""
    grad_check(lambda x, y: fn.apply(x, y).sigmoid(), both(input, cuda)[1], both(weight, cuda)[1])
