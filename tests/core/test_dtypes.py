"""Kinds of numbers: which an operation answers with, by NumPy's rules; Python's numbers take the tensor's."""

import itertools
import math
import pickle

import numpy as np
import pytest

import minitorch
from minitorch import bool_, float32, float64, from_numpy, int32, int64, tensor
from minitorch.core import dtypes
from tests.errors import raises

ALL = [float64, float32, int64, int32, bool_]
NAMES = "float64, float32, int64, int32, bool, float16, bfloat16, int16, int8, uint8"


@pytest.fixture
def default_float32():
    minitorch.set_default_dtype(float32)
    yield
    minitorch.set_default_dtype(float64)


def name_of(dtype):
    return dtype.name


# Names


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (np.float32, float32), ("float32", float32), (np.dtype("float32"), float32), (float, float64), (int, int64), (bool, bool_),
        ("int32", int32), (None, float64),
    ],
)  # fmt: skip
def test_a_dtype_is_given_as_itself_as_a_class_or_by_name(given, found):
    assert dtypes.as_dtype(given) == found
    assert tensor([0, 1], dtype=given).dtype == found


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("uint16", "'uint16'"), (np.uint64, "'uint64'"), (np.dtype(">f2"), "'>f2'"), (complex, "'complex128'"), (np.dtype(">f8"), "'>f8'"),
        ("number", "'number'"), ("", "''"), (3, "3"), ({"a": 1}, "{'a': 1}"), (str, "'<U0'"),
        ({"names": ["a"], "formats": []}, "{'names': ['a'], 'formats': []}"),
    ],
)  # fmt: skip
def test_another_dtype_is_refused(given, shown):
    ways = [dtypes.as_dtype, lambda dtype: tensor([1.0], dtype=dtype), lambda dtype: minitorch.zeros((2,), dtype=dtype), tensor([1.0]).to]
    for way in ways:
        with raises(TypeError, f"expected a dtype of {NAMES}, got {shown}; convert the values to one of these first"):
            way(given)


# What tensors are made of


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], float64), ([1.5], float64), (3, float64), ([], float64), ([[]], float64), ([True, False], bool_), (True, bool_),
        ([True, 2], float64), ([np.float32(1.5)], float64), (np.float32(1.5), float32), (np.array([1, 2]), int64),
        (np.array([1, 2], np.int32), int32), (np.array([1.5], np.float32), float32), (np.array([True]), bool_),
        (np.zeros(0, np.int32), int32), (np.zeros((0, 2), bool), bool_),
    ],
)  # fmt: skip
def test_numbers_become_floats_truth_values_bool_and_arrays_stay_what_they_are(values, dtype):
    assert tensor(values).dtype == dtype
    np.testing.assert_array_equal(tensor(values).to_numpy(), np.asarray(values))


def test_a_tensor_made_from_a_tensor_keeps_its_dtype():
    assert tensor(tensor([1, 2], dtype=int32)).dtype == int32


def test_whole_numbers_are_kept_exactly():
    large = [2**62 + 1, -(2**63), 2**63 - 1]
    assert tensor(large, dtype=int64).tolist() == large


LIMITS = {int64: "from -9223372036854775808 to 9223372036854775807 for int64", int32: "from -2147483648 to 2147483647 for int32"}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1.5], int64), ([math.nan], int64), ([math.inf], int32), ([2**31], int32), ([-(2**31) - 1], int32), ([2.0**63], int64)],
)
def test_numbers_that_an_integer_dtype_cannot_hold_are_refused(values, dtype):
    with raises(ValueError, f"tensor expected whole numbers {LIMITS[dtype]}, got {values}"):
        tensor(values, dtype=dtype)


def test_the_limits_of_int32_fit_and_a_number_too_large_for_float32_is_infinite():
    assert tensor([2**31 - 1, -(2**31)], dtype=int32).tolist() == [2147483647, -2147483648]
    assert tensor([2.0, -3.0], dtype=int64).tolist() == [2, -3]
    assert tensor([1e300, -1e300], dtype=float32).tolist() == [math.inf, -math.inf]
    assert tensor([0, 2, -1.5], dtype=bool).tolist() == [False, True, True]


# Promotion; of two tensors, and of tensors and numbers, see test_ops


@pytest.mark.parametrize("dtype", [float64, float32], ids=name_of)
@pytest.mark.parametrize("number", [2, 2.5, True, np.float64(2.5), np.int64(2), np.bool_(True)])
def test_a_number_takes_the_floats_of_the_tensor_beside_it(dtype, number):
    x = tensor([1.0, 2.0], dtype=dtype)
    for found in (x + number, number + x, x - number, number - x, x * number, number * x, x / number, number / x, x**number):
        assert found.dtype == dtype
    assert (x + number).tolist() == [1.0 + number, 2.0 + number]


