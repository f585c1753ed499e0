"""Convolution after the course: its kernels on any geometry, on one thread and several; nn.conv1d and nn.conv2d; errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch import FastBackend, from_numpy
from minitorch.fast_conv import Conv2dFun
from minitorch.kernels import conv as conv_loops
from minitorch.kernels import conv_matmul as conv_products
from minitorch.nn import convolution
from tests.nn.test_convolution import LARGE, QUICK, cases, check


def set_limits(monkeypatch, **limits):
    """Set other constants for the kernels' plans, which are then created again."""
    for name, value in limits.items():
        found = [module for module in (conv_loops, conv_products) if hasattr(module, name)]
        assert found, name
        for module in found:
            monkeypatch.setattr(module, name, value)
    for module in (conv_loops, conv_products):
        module.plan.cache_clear()


@pytest.fixture(params=["one thread", "several threads", "small bands", "one product"])
def kernel_plan(request, monkeypatch):
    """Run on one thread or several however small the work, in bands of four rows, or as a single product."""
    least = 1 if request.param == "one product" else 1 << 60
    for name, limit in (("MAX_MATMUL_WIDTH", 1 << 60), ("MIN_MATMUL_WINDOW", least), ("MIN_MATMUL_WINDOW_1X1", least)):
        monkeypatch.setattr(convolution, name, limit)
    set_limits(monkeypatch, PARALLEL_THRESHOLD=1 if request.param == "several threads" else 1 << 60)
    if request.param == "small bands":
        set_limits(monkeypatch, PLANES=1, PARTIAL=1)
    yield
    for module in (conv_loops, conv_products):
        module.plan.cache_clear()


@pytest.mark.usefixtures("kernel_plan")
class TestKernels:
    @QUICK
    @given(cases(), st.data())
    def test_conv2d_and_its_gradients_equal_sums_of_products_for_all_settings_and_layouts(self, one, data):
        check(one, [data.draw(st.permutations(range(4))) for _ in range(3)])

    @pytest.mark.parametrize("one", LARGE, ids=lambda one: f"{one[0].shape} {one[1].shape}")
    def test_conv2d_and_its_gradients_with_several_chunks_tap_blocks_and_images(self, one):
        check(one)


def test_results_and_gradients_do_not_depend_on_the_number_of_threads(monkeypatch):
    random = np.random.default_rng(0)
    image, weight = (random.standard_normal(shape).astype(np.float32) for shape in ((20, 3, 14, 15), (5, 3, 3, 3)))
    found = []
    for least in (1, 1 << 60):
        set_limits(monkeypatch, PARALLEL_THRESHOLD=least)
        x, w = (from_numpy(array, backend=FastBackend).requires_grad_() for array in (image, weight))
        out = Conv2dFun.apply(x, w)
        out.backward((out * 0.5).detach())
        found.append([out.to_numpy(), x.grad.to_numpy(), w.grad.to_numpy()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
