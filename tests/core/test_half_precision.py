"""float16, bfloat16, int8, int16 and uint8: kept narrow, computed with as the wide ones are, and rounded once."""

import math
import operator
import sys

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, SimpleBackend, SimpleOps, TensorBackend, bool_, float32, float64, int64, nn, tensor
from minitorch.core import dtypes
from minitorch.core.dtypes import float16, int8, int16, uint8
from tests.errors import raises

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")

bfloat16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [float16, bfloat16]
WHOLE = [int8, int16, uint8]

half_types = pytest.mark.parametrize("half", HALVES, ids=str)
backends = pytest.mark.parametrize("backend", [SimpleBackend, FastBackend], ids=lambda backend: backend.name)


def nearest(x, half):
    """The half nearest to a float64, of two equally near the even one: whole numbers, which Python rounds so, times a power of two."""
    digits, lowest, largest = (11, -14, 65504.0) if half == float16 else (8, -126, 255 * 2.0**120)
    if x == 0 or not math.isfinite(x):
        return x
    unit = max(math.frexp(x)[1] - 1, lowest) - digits + 1
    rounded = math.copysign(math.ldexp(round(math.ldexp(x, -unit)), unit), x)
    return rounded if abs(rounded) <= largest else math.copysign(math.inf, x)


def bits_of(array):
    """What is kept in memory, so that the sign of 0 counts; of NaN only that it is one."""
    return np.where(np.isnan(array), 0x7FFF, array.view(np.uint16))


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(bits_of(found.to_numpy()), bits_of(np.asarray(expected)))


def some(half, count=400, seed=0):
    """Halves of all sizes, the special ones among them."""
    patterns = np.random.default_rng(seed).integers(0, 2**16, count).astype(np.uint16)
    patterns[:8] = 0, 0x8000, 0x7C00, 0xFC00, 1, 0x7BFF, 0x7F80, 0x7FC0
    exponent = 0x7C00 if half == float16 else 0x7F80
    patterns[(patterns & 0x7FFF) > exponent] = 0x7FFF  # a NaN that does not signal
    return patterns.view(half)


# Names


@half_types
def test_a_half_is_given_by_name_as_a_class_and_as_itself(half):
    for given in (half, half.name, half.type, f"{half}"):
        assert dtypes.as_dtype(given) == half
        assert tensor([1.5], dtype=given).dtype is dtypes.as_dtype(half)
    assert minitorch.bfloat16 == bfloat16
    assert minitorch.float16 == np.float16


def test_a_missing_package_and_a_missing_name_are_said(monkeypatch):
    minitorch.core.dtypes.load_bfloat16.cache_clear()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with raises(ImportError, "bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes"):
        minitorch.core.dtypes.load_bfloat16()
    with raises(AttributeError, "module 'minitorch' has no attribute 'bfloat61'"):
        _ = minitorch.bfloat61


# Rounding


@half_types
@pytest.mark.parametrize("source", [float64, float32], ids=str)
def test_a_float_becomes_the_nearest_half(half, source):
    rng = np.random.default_rng(1)
    sizes = np.exp2(rng.uniform(-30, 20, 3000)) if half == float16 else np.exp2(rng.uniform(-140, 128, 3000))
    values = np.concatenate([sizes * rng.choice([-1, 1], 3000), some(half).astype(np.float64)])
    halves = np.arange(0, 0x7B00, 17, np.uint16).view(half).astype(np.float64)
    middles = (halves + np.arange(1, 0x7B01, 17, np.uint16).view(half).astype(np.float64)) / 2
    values = np.concatenate([values, middles, np.nextafter(middles, 0), np.nextafter(middles, math.inf)]).astype(source)
    expected = np.array([nearest(float(x), half) for x in values]).astype(half)
    assert_same(tensor(values).to(half), expected)
    assert_same(tensor(values, dtype=half), expected)


