"""Typed shapes and chains of steps: which are accepted, and the errors for all others."""

import re

import pytest

from project.lab.typed.source import Refused
from project.lab.typed.steps import Step, flip, parse_shape, parse_steps, to_text
from tests.errors import raises


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        *[(text, (2, 3)) for text in ("2, 3", "(2, 3)", "[2,3]")],
        *[(text, (5,)) for text in ("5", "(5,)")],
        *[(" 1 , 1,1, 7 ", (1, 1, 1, 7)), ("0, 3", (0, 3)), ("10, 12", (10, 12))],
    ],
)
def test_a_shape_of_up_to_120_elements_is_read_with_and_without_brackets(text, shape):
    assert parse_shape(text, 4, 120) == shape


@pytest.mark.parametrize("text", ["()", "", "  ", "[]"])
def test_an_empty_shape_is_a_single_number_where_allowed(text):
    assert parse_shape(text, 4, 120, fewest_dims=0) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2, x", "expected integers separated by commas, got 'x' in '2, x'"),
        ("2, -3", "expected integers separated by commas, got '-3' in '2, -3'"),
        ("2, 3.5", "expected integers separated by commas, got '3.5' in '2, 3.5'"),
        ("2,, 3", "expected integers separated by commas, got '' in '2,, 3'"),
        ("2 3", "expected integers separated by commas, got '2 3' in '2 3'"),
        ("__import__('os')", "expected integers separated by commas, got \"__import__('os')\" in \"__import__('os')\""),
        ("", "expected a shape of 1 to 4 dimensions, got 0 in ''"),
        ("1, 1, 1, 1, 1", "expected a shape of 1 to 4 dimensions, got 5 in '1, 1, 1, 1, 1'"),
        ("11, 11", "expected at most 120 elements, got 121 in shape (11, 11)"),
        ("999999", "expected at most 120 elements, got 999999 in shape (999999,)"),
        ("2, 1000000", "expected sizes of at most 120, got 1000000 in '2, 1000000'"),
    ],
)
def test_invalid_shapes_are_refused_with_a_message(text, message):
    with raises(Refused, message):
        parse_shape(text, 4, 120)


PERMUTE, CONTIGUOUS = Step(".permute(1, 0)", "permute", (1, 0)), Step(".contiguous()", "contiguous", ())
STRIDED = Step("[1:, ::2]", "index", (slice(1, None, None), slice(None, None, 2)))
ANY_INDEX = Step("[-1, None, ..., [0, 2], ::-1]", "index", (-1, None, ..., [0, 2], slice(None, None, -1)))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("x.permute(1, 0)[1:, ::2].contiguous()", [PERMUTE, STRIDED, CONTIGUOUS]),
        *[(text, []) for text in ("x", "", "  ")],
        ("x[-1, None, ..., [0, 2], ::-1]", [ANY_INDEX]),
        *[(text, [Step(".view(3, -1)", "view", (3, -1))]) for text in ("x.view(3, -1)", "x.view((3, -1))")],
        ("x" + "[:]" * 12, [Step("[:]", "index", (slice(None),))] * 12),
    ],
)
def test_a_chain_of_up_to_twelve_steps_is_read_in_the_order_of_execution(text, steps):
    assert parse_steps(text) == steps


def test_a_chain_round_trips_through_text():
    text = "x.transpose(0, -1)[:, None].expand(2, 3, 4)"
    assert to_text(parse_steps(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y.permute(1, 0)", "column 1: expected the tensor x, got 'y'"),
        ("x.sum(0)", "column 1: unknown method 'sum'; use permute, transpose, view, expand, contiguous or an index such as [1:, ::2]"),
        ("x.permute(a)", "column 11: permute expected integers, got 'a'"),
        ("x.permute(True)", "column 11: permute expected integers, got 'True'"),
        ("x.view(1.5)", "column 8: view expected integers, got '1.5'"),
        ("x.view(10 ** 9)", "column 8: view expected integers, got '10 ** 9'"),
        ("x.view(1000000)", "column 8: view expected integers of at most 6 digits, got '1000000'"),
        ("x[f()]", "column 3: an index expected integers, slices, None, ... and lists of integers, got 'f()'"),
        ("x[::0]", "column 3: an index expected a step other than 0; write ::1"),
        ("x.transpose(0)", "column 1: transpose expected 2 arguments, got 1; write .transpose(0, 1)"),
        ("x.contiguous(1)", "column 1: contiguous expected no arguments, got 1; write .contiguous()"),
        ("x.T", "column 1: expected x followed by operations, such as x.permute(1, 0)[1:, ::2], got 'x.T'"),
        ("x.view(n=3)", "column 1: expected x followed by operations, such as x.permute(1, 0)[1:, ::2], got 'x.view(n=3)'"),
        ("x +", "column 4: expected x followed by operations, such as x.permute(1, 0)[1:, ::2], got 'x +' (invalid syntax)"),
        ("x" + "[:]" * 13, "column 1: expected at most 12 operations, got 13"),
        ("x" * 301, "column 301: expected at most 300 characters, got 301"),
    ],
)
def test_invalid_chains_are_refused_with_a_message(text, message):
    with raises(Refused, message):
        parse_steps(text)


def test_hundreds_of_minus_signs_are_refused_normally():
    with pytest.raises(Refused, match=r"^column 3: an index expected integers"):
        parse_steps(f"x[{'-' * 290}1]")


@pytest.mark.parametrize(("dim", "index"), [("0", "[::-1]"), (" 2 ", "[:, :, ::-1]")])
def test_flip_is_an_index_with_a_negative_step(dim, index):
    assert flip(dim, 3) == index


@pytest.mark.parametrize("dim", ["3", "-1", "one", ""])
def test_flip_refuses_an_invalid_dimension(dim):
    with pytest.raises(Refused, match=re.escape(f"expected a dimension from 0 to 2, got {dim!r}")):
        flip(dim, 3)
