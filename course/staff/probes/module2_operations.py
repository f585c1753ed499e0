"""Probes of Module 2: map, zip and reduce on storages, and operations on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis.strategies import booleans, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, check_all_equal, check_equal, check_raises, is_published
from course.staff.probes.module2 import EMPTY, ZERO_DIM, rng
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import (
    EXACT,
    StridedArray,
    broadcastable_shape,
    contiguous,
    kernel_arguments,
    numbers,
    random_strided,
    seeds,
    shapes,
    tensor,
)

# Task 2.3: map, zip and reduce on storages

ONE_CALL = "the map kernel calls f once for each element"
BOOL_RESULTS = "comparisons and all return bool tensors"

SCALARS = [((), 0), ((1,), 1)]

REDUCE_TESTS = "test_reduce_forward_one_dim; test_reduce_forward_one_dim_2; test_reduce_forward_all_dims"


def is_zero_dim(shape: tuple[int, ...], *seeds: int) -> bool:
    """Whether a shape, or the broadcastable shape from one of these seeds, has no dimensions."""
    return not shape or any(not broadcastable_shape(shape, rng(seed)) for seed in seeds)


def output(shape: tuple[int, ...], seed: int) -> StridedArray:
    """An output in any layout; the original course has only contiguous ones."""
    return contiguous(shape) if is_published() else random_strided(shape, rng(seed)).with_values(math.nan)


@probe(
    "2.3",
    "the map kernel writes f of every element to its position in out, in any layout",
    weight=2,
    examples=[*SCALARS, ((2, 3), 1), ((3, 2, 2), 4), ((0, 2), 3)],
    edges={EMPTY: lambda shape, seed: 0 in shape, ZERO_DIM: lambda shape, seed: is_zero_dim(shape, seed + 1)},
    labels=[ONE_CALL],
    shape=shapes,
    seed=seeds,
    source="docstring of tensor_map; test_one_args",
)
def map_kernel(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Out and input have different layouts, and the input may be broadcast."""
    out, x = output(shape, seed), random_strided(broadcastable_shape(shape, rng(seed + 1)), rng(seed + 2))
    fn, target = p.function(1, lambda _, x: x * 3.0 + 1.0), kernel_arguments(p, out)
    p.find("minitorch.tensor_ops:tensor_map")(fn)(*target, *kernel_arguments(p, x))
    got, calls = yield [target[0], p.find("builtins:len")(fn.calls)]
    check_all_equal([got, calls], [(out.with_values(3 * x.array + 1).storage[out.offset :], ""), (math.prod(shape), ONE_CALL)])


@probe(
    "2.3",
    "the zip kernel writes f of each pair of elements to its position in out, in any layout",
    weight=2,
    examples=[*SCALARS, ((2, 3), 1), ((3, 2, 2), 4), ((0, 2), 3)],
    edges={EMPTY: lambda shape, seed: 0 in shape, ZERO_DIM: lambda shape, seed: is_zero_dim(shape, seed + 1, seed + 3)},
    shape=shapes,
    seed=seeds,
    source="docstring of tensor_zip; test_two_args",
)
def zip_kernel(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Either input may be broadcast; f is x - 2 y, which is not commutative."""
    out = output(shape, seed)
    a, b = (random_strided(broadcastable_shape(shape, rng(seed + n)), rng(seed + n + 1)) for n in (1, 3))
    fn, target = p.function(2, lambda _, x, y: x - y * 2.0), kernel_arguments(p, out)
    p.find("minitorch.tensor_ops:tensor_zip")(fn)(*target, *kernel_arguments(p, a), *kernel_arguments(p, b))
    (got,) = yield [target[0]]
    check_equal(got, out.with_values(a.array - 2 * b.array).storage[out.offset :])


@probe(
    "2.3",
    "the reduce kernel reduces the dimension in order, starting from the values in out",
    weight=2,
    examples=[((2, 3), 1, 0), ((2, 3), 2, 1), ((3,), 3, 0), ((3, 1, 2), 3, 2), ((0, 2), 3, 0)],
    edges={EMPTY: lambda shape, seed, dim: 0 in shape},
    shape=shapes,
    seed=seeds,
    dim=integers(0, 2),
    source=f"docstring of tensor_reduce; {REDUCE_TESTS}",
)
def reduce_kernel(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """With the function x - 2 · accumulator, which is not commutative."""
    dim %= len(shape)
    a, kept = random_strided(shape, rng(seed)), (*shape[:dim], 1, *shape[dim + 1 :])
    starts = np.zeros(kept) if is_published() else numbers(kept, rng(seed + 1))  # the original course adds up from 0
    out = output(kept, seed + 2).with_values(starts)
    fn, target = p.function(2, lambda _, x, y: x + y if is_published() else y - x * 2.0), kernel_arguments(p, out)
    p.find("minitorch.tensor_ops:tensor_reduce")(fn)(*target, *kernel_arguments(p, a), dim)
    (got,) = yield [target[0]]
    for i in range(shape[dim]):
        starts = np.take(a.array, [i], axis=dim) + (1 if is_published() else -2) * starts
    check_equal(got, out.with_values(starts).storage[out.offset :])


# Tasks 2.3 and 2.3b: functions and methods of tensors


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-x), computed with the exponential of negative numbers only."""
    exponential = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, exponential) / (1.0 + exponential)


