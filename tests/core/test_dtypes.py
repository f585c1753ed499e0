"""Kinds of numbers: which an operation answers with, by NumPy's rules; Python's numbers take the tensor's."""

import operator
import pickle

import numpy as np
import pytest

import minitorch
from minitorch import bool_, float32, float64, from_numpy, int32, int64, tensor
from minitorch.core import dtypes
from tests.errors import raises

ALL = [float64, float32, int64, int32, bool_]
NUMBERS = ALL[:4]
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
        (np.float32, float32),
        ("float32", float32),
        (np.dtype("float32"), float32),
        (float, float64),
        (int, int64),
        (bool, bool_),
        ("int32", int32),
        (None, float64),
    ],
)
def test_a_dtype_is_given_as_itself_as_a_class_or_by_name(given, found):
    assert dtypes.as_dtype(given) == found
    assert tensor([0, 1], dtype=given).dtype == (found if given is not None else float64)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("uint16", "'uint16'"),
        (np.uint64, "'uint64'"),
        (np.dtype(">f2"), "'>f2'"),
        (complex, "'complex128'"),
        (np.dtype(">f8"), "'>f8'"),
        ("number", "'number'"),
        ("", "''"),
        (3, "3"),
        ({"a": 1}, "{'a': 1}"),
        (str, "'<U0'"),
        ({"names": ["a"], "formats": []}, "{'names': ['a'], 'formats': []}"),
    ],
)
def test_another_dtype_is_refused(given, shown):
    message = f"expected a dtype of {NAMES}, got {shown}; convert the values to one of these first"
    with raises(TypeError, message):
        dtypes.as_dtype(given)
    with raises(TypeError, message):
        tensor([1.0], dtype=given)
    with raises(TypeError, message):
        minitorch.zeros((2,), dtype=given)
    with raises(TypeError, message):
        tensor([1.0]).to(given)


# What tensors are made of


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], float64),
        ([1.5], float64),
        (3, float64),
        ([], float64),
        ([[]], float64),
        ([True, False], bool_),
        (True, bool_),
        ([True, 2], float64),
        ([np.float32(1.5)], float64),
        (np.float32(1.5), float32),
        (np.array([1, 2]), int64),
        (np.array([1, 2], np.int32), int32),
        (np.array([1.5], np.float32), float32),
        (np.array([True]), bool_),
        (np.zeros(0, np.int32), int32),
        (np.zeros((0, 2), bool), bool_),
    ],
)
def test_numbers_become_floats_truth_values_bool_and_arrays_stay_what_they_are(values, dtype):
    assert tensor(values).dtype == dtype
    np.testing.assert_array_equal(tensor(values).to_numpy(), np.asarray(values))


def test_a_tensor_made_from_a_tensor_keeps_its_dtype():
    assert tensor(tensor([1, 2], dtype=int32)).dtype == int32


def test_whole_numbers_are_kept_exactly():
    large = [2**62 + 1, -(2**63), 2**63 - 1]
    assert tensor(large, dtype=int64).tolist() == large


@pytest.mark.parametrize(
    ("values", "dtype", "limits"),
    [
        ([1.5], int64, "from -9223372036854775808 to 9223372036854775807 for int64"),
        ([float("nan")], int64, "from -9223372036854775808 to 9223372036854775807 for int64"),
        ([float("inf")], int32, "from -2147483648 to 2147483647 for int32"),
        ([2**31], int32, "from -2147483648 to 2147483647 for int32"),
        ([-(2**31) - 1], int32, "from -2147483648 to 2147483647 for int32"),
        ([2.0**63], int64, "from -9223372036854775808 to 9223372036854775807 for int64"),
    ],
)
def test_numbers_that_an_integer_dtype_cannot_hold_are_refused(values, dtype, limits):
    with raises(ValueError, f"tensor expected whole numbers {limits}, got {values}"):
        tensor(values, dtype=dtype)


def test_the_limits_of_int32_fit_and_a_number_too_large_for_float32_is_infinite():
    assert tensor([2**31 - 1, -(2**31)], dtype=int32).tolist() == [2147483647, -2147483648]
    assert tensor([2.0, -3.0], dtype=int64).tolist() == [2, -3]
    assert tensor([1e300, -1e300], dtype=float32).tolist() == [float("inf"), float("-inf")]
    assert tensor([0, 2, -1.5], dtype=bool).tolist() == [False, True, True]


# Promotion


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow], ids=lambda op: op.__name__)
@pytest.mark.parametrize("second", NUMBERS, ids=name_of)
@pytest.mark.parametrize("first", NUMBERS, ids=name_of)
def test_two_tensors_are_promoted_as_numpy_promotes_them(op, first, second):
    a, b = np.array([4, 3], first), np.array([2, 1], second)
    found, expected = op(tensor(a), tensor(b)), op(a, b)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv], ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", NUMBERS, ids=name_of)
def test_truth_values_are_promoted_as_numpy_promotes_them(op, other):
    a, b = np.array([True, True]), np.array([1, 2], other)
    for left, right in ((a, b), (b, a)):
        expected, found = op(left, right), op(tensor(left), tensor(right))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.to_numpy(), expected)


