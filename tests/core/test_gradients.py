"""Autograd's rules: who keeps a gradient, when it is recorded, hooks, and what is freed."""

import gc
import threading
import weakref

import numpy as np
import pytest

from minitorch import Tensor, float32, float64, no_grad, tensor
from minitorch.core.context import grad_mode
from tests.autograd.conftest import function, leaf
from tests.errors import raises

# Leaves and constants


def test_a_tensor_is_a_constant_unless_told():
    x, y = tensor([1.0]), leaf([1.0])
    assert (x.requires_grad, x.is_constant(), x.is_leaf()) == (False, True, False)
    assert (y.requires_grad, y.is_constant(), y.is_leaf()) == (True, False, True)
    z = x * y
    assert (z.requires_grad, z.is_constant(), z.is_leaf()) == (True, False, False)
    assert [id(p) for p in z.parents] == [id(x), id(y)]
    assert (x.parents, y.parents, (x + x).requires_grad) == ((), (), False)


def test_only_leaves_get_a_gradient():
    x, y = tensor([2.0]), leaf([3.0])
    z = x * y
    (z * z).backward()
    assert (x.grad, z.grad) == (None, None)
    assert y.grad.tolist() == [24.0]  # d (2y)² = 8y
    assert not y.grad.requires_grad


def test_requires_grad_makes_a_computed_tensor_a_leaf_and_false_a_constant():
    x = leaf([2.0])
    y = x * 3
    assert y.requires_grad_() is y
    assert y.is_leaf()
    (y * y).backward()
    assert (x.grad, y.grad.tolist()) == (None, [12.0])
    assert y.requires_grad_(False).is_constant()
    assert (x * y).parents[1].is_constant()


def test_a_leaf_may_be_the_output():
    x = leaf([2.0])
    x.backward()
    x.backward(tensor([4.0]))
    assert x.grad.tolist() == [5.0]


# Accumulation


def test_gradients_of_several_backwards_add_up_until_they_are_forgotten_and_a_kept_one_does_not_change():
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    first = x.grad
    (x * 10).sum().backward()
    assert (first.tolist(), x.grad.tolist()) == ([2.0, 4.0], [12.0, 14.0])
    x.zero_grad_()
    assert x.grad is None
    (x * 10).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


def test_the_gradient_of_a_sum_can_be_written_to():
    a = leaf([1.0, 2.0])
    a.sum().backward()
    a.grad[0] = 5  # not one number with a stride of 0
    assert a.grad.tolist() == [5.0, 1.0]


# dtypes


def test_gradients_flow_through_a_mask_as_zeros():
    x = leaf([1.0, -2.0])
    (x * (x > 0)).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]
    y = leaf([1.0, -2.0])
    (y > 0).sum().backward()
    assert (y.grad.dtype, y.grad.tolist()) == (float64, [0.0, 0.0])


def test_a_grad_output_of_another_dtype_is_converted():
    x = leaf([1.0, 2.0], float32)
    (x * 3).backward(tensor([1.0, 2.0], dtype=float64))
    assert (x.grad.dtype, x.grad.tolist()) == (float32, [3.0, 6.0])


# detach and no_grad


def test_detach_shares_the_storage_and_stops_gradients():
    x = leaf([2.0, 3.0])
    y = x.detach()
    assert y.is_constant()
    assert np.shares_memory(y.numpy(), x.numpy())
    y[0] = 7
    assert x.tolist() == [7.0, 3.0]
    (x * x.detach()).sum().backward()
    assert x.grad.tolist() == [7.0, 3.0]


def test_nothing_is_recorded_inside_no_grad():
    x = leaf([1.0])
    with no_grad():
        inside = x * 2
        assert x.requires_grad
        made = leaf([1.0])
    assert (inside.requires_grad, made.requires_grad, (x * 2).requires_grad) == (False, True, True)
    with no_grad():
        (made * x).detach()
        out = x.sum()
    assert out.is_constant()


def test_backward_works_inside_no_grad():
    x = leaf([3.0])
    y = x * x
    with no_grad():
        y.backward()
        assert not grad_mode.enabled
    assert x.grad.tolist() == [6.0]


def test_no_grad_may_be_nested_and_used_again():
    x, off = leaf([1.0]), no_grad()
    for _ in range(2):
        with off:
            with off, no_grad():
                assert not (x * 2).requires_grad
            assert not (x * 2).requires_grad
        assert (x * 2).requires_grad


def test_no_grad_ends_with_an_exception():
    x = leaf([1.0])
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert (x * 2).requires_grad


def test_no_grad_decorates_a_function():
    x = leaf([1.0])

    @no_grad()
    def doubled(depth):
        """Twice x."""
        if depth:
            doubled(depth - 1)
        assert not grad_mode.enabled
        return x * 2

    assert not doubled(3).requires_grad
    assert (x * 2).requires_grad
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Twice x.")
    with no_grad():
        doubled(0)
        assert not grad_mode.enabled


