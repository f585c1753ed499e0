"""Checkpoints: the same gradients to the last bit, in less memory; what a function may use, and what is noticed."""

import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

from minitorch import FastBackend, Tensor, manual_seed, nn, no_grad, rand, tensor
from minitorch.autograd import checkpoint, grad, ledger
from minitorch.core.context import grad_mode
from tests.autograd.conftest import leaf
from tests.errors import raises


def numbers(shape, seed=1.0):
    return np.cos(np.arange(np.prod(shape)) * 1.7 + seed).reshape(shape)


def plain(fn, *xs):
    """What checkpoint does without one."""
    return fn(*xs)


def two(size=2):
    """Two leaves, matrices of that size."""
    return (leaf(numbers((size, size), k)) for k in (1, 2))


def gradients(step, leaves):
    """The value of a step and the gradients of leaves, from a fresh start."""
    for x in leaves:
        x.zero_grad_()
    manual_seed(3)
    loss = step()
    loss.backward()
    return [loss.to_numpy(), *(None if x.grad is None else x.grad.to_numpy() for x in leaves)]


def assert_same(step, leaves):
    """Fail unless a step has the same value and gradients, to the last bit, with checkpoints as without."""
    expected, got = gradients(lambda: step(plain), leaves), gradients(lambda: step(checkpoint), leaves)
    for one, other in zip(expected, got, strict=True):
        np.testing.assert_array_equal(other, one)


def test_several_results_constants_and_plain_values():
    x, w = two()

    def part(a, factor, names):
        assert names == ("a", "b")
        return [a * w * factor, 5, (a + w).exp(), tensor([1.0]), a]

    def step(run):
        first, five, second, constant, third = run(part, x * 1, 3.0, ("a", "b"))
        assert (five, constant.requires_grad, constant.tolist()) == (5, False, [1.0])
        return (first * second).sum() + second.sum() + (third * third).sum()

    assert_same(step, [x, w])
    assert type(checkpoint(part, x, 3.0, ("a", "b"))) is list


X, W = leaf([2.0, 3.0]), leaf([5.0, 7.0])
MATRIX, LARGE = leaf(numbers((2, 2))), leaf(numbers((4, 4)) * 1e3)


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


def test_results_may_stand_in_a_named_tuple():
    def step(run):
        pair = run(lambda a: Pair(a * W, a), X)
        assert type(pair) is Pair
        return (pair.left * pair.right).sum()

    assert_same(step, [X, W])


@pytest.mark.parametrize(
    ("step", "leaves"),
    [
        (lambda run: (run(lambda a: a, X) * X).sum(), [X]),
        (lambda run: (run(lambda a: a, X * 2) * X).sum(), [X]),
        (lambda run: (run(lambda a: W, X) * X).sum(), [X, W]),
        (lambda run: run(lambda a: {"y": a * a}, X * 3)["y"].sum(), [X]),
        (lambda run: sum(run(lambda a: (a * 2, [a * 3]), X)[1]).sum(), [X]),
        (lambda run: run(lambda a, b: a * b * b + MATRIX, MATRIX, MATRIX).sum(), [MATRIX]),
        (lambda run: (run(lambda a: a * 0.1 + a * 0.7 + (a * 1.3).sin(), LARGE) + LARGE).sum(), [LARGE]),
    ],
    ids=[
        "the result is the argument", "the result is the argument, which was computed", "the result is another leaf",
        "it lies in a dictionary", "it lies in a list in a tuple", "an argument is given twice and also found",
        "it is added up in the same order within and without",
    ],
)  # fmt: skip
def test_the_gradients_are_the_same(step, leaves):
    assert_same(step, leaves)


def test_gradients_of_what_was_left_elsewhere_are_not_lost():
    left = []

    def step(run):
        left.clear()
        y = run(lambda a: left.append(a * a) or a * 3, X * 5)
        return (y * left[0]).sum()

    assert_same(step, [X])


def test_a_result_that_nobody_uses():
    x, w = two()

    def step(run):
        return run(lambda a: (a * w, a * a, a.sum(0)), x)[1].sum()

    assert_same(step, [x])
    gradients(lambda: step(checkpoint), [w])
    assert w.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_checkpoints_within_checkpoints():
    x, w = two(3)

    def step(run):
        inner = lambda a: nn.dropout(a @ w, 0.3).tanh()  # noqa: E731
        outer = lambda a: run(inner, run(inner, a) + a)  # noqa: E731
        return run(outer, run(outer, x)).sum()

    assert_same(step, [x, w])


def test_tensors_that_the_function_finds_for_itself_may_have_been_computed():
    x, w = two()

    def step(run):
        h = w * w
        return (run(lambda a: a * h + h, x) + h * 2).sum()

    assert_same(step, [x, w])


def test_what_the_function_keeps_of_what_it_computes_does_no_harm():
    x, w = two()
    kept = []

    def part(a):
        kept.append((a * w).exp())
        kept.append(kept[-1] * w)
        return kept[-1]

    assert_same(lambda run: run(part, x).sum(), [x, w])