@pytest.mark.parametrize(
    ("half", "given", "kept"),
    [
        # in the middle of two: the even one; and a number that float32 does not tell from the middle
        (float16, 1 + 2**-11, 1.0), (float16, 1 + 3 * 2**-11, 1 + 2**-9), (float16, 1 + 2**-11 + 2**-40, 1 + 2**-10),
        (float16, 65519.99, 65504.0), (float16, 65520.0, math.inf), (float16, -(2**-25), 0.0), (float16, 2**-25 + 2**-60, 2**-24),
        (bfloat16, 1 + 2**-8, 1.0), (bfloat16, 1 + 2**-8 + 2**-40, 1 + 2**-7), (bfloat16, -1 - 2**-8 - 2**-40, -1 - 2**-7),
        (bfloat16, 1 + 2**-8 - 2**-40, 1.0), (bfloat16, 1e39, math.inf), (bfloat16, 1e-60, 0.0), (bfloat16, 2**25 + 1, 2**25),
    ],
)  # fmt: skip
def test_it_is_rounded_once_wherever_a_number_comes_in(half, given, kept):
    assert tensor([given], dtype=half).tolist() == [kept]
    assert tensor(given).to(half).item() == kept
    assert minitorch.full((1,), given, dtype=half).item() == kept
    assert (tensor([0.0], dtype=half) + given).tolist() == [kept]
    x = minitorch.zeros((1,), dtype=half)
    x[0] = given
    assert x.tolist() == [kept]


def test_a_number_that_no_float_can_hold_is_refused_beside_a_half():
    with raises(OverflowError, f"{10**400} is out of range for float16; convert the tensor to int64 or float64 first"):
        tensor([1.0], dtype=float16) + 10**400


# Operations


@backends
@half_types
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv], ids=lambda op: op.__name__)
def test_arithmetic_is_that_of_numpy_and_ml_dtypes_bit_for_bit(op, half, backend):
    a, b = some(half, seed=2), some(half, seed=3)
    with np.errstate(all="ignore"):
        expected = op(a, b)
    assert_same(op(tensor(a, backend), tensor(b, backend)), expected)


@backends
@half_types
@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.eq, operator.ne], ids=lambda op: op.__name__)
def test_comparisons_are_truth_values(op, half, backend):
    a, b = some(half, seed=4), some(half, seed=4)
    b[::2] = some(half, seed=5)[::2]
    found = op(tensor(a, backend), tensor(b, backend))
    assert found.dtype == bool_
    np.testing.assert_array_equal(found.numpy(), op(a.astype(np.float64), b.astype(np.float64)))


@backends
@half_types
@pytest.mark.parametrize(
    ("ours", "exact"),
    [
        pytest.param(lambda x: x.exp(), np.exp, id="exp"), pytest.param(lambda x: x.sqrt(), np.sqrt, id="sqrt"),
        pytest.param(lambda x: x.tanh(), np.tanh, id="tanh"), pytest.param(lambda x: x.relu(), lambda x: np.where(x > 0, x, 0), id="relu"),
        pytest.param(lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), id="sigmoid"), pytest.param(abs, np.abs, id="abs"),
        pytest.param(lambda x: -x, np.negative, id="neg"), pytest.param(lambda x: 1 / x, lambda x: 1 / x, id="reciprocal"),
        pytest.param(lambda x: x**2, np.square, id="square"),
    ],
)  # fmt: skip
def test_functions_are_computed_wide_and_rounded_once(ours, exact, half, backend):
    a = np.linspace(0.1, 9, 200).astype(half)
    expected = np.array([nearest(float(y), half) for y in exact(a.astype(np.float64))])
    found = ours(tensor(a, backend))
    assert found.dtype == half
    np.testing.assert_allclose(found.to_numpy().astype(np.float64), expected, rtol=2.0**-10 if half == float16 else 2.0**-7)
    wrong = found.to_numpy().astype(np.float64) != expected
    assert wrong.sum() <= 2  # where float32's own last bit decides


def test_a_quotient_is_right_where_the_reciprocal_leaves_the_range():
    x = tensor([2.0**-20, 60000.0], dtype=float16)
    assert (x / x).tolist() == [1.0, 1.0]
    assert (x / 60000).tolist() == [0.0, 1.0]
    assert (2.0**-20 / x)[0] == 1.0
    assert (tensor([3.0], dtype=float16) / tensor([7.0], dtype=float32)).tolist() == [float(np.float32(3) / np.float32(7))]


