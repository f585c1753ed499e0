"""Stage 5 - Code: a fused program as the source of one function that Numba compiles.

All sizes, strides and positions are written out as numbers, so that the compiler knows how long each loop is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from minitorch.compiler.fuse import Group, loop_shape, loop_strides
from minitorch.compiler.trace import CONSTANT, Buffer, Node, Slice, View
from minitorch.kernels.jit import jitable
from minitorch.kernels.tiles import ROWS, VECTORS, lanes, multiply_tile

SHORT = 64
"""The compiler unrolls innermost loops up to about this length before it would vectorize them, and then does not. Their length is
multiplied by 1 in a way that hides it."""


class Writer:
    """Writes the source of a program.

    Args:
        positions: For each temporary buffer its first byte in the block of memory.
        origins: For each other buffer the first element that the program uses.

    Attributes:
        functions: The functions on numbers that the source calls, by name.
        arrays: The arrays that it takes, by name.
        rests: What computes the settings of the optimizer's updates at every step, in order.
        examples: Settings as each of them computed them once.
    """

    def __init__(self, positions: Mapping[Buffer, int], origins: Mapping[Buffer, int]) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self.arrays: dict[str, Any] = {}
        self.rests: list[Callable[[], tuple[Any, ...]]] = []
        self.examples: list[tuple[float, ...]] = []
        self._positions, self._origins = positions, origins
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[Any, str] = {}
        self._settings = 0
        self._variables = 0
        self._kept_dims: list[int] = []

    def source(self, name: str) -> str:
        """The source of the function; its last argument is a tuple of the settings."""
        body = "\n".join(["    once = min(len(settings) + 1, 1)  # 1; see SHORT", *self._lines])
        return f"def {name}({', '.join([*self.arrays, 'settings'])}):\n{body}\n"

    def write(self, group: Group) -> None:
        """Write the code of a group."""
        self._line(f"# {'; '.join(map(str, group.nodes))}")
        {"loop": self._loop, "matmul": self._matmul, "fill": self._fill, "kernel": self._kernel}[group.kind](group)

    # Lines and names

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _for(self, variable: str, count: int | str) -> None:
        self._line(f"for {variable} in range({count}):")
        self._depth += 1

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def _function(self, fn: Callable[..., Any]) -> str:
        fn = vectorizable(fn)
        if fn not in self._names:
            self._names[fn] = f"f{len(self.functions)}"
            self.functions[self._names[fn]] = jitable(fn)
        return self._names[fn]

    def _array(self, buffer: Buffer, dtype: np.dtype) -> tuple[str, int]:
        """The name of the array that holds a buffer, and the position of the buffer's first element in it."""
        if buffer in self._positions:
            name = f"memory_{dtype.name}"
            self.arrays.setdefault(name, dtype)
            return name, self._positions[buffer] // dtype.itemsize
        if buffer not in self._names:
            self._names[buffer] = f"a{len(self._names)}"
            self.arrays[self._names[buffer]] = buffer
        return self._names[buffer], -self._origins.get(buffer, 0)

    def flat(self, buffer: Buffer) -> np.ndarray:
        """The array for a buffer that is not planned: its elements in memory order, from the first one that the program uses."""
        return buffer.array.reshape(-1)[self._origins.get(buffer, 0) :]

    def _element(self, view: View, strides: Sequence[int], variables: Sequence[str], shift: int = 0) -> str:
        """The element of a view at an index, or so many elements later."""
        name, start = self._array(view.buffer, view.dtype)
        used = [(variable, stride) for variable, stride in zip(variables, strides, strict=True) if stride and variable != "0"]
        terms = [variable if stride == 1 else f"{variable} * {stride}" for variable, stride in used]
        start += view.offset + shift
        return f"{name}[{' + '.join([*terms, str(start)] if start or not terms else terms)}]"

    # Loops over elements

    def _loop(self, group: Group) -> None:
        """One loop over the elements. A sum over the last dimensions is a variable inside of the others; other sums grow in memory."""
        self._kept_dims, sizes = coalesced(group)
        variables = [f"i{dim}" for dim in range(len(sizes))]
        values: dict[Buffer, str] = {}
        sums: dict[Node, str] = {}
        inside = {node: loops_around(self._strides(node.out, node)) for node in group.nodes if node.kind == "reduce"}  # type: ignore[arg-type]
        depth = self._depth
        for node in inside:
            if inside[node] is None:
                sums[node] = self._begin_sum(node, variables)
        for level in range(len(variables) + 1):
            for node in [node for node in inside if inside[node] == level]:
                sums[node] = self._variable()
                self._line(f"{sums[node]} = {first_value(node)}")
            if level < len(variables):
                is_short = 0 < level == len(variables) - 1 and sizes[level] <= SHORT
                self._for(variables[level], f"{sizes[level]} * once" if is_short else sizes[level])
        for node in group.nodes:
            self._apply(node, group, variables, values, sums)
        for level in range(len(variables), -1, -1):
            self._depth = depth + level
            for node in [node for node in inside if inside[node] == level]:
                self._line(f"{self._own_element(node, variables)} = {sums[node]}")
        self._depth = depth

    def _apply(self, node: Node, group: Group, variables: Sequence[str], values: dict[Buffer, str], sums: Mapping[Node, str]) -> None:
        """One function of the elements at an index."""
        out: Any = node.out
        arguments = [self._value(view, node, variables, values) for view in node.inputs]
        if node in sums:
            arguments.insert(0, sums[node])
        target = sums.get(node) or self._variable()
        call = f"{self._function(node.fn)}({', '.join(arguments)})"  # type: ignore[arg-type] - a loop applies functions
        self._line(f"{target} = {cast(call, out.dtype)}")
        if node not in sums:
            values[out.buffer] = target
            if out.buffer in group.stored:
                self._line(f"{self._own_element(node, variables)} = {target}")

    def _own_element(self, node: Node, variables: Sequence[str]) -> str:
        """The element of a node's result at an index of the loop."""
        out: Any = node.out
        return self._element(out, self._strides(out, node), variables)

    def _strides(self, view: View, node: Node) -> tuple[int, ...]:
        """The strides of a view of a node in the loop that is being written."""
        strides = loop_strides(view, loop_shape(node))
        return tuple([strides[dim] for dim in self._kept_dims])

    def _value(self, view: View, node: Node, variables: Sequence[str], values: Mapping[Buffer, str]) -> str:
        """A view's element as an expression: a variable, a number of the program, or an element of an array."""
        if view.buffer in values:
            return values[view.buffer]
        if view.buffer.role == CONSTANT and view.buffer.array.size == 1 and view.dtype.kind == "f":
            number = view.buffer.array.reshape(-1)[0].item()
            if math.isfinite(number):
                return f"{view.dtype.name}({number!r})"
        return self._element(view, self._strides(view, node), variables)

    def _begin_sum(self, node: Node, variables: Sequence[str]) -> str:
        """Set the results of a reduction in memory to their first value; returns the result at an index of the loop."""
        out: Any = node.out
        depth = self._depth
        names = [f"k{dim}" for dim in range(len(out.shape))]
        for name, size in zip(names, out.shape, strict=True):
            self._for(name, size)
        self._line(f"{self._element(out, out.strides, names)} = {first_value(node)}")
        self._depth = depth
        return self._own_element(node, variables)

    # Products, numbers written into all elements, and kernels with a body

    def _matmul(self, group: Group) -> None:
        """The product: a loop over tiles of rows for each tile of columns, whose part of the second factor stays in the cache.

        If the last tile of columns were narrower than a vector, it begins earlier, and computes some columns again. Sums begin with 0,
        as in `kernels.matmul`, and so are rounded as there: Adam divides even a gradient that is 0 but for rounding by its size.
        """
        (node,) = group.nodes
        out: Any = node.out
        a, b = node.inputs
        rows, columns = out.shape
        width = lanes(columns, out.dtype.itemsize)
        self.functions["multiply_tile"] = multiply_tile
        depth = self._depth
        for column, column_count, length in blocks(columns, VECTORS * width):
            length, column = max(length, width), min(column, columns - max(length, width))
            for row, row_count, height in blocks(rows, ROWS):
                if column_count > 1:
                    self._for("j", column_count)
                self._for("i", row_count)
                operands = ", ".join(map(self._place, (out, a, b)))
                first = f"i * {height} + {row}, {f'j * {length} + ' if column_count > 1 else ''}{column}"
                self._line(f"multiply_tile({operands}, {a.shape[1]}, {first}, {height}, {length}, {width}, 0)")
                self._depth = depth

    def _place(self, view: View) -> str:
        """A matrix as arguments of `multiply_tile`: its array, the position of its first element, and its strides."""
        name, start = self._array(view.buffer, view.dtype)
        return f"{name}, {start + view.offset}, {view.strides[0]}, {view.strides[1]}"

    def _fill(self, group: Group) -> None:
        target, value = group.nodes[0].launches[0].args
        depth = self._depth
        self._for("i", math.prod(target.shape))
        name, start = self._array(target.buffer, target.dtype)
        self._line(f"{name}[i + {start + target.start // target.dtype.itemsize}] = {cast(repr(value), target.dtype)}")
        self._depth = depth

    def _kernel(self, group: Group) -> None:
        """The body of a loop over tasks, called for all of them."""
        launch = group.nodes[0].launches[0]
        arguments = [self._slice(arg) for arg in launch.args]
        if launch.rest is None:
            sizes, tasks = arguments[4], arguments[5]
        else:
            numbers, tasks, _ = launch.example
            sizes, tasks = f"settings[{self._settings}:{self._settings + len(numbers)}]", str(tasks)
            self._settings += len(numbers)
            self.rests.append(launch.rest)
            self.examples.append(numbers)
        self._line(f"{self._function(launch.fn.body)}({', '.join(arguments[:4])}, {sizes}, 0, {tasks})")  # type: ignore[attr-defined]

    def _slice(self, arg: Any) -> str:
        """An argument of a launch as an expression."""
        if isinstance(arg, Slice):
            name, start = self._array(arg.buffer, arg.dtype)
            start += arg.start // arg.dtype.itemsize
            return f"{name}[{start}:{start + arg.shape[0]}]"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self._slice, arg))},)"
        return repr(arg)


