"""Every error that a user of tensors can encounter, with its whole message."""

import copy
import pickle

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


@pytest.mark.parametrize("ragged", [[[1, 2], [3]], [1, [2]], [[[1]], [[1, 2]]], ((1,), (2, 3))])
def test_a_ragged_list_is_refused(ragged):
    with raises(ValueError, f"tensor expected lists of equal lengths at every depth, got {ragged}; pad the short ones"):
        tensor(ragged)


def test_a_long_ragged_list_is_shortened():
    ragged = [[float(i)] * (1 + i % 2) for i in range(100)]
    with raises(ValueError, f"tensor expected lists of equal lengths at every depth, got {repr(ragged)[:76]} ...; pad the short ones"):
        tensor(ragged)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["a", "b"], "['a', 'b']"),
        ("12", "'12'"),
        (None, "None"),
        ([1, None], "[1, None]"),
        ([1j], "[1j]"),
        ([{1}], "[{1}]"),
        ([2**70], f"[{2**70}]"),
    ],
)
def test_values_that_are_not_numbers_are_refused(values, shown):
    with raises(TypeError, f"tensor expected numbers, got {shown}"):
        tensor(values)


@pytest.mark.parametrize("make", [zeros, minitorch.rand, minitorch.ones, minitorch.randn, lambda shape: minitorch.full(shape, 1)])
def test_an_invalid_shape_is_refused(make):
    op = {zeros: "zeros", minitorch.rand: "rand", minitorch.ones: "ones", minitorch.randn: "randn"}.get(make, "full")
    with raises(ValueError, f"{op} expected sizes of at least 0, got (2, -1)"):
        make((2, -1))
    with raises(TypeError, f"{op} expected whole numbers, got (2, nan); write it as (2, 3)"):
        make((2, float("nan")))
    with raises(TypeError, f"{op} expected whole numbers, got (2.0, 3); write it as (2, 3)"):
        make((2.0, 3))
    with raises(TypeError, f"{op} expected whole numbers, got 'ab'; write it as (2, 3)"):
        make("ab")
    with raises(ValueError, f"{op} expected at most 32 dimensions, got 33"):
        make((1,) * 33)


def test_an_invalid_backend_is_refused():
    for wrong, shown in ((SimpleOps, f"type {SimpleOps!r}"), ("slow", "str 'slow'"), (None, "NoneType None")):
        with raises(TypeError, f"expected a TensorBackend, got {shown}; make one with TensorBackend(SimpleOps)"):
            zeros((2,), backend=wrong)


def test_a_tensor_needs_tensor_data():
    with raises(TypeError, "Tensor expected TensorData, got list; convert a list or an array with tensor(...)"):
        Tensor([1.0])


def test_random_numbers_need_a_floating_dtype():
    with raises(TypeError, "rand expected a dtype of float64 or float32, got int64, which cannot represent numbers between 0 and 1"):
        minitorch.rand((2,), dtype=int64)


@pytest.mark.parametrize("dtype", [int64, int32, minitorch.bool_])
def test_a_leaf_needs_a_floating_dtype(dtype):
    message = f"only floating-point tensors can require gradients, got {dtype.name}; convert it first: x.to(float64)"
    constant = tensor([0, 1], dtype=dtype)
    for make in (
        lambda: tensor([0, 1], dtype=dtype, requires_grad=True),
        lambda: zeros((2,), dtype=dtype, requires_grad=True),
        lambda: constant.requires_grad_(),
        lambda: (leaf([0.0, 1.0]) * 2).to(dtype).requires_grad_(),
        lambda: minitorch.Parameter(constant),
    ):
        with raises(TypeError, message):
            make()
    assert constant.requires_grad_(False).is_constant()


# Arithmetic


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
    with raises(
        IndexingError,
        f"{name}: shapes (3,) and (2,) do not broadcast: aligned from the right, 3 does not match 2; "
        "sizes must be equal, or one of them 1 (view can insert a 1)",
    ):
        op(x, x[:2])