def close(x: np.ndarray, y: np.ndarray | float) -> np.ndarray:
    """Whether the numbers differ by less than 1e-2."""
    return np.abs(x - y) < 1e-2


UNARY: dict[str, tuple[Callable[[Value], Value], Callable[[np.ndarray], np.ndarray]]] = {
    "-x": (lambda x: -x, np.negative),
    "sigmoid": (lambda x: x.sigmoid(), sigmoid),
    "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0)),
    "exp": (lambda x: x.exp(), np.exp),
    "log": (lambda x: (x * x).log(), lambda x: np.log(x * x + 1e-6)),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Value], Callable[[Any, Any], np.ndarray]]] = {
    "x + y": (lambda x, y: x + y, np.add),
    "x - y": (lambda x, y: x - y, np.subtract),
    "x * y": (lambda x, y: x * y, np.multiply),
    "x < y": (lambda x, y: x < y, np.less),
    "x > y": (lambda x, y: x > y, np.greater),
    "x == y": (lambda x, y: x._program.find("operator:eq")(x, y), np.equal),
    "is_close": (lambda x, y: x.is_close(y), close),
}
"""Operations on one tensor and on two, in the child and in NumPy."""

WRITTEN_FORWARDS = {"sigmoid", "relu", "exp", "log", "x * y", "x < y", "x == y", "is_close", "sum"}
"""Operations whose forward is written in Task 2.3. The methods of all operations are written in Task 2.3b."""


def tasks_of(name: str) -> list[str]:
    """The tasks in which code of an operation is written."""
    return ["2.3", "2.3b"] if name in WRITTEN_FORWARDS else ["2.3b"]


COMPARISONS = ("x < y", "x > y", "x == y", "is_close")


def unary_probe(name: str, child_fn: Callable[[Value], Value], numpy_fn: Callable[[np.ndarray], np.ndarray]) -> None:
    """Register the probe of an operation on one tensor."""

    def check(p: Program, shape: tuple[int, ...], seed: int) -> Check:
        x, far = random_strided(shape, rng(seed)), np.array([-1.0, 1.0 if is_published() else 0.0, 30.0])
        got, edge = yield [child_fn(tensor(p, x, grad=True)), child_fn(tensor(p, far))]
        check_equal(got, numpy_fn(x.array), EXACT)
        check_equal(edge, numpy_fn(far), EXACT)
        check_equal(got.has_history, True, of="the result has a history")

    examples, edges = [((2, 3), 1), ((), 2)], {ZERO_DIM: lambda shape, seed: not shape}
    says = f"{name} is correct for a tensor in any layout"
    for task in tasks_of(name):
        probe(task, says, count=10, examples=examples, edges=edges, shape=shapes, seed=seeds, source="test_one_args")(check)


