"""The passes on programs of a few nodes: what is removed, and what must not be."""

import numpy as np
import pytest

from minitorch import operators
from minitorch.compiler.passes import drop_unused, fold_constants, reuse_results, skip_copies
from minitorch.compiler.trace import CONSTANT, EXTERNAL, TEMPORARY, Buffer, Launch, Node, Slice, View


def buffer(name, numbers, role=TEMPORARY):
    return Buffer(name, np.array(numbers, dtype=float), role, role != TEMPORARY)


def view(of):
    return View(of, (len(of.array),), (1,))


def node(fn, out, *inputs):
    return Node("zip" if len(inputs) == 2 else "map", fn.__name__, fn, view(out), tuple([view(each) for each in inputs]))


def update(*touched):
    """A kernel that may read and write all of these."""
    slices = tuple([Slice(each, 0, each.array.shape, each.array.strides, each.array.dtype) for each in touched])
    return Node("kernel", "sgd", launches=[Launch(print, slices)])


def texts(nodes):
    return [str(each).partition(": ")[2].partition(" = ")[2] or str(each) for each in nodes]


X = buffer("x", [1.0, 2.0], EXTERNAL)
W = buffer("W", [0.0, 0.0], EXTERNAL)
T1, T2, T3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))


def test_what_constants_lead_to_is_computed_once():
    c, t1, t2 = buffer("c", [3.0, 4.0], CONSTANT), buffer("t1", [-3.0, -4.0]), buffer("t2", [0.0, 0.0])
    nodes = fold_constants([node(operators.neg, t1, c), node(operators.add, t2, X, t1)], {t2})
    assert texts(nodes) == ["add(x, t1)"]
    folded = nodes[0].inputs[1].buffer
    assert folded.role == CONSTANT
    assert folded.array.tolist() == [-3.0, -4.0]
    t1.array[:] = 0  # the memory is used again, the constant is not
    assert folded.array.tolist() == [-3.0, -4.0]


def test_a_constant_that_a_kernel_writes_is_not_folded():
    c = buffer("c", [3.0, 4.0], CONSTANT)
    nodes = [node(operators.neg, T1, c), update(c), update(W, T1)]
    assert fold_constants(nodes, set()) == nodes


RELU = node(operators.relu, T1, X)
AGAIN = [node(operators.relu, T2, X), node(operators.mul, T3, T1, T2)]
COPY = node(operators.id, T2, T1)


@pytest.mark.parametrize(
    ("change", "nodes", "kept", "expected"),
    [
        (reuse_results, [RELU, *AGAIN], {T3}, ["relu(x)", "mul(t1, t1)"]),
        (skip_copies, [RELU, COPY, update(W, T2)], {W}, ["relu(x)", "sgd(W, t1)"]),
        (drop_unused, [RELU, node(operators.neg, T2, T1), node(operators.neg, T3, X)], {T3}, ["neg(x)"]),
    ],
    ids=["equal operations", "a copy", "what nobody reads, and what led to it"],
)
def test_what_a_pass_removes(change, nodes, kept, expected):
    assert texts(change(nodes, kept)) == expected


@pytest.mark.parametrize(
    ("change", "nodes", "kept"),
    [
        (reuse_results, [RELU, update(X), *AGAIN], {T3}),
        (reuse_results, [RELU, update(T1), *AGAIN], {T3}),
        (skip_copies, [RELU, COPY, update(W, T2), node(operators.neg, T3, T1)], {W, T3}),
        (skip_copies, [RELU, COPY], {T2}),
        (skip_copies, [node(operators.id, T1, X), update(X), node(operators.neg, T2, T1)], {T2}),
        (drop_unused, [RELU, update(W, T1)], set()),
    ],
    ids=[
        "equal operations, if an input was written in between", "equal operations, if a kernel may write a result",
        "a copy, if the original is needed after the copy may have been written", "a copy that is a result",
        "a copy of what belongs to somebody else", "kernels and what they touch",
    ],
)  # fmt: skip
def test_what_a_pass_leaves(change, nodes, kept):
    assert change(nodes, kept) == nodes