def test_sums_and_products_of_truth_values_are_truth_values():
    a, b = np.array([True, True, False]), np.array([True, False, False])
    assert ((tensor(a) + tensor(b)).dtype, (tensor(a) + tensor(b)).tolist()) == (bool_, [True, True, False])
    assert ((tensor(a) * tensor(b)).dtype, (tensor(a) * tensor(b)).tolist()) == (bool_, [True, False, False])


def test_the_quotient_of_truth_values_is_a_float():
    yes = tensor([True])
    for found in (yes / yes, yes / 2, 1 / yes):
        assert found.dtype == float64


def test_a_difference_and_a_power_of_truth_values_are_whole_numbers():
    yes, no = tensor([True]), tensor([False])
    for found, value in ((no - yes, -1), (-yes, -1), (yes**no, 1)):
        assert (found.dtype, found.tolist()) == (int64, [value])


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne], ids=lambda op: op.__name__)
@pytest.mark.parametrize("second", ALL, ids=name_of)
@pytest.mark.parametrize("first", ALL, ids=name_of)
def test_comparisons_are_truth_values(op, first, second):
    a, b = np.array([0, 1, 1], first), np.array([1, 1, 0], second)
    found = op(tensor(a), tensor(b))
    assert found.dtype == bool_
    assert found.tolist() == op(a, b).tolist()
    assert op(tensor(a), 1).dtype == bool_


@pytest.mark.parametrize("dtype", [float64, float32], ids=name_of)
@pytest.mark.parametrize("number", [2, 2.5, True, np.float64(2.5), np.int64(2), np.bool_(True)])
def test_a_number_takes_the_floats_of_the_tensor_beside_it(dtype, number):
    x = tensor([1.0, 2.0], dtype=dtype)
    for found in (x + number, number + x, x - number, number - x, x * number, number * x, x / number, number / x, x**number):
        assert found.dtype == dtype
    assert (x + number).tolist() == [1.0 + number, 2.0 + number]


@pytest.mark.parametrize("dtype", [int64, int32], ids=name_of)
def test_whole_numbers_stay_whole_beside_whole_numbers_and_become_floats_beside_floats(dtype):
    x = tensor([1, 2], dtype=dtype)
    for found in (x + 2, 2 * x, x - True, x**2, -x, abs(x)):
        assert found.dtype == dtype
    for found in (x + 2.5, 2.0 * x, x / 2, x**0.5, x.exp(), x.sqrt(), x.mean()):
        assert found.dtype == float64
    assert (x / 2).tolist() == [0.5, 1.0]
    assert (x + 2.5).tolist() == [3.5, 4.5]


def test_truth_values_beside_numbers_become_numbers():
    x = tensor([True, False])
    assert ((x + 1).dtype, (x + 1).tolist()) == (int64, [2, 1])
    assert ((x * 0.5).dtype, (x * 0.5).tolist()) == (float64, [0.5, 0.0])
    assert (x * True).dtype == bool_


def test_a_whole_number_too_large_for_the_dtype_is_refused():
    with pytest.raises(OverflowError, match=r"^1099511627776 is out of range for int32; convert the tensor to int64 or float64 first$"):
        tensor([1], dtype=int32) + 2**40
    with pytest.raises(OverflowError, match=r"is out of range for int64"):
        tensor([1], dtype=int64) + 2**70


@pytest.mark.parametrize(
    ("compute", "dtype"),
    [
        (lambda: tensor([2**63 - 1], dtype=int64) + 1, "int64"),
        (lambda: tensor([2**20], dtype=int32) * 2**20, "int32"),
        (lambda: tensor([2**40, 2**40], dtype=int64).prod(), "int64"),
        (lambda: tensor([7], dtype=int64) ** 40, "int64"),
        (lambda: tensor([3], dtype=int64) ** 10**9, "int64"),
    ],
)
def test_a_whole_number_that_leaves_its_dtype_is_no_silent_wrong_number(compute, dtype):
    with pytest.raises(OverflowError, match=rf"^a result is out of range for {dtype}; convert to int64 or float64 first$"):
        compute()


def test_float32_is_computed_in_float32():
    x = tensor([1.0, 16777216.0], dtype=float32)
    assert (x + 1).tolist() == [2.0, 16777216.0]  # 2^24 + 1 is no float32
    assert (tensor([1.0], dtype=float32) / 3).tolist() == [float(np.float32(1) * (np.float32(1) / np.float32(3)))]


@pytest.mark.parametrize("first", ALL, ids=name_of)
@pytest.mark.parametrize("second", ALL, ids=name_of)
@pytest.mark.parametrize("third", ALL, ids=name_of)
def test_three_dtypes_are_promoted_together(first, second, third):
    assert dtypes.promote_types(first, second, third) == np.result_type(first, second, third)


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
    assert tensor([1, 2.5]).dtype == float32
    assert tensor([]).dtype == float32
    assert minitorch.zeros((2,)).dtype == float32
    assert minitorch.rand((2,)).dtype == float32
    assert tensor([1, 2], dtype=int64).exp().dtype == float32
    assert (tensor([1, 2], dtype=int64) + 0.5).dtype == float64  # int64 and float32 together, by NumPy's rule
    assert minitorch.TensorData([1.0, 2.0], (2,)).dtype == float32


def test_the_default_dtype_changes_no_array_and_no_float64(default_float32):
    assert tensor(np.zeros(2)).dtype == float64
    assert tensor([True]).dtype == bool_
    assert (tensor(np.zeros(2)) + 1.5).dtype == float64


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