@probe("2.3", "sigmoid does not overflow at -1000 and 1000", edge=True)
def sigmoid_of_large_inputs(p: Program) -> Check:
    """Neither does relu."""
    x = np.array([-1000.0, 1000.0])
    got = yield [tensor(p, x).sigmoid(), tensor(p, x).relu()]
    for one, right in zip(got, [np.array([0.0, 1.0]), np.array([0.0, 1000.0])], strict=True):
        check_equal(one, right, EXACT)


def binary_probe(name: str, child_fn: Callable[[Any, Any], Value], numpy_fn: Callable[[Any, Any], np.ndarray]) -> None:
    """Register the probe of an operation on two tensors, or a tensor and a number."""

    def check(p: Program, shape: tuple[int, ...], seed: int, swap: bool) -> Check:
        x, y = random_strided(shape, rng(seed)), random_strided(broadcastable_shape(shape, rng(seed + 1)), rng(seed + 2))
        near = np.array([1.0, 1.0, 1.0, 1.0, 2.0, -5.0, -2.0]), np.array([1.009, 0.991, 1.0 + 1e-9, 1.0, 2.011, 5.0, -2.02])
        apart = np.array([0.0, 0.0]), np.array([0.01, -0.01])
        x, y = (y, x) if swap else (x, y)
        first = tensor(p, x, grad=True)
        number = tensor(p, np.array([1.5])) if name == "is_close" and is_published() else 1.5  # there it takes a tensor
        requests = [child_fn(first, tensor(p, y)), child_fn(first, number), child_fn(tensor(p, near[0]), tensor(p, near[1]))]
        got = yield [*requests, child_fn(tensor(p, apart[0]), tensor(p, apart[1])), child_fn(first, tensor(p, y, grad=True))]
        expected = [numpy_fn(x.array, y.array), numpy_fn(x.array, 1.5), numpy_fn(*near), numpy_fn(*apart), numpy_fn(x.array, y.array)]
        for one, right in zip(got, expected, strict=True):
            check_equal(one, right, EXACT)
        if name not in COMPARISONS:
            check_equal(got[0].has_history, True, of="the result has a history")
        elif kinds := {str(one.array.dtype) for one in got} - {"bool"}:
            raise Wrong("", {BOOL_RESULTS: f"expected bool tensors, got {', '.join(sorted(kinds))}"})

    examples = [((2, 3), 1, False), ((3, 2), 5, True), ((), 2, False)]
    for task in tasks_of(name):
        probe(
            task,
            f"{name} is correct for tensors that broadcast, and for a tensor and a number",
            count=10,
            examples=examples,
            edges={ZERO_DIM: lambda shape, seed, swap: is_zero_dim(shape, seed + 1)},
            labels=[BOOL_RESULTS] if name in COMPARISONS else [],
            shape=shapes,
            seed=seeds,
            swap=booleans(),
            source="assert_close_tensor" if name == "is_close" else "test_one_args; test_two_args; test_two_grad_broadcast",
        )(check)


for _name, _pair in UNARY.items():
    unary_probe(_name, *_pair)
for _name, _pair in BINARY.items():
    binary_probe(_name, *_pair)


