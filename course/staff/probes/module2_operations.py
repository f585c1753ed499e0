"""Probes of Module 2: the patterns on storages, and operations of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis.strategies import booleans, integers, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, Wrong, all_same, is_published, raises, same
from course.staff.probes.module2 import BARE, EMPTY, drawn
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, for_kernel, laid, numbers, seeds, shapes, shrunk, tensor

# Task 2.3: the patterns on storages

ONCE = "the kernel of map calls f once for each element"
TRUTH = "comparisons and all give tensors of bool"

SCALARS = [((), 0), ((1,), 1)]


def is_bare(shape: tuple[int, ...], *seeds: int) -> bool:
    """Whether a shape, or one that it is shrunk to from one of these seeds, has no dimensions."""
    return not shape or any(not shrunk(shape, drawn(seed)) for seed in seeds)


@probe(
    "2.3",
    "the kernel of map writes f of every element where out has it, in any layout",
    weight=2,
    examples=[*SCALARS, ((2, 3), 1), ((3, 2, 2), 4), ((0, 2), 3)],
    edges={EMPTY: lambda shape, seed: 0 in shape, BARE: lambda shape, seed: is_bare(shape, seed + 1)},
    labels=[ONCE],
    shape=shapes,
    seed=seeds,
)
def map_kernel(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Out and input have orders and gaps of their own, and the input may be smaller."""
    out, x = laid(shape, drawn(seed)).filled(math.nan), laid(shrunk(shape, drawn(seed + 1)), drawn(seed + 2))
    fn, target = p.function(1, lambda _, x: x * 3.0 + 1.0), for_kernel(p, out)
    p.find("minitorch.tensor_ops:tensor_map")(fn)(*target, *for_kernel(p, x))
    got, calls = yield [target[0], p.find("builtins:len")(fn.calls)]
    all_same([got, calls], [(out.filled(3 * x.array + 1).storage[out.offset :], ""), (math.prod(shape), ONCE)])


@probe(
    "2.3",
    "the kernel of zip writes f of both elements where out has them, in any layout",
    weight=2,
    examples=[*SCALARS, ((2, 3), 1), ((3, 2, 2), 4), ((0, 2), 3)],
    edges={EMPTY: lambda shape, seed: 0 in shape, BARE: lambda shape, seed: is_bare(shape, seed + 1, seed + 3)},
    shape=shapes,
    seed=seeds,
)
def zip_kernel(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Either input may be smaller; f is x - 2 y, in which the order matters."""
    out = laid(shape, drawn(seed)).filled(math.nan)
    a, b = (laid(shrunk(shape, drawn(seed + n)), drawn(seed + n + 1)) for n in (1, 3))
    fn, target = p.function(2, lambda _, x, y: x - y * 2.0), for_kernel(p, out)
    p.find("minitorch.tensor_ops:tensor_zip")(fn)(*target, *for_kernel(p, a), *for_kernel(p, b))
    (got,) = yield [target[0]]
    same(got, out.filled(a.array - 2 * b.array).storage[out.offset :])


@probe(
    "2.3",
    "the kernel of reduce folds the dimension in order, beginning with what stands in out",
    weight=2,
    examples=[((2, 3), 1, 0), ((2, 3), 2, 1), ((3,), 3, 0), ((3, 1, 2), 3, 2), ((0, 2), 3, 0)],
    edges={EMPTY: lambda shape, seed, dim: 0 in shape},
    shape=shapes,
    seed=seeds,
    dim=integers(0, 2),
)
def reduce_kernel(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """By x - 2 · what has been folded, in which the order matters."""
    dim %= len(shape)
    a, kept = laid(shape, drawn(seed)), (*shape[:dim], 1, *shape[dim + 1 :])
    starts = numbers(kept, drawn(seed + 1))
    out = laid(kept, drawn(seed + 2)).filled(starts)
    fn, target = p.function(2, lambda _, x, y: x + y if is_published() else y - x * 2.0), for_kernel(p, out)
    p.find("minitorch.tensor_ops:tensor_reduce")(fn)(*target, *for_kernel(p, a), dim)
    (got,) = yield [target[0]]
    for i in range(shape[dim]):
        starts = np.take(a.array, [i], axis=dim) + (1 if is_published() else -2) * starts
    same(got, out.filled(starts).storage[out.offset :])


# Task 2.3: functions and methods of tensors


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-x), where e is raised to negative powers alone."""
    power = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, power) / (1.0 + power)


