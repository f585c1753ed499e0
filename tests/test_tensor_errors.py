"""Every error that a user of tensors can encounter, with its whole message."""

import copy
import pickle
from operator import setitem

import numpy as np
import pytest

import minitorch
from minitorch import Function, IndexingError, SimpleOps, Tensor, TensorBackend, TensorData, float32, int32, int64, tensor, zeros
from tests.errors import raises

x = tensor([1.0, 2.0, 3.0])
m = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def leaf(values):
    return tensor(values, requires_grad=True)


# Construction


@pytest.mark.parametrize(
    ("values", "error", "shown"),
    [
        ([[1, 2], [3]], ValueError, "lists of equal lengths at every depth, got [[1, 2], [3]]; pad the short ones"),
        ([1, [2]], ValueError, "lists of equal lengths at every depth, got [1, [2]]; pad the short ones"),
        ([[[1]], [[1, 2]]], ValueError, "lists of equal lengths at every depth, got [[[1]], [[1, 2]]]; pad the short ones"),
        (((1,), (2, 3)), ValueError, "lists of equal lengths at every depth, got ((1,), (2, 3)); pad the short ones"),
        ([[0.0], [1.0] * 60], ValueError, f"lists of equal lengths at every depth, got [[0.0], [{'1.0, ' * 13}1. ...; pad the short ones"),
        (["a", "b"], TypeError, "numbers, got ['a', 'b']"),
        ("12", TypeError, "numbers, got '12'"),
        (None, TypeError, "numbers, got None"),
        ([1, None], TypeError, "numbers, got [1, None]"),
        ([1j], TypeError, "numbers, got [1j]"),
        ([{1}], TypeError, "numbers, got [{1}]"),
        ([2**70], TypeError, f"numbers, got [{2**70}]"),
    ],
)
def test_ragged_lists_and_other_values_than_numbers_are_refused(values, error, shown):
    with raises(error, f"tensor expected {shown}"):
        tensor(values)


@pytest.mark.parametrize(
    ("shape", "error", "shown"),
    [
        ((2, -1), ValueError, "sizes of at least 0, got (2, -1)"),
        ((2, float("nan")), TypeError, "whole numbers, got (2, nan); write it as (2, 3)"),
        ((2.0, 3), TypeError, "whole numbers, got (2.0, 3); write it as (2, 3)"),
        ("ab", TypeError, "whole numbers, got 'ab'; write it as (2, 3)"),
        ((1,) * 33, ValueError, "at most 32 dimensions, got 33"),
    ],
)
@pytest.mark.parametrize("op", ["zeros", "rand", "ones", "randn", "full"])
def test_an_invalid_shape_is_refused(op, shape, error, shown):
    with raises(error, f"{op} expected {shown}"):
        getattr(minitorch, op)(shape, *([1] if op == "full" else []))


@pytest.mark.parametrize("dtype", [int64, int32, minitorch.bool_])
def test_a_leaf_needs_a_floating_dtype(dtype):
    constant = tensor([0, 1], dtype=dtype)
    for make in (
        lambda: tensor([0, 1], dtype=dtype, requires_grad=True),
        lambda: zeros((2,), dtype=dtype, requires_grad=True),
        lambda: constant.requires_grad_(),
        lambda: (leaf([0.0, 1.0]) * 2).to(dtype).requires_grad_(),
        lambda: minitorch.Parameter(constant),
    ):
        with raises(TypeError, f"only floating-point tensors can require gradients, got {dtype.name}; convert it first: x.to(float64)"):
            make()
    assert constant.requires_grad_(False).is_constant()


# Arithmetic


BROADCAST = "do not broadcast: aligned from the right, 3 does not match 2; sizes must be equal, or one of them 1 (view can insert a 1)"


@pytest.mark.parametrize(
    ("op", "name"),
    [
        (lambda a, b: a + b, "Add"),
        (lambda a, b: a - b, "Add"),
        (lambda a, b: a * b, "Mul"),
        (lambda a, b: a / b, "Mul"),
        (lambda a, b: a**b, "Pow"),
        (lambda a, b: a < b, "LT"),
        (lambda a, b: a == b, "EQ"),
        (lambda a, b: a <= b, "LE"),
        (lambda a, b: a != b, "NE"),
        (lambda a, b: a.is_close(b), "IsClose"),
        (lambda a, b: a.where(a > 0, b), "Where"),
    ],
)
def test_shapes_that_do_not_broadcast_are_refused(op, name):
    with raises(IndexingError, f"{name}: shapes (3,) and (2,) {BROADCAST}"):
        op(x, x[:2])


