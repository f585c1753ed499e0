"""Probes of Module 2: positions and views, and broadcasting."""

from __future__ import annotations

import math

import numpy as np
from hypothesis.strategies import integers, lists, sampled_from

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, all_same, raises, same
from course.staff.probes.program import Program
from course.staff.probes.tensors import laid, seeds, shapes, shrunk

DATA = "minitorch.tensor_data"
UNTOUCHED = -7
"""What stands in a buffer before."""


BARE = "tensors without dimensions"
EMPTY = "dimensions of size 0"
LONGER = "buffers for an index that are longer than the shape"
OFFSET = "permute keeps the offset"
VERSION = "a permuted view counts writes together with its tensor"


def drawn(seed: int) -> np.random.Generator:
    """What everything of an input is drawn from."""
    return np.random.default_rng(seed)


# Task 2.1


@probe(
    "2.1",
    "index_to_position adds index times stride over the dimensions",
    weight=2,
    examples=[((1, 2, 3), (12, 4, 1), 0), ((1, 2, 3), (1, 10, 100), 0), ((), (), 0), ((5,), (3,), 9), ((2, 1), (7, 7), 0)],
    edges={BARE: lambda index, strides, behind: not strides, LONGER: lambda index, strides, behind: behind > 0},
    index=lists(integers(0, 5), min_size=3, max_size=3).map(tuple),
    strides=lists(integers(0, 20), min_size=0, max_size=3).map(tuple),
    behind=sampled_from([0, 0, 9]),
)
def index_to_position(p: Program, index: tuple[int, ...], strides: tuple[int, ...], behind: int) -> Check:
    """The index is a buffer that may be longer, and stays as it is."""
    index = (*index[: len(strides)], *([behind] if behind else []))
    buffer, as_array = p.find("builtins:list")(index), p.find("numpy:array")(index, dtype="int64")
    position, as_int = p.find(f"{DATA}:index_to_position"), p.find("builtins:int")
    *got, after, array_after = yield [as_int(position(buffer, strides)), as_int(position(as_array, strides)), buffer, as_array.tolist()]
    same(got, [sum(i * stride for i, stride in zip(index, strides, strict=False))] * 2)
    same(array_after, list(index), of="the index to stay")
    same(after, list(index), of="the index to stay")


@probe(
    "2.1",
    "to_index writes the index of each ordinal, the last dimension fastest",
    weight=2,
    examples=[((2, 3, 4), 2), ((), 0), ((4, 1, 2), 0)],
    edges={BARE: lambda shape, longer: not shape, LONGER: lambda shape, longer: longer > 0},
    shape=shapes,
    longer=sampled_from([0, 0, 1, 2]),
)
def to_index(p: Program, shape: tuple[int, ...], longer: int) -> Check:
    """Every ordinal of a shape, in a buffer that may be longer than the shape."""
    buffers = [p.find("builtins:list")([UNTOUCHED] * (len(shape) + longer)) for _ in range(math.prod(shape))]
    for ordinal, buffer in enumerate(buffers):
        p.find(f"{DATA}:to_index")(ordinal, shape, buffer)
    got = yield buffers
    same(got, [[*map(int, index), *[UNTOUCHED] * longer] for index in np.ndindex(*shape)])


