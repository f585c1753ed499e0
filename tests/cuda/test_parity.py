"""Every op of the table on the GPU backend: its values, shape and dtype against NumPy, its gradient against that of SimpleOps."""

from zlib import crc32

import numpy as np
import pytest

import minitorch
from minitorch import Tensor, float32, float64, int64

from ..op_table import OPS, sample, samples, tensor_in

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the simulator uses NumPy, which warns about inf and NaN


def numpy_result(op, arrays):
    """NumPy's result, computed in float64 (masks stay masks)."""
    return np.asarray(op.numpy(*[array if d == "mask" else array.astype(float64) for d, array in zip(op.domains, arrays, strict=True)]))


def choose(options, op, i):
    """A choice that differs between ops and trials, but is always the same for one of them."""
    return options[(crc32(op.name.encode()) + i) % len(options)]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_an_op_equals_numpy_on_the_gpu(op, cuda):
    """Each trial uses one layout and one floating-point dtype."""
    for i, shapes in enumerate(op.shapes):
        layout, dtype = choose(op.layouts, op, i), choose((float64, float64, float32), op, i)
        pairs = [tensor_in(values, layout) for values in samples(op, shapes, [dtype] * len(shapes))]
        out = op.ours(*[x.to(cuda) for x, _ in pairs])
        array = numpy_result(op, [array for _, array in pairs])
        if isinstance(out, Tensor):
            assert out.backend is cuda or "backend" in op.name
            assert out.dtype == op.result(*[minitorch.bool_ if d == "mask" else dtype for d in op.domains])
            out = out.to_numpy()
        tolerance = 1e-5 if dtype == float32 else 1e-12
        np.testing.assert_allclose(np.asarray(out, float64), array.astype(float64), tolerance, tolerance, err_msg=f"{shapes} {layout}")


@pytest.mark.parametrize(
    "op", [op for op in OPS if op.name in ("x + y", "x * y", "-x", "x < y", "x.sum(0, keepdim=True)", "x.relu()")], ids=lambda op: op.name
)
@pytest.mark.parametrize("dtype", [int64, minitorch.int32, minitorch.bool_], ids=lambda dtype: dtype.name)
def test_an_op_accepts_integers_and_bools(op, dtype, cuda):
    shapes = op.shapes[0]
    arrays = samples(op, shapes, [dtype] * len(shapes))
    out = op.ours(*[minitorch.tensor(array).to(cuda) for array in arrays])
    assert out.dtype == op.result(*[dtype] * len(shapes))
    np.testing.assert_array_equal(out.to_numpy(), numpy_result(op, arrays).astype(out.dtype))


@pytest.mark.parametrize("op", [op for op in OPS if op.gradient], ids=lambda op: op.name)
def test_a_gradient_equals_that_of_the_simple_backend(op, cuda):
    """Those of the simple backend are checked against finite differences elsewhere."""
    shapes = op.shapes[0]
    arrays = samples(op, shapes)
    found = []
    for backend in (minitorch.SimpleBackend, cuda):
        leaves = [minitorch.tensor(array, backend=backend, requires_grad=d != "mask") for d, array in zip(op.domains, arrays, strict=True)]
        out = op.ours(*leaves)
        if out.requires_grad and "backend" not in op.name:
            weights = minitorch.tensor(sample("any", out.shape, seed=5), backend=backend)
            (out * weights).sum().backward()
        found.append([leaf.grad.to_numpy() if leaf.grad is not None else None for leaf in leaves])
    for simple, ours in zip(*found, strict=True):
        assert (simple is None) == (ours is None)
        if simple is not None:
            np.testing.assert_allclose(ours, simple, 1e-9, 1e-9)
