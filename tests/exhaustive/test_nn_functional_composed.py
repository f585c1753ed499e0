"""The functions of `nn`, composed of tensor operations on the compiled backend, without their optimized kernels."""

import pytest

from minitorch import FastBackend, FastOps
from tests.test_nn_functional import *


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.setattr(FastOps, "optimized", False)
    return FastBackend
