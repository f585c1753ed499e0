"""How tensors are printed."""

import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import Function, Parameter, float32, int32, int64, no_grad, tensor, zeros
from tests.tensor_strategies import shapes


def block(text):
    """Lines as they stand in the test."""
    return textwrap.dedent(text).strip("\n")


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (tensor(2.5), "tensor(2.5, dtype=float64, backend=simple)"),
        (tensor(3, dtype=int64), "tensor(3, dtype=int64, backend=simple)"),
        (tensor([1, 2]), "tensor([1., 2.], dtype=float64, backend=simple)"),
        (tensor([1, 2], dtype=float32), "tensor([1., 2.], dtype=float32, backend=simple)"),
        (tensor([1, -20], dtype=int32), "tensor([  1, -20], dtype=int32, backend=simple)"),
        (tensor([True, False]), "tensor([ True, False], dtype=bool, backend=simple)"),
        (tensor([0.1, -2.25]), "tensor([ 0.1 , -2.25], dtype=float64, backend=simple)"),
        (tensor([float("nan"), float("inf"), -float("inf"), 1.0]), "tensor([ nan,  inf, -inf,   1.], dtype=float64, backend=simple)"),
        (tensor([1 / 3], dtype=float32), "tensor([0.33333334], dtype=float32, backend=simple)"),
        (tensor([1e-8, 1.0]), "tensor([1.e-08, 1.e+00], dtype=float64, backend=simple)"),
        (tensor([]), "tensor([], shape=(0,), dtype=float64, backend=simple)"),
        (zeros((0, 3), dtype=int64), "tensor([], shape=(0, 3), dtype=int64, backend=simple)"),
        (zeros((2, 0)), "tensor([], shape=(2, 0), dtype=float64, backend=simple)"),
        (tensor([1.0], requires_grad=True), "tensor([1.], dtype=float64, backend=simple, requires_grad=True)"),
        (tensor([1.0], requires_grad=True) * 2, "tensor([2.], dtype=float64, backend=simple, grad_fn=Mul)"),
        (tensor([1.0], requires_grad=True).exp().detach() * 0, "tensor([0.], dtype=float64, backend=simple)"),
    ],
)
def test_one_line(x, text):
    assert repr(x) == text


def test_rows_stand_below_each_other_and_the_notes_below_them():
    x = tensor([[1, -2.5], [100, 3]], requires_grad=True)
    assert repr(x) == block("""
        tensor([[  1. ,  -2.5],
                [100. ,   3. ]],
               dtype=float64, backend=simple, requires_grad=True)
    """)
    assert str(x) == block("""
        [[  1. ,  -2.5],
         [100. ,   3. ]]
    """)
    assert repr(x.permute(1, 0)) == block("""
        tensor([[  1. , 100. ],
                [ -2.5,   3. ]],
               dtype=float64, backend=simple, grad_fn=Permute)
    """)


def test_three_dimensions_are_set_apart():
    assert str(tensor(np.arange(8, dtype=np.int64).reshape(2, 2, 2))) == block("""
        [[[0, 1],
          [2, 3]],

         [[4, 5],
          [6, 7]]]
    """)


def test_a_long_tensor_is_shortened_and_names_its_shape():
    assert repr(zeros((2000,), dtype=int64)) == "tensor([0, 0, 0, ..., 0, 0, 0], shape=(2000,), dtype=int64, backend=simple)"
    assert str(zeros((2000,), dtype=int64)) == "[0, 0, 0, ..., 0, 0, 0]"
    assert repr(zeros((1000, 1000), dtype=int64)) == block("""
        tensor([[0, 0, 0, ..., 0, 0, 0],
                [0, 0, 0, ..., 0, 0, 0],
                [0, 0, 0, ..., 0, 0, 0],
                ...,
                [0, 0, 0, ..., 0, 0, 0],
                [0, 0, 0, ..., 0, 0, 0],
                [0, 0, 0, ..., 0, 0, 0]],
               shape=(1000, 1000), dtype=int64, backend=simple)
    """)
    assert "..." not in repr(zeros((1000,)))


