"""Arguments of every layout and dtype, assignments, gradients that a step rewrites, and what a replay could not return or change."""

import numpy as np
import pytest

import minitorch
from tests.compiler.test_values import ASSIGNMENTS, check_dtype, numbers


@pytest.mark.parametrize("fn", ASSIGNMENTS, ids=lambda fn: fn.__name__)
def test_assignments_stay_what_they_are_when_the_rest_is_fused(fn):
    compiled = minitorch.compile(fn)
    compiled(numbers(0))
    compiled.fuse()
    for n in range(1, 4):
        np.testing.assert_allclose(compiled(numbers(n)).to_numpy(), fn(numbers(n)).to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_an_argument_of_a_small_dtype(dtype):
    check_dtype(dtype)
