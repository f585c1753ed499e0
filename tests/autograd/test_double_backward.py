"""Gradients of gradients, of every op of the table and every function of networks, against finite differences."""

import importlib
import inspect
import math
import re
from collections import OrderedDict

import numpy as np
import pytest

import minitorch
from course.manifest import course
from minitorch import FastBackend, Function, SimpleBackend, Tensor, int64, nn, tensor
from minitorch.autograd import engine, grad
from minitorch.nn.recurrent import recurrence
from tests.op_table import OPS, samples

BACKENDS = (SimpleBackend, FastBackend)


def leaf(values, backend=SimpleBackend):
    return tensor(values, backend, requires_grad=True)


def numbers(shape, seed=0.0):
    """Numbers without a pattern, from -1 to 1."""
    return np.cos(np.arange(math.prod(shape)) * 1.7 + seed + 0.3).reshape(shape)


# Against finite differences


def first(f, arrays, weights, factors, backend):
    """The sum of the gradients of f, each element times a factor, from a backward that is not recorded."""
    leaves = [leaf(array, backend) for array in arrays]
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
    leaves = [leaf(array, backend) for array in arrays]
    out = f(*leaves)
    weights = leaf(numbers(out.shape, 0.5), backend)
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


ONE_EACH = list({op.covers: op for op in DIFFERENTIABLE if not re.search("any|max|min", op.name)}.values())  # those only mask


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", ONE_EACH, ids=lambda op: op.name)
def test_so_it_is_on_the_compiled_backend(op):
    assert_op(op, filled(op)[0], FastBackend)


CLASSES = [0, 2, 1]

