"""Gradients as values, and gradients that are recorded: what `grad` and `backward(create_graph=True)` return, keep, free and refuse."""

import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, Tensor, float32, float64, nn, no_grad, tensor
from minitorch.autograd import grad
from minitorch.core.context import grad_mode
from tests.autograd.conftest import Cube, function, leaf
from tests.errors import raises

# Values


def test_grad_returns_the_gradients_and_leaves_the_leaves_alone():
    x, y = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    by_x, by_y = grad((x * y).sum(), [x, y])
    assert (by_x.tolist(), by_y.tolist()) == ([5.0, 7.0], [2.0, 3.0])
    assert (x.grad, y.grad, by_x.requires_grad) == (None, None, False)
    assert minitorch.grad is grad


def test_grad_by_parameters():
    layer = nn.Linear(2, 1, device="simple", dtype="float64")
    loss = layer(tensor([[3.0, 5.0]])).sum()
    assert [g.tolist() for g in grad(loss, layer.parameters())] == [[[3.0, 5.0]], [1.0]]


def test_grad_by_a_tensor_on_the_way_and_by_what_it_was_computed_from():
    x = leaf([2.0])
    h = x * x
    by_h, by_x, again = grad(h * h * h, (h, x, h))
    assert (by_h.tolist(), by_x.tolist(), again.tolist()) == ([48.0], [192.0], [48.0])  # 3h², 6x⁵


def test_grad_of_several_outputs_is_that_of_their_sum():
    x = leaf([2.0, 3.0])
    (g,) = grad([x * x, (x * 3).sum()], x, [tensor([1.0, 10.0]), None])
    assert g.tolist() == [7.0, 63.0]


def test_grad_of_a_leaf_by_itself():
    x, y = leaf([2.0, 3.0]), leaf([1.0])
    assert [g.tolist() for g in grad(x, x, tensor([5.0, 7.0]))] == [[5.0, 7.0]]
    assert [g.tolist() if g else None for g in grad(y, [y, x], allow_unused=True)] == [[1.0], None]


