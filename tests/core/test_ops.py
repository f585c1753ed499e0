"""Every op of the table: its values, shape and dtype against NumPy, its gradient against finite differences, and what it shares."""

import inspect
import math
import re
import warnings
from itertools import cycle

import numpy as np
import pytest

import minitorch
from course.manifest import course
from minitorch import Tensor, float32, float64, tensor
from tests.op_table import DTYPES, ELSEWHERE, OPS, sample, samples, tensor_in

LAYOUTS = ("contiguous", "offset", "permuted", "sliced", "expanded")


def name(op):
    return op.name


def expected(op, arrays):
    """NumPy's answer, computed in float64 (masks as they are), without its warnings about NaN and infinity."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(op.numpy(*[array if d == "mask" else array.astype(float64) for d, array in zip(op.domains, arrays, strict=True)]))


def assert_same(out, array, tolerance=1e-12, said=""):
    """Fail unless a tensor has the shape and the values of an array; a Python number stands for a tensor of no dimensions."""
    values = out.to_numpy() if isinstance(out, Tensor) else np.asarray(out)
    assert values.shape == array.shape, f"{said}: expected shape {array.shape}, got {values.shape}"
    np.testing.assert_allclose(values.astype(float64), array.astype(float64), rtol=tolerance, atol=tolerance, err_msg=said)


def trials(op, seed=0):
    """For every trial of a row the operands as tensors and as arrays, and what to call it.

    The arrays are the same objects in every layout that has the same values: only "expanded" has others.
    """
    for shapes in op.shapes:
        values = samples(op, shapes, seed=seed)
        for layout in op.layouts:
            xs, arrays = zip(*[tensor_in(array, layout) for array in values], strict=True)
            yield list(xs), arrays if layout == "expanded" else values, f"{op.name} of {list(shapes)}, {layout}"


def floats_of(op, xs):
    """The operands that gradients flow into, as leaves."""
    return [x.requires_grad_() for domain, x in zip(op.domains, xs, strict=True) if domain != "mask"]


# The table itself


def test_every_public_operation_is_in_the_table_or_tested_elsewhere():
    modules = {f"minitorch.{module}" for stage in course().stages if stage.number == 2 for module in stage.modules}
    functions = [f for f in minitorch.__all__ if getattr(getattr(minitorch, f), "__module__", None) in modules]
    public = {f for f in functions if inspect.isfunction(getattr(minitorch, f))}
    for kind in Tensor.__mro__:
        if kind is not object:
            names = [method for method, value in vars(kind).items() if inspect.isroutine(value)]
            public |= {f"Tensor.{method}" for method in names if not re.match(r"_[^_]", method)}
    listed = {op.covers for op in OPS}
    elsewhere = " ".join(ELSEWHERE.values()).split()
    assert sorted(public - listed - set(elsewhere)) == []
    assert sorted((listed | set(elsewhere)) - public) == [], "these exist no more"
    assert sorted(listed & set(elsewhere)) == []


def test_the_rows_have_different_names():
    names = [op.name for op in OPS]
    assert sorted({name for name in names if names.count(name) > 1}) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layouts_are_what_they_are_called(layout):
    x, array = tensor_in(sample("any", (2, 3)), layout)
    assert (x.to_numpy() == array).all()
    strides = {"contiguous": (3, 1), "offset": (3, 1), "permuted": (1, 2), "sliced": (14, 2), "expanded": (0, 1)}
    assert x.stride() == strides[layout]
    assert x.storage_offset() == {"offset": 3, "sliced": 8}.get(layout, 0)


# Values


@pytest.mark.parametrize("op", OPS, ids=name)
def test_the_value_is_numpys_in_every_layout_and_operands_are_left_as_they_were_and_shared_only_by_views(op):
    answers = {}
    for xs, arrays, said in trials(op):
        versions = [x._tensor.version for x in xs]
        if id(arrays) not in answers:
            answers[id(arrays)] = arrays, expected(op, arrays)
        assert_same(op.ours(*xs), answers[id(arrays)][1], said=said)
        floats_of(op, xs)
        out = op.ours(*xs)
        if isinstance(out, Tensor):
            if out.size and op.view is not None:
                assert any(np.shares_memory(out.numpy(), x.numpy()) for x in xs) == op.view, said
            if op.gradient:
                out.backward(1.0 if out.size == 1 else tensor(np.ones(out.shape)))
        for x, array, version in zip(xs, arrays, versions, strict=True):
            assert (x.to_numpy() == array).all()
            assert x._tensor.version == version


@pytest.mark.parametrize("op", OPS, ids=name)
def test_every_dtype_is_computed_with(op):
    masks = op.domains.count("mask")
    counted = len(op.domains) - masks
    layouts = cycle(op.layouts)
    for one in DTYPES:
        for other in DTYPES if counted == 2 else (one,):
            chosen = iter((one, other) if counted == 2 else (one,) * counted)
            dtypes = [np.dtype(bool) if domain == "mask" else next(chosen) for domain in op.domains]
            layout = next(layouts)
            xs, arrays = zip(*[tensor_in(array, layout) for array in samples(op, op.shapes[0], dtypes)], strict=True)
            out = op.ours(*xs)
            said = f"{op.name} of {', '.join(dtype.name for dtype in dtypes)}, {layout}"
            tolerance = 1e-5 if float32 in [*dtypes, getattr(out, "dtype", None)] else 1e-12
            values = expected(op, arrays)
            if isinstance(out, Tensor):
                values = values != 0 if out.dtype == bool else values
                assert out.dtype == op.result(*dtypes), f"{said}: expected {op.result(*dtypes)}, got {out.dtype}"
            assert_same(out, values, tolerance, said)


# Gradients


def weights_for(shape):
    """A different weight for every element of a result, so that gradients which change places are seen."""
    return np.cos(np.arange(math.prod(shape)) * 1.3 + 0.4).reshape(shape)


def numeric_gradients(op, arrays, weights, step=1e-5):
    """The derivatives of the weighted sum of NumPy's result, by central differences in every element of every operand."""
    gradients = []
    for i, array in enumerate(arrays):
        if op.domains[i] == "mask":
            continue
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            ends = []
            for shift in (step, -step):
                moved = [other.copy() for other in arrays]
                moved[i][index] += shift  # an array of no dimensions too
                ends.append((expected(op, moved) * weights).sum())
            gradient[index] = (ends[0] - ends[1]) / (2 * step)
        gradients.append(gradient)
    return gradients


