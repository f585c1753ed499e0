"""Functions that users define, and what they save for backward."""

import numpy as np
import pytest

from minitorch import Function, float32, grad_check, no_grad, tensor, where
from minitorch.core.context import grad_mode
from tests.autograd.conftest import Cube, function, leaf
from tests.errors import raises


def test_a_user_defined_function_with_a_plain_argument():
    x = leaf([2.0, -1.0])
    y = Cube.apply(x, 5)
    assert (y.tolist(), y.history.last_fn, [id(p) for p in y.parents]) == ([40.0, -5.0], Cube, [id(x)])  # forward's steps are not recorded
    y.backward(tensor([1.0, 2.0]))
    assert x.grad.tolist() == [60.0, 30.0]  # 3 · 5 · x² · grad
    grad_check(lambda a: Cube.apply(a, 0.5), tensor([1.5, -0.5]))


def test_a_function_of_tensors_and_plain_values_in_any_order():
    class Mix(Function):
        @staticmethod
        def forward(ctx, scale, a, names, b):
            ctx.save_for_backward(scale, a, b)
            assert names == ("a", "b")
            return a * b * scale

        @staticmethod
        def backward(ctx, grad_output):
            scale, a, b = ctx.saved_tensors
            return None, grad_output * b * scale, None, grad_output * a * scale

    a, b = leaf([2.0]), leaf([[3.0], [5.0]])
    Mix.apply(10, a, ("a", "b"), b).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([80.0], [[20.0], [20.0]])


def test_gradients_of_plain_values_may_be_left_out_and_of_constants_none():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, a, b, k):
            ctx.save_for_backward(b, k)
            return a * b * k

        @staticmethod
        def backward(ctx, grad_output):
            b, k = ctx.saved_values
            assert ctx.needs_input_grad == [True, False, False]
            return grad_output * b * k, None

    a = leaf([2.0])
    Scaled.apply(a, tensor([3.0]), 5.0).backward()
    assert a.grad.tolist() == [15.0]


@pytest.mark.parametrize(
    ("returned", "expected"), [(None, [0.0, 0.0]), (2.5, [2.5, 2.5]), ([2.5], [2.5, 2.5])], ids=["none is zeros", "a number", "a list"]
)
def test_what_a_backward_may_return(returned, expected):
    x = leaf([1.0, 2.0])
    function(lambda ctx, a: a + 1, lambda ctx, grad_output: returned).apply(x * 1).sum().backward()
    assert x.grad.tolist() == expected


def test_backward_may_return_the_gradients_of_several_arguments_in_a_list():
    x, y = leaf([1.0]), leaf([1.0])
    function(lambda ctx, a, b: a + 2 * b, lambda ctx, grad_output: [grad_output, 2 * grad_output]).apply(x, y).backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0], [2.0])


def test_the_gradient_that_backward_gets_has_the_shape_and_dtype_of_the_output():
    x, seen = leaf([[1.0], [2.0]], float32), []
    same = function(lambda ctx, a: a * 1, lambda ctx, grad_output: seen.append(grad_output) or grad_output)
    (same.apply(x) * tensor(np.ones((2, 3)))).sum().backward()
    assert [(grad.shape, grad.dtype, grad.requires_grad) for grad in seen] == [((2, 1), float32, False)]
    assert x.grad.tolist() == [[3.0], [3.0]]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_inside_forward_or_backward_leaves_recording_as_it_was(error):
    def fail(*_):
        raise error

    fails = function(lambda ctx, a, now: fail() if now else a * 1, fail)
    x = leaf([1.0])
    with pytest.raises(error):
        fails.apply(x, True)
    assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    with pytest.raises(error):
        fails.apply(x, False).backward(retain_graph=True)
    assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    with no_grad():
        with pytest.raises(error):
            fails.apply(x, True)
        assert not grad_mode.enabled


def test_a_function_may_keep_what_it_likes_in_its_context():
    x = leaf([1.0, 2.0])
    stretch = function(lambda ctx, a, k: setattr(ctx, "k", k) or a * k, lambda ctx, grad_output: grad_output * ctx.k)
    stretch.apply(x, 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


# Writing to what backward needs


def written(op, shape):
    return raises(
        RuntimeError,
        f"backward of {op} needs a tensor of shape {shape} as it was in forward, but it has been written into since; "
        "write into a copy: x.clone()",
    )


@pytest.mark.parametrize(
    ("saved", "write", "shape"),
    [
        (lambda base: base[0], lambda base: base[0], (2,)),
        (lambda base: base[0], lambda base: base[1], (2,)),  # the same storage, though not the same elements
        (lambda base: base, lambda base: base.permute(1, 0)[0], (2, 2)),
        (lambda base: base, lambda base: base.detach().view(4), (2, 2)),
    ],
    ids=["itself", "through another view", "the base through a view", "the base through what was detached"],
)
def test_a_saved_input_must_not_be_written_to(saved, write, shape):
    base = tensor([[1.0, 2.0], [3.0, 4.0]])
    out = (leaf([1.0, 1.0]) * saved(base)).sum()
    write(base)[0] = 9
    with written("Mul", shape):
        out.backward()


@pytest.mark.parametrize(("op", "f"), [("Exp", lambda x: [x.exp()] * 2), ("Mul", lambda x: (x * x, x))], ids=["a result", "a leaf"])
def test_what_was_saved_must_not_be_written_to_in_no_grad_either(op, f):
    out, saved = f(leaf([1.0, 2.0]))
    with no_grad():
        saved[0] = 5
    with written(op, (2,)):
        out.sum().backward()


def test_what_is_not_saved_may_be_written_to():
    x, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (x + w).sum() + where(w > 3, x, 0).sum()
    w[0] = 5
    out.backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_copy_may_be_written_to():
    x, w = leaf([1.0, 2.0]), tensor([3.0, 4.0])
    out = (x * w).sum()
    w.clone()[0] = 5
    tensor(w)[0] = 5
    out.backward()
    assert x.grad.tolist() == [3.0, 4.0]
