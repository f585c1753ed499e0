"""Probes of Module 2: positions and views, and broadcasting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis.strategies import builds, integers, lists, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_all_equal, check_equal, check_raises
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import broadcastable_shape, random_strided, seeds, shapes

DATA = "minitorch.tensor_data"
UNTOUCHED = -7
"""The initial value of buffers."""


ZERO_DIM = "zero-dimensional tensors"
EMPTY = "dimensions of size 0"
LONG_BUFFERS = "index buffers that are longer than the shape"
OFFSET = "permute keeps the offset"
VERSION = "a permuted view shares the version counter of its tensor"


def rng(seed: int) -> np.random.Generator:
    """The random generator of an input."""
    return np.random.default_rng(seed)


# Task 2.1


@probe(
    "2.1",
    "index_to_position returns the sum of index times stride over all dimensions",
    weight=2,
    examples=[((1, 2, 3), (12, 4, 1), 0), ((1, 2, 3), (1, 10, 100), 0), ((), (), 0), ((5,), (3,), 9), ((2, 1), (7, 7), 0)],
    edges={ZERO_DIM: lambda index, strides, extra: not strides, LONG_BUFFERS: lambda index, strides, extra: extra > 0},
    index=lists(integers(0, 5), min_size=3, max_size=3).map(tuple),
    strides=lists(integers(0, 20), min_size=0, max_size=3).map(tuple),
    extra=sampled_from([0, 0, 9]),
    source="docstring of index_to_position; test_layout",
)
def index_to_position(p: Program, index: tuple[int, ...], strides: tuple[int, ...], extra: int) -> Check:
    """The index buffer may be longer than the shape, and must not change."""
    index = (*index[: len(strides)], *([extra] if extra else []))
    buffer, as_array = p.find("builtins:list")(index), p.find("numpy:array")(index, dtype="int64")
    position, as_int = p.find(f"{DATA}:index_to_position"), p.find("builtins:int")
    *got, after, array_after = yield [as_int(position(buffer, strides)), as_int(position(as_array, strides)), buffer, as_array.tolist()]
    check_equal(got, [sum(i * stride for i, stride in zip(index, strides, strict=False))] * 2)
    check_equal(array_after, list(index), of="index after the call")
    check_equal(after, list(index), of="index after the call")


@probe(
    "2.1",
    "to_index writes the index of each ordinal, with the last dimension varying fastest",
    weight=2,
    examples=[((2, 3, 4), 2), ((), 0), ((4, 1, 2), 0)],
    edges={ZERO_DIM: lambda shape, longer: not shape, LONG_BUFFERS: lambda shape, longer: longer > 0},
    shape=shapes,
    longer=sampled_from([0, 0, 1, 2]),
    source="docstring of to_index",
)
def to_index(p: Program, shape: tuple[int, ...], longer: int) -> Check:
    """Every ordinal of a shape, in a buffer that may be longer than the shape."""
    buffers = [p.find("builtins:list")([UNTOUCHED] * (len(shape) + longer)) for _ in range(math.prod(shape))]
    for ordinal, buffer in enumerate(buffers):
        p.find(f"{DATA}:to_index")(ordinal, shape, buffer)
    got = yield buffers
    check_equal(got, [[*map(int, index), *[UNTOUCHED] * longer] for index in np.ndindex(*shape)])


def index_array(p: Program, values: Sequence[int]) -> Value:
    """An index, a shape or strides, as kernels have them."""
    return p.find("numpy:array")(values, dtype="int64")


@probe("2.1", "Module 3 can compile index_to_position and to_index", published=False, seconds=60)
def index_functions_compile(p: Program) -> Check:
    """Kernels call them; the compiler does not know all of Python."""
    jit, out = p.find("numba:njit"), index_array(p, [0, 0, 0])
    position = jit(p.find(f"{DATA}:index_to_position"))(index_array(p, [1, 2, 3]), index_array(p, [12, 4, 1]))
    jit(p.find(f"{DATA}:to_index"))(23, index_array(p, [2, 3, 4]), out)
    got, index = yield [p.find("builtins:int")(position), out.tolist()]
    check_equal((got, index), (23, [1, 2, 3]))


@probe(
    "2.1",
    "permute returns a view of the same storage, with shape and strides in the new order",
    weight=3,
    examples=[((2, 3, 4), 1), ((2, 3, 4), 2), ((4,), 3)],
    labels=[OFFSET, VERSION],
    shape=shapes,
    seed=seeds,
    source="test_permute",
)
def permute(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """For a tensor in any layout; applied twice, since the second call depends on the strides of the first."""
    x, order, again = random_strided(shape, rng(seed)), *(tuple(map(int, rng(seed + n).permutation(len(shape)))) for n in (1, 2))
    is_same, data = (
        p.find("operator:is_"),
        p.find(f"{DATA}:TensorData")(p.find("numpy:array")(x.storage.tolist()), x.shape, x.strides, x.offset),
    )
    view = data.permute(*order).permute(*again)
    both = [is_same(view._storage, data._storage), is_same(view._version, data._version)]
    got = yield [view.shape, view.strides, view.offset, data.shape, data.strides, *both]
    last = [order[dim] for dim in again]
    shape_after, strides_after, offset, *kept, one_storage, one_version = got
    permuted = tuple(x.shape[dim] for dim in last), tuple(x.strides[dim] for dim in last)
    check_equal((shape_after, strides_after), permuted, of="shape and strides")
    check_equal(tuple(kept), (x.shape, x.strides), of="shape and strides of the tensor after the call")
    check_equal(one_storage, True, of="the view has the same storage")
    check_all_equal([offset, one_version], [(x.offset, OFFSET), (True, VERSION)])


@probe(
    "2.1",
    "permute rejects an order that does not name each dimension once",
    edge=True,
    examples=[((0, 0, 1),), ((0, 1),), ((0, 1, 3),), ((0, 1, 2, 2),), ((-1, 0, 1),)],
)
def wrong_orders(p: Program, order: tuple[int, ...]) -> Check:
    """With an IndexError."""
    yield from check_raises(p.find(f"{DATA}:TensorData")([0.0] * 24, (2, 3, 4)).permute(*order), "IndexError")


# Task 2.2

sizes = lists(sampled_from([0, 1, 1, 2, 3, 3]), max_size=4).map(tuple)
"""Shapes that are often compatible."""


@probe(
    "2.2",
    "shape_broadcast returns the broadcast shape, and rejects shapes that are not compatible",
    weight=3,
    count=80,
    examples=[
        ((2, 3), (3,)),
        ((0,), (1,)),
        ((1, 0), (3, 1)),
        ((), (2,)),
        ((2, 3), (2, 4)),
        ((0,), (2,)),
        ((2,), (4,)),
        ((5, 1, 3), (4, 1)),
    ],
    edges={EMPTY: lambda a, b: 0 in (*a, *b), ZERO_DIM: lambda a, b: not (a and b)},
    a=sizes,
    b=sizes,
    source="test_shape_broadcast",
)
def shape_broadcast(p: Program, a: tuple[int, ...], b: tuple[int, ...]) -> Check:
    """In both orders; the arguments are lists, which must not change."""
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        expected = None
    if expected is None:
        yield from check_raises(p.find(f"{DATA}:shape_broadcast")(a, b), "IndexingError")
        return
    first, second = p.find("builtins:list")(a), p.find("builtins:list")(b)
    broadcast = p.find(f"{DATA}:shape_broadcast")
    got = yield [broadcast(first, second), broadcast(b, a), first, second]
    check_equal(got, [expected, expected, list(a), list(b)])


broadcasts = builds(lambda shape, seed: (shape, broadcastable_shape(shape, rng(seed))), shapes, seeds)
"""A shape, and one that broadcasts to it."""

ALIGNED = [
    ((2, 3), (3,)),
    ((3, 2, 4), (4,)),
    ((3, 2, 4), (2, 1)),
    ((2, 4, 3), (4, 3)),
    ((3, 2), (1,)),
    ((2, 1, 2), (1, 2)),
    ((2, 3), (2, 1)),
]
"""Cases that any wrong alignment gets wrong: leading dimensions are missing, and the others have different sizes."""


@probe(
    "2.2",
    "broadcast_index writes the corresponding index of a smaller tensor",
    weight=3,
    examples=[*((pair, 0) for pair in ALIGNED), (((2, 3), (3,)), 1), (((3, 2, 4), (2, 1)), 2), (((2, 2), ()), 0)],
    edges={ZERO_DIM: lambda pair, longer: not pair[1], LONG_BUFFERS: lambda pair, longer: longer > 0},
    count=40,
    pair=broadcasts,
    longer=sampled_from([0, 1, 2]),
    source="docstring of broadcast_index; test_two_grad_broadcast",
)
def broadcast_index(p: Program, pair: tuple[tuple[int, ...], tuple[int, ...]], longer: int) -> Check:
    """At every index of the larger shape; both buffers may be longer than the shapes, and the larger index must not change."""
    (shape, small), as_list, parts = pair, p.find("builtins:list"), []
    indices = list(np.ndindex(*shape))
    for index in indices:
        big, out = as_list([*map(int, index), *[UNTOUCHED] * longer]), as_list([UNTOUCHED] * (len(small) + longer))
        p.find(f"{DATA}:broadcast_index")(big, shape, small, out)
        parts += [big, out]
    got = yield parts
    for n, index in enumerate(indices):
        kept = index[len(shape) - len(small) :]
        expected = [int(i) if size > 1 else 0 for i, size in zip(kept, small, strict=True)]
        check_equal(got[2 * n + 1], expected + [UNTOUCHED] * longer, of=f"index {tuple(map(int, index))} of {shape} in {small}")
        check_equal(got[2 * n], [*map(int, index), *[UNTOUCHED] * longer], of="the larger index after the call")


@probe("2.2", "Module 3 can compile broadcast_index", published=False, seconds=60)
def broadcast_index_compiles(p: Program) -> Check:
    """Kernels call it."""
    out, compiled = index_array(p, [0, 0]), p.find("numba:njit")(p.find(f"{DATA}:broadcast_index"))
    compiled(index_array(p, [1, 2, 3]), index_array(p, [2, 3, 4]), index_array(p, [1, 4]), out)
    (got,) = yield [out.tolist()]
    check_equal(got, [0, 3])