DIFFERENTIABLE = [op for op in OPS if op.gradient]


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=name)
def test_the_gradient_is_that_of_finite_differences_in_every_layout_and_in_float32(op):
    answers = {}
    for xs, arrays, said in trials(op, seed=1):
        leaves = floats_of(op, xs)
        out = op.ours(*xs)
        if not isinstance(out, Tensor) or (op.distinct and said.endswith("expanded")):  # an element is a plain number
            continue
        weights = weights_for(out.shape)
        out.backward(tensor(weights))
        is_first = not answers
        if id(arrays) not in answers:
            answers[id(arrays)] = arrays, numeric_gradients(op, arrays, weights)
        gradients = answers[id(arrays)][1]
        for x, gradient in zip(leaves, gradients, strict=True):
            assert isinstance(x.grad, Tensor), said
            assert x.grad.dtype == float64
            assert_same(x.grad, gradient, 1e-6, said)
        if is_first:
            xs = [tensor_in(array if array.dtype == bool else array.astype(float32))[0] for array in arrays]
            leaves = floats_of(op, xs)
            op.ours(*xs).backward(tensor(weights, dtype=float32))
            for x, gradient in zip(leaves, gradients, strict=True):
                assert x.grad.dtype == float32
                assert_same(x.grad, gradient, 1e-4, said)


@pytest.mark.parametrize("op", [op for op in OPS if not op.gradient and not op.name.startswith("x.to")], ids=name)
def test_what_has_no_gradient_says_so_or_is_a_constant(op):
    xs = next(trials(op))[0]
    floats_of(op, xs)
    out = op.ours(*xs)
    if out.requires_grad:
        with pytest.raises(RuntimeError, match="has no gradient: it defines no backward; "):
            out.sum().backward()


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if len(op.domains) - op.domains.count("mask") == 2], ids=name)
def test_two_leaves_of_different_dtypes_each_get_a_gradient_of_their_own(op):
    masks = op.domains.count("mask")
    arrays = samples(op, op.shapes[0], [None] * masks + [float32, float64], seed=1)
    xs = [tensor_in(array)[0] for array in arrays]
    narrow, wide = xs[masks].requires_grad_(), xs[masks + 1].requires_grad_()
    out = op.ours(*xs)
    out.backward(tensor(np.ones(out.shape)))
    assert (narrow.grad.dtype, wide.grad.dtype) == (float32, float64)
    assert not np.shares_memory(narrow.grad.numpy(), wide.grad.numpy())