@probe("2.3b", "+ and * accept a number as the left operand", edge=True, shape=shapes, seed=seeds, count=5)
def number_on_the_left(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Such as 1.5 + x."""
    x = random_strided(shape, rng(seed))
    made = tensor(p, x, grad=True)
    total, product = yield [1.5 + made, -2.0 * made]
    check_equal(total, x.array + 1.5)
    check_equal(product, x.array * -2.0)


def reduction_probe(name: str, numpy_fn: Callable[..., Any], source: str) -> None:
    """Register the probe of a reduction."""

    def check(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
        x, dim = random_strided(shape, rng(seed)), dim % len(shape)
        if name == "all":
            x.array[...] = np.where(rng(seed).random(shape) < 0.2, 0.0, 1.0 if is_published() else x.array)
        made = tensor(p, x, grad=name != "all")
        reduce = getattr(made, name)
        contiguous_all = name == "all" and is_published()  # there it requires a contiguous tensor
        whole = getattr(tensor(p, np.array(x.array)), name) if contiguous_all else reduce
        got = yield [whole(), reduce(dim)]
        for one, right in zip(got, [np.array(numpy_fn(x.array)).reshape(1), numpy_fn(x.array, dim, keepdims=True)], strict=True):
            check_equal(one, np.asarray(right), EXACT)
            if name != "all":
                check_equal(one.has_history, True, of="the result has a history")
        if name == "all" and (kinds := {str(one.array.dtype) for one in got} - {"bool"}):
            raise Wrong("", {BOOL_RESULTS: f"expected bool tensors, got {', '.join(sorted(kinds))}"})

    examples = [((2, 3), 1, 0), ((2, 3), 1, 1), ((4,), 2, 0), ((3, 2, 4), 3, 1)]
    says = f"{name} is correct along a dimension and over all elements"
    labels = [BOOL_RESULTS] if name == "all" else []
    for task in tasks_of(name):
        probe(task, says, count=12, examples=examples, labels=labels, shape=shapes, seed=seeds, dim=integers(0, 2), source=source)(check)


reduction_probe("sum", np.sum, REDUCE_TESTS)
reduction_probe("mean", np.mean, "test_grad_reduce")
reduction_probe("all", np.all, "assert_close_tensor")


@probe(
    "2.3b",
    "sum, mean and all accept a negative dimension, and keepdim=False",
    edge=True,
    examples=[("sum", (2, 3), 1, 0), ("mean", (3, 2, 4), 3, 1), ("all", (2, 3), 1, 1)],
)
def reduction_arguments(p: Program, name: str, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """As in PyTorch."""
    x = np.round(numbers(shape, rng(seed)) / 4)
    reduce = getattr(tensor(p, x), name)
    from_the_end, dropped = yield [reduce(dim - len(shape)), reduce(dim, keepdim=False)]
    check_equal(from_the_end, getattr(np, name)(x, dim, keepdims=True), EXACT)
    check_equal(dropped, getattr(np, name)(x, dim), EXACT)


@probe(
    "2.3b",
    "permute of a tensor returns a view whose history holds the tensor",
    weight=2,
    examples=[((2, 3, 4), 1), ((2, 3), 2)],
    shape=shapes,
    seed=seeds,
    count=10,
    source="test_permute",
)
def permute_tensor(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Checks elements, strides and storage."""
    x, order = random_strided(shape, rng(seed)), tuple(map(int, rng(seed + 1).permutation(len(shape))))
    made = tensor(p, x, grad=True)
    view = made.permute(*order)
    one_storage = p.find("operator:is_")(view._tensor._storage, made._tensor._storage)
    got, shared = yield [view, one_storage]
    check_equal(got, x.array.transpose(order))
    check_equal(
        (got.strides, got.has_history, shared or is_published()),  # there only TensorData.permute must share the storage
        (tuple(x.strides[dim] for dim in order), True, True),
        of="strides, whether it has a history, and whether it has the same storage",
    )


@probe(
    "2.3b",
    "view returns the same elements in another shape, over the same storage",
    weight=2,
    examples=[((2, 3, 4), 1), ((2, 3), 2), ((4,), 3)],
    shape=shapes,
    seed=seeds,
    count=10,
    source="test_view",
)
def view_tensor(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Sizes are passed as separate arguments."""
    x = numbers(shape, rng(seed))
    made, half = tensor(p, x, grad=True), (shape[0], math.prod(shape[1:]))
    views = [made.view(*half), made.view(*half[::-1]), made.view(x.size)]
    shared = p.find("operator:is_")(views[0]._tensor._storage, made._tensor._storage)
    *got, one_storage = yield [*views, shared]
    for one, right in zip(got, [half, half[::-1], (x.size,)], strict=True):
        check_equal(one, x.reshape(right))
        check_equal(one.has_history, True, of="the result has a history")
    if not is_published():
        check_equal(one_storage, True, of="the result has the same storage")


@probe(
    "2.3b",
    "permute and view accept one tuple, view infers a size of -1, and permute accepts negative dimensions",
    edge=True,
    examples=[(1,), (2,)],
)
def shape_arguments(p: Program, seed: int) -> Check:
    """As in PyTorch."""
    x = numbers((2, 3, 4), rng(seed))
    made = tensor(p, x)
    got = yield [made.permute((2, 0, 1)), made.permute(-1, 0, -2), made.view((6, 4)), made.view(-1), made.view(2, -1)]
    right = [x.transpose(2, 0, 1), x.transpose(2, 0, 1), x.reshape(6, 4), x.reshape(-1), x.reshape(2, -1)]
    for one, expected in zip(got, right, strict=True):
        check_equal(one, expected)


@probe("2.3b", "view rejects a permuted tensor, and a shape with another number of elements", edge=True, examples=[(1,)])
def wrong_views(p: Program, seed: int) -> Check:
    """With a ValueError."""
    yield from check_raises(tensor(p, numbers((2, 3), rng(seed))).permute(1, 0).view(6), "ValueError")
    q = Program()
    yield from check_raises(tensor(q, numbers((2, 3), rng(seed))).view(4), "ValueError")


FORWARDS: dict[str, Callable[..., np.ndarray]] = {
    "Mul": np.multiply, "LT": np.less, "EQ": np.equal, "IsClose": close, "Sigmoid": sigmoid, "ReLU": lambda x: np.maximum(x, 0),
    "Exp": np.exp, "Log": lambda x: np.log(x + 1e-6),
}  # fmt: skip


@probe(
    "2.3",
    "forward of every function returns a tensor with new storage, and does not change its inputs",
    weight=2,
    examples=[(name, 3) for name in FORWARDS],
    name=sampled_from(sorted(FORWARDS)),
    seed=seeds,
    count=16,
    source="test_one_args; test_two_args; test_one_derivative",
)
def forwards(p: Program, name: str, seed: int) -> Check:
    """Called directly, without recording a history."""
    two = name in ("Mul", "LT", "EQ", "IsClose")
    arrays = [np.abs(numbers((2, 3), rng(seed + n))) for n in range(2 if two else 1)]
    inputs = [tensor(p, array) for array in arrays]
    made = p.find(f"minitorch.tensor_functions:{name}.forward")(p.find("minitorch.autodiff:Context")(), *inputs)
    apart = p.find("operator:is_not")(made._tensor._storage, inputs[0]._tensor._storage)
    got, own, *after = yield [made, apart, *inputs]
    check_equal(got, FORWARDS[name](*arrays), EXACT)
    check_equal(own, True, of="the result has new storage")
    for one, before in zip(after, arrays, strict=True):
        check_equal(one, before, of="the input after the call")


@probe(
    "2.3",
    "Sum.forward keeps the dimension with size 1, and Permute.forward copies no elements",
    examples=[(0, 1), (1, 2), (2, 3)],
    published=False,  # there students choose what forward receives
)
def layout_forwards(p: Program, dim: int, seed: int) -> Check:
    """For every dimension, and an order that is not its own inverse."""
    x = numbers((2, 3, 4), rng(seed))
    context, made = p.find("minitorch.autodiff:Context")(), tensor(p, x)
    permuted_tensor = p.find("minitorch.tensor_functions:Permute.forward")(context, made, (1, 2, 0))
    shared = p.find("operator:is_")(permuted_tensor._tensor._storage, made._tensor._storage)
    total, permuted, one_storage = yield [p.find("minitorch.tensor_functions:Sum.forward")(context, made, dim), permuted_tensor, shared]
    check_equal(total, x.sum(dim, keepdims=True), EXACT)
    check_equal(permuted, x.transpose(1, 2, 0))
    check_equal(one_storage, True, of="the result has the same storage")
