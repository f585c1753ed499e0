"""The timing program: measurements and estimates, the table, the chart, and what is not run."""

import numpy as np
import pytest

from project.lab.explorers import speed


@pytest.mark.parametrize("op", ["matmul", "reduce"])
def test_the_textbook_kernels_compute_the_same(op):
    size = 8 if op == "matmul" else 600
    expected = speed.prepare(op, size, "numpy", "float64")()
    np.testing.assert_allclose(speed.prepare(op, size, "textbook", "float64")().reshape(expected.shape), expected, atol=1e-9)
