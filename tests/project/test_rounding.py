"""Rounding: decimal numbers, sums and running sums agree with exact arithmetic, NumPy and ml_dtypes."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from project.lab.explorers import formats, rounding
from project.lab.typed.source import Refused
from tests.project.test_formats import NUMPY, WIDTHS, decode


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("0.1", Fraction(1, 10)), ("-2.5", Fraction(-5, 2)), (" 1e3 ", 1000)],
        *[(".5", Fraction(1, 2)), ("3.", Fraction(3)), ("0e9999", 0)],
    ],
)
def test_decimal_numbers_are_read_exactly(text, number):
    assert rounding.read_decimal(text) == number


@pytest.mark.parametrize(
    "text", ["", ".", "nan", "inf", "1/3", "1_000", "0x10", "1e999", "1e-401", "1e99999", "٣", "1" * 61, "1 2", "1e", "--1"]
)
def test_other_numbers_are_refused(text):
    with pytest.raises(Refused, match="expected"):
        rounding.read_decimal(text)


def nearest_exactly(x, dtype):
    """The nearest number by exact arithmetic, from the definition: of both multiples of the gap, the nearer one, else the even one."""
    _, fraction = WIDTHS[dtype]
    bias = 2 ** (WIDTHS[dtype][0] - 1) - 1
    exponent = 1 - bias
    while abs(x) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    gap = Fraction(2) ** (exponent - fraction)
    found = round(x / gap) * gap  # round() of a Fraction takes the even one of two
    if abs(found) >= Fraction(2) ** (bias + 1):
        return math.inf if x > 0 else -math.inf
    return float(found)


HARD = [
    *("0.1", "0.3", "-0.7", "1e-8", "2049", "2051", "65519.99999999999999999999", "65520", "65504", "-65520", "1e39", "1e-40", "1e308"),
    *("1.00048828125", "1.0004882812500000000000000000000001", "1.0004882812499999999999999999999999", "1.00146484375"),
    *("-1.0004882812500000000000000000000001", "1.00390625", "1.00390625000000000000000000000001", "1.00390624999999999999999999999999"),
    *("16777217", "16777217.0000000000000000000001", "16777216.9999999999999999999999", "2.98023223876953125e-8"),
    *("2.98023223876953125000000000000000001e-8", "1e400", "-1e-400", "1.797693134862315807e308", "1.797693134862315808e308"),
    *("3e-324", "2e-324"),
]


@pytest.mark.parametrize("dtype", formats.FORMATS)
def test_rounding_of_numbers_that_float64_represents_agrees_with_numpy(dtype):
    numbers = np.random.default_rng(1).normal(0, 1, 60) * 10.0 ** np.random.default_rng(2).integers(-9, 9, 60)
    for x in map(float, numbers):
        with np.errstate(over="ignore"):
            assert decode(rounding.nearest(Fraction(x), dtype), dtype) == float(np.float64(x).astype(NUMPY[dtype]))


@pytest.mark.parametrize("dtype", formats.FORMATS)
@pytest.mark.parametrize("text", HARD)
def test_the_nearest_of_both_neighbors_is_found_although_the_library_rounds_from_float64(text, dtype):
    x = Fraction(Decimal(text))
    found = rounding.rounding(x, dtype)
    assert found.nearest == rounding.nearest(x, dtype)
    low, high, near = (decode(each, dtype) for each in (found.lower, found.upper, found.nearest))
    assert near == nearest_exactly(x, dtype)
    assert low <= x < high or (low == -math.inf and x < high)
    assert near in (low, high)
    if x != found.middle:
        assert near == (low if x < found.middle else high)
    else:
        assert found.nearest % 2 == 0
    if math.isfinite(low) and math.isfinite(high):
        assert found.middle == (Fraction(low) + Fraction(high)) / 2
        assert found.position == (x - Fraction(low)) / (Fraction(high) - Fraction(low))


def test_a_rounding_is_described():
    assert rounding.rounding_in_words(Fraction(1, 10), "float16") == (
        "0.1 is between 0.0999755859375 and 0.10003662109375, two neighbors in float16. The middle between them is 0.100006103515625. The "
        "number is below the middle, so it is rounded down, to 0.0999755859375."
    )
    assert "exactly this number: a tie. Ties go to the neighbor whose last bit is 0, which is 2048." in rounding.rounding_in_words(
        Fraction(2049), "float16"
    )
    assert rounding.rounding_in_words(Fraction(1, 2), "float16") == (
        "0.5 is a number of float16, so nothing is rounded. The next number is 0.50048828125."
    )
    assert "65504 and ∞, two neighbors in float16. The middle between them is 65520, if infinity counts" in rounding.rounding_in_words(
        Fraction(70000), "float16"
    )


def test_the_table_has_the_error_of_every_format():
    rows = {row["format"]: row for row in rounding.rounding_rows(Fraction(2049))}
    assert list(rows) == list(formats.FORMATS)
    assert (rows["float16"]["nearest number"], rows["float16"]["error"], rows["float16"]["error / gap"]) == ("2048", "-1", "0.500")
    assert (rows["bfloat16"]["error"], rows["bfloat16"]["error / gap"]) == ("-1", "0.062")  # 1 / 16
    assert (rows["float32"]["nearest number"], rows["float32"]["bits"], rows["float32"]["error"]) == ("2049", "0x45001000", "0")
    assert rounding.rounding_rows(Fraction(1, 10))[2]["error / gap"] == "0.200"  # rounded up, over the smaller part of the gap
    assert rounding.rounding_rows(Fraction(70000))[0]["error"] == "∞"
    assert rounding.rounding_rows(Fraction(1, 10**400))[3]["error"] == "-1e-400"


def test_the_number_line_has_the_number_where_it_is():
    spec = rounding.number_line(Fraction(1, 10), "float16")  # 0.4 of the gap, see above
    given = spec["layer"][3]["data"]["values"][0]
    assert given["at"] == pytest.approx(0.4)
    assert given["to"] == 0
    assert rounding.number_line(Fraction(10) ** 399, "float16")["layer"][3]["data"]["values"][0]["at"] == 1
    assert spec["description"] == rounding.rounding_in_words(Fraction(1, 10), "float16")


@pytest.mark.parametrize("dtype", formats.FORMATS)
@pytest.mark.parametrize(("a", "b"), [("2048", "1"), ("0.1", "0.2"), ("65504", "16"), ("1e8", "1"), ("-3.3", "1e-3")])
def test_a_sum_is_that_of_numpy(dtype, a, b):
    kind = NUMPY[dtype]
    with np.errstate(over="ignore"):
        x, y = np.float64(a).astype(kind), np.float64(b).astype(kind)
        expected = float(x), float(y), float(x + y)
    assert rounding.add(Fraction(Decimal(a)), Fraction(Decimal(b)), dtype) == expected


def test_a_term_below_half_a_gap_is_lost():
    said = rounding.addition_in_words(Fraction(2048), Fraction(1))
    assert said.startswith("In float16 and bfloat16, a + b equals a:")
    assert said.endswith("a + b is the number nearest to 2049.")
    assert [row["a + b"] for row in rounding.addition_rows(Fraction(2048), Fraction(1))] == ["2048", "2048", "2049", "2049"]


def test_a_sum_of_rounded_terms_may_not_be_the_rounded_sum():
    said = rounding.addition_in_words(Fraction(1, 10), Fraction(2, 10))
    assert "In float16 and float64, a + b is not the number nearest to 0.3, because a or b was rounded before." in said
    row = rounding.addition_rows(Fraction(1, 10), Fraction(2, 10))[3]
    assert (row["format"], row["a + b"]) == ("float64", "0.3000000000000000444…")


@pytest.mark.parametrize(("dtype", "term"), [("float16", "1"), ("bfloat16", "0.1"), ("float32", "0.001")])
def test_running_sums_are_those_of_numpy(dtype, term):
    step = np.float64(term).astype(NUMPY[dtype])
    sums = [np.float64(0).astype(NUMPY[dtype])]
    for _ in range(300):
        sums.append((sums[-1] + step).astype(NUMPY[dtype]))
    assert rounding.running_sums(Fraction(Decimal(term)), 300, dtype) == [float(total) for total in sums[1:]]


def test_a_sum_that_no_longer_changes_is_noticed():
    assert rounding.stuck_after([1.0, 2.0, 2.0, 2.0]) == 2
    assert rounding.stuck_after([1.0, 1.0, 2.0]) is None
    assert rounding.stuck_after([1.0, 1.0]) == 1
    said = rounding.sums_in_words({"float32": [1.0, 2.0, 3.0], "float16": [1.0, 1.0, 1.0]}, Fraction(1))
    assert said == "The sum of 3 terms of 1 is 3. float32 reaches 3. float16 reaches 1 after 1 term and stays there."
    spec = rounding.sums_chart({"float32": [1.0, 2.0], "float16": [1.0, 1.0]}, Fraction(1))
    points = [(row["x"], row["y"], row["curve"]) for row in spec["layer"][0]["data"]["values"]]
    assert points == [(1, 1, "float32"), (2, 2, "float32"), (1, 1, "float16"), (2, 1, "float16")]


def test_bfloat16_gets_stuck_at_256_and_the_library_s_sum_does_not():
    sums = rounding.running_sums(Fraction(1), 300, "bfloat16")
    assert sums[-1] == 256
    assert rounding.stuck_after(sums) == 256
    assert rounding.library_sum(Fraction(1), 3000, "float16") == 3000