@pytest.mark.parametrize("other", ["a", None, [1.0], np.ones(3), 1j, np.complex128(1)], ids=lambda other: type(other).__name__)
@pytest.mark.parametrize(
    "op",
    [
        lambda a, b: a + b,
        lambda a, b: b + a,
        lambda a, b: a - b,
        lambda a, b: b - a,
        lambda a, b: a * b,
        lambda a, b: b * a,
        lambda a, b: a / b,
        lambda a, b: b / a,
        lambda a, b: a**b,
        lambda a, b: b**a,
        lambda a, b: a < b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a.is_close(b),
    ],
)
def test_an_operand_that_is_not_a_number_is_refused(op, other):
    with raises(
        TypeError,
        f"expected a Tensor or a number, got {type(other).__name__}; convert it with tensor(...)",
    ):
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


def test_incompatible_matrices_are_refused():
    with raises(
        ValueError,
        "matmul expected shapes (…, n, k) and (…, k, m), got (2, 3) and (2, 3); "
        "the last size of the first must be the last but one of the second",
    ):
        m @ m
    with raises(TypeError, "matmul expected a Tensor, got ndarray; make one with tensor(...)"):
        m @ np.ones((3, 2))


# Dimensions and shapes


@pytest.mark.parametrize("dim", [2, -3])
@pytest.mark.parametrize(
    "op",
    [
        lambda dim: m.sum(dim),
        lambda dim: m.mean((0, dim)),
        lambda dim: m.all(dim),
        lambda dim: m.max(dim),
        lambda dim: m.argmax(dim),
        lambda dim: m.permute(dim, 0),
        lambda dim: m.transpose(0, dim),
        lambda dim: m.squeeze(dim),
        lambda dim: m.cumsum(dim),
        lambda dim: m.split(1, dim),
        lambda dim: minitorch.cat([m, m], dim),
    ],
)
def test_a_dimension_out_of_range_is_refused(op, dim):
    with raises(IndexingError, f"dimension {dim} is out of range for shape (2, 3), which has 2"):
        op(dim)


@pytest.mark.parametrize("dim", [1.0, "0", 0.5])
def test_a_dimension_that_is_not_an_integer_is_refused(dim):
    for op in (m.sum, m.mean, m.squeeze, lambda d: m.permute(d, 0), lambda d: m.sum((0, d))):
        with raises(TypeError, f"a dimension expected an integer, got {dim!r}"):
            op(dim)


@pytest.mark.parametrize("dims", [(0, 0), (1, -1), [0, 1, 0]])
def test_a_repeated_dimension_is_refused(dims):
    for op in (m.sum, m.mean, m.all, m.var, m.squeeze):
        with raises(IndexingError, f"expected each dimension at most once for shape (2, 3), got {dims}"):
            op(dims)


def test_an_invalid_order_is_refused():
    with raises(IndexingError, "Permute: permute expected each of the dimensions (0, 1) of shape (2, 3) once, got (0,)"):
        m.permute(0)
    with raises(IndexingError, "expected each dimension at most once for shape (2, 3), got (0, 0)"):
        m.permute(0, 0)


def test_a_view_of_a_noncontiguous_tensor_is_refused():
    with raises(
        ValueError,
        "view expected contiguous elements, got shape (3, 2) with strides (1, 3); call contiguous() first, or reshape",
    ):
        m.permute(1, 0).view(6)
    assert m.permute(1, 0).contiguous().view(6).tolist() == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]


@pytest.mark.parametrize("shape", [(7,), (2, 2), (), (6, 0)])
def test_a_view_with_another_number_of_elements_is_refused(shape):
    with raises(ValueError, f"view expected a shape of 6 elements like (2, 3), got {shape} of {int(np.prod(shape))}"):
        m.view(shape)


def test_a_view_with_an_ambiguous_minus_1_is_refused():
    with raises(ValueError, "view expected at most one -1, got (-1, -1)"):
        m.view(-1, -1)
    with raises(ValueError, "view found no size for -1: shape (2, 3) has 6 elements, (4, -1) a multiple of 4"):
        m.view(4, -1)
    with raises(ValueError, "view found no size for -1: shape (0, 2) has 0 elements, (-1, 0) a multiple of 0"):
        zeros((0, 2)).view(-1, 0)


