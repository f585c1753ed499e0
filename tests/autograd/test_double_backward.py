"""Gradients of gradients, of every op of the table and every function of networks, against finite differences."""

import importlib
import inspect
import math
import re

import numpy as np
import pytest

from course.manifest import course
from minitorch import FastBackend, Function, SimpleBackend, Tensor, tensor
from minitorch.autograd import engine, grad
from tests.autograd.conftest import leaf
from tests.op_table import OPS, samples

BACKENDS = (SimpleBackend, FastBackend)


def numbers(shape, seed=0.0):
    """Numbers without a pattern, from -1 to 1."""
    return np.cos(np.arange(math.prod(shape)) * 1.7 + seed + 0.3).reshape(shape)


# Against finite differences


def first(f, arrays, weights, factors, backend):
    """The sum of the gradients of f, each element times a factor, from a backward that is not recorded."""
    leaves = [leaf(array, backend=backend) for array in arrays]
    f(*leaves).backward(tensor(weights, backend))
    return sum((x.grad.to_numpy() * factor).sum() for x, factor in zip(leaves, factors, strict=True) if x.grad is not None)


def difference(f, arrays, weights, factors, backend, i, direction, step=1e-5):
    """The derivative of `first` when the array number i, or the weights behind them, move in a direction."""
    ends = []
    for shift in (step, -step):
        moved = [*arrays, weights]
        moved[i] = moved[i] + shift * direction
        ends.append(first(f, moved[:-1], moved[-1], factors, backend))
    return (ends[0] - ends[1]) / (2 * step)


def assert_second_derivatives(f, arrays, backend=SimpleBackend, tolerance=1e-6):
    """Fail unless recorded gradients are the unrecorded ones, and their own gradients those of finite differences."""
    leaves = [leaf(array, backend=backend) for array in arrays]
    out = f(*leaves)
    weights = leaf(numbers(out.shape, 0.5), backend=backend)
    factors = [numbers(x.shape, i) for i, x in enumerate(leaves)]
    gradients = grad(out, leaves, weights, create_graph=True, allow_unused=True)
    plain = grad(out, leaves, weights.detach(), retain_graph=True, allow_unused=True)
    for one, other, x in zip(gradients, plain, leaves, strict=True):
        if one is None:
            assert other is None
        else:
            assert (one.shape, one.dtype) == (x.shape, x.dtype)
            np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=1e-12, atol=1e-12)
    parts = [(g * tensor(c, backend)).sum() for g, c in zip(gradients, factors, strict=True) if g is not None and g.requires_grad]
    found = grad(sum(parts[1:], parts[0]), [*leaves, weights], allow_unused=True) if parts else [None] * (len(leaves) + 1)
    for i, x in enumerate(found):
        direction = numbers([*arrays, weights.to_numpy()][i].shape, 5 * i + 2)
        got = 0.0 if x is None else (x.to_numpy() * direction).sum()
        expected = difference(f, arrays, weights.to_numpy(), factors, backend, i, direction)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=f"of operand {i}")


DIFFERENTIABLE = [op for op in OPS if op.gradient]


def assert_op(op, shapes, backend):
    """The same of a row of the table, unless it gives a plain number."""
    arrays = samples(op, shapes, seed=1)
    masks = [tensor(array, backend) for domain, array in zip(op.domains, arrays, strict=True) if domain == "mask"]  # they stand first
    rest = arrays[len(masks) :]
    if isinstance(op.ours(*masks, *[tensor(array, backend) for array in rest]), Tensor):
        assert_second_derivatives(lambda *xs: op.ours(*masks, *xs), rest, backend)


def filled(op):
    """The trials of a row that have elements."""
    return [shapes for shapes in op.shapes if all(map(math.prod, shapes))]


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_the_gradient_of_the_gradient_of_every_op_is_that_of_finite_differences(op):
    for shapes in filled(op)[:3]:
        assert_op(op, shapes, SimpleBackend)


# Third derivatives, and what differences cannot reach


def twice(f, *values, dtype=None):
    """Values and dtypes of the second derivatives of a function by each argument."""
    leaves = [tensor(value, requires_grad=True, dtype=dtype) for value in values]
    found = []
    for x in leaves:
        (first,) = grad(f(*leaves).sum(), x, create_graph=True)
        found.append(grad(first.sum(), x)[0])
    return [g.tolist() for g in found], {g.dtype.name for g in found}


def test_through_another_dtype_and_another_backend():
    assert twice(lambda x: (x.to("float32") ** 3).to("float64"), [2.0]) == ([[12.0]], {"float64"})
    assert twice(lambda x: x.to(FastBackend) ** 3, [2.0]) == ([[12.0]], {"float64"})


