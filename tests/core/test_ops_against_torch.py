"""The table of ops against PyTorch, a second oracle for values and gradients, where that is installed (requirements.torch.txt)."""

import numpy as np
import pytest

from minitorch import Tensor, TensorData, float32, float64, int64, tensor
from tests.core.test_ops import weights_for
from tests.op_table import OPS, in_layout, layout_of, samples

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

pytestmark = pytest.mark.filterwarnings(r"ignore:(var|std)\(\). degrees of freedom")  # of one element: NaN, as ours

KNOWN = [op for op in OPS if op.torch is not None]


def name(op):
    return op.name


def pair(values, layout):
    """The same values in the same layout, over a storage each, as our tensor and as PyTorch's."""
    base, view = in_layout(values, layout)
    shape, strides, offset = layout_of(base, view)
    theirs = torch.from_numpy(base.copy()).as_strided(shape, strides, offset)
    return Tensor(TensorData(base, shape, strides, offset)), theirs


def assert_agree(ours, theirs, tolerance, said):
    """Fail unless both have the same shape and values."""
    array = theirs.detach().numpy() if isinstance(theirs, torch.Tensor) else np.asarray(theirs)
    values = ours.to_numpy() if isinstance(ours, Tensor) else np.asarray(ours)
    assert values.shape == array.shape, f"{said}: PyTorch's has shape {array.shape}, ours {values.shape}"
    np.testing.assert_allclose(values.astype(float64), array.astype(float64), rtol=tolerance, atol=tolerance, err_msg=said)


def trials(op, dtype=float64):
    """For every layout and shape of a row: our operands, PyTorch's, and what to call the trial."""
    for layout in op.layouts:
        for shapes in op.shapes:
            pairs = [pair(values, layout) for values in samples(op, shapes, [dtype] * len(shapes))]
            ours, theirs = zip(*pairs, strict=True)
            yield ours, theirs, f"{op.name} of {list(shapes)}, {layout}"


@pytest.mark.parametrize("dtype", [float64, float32, int64], ids=str)
@pytest.mark.parametrize("op", KNOWN, ids=name)
def test_values_are_pytorchs(op, dtype):
    for ours, theirs, said in trials(op, dtype):
        if dtype == int64 and op.name.startswith(("x.mean", "x.var", "x.std")):
            theirs = [x.to(torch.float64) for x in theirs]  # PyTorch has no mean of whole numbers
        assert_agree(op.ours(*ours), op.torch(*theirs), 1e-12 if dtype == float64 else 1e-5, said)


@pytest.mark.parametrize("op", [op for op in KNOWN if op.gradient], ids=name)
def test_gradients_are_pytorchs(op):
    for ours, theirs, said in trials(op):
        if op.distinct and said.endswith("expanded"):
            continue  # PyTorch shares the gradient among equal elements, we give it to the first
        leaves = [(x.requires_grad_(), y.detach().requires_grad_()) for x, y in zip(ours, theirs, strict=True) if x.dtype == float64]
        others = iter(y for _, y in leaves)
        out = op.ours(*ours)
        answer = op.torch(*[next(others) if y.dtype == torch.float64 else y for y in theirs])
        if not isinstance(out, Tensor):
            continue
        weights = weights_for(out.shape)
        out.backward(tensor(weights))
        if answer.requires_grad:
            answer.backward(torch.from_numpy(weights))
        for x, y in leaves:
            zeros = torch.zeros(x.shape)  # where PyTorch sees no gradient, ours is zero: comparisons
            assert_agree(x.grad, zeros if y.grad is None else y.grad, 1e-10, said)
