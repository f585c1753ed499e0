"""Number formats: bits, values and neighbors agree with Python's struct, NumPy, ml_dtypes and exact arithmetic."""

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import minitorch
from project.lab.explorers import formats
from project.lab.typed.source import Refused
from project.lab.widgets import bit_cells

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed; pip install -r requirements.extra.txt")

NUMPY = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
CODES = {"float16": "e", "float32": "f", "float64": "d"}  # of the module struct, which has no bfloat16
WIDTHS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
EDGES = {
    "float16": [0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3BFF, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7C01, 0xFFFF],
    "bfloat16": [0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x3F7F, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7F81, 0xFFFF],
    "float32": [0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001],
    "float64": [0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000],
}


def patterns(dtype):
    """Edge cases and random bits."""
    size = 1 + sum(WIDTHS[dtype])
    random = np.random.default_rng(0).integers(0, 1 << size, 60, np.uint64)
    return [*EDGES[dtype], *map(int, random)]


def decode(pattern, dtype):
    """The value of bits, from Python's struct; a bfloat16 is the upper half of a float32."""
    size = (1 + sum(WIDTHS[dtype])) // 8
    if dtype == "bfloat16":
        return struct.unpack(">f", struct.pack(">HH", pattern, 0))[0]
    return struct.unpack(f">{CODES[dtype]}", pattern.to_bytes(size, "big"))[0]


def same(a, b):
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("dtype", formats.FORMATS)
def test_the_value_of_bits_is_that_of_struct(dtype):
    for pattern in patterns(dtype):
        assert same(formats.value(pattern, dtype), decode(pattern, dtype)), hex(pattern)


@pytest.mark.parametrize("dtype", formats.FORMATS)
def test_the_parts_are_those_of_the_library_and_have_the_widths_of_the_format(dtype):
    for pattern in patterns(dtype):
        found = formats.parts(pattern, dtype)
        assert tuple(map(len, found)) == (1, *WIDTHS[dtype])
        assert int("".join(found), 2) == pattern
        if not math.isnan(decode(pattern, dtype)):
            assert minitorch.bits(formats.number(pattern, dtype)) == [" ".join(found)]
            assert formats.pattern_of(formats.number(pattern, dtype)) == pattern


def test_the_bias_makes_the_exponent_of_1():
    assert {dtype: formats.bias(dtype) for dtype in formats.FORMATS} == {"float16": 15, "bfloat16": 127, "float32": 127, "float64": 1023}


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        *[(0, "zero"), (0x8000, "zero"), (1, "subnormal"), (0x83FF, "subnormal"), (0x0400, "normal"), (0x7BFF, "normal")],
        *[(0xFC00, "infinite"), (0x7C01, "NaN"), (0xFFFF, "NaN")],
    ],
)
def test_the_kind_follows_from_exponent_and_fraction(pattern, kind):
    assert formats.kind(pattern, "float16") == kind
    assert formats.about(pattern, "float16")


@pytest.mark.parametrize("dtype", formats.FORMATS)
def test_the_neighbors_are_those_of_nextafter(dtype):
    one = NUMPY[dtype]
    for pattern in patterns(dtype):
        x = np.array([pattern], f"u{np.dtype(one).itemsize}").view(one)[0]
        found = [None if each is None else decode(each, dtype) for each in formats.neighbors(pattern, dtype)]
        if math.isnan(decode(pattern, dtype)):
            assert found == [None, None]
            continue
        with np.errstate(all="ignore"):
            expected = [float(np.nextafter(x, one(end))) for end in (-math.inf, math.inf)]
        assert found == [None if each == float(x) else each for each in expected], hex(pattern)  # infinity is its own next number


BITS = {"1": (0x3C00, 0x3F80), "largest": (0x7BFF, 0x7F7F), "smallest normal": (0x0400, 0x0080), "smallest subnormal": (1, 1)}
BITS |= {"-0": (0x8000, 0x8000), "infinity": (0x7C00, 0x7F80)}


@pytest.mark.parametrize("name", BITS)
def test_the_examples_have_these_bits(name):
    assert (formats.special(name, "float16"), formats.special(name, "bfloat16")) == BITS[name]


def test_every_example_exists_in_every_format():
    for dtype in formats.FORMATS:
        kinds = [formats.kind(formats.special(name, dtype), dtype) for name in formats.SPECIAL]
        assert kinds == ["normal"] * 4 + ["subnormal", "zero", "zero", "infinite", "NaN"]


def test_a_number_is_converted_to_the_nearest_of_another_format():
    assert formats.convert(0x3DCCCCCD, "float32", "float16") == 0x2E66  # 0.1
    assert formats.convert(0x3DCCCCCD, "float32", "bfloat16") == 0x3DCD
    assert formats.convert(0x7F7FFFFF, "float32", "float16") == 0x7C00
    assert formats.convert(0x2E66, "float16", "float64") == 0x3FB9980000000000