def test_a_view_with_invalid_sizes_is_refused():
    with raises(ValueError, "view expected sizes of at least 0, got (2, -3)"):
        m.view(2, -3)
    with raises(TypeError, "view expected whole numbers, got (2, nan); write it as (2, 3)"):
        m.view(2, float("nan"))
    with raises(TypeError, "view expected whole numbers, got (2.0,); write it as (2, 3)"):
        m.view(-1, 2.0)


def test_expanding_a_size_other_than_1_is_refused():
    for shape in [(1,), (2, 1)]:
        with raises(
            IndexingError,
            f"Expand: a tensor of shape (3,) cannot be expanded to {shape}: only sizes of 1 can be expanded, and dimensions added in front",
        ):
            x.expand(*shape)
    with raises(
        IndexingError,
        "Expand: shapes (3,) and (3, 2) do not broadcast: aligned from the right, 3 does not match 2; "
        "sizes must be equal, or one of them 1 (view can insert a 1)",
    ):
        x.expand(3, 2)


# Indices

BASIC = "an index expected integers, slices, None, ..., lists of integers or masks, got"


@pytest.mark.parametrize("i", [3, -4])
def test_an_index_out_of_range_is_refused(i):
    with raises(IndexingError, f"index {i} is out of range for dimension 0 of shape (3,): it must be -3 to 2"):
        x[i]
    with raises(IndexingError, f"Select: index {i} is out of range for dimension 1 of shape (2, 3): it must be -3 to 2"):
        m[:, i]
    with raises(IndexingError, f"Select: this index does not fit shape (3,): index {i} is out of bounds for axis 0 with size 3"):
        x[[0, i]]
    with raises(IndexingError, f"index {i} is out of range for dimension 0 of shape (3,): it must be -3 to 2"):
        x[i] = 0
    with raises(IndexingError, "index 0 is out of range for dimension 0 of shape (0,): it has no elements"):
        zeros((0,))[0]


def test_an_index_error_is_an_index_error():
    with pytest.raises(IndexError):
        x[3]


def test_a_wrong_number_of_indices_is_refused():
    with raises(IndexingError, "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (0, 0, 0)"):
        m[0, 0, 0]
    with raises(IndexingError, "Select: expected at most 0 indices for shape () and at most one ..., got 1: (0,)"):
        tensor(1.0)[0]
    with pytest.raises(IndexingError, match=r"^Select: this index does not fit shape \(2, 3\): too many indices for array"):
        m[[0], [0], [0]]
    with raises(IndexingError, "expected at most 2 indices for shape (2, 3) and at most one ..., got 3: (0, 0, 0)"):
        m[0, 0, 0] = 1


def test_two_ellipses_are_refused():
    with raises(IndexingError, "Select: expected at most 2 indices for shape (2, 3) and at most one ..., got 2: (Ellipsis, Ellipsis)"):
        m[..., ...]
    with raises(IndexingError, "Select: this index does not fit shape (2, 3): an index can only have a single ellipsis ('...')"):
        m[..., [0], ...]


@pytest.mark.parametrize(("index", "shown"), [(1.5, "float 1.5"), ("a", "str 'a'"), (1j, "complex 1j"), (float("nan"), "float nan")])
def test_an_invalid_index_is_refused(index, shown):
    with raises(TypeError, f"{BASIC} {shown}"):
        m[index]
    with raises(TypeError, f"{BASIC} {shown}"):
        m[0, index]
    with raises(TypeError, f"{BASIC} {shown}"):
        m[index] = 1


def test_an_invalid_index_list_is_refused():
    with raises(TypeError, "an index expected integers or bools, got a list or tensor of float64; convert it: x.to(int64)"):
        m[tensor([0.0])]
    with raises(TypeError, "an index expected integers or bools, got a list or tensor of float64; convert it: x.to(int64)"):
        m[[0.5]]
    with raises(TypeError, "an index expected a list of integers or bools with equal lengths, got [[0], [0, 1]]"):
        m[[[0], [0, 1]]]


def test_lists_and_masks_of_the_wrong_size_are_refused():
    with raises(
        IndexingError,
        "Select: this index does not fit shape (2, 3): shape mismatch: indexing arrays could not be broadcast together "
        "with shapes (2,) (3,) ",
    ):
        m[[0, 1], [0, 1, 2]]
    with raises(
        IndexingError,
        "Select: this index does not fit shape (2, 3): boolean index did not match indexed array along axis 0; "
        "size of axis is 2 but size of corresponding boolean axis is 3",
    ):
        m[tensor([True, False, True])]