def test_hooks_are_called_once():
    x, w = leaf([2.0]), leaf([3.0])
    calls = []
    w.register_hook(lambda g: calls.append(g.item()))
    x.register_hook(lambda g: calls.append(g.item()))
    checkpoint(lambda a: a * w + w, x).backward()
    assert sorted(calls) == [3.0, 3.0]
    assert (x.grad.item(), w.grad.item()) == (3.0, 3.0)


def test_grad_and_gradients_of_gradients_pass_through():
    x, w = two()

    def penalty(run):
        y = run(lambda a: (a @ w).tanh() * w, x)
        by_x, by_w = grad((y * y).sum(), [x, w], create_graph=True)
        return grad((by_x * by_x).sum() + (by_w * by_x).sum(), [x, w])

    for one, other in zip(penalty(plain), penalty(checkpoint), strict=True):
        np.testing.assert_allclose(other.to_numpy(), one.to_numpy(), rtol=1e-12)


def test_backward_can_pass_twice_if_the_graph_is_retained():
    x = leaf([2.0])
    y = checkpoint(lambda a: a * a * a, x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24.0
    with pytest.raises(RuntimeError, match="an earlier backward pass freed what Part had saved"):
        y.backward()


def test_without_gradients_the_function_is_just_called():
    x, c = leaf([2.0]), tensor([2.0])
    calls = []

    def part(a):
        calls.append(grad_mode.enabled)
        return a * 3

    with no_grad():
        assert not checkpoint(part, x).requires_grad
    assert not checkpoint(part, c).requires_grad
    assert calls == [False, True]
    assert checkpoint(lambda: 5) == 5


def test_the_first_run_leaves_nothing_behind():
    x, w = two(8)
    inner = []

    def part(a):
        h = a @ w
        inner.append(weakref.ref(h))
        return h.tanh() @ w

    gc.disable()  # not even rubbish in circles
    try:
        y = checkpoint(part, x)
        assert inner[0]() is None
        y.sum().backward()
        assert inner[1]() is None
    finally:
        gc.enable()


def test_less_memory_is_alive_in_a_step():
    layers = [tensor(numbers((4, 4), k) * 0.1, FastBackend, requires_grad=True) for k in range(16)]
    x = tensor(numbers((500, 4)), FastBackend)

    def stack(layers):
        def run(a):
            for w in layers:
                a = (a @ w).tanh()
            return a

        return run

    peaks = []
    for run in (plain, checkpoint):
        with ledger() as book:
            y = x
            for i in range(0, 16, 4):
                y = run(stack(layers[i : i + 4]), y)
            y.sum().backward()
        peaks.append(book.peak)
    result = x.size * 8  # what one op makes
    assert peaks[0] >= 32 * result  # 16 layers of two ops
    assert peaks[1] <= 20 * result  # 4 checkpoints, one part of 8 results, and its gradients


# What is noticed


@pytest.mark.parametrize("which", [0, 1], ids=["an argument", "a parameter"])
def test_what_is_written_into_before_backward(which):
    x, w = leaves = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    y = checkpoint(lambda a: a * w, x).sum()
    with no_grad():
        leaves[which][0] = 9
    with raises(
        RuntimeError,
        "backward of Checkpoint needs a tensor of shape (2,) as it was in forward, but it has been written into since; "
        "write into a copy: x.clone()",
    ):
        y.backward()


@pytest.mark.parametrize(
    ("results", "different"),
    [
        (lambda a: [a * 2, a[:1] * 2], "return the same again, results of shapes [(2,)], got [(1,)]"),
        (lambda a: [a * 2, a * W], "do the same again, but this time it used another leaf, of shape (2,)"),
    ],
)
def test_a_function_that_does_not_do_the_same_again(results, different):
    x, calls = leaf([2.0, 3.0]), iter([0, 1])
    y = checkpoint(lambda a: results(a)[next(calls)], x).sum()
    remedy = "it must depend on nothing that changes between forward and backward"
    with raises(RuntimeError, f"checkpoint expected its function to {different}; {remedy}"):
        y.backward()
    assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    assert x.grad is None


def test_an_error_in_the_second_run_leaves_everything_as_it_was():
    x = leaf([2.0])
    calls = []

    def fails(a):
        calls.append(0)
        if len(calls) == 2:
            raise ZeroDivisionError
        return a * rand((1,))

    manual_seed(1)
    y = checkpoint(fails, x)
    expected = rand((1,)).item()
    manual_seed(1)
    rand((1,))
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    assert (grad_mode.enabled, grad_mode.retain_graph) == (True, False)
    assert rand((1,)).item() == expected
    y.backward()
    assert x.grad is not None


def test_gradients_that_arrived_in_a_backward_that_was_ended_by_an_error_do_not_count():
    x = leaf([2.0])
    first, second = checkpoint(lambda a: (a * 3, a * 5), x)
    hook = first.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # the other one has arrived by then
        (first + second).backward(retain_graph=True)
    hook.remove()
    first.backward(retain_graph=True)
    assert x.grad.item() == 3.0
    (first * 2).backward()
    assert x.grad.item() == 9.0
