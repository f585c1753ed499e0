"""The passes on programs of a few nodes: what is removed, and what must not be."""

import numpy as np

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
    c, t1 = buffer("c", [3.0, 4.0], CONSTANT), buffer("t1", [-3.0, -4.0])
    nodes = [node(operators.neg, t1, c), update(c), update(W, t1)]
    assert len(fold_constants(nodes, set())) == 3


def test_equal_operations_are_computed_once():
    t1, t2, t3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))
    nodes = [node(operators.relu, t1, X), node(operators.relu, t2, X), node(operators.mul, t3, t1, t2)]
    assert texts(reuse_results(nodes, {t3})) == ["relu(x)", "mul(t1, t1)"]


def test_operations_are_not_equal_if_an_input_was_written_in_between():
    t1, t2, t3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))
    nodes = [node(operators.relu, t1, X), update(X), node(operators.relu, t2, X), node(operators.mul, t3, t1, t2)]
    assert len(reuse_results(nodes, {t3})) == 4


def test_operations_are_not_equal_if_a_kernel_may_write_a_result():
    t1, t2, t3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))
    nodes = [node(operators.relu, t1, X), update(t1), node(operators.relu, t2, X), node(operators.mul, t3, t1, t2)]
    assert len(reuse_results(nodes, {t3})) == 4


def test_a_copy_is_skipped():
    t1, t2 = buffer("t1", [0.0, 0.0]), buffer("t2", [0.0, 0.0])
    nodes = skip_copies([node(operators.relu, t1, X), node(operators.id, t2, t1), update(W, t2)], {W})
    assert texts(nodes) == ["relu(x)", "sgd(W, t1)"]


def test_a_copy_is_kept_if_the_original_is_needed_after_the_copy_may_have_been_written():
    t1, t2, t3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))
    nodes = [node(operators.relu, t1, X), node(operators.id, t2, t1), update(W, t2), node(operators.neg, t3, t1)]
    assert len(skip_copies(nodes, {W, t3})) == 4


def test_a_copy_is_kept_if_it_is_a_result_or_a_copy_of_what_belongs_to_somebody_else():
    t1, t2 = buffer("t1", [0.0, 0.0]), buffer("t2", [0.0, 0.0])
    assert len(skip_copies([node(operators.relu, t1, X), node(operators.id, t2, t1)], {t2})) == 2
    assert len(skip_copies([node(operators.id, t1, X), update(X), node(operators.neg, t2, t1)], {t2})) == 3


def test_what_nobody_reads_is_dropped_and_what_led_to_it():
    t1, t2, t3 = (buffer(f"t{i}", [0.0, 0.0]) for i in (1, 2, 3))
    nodes = [node(operators.relu, t1, X), node(operators.neg, t2, t1), node(operators.neg, t3, X)]
    assert texts(drop_unused(nodes, {t3})) == ["neg(x)"]


def test_kernels_and_what_they_touch_are_never_dropped():
    t1 = buffer("t1", [0.0, 0.0])
    nodes = [node(operators.relu, t1, X), update(W, t1)]
    assert drop_unused(nodes, set()) == nodes