@probe(
    "2.1",
    "permute gives a view with shape and strides in the new order, over the same storage",
    weight=3,
    examples=[((2, 3, 4), 1), ((2, 3, 4), 2), ((4,), 3)],
    labels=[OFFSET, VERSION],
    shape=shapes,
    seed=seeds,
)
def permute(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """Of a tensor that lies in any order; twice, as the second one sees whether strides were taken along."""
    x, order, again = laid(shape, drawn(seed)), *(tuple(map(int, drawn(seed + n).permutation(len(shape)))) for n in (1, 2))
    is_same, data = (
        p.find("operator:is_"),
        p.find(f"{DATA}:TensorData")(p.find("numpy:array")(x.storage.tolist()), x.shape, x.strides, x.offset),
    )
    view = data.permute(*order).permute(*again)
    both = [is_same(view._storage, data._storage), is_same(view._version, data._version)]
    got = yield [view.shape, view.strides, view.offset, data.shape, data.strides, *both]
    last = [order[dim] for dim in again]
    shape_after, strides_after, offset, *kept, one_storage, one_version = got
    moved = tuple(x.shape[dim] for dim in last), tuple(x.strides[dim] for dim in last)
    same((shape_after, strides_after), moved, of="shape and strides")
    same(tuple(kept), (x.shape, x.strides), of="the tensor to keep shape and strides")
    same(one_storage, True, of="one storage,")
    all_same([offset, one_version], [(x.offset, OFFSET), (True, VERSION)])


@probe(
    "2.1",
    "permute refuses an order that does not name each dimension once",
    edge=True,
    examples=[((0, 0, 1),), ((0, 1),), ((0, 1, 3),), ((0, 1, 2, 2),), ((-1, 0, 1),)],
)
def wrong_orders(p: Program, order: tuple[int, ...]) -> Check:
    """With the error of everything that does not fit."""
    yield from raises(p.find(f"{DATA}:TensorData")([0.0] * 24, (2, 3, 4)).permute(*order), "IndexError")


# Task 2.2

sizes = lists(sampled_from([0, 1, 1, 2, 3, 3]), max_size=4).map(tuple)
"""Shapes of which two often go together."""


@probe(
    "2.2",
    "shape_broadcast gives the shape of two tensors together, and refuses those that do not fit",
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
    edges={EMPTY: lambda a, b: 0 in (*a, *b), BARE: lambda a, b: not (a and b)},
    a=sizes,
    b=sizes,
)
def shape_broadcast(p: Program, a: tuple[int, ...], b: tuple[int, ...]) -> Check:
    """Both ways round; the two are lists, which stay as they are."""
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        expected = None
    if expected is None:
        yield from raises(p.find(f"{DATA}:shape_broadcast")(a, b), "IndexingError")
        return
    first, second = p.find("builtins:list")(a), p.find("builtins:list")(b)
    together = p.find(f"{DATA}:shape_broadcast")
    got = yield [together(first, second), together(b, a), first, second]
    same(got, [expected, expected, list(a), list(b)])


@probe(
    "2.2",
    "broadcast_index finds where a smaller tensor has the element",
    weight=3,
    examples=[((2, 3), 3), ((3, 2, 4), 5), ((2, 1, 2), 8), ((2, 2), 9)],
    edges={BARE: lambda shape, seed: not shrunk(shape, drawn(seed)), LONGER: lambda shape, seed: seed % 3 > 0},
    count=40,
    shape=shapes,
    seed=seeds,
)
def broadcast_index(p: Program, shape: tuple[int, ...], seed: int) -> Check:
    """At every index of the big shape; both buffers may be longer than the shapes, and the big one stays as it is."""
    small, places, longer = shrunk(shape, drawn(seed)), list(np.ndindex(*shape)), seed % 3
    as_list, parts = p.find("builtins:list"), []
    for place in places:
        big, out = as_list([*map(int, place), *[UNTOUCHED] * longer]), as_list([UNTOUCHED] * (len(small) + longer))
        p.find(f"{DATA}:broadcast_index")(big, shape, small, out)
        parts += [big, out]
    got = yield parts
    for n, place in enumerate(places):
        kept = place[len(shape) - len(small) :]
        found = [int(i) if size > 1 else 0 for i, size in zip(kept, small, strict=True)]
        same(got[2 * n + 1], found + [UNTOUCHED] * longer, of=f"for index {tuple(map(int, place))} of {shape} in {small}")
        same(got[2 * n], [*map(int, place), *[UNTOUCHED] * longer], of="the big index to stay")