@pytest.mark.parametrize("other", ["a", None, [1.0], np.ones(3), 1j, np.complex128(1)], ids=lambda other: type(other).__name__)
def test_an_operand_that_is_not_a_number_is_refused(other):
    for op in (
        *(lambda a, b: a + b, lambda a, b: b + a, lambda a, b: a - b, lambda a, b: b - a, lambda a, b: a * b, lambda a, b: b * a),
        *(lambda a, b: a / b, lambda a, b: b / a, lambda a, b: a**b, lambda a, b: b**a, lambda a, b: a < b, lambda a, b: a >= b),
        *(lambda a, b: a == b, lambda a, b: a.is_close(b)),
    ):
        with raises(TypeError, f"expected a Tensor or a number, got {type(other).__name__}; convert it with tensor(...)"):
            op(x, other)


def test_tensors_of_two_backends_are_refused():
    class OtherOps(SimpleOps):
        name = "other"

    other = TensorBackend(OtherOps)
    y = tensor([1.0, 2.0, 3.0], backend=other)
    with raises(RuntimeError, "Mul expected tensors of one backend, got simple and other; move one of them: x.to(y.backend)"):
        x * y
    with raises(RuntimeError, "Add expected tensors of one backend, got other and simple; move one of them: x.to(y.backend)"):
        y + x
    assert (x.to(y.backend) * y).tolist() == [1.0, 4.0, 9.0]
    assert (x.to(y.backend) * y).backend is other
    assert (x * tensor([1.0, 2.0, 3.0], backend=TensorBackend(SimpleOps))).tolist() == [1.0, 4.0, 9.0]  # the same operations


ALL = (
    *(m.sum, lambda dim: m.mean((0, dim)), m.all, m.max, m.argmax, lambda dim: m.permute(dim, 0), lambda dim: m.transpose(0, dim)),
    *(m.squeeze, m.cumsum, lambda dim: m.split(1, dim), lambda dim: minitorch.cat([m, m], dim)),
)
ALONG = "a dimension expected an integer, got"
TWICE = "expected each dimension at most once for shape (2, 3), got"
LAST = (m.sum, m.mean, m.squeeze, lambda dim: m.permute(dim, 0), lambda dim: m.sum((0, dim)))


@pytest.mark.parametrize(
    ("operations", "dim", "error", "message"),
    [
        *((ALL, dim, IndexingError, f"dimension {dim} is out of range for shape (2, 3), which has 2") for dim in (2, -3)),
        *((LAST, dim, TypeError, f"{ALONG} {dim!r}") for dim in (1.0, "0", 0.5)),
        *(((m.sum, m.mean, m.all, m.var, m.squeeze), dims, IndexingError, f"{TWICE} {dims}") for dims in ((0, 0), (1, -1), [0, 1, 0])),
    ],
)
def test_a_dimension_out_of_range_of_another_type_or_repeated_is_refused(operations, dim, error, message):
    for operation in operations:
        with raises(error, message):
            operation(dim)


# Assignment


@pytest.mark.parametrize(
    ("index", "values", "error", "message"),
    [
        *((index, values, IndexingError, f"values that broadcast to {shape}, the shape at the index, got (2,)")
          for index, shape in ((0, "(3,)"), ([0], "(1, 3)"), ((0, 0), "()")) for values in ([1, 2], np.ones(2), tensor([1.0, 2.0]))),
        *((0, value, TypeError, f"numbers, got {value!r}") for value in ("a", None, {}, 1j)),
        (0, [[1], [2, 3]], ValueError, "lists of equal lengths at every depth, got [[1], [2, 3]]; pad the short ones"),
    ],
)  # fmt: skip
def test_assigned_values_must_be_numbers_that_broadcast_to_the_selection(index, values, error, message):
    with raises(error, f"assignment expected {message}"):
        m[index] = values