def test_no_grad_holds_in_its_own_thread_only():
    x, seen = leaf([1.0]), []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
        assert not (x * 2).requires_grad
    assert seen == [True]


def test_a_decorated_function_may_run_in_several_threads_at_once():
    entered, finished = threading.Event(), threading.Event()

    @no_grad()
    def calculate(is_main):
        if is_main:
            thread.start()
            assert entered.wait(10)  # now both are inside
        else:
            entered.set()
            assert finished.wait(10)

    def other():
        with no_grad():
            calculate(False)

    thread = threading.Thread(target=other)
    calculate(True)
    assert grad_mode.enabled
    finished.set()
    thread.join()
    assert grad_mode.enabled


# Several backwards through one graph


def test_a_second_backward_is_refused_unless_the_graph_is_retained():
    x = leaf([3.0])
    y = x * x
    y.register_hook(lambda grad: grad * 5)
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [60.0]
    y.backward()
    assert x.grad.tolist() == [90.0]
    freed = "an earlier backward pass freed what Mul had saved"
    with raises(RuntimeError, f"{freed}; call backward(retain_graph=True) the first time, or compute the output again"):
        y.backward()
    assert x.grad.tolist() == [90.0]


# What is freed


@pytest.fixture
def no_collector():
    """What is freed then is part of no cycle."""
    gc.disable()
    yield
    gc.enable()


def test_backward_frees_what_functions_have_saved(no_collector):
    x = leaf([1.0, 2.0])
    middle = x * 2
    seen = weakref.ref(middle)
    out = (middle * middle).sum()
    del middle
    assert seen() is not None
    out.backward()
    assert seen() is None
    assert x.grad.tolist() == [8.0, 16.0]


def test_a_graph_is_freed_with_its_output(no_collector):
    middle = leaf([1.0, 2.0]).exp()
    middle.register_hook(lambda grad: None).remove()
    middle.register_hook(lambda grad: None)
    seen = weakref.ref(middle)
    out = (middle * middle).sigmoid()
    del middle
    assert seen() is not None
    del out
    assert seen() is None


def test_constants_save_nothing():
    contexts = []

    def forward(ctx, a):
        ctx.save_for_backward(a)
        contexts.append(ctx)
        return a * 2

    kept = function(forward)
    kept.apply(tensor([1.0]))
    kept.apply(leaf([1.0]))
    seen = [(ctx.no_grad, len(ctx.saved_values), ctx.needs_input_grad) for ctx in contexts]
    assert seen == [(True, 0, [False]), (False, 1, [True])]


# Hooks


def test_a_hook_sees_the_whole_gradient_once():
    x, seen = leaf([1.0, 2.0]), []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    middle = x * 3
    middle.register_hook(lambda grad: seen.append(grad.tolist()))
    (middle * tensor([1.0, 10.0]) + middle).sum().backward()
    assert seen == [[2.0, 11.0], [6.0, 33.0]]  # the inner tensor first
    assert x.grad.tolist() == [6.0, 33.0]


def test_what_a_hook_returns_takes_the_place_of_the_gradient():
    x = leaf([1.0, 2.0])
    middle = x * 3
    middle.register_hook(lambda grad: grad * 10)
    x.register_hook(lambda grad: grad + 1)
    middle.sum().backward()
    assert x.grad.tolist() == [31.0, 31.0]


def test_hooks_are_called_in_order_and_no_more_when_removed():
    x = leaf([1.0])
    first = x.register_hook(lambda grad: grad + 1)
    x.register_hook(lambda grad: grad * 10)
    (x * 1).backward()
    assert x.grad.tolist() == [20.0]
    first.remove()
    first.remove()
    x.zero_grad_()
    (x * 1).backward()
    assert x.grad.tolist() == [10.0]


def test_a_hook_may_remove_itself():
    x, seen = leaf([1.0]), []

    def hook(grad):
        seen.append(grad.item())
        handle.remove()

    handle = x.register_hook(hook)
    x.register_hook(lambda grad: seen.append("other"))
    (x * 2).backward()
    (x * 2).backward()
    assert seen == [2.0, "other", "other"]


def test_nothing_is_recorded_inside_a_hook_and_copies_do_not_have_it():
    x, seen = leaf([1.0]), []
    x.register_hook(lambda grad: seen.append((x * grad).requires_grad))
    (x.detach().requires_grad_() * 2).backward()
    assert seen == []
    (x * 2).backward()
    assert (seen, x.grad.requires_grad) == ([False], False)


def test_a_tensor_subclass_is_accepted():
    class Named(Tensor):
        __slots__ = ()

    x = Named(tensor([1.0, 2.0])._tensor).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
