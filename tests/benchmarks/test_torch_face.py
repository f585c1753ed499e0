"""The benchmark of PyTorch's interface compares equal results, and judges the ratio of the medians."""

import numpy as np

from benchmarks import torch_face
from benchmarks.torch_face_contenders import LIBRARIES


def test_the_cost_is_the_ratio_of_the_medians():
    assert torch_face.cost_of([1.0, 2.0, 4.0], [1.1, 2.2, 4.8]) == ("1.15 times the engine's", "1.10 (1.10 to 1.20)", "reached")
    assert torch_face.cost_of([1.0], [1.5])[1:] == ("1.50 (1.50 to 1.50)", "MISSED")


def test_both_interfaces_compute_the_same():
    check_operation("add")


def check_operation(operation):
    engine, interface = (LIBRARIES[name](f"{operation} 2")() for name in ("engine", "minitorch"))
    assert tuple(engine.shape) == tuple(interface.shape)
    np.testing.assert_array_equal(engine.to_numpy(), interface.numpy())