def test_assigned_values_must_fit_the_dtype():
    whole, mask, small = tensor([1, 2], dtype=int64), tensor([True]), tensor([1, 2], dtype=int32)
    for value in (1.5, 2.0, [1.0], tensor([1.0], dtype=float32), np.float64(1)):
        kind = "float32" if isinstance(value, Tensor) else "float64"
        with raises(TypeError, f"a tensor of int64 cannot represent {kind}; convert the value, x.to(int64), or the tensor"):
            whole[0] = value
    with raises(TypeError, "a tensor of bool cannot represent int64; convert the value, x.to(bool), or the tensor"):
        mask[0] = 1
    with raises(ValueError, "assignment expected whole numbers from -2147483648 to 2147483647 for int32, got [2147483648]"):
        small[:1] = [2**31]
    with raises(ValueError, "assignment expected whole numbers from -2147483648 to 2147483647 for int32, got 2147483648"):
        small[0] = 2**31
    assert (whole.tolist(), mask.tolist(), small.tolist()) == ([1, 2], [True], [1, 2])


@pytest.mark.parametrize("index", [0, (0, 0), [0], slice(None)])
def test_assignment_to_an_expanded_tensor_is_refused(index):
    y = x.clone().expand(2, 3)
    with raises(ValueError, "cannot write into an expanded tensor, shape (2, 3) with strides (0, 1): call contiguous() first"):
        y[index] = 5


def test_assignment_while_gradients_are_recorded_is_refused():
    a, kept = leaf([1.0, 2.0]), "this tensor"
    for target, value, name in ((a, 5, kept), (a * 2, 5, kept), (zeros((2,)), a.sum(), "the value"), (a, a, kept)):
        with raises(RuntimeError, f"assignment would lose the gradients that {name} records; use where or cat, or write inside no_grad()"):
            target[0] = value
    assert a.tolist() == [1.0, 2.0]


def test_a_failed_assignment_does_not_count_as_a_change():
    a, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (a * w).sum()
    for index, value in ((5, 1), (0, "a"), (0, [1, 2]), (1.5, 0)):
        with pytest.raises((IndexError, TypeError)):
            w[index] = value
    out.backward()
    assert a.grad.tolist() == [3.0, 4.0]


# Conversion to numbers


@pytest.mark.parametrize("act", [copy.deepcopy, copy.copy, pickle.dumps])
def test_a_deep_copy_of_a_computed_tensor_is_refused(act):
    y = leaf([1.0]) * 2
    with raises(RuntimeError, "a tensor that was computed (Mul) cannot be copied or pickled with its graph; take x.detach()"):
        act(y)
    act(y.detach())


# backward


@pytest.mark.parametrize("given", [(2,), (1,), (), (2, 3), (1, 3)])
def test_a_grad_output_of_another_shape_is_refused(given):
    a = leaf([1.0, 2.0, 3.0])
    with raises(ValueError, f"backward expected grad_output of shape (3,), that of the tensor, got {given}"):
        (a * 2).backward(tensor(np.ones(given)))
    assert a.grad is None


@pytest.mark.parametrize(("out_shape", "given"), [((1,), ()), ((), (1,)), ((1, 1), (1,)), ((1,), (1, 1))])
def test_a_grad_output_of_one_element_fits_an_output_of_one_element(out_shape, given):
    a = leaf(np.full(out_shape, 2.0))
    (a * a).backward(tensor(np.full(given, 10.0)))
    assert (a.grad.shape, a.grad.item()) == (out_shape, 40.0)


# User-defined functions


def make_function(forward=None, backward=None):
    """A Function with this forward and backward."""
    parts = {"forward": forward, "backward": backward}
    return type("Made", (Function,), {name: staticmethod(part) for name, part in parts.items() if part})


def of_three(gradients):
    """The result of a function of two leaves and a number, whose backward returns these."""
    a, b = leaf([1.0]), leaf([2.0])
    return a, b, make_function(lambda ctx, a, b, k: a * b, lambda ctx, grad: gradients).apply(a, b, 3)


@pytest.mark.parametrize("count", [0, 4])
def test_a_backward_with_a_wrong_number_of_gradients_is_refused(count):
    with raises(ValueError, f"Made.backward expected to return 3 gradients, one for each argument, got {count}"):
        of_three((1.0,) * count)[-1].backward()


def test_a_backward_may_return_gradients_for_the_tensors_alone():
    a, b, out = of_three((1.0, 1.0))
    out.backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.0], [1.0])


def returns(backward):
    """The sum of a copy of three leaves, whose backward returns this."""
    return make_function(lambda ctx, a: a * 1, lambda ctx, grad: backward).apply(leaf([1.0, 2.0, 3.0])).sum()