NETWORK = OrderedDict({
    "softmax": (lambda x: nn.softmax(x, 1), (3, 4)),
    "softmax of columns": (lambda x: nn.softmax(x, 0), (3, 4)),
    "logsoftmax": (lambda x: nn.logsoftmax(x, 1), (3, 4)),
    "logsoftmax of columns": (lambda x: nn.logsoftmax(x, 0), (3, 4)),
    "max": (lambda x: nn.max(x, 1), (3, 4)),
    "avgpool2d": (lambda x: nn.avgpool2d(x * x, (2, 2)), (1, 2, 4, 2)),
    "maxpool2d": (lambda x: nn.maxpool2d(x * x, (2, 2)), (1, 2, 4, 2)),
    "avg_pool2d": (lambda x: nn.avg_pool2d(x * x, 2, 1, 1), (1, 2, 3, 2)),
    "max_pool2d": (lambda x: nn.max_pool2d(x * x, 2, 1, 1), (1, 2, 3, 2)),
    "linear": (nn.linear, (2, 3), (4, 3), (4,)),
    "linear of a batch": (nn.linear, (2, 2, 3), (2, 3)),
    "bias_relu": (lambda x, b: nn.bias_relu(x * x, b), (2, 3), (3,)),
    "bias_relu of channels": (lambda x, b: nn.bias_relu(x * x, b), (2, 2, 3), (2, 1)),
    "conv1d of the course": (minitorch.conv1d, (2, 2, 4), (3, 2, 2)),
    "conv2d of the course": (minitorch.conv2d, (1, 2, 3, 3), (2, 2, 2, 2)),
    "conv1d": (lambda x, w, b: nn.conv1d(x, w, b, stride=2, padding=1, dilation=2), (1, 2, 5), (3, 2, 2), (3,)),
    "conv2d": (lambda x, w, b: nn.conv2d(x, w, b, padding=1, groups=2), (2, 2, 3, 2), (2, 1, 2, 2), (2,)),
    "conv2d with stride": (lambda x, w: nn.conv2d(x, w, stride=(2, 1)), (1, 2, 3, 3), (1, 2, 2, 2)),
    "embedding": (lambda w: nn.embedding(tensor([[0, 2], [2, 1]], w.backend, dtype=int64), w * w, 1), (4, 2)),
    "cross_entropy": (lambda x: nn.cross_entropy(x, tensor(CLASSES, x.backend, dtype=int64)), (3, 4)),
    "cross_entropy, none": (lambda x: nn.cross_entropy(x, tensor(CLASSES, x.backend, dtype=int64), reduction="none"), (3, 4)),
    "cross_entropy of probabilities": (lambda x, t: nn.cross_entropy(x, nn.softmax(t, 1)), (2, 3), (2, 3)),
    "nll_loss": (lambda x: nn.nll_loss(x * x, tensor(CLASSES, x.backend, dtype=int64), reduction="sum"), (3, 4)),
    "ctc_loss": (lambda x: nn.ctc_loss(nn.logsoftmax(x, 2), tensor([[1, 1], [2, 0]], x.backend, dtype=int64), [4, 3], [2, 1]), (4, 2, 3)),
    "mse_loss": (nn.mse_loss, (2, 3), (2, 3)),
    "binary_cross_entropy": (lambda x, t: nn.binary_cross_entropy(x.sigmoid(), t.sigmoid(), reduction="none"), (2, 3), (2, 3)),
    "binary_cross_entropy_with_logits": (lambda x, t: nn.binary_cross_entropy_with_logits(x, t.sigmoid()), (2, 3), (2, 3)),
    "leaky_relu": (lambda x: nn.leaky_relu(x * x.sin(), 0.2), (2, 3)),
    "gelu": (nn.gelu, (2, 3)),
    "gelu by tanh": (lambda x: nn.gelu(x, "tanh"), (2, 3)),
    "silu": (nn.silu, (2, 3)),
    "sigmoid": (nn.sigmoid, (2, 3)),
    "tanh": (nn.tanh, (2, 3)),
    "batch_norm": (lambda x, w, b: nn.batch_norm(x, None, None, w, b), (3, 2, 2), (2,), (2,)),
    "group_norm": (lambda x, w, b: nn.group_norm(x, 2, w, b), (2, 4, 2), (4,), (4,)),
    "layer_norm": (lambda x, w, b: nn.layer_norm(x, 3, w, b), (2, 3), (3,), (3,)),
    "rms_norm": (lambda x, w: nn.rms_norm(x, 3, w), (2, 3), (3,)),
    "attention": (nn.scaled_dot_product_attention, (2, 2), (3, 2), (3, 2)),
    "causal attention": (lambda q, k: nn.scaled_dot_product_attention(q, k, k * q, is_causal=True), (3, 2), (3, 2)),
    "rnn": (lambda x, w, b, h: recurrence(x, w, b, "tanh", (h,)), (2, 2, 2), (2, 2), (2,), (2, 2)),
    "lstm": (lambda x, w, b, h, c: recurrence(x, w, b, "lstm", (h, c)), (2, 1, 8), (8, 2), (8,), (1, 2), (1, 2)),
    "gru": (lambda x, w, h: recurrence(x, w, None, "gru", (h,)), (2, 2, 6), (6, 2), (2, 2)),
    "l1_loss": (nn.l1_loss, (2, 3), (2, 3)),
    "smooth_l1_loss": (lambda x, t: nn.smooth_l1_loss(x * x, t, beta=0.5), (2, 3), (2, 3)),
    "adaptive_avg_pool2d": (lambda x: nn.adaptive_avg_pool2d(x * x, 2), (1, 1, 3, 5)),
    "two layers": (lambda x, w, v: (nn.softmax((x @ w).tanh() @ v, 1).log() * (x @ w @ v).sigmoid()).mean(), (2, 3), (3, 2), (2, 2)),
})  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize("name", NETWORK)
def test_the_gradient_of_the_gradient_of_every_function_of_networks_is_that_of_finite_differences(name, backend):
    f, *shapes = NETWORK[name]
    assert_second_derivatives(f, [numbers(shape, i) for i, shape in enumerate(shapes)], backend)


