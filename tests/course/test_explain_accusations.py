"""`course explain` names a function only if it is wrong: not one that is called with wrong arguments, nor one that hides the wrong call."""

import functools
from types import FunctionType

import numpy as np
import pytest

import minitorch
from course.explain.divergence import format_number, same
from course.explain.unwritten_memory import MARK, NEVER_WRITTEN, marked_memory
from course.manifest import ROOT
from minitorch import Scalar, autodiff, derivative_check, fast_conv, fast_ops, operators, tensor_data, tensor_functions
from minitorch.tensor import Tensor
from minitorch.tensor_data import MAX_DIMS, broadcast_index, index_to_position, to_index
from minitorch.tensor_ops import SimpleBackend
from tests.course.test_explain_blame import blame, first_wrong_call, leaf, named

INF, NAN = float("inf"), float("nan")


def single(*values):
    """A tensor of float32."""
    return minitorch.tensor(np.array(values, np.float32), SimpleBackend)


def convolve(values, weights):
    """A convolution of one channel with the textbook kernel, from the left and from the right."""
    shape = (1, 1, len(values)), (len(values), len(values), 1)
    weight = np.array(weights), (1, 1, len(weights)), (len(weights), len(weights), 1)
    for reverse in (False, True):
        fast_conv._tensor_conv1d(np.zeros(len(values)), *shape, len(values), np.array(values), *shape, *weight, reverse)


def found(test):
    """The last part of the name of the function that is named when a test fails; "" if none is."""

    def fail():
        test()
        raise AssertionError

    wrong = first_wrong_call(ROOT, fail)
    return wrong[0].name.rpartition(".")[2] if wrong else ""


@pytest.mark.parametrize(
    "test",
    [
        lambda: operators.log_back(-0.5, 50.0),  # outside of the domain of log
        lambda: operators.log_back(-2.0, 1.0),
        lambda: operators.max(float("nan"), 2.0),
        lambda: operators.max(2.0, float("nan")),
        lambda: operators.relu(float("nan")),
        lambda: operators.inv_back(float("inf"), 1.0),
        lambda: leaf(-1.0, float("nan")).relu(),
        lambda: [operators.log_back(x, 1.0) for x in (1e308, -1e308, INF, NAN)],
        lambda: [operators.inv_back(x, 1.0) for x in (1e-100, 1e-120, 1e-200, 3e-308, 1e160, INF, NAN)],
        lambda: operators.inv_back(0.001, 1.5e-320),
        lambda: operators.mul(np.float32(0.1), np.float32(0.2)),
        lambda: operators.mul(np.float32(1e30), np.float32(1e30)),
        lambda: operators.log(np.float32(1.0)),
        lambda: single(1e30, 3e38) * single(1e30, 2.0),
        lambda: single(3e38, 3e38).sum(),
        lambda: single(1.0).log(),
        lambda: autodiff.central_difference(operators.mul, NAN, 1.0),
        lambda: leaf(0.5, 1e17, -1e17).sum().backward(),
        lambda: (leaf(0.5, 1e17, -1e17) * 1.0).sum().backward(),
        lambda: (leaf(0.5, 1.0).view(2, 1).sum(1) * leaf(1.0, NAN).view(2, 1)).sum().backward(),
        lambda: (Scalar(0.5) + 1e17 - 1e17).backward(),
        lambda: (Scalar(0.5) * 2.0).backward(NAN),
        lambda: convolve([1.0, 2.0, 3.0, NAN], [1.0, 1.0, 1.0, 1.0, 1.0, NAN]),
        lambda: convolve([1.0, INF, 3.0], [2.0, INF]),
    ],
)
def test_no_right_function_is_named_for_an_unusual_argument(test):
    with np.errstate(all="ignore"):
        assert found(test) == ""


@pytest.mark.parametrize(
    ("name", "right", "arguments"),
    [
        ("max", lambda x, y: y if y > x else x, (NAN, 2.0)),
        ("lt", lambda x, y: 0.0 if x >= y else 1.0, (NAN, 2.0)),
        ("relu", lambda x: 0.0 if x < 0 else x, (NAN,)),
    ],
)
def test_a_comparison_with_nan_may_be_true_or_false(name, right, arguments, monkeypatch):
    monkeypatch.setattr(operators, name, named(name, right))
    assert found(lambda: getattr(operators, name)(*arguments)) == ""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mul", (NAN, 1.0)),
        ("add", (0.0, NAN)),
        ("add", (INF, -INF)),
        ("neg", (NAN,)),
        ("relu", (NAN,)),
        ("sigmoid", (NAN,)),
        ("log_back", (NAN, 1.0)),
        ("inv_back", (INF, 1.0)),
        ("sum", ([INF, 1.0],)),
        ("prod", ([INF, 1.0],)),
        ("mul", (np.float32(2.0), np.float32(3.0))),
    ],
)
def test_a_wrong_number_is_named_where_nan_or_infinity_is_right(name, arguments, monkeypatch):
    wrong = (lambda x: 5.0) if len(arguments) == 1 else lambda x, y: 5.0
    monkeypatch.setattr(operators, name, named(name, wrong))
    assert found(lambda: getattr(operators, name)(*arguments)) == name


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_total_that_is_not_returned_is_named(name, monkeypatch):
    monkeypatch.setattr(operators, name, named(name, lambda ls: None))
    where, what, rows = blame(lambda: fail_after(lambda: getattr(operators, name)([2.0, 3.0])))
    assert (where, what, rows["Expected"], rows["Yours"]) == (name, "the return value", {"sum": "5", "prod": "6"}[name], "None")