def test_a_step_of_0_is_refused():
    with raises(ValueError, "slice step cannot be zero"):
        x[::0]


# Assignment


def test_assigned_values_must_broadcast_to_the_selection():
    for value in ([1, 2], np.ones(2), tensor([1.0, 2.0])):
        with raises(IndexingError, "assignment expected values that broadcast to (3,), the shape at the index, got (2,)"):
            m[0] = value
        with raises(IndexingError, "assignment expected values that broadcast to (1, 3), the shape at the index, got (2,)"):
            m[[0]] = value
    with raises(IndexingError, "assignment expected values that broadcast to (), the shape at the index, got (2,)"):
        m[0, 0] = [1, 2]


@pytest.mark.parametrize("value", ["a", None, {}, 1j])
def test_assigned_values_must_be_numbers(value):
    with raises(TypeError, f"assignment expected numbers, got {value!r}"):
        m[0] = value


def test_an_assigned_list_must_not_be_ragged():
    with raises(ValueError, "assignment expected lists of equal lengths at every depth, got [[1], [2, 3]]; pad the short ones"):
        m[0] = [[1], [2, 3]]


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


def test_assignment_to_an_expanded_tensor_is_refused():
    message = "cannot write into an expanded tensor, shape (2, 3) with strides (0, 1): call contiguous() first"
    y = x.clone().expand(2, 3)
    for index in (0, (0, 0), [0], slice(None)):
        with raises(ValueError, message):
            y[index] = 5


def test_assignment_while_gradients_are_recorded_is_refused():
    a, message = leaf([1.0, 2.0]), "assignment would lose the gradients that {} records; use where or cat, or write inside no_grad()"
    with raises(RuntimeError, message.format("this tensor")):
        a[0] = 5
    with raises(RuntimeError, message.format("this tensor")):
        (a * 2)[0] = 5
    with raises(RuntimeError, message.format("the value")):
        tensor([0.0, 0.0])[0] = a.sum()
    with raises(RuntimeError, message.format("this tensor")):
        a[0] = a
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


def test_item_needs_exactly_one_element():
    with raises(ValueError, "item() expected a tensor of one element, got shape (3,); take one by its index: x[0]"):
        x.item()
    with raises(ValueError, "item() expected a tensor of one element, got shape (2, 3); take one by its index: x[0, 0]"):
        float(m)
    with raises(ValueError, "item() expected a tensor of one element, got shape (0,), which has none"):
        int(zeros((0,)))
    with raises(ValueError, "item() expected a tensor of one element, got shape (3,); take one by its index: x[0]"):
        f"{x:.2f}"


def test_the_truth_value_needs_exactly_one_element():
    for value in (x, x > 0, zeros((0,))):
        with raises(ValueError, f"the truth value of a tensor of shape {value.shape} is ambiguous; use any() or all()"):
            bool(value)
    with pytest.raises(ValueError, match="is ambiguous"):
        assert x == x


def test_a_conversion_to_int_needs_an_integer():
    for value, shown in ((tensor(1.0), "() of float64"), (tensor([True]), "(1,) of bool"), (tensor([1, 2], dtype=int64), "(2,) of int64")):
        with raises(TypeError, f"only a tensor of a single integer can be an index, got shape {shown}"):
            range(value)


def test_a_tensor_without_dimensions_has_no_length():
    for op in (len, list):
        with raises(TypeError, "a tensor without dimensions has no length"):
            op(tensor(1.0))


# backward


def test_backward_of_a_constant_is_refused():
    with raises(
        RuntimeError, "backward expected a tensor that was computed from leaves, got a constant; make leaves with requires_grad=True"
    ):
        x.sum().backward()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,)])
def test_backward_of_many_elements_needs_a_grad_output(shape):
    with raises(
        RuntimeError, f"backward expected a tensor of one element, got shape {shape}; sum it first, or pass grad_output of that shape"
    ):
        leaf(np.ones(shape)).exp().backward()