def test_gradients_share_no_storage():
    x, y = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    seed = tensor([1.0, 1.0])
    by_x, by_y = grad(x + y, [x, y], seed)
    by_x[0] = 9
    assert (by_y.tolist(), seed.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_a_gradient_has_the_shape_and_the_dtype_of_its_input():
    x, y = leaf([[2.0], [3.0]], float32), leaf([1.0, 2.0, 3.0], float64)
    for create_graph in (False, True):
        by_x, by_y = grad((x * y * y).sum(), [x, y], create_graph=create_graph)
        assert (by_x.shape, by_x.dtype, by_y.shape, by_y.dtype) == ((2, 1), float32, (3,), float64)
        assert (by_x.tolist(), by_y.tolist()) == ([[14.0], [14.0]], [10.0, 20.0, 30.0])


def test_grad_goes_only_where_it_is_wanted():
    x, y, seen = leaf([2.0]), leaf([3.0]), []
    ways = [v * 2 for v in (x, y)]
    for way in ways:
        way.register_hook(seen.append)
    grad(ways[0] * ways[1], x)
    assert [g.tolist() for g in seen] == [[6.0]]


def test_hooks_change_what_grad_returns_and_are_called_once():
    x = leaf([2.0])
    h = x * x
    calls = []
    h.register_hook(lambda g: calls.append(g.tolist()) or g * 10)
    x.register_hook(lambda g: g + 1)
    for create_graph in (False, True):
        by_h, by_x = grad(h * 3, [h, x], retain_graph=True, create_graph=create_graph)
        assert (by_h.tolist(), by_x.tolist(), calls.pop(), calls) == ([30.0], [121.0], [3.0], [])


# Recorded


def test_backward_with_create_graph_leaves_gradients_that_are_recorded():
    x, y = leaf([2.0, 3.0]), leaf([1.0, 1.0])
    (x * x * x + y).sum().backward(create_graph=True)
    assert (x.grad.tolist(), x.grad.requires_grad, y.grad.tolist(), y.grad.requires_grad) == ([12.0, 27.0], True, [1.0, 1.0], False)
    first = x.grad
    x.grad = None
    first.sum().backward()
    assert (x.grad.tolist(), x.grad.requires_grad) == ([12.0, 18.0], False)


def test_recorded_gradients_add_up_in_a_leaf():
    x = leaf([3.0])
    y = x * x
    y.backward(create_graph=True)
    y.backward(create_graph=True)
    assert x.grad.tolist() == [12.0]
    assert grad(x.grad, x)[0].tolist() == [4.0]


def test_a_gradient_of_the_output_may_be_differentiated_too():
    x, v = leaf([2.0, 3.0]), leaf([1.0, 10.0])
    (g,) = grad(x * x, x, v, create_graph=True)
    assert grad(g.sum(), v)[0].tolist() == [4.0, 6.0]
    x.zero_grad_()
    (x * x).backward(v, create_graph=True)
    assert grad(x.grad.sum(), [x, v])[1].tolist() == [4.0, 6.0]


def test_recording_is_as_before_also_after_an_error():
    def fail(*_):
        raise ZeroDivisionError

    x = leaf([1.0])
    for create_graph in (False, True):
        with pytest.raises(ZeroDivisionError):
            grad(function(lambda ctx, a: a * 1, fail).apply(x), x, create_graph=create_graph)
        assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    y = x * x
    with no_grad():
        (g,) = grad(y, x, create_graph=True)
        assert (g.requires_grad, grad_mode.enabled) == (True, False)


def test_the_graph_is_freed_unless_it_is_retained_or_recorded():
    x = leaf([2.0])
    y = x * x
    grad(y, x, create_graph=True)
    grad(y, x, retain_graph=True)
    grad(y, x)
    message = "an earlier backward pass freed what Mul had saved; pass retain_graph=True the first time, "
    for again in (lambda: grad(y, x), lambda: y.backward(create_graph=True)):
        with raises(RuntimeError, message + "or compute the output again"):
            again()


@pytest.mark.parametrize("backend", [minitorch.SimpleBackend, FastBackend], ids=lambda backend: backend.name)
def test_what_was_saved_must_not_be_written_into(backend):
    x, target = leaf([[1.0, 2.0]], backend=backend), tensor([1], backend, dtype=minitorch.int64)
    loss = nn.cross_entropy(x, target) + (x * x).sum()
    with no_grad():
        x[0, 0] = 5
    with pytest.raises(RuntimeError, match="as it was in forward, but it has been written into since; "):
        grad(loss, x, create_graph=True)


# What is refused


X, Y, C = leaf([2.0, 3.0]), leaf([1.0]), tensor([1.0])
CONSTANT = "that require gradients, got a constant as number"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([3.0], X), TypeError, "grad expected tensors as outputs, got float"),
        ((3.0, X), TypeError, "grad expected tensors as outputs, got float"),
        ((Y, [None]), TypeError, "grad expected tensors as inputs, got NoneType"),
        ((Y, X, 2.0), TypeError, "grad expected tensors or None as grad_outputs, got float"),
        ((X, X, [np.ones(2)]), TypeError, "grad expected tensors or None as grad_outputs, got ndarray"),
        ((C, X), RuntimeError, f"grad expected outputs {CONSTANT} 0; make it a leaf before use"),
        ((Y, [Y, C]), RuntimeError, f"grad expected inputs {CONSTANT} 1; make it a leaf before use"),
        ((X, X), RuntimeError, "grad expected outputs of one element, got shape (2,); sum it first, or pass grad_outputs of that shape"),
        ((X, X, C), ValueError, "grad expected grad_outputs of shape (2,), that of the output, got (1,)"),
        ((Y, Y, [C, C]), ValueError, "grad expected one of grad_outputs for each of 1 outputs, got 2"),
        ((Y, [Y, X]), RuntimeError, "grad found that no output depends on input 1; leave it out, or pass allow_unused=True for None"),
    ],
)
def test_what_grad_is_given_is_checked(arguments, error, message):
    with raises(error, message):
        grad(*arguments)


# Functions that users write


def test_a_function_whose_backward_is_made_of_operations_can_be_differentiated_as_often_as_one_likes():
    x = leaf([2.0, -1.0])
    (g,) = grad(Cube.apply(x, 5).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x, create_graph=True)
    (i,) = grad(h.sum(), x)
    assert (g.tolist(), h.tolist(), i.tolist()) == ([60.0, 15.0], [60.0, -30.0], [30.0, 30.0])
    assert type(g) is Tensor


def test_a_function_may_save_its_result():
    root = function(lambda ctx, a: setattr(ctx, "y", a.sqrt()) or ctx.y, lambda ctx, grad_output: [grad_output / ctx.y / 2])
    x = leaf([4.0])
    (g,) = grad(root.apply(x), x, create_graph=True)
    assert (g.item(), grad(g, x)[0].item()) == (0.25, -0.03125)  # -1/4 · x^(-3/2)