def test_a_convolution_with_nan_is_compared_where_nan_has_no_part(monkeypatch):
    def convolution(out, *rest):
        out[:] = NAN

    monkeypatch.setattr(fast_conv, "_tensor_conv1d", named("_tensor_conv1d", convolution))
    where, what, rows = blame(lambda: fail_after(lambda: convolve([1.0, 2.0], [1.0, 1.0, NAN])))
    assert (where, what) == ("_tensor_conv1d", "cell (0, 0, 0) of out, position 0 of its storage")
    assert rows["Expected"] == "3 = 1·1 + 2·1"


def test_parameters_are_right_that_a_module_has_under_two_names():
    class Pair(minitorch.Module):
        def __init__(self):
            super().__init__()
            self.first = self.again = minitorch.Module()
            self.first.add_parameter("weight", 1.0)

    assert found(lambda: Pair().parameters()) == ""


def test_the_caller_is_named_that_swaps_two_arguments(monkeypatch):
    def backward(ctx, grad_output):
        return grad_output.f.log_back_zip(grad_output, *ctx.saved_values)

    monkeypatch.setattr(tensor_functions.Log, "backward", staticmethod(named("Log.backward", backward)))
    assert blame(lambda: fail_after(lambda: (leaf(1.0, 50.0).log() * leaf(-0.4, 2.0)).sum().backward()))[0] == "Log.backward"


def fail_after(test):
    test()
    raise AssertionError


def test_a_kernel_that_is_called_with_factors_that_do_not_fit_is_not_named():
    a, b = np.ones(6), np.ones(4)

    def multiply():
        fast_ops._tensor_matrix_multiply(np.zeros(4), (1, 2, 2), (4, 2, 1), a, (1, 2, 3), (6, 3, 1), b, (1, 2, 2), (4, 2, 1))

    with pytest.raises(IndexError):
        multiply()
    assert first_wrong_call(ROOT, multiply) is None


def test_the_caller_of_a_function_without_an_oracle_is_not_named(monkeypatch):
    class Cube(tensor_functions.Function):
        """A function of the student's, whose backward calls `view` with a wrong shape."""

        @staticmethod
        def forward(ctx, a):
            return a.f.id_map(a)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.view(7)

    assert first_wrong_call(ROOT, lambda: Cube.apply(leaf(1.0, 2.0)).sum().backward()) is None


def test_a_method_that_rejects_what_its_oracle_accepts_is_named(monkeypatch):
    def view(self, *shape):
        """A view.

        Raises:
            ValueError: If the sizes do not multiply to the number of elements.
        """
        return tensor_functions.View.apply(self, shape)

    monkeypatch.setattr(Tensor, "view", named("Tensor.view", view))
    where, what, rows = blame(lambda: leaf(1.0, 2.0).view((2, 1)))
    assert (where, what, rows["Expected"]) == ("Tensor.view", "the error that it raises", "a tensor of shape (2, 1)")
    assert rows["It raises"].startswith("ValueError: view expected a shape of 2 elements")


def test_an_optional_argument_may_be_none(monkeypatch):
    def all(self, dim: "Dims" = None, keepdim: bool = True):  # noqa: F821  # as in the file
        return self._reduce(tensor_functions.All.apply, dim or 0, keepdim)

    written = FunctionType(named("Tensor.all", all).__code__, all.__globals__, "all", (None, True))
    written.__annotations__ = all.__annotations__
    monkeypatch.setattr(Tensor, "all", written)
    where, what, rows = blame(lambda: leaf(2.0).view().all())
    assert (where, what) == ("Tensor.all", "the error that it raises")
    assert rows["It raises"].startswith("IndexingError: ")