def blocks(length: int, size: int) -> list[tuple[int, int, int]]:
    """A dimension divided into blocks: the first index, the number of blocks and their size, twice if a smaller block is left over."""
    whole = length // size
    found = [(0, whole, size)] if whole else []
    return [*found, (whole * size, 1, length % size)] if length % size else found


def coalesced(group: Group) -> tuple[list[int], list[int]]:
    """The dimensions of a loop, merged where all views of its nodes are contiguous: one long loop is faster than a loop of short ones.

    Returns:
        The last of each run of merged dimensions, whose stride is that of the run; and the sizes of the runs.
    """
    views = [(view, node) for node in group.nodes for view in (node.out, *node.inputs) if view is not None]
    strides = [loop_strides(view, loop_shape(node)) for view, node in views]
    dims: list[int] = []
    sizes: list[int] = []
    for dim, size in enumerate(group.space):
        if dims and all(each[dim - 1] == each[dim] * size for each in strides):
            dims[-1] = dim
            sizes[-1] *= size
        else:
            dims.append(dim)
            sizes.append(size)
    return dims, sizes


def loops_around(strides: tuple[int, ...]) -> int | None:
    """How many loops are around a reduction over the last dimensions of its loop; None if it is over others.

    Args:
        strides: Of its result in the loop: 0 where it is reduced.
    """
    kept = len(strides) - strides.count(0)
    return kept if all(strides[:kept]) else None


def first_value(node: Node) -> str:
    """What a reduction starts from."""
    return cast(repr(node.attrs["start"]), node.out.dtype)  # type: ignore[union-attr] - a reduction has a result


def cast(expression: str, dtype: np.dtype) -> str:
    """An expression as a number of a dtype."""
    return f"{'bool_' if dtype.kind == 'b' else dtype.name}({expression})"


def vectorizable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The form of a function on numbers that Numba vectorizes, where there is one: a workspace without optimized kernels has none."""
    with suppress(ModuleNotFoundError):
        from minitorch.kernels.vector_math import fast_equivalents

        return fast_equivalents.get(fn) or fn
    return fn
