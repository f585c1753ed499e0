"""Operations of the table as compiled functions: results and gradients equal to the function's, bit for bit."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, float64
from minitorch.compiler import NotRecordable
from tests.marks import needs_compiler
from tests.op_table import OPS, samples

pytestmark = needs_compiler


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


OF_EACH_KIND = {"x.relu()", "x * y", "x.sum(0, keepdim=True)", "x @ y", "x.permute(1, 2, 0)", "cat([x, y], 1)", "x[1:]", "x[[0, 2, 0]]"}


@pytest.mark.parametrize("op", [op for op in OPS if op.name in OF_EACH_KIND], ids=lambda op: op.name)
def test_an_operation_replays_exactly(op):
    check_replay(op, float64)


def check_replay(op, dtype):
    for with_gradient in {op.gradient, False}:
        compiled = minitorch.compile(op.ours)
        for seed in range(3):
            expected = outcome(op.ours, op, op.shapes[0], dtype, seed, with_gradient)
            found = outcome(compiled, op, op.shapes[0], dtype, seed, with_gradient)
            assert len(found) == len(expected)
            for mine, its in zip(found, expected, strict=True):
                np.testing.assert_array_equal(mine, its, err_msg=f"seed {seed}, {with_gradient=}")
        assert compiled.replayed >= 2


@pytest.mark.parametrize("op", [op for op in OPS if op.name in REFUSED], ids=lambda op: op.name)
def test_an_operation_whose_shape_depends_on_numbers_is_refused(op):
    with pytest.raises(NotRecordable, match=r"numpy\(\) cannot be recorded, at op_table\.py:\d+"):
        outcome(minitorch.compile(op.ours), op, op.shapes[0], float64, 0, False)