def test_a_wrong_call_is_found_although_its_result_is_cached(monkeypatch):
    wrong = named("shape_broadcast", lambda shape1, shape2: tuple(shape1))
    cached = functools.lru_cache(wrong)
    cached((1,), (2,))
    monkeypatch.setattr(tensor_data, "shape_broadcast", wrong)
    monkeypatch.setattr(tensor_data, "cached_broadcast", cached)
    assert found(lambda: cached((1,), (2,))) == "shape_broadcast"


def ignore_start(fn, start):
    """A reduction that always starts at 0."""

    def apply(ls):
        total = 0.0
        for x in ls:
            total = fn(total, x)
        return total

    return apply


def test_a_reduction_that_ignores_its_start_is_named_unless_the_start_is_unknown(monkeypatch):
    monkeypatch.setattr(operators, "reduce", ignore_start)
    assert found(lambda: ignore_start(operators.add, 5.0)([1.0])) == "apply"

    def two():
        first, _ = ignore_start(operators.add, 0.0), ignore_start(operators.add, 5.0)
        first([1.0])

    assert found(two) == ""


def test_central_difference_of_scalars_is_compared(monkeypatch):
    def central_difference(f, *vals, arg=0, epsilon=1e-6):
        above = list(vals)
        above[arg] = vals[arg] + epsilon
        return (f(*above) - f(*vals)) / (2 * epsilon)

    monkeypatch.setattr(autodiff, "central_difference", central_difference)
    monkeypatch.setattr("minitorch.scalar.central_difference", central_difference)
    assert found(lambda: central_difference(lambda x: x * x, Scalar(3.0))) == "central_difference"
    with pytest.raises(AssertionError, match="central difference"):
        derivative_check(lambda x: x * x, Scalar(3.0))


def test_numbers_that_differ_look_different():
    a, b = 1.0 - 0.9e-9, 1.0 + 0.9e-9
    assert not same(a, b)
    assert format_number(a) != format_number(b)


# Memory to which nothing has been written


def map_without_an_index(fn):
    """Reads the index of the input from a buffer that it has not written."""

    def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):
        for i in range(len(out)):
            in_index = np.empty(MAX_DIMS, np.int32)
            out[i] = fn(in_storage[index_to_position(in_index, in_strides)])

    return _map


def zip_with_a_wrong_buffer(fn):
    """Reads the index of b from a buffer that it has not written; the index is broadcast before."""

    def _zip(out, out_shape, out_strides, a_storage, a_shape, a_strides, b_storage, b_shape, b_strides):
        index, b_index = np.empty(MAX_DIMS, np.int32), np.empty(MAX_DIMS, np.int32)
        for i in range(len(out)):
            to_index(i, out_shape, index)
            broadcast_index(b_index, out_shape, b_shape, index)
            out[i] = fn(a_storage[i], b_storage[index_to_position(index, b_strides)])

    return _zip


ROW = (np.ones(2), (2,), (1,))


def test_a_kernel_that_reads_an_index_that_nothing_has_written_is_named(monkeypatch):
    monkeypatch.setattr(fast_ops, "tensor_map", map_without_an_index)
    monkeypatch.setattr(fast_ops, "tensor_zip", zip_with_a_wrong_buffer)
    for name, kernel, operands in [
        ("_map", map_without_an_index(lambda x: x), (ROW, ROW)),
        ("_zip", zip_with_a_wrong_buffer(lambda x, y: x), (ROW, ROW, ROW)),
    ]:
        arguments = [value for operand in operands for value in operand]
        with marked_memory():
            where, _, rows = blame(lambda kernel=kernel, arguments=arguments: kernel(np.zeros(2), *arguments[1:]))
        assert where.endswith(name)
        assert rows["Note"] == f"In a call of index_to_position, {NEVER_WRITTEN}."


def sum_from_empty_memory(*operands):
    """A product whose sums start with what is in a buffer of numpy.empty."""
    out, (a, _, _), (b, _, _) = operands[0], operands[3:6], operands[6:9]
    total = np.empty(1)
    total[0] += a[0] * b[0]
    out[0] = total[0]


def test_a_sum_that_starts_with_what_nothing_has_written_says_so(monkeypatch):
    monkeypatch.setattr(fast_ops, "_tensor_matrix_multiply", sum_from_empty_memory)
    one = np.ones(1), (1, 1, 1), (1, 1, 1)
    with marked_memory():
        _, _, rows = blame(lambda: fail_after(lambda: sum_from_empty_memory(np.zeros(1), *one[1:], *one, *one)))
    assert rows["Yours"] == f"nan, {NEVER_WRITTEN}"


def test_marked_memory_is_marked_only_where_its_values_are_unknown():
    with marked_memory():
        assert np.isnan(np.empty((2, 3), np.float32)).all()
        assert (np.empty_like(np.zeros(3, np.int64)) == MARK).all()
        assert np.empty(3, bool).shape == (3,)
    assert np.empty.__name__ == "empty"