@pytest.mark.parametrize("given", [(2,), (1,), (), (2, 3), (1, 3)])
def test_a_grad_output_of_another_shape_is_refused(given):
    a = leaf([1.0, 2.0, 3.0])
    with raises(ValueError, f"backward expected grad_output of shape (3,), that of the tensor, got {given}"):
        (a * 2).backward(tensor(np.ones(given)))
    assert a.grad is None


def test_a_grad_output_that_is_not_a_tensor_is_refused():
    a = leaf([1.0, 2.0, 3.0])
    with raises(ValueError, "backward expected grad_output of shape (3,), that of the tensor, got ()"):
        (a * 2).backward(1.0)
    with raises(TypeError, "expected a Tensor or a number, got list; convert it with tensor(...)"):
        (a * 2).backward([1.0, 1.0, 1.0])


@pytest.mark.parametrize(("out_shape", "given"), [((1,), ()), ((), (1,)), ((1, 1), (1,)), ((1,), (1, 1))])
def test_a_grad_output_of_one_element_fits_an_output_of_one_element(out_shape, given):
    a = leaf(np.full(out_shape, 2.0))
    (a * a).backward(tensor(np.full(given, 10.0)))
    assert (a.grad.shape, a.grad.item()) == (out_shape, 40.0)


def test_a_hook_on_a_constant_is_refused():
    with raises(RuntimeError, "register_hook expected a tensor that requires gradients, got a constant; call requires_grad_() first"):
        x.register_hook(print)


def test_a_gradient_for_a_tensor_that_is_not_a_leaf_is_refused():
    for wrong in (tensor([1.0]), leaf([1.0]) * 2):
        with raises(RuntimeError, "only a leaf keeps its gradient, but this tensor was computed or is a constant; see register_hook"):
            wrong.accumulate_derivative(tensor([1.0]))


def test_the_chain_rule_of_a_leaf_is_refused():
    for wrong in (tensor([1.0]), leaf([1.0])):
        with raises(RuntimeError, "chain_rule expected a tensor made by a function, got a leaf or a constant, which has no inputs"):
            wrong.chain_rule(tensor([1.0]))


# User-defined functions


def make_function(forward=None, backward=None):
    """A Function with this forward and backward."""
    parts = {"forward": forward, "backward": backward}
    return type("Made", (Function,), {name: staticmethod(part) for name, part in parts.items() if part})


def test_a_function_without_tensor_arguments_is_refused():
    identity = make_function(lambda ctx, a: a)
    with raises(TypeError, "Made.apply expected a Tensor, got 1.5, 'a'; make one with tensor(...)"):
        identity.apply(1.5, "a")
    with raises(TypeError, "Made.apply expected a Tensor, got nothing; make one with tensor(...)"):
        identity.apply()


def test_a_function_without_forward_or_backward_is_refused():
    with raises(RuntimeError, "a Function has no forward of its own; define forward(ctx, ...) in the subclass"):
        make_function().apply(x)
    with raises(RuntimeError, "Made has no gradient: it defines no backward; call x.detach() before it"):
        make_function(lambda ctx, a: a * 2).apply(leaf([1.0])).backward()
    with raises(RuntimeError, "IsClose has no gradient: it defines no backward; call x.detach() before it"):
        leaf([1.0]).is_close(1).backward()


def test_a_forward_that_does_not_return_a_tensor_is_refused():
    for wrong in (None, 2.0, np.ones(3)):
        with raises(TypeError, f"Made.forward expected to return a Tensor, got {wrong!r}"):
            make_function(lambda ctx, a, wrong=wrong: wrong).apply(x)


@pytest.mark.parametrize(("gradients", "count"), [(lambda g: (g, g), 2), (lambda g: (), 0), (lambda g: (g, g, g, g), 4)])
def test_a_backward_with_a_wrong_number_of_gradients_is_refused(gradients, count):
    function = make_function(lambda ctx, a, b, k: a * b, lambda ctx, grad: gradients(grad))
    a, b = leaf([1.0]), leaf([2.0])
    if count == 2:  # one for each tensor; the plain value has no gradient
        function.apply(a, b, 3).backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([1.0], [1.0])
        return
    with raises(ValueError, f"Made.backward expected to return 3 gradients, one for each argument, got {count}"):
        function.apply(a, b, 3).backward()


