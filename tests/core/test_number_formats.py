"""What dtypes can hold, and how numbers lie in memory."""

import math
import struct

import numpy as np
import pytest

import minitorch
from minitorch import bits, finfo, iinfo, tensor
from tests.errors import raises


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_finfo_is_that_of_numpy(dtype):
    numbers = np
    if dtype == "bfloat16":
        numbers = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    ours, theirs = finfo(dtype), numbers.finfo(dtype)
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "smallest_subnormal"):
        assert getattr(ours, name) == float(getattr(theirs, name)), name
    assert ours.dtype == dtype


def test_finfo_and_iinfo_are_those_of_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        ours, theirs = finfo(dtype), torch.finfo(getattr(torch, dtype))
        for name in ("dtype", "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
            assert getattr(ours, name) == getattr(theirs, name), name
    for dtype in ("int64", "int32", "int16", "int8", "uint8"):
        ours, theirs = iinfo(dtype), torch.iinfo(getattr(torch, dtype))
        for name in ("dtype", "bits", "max", "min"):
            assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize(("dtype", "least", "most"), [("uint8", 0, 255), ("int8", -128, 127), ("int16", -32768, 32767)])
def test_iinfo_names_the_limits(dtype, least, most):
    assert iinfo(dtype) == (dtype, 16 if dtype == "int16" else 8, most, least)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda: finfo("int8"), "finfo expected a floating-point dtype, got int8; use iinfo for integers"),
        (lambda: iinfo(minitorch.float32), "iinfo expected an integer dtype, got float32; use finfo for floats"),
        (lambda: iinfo(bool), "iinfo expected an integer dtype, got bool; use finfo for floats"),
        (lambda: bits(1.5), "bits expected a Tensor, got float; make one with tensor(..., dtype=...)"),
    ],
)
def test_another_kind_is_refused(misuse, message):
    with raises(TypeError, message):
        misuse()


@pytest.mark.parametrize(
    ("number", "dtype", "text"),
    [
        (1.5, "float16", "0 01111 1000000000"), (-2.0, "float16", "1 10000 0000000000"), (2**-24, "float16", "0 00000 0000000001"),
        (math.inf, "float16", "0 11111 0000000000"), (1.5, "bfloat16", "0 01111111 1000000"), (1.0, "float64", "0 01111111111 " + "0" * 52),
        (-0.0, "float32", "1 00000000 00000000000000000000000"), (0.1, "float32", "0 01111011 10011001100110011001101"),
        (5, "uint8", "00000101"), (-1, "int8", "11111111"), (-2, "int16", "1111111111111110"), (True, "bool", "1"),
    ],
)  # fmt: skip
def test_the_bits_of_a_number(number, dtype, text):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")
    assert bits(tensor(number, dtype=dtype)) == text


def test_bits_come_in_the_shape_of_the_tensor_also_of_a_view():
    x = tensor([[1, 2, 3], [4, 5, 6]], dtype="int8").permute(1, 0)[1:]
    assert bits(x) == [["00000010", "00000101"], ["00000011", "00000110"]]
    assert bits(tensor([], dtype="int8")) == []
    assert bits(minitorch.zeros((2, 0))) == [[], []]


def test_the_bits_of_floats_are_those_that_struct_packs():
    for number in (math.pi, -1e-310, 6.02e23):
        (pattern,) = struct.unpack(">Q", struct.pack(">d", number))
        assert bits(tensor(number)).replace(" ", "") == f"{pattern:064b}"