def with_hook():
    """The sum of a leaf with a hook that returns a gradient of another shape."""
    a = leaf([1.0, 2.0, 3.0])
    a.register_hook(lambda grad: tensor([1.0, 2.0]))
    return a.sum()


# Everything else


DTYPES = "float64, float32, int64, int32, bool, float16, bfloat16, int16, int8, uint8"
GRADIENT = "a gradient of shape (2,) for a tensor of shape (3,); it must have that shape, or the one that the tensor was broadcast to"
PAIRS = np.zeros(3, [("number", np.float64), ("letter", "S1")])
MISSING = "has no gradient: it defines no backward; call x.detach() before it"
RANGE = "is out of range for dimension 0 of shape (3,): it must be -3 to 2"
INDEX = "an index expected integers, slices, None, ..., lists of integers or masks, got"
FIT = "this index does not fit shape (2, 3):"
STRIDES = "from_numpy expected non-negative strides that are multiples of 8 bytes, got"
LEAF = "only a leaf keeps its gradient, but this tensor was computed or is a constant; see register_hook"
CHAIN = "chain_rule expected a tensor made by a function, got a leaf or a constant, which has no inputs"
EXPORT = "a tensor that records gradients cannot be exported; export x.detach()"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # Construction
        (lambda: zeros((2,), backend=SimpleOps), TypeError,
         f"expected a TensorBackend, got type {SimpleOps!r}; make one with TensorBackend(SimpleOps)"),
        (lambda: zeros((2,), backend="slow"), TypeError,
         "expected a TensorBackend, got str 'slow'; make one with TensorBackend(SimpleOps)"),
        (lambda: zeros((2,), backend=None), TypeError,
         "expected a TensorBackend, got NoneType None; make one with TensorBackend(SimpleOps)"),
        (lambda: Tensor([1.0]), TypeError, "Tensor expected TensorData, got list; convert a list or an array with tensor(...)"),
        (lambda: minitorch.rand((2,), dtype=int64), TypeError,
         "rand expected a dtype of float64 or float32, got int64, which cannot represent numbers between 0 and 1"),
        # Matrices
        (lambda: m @ np.ones((3, 2)), TypeError, "matmul expected a Tensor, got ndarray; make one with tensor(...)"),
        # Shapes
        (lambda: m.permute(0), IndexingError, "Permute: permute expected each of the dimensions (0, 1) of shape (2, 3) once, got (0,)"),
        (lambda: m.permute(0, 0), IndexingError, "expected each dimension at most once for shape (2, 3), got (0, 0)"),
        (lambda: m.permute(1, 0).view(6), ValueError,
         "view expected contiguous elements, got shape (3, 2) with strides (1, 3); call contiguous() first, or reshape"),
        (lambda: m.view(7), ValueError, "view expected a shape of 6 elements like (2, 3), got (7,) of 7"),
        (lambda: m.view(2, 2), ValueError, "view expected a shape of 6 elements like (2, 3), got (2, 2) of 4"),
        (lambda: m.view(()), ValueError, "view expected a shape of 6 elements like (2, 3), got () of 1"),
        (lambda: m.view(6, 0), ValueError, "view expected a shape of 6 elements like (2, 3), got (6, 0) of 0"),
        (lambda: m.view(-1, -1), ValueError, "view expected at most one -1, got (-1, -1)"),
        (lambda: m.view(4, -1), ValueError, "view found no size for -1: shape (2, 3) has 6 elements, (4, -1) a multiple of 4"),
        (lambda: zeros((0, 2)).view(-1, 0), ValueError, "view found no size for -1: shape (0, 2) has 0 elements, (-1, 0) a multiple of 0"),
        (lambda: m.view(2, -3), ValueError, "view expected sizes of at least 0, got (2, -3)"),
        (lambda: m.view(2, float("nan")), TypeError, "view expected whole numbers, got (2, nan); write it as (2, 3)"),
        (lambda: m.view(-1, 2.0), TypeError, "view expected whole numbers, got (2.0,); write it as (2, 3)"),
        (lambda: x.expand(1), IndexingError,
         "Expand: a tensor of shape (3,) cannot be expanded to (1,): only sizes of 1 can be expanded, and dimensions added in front"),
        (lambda: x.expand(3, 2), IndexingError, f"Expand: shapes (3,) and (3, 2) {BROADCAST}"),
        # Indices
        *((lambda i=i: x[i], IndexingError, f"index {i} {RANGE}") for i in (3, -4)),
        *((lambda i=i: setitem(x, i, 0), IndexingError, f"index {i} {RANGE}") for i in (3, -4)),
        *((lambda i=i: m[:, i], IndexingError, f"Select: index {i} is out of range for dimension 1 of shape (2, 3): it must be -3 to 2")
          for i in (3, -4)),
        *((lambda i=i: x[[0, i]], IndexingError,
           f"Select: this index does not fit shape (3,): index {i} is out of bounds for axis 0 with size 3") for i in (3, -4)),
        *((lambda index=index, use=use: use(index), TypeError, f"{INDEX} {type(index).__name__} {index!r}")
          for index in (1.5, "a", 1j, float("nan")) for use in (lambda i: m[i], lambda i: m[0, i], lambda i: setitem(m, i, 1))),
        (lambda: zeros((0,))[0], IndexingError, "index 0 is out of range for dimension 0 of shape (0,): it has no elements"),
        (lambda: m[0, 0, 0], IndexingError, "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (0, 0, 0)"),
        (lambda: m[[0], [0], [0]], IndexingError,
         "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (array([0]), array([0]), array([0]))"),
        (lambda: tensor(1.0)[0], IndexingError, "Select: expected at most 0 indices for shape () and at most one ..., got 1: (0,)"),
        (lambda: setitem(m, (0, 0, 0), 1), IndexingError,
         "expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (0, 0, 0)"),
        (lambda: m[..., ...], IndexingError,
         "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 2: (Ellipsis, Ellipsis)"),
        (lambda: m[..., [0], ...], IndexingError,
         "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (Ellipsis, array([0]), Ellipsis)"),
        (lambda: m[tensor([0.0])], TypeError,
         "an index expected integers or bools, got a list or tensor of float64; convert it: x.to(int64)"),
        (lambda: m[[0.5]], TypeError, "an index expected integers or bools, got a list or tensor of float64; convert it: x.to(int64)"),
        (lambda: m[[[0], [0, 1]]], TypeError, "an index expected a list of integers or bools with equal lengths, got [[0], [0, 1]]"),
        (lambda: m[[0, 1], [0, 1, 2]], IndexingError,
         f"Select: {FIT} shape mismatch: indexing arrays could not be broadcast together with shapes (2,) (3,) "),
        (lambda: m[tensor([True, False, True])], IndexingError,
         "Select: a mask expected shape (2,), that of its dimensions of shape (2, 3), got (3,)"),
        (lambda: x[::0], ValueError, "slice step cannot be zero"),
        # Conversion to numbers
        *((lambda value=value: bool(value), ValueError, f"the truth value of a tensor of shape {shape} is ambiguous; use any() or all()")
          for value, shape in ((x, "(3,)"), (x > 0, "(3,)"), (zeros((0,)), "(0,)"))),
        (lambda: x.item(), ValueError, "item() expected a tensor of one element, got shape (3,); take one by its index: x[0]"),
        (lambda: float(m), ValueError, "item() expected a tensor of one element, got shape (2, 3); take one by its index: x[0, 0]"),
        (lambda: int(zeros((0,))), ValueError, "item() expected a tensor of one element, got shape (0,), which has none"),
        (lambda: f"{x:.2f}", ValueError, "item() expected a tensor of one element, got shape (3,); take one by its index: x[0]"),
        (lambda: range(tensor(1.0)), TypeError, "only a tensor of a single integer can be an index, got shape () of float64"),
        (lambda: range(tensor([True])), TypeError, "only a tensor of a single integer can be an index, got shape (1,) of bool"),
        (lambda: range(tensor([1, 2], dtype=int64)), TypeError,
         "only a tensor of a single integer can be an index, got shape (2,) of int64"),
        (lambda: len(tensor(1.0)), TypeError, "a tensor without dimensions has no length"),
        (lambda: list(tensor(1.0)), TypeError, "a tensor without dimensions has no length"),
        # Gradients
        *((lambda shape=shape: leaf(np.ones(shape)).exp().backward(), RuntimeError,
           f"backward expected a tensor of one element, got shape {shape}; sum it first, or pass grad_output of that shape")
          for shape in ((3,), (2, 3), (0,))),
        (lambda: x.sum().backward(), RuntimeError,
         "backward expected a tensor that was computed from leaves, got a constant; make leaves with requires_grad=True"),
        (lambda: (leaf([1.0, 2.0]) * 2).backward(1.0), ValueError,
         "backward expected grad_output of shape (2,), that of the tensor, got ()"),
        (lambda: (leaf([1.0]) * 2).backward([1.0]), TypeError, "expected a Tensor or a number, got list; convert it with tensor(...)"),
        (lambda: x.register_hook(print), RuntimeError,
         "register_hook expected a tensor that requires gradients, got a constant; call requires_grad_() first"),
        (lambda: x.accumulate_derivative(x), RuntimeError, LEAF),
        (lambda: (leaf([1.0]) * 2).accumulate_derivative(tensor([1.0])), RuntimeError, LEAF),
        (lambda: leaf([1.0, 2.0, 3.0]).accumulate_derivative(tensor([1.0, 2.0])), ValueError, f"accumulate_derivative got {GRADIENT}"),
        (lambda: x.chain_rule(x), RuntimeError, CHAIN),
        (lambda: leaf([1.0]).chain_rule(tensor([1.0])), RuntimeError, CHAIN),
        # User-defined functions
        *((lambda wrong=wrong: make_function(lambda ctx, a: wrong).apply(x), TypeError,
           f"Made.forward expected to return a Tensor, got {wrong!r}") for wrong in (None, 2.0, np.ones(3))),
        (lambda: make_function(lambda ctx, a: a).apply(1.5, "a"), TypeError,
         "Made.apply expected a Tensor, got 1.5, 'a'; make one with tensor(...)"),
        (lambda: make_function(lambda ctx, a: a).apply(), TypeError,
         "Made.apply expected a Tensor, got nothing; make one with tensor(...)"),
        (lambda: make_function().apply(x), RuntimeError, "a Function has no forward of its own; define forward(ctx, ...) in the subclass"),
        (lambda: make_function(lambda ctx, a: a * 2).apply(leaf([1.0])).backward(), RuntimeError, f"Made {MISSING}"),
        (lambda: leaf([1.0]).is_close(1).backward(), RuntimeError, f"IsClose {MISSING}"),
        (lambda: returns(tensor([1.0, 2.0])).backward(), ValueError, f"Made.backward returned {GRADIENT}"),
        (lambda: returns("a").backward(), TypeError, "expected a Tensor or a number, got str; convert it with tensor(...)"),
        (lambda: with_hook().backward(), ValueError, f"a hook returned {GRADIENT}"),
        # Exchange with other libraries
        (lambda: minitorch.from_numpy(np.arange(3.0)[::-1]), ValueError, f"{STRIDES} (-8,); pass array.copy()"),
        (lambda: minitorch.from_numpy(PAIRS["number"]), ValueError, f"{STRIDES} (9,); pass array.copy()"),
        (lambda: minitorch.from_numpy([1.0]), TypeError, "from_numpy expected an array, got list; use tensor(...)"),
        (lambda: minitorch.from_numpy(np.zeros(2, np.uint16)), TypeError,
         f"expected a dtype of {DTYPES}, got 'uint16'; convert the values to one of these first"),
        (lambda: np.from_dlpack(leaf([1.0])), BufferError, EXPORT),
        (lambda: np.from_dlpack(leaf([1.0]) * 2), BufferError, EXPORT),
        (lambda: minitorch.from_dlpack([1.0]), TypeError, "from_dlpack expected a tensor of a library that supports DLPack, got list"),
        (lambda: minitorch.from_dlpack(np.arange(3.0)[::-1]), BufferError,
         "from_dlpack expected non-negative strides, got (-8,); copy the tensor first"),
        (lambda: np.array(x, dtype=np.float32, copy=False), ValueError,
         "an array of float32 from a tensor of float64 needs a copy; leave out copy=False"),
    ],
)  # fmt: skip
def test_a_wrong_call_is_refused(call, error, message):
    with raises(error, message):
        call()


def test_writing_to_a_read_only_array_is_refused():
    array = np.arange(3.0)
    array.flags.writeable = False
    with raises(ValueError, "assignment destination is read-only"):
        minitorch.from_numpy(array)[0] = 5
    assert TensorData(array, (3,)).get((1,)) == 1.0
