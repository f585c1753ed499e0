"""Every operation of the table as a compiled function: results and gradients equal to the function's, bit for bit."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, FastOps, float32, float64
from minitorch.compiler import NotRecordable
from minitorch.kernels.jit import compiler_is_off
from tests.op_table import OPS, samples

pytestmark = pytest.mark.skipif(compiler_is_off(), reason="the compiler is off")


def outcome(fn, op, shapes, dtype, seed, with_gradient):
    """The result of a call and the gradients of its sum, as arrays."""
    xs = [
        minitorch.tensor(values, backend=FastBackend, requires_grad=with_gradient and values.dtype.kind == "f")
        for values in samples(op, shapes, [dtype] * len(shapes), seed)
    ]
    y = fn(*xs)
    if not with_gradient or y.history is None:
        return [y.detach().to_numpy()]
    y.sum().backward()
    return [y.detach().to_numpy(), *[x.grad.to_numpy() for x in xs if x.grad is not None]]


REFUSED = {"x[m]", "x[m] of a longer x"}
"""What cannot be recorded: the shape of the result depends on the numbers of a mask."""


@pytest.mark.parametrize("dtype", [float64, pytest.param(float32, marks=pytest.mark.exhaustive)], ids=["float64", "float32"])
@pytest.mark.parametrize("op", [op for op in OPS if op.name not in REFUSED], ids=lambda op: op.name)
def test_an_operation_replays_exactly(op, dtype):
    for with_gradient in {op.gradient, False}:
        compiled = minitorch.compile(op.ours)
        for seed in range(3):
            expected = outcome(op.ours, op, op.shapes[0], dtype, seed, with_gradient)
            found = outcome(compiled, op, op.shapes[0], dtype, seed, with_gradient)
            assert len(found) == len(expected)
            for mine, its in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, its, err_msg=f"seed {seed}, {with_gradient=}")
        assert compiled.replayed >= 2


@pytest.mark.exhaustive
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


@pytest.mark.parametrize("op", [op for op in OPS if op.name in REFUSED], ids=lambda op: op.name)
def test_an_operation_whose_shape_depends_on_numbers_is_refused(op):
    with pytest.raises(NotRecordable, match=r"numpy\(\) cannot be recorded, at op_table\.py:\d+"):
        outcome(minitorch.compile(op.ours), op, op.shapes[0], float64, 0, False)
