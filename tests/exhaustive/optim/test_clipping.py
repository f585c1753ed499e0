"""Gradients kept within bounds: by hand, and as PyTorch does it where it is installed."""

import math

import numpy as np
import pytest

from minitorch import Parameter, float32, tensor
from minitorch.optim import clip_grad_norm_, clip_grad_value_
from tests.optim.test_clipping import with_gradient


@pytest.mark.parametrize("norm_type", [2, 3])
def test_a_power_that_leaves_the_range_of_float32_is_no_infinite_norm(norm_type, backend):
    p = with_gradient([3e30, 4e30], backend, dtype=float32)
    norm = clip_grad_norm_([p], 1.0, norm_type).item()
    assert norm == pytest.approx({2: 5e30, 3: 91 ** (1 / 3) * 1e30}[norm_type], rel=1e-6)
    assert (p.value.grad.dtype, max(p.value.grad.tolist()) > 0.5) == (float32, True)


def test_elements_are_brought_between_two_bounds(backend):
    p = with_gradient([[3.0, -0.5, -7.0], [1.0, math.nan, math.inf]], backend)
    clip_grad_value_([p, Parameter(tensor([1.0], backend))], 1.0)
    np.testing.assert_array_equal(p.value.grad.to_numpy(), [[1.0, -0.5, -1.0], [1.0, math.nan, 1.0]])