def test_a_long_line_is_wrapped():
    assert repr(tensor(np.arange(14) / 13)) == block("""
        tensor([0.        , 0.07692308, 0.15384615, 0.23076923, 0.30769231,
                0.38461538, 0.46153846, 0.53846154, 0.61538462, 0.69230769,
                0.76923077, 0.84615385, 0.92307692, 1.        ],
               dtype=float64, backend=simple)
    """)


def test_notes_that_do_not_fit_beside_the_values_go_below_them():
    assert repr(tensor([0.0, 1e-8, 2e-8, 3e-8, 4e-8, 5e-8], requires_grad=True)) == block("""
        tensor([0.e+00, 1.e-08, 2.e-08, 3.e-08, 4.e-08, 5.e-08],
               dtype=float64, backend=simple, requires_grad=True)
    """)


def test_a_long_name_stands_on_a_line_of_its_own():
    function = type("Long" * 15, (Function,), {"forward": staticmethod(lambda ctx, a: a * 1)})
    text = repr(function.apply(tensor([1.0], requires_grad=True)))
    assert text.splitlines() == ["tensor([1.],", "       dtype=float64, backend=simple,", f"       grad_fn={'Long' * 15})"]


def test_a_value_in_a_sentence():
    loss = tensor([1.23456], requires_grad=True) * 1
    assert (f"{loss:.2f}", f"{loss:8.3f}", f"{tensor(7, dtype=int64):03d}") == ("1.23", "   1.235", "007")
    assert (f"{loss}", f"{tensor([1.0, 2.0])}") == ("[1.23456]", "[1., 2.]")


def test_what_surrounds_a_tensor_prints_it():
    x = tensor([1.0, 2.0])
    parameter = Parameter(x.clone())
    assert str([x]) == "[tensor([1., 2.], dtype=float64, backend=simple)]"
    assert str(parameter) == "[1., 2.]"
    assert repr(parameter) == "tensor([1., 2.], dtype=float64, backend=simple, requires_grad=True)"
    assert repr(x._tensor) == "TensorData(shape=(2,), strides=(1,), offset=0, dtype=float64)"
    assert x._tensor.to_string() == "[1., 2.]"
    assert repr(minitorch.SimpleBackend) == "TensorBackend(SimpleOps)"


def test_a_view_prints_what_it_shows():
    x = tensor([[1, 2], [3, 4]], dtype=int64)
    found = [str(view) for view in (x[1], x[:, 0], x.permute(1, 0)[1:], x[0, :1].expand(1, 2))]
    assert found == ["[3, 4]", "[1, 3]", "[[2, 4]]", "[[1, 1]]"]


def test_a_history_prints_though_what_it_saved_has_changed():
    x, w = tensor([1.0], requires_grad=True), tensor([2.0])
    out = x * w
    w[0] = 3
    assert "TensorContext(Mul, no_grad=False, saved_values=(tensor([1.]" in repr(out.history)
    with no_grad():
        assert repr(x * w) == "tensor([3.], dtype=float64, backend=simple)"


def test_numpys_print_options_hold():
    with np.printoptions(precision=2):
        assert str(tensor([1 / 3])) == "[0.33]"


@given(shapes, st.sampled_from(["float64", "float32", "int64", "int32", "bool"]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_no_line_is_longer_than_100_and_the_numbers_are_numpys(shape, dtype, computed):
    array = (np.arange(np.prod(shape)).reshape(shape) / 7 - 1).astype(dtype)
    x = tensor(array)
    if computed and x.dtype.kind == "f":
        x = x.requires_grad_() * 1
    assert max(map(len, repr(x).splitlines())) <= 100
    assert str(x) == np.array2string(array, separator=", ")


@given(st.floats(width=32), st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_every_number_prints(number, dims):
    x = tensor(np.full((2,) * dims, number))
    assert repr(x).startswith("tensor(")
    assert repr(x.to(float32))
    assert str(x)
