"""Narrow numbers and the rest: printing, NumPy, DLPack, pickles, indices, networks, the GPU; whole numbers of 8 and 16 bits."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, from_dlpack, from_numpy, tensor
from minitorch.core.dtypes import float16, int8, int16, uint8
from tests.core.test_half_precision import WHOLE, bfloat16, half_types
from tests.errors import raises

ALL = [np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")]

narrow_types = pytest.mark.parametrize("dtype", [float16, bfloat16, *WHOLE], ids=str)


# Printing and numbers


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([0.1, -2.5, 65504.0], float16, "[ 1.00e-01, -2.50e+00,  6.55e+04]"), ([0.1, -2.5], float16, "[ 0.1, -2.5]"),
        ([0.1, -2.5, 3.0], bfloat16, "[ 0.1, -2.5,  3. ]"), ([1 / 3, math.nan, -math.inf], bfloat16, "[0.334,   nan,  -inf]"),
        ([1.0, 2.0, 258.0], bfloat16, "[  1.,   2., 258.]"), (1e-40, bfloat16, "9.e-41"), ([], bfloat16, "[]"),
        ([1, -20], int8, "[  1, -20]"), ([[200, 7]], uint8, "[[200,   7]]"),
    ],
)  # fmt: skip
def test_they_are_printed_with_the_digits_that_tell_them_apart(values, dtype, text):
    x = tensor(values, dtype=dtype)
    assert str(x) == text
    assert repr(x).startswith(f"tensor({text}, ")
    assert f"dtype={dtype.name}" in repr(x)


def test_what_is_printed_of_bfloat16_leads_back_to_it():
    patterns = np.concatenate([np.arange(1, 0x7F80, 37), np.arange(0x3F80, 0x4080)]).astype(np.uint16)
    numbers = patterns.view(bfloat16)
    for number, text in zip(numbers, minitorch.core.dtypes.printable(numbers), strict=True):
        assert np.float64(f"{text:.4g}").astype(np.float32).astype(bfloat16) == number


@narrow_types
def test_elements_are_python_numbers(dtype):
    x = tensor([[1, 2], [3, 4]], dtype=dtype)
    kind = int if dtype in WHOLE else float
    assert (type(x[0, 1]), x[0, 1]) == (kind, 2)
    assert (type(x[1, 1:].item()), x.tolist()) == (kind, [[1, 2], [3, 4]])
    assert [type(number) for number in x.tolist()[0]] == [kind, kind]
    assert (float(x[0, :1]), int(x[0, :1]), bool(x[0, :1])) == (1.0, 1, True)


def test_each_dtype_has_a_method():
    x = tensor([1.75, -2.0])
    methods = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64", "long": "int64", "int": "int32"}
    for name, dtype in (methods | {"bool": "bool"}).items():
        assert getattr(x, name)().dtype == dtype
    assert (x.half().tolist(), x.int().tolist(), x.bool().tolist()) == ([1.75, -2.0], [1, -2], [True, True])
    assert x.double() is x
    assert x.half().half().dtype == float16


@pytest.mark.parametrize("number", [128.0, math.nan, -129.5])
@half_types
def test_a_half_that_whole_numbers_cannot_hold_is_refused(number, half):
    kept = tensor(number, dtype=half).item()
    with raises(ValueError, f"int8 represents numbers from -128 to 127, got {kept}; clip or replace it first"):
        tensor([1.0, number], dtype=half).to(int8)
    assert tensor([127.5, -128.0], dtype=float16).to(int8).tolist() == [127, -128]


# NumPy, pickles, DLPack


@narrow_types
def test_numpy_shares_the_storage(dtype):
    x = tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    array = x.permute(1, 0).numpy()
    assert (array.dtype, array.strides) == (dtype, (dtype.itemsize, 3 * dtype.itemsize))
    array[2, 1] = 7
    assert x[1, 2] == 7
    again = from_numpy(array)
    assert (again.dtype, again.stride()) == (dtype, (1, 3))
    assert again[2, 1] == 7
    assert np.asarray(x, np.float64).tolist() == [[1, 2, 3], [4, 5, 7]]
    assert tensor(array).dtype == dtype


@narrow_types
def test_pickles_and_copies_are_the_same_again(dtype):
    x = tensor([[1, 2], [3, 4]], FastBackend, dtype=dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.dtype is x.dtype
        assert (y.tolist(), y.backend) == (x.tolist(), FastBackend)
    if dtype not in WHOLE:
        leaf = tensor([1.0, 2.0], requires_grad=True, dtype=dtype)
        (leaf * leaf).sum().backward()
        assert pickle.loads(pickle.dumps(leaf)).grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("dtype", [float16, *WHOLE], ids=str)
def test_dlpack_carries_them_to_numpy_and_back(dtype):
    x = tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    array = np.from_dlpack(x[:, 1:])
    assert (array.dtype, array.tolist()) == (dtype, [[2, 3], [5, 6]])
    assert np.shares_memory(array, x.numpy())
    assert from_dlpack(array).dtype == dtype


class Lender:
    """Another library's tensor."""

    def __init__(self, x, dtype="bfloat16"):
        self.dtype, self.__dlpack_device__ = dtype, x.__dlpack_device__
        self.__dlpack__ = x.__dlpack__


