"""Typed shapes and chains of steps: what is read, and how everything else is refused."""

import re

import pytest

from project.lab.typed.expressions import Refused
from project.lab.typed.steps import Step, flip, parse_shape, parse_steps, written


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("2, 3", (2, 3)),
        ("(2, 3)", (2, 3)),
        ("[2,3]", (2, 3)),
        ("5", (5,)),
        ("(5,)", (5,)),
        (" 1 , 1,1, 7 ", (1, 1, 1, 7)),
        ("0, 3", (0, 3)),
    ],
)
def test_a_shape_is_read_with_and_without_brackets(text, shape):
    assert parse_shape(text, 4, 120) == shape


@pytest.mark.parametrize("text", ["()", "", "  ", "[]"])
def test_no_sizes_are_the_shape_of_a_single_number_where_that_is_allowed(text):
    assert parse_shape(text, 4, 120, fewest_dims=0) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2, x", "expected whole numbers separated by commas, got 'x' in '2, x'"),
        ("2, -3", "expected whole numbers separated by commas, got '-3' in '2, -3'"),
        ("2, 3.5", "expected whole numbers separated by commas, got '3.5' in '2, 3.5'"),
        ("2,, 3", "expected whole numbers separated by commas, got '' in '2,, 3'"),
        ("2 3", "expected whole numbers separated by commas, got '2 3' in '2 3'"),
        ("__import__('os')", "expected whole numbers separated by commas, got \"__import__('os')\" in \"__import__('os')\""),
        ("", "expected a shape of 1 to 4 dimensions, got 0 in ''"),
        ("1, 1, 1, 1, 1", "expected a shape of 1 to 4 dimensions, got 5 in '1, 1, 1, 1, 1'"),
        ("11, 11", "expected at most 120 elements, got 121 in shape (11, 11)"),
    ],
)
def test_other_shapes_are_refused_in_words(text, message):
    with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
        parse_shape(text, 4, 120)


def test_the_largest_shape_is_read():
    assert parse_shape("10, 12", 4, 120) == (10, 12)


def test_a_chain_is_read_in_the_order_in_which_it_is_taken():
    assert parse_steps("x.permute(1, 0)[1:, ::2].contiguous()") == [
        Step(".permute(1, 0)", "permute", (1, 0)),
        Step("[1:, ::2]", "index", (slice(1, None, None), slice(None, None, 2))),
        Step(".contiguous()", "contiguous", ()),
    ]


@pytest.mark.parametrize("text", ["x", "", "  "])
def test_a_chain_may_have_no_steps(text):
    assert parse_steps(text) == []


def test_an_index_may_hold_everything_that_a_tensor_takes():
    (step,) = parse_steps("x[-1, None, ..., [0, 2], ::-1]")
    assert step.args == (-1, None, ..., [0, 2], slice(None, None, -1))


def test_a_shape_in_brackets_is_the_same_step():
    assert parse_steps("x.view((3, -1))") == parse_steps("x.view(3, -1)") == [Step(".view(3, -1)", "view", (3, -1))]


def test_a_chain_can_be_written_again():
    text = "x.transpose(0, -1)[:, None].expand(2, 3, 4)"
    assert written(parse_steps(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y.permute(1, 0)", "expected the tensor x, got 'y'; begin with x"),
        ("x.sum(0)", "unknown step 'sum'; the steps are permute, transpose, view, expand, contiguous and an index such as [1:, ::2]"),
        ("x.permute(a)", "permute expected whole numbers, got 'a'"),
        ("x.permute(True)", "permute expected whole numbers, got 'True'"),
        ("x.view(1.5)", "view expected whole numbers, got '1.5'"),
        ("x.view(10 ** 9)", "view expected whole numbers, got '10 ** 9'"),
        ("x.view(1000000)", "view expected whole numbers, got '1000000'"),
        ("x[f()]", "an index expected whole numbers, slices, None, ... and lists of whole numbers, got 'f()'"),
        ("x[::0]", "an index expected a step other than 0; write ::1"),
        ("x.transpose(0)", "transpose expected 2 numbers, got 1; write .transpose(0, 1)"),
        ("x.contiguous(1)", "contiguous expected no numbers, got 1; write .contiguous()"),
        ("x.T", "expected x followed by steps, got 'x.T'; write for example x.permute(1, 0)[1:, ::2]"),
        ("x.view(n=3)", "expected x followed by steps, got 'x.view(n=3)'; write for example x.permute(1, 0)[1:, ::2]"),
        ("x +", "expected x followed by steps, got 'x +'; write for example x.permute(1, 0)[1:, ::2]"),
        ("x" + "[:]" * 13, "expected at most 12 steps, got 13"),
        ("x" * 301, "expected at most 300 characters, got 301"),
    ],
)
def test_other_chains_are_refused_in_words(text, message):
    with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
        parse_steps(text)


def test_what_is_too_deep_to_be_written_out_is_refused_like_anything_else(monkeypatch):
    def too_deep(node):
        raise RecursionError

    monkeypatch.setattr("ast.unparse", too_deep)
    with pytest.raises(Refused, match=r"got '\.\.\.'$"):
        parse_steps("x[--1]")


def test_hundreds_of_signs_are_refused_like_anything_else():
    with pytest.raises(Refused, match="an index expected whole numbers"):
        parse_steps(f"x[{'-' * 290}1]")


def test_twelve_steps_are_read():
    assert len(parse_steps("x" + "[:]" * 12)) == 12


@pytest.mark.parametrize(("dim", "index"), [("0", "[::-1]"), (" 2 ", "[:, :, ::-1]")])
def test_flip_is_an_index_with_a_negative_step(dim, index):
    assert flip(dim, 3) == index


@pytest.mark.parametrize("dim", ["3", "-1", "one", ""])
def test_flip_refuses_what_is_no_dimension(dim):
    with pytest.raises(Refused, match=re.escape(f"expected the number of a dimension, 0 to 2, got {dim!r}")):
        flip(dim, 3)
