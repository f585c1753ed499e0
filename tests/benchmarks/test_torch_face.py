"""The benchmark of PyTorch's interface compares equal results."""

import numpy as np

from benchmarks.torch_face_contenders import LIBRARIES


def test_both_interfaces_compute_the_same():
    check_operation("add")


def check_operation(operation):
    engine, interface = (LIBRARIES[name](f"{operation} 2")() for name in ("engine", "minitorch"))
    assert tuple(engine.shape) == tuple(interface.shape)
    np.testing.assert_array_equal(engine.to_numpy(), interface.numpy())
