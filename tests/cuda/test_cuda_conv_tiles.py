"""The optimized GPU convolutions: several output channels per thread, or many threads per sum."""

import numpy as np
import pytest

from minitorch import conv1d, conv2d, grad_check, tensor
from minitorch.fast_conv import convolve
from minitorch.kernels.cuda.device import SIMULATED

from ..tensor_strategies import assert_close_tensor
from .test_cuda_convolution import SHAPES, both, convolution, random


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(
    ("input", "weight"), [*SHAPES, ((1, 5, 3, 3), (5, 5, 2, 2)), *([] if SIMULATED else [((3, 20, 40, 37), (19, 20, 3, 5))])], ids=str
)
def test_several_channels_per_thread_give_the_same_result(input, weight, reverse, cuda):
    """Kernels that compute several output channels per thread: more channels and taps than one iteration handles, and fewer."""
    (a, x), (b, y) = both(input, cuda), both(weight, cuda, (1, 0, *range(2, len(weight))))
    shape = (input[0], weight[0], *input[2:])
    assert_close_tensor(convolve(f"conv{x.dims - 2}d", x, y, shape, reverse), convolution(a, b, reverse))


@pytest.mark.parametrize(("input", "weight", "size"), [((2, 5, 6), (3, 5, 6), (2,)), ((2, 3, 5, 4), (5, 3, 4, 4), (3, 2))], ids=str)
def test_threads_share_a_sum_if_the_window_is_larger_than_the_result(input, weight, size, cuda):
    """As in the gradient of weights: few results, each a sum over a window that extends past the input."""
    (a, x), (b, y) = both(input, cuda, (1, 0, *range(2, len(input)))), both(weight, cuda)
    out = convolve(f"conv{x.dims - 2}d", x, y, (input[0], weight[0], *size))
    assert_close_tensor(out, convolution(a, b)[(..., *map(slice, size))])


def test_float32_stays_float32(cuda):
    x, y = tensor(random(1, 2, 5).astype(np.float32), backend=cuda), tensor(random(3, 2, 2).astype(np.float32), backend=cuda)
    assert conv1d(x, y).dtype == np.float32
    assert convolve("conv1d", x, x, (1, 1, 2)).dtype == np.float32


def test_gradients_of_the_kernels_with_several_channels_agree_with_differences(cuda):
    grad_check(lambda x, y: conv2d(x, y).sigmoid(), both((2, 1, 3, 2), cuda)[1], both((3, 1, 2, 2), cuda)[1])
