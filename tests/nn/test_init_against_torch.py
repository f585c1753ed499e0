"""Weight initialization against PyTorch's: spread and bounds of random weights, and the values of the others."""

import numpy as np
import pytest

import minitorch
from minitorch import manual_seed

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")


def products(x):
    """The scalar products of the rows of a matrix."""
    return x @ x.transpose(0, 1)


DRAWS = [
    ("nn.init.uniform_", (-2.0, 3.0)),
    ("nn.init.normal_", (1.0, 2.0)),
    ("nn.init.xavier_uniform_", (2.0,)),
    ("nn.init.xavier_normal_", ()),
    ("nn.init.kaiming_uniform_", ()),
    ("nn.init.kaiming_uniform_", (0.5, "fan_out")),
    ("nn.init.kaiming_normal_", (0.0, "fan_out", "relu")),
    ("nn.init.kaiming_normal_", (0.0, "fan_in", "tanh")),
    ("nn.init.trunc_normal_", ()),
    ("nn.init.trunc_normal_", (1.0, 2.0, -0.5, 4.0)),
]
FILLS = [("nn.init.constant_", (0.3,)), ("nn.init.zeros_", ()), ("nn.init.ones_", ())]
PATTERNS = [
    ("nn.init.eye_", lambda lib: lib.nn.init.eye_(lib.ones((3, 5)))),
    ("nn.init.dirac_", lambda lib: lib.nn.init.dirac_(lib.ones((3, 5, 4)))),
    ("nn.init.dirac_", lambda lib: lib.nn.init.dirac_(lib.ones((6, 2, 3, 4)), 2)),
    ("nn.init.orthogonal_", lambda lib: products(lib.nn.init.orthogonal_(lib.zeros((3, 2, 4)), 0.5).reshape(3, 8))),
    ("nn.init.orthogonal_", lambda lib: products(lib.nn.init.orthogonal_(lib.zeros((7, 4))).transpose(0, 1))),
]
"""Rows: a name, and a function of a library; the results of both libraries are compared."""


@pytest.mark.parametrize(("name", "args"), DRAWS + FILLS)
def test_random_and_constant_weights_agree_with_pytorch(name, args):
    manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = minitorch.zeros((60, 20, 3)), torch.zeros((60, 20, 3))
    last = name.split(".")[-1]
    getattr(minitorch.nn.init, last)(ours, *args), getattr(torch.nn.init, last)(theirs, *args)
    a, b = ours.to_numpy(), theirs.numpy()
    for measure in (np.mean, np.std):
        assert measure(a) == pytest.approx(measure(b), rel=0.05, abs=0.05 * b.std())
    assert abs(a).max() == pytest.approx(abs(b).max(), rel=0.01 if "normal" not in name else 0.3)


@pytest.mark.parametrize("use", [pytest.param(row[1], id=row[0]) for row in PATTERNS])
def test_patterns_agree_with_pytorch(use):
    np.testing.assert_allclose(use(minitorch).to_numpy(), use(torch).numpy(), rtol=1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def double():
    """PyTorch with our default dtype."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