def close(x: np.ndarray, y: np.ndarray | float) -> np.ndarray:
    """Less than 1e-2 apart."""
    return np.abs(x - y) < 1e-2


ONE: dict[str, tuple[Callable[[Value], Value], Callable[[np.ndarray], np.ndarray]]] = {
    "-x": (lambda x: -x, np.negative),
    "sigmoid": (lambda x: x.sigmoid(), sigmoid),
    "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0)),
    "exp": (lambda x: x.exp(), np.exp),
    "log": (lambda x: (x * x).log(), lambda x: np.log(x * x + 1e-6)),
}
TWO: dict[str, tuple[Callable[[Any, Any], Value], Callable[[Any, Any], np.ndarray]]] = {
    "x + y": (lambda x, y: x + y, np.add),
    "x - y": (lambda x, y: x - y, np.subtract),
    "x * y": (lambda x, y: x * y, np.multiply),
    "x < y": (lambda x, y: x < y, np.less),
    "x > y": (lambda x, y: x > y, np.greater),
    "x == y": (lambda x, y: x._program.find("operator:eq")(x, y), np.equal),
    "is_close": (lambda x, y: x.is_close(y), close),
}
"""Operations of one tensor and of two, in the child and here."""

TRUTHS = ("x < y", "x > y", "x == y", "is_close")


def of_one(name: str, there: Callable[[Value], Value], here: Callable[[np.ndarray], np.ndarray]) -> None:
    """Enter the probe of an operation of one tensor."""

    def check(p: Program, shape: tuple[int, ...], seed: int) -> Check:
        x, far = laid(shape, drawn(seed)), np.array([-1.0, 1.0 if is_published() else 0.0, 30.0])
        got, edge = yield [there(tensor(p, x, grad=True)), there(tensor(p, far))]
        same(got, here(x.array), EXACT)
        same(edge, here(far), EXACT)
        same(got.recorded, True, of="a result that remembers it,")

    examples, edges = [((2, 3), 1), ((), 2)], {BARE: lambda shape, seed: not shape}
    probe("2.3", f"{name} of a tensor of any layout", count=10, examples=examples, edges=edges, shape=shapes, seed=seeds)(check)


@probe("2.3", "sigmoid does not overflow at -1000 and 1000", edge=True)
def far_from_zero(p: Program) -> Check:
    """Nor does relu."""
    x = np.array([-1000.0, 1000.0])
    got = yield [tensor(p, x).sigmoid(), tensor(p, x).relu()]
    for one, right in zip(got, [np.array([0.0, 1.0]), np.array([0.0, 1000.0])], strict=True):
        same(one, right, EXACT)


def of_two(name: str, there: Callable[[Any, Any], Value], here: Callable[[Any, Any], np.ndarray]) -> None:
    """Enter the probe of an operation of two tensors, or a tensor and a number."""

    def check(p: Program, shape: tuple[int, ...], seed: int, swap: bool) -> Check:
        x, y = laid(shape, drawn(seed)), laid(shrunk(shape, drawn(seed + 1)), drawn(seed + 2))
        near = np.array([1.0, 1.0, 1.0, 1.0, 2.0, -5.0, -2.0]), np.array([1.009, 0.991, 1.0 + 1e-9, 1.0, 2.011, 5.0, -2.02])
        apart = np.array([0.0, 0.0]), np.array([0.01, -0.01])
        x, y = (y, x) if swap else (x, y)
        first = tensor(p, x, grad=True)
        asked = [there(first, tensor(p, y)), there(first, 1.5), there(tensor(p, near[0]), tensor(p, near[1]))]
        got = yield [*asked, there(tensor(p, apart[0]), tensor(p, apart[1])), there(first, tensor(p, y, grad=True))]
        expected = [here(x.array, y.array), here(x.array, 1.5), here(*near), here(*apart), here(x.array, y.array)]
        for one, right in zip(got, expected, strict=True):
            same(one, right, EXACT)
        if name not in TRUTHS:
            same(got[0].recorded, True, of="a result that remembers it,")
        elif kinds := {str(one.array.dtype) for one in got} - {"bool"}:
            raise Wrong("", {TRUTH: f"expected tensors of bool, got {', '.join(sorted(kinds))}"})

    examples = [((2, 3), 1, False), ((3, 2), 5, True), ((), 2, False)]
    probe(
        "2.3",
        f"{name} of tensors that broadcast, and beside a number",
        count=10,
        examples=examples,
        edges={BARE: lambda shape, seed, swap: is_bare(shape, seed + 1)},
        labels=[TRUTH] if name in TRUTHS else [],
        shape=shapes,
        seed=seeds,
        swap=booleans(),
    )(check)


