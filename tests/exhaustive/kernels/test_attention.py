"""Fused attention for every width that kernels are compiled for, in both dtypes."""

import pytest

from minitorch.kernels.attention import TILE, WIDTHS
from tests.kernels.test_attention import check_against_composed


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_heads_of_every_width_agree_with_the_composed_ones(width, is_causal):
    for inner, columns in ((width, width), (width - 1, 3), (2, width - 3)):
        check_against_composed((2, TILE + 2, 2 * TILE + 1, inner, columns), is_causal)
