"""Every operation of the table as a compiled function: results and gradients equal to the function's, bit for bit."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, FastOps, float32, float64
from tests.compiler.test_ops import OF_EACH_KIND, REFUSED, check_replay
from tests.marks import needs_compiler
from tests.op_table import OPS

pytestmark = needs_compiler


def test_operations_of_textbook_kernels_replay_exactly(monkeypatch):
    """A workspace has no other kernels. These get shapes and strides as arrays, which a replay must find unchanged."""
    monkeypatch.setattr(FastOps, "optimized", False)
    w = minitorch.tensor([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]], backend=FastBackend, requires_grad=True)

    def step(x):
        y = ((x.permute(1, 0) @ w) * x.sum(0).view(2, 1)).relu().mean()
        y.backward()
        return y.detach()

    def outcome(function, x):
        w.grad = None
        return function(x).to_numpy(), w.grad.to_numpy()  # type: ignore[attr-defined]

    compiled = minitorch.compile(step, fuse=False)
    for number in range(3):
        x = minitorch.tensor([[1.0 + number, 2.0], [0.5, 3.0 - number]], backend=FastBackend)
        for found, expected in zip(outcome(compiled, x), outcome(step, x), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert (compiled.recorded, compiled.replayed) == (1, 2)
    tables = [arg for node in compiled.trace.nodes for launch in node.launches for arg in launch.args if isinstance(arg, np.ndarray)]
    assert tables, "shapes and strides are constants of the program"
    assert {(table.dtype.name, table.ndim) for table in tables} == {("int32", 1)}


CASES = [
    (op, dtype) for op in OPS if op.name not in REFUSED for dtype in (float64, float32) if op.name not in OF_EACH_KIND or dtype is float32
]


@pytest.mark.parametrize(("op", "dtype"), CASES, ids=lambda value: value.name)
def test_an_operation_replays_exactly(op, dtype):
    check_replay(op, dtype)