# Sums


@backends
def test_sums_are_added_up_in_float32(backend):
    ones = minitorch.ones((3000,), backend, dtype=float16)
    assert ones.sum().tolist() == [3000.0]  # one after the other float16 stays at 2048
    assert ones.view(50, 60).sum((0, 1)).tolist() == [[3000.0]]
    assert minitorch.ones((3000,), backend, dtype=bfloat16).sum().tolist() == [3008.0]  # the nearest of 8 digits, and even
    assert ones.cumsum(0)[2999] == 3000.0


@backends
@half_types
def test_a_matrix_product_is_added_up_in_float32(half, backend):
    a = tensor(np.ones((2, 3000)), backend, dtype=half)
    b = tensor(np.ones((3000, 3)), backend, dtype=half)
    found = a @ b
    assert (found.dtype, found.tolist()) == (half, [[3000.0 if half == float16 else 3008.0] * 3] * 2)
    assert (a @ b.to(float32)).dtype == float32


@half_types
def test_views_and_joins_and_random_numbers(half):
    x = tensor(np.arange(6).reshape(2, 3), dtype=half)
    assert x.permute(1, 0)[1:].contiguous().tolist() == [[1.0, 4.0], [2.0, 5.0]]
    assert (minitorch.cat([x, x]).dtype, minitorch.cat([x, x.to(float32)]).dtype) == (half, float32)
    assert minitorch.stack([x, x]).sum().tolist() == [30.0]
    assert (x.permute(1, 0) + x[:, :2].contiguous().view(4)[:3].view(3, 1)).dtype == half
    drawn = minitorch.rand((5000,), dtype=half).to(float64)
    assert 0 <= drawn.min().item() < drawn.max().item() < 1
    assert abs(drawn.mean().item() - 0.5) < 0.03
    assert abs(minitorch.randn((2000,), dtype=half).to(float64).mean().item()) < 0.1


# Promotion: as PyTorch


ANY = ["bool", "uint8", "int8", "int16", "int32", "int64"]
PROMOTED = [
    *[("float16", other, "float16") for other in [*ANY, "float16"]],
    *[("bfloat16", other, "bfloat16") for other in [*ANY, "bfloat16"]],
    ("float16", "bfloat16", "float32"),
    *[(half, wide, wide) for half in ("float16", "bfloat16") for wide in ("float32", "float64")],
]


@backends
@pytest.mark.parametrize(("first", "second", "both"), PROMOTED)
def test_halves_are_promoted_as_in_pytorch(first, second, both, backend):
    a, b = tensor([1.0, 2.0], backend).to(first), tensor([1.0, 0.0], backend).to(second)
    for left, right in ((a, b), (b, a)):
        assert (left + right).dtype == both
        assert (left * right).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("parts", "whole"),
    [("float16 int64 bfloat16", "float32"), ("float16 bfloat16 float64", "float64"), ("int64 bfloat16 int8", "bfloat16")],
)
def test_three_are_promoted_together(parts, whole):
    assert dtypes.promote_types(*map(dtypes.as_dtype, parts.split())) == whole


@pytest.mark.parametrize("first", ["float16", "bfloat16"])
@pytest.mark.parametrize("second", [*ANY, "float16", "bfloat16", "float32", "float64"])
def test_promotion_and_values_are_those_of_torch(first, second):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    one, other = [1.5, 300.25, 0.1], [1, 0, 1]
    a, b = tensor(one, dtype=first), tensor(other).to(second)
    c, d = torch.tensor(one, dtype=getattr(torch, first)), torch.tensor(other).to(getattr(torch, second))
    for op in (operator.add, operator.sub, operator.mul):
        if second == "bool" and op is operator.sub:
            continue  # PyTorch has no difference with truth values
        found, expected = op(a, b), op(c, d)
        assert str(expected.dtype) == f"torch.{found.dtype.name}"
        assert found.tolist() == expected.tolist()
    assert str((c * 2.5).dtype) == f"torch.{(a * 2.5).dtype.name}"


