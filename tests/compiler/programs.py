"""What tests of compiled functions share: tensors, comparisons with the function itself, and random training steps."""

import random
import tracemalloc

import numpy as np
import pytest

import minitorch
from minitorch import Module, nn
from minitorch.compiler import NotRecordable

BACKEND = minitorch.SimpleBackend
"""Of the tests that are not about kernels: it compiles none. Those in tests/exhaustive run the same ones on the fast backend."""


def tensor(values, requires_grad=False, dtype=None):
    return minitorch.tensor(values, BACKEND, requires_grad, dtype)


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, device=BACKEND, dtype=minitorch.float64)


def array_bytes():
    """The bytes of all arrays that are alive, and that tracemalloc has seen made."""
    traces = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]).traces
    return sum(trace.size for trace in traces)


def outcome_of_both(run):
    """Run with functions as they are, and compiled: `run` gets what compiles a function. The same outcome, which is returned."""
    want, got = run(lambda fn, **options: fn), run(minitorch.compile)
    assert got == want
    return got


OPS = {
    "relu": lambda net, v: v.relu(),
    "sigmoid": lambda net, v: v.sigmoid(),
    "tanh": lambda net, v: v.tanh(),
    "exp": lambda net, v: v.exp(),
    "neg": lambda net, v: -v,
    "square": lambda net, v: v * v,
    "sum0": lambda net, v: net.other.value + v.sum(0),
    "mean1": lambda net, v: net.other.value * v.mean(1),
    "permute": lambda net, v: (v.permute(1, 0) * net.row.value.view(4, 1)).permute(1, 0),
    "view": lambda net, v: (v.contiguous().view(2, 6) * 2.0).view(3, 4),
    "copy": lambda net, v: v.clone(),
    "add": lambda net, v: v + net.other.value,
    "mul": lambda net, v: v * net.other.value,
    "sub": lambda net, v: net.other.value - v,
    "row": lambda net, v: v * net.row.value,
    "column": lambda net, v: v + net.column.value,
    "matmul": lambda net, v: v @ net.weight.value,
    "twice": lambda net, v: v * (net.row.value + net.column.value) + v * (net.row.value + net.column.value),
}
"""Operations on a tensor of shape (3, 4) with the parameters of a network; the results have that shape, too."""


class RandomNetwork(Module):
    """A module that applies operations, drawn with a seed, to its parameters and an input of shape (3, 4)."""

    def __init__(self, seed, length, dtype):
        super().__init__()
        minitorch.manual_seed(seed)
        draw = random.Random(seed)
        self.ops = tuple([draw.choice(list(OPS)) for _ in range(length)])
        for name, shape in (("weight", (4, 4)), ("other", (3, 4)), ("row", (4,)), ("column", (3, 1))):
            self.add_parameter(name, minitorch.rand(shape, backend=BACKEND, dtype=dtype) - 0.5)

    def forward(self, x):
        """The mean of all that the operations lead to; the values stay small."""
        value, seen = x, []
        for op in self.ops:
            value = OPS[op](self, value) * 0.5
            seen.append(value.sum())
        total = value.mean()
        for each in seen[::2]:
            total = total + each * 0.1
        return total


def train(seed, length, dtype, steps, compiled):
    """Train a network of `length` operations for some steps, which `compiled` may compile; returns the losses, the parameters, the step."""
    network = RandomNetwork(seed, length, dtype)
    optimizer = minitorch.SGD(network.parameters(), lr=0.1, momentum=0.5)

    def step(x):
        loss = network(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = compiled(step)
    losses = []
    for _ in range(steps):
        losses.append(step(minitorch.rand((3, 4), backend=BACKEND, dtype=dtype)).item())
    return losses, [parameter.value.to_numpy() for parameter in network.parameters()], step


def fused_at_once(step):
    """The compiled step, fused after its second call."""
    compiled = minitorch.compile(step)

    def call(*args):
        result = compiled(*args)
        if compiled.recorded + compiled.replayed == 2:
            assert "def fused(" in compiled.fuse()
        return result

    call.compiled = compiled
    return call


def assert_alike(found, expected, rtol=0.0, atol=0.0):
    """Compare arrays one by one."""
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol)


def refuses(reason, name=r"\S+"):
    """Like pytest.raises, for a function that cannot be compiled: its whole reason and its name, as regular expressions."""
    return pytest.raises(NotRecordable, match=rf'^{name} cannot be compiled: {reason}\. Or pass fallback="eager" to run it as it is$')


def changes(what):
    """The reason of a function that changes something, for `refuses`."""
    return f"the function changes {what}, which a replay would not repeat; do it outside of the compiled function"
