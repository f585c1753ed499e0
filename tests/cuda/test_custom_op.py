"""The GPU kernel of project/custom_op.py: its checks, at sizes that do not fill the last block."""

import numpy as np
import pytest

from minitorch import tensor
from project import custom_op
from project.custom_op import BiasSiLU, BiasSiLUFunction, MyLinear, check


def test_the_kernel_passes_its_check(cuda):
    assert custom_op.check_gpu().startswith("PASS (")


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (0, 3)])
def test_values_and_gradients_equal_those_of_the_composition(cuda, shape, monkeypatch):
    monkeypatch.setattr(custom_op, "THREADS", 4)
    check(BiasSiLUFunction.apply, BiasSiLUFunction.composed, shape, shape[1:], backend=cuda)


def test_a_layer_on_the_gpu_stays_there(cuda):
    layer = BiasSiLU(3, cuda)
    out = layer(tensor(np.ones((2, 3), np.float32), cuda))
    assert out.backend is cuda
    np.testing.assert_allclose(out.to_numpy(), 1 / (1 + np.exp(-1)), rtol=1e-6)


def test_the_linear_layer_reports_that_its_kernel_is_for_the_cpu(cuda):
    with pytest.raises(ValueError, match=r"on the CPU, got \(2, 3\) and float32 on cuda; pass such input, or use nn\.Linear$"):
        MyLinear(3, 2, device=cuda)(tensor(np.ones((2, 3), np.float32), cuda))
