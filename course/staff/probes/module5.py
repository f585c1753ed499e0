"""Probes of Module 5: the replay of a recorded program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from course.staff.probes.check import probe
from course.staff.probes.compare import Check, check_equal, check_raises
from course.staff.probes.module2 import rng
from course.staff.probes.program import Program, Value
from course.staff.probes.tensors import EXACT, numbers, seeds, tensor

PROGRAM, TRACE = "minitorch.compiler.program", "minitorch.compiler.trace"

SIZE = 6
"""The elements of each buffer."""

RUNS = 3
"""How often a program is replayed."""

KERNELS = {"add": np.add, "subtract": np.subtract, "maximum": np.maximum}
"""Kernels of two arrays and an array for the result, which they return as well."""


def buffer(p: Program, name: str, values: Sequence[float]) -> Value:
    """A temporary buffer in the child."""
    return p.find(f"{TRACE}:Buffer")(name, array(p, values), "temporary")


def array(p: Program, values: Sequence[float]) -> Value:
    """An array of floats in the child."""
    return p.find("numpy:array")([float(value) for value in values])


def part(p: Program, of: Value, start: int = 0, length: int = SIZE, step: int = 1) -> Value:
    """The Slice of a buffer that begins at element `start` and takes every `step`-th one."""
    return p.find(f"{TRACE}:Slice")(of, start * 8, (length,), (step * 8,), p.find("numpy:dtype")("float64"))


def node(p: Program, launches: list[Value]) -> Value:
    """A node with these launches."""
    return p.find(f"{TRACE}:Node")("kernel", "kernel", launches=launches)


class Operation(NamedTuple):
    """One launch of a random program.

    Attributes:
        kernel: A key of KERNELS, or "fill": write a number that is another one in each replay.
        names: The buffers of the operands and of the result.
        cuts: Their elements.
        step: The distance of the elements.
    """

    kernel: str
    names: tuple[str, ...]
    cuts: tuple[slice, ...]
    step: int


def random_operation(draw: np.random.Generator) -> Operation:
    """An operation on parts of the buffers."""
    step, length = (int(number) for number in draw.integers(1, 3, 2))
    starts = draw.integers(0, SIZE - (length - 1) * step, 3)
    cuts = tuple(slice(int(start), int(start) + (length - 1) * step + 1, step) for start in starts)
    kernel = str(draw.choice([*KERNELS, "fill"]))
    return Operation(kernel, tuple(map(str, draw.choice(list("xtuv"), 3))), cuts, step)


def replays(p: Program, seed: int) -> Check:
    """Replay a random program with new inputs, and compare all memory after each replay."""
    draw = rng(seed)
    nodes = [[random_operation(draw) for _ in range(draw.integers(0, 4))] for _ in range(draw.integers(1, 4))]
    nodes.append([Operation("add", ("t", "x", "t"), (slice(0, SIZE, 1),) * 3, 1)] * 2)  # equal launches, and both count
    planned = [name for name in "xtuv" if draw.integers(2)]
    own = {name: numbers((SIZE,), draw) for name in "xtuv"}
    memory = {name: numbers((SIZE,), draw) if name in planned else own[name].copy() for name in "xtuv"}
    inputs = numbers((RUNS, SIZE), draw)

    buffers = {name: buffer(p, name, own[name].tolist()) for name in "xtuv"}
    where = {name: array(p, memory[name].tolist()) if name in planned else buffers[name].array for name in "xtuv"}
    launch, made = p.find(f"{TRACE}:Launch"), []
    for number, operations in enumerate(nodes):
        launches = []
        for place, (kernel, names, cuts, step) in enumerate(operations):
            parts = [
                part(p, buffers[name], cut.start, 1 + (cut.stop - 1 - cut.start) // step, step)
                for name, cut in zip(names, cuts, strict=True)
            ]
            if kernel == "fill":
                rest = p.find("builtins:iter")([(fill_value(number, place, run),) for run in range(RUNS)]).__next__
                launches.append(launch(p.find("numpy:copyto"), (parts[2],), rest, (0.0,)))
            else:
                launches.append(launch(p.find(f"numpy:{kernel}"), tuple(parts)))
        made.append(node(p, launches))
    calls = p.find(f"{PROGRAM}:bind")(made, p.find("builtins:dict")([(buffers[name], where[name]) for name in planned]))
    seen: list[Any] = []
    for run in range(RUNS):
        p.find("numpy:copyto")(where["x"], inputs[run].tolist())
        p.find(f"{PROGRAM}:run")(calls)
        seen += [p.find("numpy:array")(where[name]) for name in "xtuv"]
    got = yield [*seen, *(buffers[name].array for name in planned)]

    expected = []
    for run in range(RUNS):
        memory["x"][:] = inputs[run]
        for number, operations in enumerate(nodes):
            for place, (kernel, (a, b, out), (cut_a, cut_b, cut_out), _) in enumerate(operations):
                if kernel == "fill":
                    memory[out][cut_out] = fill_value(number, place, run)
                else:
                    memory[out][cut_out] = KERNELS[kernel](memory[a][cut_a], memory[b][cut_b])
        expected += [memory[name].copy() for name in "xtuv"]
    for one, right in zip(got, [*expected, *(own[name] for name in planned)], strict=True):
        check_equal(one, right, EXACT)


def fill_value(number: int, place: int, run: int) -> float:
    """What an operation "fill" writes in a replay."""
    return 100.0 * run + 10.0 * number + place


probe("5.1", "a program computes what its launches do, in order, at every replay", weight=4, count=40, seed=seeds)(replays)


@probe("5.1", "Slices in tuples become arrays over the planned memory, or over the buffer's own", weight=2, seed=seeds)
def binds(p: Program, seed: int) -> Check:
    """Bind Slices in a tuple and in named tuples, and write into the arrays."""
    x, namesake = numbers((2, SIZE), rng(seed))
    ours, other = buffer(p, "x", x.tolist()), buffer(p, "x", namesake.tolist())
    planned = array(p, range(SIZE))
    pair = p.find("collections:namedtuple")("Pair", ["first", "second"])
    args = ((part(p, ours), (2.0, (part(p, other, 1, 2, 3),))), pair(part(p, other), ("b", pair(None, part(p, ours)))), [1, 2])
    bound = p.find(f"{PROGRAM}:bind_args")(args, p.find("builtins:dict")([(other, planned)]))
    second = bound[1].second[1]
    kinds = [p.find("builtins:type")(value).__name__ for value in (bound, bound[0], bound[1], bound[1].second, second)]
    values = [p.find("numpy:array")(value) for value in (bound[0][0], bound[0][1][1][0], bound[1].first, second.second)]
    p.find("numpy:copyto")(bound[0][1][1][0], -1.0)
    p.find("numpy:copyto")(second.second, -2.0)
    got = yield [*kinds, bound[0][1][0], bound[1].second[0], second.first, bound[2], *values, planned, ours.array]
    check_equal(got[:5], ["tuple", "tuple", "Pair", "tuple", "Pair"])
    check_equal(got[5:9], [2.0, "b", None, [1, 2]])
    first = np.arange(SIZE, dtype=float)
    written = np.array([0.0, -1.0, 2.0, 3.0, -1.0, 5.0])
    for one, right in zip(got[9:], [x, first[1:5:3], first, x, written, np.full(SIZE, -2.0)], strict=True):
        check_equal(one, right, EXACT)


@probe("5.1", "map_leaves applies a function to all that is no tuple", seed=seeds)
def maps(p: Program, seed: int) -> Check:
    """Apply a function in nested tuples."""
    a, b, c, d = (float(number) for number in numbers((4,), rng(seed)))
    fn = p.function(1, lambda _, x: x * 3.0)
    got = yield [p.find(f"{PROGRAM}:map_leaves")((a, (b, (), (c,)), d), fn), fn.calls, p.find(f"{PROGRAM}:map_leaves")((), fn)]
    check_equal(got, [(3 * a, (3 * b, (), (3 * c,)), 3 * d), [(a,), (b,), (c,), (d,)], ()], EXACT)


@probe("5.1", "nothing is called before a program runs, and what changes is computed at every call", weight=2, seed=seeds)
def changes(p: Program, seed: int) -> Check:
    """Replay a launch whose last arguments change, and count the calls before."""
    first, second = numbers((2, 2), rng(seed)).tolist()
    note, count = p.function(3, lambda _, x, y, z: x), p.find("builtins:len")
    rest = p.find("builtins:iter")([tuple(first), tuple(second)]).__next__
    x = buffer(p, "x", first)
    calls = p.find(f"{PROGRAM}:bind")(
        [node(p, [p.find(f"{TRACE}:Launch")(note, (part(p, x, 1, 1),), rest, (0.0, 0.0))])], p.find("builtins:dict")()
    )
    before = count(note.calls)
    for _ in range(2):
        p.find(f"{PROGRAM}:run")(calls)
    got = yield [before, note.calls]
    cut = np.array(first[1:])
    check_equal(got, [0, [(cut, *first), (cut, *second)]], EXACT)


@probe("5.1", "call_with_rest passes the arguments, then what rest returns", seed=seeds)
def rests(p: Program, seed: int) -> Check:
    """Call functions with a rest of two arguments, and of none."""
    a, b, c = (float(number) for number in numbers((3,), rng(seed)))
    note = p.function(3, lambda _, x, y, z: x)
    p.find(f"{PROGRAM}:call_with_rest")(note, (a,), p.function(0, lambda _: (b, c)))
    p.find(f"{PROGRAM}:call_with_rest")(note, (c, b, a), p.find("builtins:tuple"))
    (got,) = yield [note.calls]
    check_equal(got, [(a, b, c), (c, b, a)], EXACT)


@probe("5.1", "an error in a kernel is not hidden")
def errors(p: Program) -> Check:
    """Run a kernel that raises an error."""
    yield from check_raises(p.find(f"{PROGRAM}:run")([(p.find("operator:truediv"), (1.0, 0.0))]), "ZeroDivisionError")


@probe("5.1", "a recorded function of a tensor is replayed", count=3, seed=seeds)
def recorded(p: Program, seed: int) -> Check:
    """Record relu, and replay it on other tensors."""
    inputs = numbers((RUNS, 2, 3), rng(seed))
    compiled = p.find("minitorch:compile")(p.find("minitorch:Tensor.relu"), fuse=False)
    *got, replayed = yield [*(compiled(tensor(p, each)) for each in inputs), compiled.replayed]
    for one, each in zip(got, inputs, strict=True):
        check_equal(one, np.maximum(each, 0), EXACT)
    check_equal(replayed, RUNS - 1)