for _name, _pair in ONE.items():
    of_one(_name, *_pair)
for _name, _pair in TWO.items():
    of_two(_name, *_pair)


@probe("2.3", "a number may stand at the left of + and *", edge=True, shape=shapes, seed=seeds, count=5)
def at_the_left(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """As 1.5 + x."""
    x = laid(shape, drawn(seed))
    made = tensor(p, x, grad=True)
    total, product = yield [1.5 + made, -2.0 * made]
    same(total, x.array + 1.5)
    same(product, x.array * -2.0)


def reduction(name: str, here: Callable[..., Any]) -> None:
    """Enter the probe of a reduction."""

    def check(p: Program, shape: tuple[int, ...], seed: int, dim: int) -> Check:
        x, dim = laid(shape, drawn(seed)), dim % len(shape)
        if name == "all":
            x.array[...] = np.where(drawn(seed).random(shape) < 0.2, 0.0, x.array)
        made = tensor(p, x, grad=name != "all")
        fold = getattr(made, name)
        whole = getattr(tensor(p, np.array(x.array)), name) if name == "all" and is_published() else fold  # its `all` took contiguous ones
        got = yield [whole(), fold(dim)]
        for one, right in zip(got, [np.array(here(x.array)).reshape(1), here(x.array, dim, keepdims=True)], strict=True):
            same(one, np.asarray(right), EXACT)
            if name != "all":
                same(one.recorded, True, of="a result that remembers it,")
        if name == "all" and (kinds := {str(one.array.dtype) for one in got} - {"bool"}):
            raise Wrong("", {TRUTH: f"expected tensors of bool, got {', '.join(sorted(kinds))}"})

    examples = [((2, 3), 1, 0), ((2, 3), 1, 1), ((4,), 2, 0), ((3, 2, 4), 3, 1)]
    says = f"{name} of a tensor, along a dimension and of all elements"
    labels = [TRUTH] if name == "all" else []
    probe("2.3", says, count=12, examples=examples, labels=labels, shape=shapes, seed=seeds, dim=integers(0, 2))(check)


REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "mean": np.mean, "all": np.all}

for _name, _here in REDUCTIONS.items():
    reduction(_name, _here)


@probe(
    "2.3",
    "sum, mean and all take a dimension that counts from the end, and keepdim=False",
    edge=True,
    examples=[("sum", (2, 3), 1, 0), ("mean", (3, 2, 4), 3, 1), ("all", (2, 3), 1, 1)],
)
def reduction_arguments(p: Program, name: str, shape: tuple[int, ...], seed: int, dim: int) -> Check:
    """As PyTorch's."""
    x = np.round(numbers(shape, drawn(seed)) / 4)
    fold = getattr(tensor(p, x), name)
    from_the_end, dropped = yield [fold(dim - len(shape)), fold(dim, keepdim=False)]
    same(from_the_end, REDUCTIONS[name](x, dim, keepdims=True), EXACT)
    same(dropped, REDUCTIONS[name](x, dim), EXACT)