def test_bfloat16_goes_through_dlpack_without_a_copy():
    x = tensor([[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=bfloat16)
    for view in (x, x.permute(1, 0), x[1:, ::2], x[:1].expand(2, 3), x[0, 0:1].view(()), x[1:1]):
        y = from_dlpack(Lender(view))
        assert (y.dtype, y.shape, y.tolist()) == (bfloat16, view.shape, view.tolist())
        assert not y.size or np.shares_memory(y.numpy(), x.numpy())
    y = from_dlpack(Lender(x))
    x[0, 0] = -1.0
    assert y[0, 0] == -1.0
    with raises(BufferError, "a tensor that records gradients cannot be exported; export x.detach()"):
        x.requires_grad_().__dlpack__()
    with raises(BufferError, "from_dlpack expected bfloat16, got code 2 of 32 bits and 1 lanes"):
        from_dlpack(Lender(np.zeros(2, np.float32)))


@narrow_types
def test_torch_reads_and_writes_the_same_memory(dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    x = tensor([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    theirs = torch.from_dlpack(x.permute(1, 0))
    assert (str(theirs.dtype), theirs.tolist()) == (f"torch.{dtype.name}", [[1, 4], [2, 5], [3, 6]])
    theirs[0, 1] = 9
    assert x[1, 0] == 9
    ours = from_dlpack(torch.tensor([[1, 2], [3, 4]], dtype=getattr(torch, dtype.name)).t())
    assert (ours.dtype, ours.tolist()) == (dtype, [[1, 3], [2, 4]])


# Indices and assignment


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_narrow_whole_numbers_are_indices(dtype):
    x = tensor([10.0, 20.0, 30.0])
    assert x[tensor([2, 0], dtype=dtype)].tolist() == [30.0, 10.0]
    assert x[tensor(1, dtype=dtype)] == 20.0
    assert [10, 20, 30][tensor(2, dtype=dtype)] == 30


def test_assignment_takes_what_fits():
    x = tensor([1, 2], dtype=uint8)
    x[0] = 255
    x[1:] = tensor([7], dtype="int64")
    assert x.tolist() == [255, 7]
    y = tensor([0.0, 0.0, 0.0], dtype=bfloat16)
    y[0], y[1:2], y[2] = 1 + 2**-8 + 2**-40, tensor([3.0], dtype=float16), 7
    assert y.tolist() == [1 + 2**-7, 3.0, 7.0]


LIMITS, CONVERT = "assignment expected whole numbers from 0 to 255 for uint8, got", "; convert the value, x.to(uint8), or the tensor"


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, 256, ValueError, f"{LIMITS} 256"),
        (slice(1), tensor([-1], dtype=int8), ValueError, f"{LIMITS} [-1]"),
        (0, 1.5, TypeError, f"a tensor of uint8 cannot represent float64{CONVERT}"),
        (slice(1), tensor([1.0], dtype=bfloat16), TypeError, f"a tensor of uint8 cannot represent bfloat16{CONVERT}"),
    ],
)
def test_assignment_refuses_what_does_not_fit(index, value, error, message):
    with raises(error, message):
        tensor([1, 2], dtype=uint8)[index] = value


# Whole numbers of 8 and 16 bits


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv], ids=lambda op: op.__name__)
@pytest.mark.parametrize("second", ALL, ids=str)
@pytest.mark.parametrize("first", WHOLE, ids=str)
def test_they_are_promoted_as_numpy_promotes_them(op, first, second):
    a, b = np.array([4, 3], first), np.array([2, 1], second)
    for left, right in ((a, b), (b, a)):
        found, expected = op(tensor(left), tensor(right)), op(left, right)
        if op is not operator.truediv:  # NumPy divides whole numbers of 8 bits in float16
            assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-3)