@pytest.mark.parametrize(("text", "pattern"), [("0x3c00", 0x3C00), ("3C00", 0x3C00), (" 0X1 ", 1), ("ffff", 0xFFFF)])
def test_bits_are_read_in_hexadecimal_and_written_with_all_digits(text, pattern):
    assert formats.read_bits(text, "float16") == pattern
    assert formats.write_bits(pattern, "float32") == f"0x{pattern:08x}"


@pytest.mark.parametrize("text", ["", "0x", "x", "0x13c00", "-1", "3.c", "0g11", "３c00", "0x3c 00"])
def test_other_bits_are_refused(text):
    with pytest.raises(Refused, match=r"expected at most 4 hexadecimal digits, the 16 bits of a float16, got"):
        formats.read_bits(text, "float16")


@pytest.mark.parametrize("dtype", formats.FORMATS)
def test_the_decimal_number_equals_the_number(dtype):
    for pattern in patterns(dtype):
        x = decode(pattern, dtype)
        if math.isfinite(x):
            text = formats.decimal(x)
            assert Decimal(text) == Decimal(x), text
            assert float.fromhex(formats.hexadecimal(x)) == x
            assert text.startswith("-") == (math.copysign(1, x) < 0)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        *[(1.0, "1"), (100.0, "100"), (-0.0, "-0"), (math.inf, "∞"), (-math.inf, "-∞"), (math.nan, "NaN")],
        *[(2.0**-24, "5.9604644775390625e-8"), (2.0**100, "1.267650600228229401496703205376e+30")],
    ],
)
def test_a_decimal_number_is_short_and_exact(x, text):
    assert formats.decimal(x) == text


def test_long_numbers_are_cut_off_not_rounded():
    assert formats.decimal(0.1, 20) == "0.10000000000000000555…"  # the next digit is 1
    assert formats.exact(Fraction(1999, 1000), 3) == "1.99…"
    assert formats.exact(Fraction(2) ** -40, 3) == "9.09…e-13"
    assert formats.exact(Fraction(1999, 1000), 4) == "1.999"


@pytest.mark.parametrize(("x", "text"), [(1.5, "0x1.8p+0"), (16.0, "0x1p+4"), (-0.1, "-0x1.999999999999ap-4"), (0.0, "0x0p+0")])
def test_a_hexadecimal_number_has_no_trailing_zeros(x, text):
    assert formats.hexadecimal(x) == text


def test_the_formula_has_the_numbers_in_it():
    assert formats.formula(0x2E66, "float16") == (
        "(-1)^0 · 2^(e - bias) · 1.f\n"
        "= (-1)^0 · 2^(11 - 15) · 1.1001100110 in binary\n"
        "= 2^-4 · 1.599609375\n"
        "= 0.0999755859375\n"
        "= 0x1.998p-4 in hexadecimal"
    )
    negative = ["= (-1)^1 · 2^(129 - 127) · 1.0100000 in binary", "= -2^2 · 1.25", "= -5"]
    assert formats.formula(0xC0A0, "bfloat16").splitlines()[1:4] == negative
    subnormal = ["(-1)^0 · 2^(1 - bias) · 0.f", "= (-1)^0 · 2^(1 - 15) · 0.0000000011 in binary", "= 2^-14 · 0.0029296875"]
    assert formats.formula(0x0003, "float16").splitlines()[:3] == subnormal
    assert formats.formula(0x8000, "float16").splitlines()[-1] == "= -0"
    assert formats.formula(0xFC00, "float16") == "All exponent bits are 1 and the fraction is 0: (-1)^1 · ∞ = -∞"
    assert "not a number (NaN)" in formats.formula(0x7C01, "float16")


def test_the_gap_is_larger_above_a_power_of_two_than_below():
    below, here, above = formats.neighbor_rows(0x6800, "float16")  # 2048
    assert [(row["value"], row["gap"]) for row in (below, here, above)] == [("2047", "1"), ("2048", ""), ("2050", "2")]
    largest = formats.neighbor_rows(0x7BFF, "float16")
    assert (largest[2]["value"], largest[2]["gap"], largest[0]["gap"]) == ("∞", "∞", "32")
    assert [row["value"] for row in formats.neighbor_rows(0x7E00, "float16")] == ["none", "NaN", "none"]


def test_without_ml_dtypes_there_are_three_formats(monkeypatch):
    def refuse(dtype):
        raise ImportError("bfloat16 expected the package ml_dtypes, which is not installed; pip install ml_dtypes")

    monkeypatch.setattr(formats, "as_dtype", refuse)
    assert formats.available() == ["float16", "float32", "float64"]


@pytest.mark.parametrize(
    ("sent", "bits"), [("0101", "0101"), ("010", ""), ("01012", ""), ("012a", ""), (None, ""), (["0"] * 4, ""), (5, "")]
)
def test_invalid_bits_are_ignored(sent, bits):
    assert bit_cells.read(sent, 4) == bits