def squares(save, back):
    """A function that computes a², with a backward pass of its own."""
    return function(lambda ctx, a: save(ctx, a) or a * a, back, "Square")


def keep(ctx, a):
    ctx.save_for_backward(a)


def not_again(reason):
    return raises(
        RuntimeError,
        f"the gradient of Square cannot be differentiated again: {reason}; write its backward with operations on tensors, from arguments "
        "and result alone, or give the class a static method composed(*args) that computes the same with such operations",
    )


NUMPY = "its backward reads the numbers of a tensor outside of operations on tensors"
SAVED = "it saved numbers of shape (2,) that are neither an argument nor the result"


@pytest.mark.parametrize(
    ("save", "back", "reason"),
    [
        (keep, lambda ctx, g: g.f.mul_zip(g, ctx.saved_values[0]) * 2, NUMPY),
        (keep, lambda ctx, g: g * tensor(ctx.saved_values[0].numpy() * 2), NUMPY),
        (keep, lambda ctx, g: g * tensor([2 * x for x in ctx.saved_values[0].tolist()]), NUMPY),
        (keep, lambda ctx, g: g * tensor([2 * ctx.saved_values[0][0], 2 * ctx.saved_values[0][1]]), NUMPY),
        (keep, lambda ctx, g: (ctx.saved_values[0] * 2).f.mul_zip(ctx.saved_values[0] * 2, g), NUMPY),
        (lambda ctx, a: ctx.save_for_backward(a + a), lambda ctx, g: g * ctx.saved_values[0], SAVED),
        (lambda ctx, a: ctx.save_for_backward([a.to_numpy()]), lambda ctx, g: g * tensor(ctx.saved_values[0][0] * 2), SAVED),
        (lambda ctx, a: setattr(ctx, "double", {"of": a + a}), lambda ctx, g: g * ctx.double["of"], SAVED),
    ],
)
def test_a_backward_that_cannot_be_recorded_says_so_when_its_gradient_is_differentiated(save, back, reason):
    square = squares(save, back)
    x = leaf([2.0, 3.0])
    (g,) = grad(square.apply(x).sum(), x, create_graph=True)
    assert (g.tolist(), g.requires_grad) == ([4.0, 6.0], True)
    with not_again(reason):
        g.sum().backward()


def test_the_gradient_that_backward_gets_is_watched_if_it_depends_on_anything():
    square = squares(keep, lambda ctx, g: tensor(g.to_numpy()) * ctx.saved_values[0] * 2)
    x = leaf([2.0, 3.0])
    (g,) = grad(square.apply(x).sum(), x, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == [2.0, 2.0]  # there it is a row of ones
    y = square.apply(x)
    (g,) = grad((y * y).sum(), x, create_graph=True)
    with not_again(NUMPY):
        grad(g.sum(), x)


def test_a_gradient_out_of_nothing_is_noticed_when_the_output_is_not_the_last():
    square = squares(keep, lambda ctx, g: tensor([4.0, 6.0]))
    x = leaf([2.0, 3.0])
    y = square.apply(x)
    (g,) = grad((y * y).sum(), x, create_graph=True)
    with not_again("its backward returns a gradient that no operation on tensors has computed"):
        grad(g.sum(), x)


def test_composed_says_how_a_function_with_kernels_is_differentiated_again():
    square = function(
        lambda ctx, a: ctx.save_for_backward(a) or tensor(a.to_numpy() ** 2),
        lambda ctx, g: tensor(2 * ctx.saved_values[0].to_numpy() * g.to_numpy()),
        "Square",
        composed=lambda a: a * a,
    )
    x = leaf([2.0, 3.0])
    h = x * x
    (g,) = grad(square.apply(h).sum(), x, create_graph=True)
    (second,) = grad(g.sum(), x, create_graph=True)
    assert (g.tolist(), second.tolist()) == ([32.0, 108.0], [48.0, 108.0])  # 4x³, 12x²
    assert grad(second.sum(), x)[0].tolist() == [48.0, 72.0]
    out = square.apply(x).sum()
    with no_grad():
        x[0] = 1
    with pytest.raises(RuntimeError, match="backward of Square needs a tensor of shape"):
        grad(out, x, create_graph=True)
