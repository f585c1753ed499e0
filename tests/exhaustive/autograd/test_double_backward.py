"""Gradients of gradients, of every op of the table and every function of networks, against finite differences."""

import re
from collections import OrderedDict

import pytest

import minitorch
from minitorch import FastBackend, int64, nn, tensor
from minitorch.autograd import engine, grad
from minitorch.nn.recurrence import recurrence
from tests.autograd.test_double_backward import BACKENDS, DIFFERENTIABLE, assert_op, assert_second_derivatives, filled, numbers, right

ONE_EACH = list({op.covers: op for op in DIFFERENTIABLE if not re.search("any|max|min", op.name)}.values())  # those only mask


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


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
@pytest.mark.parametrize("name", NETWORK)
def test_the_gradient_of_the_gradient_of_every_function_of_networks_is_that_of_finite_differences(name, backend):
    f, *shapes = NETWORK[name]
    assert_second_derivatives(f, [numbers(shape, i) for i, shape in enumerate(shapes)], backend)


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


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_nor_of_functions_of_networks(monkeypatch, backend):
    monkeypatch.setattr(engine, "RULES", {})
    for f, *shapes in NETWORK.values():
        right(assert_second_derivatives, f, [numbers(shape, i) for i, shape in enumerate(shapes)], backend)
