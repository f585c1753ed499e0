"""Stage 5 - The trace: the program that a recording leaves, as straight-line code over named buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INPUT, EXTERNAL, CONSTANT, TEMPORARY = "input", "external", "constant", "temporary"
"""The roles of a buffer: copied from an argument at each call; owned by somebody else, such as a parameter; made from plain values while
the program was recorded; written before it is read."""


@dataclass(eq=False, slots=True)
class Buffer:
    """A storage of the program.

    Attributes:
        name: Its name in the trace: "x", "layer1.weights", "t12".
        array: The flat array that the program uses; for one that is not in use, its layout (see `layout_only`).
        role: INPUT, EXTERNAL, CONSTANT or TEMPORARY.
        pinned: Whether the program must use this very array, because something else than an argument of a launch refers to it.
    """

    name: str
    array: Any
    role: str
    pinned: bool = False


def layout_only(array: np.ndarray) -> np.ndarray:
    """An array of the same shape and dtype, whose elements are all one, so that it takes no memory."""
    return np.broadcast_to(np.zeros((), array.dtype), array.shape)


@dataclass(frozen=True, slots=True)
class View:
    """A tensor as a node sees it: a layout over a buffer.

    Attributes:
        buffer: The buffer.
        shape: Size of every dimension.
        strides: Step for each dimension, in elements.
        offset: Position of the first element.
    """

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def dtype(self) -> np.dtype:
        """Data type of the elements."""
        return self.buffer.array.dtype

    def __str__(self) -> str:
        return self.buffer.name


@dataclass(frozen=True, slots=True)
class Slice:
    """An array argument of a launch: part of a buffer.

    Attributes:
        buffer: The buffer.
        start: Position of the first byte.
        shape: Size of every dimension.
        strides: Step for each dimension, in bytes.
        dtype: Data type of the elements.
    """

    buffer: Buffer
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def of(self, array: np.ndarray) -> np.ndarray:
        """The same part of another array in the place of the buffer's."""
        if self.start == 0 and self.shape == array.shape and self.dtype == array.dtype and self.strides == array.strides:
            return array
        if len(self.shape) == array.ndim == 1 and self.strides == (self.dtype.itemsize,):
            return array.view(np.uint8)[self.start : self.start + self.shape[0] * self.dtype.itemsize].view(self.dtype)
        return np.ndarray(self.shape, self.dtype, array, self.start, self.strides)


@dataclass(eq=False, slots=True)
class Launch:
    """One call of a kernel.

    Attributes:
        fn: The function.
        args: Its arguments, arrays as Slices.
        rest: Computes the arguments after these, anew at every replay; or None.
        example: What rest returned while the program was recorded.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    rest: Callable[[], tuple[Any, ...]] | None = None
    example: tuple[Any, ...] = ()

    def slices(self) -> Iterator[Slice]:
        """The parts of buffers among the arguments."""
        return slices_in(self.args)


def slices_in(args: Iterable[Any]) -> Iterator[Slice]:
    """The Slices among arguments and in tuples of them."""
    for arg in args:
        if isinstance(arg, Slice):
            yield arg
        elif isinstance(arg, tuple):
            yield from slices_in(arg)


@dataclass(eq=False, slots=True)
class Node:
    """One operation of the program.

    Attributes:
        kind: "map", "zip", "reduce", "matmul" or "kernel" (of which only the launches are known).
        name: The operation: "relu", "add_zip", the name of a kernel.
        fn: The function on numbers of a map, zip or reduce; else None.
        out: What a map, zip, reduce or matmul writes; None for a kernel.
        inputs: What it reads; of a kernel only what its launches do not tell.
        attrs: "dims" and "start" of a reduce.
        launches: The calls that compute it.
        phase: "forward", "backward" or "optimizer".
        line: Where the recorded function called it: "train.py:12", or "".
    """

    kind: str
    name: str
    fn: Callable[..., Any] | None = None
    out: View | None = None
    inputs: tuple[View, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    launches: list[Launch] = field(default_factory=list)
    phase: str = "forward"
    line: str = ""

    def buffers(self) -> list[Buffer]:
        """Every buffer that the node touches, once."""
        found = dict.fromkeys(part.buffer for launch in self.launches for part in launch.slices())
        found |= dict.fromkeys(view.buffer for view in ([self.out] if self.out else []) + list(self.inputs))
        return list(found)

    def __str__(self) -> str:
        if self.out is not None:
            extra = [f"dims={self.attrs['dims']}"] if "dims" in self.attrs else []
            args = ", ".join([*map(str, self.inputs), *extra])
            return f"{self.out}: {describe(self.out.dtype, self.out.shape)} = {self.name}({args})"
        return f"{self.name}({', '.join(buffer.name for buffer in self.buffers())})"


def describe(dtype: np.dtype, shape: tuple[int, ...]) -> str:
    """A dtype and shape: "float64[50, 10]"."""
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


@dataclass(eq=False, slots=True)
class Trace:
    """A recorded program.

    Attributes:
        name: Name of the recorded function.
        nodes: The operations, in order.
        inputs: Buffers that arguments are copied into.
        outputs: What the function returned, as views.
    """

    name: str
    nodes: list[Node]
    inputs: list[View]
    outputs: list[View]

    def buffers(self) -> list[Buffer]:
        """Every buffer of the program, in the order of its first use."""
        views = [view.buffer for view in (*self.inputs, *self.outputs)]
        return list(dict.fromkeys([*(buffer for node in self.nodes for buffer in node.buffers()), *views]))

    def __str__(self) -> str:
        lines = [f"def {self.name}({', '.join(f'{view}: {describe(view.dtype, view.shape)}' for view in self.inputs)}):"]
        phase = ""
        for node in self.nodes:
            if node.phase != phase:
                phase = node.phase
                lines.append(f"    # {phase}")
            text = f"    {node}"
            lines.append(f"{text:<78}  # {node.line}" if node.line else text)
        lines.append(f"    return {', '.join(map(str, self.outputs)) or None}")
        return "\n".join(lines)