def test_of_a_quotient_of_halves():
    assert twice(lambda a, b: a * a / b, [2.0], [4.0], dtype="float16") == ([[0.5], [0.125]], {"float16"})  # 2 / b, 2a² / b³


def derivatives(f, value, count):
    """The first `count` derivatives of a function of one number."""
    x = tensor(value, requires_grad=True)
    found, y = [], f(x)
    for _ in range(count):
        (y,) = grad(y, x, create_graph=True)
        found.append(y.item())
    return found


@pytest.mark.parametrize("value", [0.0, -2.0, math.inf, math.nan])
def test_whole_powers_have_derivatives_everywhere_as_often_as_one_likes(value):
    assert derivatives(lambda x: x**0, value, 3) == [0.0, 0.0, 0.0]
    assert derivatives(lambda x: x**1, value, 4) == [1.0, 0.0, 0.0, 0.0]
    assert derivatives(lambda x: x**2, value, 5)[1:] == [2.0, 0.0, 0.0, 0.0]


def test_the_derivatives_of_a_fourth_power_end_with_zero():
    assert derivatives(lambda x: x**4, 2.0, 5) == [32.0, 48.0, 48.0, 24.0, 0.0]


def test_of_a_power_by_base_and_exponent_where_the_exponent_is_0():
    a, b = leaf([2.0, 4.0, 0.0]), leaf([0.0, 0.0, 0.0])
    (by_a,) = grad((a**b).sum(), a, create_graph=True)
    (mixed,) = grad(by_a.sum(), b)
    assert mixed.tolist() == [0.5, 0.25, 0.0]  # d/db of b · a^(b-1) at 0: 1 / a


WATCHED = {"Gelu", "LU", "Lookup", "Normalize", "NormalCdf", "Refused", "Replay", "_Mark"}
"""Functions without a rule: the backward passes of LU and NormalCdf are made of operations on tensors, and recorded as they are;
that of a compiled function's Replay launches kernels that were recorded, and cannot be differentiated again; that of
DistributedDataParallel's _Mark starts messages, and refuses to be differentiated again; that of Refused raises always;
those of Gelu, Lookup and Normalize, which students write, refuse to be differentiated again: the compiled backend replaces them."""


def test_every_function_of_the_library_has_a_rule_or_says_how_it_is_composed():
    """One that has neither can perhaps not be differentiated twice: give it `composed`, and a line in NETWORK."""
    modules = [importlib.import_module(f"minitorch.{module}") for module in course().modules]
    own = {thing for module in modules for thing in vars(module).values() if inspect.isclass(thing) and issubclass(thing, Function)}
    last = {fn for fn in own if not fn.__subclasses__() and fn.backward is not Function.backward and fn.__module__.startswith("minitorch.")}
    last = {fn for fn in last if not re.match(r"minitorch\.ops\.(?!\w*activations)", fn.__module__)}  # for the others see the next test
    assert {fn.__name__ for fn in last if fn not in engine.RULES and not hasattr(fn, "composed")} == WATCHED


@pytest.mark.parametrize("name", ["Log1p", "Expm1", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Erf"])
def test_further_functions_have_the_right_second_derivative_or_refuse_it(name):
    function = getattr(importlib.import_module("minitorch.ops.pointwise"), name)

    def slope(values, **options):
        at = leaf(values)
        return at, *grad(function.apply(at).sum(), at, **options)

    point, step = np.array([0.3, -0.2]), 1e-6
    expected = (slope(point + step)[1].to_numpy() - slope(point - step)[1].to_numpy()) / (2 * step)
    seconds = []

    def check():
        x, first = slope(point, create_graph=True)
        seconds.append(grad(first.sum(), x)[0].to_numpy())

    if right(check):
        np.testing.assert_allclose(seconds[0], expected, rtol=1e-5, atol=1e-6)


# Without the rules: what is not recorded is noticed


def right(check, *args):
    """Whether the second derivatives are right and not refused; fail if they are wrong."""
    try:
        check(*args)
    except RuntimeError as error:
        if " cannot be differentiated again: " in str(error):
            return False
        raise
    return True


def test_of_functions_that_nobody_has_a_rule_for_no_derivative_is_lost_unseen(monkeypatch):
    monkeypatch.setattr(engine, "RULES", {})
    names = {op.name for op in DIFFERENTIABLE if right(assert_op, op, filled(op)[0], SimpleBackend)}
    assert {"x.sigmoid()", "x.tanh()", "x.sin()", "x.sqrt()", "x + y", "x.sum(0, keepdim=True)", "x.expand(3, 2, 4)"} <= names
    assert {"x * y", "x @ y", "x.exp()", "x ** 3", "x.cumsum(0)"} & names == set()