# Third derivatives, and what differences cannot reach


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (lambda x: x[1:] * x[[0, 0]] * x[:2], [(3, 2)]),
        (lambda x: x.cumsum(0) * x * x, [(3, 2)]),
        (minitorch.conv1d, [(1, 2, 3), (2, 2, 2)]),
        (lambda x, w: nn.conv2d(x * x, w, stride=(1, 2), padding=1), [(1, 1, 3, 2), (1, 1, 2, 2)]),
        (lambda x: nn.avg_pool2d(x * x * x, 2, 1), [(1, 1, 3, 2)]),
        (lambda x: nn.logsoftmax(x, 1), [(2, 3)]),
        (lambda x: nn.max_pool2d(x * x * x, 2, 1), [(1, 1, 3, 2)]),
        (lambda x, w: nn.layer_norm(x, 3, w), [(2, 3), (3,)]),
    ],
    ids=["select", "cumsum", "conv1d", "conv2d", "avg_pool2d", "logsoftmax", "max_pool2d", "layer_norm"],
)
def test_third_derivatives_are_those_of_finite_differences(f, shapes):
    def gradients(*xs):
        y = f(*xs)
        found = grad((y * y * y).sum(), xs, create_graph=True)
        return sum((g * g).sum() for g in found[1:]) + (found[0] * found[0]).sum()

    assert_second_derivatives(gradients, [numbers(shape, i) for i, shape in enumerate(shapes)], FastBackend, 1e-5)


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


def test_of_a_power_by_base_and_exponent_where_the_exponent_is_0():
    a, b = leaf([2.0, 4.0, 0.0]), leaf([0.0, 0.0, 0.0])
    (by_a,) = grad((a**b).sum(), a, create_graph=True)
    (mixed,) = grad(by_a.sum(), b)
    assert mixed.tolist() == [0.5, 0.25, 0.0]  # d/db of b · a^(b-1) at 0: 1 / a


WATCHED = {"NormalCdf", "Replay", "_Mark"}
"""Functions without a rule: the backward pass of NormalCdf is made of operations on tensors, on what was given, and recorded as it is;
that of a compiled function's Replay launches kernels that were recorded, and cannot be differentiated again; that of
DistributedDataParallel's _Mark starts messages, and refuses to be differentiated again."""


def test_every_function_of_the_library_has_a_rule_or_says_how_it_is_composed():
    """One that has neither can perhaps not be differentiated twice: give it `composed`, and a line in NETWORK."""
    modules = [importlib.import_module(f"minitorch.{module}") for module in course().modules]
    own = {thing for module in modules for thing in vars(module).values() if inspect.isclass(thing) and issubclass(thing, Function)}
    last = {fn for fn in own if not fn.__subclasses__() and fn.backward is not Function.backward and fn.__module__.startswith("minitorch.")}
    last = {fn for fn in last if not fn.__module__.startswith("minitorch.ops.")}  # see the next test
    assert {fn.__name__ for fn in last if fn not in engine.RULES and not hasattr(fn, "composed")} == WATCHED


@pytest.mark.parametrize("name", ["Log1p", "Expm1", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Erf"])
def test_further_functions_have_the_right_second_derivative_or_refuse_it(name):
    function = getattr(importlib.import_module("minitorch.ops.pointwise"), name)
    x = leaf([0.3, -0.2])

    def slope(values):
        at = leaf(values)
        return grad(function.apply(at).sum(), at)[0].to_numpy()

    expected = (slope([0.3 + 1e-6, -0.2 + 1e-6]) - slope([0.3 - 1e-6, -0.2 - 1e-6])) / 2e-6
    seconds = []

    def check():
        (first,) = grad(function.apply(x).sum(), x, create_graph=True)
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_nor_of_functions_of_networks(monkeypatch, backend):
    monkeypatch.setattr(engine, "RULES", {})
    for f, *shapes in NETWORK.values():
        right(assert_second_derivatives, f, [numbers(shape, i) for i, shape in enumerate(shapes)], backend)
