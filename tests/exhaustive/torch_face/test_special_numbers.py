"""Values and gradients of activations and losses at extreme numbers, with the table of tests/torch_face/test_special_numbers.py."""

import pytest

import minitorch.torch as torch
from tests.torch_face.test_special_numbers import CURVES, check_curve


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("call", CURVES)
def test_values_and_gradients_at_extreme_numbers_are_known(call: str, create_graph: bool) -> None:
    check_curve(torch, call, create_graph)
