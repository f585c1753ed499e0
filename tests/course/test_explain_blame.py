"""Whom `course explain` blames for an error: the function that raises it, its caller, or the forward pass that saved nothing."""

from types import FunctionType

import pytest

import minitorch
from course.explain.replay import first_wrong_call
from course.manifest import ROOT
from minitorch import Scalar, scalar_functions, tensor_data, tensor_functions
from minitorch.nn import functional


def named(name, function):
    """A function with another name, as in a student's file."""
    code = function.__code__.replace(co_name=name.rpartition(".")[2], co_qualname=name)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    made.__annotations__, made.__doc__ = function.__annotations__, function.__doc__
    return made


def blame(test):
    """The function that is named, what is wrong, and the rows."""
    found = first_wrong_call(ROOT, test)
    assert found is not None
    return found[0].name, found[1].place, dict(found[1].rows)


def leaf(*values):
    """A tensor that needs a gradient."""
    return minitorch.tensor(list(values), requires_grad=True)


FORGETFUL = [
    (scalar_functions.Mul, lambda ctx, a, b: a * b, lambda: (Scalar(2.0) * Scalar(3.0)).backward()),
    (scalar_functions.Inv, lambda ctx, a: 1 / a, lambda: (1 / Scalar(2.0)).backward()),
    (
        tensor_functions.Mul,
        lambda ctx, a, b: a.f.mul_zip(a, b),
        lambda: (leaf(2.0) * leaf(3.0)).sum().backward(),
    ),
    (tensor_functions.Exp, lambda ctx, a: a.f.exp_map(a), lambda: leaf(2.0).exp().sum().backward()),
]


@pytest.mark.parametrize(("function", "forward", "test"), FORGETFUL, ids=lambda value: getattr(value, "__qualname__", ""))
def test_a_forward_that_saves_nothing_is_named(function, forward, test, monkeypatch):
    name = f"{function.__name__}.forward"
    monkeypatch.setattr(function, "forward", staticmethod(named(name, forward)))
    where, what, rows = blame(test)
    assert (where, what, rows["Yours"]) == (name, "what it saves for the backward pass", "forward saved nothing")
    assert rows["It raises"].startswith("ValueError: not enough values to unpack")
    assert rows["It raises"].endswith(f", in {function.__name__}.backward")


def test_a_forward_that_saves_too_few_values_is_named(monkeypatch):
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return a * b

    monkeypatch.setattr(scalar_functions.Mul, "forward", staticmethod(named("Mul.forward", forward)))
    where, what, rows = blame(lambda: (Scalar(2.0) * Scalar(3.0)).backward())
    assert (where, what, rows["Yours"]) == ("Mul.forward", "what it saves for the backward pass", "forward saved 1 of them")
    assert rows["Expected"] == "ctx.save_for_backward(…) with the 2 values that Mul.backward reads"


def test_a_backward_that_returns_nothing_is_named_and_not_its_caller(monkeypatch):
    monkeypatch.setattr(scalar_functions.ReLU, "backward", staticmethod(named("ReLU.backward", lambda ctx, d_output: None)))

    def test():
        x = Scalar(3.0)
        x.relu().backward()
        assert x.derivative == 1.0

    where, what, rows = blame(test)
    assert (where, what, rows["Expected"]) == ("ReLU.backward", "the return value", "1")


def test_the_caller_of_a_method_that_must_raise_an_error_is_named(monkeypatch):
    def tile(input, kernel):
        return input.permute(0, 1, 3, 2).view(4), 2, 2

    monkeypatch.setattr(functional, "tile", named("tile", tile))
    where, what, rows = blame(lambda: functional.tile(leaf(1.0, 2.0, 3.0, 4.0).view(1, 1, 2, 2), (1, 1)))
    assert (where, what) == ("tile", "the error that it raises")
    assert rows["It raises"].startswith("ValueError: ")
    assert rows["Note"].startswith("Tensor.view raises ValueError as its docstring says; it is called with arguments that do not fit")


def test_the_caller_that_passes_none_is_named(monkeypatch):
    def max(input, dim=None):
        return functional.Max.apply(input, dim)

    monkeypatch.setattr(functional, "max", named("max", max))
    where, _, rows = blame(lambda: functional.max(leaf(1.0, 2.0)))
    assert where == "max"
    assert rows["Note"].startswith("Max.forward is called with dim = None, which must be of type ")


@pytest.mark.parametrize(
    ("name", "written", "test", "what", "rows"),
    [
        (
            "to_index",
            lambda ordinal, shape, out_index: out_index.__setitem__(0, ordinal / 3),
            lambda: tensor_data.to_index(1, (4,), [0]),
            "the index of ordinal 1: dimension 0, which is no integer",
            {"Expected": "1, an int", "Yours": "0.3333333333333333, a float"},
        ),
        (
            "index_to_position",
            lambda index, strides: float(index[0]),
            lambda: tensor_data.index_to_position((2,), (1,)),
            "the type of the position",
            {"Expected": "2, an int", "Yours": "2.0, a float"},
        ),
        (
            "shape_broadcast",
            lambda shape1, shape2: [2, 3],
            lambda: tensor_data.shape_broadcast((2, 1), (3,)),
            "the type of the shape",
            {"Expected": "(2, 3), a tuple of ints", "Yours": "[2, 3], a list"},
        ),
    ],
)
def test_a_value_of_a_wrong_type_is_wrong(name, written, test, what, rows, monkeypatch):
    monkeypatch.setattr(tensor_data, name, named(name, written))

    def fail():
        test()
        raise AssertionError

    where, found, shown = blame(fail)
    assert (where, found) == (name, what)
    assert shown | rows == shown