@half_types
def test_a_number_takes_the_dtype_of_the_half_beside_it(half):
    x = tensor([1.0, 2.0], dtype=half)
    for number in (2, 2.5, True, np.float64(2.5), np.int64(2)):
        for found in (x + number, number - x, x * number, x / number, number / x, x**number):
            assert found.dtype == half
    assert x.exp().dtype == (x > 1).to(half).dtype == half


# Gradients


@backends
@half_types
def test_a_gradient_has_the_dtype_of_its_tensor(half, backend):
    x = tensor([1.0, 2.0, 3.0], backend, True, half)
    w = tensor([2.0, 0.5, 4.0], backend, True, float32)
    y = (x * w).sum() + (x / w).sum() + (x @ x.detach())
    assert y.dtype == float32
    y.backward()
    assert (x.grad.dtype, w.grad.dtype) == (half, float32)
    assert x.grad.tolist() == [2 + 0.5 + 1, 0.5 + 2 + 2, 4 + 0.25 + 3]
    assert w.grad.tolist() == [1 - 1 / 4, 2 - 2 / 0.25, 3 - 3 / 16]


@backends
def test_gradients_of_what_is_repeated_are_added_up_in_float32(backend):
    bias = minitorch.ones((2,), backend, True, float16)
    (minitorch.zeros((3000, 2), backend, dtype=float16) + bias).sum().backward()
    assert bias.grad.tolist() == [3000.0, 3000.0]
    shared = minitorch.ones((1, 1), backend, True, float16)
    (tensor([[60000.0, -60000.0], [60000.0, -60000.0]], backend, dtype=float16) * shared).sum().backward()
    assert shared.grad.tolist() == [[0.0]]  # the sum of a column is beyond float16
    table = minitorch.ones((2, 1), backend, True, float16)
    table[[0] * 3000].sum().backward()
    assert table.grad.tolist() == [[3000.0], [0.0]]
    table.zero_grad_()
    nn.embedding(tensor([0] * 3000, backend, dtype=int64), table).sum().backward()
    assert (table.grad.dtype, table.grad.tolist()) == (float16, [[3000.0], [0.0]])


@half_types
def test_functions_have_the_gradients_of_float32_rounded(half):
    for f in (
        lambda x: x.exp() + x.sigmoid() * x,
        lambda x: (x + 2).log() + x.sqrt(),
        lambda x: x.tanh() / (1 + x * x),
        lambda x: x.max(0) + x.var() + x.cumsum(0).mean(),
        lambda x: nn.softmax(x.view(1, 3), 1) @ x.view(3, 1),
        lambda x: 3.0 / x - x**3,
    ):
        gradients = []
        for dtype in (half, float64):
            x = tensor([0.5, 1.25, 2.0], requires_grad=True, dtype=dtype)
            f(x).sum().backward()
            gradients.append(x.grad.to(float64).to_numpy())
        np.testing.assert_allclose(gradients[0], gradients[1], rtol=2.0**-7 if half == float16 else 2.0**-4, atol=2.0**-8)


# Kernels


def looked(operation):
    """The operation, which fails if it is given halves."""

    def look(*args):
        for arg in args:
            assert not (hasattr(arg, "dtype") and dtypes.is_half(arg.dtype)), "a kernel was given half precision"
        return operation(*args)

    return look


class Watched(SimpleOps):
    """Operations that look at what they are given."""

    name = "watched"
    map = staticmethod(lambda fn: looked(SimpleOps.map(fn)))
    zip = staticmethod(lambda fn: looked(SimpleOps.zip(fn)))
    reduce = staticmethod(lambda fn, start=0.0: looked(SimpleOps.reduce(fn, start)))
    matrix_multiply = staticmethod(looked(SimpleOps.matrix_multiply))


@half_types
def test_no_kernel_of_a_backend_is_given_a_half(half):
    x = tensor([[0.5, -1.0], [2.0, 3.0]], TensorBackend(Watched), True, half)
    out = minitorch.cat([x.relu() @ x, x.exp() / x, (x - x.mean()).permute(1, 0)], 1)
    out = out.max(1) + x[[0, 1]].sum(0) + minitorch.where(x > 0, x, -x).prod(1) + x.clip(0, 1).contiguous().to(float32)[0, 0]
    out.sum().backward()
    assert x.grad.dtype == half
