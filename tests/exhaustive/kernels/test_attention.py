"""Fused attention for every width that kernels are compiled for, in both dtypes, and its memory."""

import tracemalloc

import numpy as np
import pytest

from minitorch import float32
from minitorch.kernels.attention import TILE, WIDTHS
from minitorch.nn.attention import scaled_dot_product_attention
from tests.kernels.test_attention import check_against_composed, gradients, inputs


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_heads_of_every_width_agree_with_the_composed_ones(width, is_causal):
    for inner, columns in ((width, width), (width - 1, 3), (2, width - 3)):
        check_against_composed((2, TILE + 2, 2 * TILE + 1, inner, columns), is_causal)


def test_gradients_of_float32_agree_with_float64():
    *tensors, gradient = inputs(2, TILE + 6, TILE + 6, 16, 16)
    expected = gradients(lambda *x: scaled_dot_product_attention(*x, is_causal=True), tensors, gradient)
    ours = gradients(lambda *x: scaled_dot_product_attention(*x, is_causal=True), [x.to(float32) for x in tensors], gradient.to(float32))
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_no_matrix_of_all_scores_is_made():
    length = 32 * TILE
    *tensors, gradient = inputs(1, length, length, 16, 16)
    run = lambda: gradients(lambda *x: scaled_dot_product_attention(*x, is_causal=True), tensors, gradient)  # noqa: E731
    run()
    tracemalloc.start()
    try:
        run()
        assert tracemalloc.get_traced_memory()[1] < length * length  # an eighth of it
    finally:
        tracemalloc.stop()
