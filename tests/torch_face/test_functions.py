"""Functions of minitorch.torch against PyTorch's: value, dtype, shape and gradient, for layouts and dtypes."""

import zlib

import numpy as np
import pytest

import minitorch.torch as ours
from tests.torch_face.table import ROWS, is_before_2_14

torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")

LAYOUTS = ("contiguous", "transposed", "sliced", "no dimensions", "empty")
DTYPES = {"f": ("float32", "float64"), "i": ("int64",), "b": ("bool",)}
CASES = [(row, dtype) for row in ROWS for kind in row.dtypes for dtype in DTYPES[kind]]


def arrays(row, layout, dtype):
    """The numbers of a row's tensors, before their layout is made."""
    random = np.random.default_rng(zlib.crc32(f"{row.name} {layout} {dtype}".encode()))
    shape = {"no dimensions": (), "empty": (0, 3), "sliced": (6, 6)}.get(layout, (3, 3))
    low, high = row.domain
    for _ in range(row.tensors):
        if dtype == "bool":
            yield random.random(shape) < 0.5
        elif dtype == "int64":
            yield random.integers(int(np.ceil(low)), int(high) + 1, shape)
        else:
            yield random.permutation(np.linspace(low, high, int(np.prod(shape)) + 2)[1:-1]).reshape(shape).astype(dtype)


def placed(lib, values, layout):
    """Numbers as a tensor of a library, in a layout."""
    x = lib.tensor(values)
    return x.T if layout == "transposed" else x[1::2, ::2] if layout == "sliced" else x


def parts(result):
    """The tensors of a result."""
    return list(result) if isinstance(result, tuple) else [result]


def layouts_of(row):
    """The layouts that make sense for a row."""
    return [each for each in LAYOUTS if (each != "no dimensions" or not row.least) and (each != "empty" or row.empty)]


def assert_equal(got, wanted, said, factor=1):
    """Fail unless values, shape and dtype are PyTorch's; float32 to 1e-5, others to 1e-10."""
    tolerance = factor * (1e-5 if got.dtype == ours.float32 else 1e-10)
    assert str(got.dtype) == str(wanted.dtype).removeprefix("torch."), said
    assert tuple(got.shape) == tuple(wanted.shape), said
    np.testing.assert_allclose(got.detach().numpy(), wanted.detach().numpy(), tolerance, tolerance, err_msg=said)


@pytest.mark.filterwarnings("ignore:(var|std)\\(\\). degrees of freedom", "ignore:The use of `x.T`")
@pytest.mark.parametrize(("row", "dtype"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_function_is_pytorchs(row, dtype):
    for layout in layouts_of(row):
        given = list(arrays(row, layout, dtype))
        mine, theirs = ([placed(lib, values, layout) for values in given] for lib in (ours, torch))
        leaves = row.gradient and dtype.startswith("float") and not (row.name.startswith("clamp") and is_before_2_14(torch))
        if leaves:
            mine, theirs = ([x.detach().clone().requires_grad_() for x in each] for each in (mine, theirs))
        got, wanted = parts(row.call(ours, *mine)), parts(row.call(torch, *theirs))
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert_equal(a, b, f"{row.name}, {layout}")
        if leaves and wanted and wanted[0].requires_grad:
            weights = np.random.default_rng(1).standard_normal(tuple(wanted[0].shape))
            (got[0] * ours.tensor(weights)).sum().backward()
            (wanted[0] * torch.tensor(weights)).sum().backward()
            for a, b in zip(mine, theirs, strict=True):
                if b.grad is not None:
                    assert_equal(a.grad, b.grad, f"gradient of {row.name}, {layout}", 10)


def test_promotion_is_pytorchs():
    values = {name: np.ones((2,), name) for name in ("bool", "int32", "int64", "float32", "float64")}
    for first in values.values():
        for second in values.values():
            for shape in ((2,), ()):
                pairs = [(lib.tensor(first), lib.tensor(second.reshape(-1)[0] if shape == () else second)) for lib in (ours, torch)]
                got, wanted = (a * b for a, b in pairs)
                assert str(got.dtype) == str(wanted.dtype).removeprefix("torch."), (first.dtype, second.dtype, shape)
        for number in (True, 2, 2.5):
            got, wanted = (lib.tensor(first) * number for lib in (ours, torch))
            assert str(got.dtype) == str(wanted.dtype).removeprefix("torch."), (first.dtype, number)


SIGNED = [0.0, -0.0, 1.0, -1.0, 0.3, -0.3, -2.5, np.inf, -np.inf]


ONE = "neg signbit sin tan atan sinh tanh asinh sqrt reciprocal abs sign floor ceil round trunc frac nan_to_num"


@pytest.mark.parametrize("name", ONE.split())
def test_signs_of_zeros_of_one_tensor_are_pytorchs(name):
    got, wanted = (getattr(lib, name)(lib.tensor(SIGNED)).numpy() for lib in (ours, torch))
    np.testing.assert_allclose(got, wanted, 1e-6)
    zeros = wanted == 0
    assert np.array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("name", ["copysign", "atan2", "mul", "div", "add", "sub", "nextafter", "fmod", "remainder"])
def test_signs_of_zeros_of_two_tensors_are_pytorchs(name):
    first, second = (each.reshape(-1) for each in np.meshgrid(SIGNED, SIGNED))
    got, wanted = (getattr(lib, name)(lib.tensor(first), lib.tensor(second)).numpy() for lib in (ours, torch))
    np.testing.assert_allclose(got, wanted, 1e-12)
    zeros = wanted == 0
    assert zeros.any()
    assert np.array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]))