def test_true_counts_as_a_whole_number_beside_whole_numbers_only():
    for dtype in (int64, int32, bool_):
        assert (tensor([1, 1], dtype=dtype) * True).dtype == dtype
        assert (tensor([1, 1], dtype=dtype) ** 0.5).dtype == float64


def test_a_whole_number_too_large_for_the_dtype_is_refused():
    with raises(OverflowError, "1099511627776 is out of range for int32; convert the tensor to int64 or float64 first"):
        tensor([1], dtype=int32) + 2**40
    with pytest.raises(OverflowError, match=r"is out of range for int64"):
        tensor([1], dtype=int64) + 2**70


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda: tensor([2**63 - 1], dtype=int64) + 1, "int64"), (lambda: tensor([2**20], dtype=int32) * 2**20, "int32"),
        (lambda: tensor([2**40, 2**40], dtype=int64).prod(), "int64"), (lambda: tensor([7], dtype=int64) ** 40, "int64"),
        (lambda: tensor([3], dtype=int64) ** 10**9, "int64"),
    ],
)  # fmt: skip
def test_a_whole_number_that_leaves_its_dtype_is_no_silent_wrong_number(compute, dtype):
    with raises(OverflowError, f"a result is out of range for {dtype}; convert to int64 or float64 first"):
        compute()


def test_float32_is_computed_in_float32():
    x = tensor([1.0, 16777216.0], dtype=float32)
    assert (x + 1).tolist() == [2.0, 16777216.0]  # 2^24 + 1 is no float32
    assert (tensor([1.0], dtype=float32) / 3).tolist() == [float(np.float32(1) * (np.float32(1) / np.float32(3)))]


def test_three_dtypes_are_promoted_together():
    for three in itertools.product(ALL, repeat=3):
        assert dtypes.promote_types(*three) == np.result_type(*three), three


# Conversion


@pytest.mark.parametrize("target", ALL, ids=name_of)
@pytest.mark.parametrize("source", ALL, ids=name_of)
def test_to_converts_as_numpy_does(source, target):
    array = np.array([0, 1, 2, -3]).astype(source)
    x = from_numpy(array)
    found = x.to(target)
    assert found.dtype == target
    np.testing.assert_array_equal(found.to_numpy(), array.astype(target))
    assert (found is x) == (source == target)
    assert np.shares_memory(found.to_numpy(), array) is False


def test_a_gradient_flows_through_to_and_keeps_the_dtype_of_the_leaf():
    x = tensor([1.0, 2.0], dtype=float32, requires_grad=True)
    (x.to(float64) * tensor([3.0, 4.0])).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (float32, [3.0, 4.0])


# The default


def test_the_default_dtype_is_that_of_numbers(default_float32):
    assert minitorch.get_default_dtype() == float32
    integers, data = tensor([1, 2], dtype=int64), minitorch.TensorData([1.0, 2.0], (2,))
    for x in (tensor([1, 2.5]), tensor([]), minitorch.zeros((2,)), minitorch.rand((2,)), integers.exp(), data):
        assert x.dtype == float32
    assert (integers + 0.5).dtype == float64  # int64 and float32 together, by NumPy's rule


def test_the_default_dtype_changes_no_array_and_no_float64(default_float32):
    assert (tensor(np.zeros(2)).dtype, (tensor(np.zeros(2)) + 1.5).dtype, tensor([True]).dtype) == (float64, float64, bool_)


def test_the_default_dtype_is_float64_and_can_only_be_a_float():
    assert minitorch.get_default_dtype() == float64
    for wrong in (int64, int32, bool_):
        with raises(TypeError, f"set_default_dtype expected float64 or float32, got {wrong.name}"):
            minitorch.set_default_dtype(wrong)
    assert minitorch.get_default_dtype() == float64
    minitorch.set_default_dtype(None)
    assert minitorch.get_default_dtype() == float64


@pytest.mark.parametrize("dtype", [np.longlong, np.dtype("longlong"), pickle.loads(pickle.dumps(np.dtype(np.float32)))])
def test_an_equal_dtype_becomes_the_one_that_is_compared_with(dtype):
    assert any(minitorch.core.dtypes.as_dtype(dtype) is known for known in minitorch.core.dtypes.DTYPES)
    assert any(minitorch.tensor(np.zeros(1, dtype)).dtype is known for known in minitorch.core.dtypes.DTYPES)