def test_a_backward_with_a_gradient_of_another_shape_is_refused():
    function = make_function(lambda ctx, a: a * 1, lambda ctx, grad: tensor([1.0, 2.0]))
    with raises(
        ValueError,
        "Made.backward returned a gradient of shape (2,) for a tensor of shape (3,); it must have that shape, "
        "or the one that the tensor was broadcast to",
    ):
        function.apply(leaf([1.0, 2.0, 3.0])).sum().backward()


def test_a_backward_or_hook_that_does_not_return_a_gradient_is_refused():
    function = make_function(lambda ctx, a: a * 1, lambda ctx, grad: "a")
    with raises(TypeError, "expected a Tensor or a number, got str; convert it with tensor(...)"):
        function.apply(leaf([1.0])).backward()


def test_a_hook_with_a_gradient_of_another_shape_is_refused():
    a = leaf([1.0, 2.0, 3.0])
    a.register_hook(lambda grad: tensor([1.0, 2.0]))
    with raises(
        ValueError,
        "a hook returned a gradient of shape (2,) for a tensor of shape (3,); it must have that shape, "
        "or the one that the tensor was broadcast to",
    ):
        a.sum().backward()


def test_assigning_a_gradient_of_another_shape_is_refused():
    with raises(
        ValueError,
        "accumulate_derivative got a gradient of shape (2,) for a tensor of shape (3,); it must have that shape, "
        "or the one that the tensor was broadcast to",
    ):
        leaf([1.0, 2.0, 3.0]).accumulate_derivative(tensor([1.0, 2.0]))


# Exchange with other libraries


def test_an_array_that_cannot_be_a_storage_is_refused():
    with raises(ValueError, "from_numpy expected non-negative strides that are multiples of 8 bytes, got (-8,); pass array.copy()"):
        minitorch.from_numpy(np.arange(3.0)[::-1])
    pairs = np.zeros(3, [("number", np.float64), ("letter", "S1")])
    with raises(ValueError, "from_numpy expected non-negative strides that are multiples of 8 bytes, got (9,); pass array.copy()"):
        minitorch.from_numpy(pairs["number"])
    with raises(TypeError, "from_numpy expected an array, got list; use tensor(...)"):
        minitorch.from_numpy([1.0])
    with raises(
        TypeError,
        "expected a dtype of float64, float32, int64, int32, bool, float16, bfloat16, int16, int8, uint8, got 'uint16'; "
        "convert the values to one of these first",
    ):
        minitorch.from_numpy(np.zeros(2, np.uint16))


def test_dlpack_export_of_a_tensor_that_records_gradients_is_refused():
    for value in (leaf([1.0]), leaf([1.0]) * 2):
        with raises(BufferError, "a tensor that records gradients cannot be exported; export x.detach()"):
            np.from_dlpack(value)


def test_dlpack_import_of_an_object_without_dlpack_is_refused():
    with raises(TypeError, "from_dlpack expected a tensor of a library that supports DLPack, got list"):
        minitorch.from_dlpack([1.0])
    with raises(BufferError, "from_dlpack expected non-negative strides, got (-8,); copy the tensor first"):
        minitorch.from_dlpack(np.arange(3.0)[::-1])


def test_an_array_of_another_dtype_needs_a_copy():
    with raises(ValueError, "an array of float32 from a tensor of float64 needs a copy; leave out copy=False"):
        np.array(x, dtype=np.float32, copy=False)


@pytest.mark.parametrize("act", [copy.deepcopy, copy.copy, pickle.dumps])
def test_a_deep_copy_of_a_computed_tensor_is_refused(act):
    y = leaf([1.0]) * 2
    with raises(RuntimeError, "a tensor that was computed (Mul) cannot be copied or pickled with its graph; take x.detach()"):
        act(y)
    act(y.detach())


def test_writing_to_a_read_only_array_is_refused():
    array = np.arange(3.0)
    array.flags.writeable = False
    with raises(ValueError, "assignment destination is read-only"):
        minitorch.from_numpy(array)[0] = 5
    assert TensorData(array, (3,)).get((1,)) == 1.0