BYTES = tensor([200, 3], dtype=uint8)


@pytest.mark.parametrize(
    ("found", "dtype", "values"),
    [
        (1 - BYTES.to(int16), "int16", [-199, -2]), (tensor([1, 1], dtype=int8) - BYTES, "int16", [-199, -2]),
        (BYTES - tensor([201, 1], dtype=int16), "int16", [-1, 2]), (2.5 - BYTES, "float64", [-197.5, -0.5]),
        (BYTES - 2.5, "float64", [197.5, 0.5]), (tensor([0.5, 0.5], dtype=float16) - BYTES, "float16", [-199.5, -2.5]),
        (5 - BYTES, "uint8", [61, 2]),
    ],
)  # fmt: skip
def test_differences_with_unsigned_numbers_are_negative_where_the_dtype_can_be(found, dtype, values):
    assert (found.dtype, found.tolist()) == (dtype, values)


def test_sums_and_means_of_them_are_wide():
    pixels, few = tensor(np.full((1000,), 255), dtype=uint8), tensor([3, 250, 7], dtype=uint8)
    assert (pixels.sum().dtype, pixels.sum().tolist()) == ("int64", [255000])
    assert (pixels.mean().dtype, pixels.mean().tolist()) == ("float64", [255.0])
    assert ((pixels / 255).dtype, (pixels[:1] / 255).tolist()) == ("float64", [1.0])
    assert tensor([100, 100], dtype=int8).cumsum(0).tolist() == [100, 200]
    assert (few.max().tolist(), few.argmin().tolist(), few.clip(5).tolist()) == ([250], [0], [5, 250, 7])


@pytest.mark.parametrize("dtype", [int8, int16], ids=str)
def test_signed_numbers_that_leave_their_range_are_refused_one_at_a_time_and_wrap_in_compiled_loops(dtype):
    most = np.iinfo(dtype).max
    with raises(OverflowError, f"a result is out of range for {dtype.name}; convert to int64 or float64 first"):
        tensor([most], dtype=dtype) + tensor([1], dtype=dtype)
    assert (tensor([most], FastBackend, dtype=dtype) + tensor([1], FastBackend, dtype=dtype)).tolist() == [-most - 1]
    with raises(OverflowError, f"{most + 1} is out of range for {dtype.name}; convert the tensor to int64 or float64 first"):
        tensor([1], dtype=dtype) + (most + 1)


@pytest.mark.parametrize(("dtype", "limits"), [(int8, "from -128 to 127"), (int16, "from -32768 to 32767"), (uint8, "from 0 to 255")])
def test_numbers_that_they_cannot_hold_are_refused(dtype, limits):
    for wrong in ([1.5], [70000], [-70000], [math.nan]):
        with raises(ValueError, f"tensor expected whole numbers {limits} for {dtype.name}, got {wrong}"):
            tensor(wrong, dtype=dtype)


@pytest.mark.parametrize("wrong", [256.0, -1.0, math.nan])
def test_a_float_that_uint8_cannot_hold_is_no_silent_wrong_number(wrong):
    with raises(ValueError, f"uint8 represents numbers from 0 to 255, got {wrong}; clip or replace it first"):
        tensor([1.0, wrong]).to(uint8)
    assert tensor([255.9, 0.0]).to(uint8).tolist() == [255, 0]


# Networks


def test_dropout_of_halves_keeps_their_dtype():
    out = minitorch.dropout(minitorch.ones((200,), dtype=float16), 0.5)
    assert out.dtype == float16
    assert set(out.tolist()) == {0.0, 1.0}  # the course's does not scale


# The GPU


@half_types
def test_the_gpu_takes_no_halves(half):
    from minitorch.kernels.cuda.storage import DeviceStorage

    message = f"the GPU's operations compute with float64 and float32, got {half.name}; convert the tensor first: x.float()"
    with raises(TypeError, message):
        DeviceStorage(2, half)