@probe(
    "2.3",
    "permute of a tensor is a view that remembers it",
    weight=2,
    examples=[((2, 3, 4), 1), ((2, 3), 2)],
    shape=shapes,
    seed=seeds,
    count=10,
)
def permute_tensor(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """The numbers, the strides, and the storage."""
    x, order = laid(shape, drawn(seed)), tuple(map(int, drawn(seed + 1).permutation(len(shape))))
    made = tensor(p, x, grad=True)
    view = made.permute(*order)
    one_storage = p.find("operator:is_")(view._tensor._storage, made._tensor._storage)
    got, shared = yield [view, one_storage]
    same(got, x.array.transpose(order))
    same((got.strides, got.recorded, shared), (tuple(x.strides[dim] for dim in order), True, True), of="strides, history and one storage")


@probe(
    "2.3",
    "view gives the elements in their order another shape, over the same storage",
    weight=2,
    examples=[((2, 3, 4), 1), ((2, 3), 2), ((4,), 3)],
    shape=shapes,
    seed=seeds,
    count=10,
)
def view_tensor(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Sizes as numbers one after the other."""
    x = numbers(shape, drawn(seed))
    made, half = tensor(p, x, grad=True), (shape[0], math.prod(shape[1:]))
    views = [made.view(*half), made.view(*half[::-1]), made.view(x.size)]
    shared = p.find("operator:is_")(views[0]._tensor._storage, made._tensor._storage)
    *got, one_storage = yield [*views, shared]
    for one, right in zip(got, [half, half[::-1], (x.size,)], strict=True):
        same(one, x.reshape(right))
        same(one.recorded, True, of="a result that remembers it,")
    same(one_storage, True, of="one storage,")


@probe("2.3", "permute and view take one tuple, view finds -1, and permute counts from the end", edge=True, examples=[(1,), (2,)])
def shape_arguments(p: Program, seed: int) -> Check:
    """As PyTorch's."""
    x = numbers((2, 3, 4), drawn(seed))
    made = tensor(p, x)
    got = yield [made.permute((2, 0, 1)), made.permute(-1, 0, -2), made.view((6, 4)), made.view(-1), made.view(2, -1)]
    right = [x.transpose(2, 0, 1), x.transpose(2, 0, 1), x.reshape(6, 4), x.reshape(-1), x.reshape(2, -1)]
    for one, expected in zip(got, right, strict=True):
        same(one, expected)


@probe("2.3", "view refuses what is permuted, and another number of elements", edge=True, examples=[(1,)])
def wrong_views(p: Program, seed: int) -> Check:
    """With a ValueError."""
    yield from raises(tensor(p, numbers((2, 3), drawn(seed))).permute(1, 0).view(6), "ValueError")
    q = Program()
    yield from raises(tensor(q, numbers((2, 3), drawn(seed))).view(4), "ValueError")


FORWARDS: dict[str, Callable[..., np.ndarray]] = {
    "Mul": np.multiply,
    "LT": np.less,
    "EQ": np.equal,
    "IsClose": close,
    "Sigmoid": sigmoid,
    "ReLU": lambda x: np.maximum(x, 0),
    "Exp": np.exp,
    "Log": lambda x: np.log(x + 1e-6),
}


@probe(
    "2.3",
    "forward of every function gives a tensor with a storage of its own, and leaves its inputs as they are",
    weight=2,
    examples=[(name, 3) for name in FORWARDS],
    name=sampled_from(sorted(FORWARDS)),
    seed=seeds,
    count=16,
)
def forwards(p: Program, name: str, seed: int) -> Check:
    """Called alone, without what records."""
    two = name in ("Mul", "LT", "EQ", "IsClose")
    arrays = [np.abs(numbers((2, 3), drawn(seed + n))) for n in range(2 if two else 1)]
    inputs = [tensor(p, array) for array in arrays]
    made = p.find(f"minitorch.tensor_functions:{name}.forward")(p.find("minitorch.autodiff:Context")(), *inputs)
    apart = p.find("operator:is_not")(made._tensor._storage, inputs[0]._tensor._storage)
    got, own, *after = yield [made, apart, *inputs]
    same(got, FORWARDS[name](*arrays), EXACT)
    same(own, True, of="a storage of its own,")
    for one, before in zip(after, arrays, strict=True):
        same(one, before, of="the input to stay")


@probe("2.3", "forward of Sum keeps its dimension with size 1, forward of Permute moves no number", examples=[(0, 1), (1, 2), (2, 3)])
def layout_forwards(p: Program, dim: int, seed: int) -> Check:
    """A dimension, and an order that is not its own inverse."""
    x = numbers((2, 3, 4), drawn(seed))
    context, made = p.find("minitorch.autodiff:Context")(), tensor(p, x)
    moved = p.find("minitorch.tensor_functions:Permute.forward")(context, made, (1, 2, 0))
    shared = p.find("operator:is_")(moved._tensor._storage, made._tensor._storage)
    total, turned, one_storage = yield [p.find("minitorch.tensor_functions:Sum.forward")(context, made, dim), moved, shared]
    same(total, x.sum(dim, keepdims=True), EXACT)
    same(turned, x.transpose(1, 2, 0))
    same(one_storage, True, of="one storage,")
