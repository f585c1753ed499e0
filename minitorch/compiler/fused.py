"""Stage 5 - Fused programs: the groups of a program compiled into a few functions, in the background and kept on disk."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from minitorch.compiler.fuse import Group, group_nodes
from minitorch.compiler.generate import Writer
from minitorch.compiler.planner import Plan, plan_memory
from minitorch.compiler.products import find_products
from minitorch.compiler.program import Call, bind
from minitorch.compiler.rewriting import extents, trim
from minitorch.compiler.trace import Buffer, Node
from minitorch.kernels import jit

SHORTEST = 2
"""The fewest launches that are worth a function of their own."""

LONGEST = 48
"""The most groups in a function: the time that the compiler takes grows faster than the function."""


@dataclass(frozen=True)
class Segment:
    """Groups that become one function.

    Attributes:
        groups: The groups.
        writer: What their source needs.
        text: The source.
    """

    groups: list[Group]
    writer: Writer
    text: str


@dataclass(frozen=True)
class FusedProgram:
    """A program as segments and launches.

    Attributes:
        parts: Segments, and groups that are launched as they are, in order.
        boundary: Number of the first part of the backward pass.
        plan: The memory of its temporary buffers.
    """

    parts: list[Segment | Group]
    boundary: int
    plan: Plan

    def sources(self) -> list[str]:
        """The source of every function."""
        return [part.text for part in self.parts if isinstance(part, Segment)]

    def compile(self) -> tuple[dict[Buffer, np.ndarray], list[Call], list[Call]]:
        """Compile the functions, or load them from disk, and bind them to new memory.

        Returns:
            The arrays of the planned buffers, the calls of the forward pass, and those of the backward pass.
        """
        block, arrays = self.plan.allocate()
        calls: list[list[Call]] = [_bind(part, block, arrays) for part in self.parts]
        forward = [call for part in calls[: self.boundary] for call in part]
        return arrays, forward, [call for part in calls[self.boundary :] for call in part]


def fuse(nodes: Sequence[Node], kept: Collection[Buffer], boundary: int) -> FusedProgram:
    """Fuse a program.

    Args:
        nodes: Its nodes.
        kept: The buffers that are needed at the end.
        boundary: Number of the first node of the backward pass, if that runs on its own; else the number of nodes.
    """
    nodes = trim(list(nodes), kept)
    forward, backward = nodes[:boundary], nodes[boundary:]
    crossing = {buffer for node in backward for buffer in node.buffers()}
    forward, backward = find_products(forward, {*kept, *crossing}), find_products(backward, kept)
    first = backward[0] if backward else None
    groups = group_nodes(forward + backward, kept, first)
    plan = plan_memory([group.buffers() for group in groups], kept)
    origins = {buffer: first for buffer, (first, _) in extents(forward + backward).items()}
    split = next((number for number, group in enumerate(groups) if group.nodes[0] is first), len(groups))
    parts = _segments(groups[:split], plan, origins)
    return FusedProgram(parts + _segments(groups[split:], plan, origins), len(parts), plan)


def _segments(groups: list[Group], plan: Plan, origins: dict[Buffer, int]) -> list[Segment | Group]:
    """Gather groups that are not launched as they are into segments."""
    parts: list[Segment | Group] = []
    waiting: list[Group] = []
    for group in [*groups, None]:
        if group is not None and group.kind != "call":
            waiting.append(group)
            if len(waiting) < LONGEST:
                continue
            group = None
        if sum(len(node.launches) for each in waiting for node in each.nodes) >= SHORTEST:
            writer = Writer(plan.positions, origins)
            for each in waiting:
                writer.write(each)
            parts.append(Segment(waiting, writer, writer.source("fused")))
        else:
            parts += waiting
        waiting = []
        if group is not None:
            parts.append(group)
    return parts


def _bind(part: Segment | Group, block: np.ndarray, arrays: dict[Buffer, np.ndarray]) -> list[Call]:
    """The calls of a part."""
    if isinstance(part, Group):
        calls = bind(part.nodes, arrays)
        for function, args in calls:
            kernel, *args = (function, *args) if hasattr(function, "compile") else args  # a parallel kernel is an argument of its launch
            if hasattr(kernel, "compile") and not kernel.signatures:  # one that was not recorded
                kernel.compile(tuple([numba.typeof(arg) for arg in args]))
        return calls
    args = [block.view(given) if isinstance(given, np.dtype) else part.writer.flat(given) for given in part.writer.arrays.values()]
    settings = np.zeros(sum(len(numbers) for numbers in part.writer.examples))
    args.append(settings)
    function = load(part.text, part.writer.functions)
    if hasattr(function, "compile"):
        function.compile(tuple([numba.typeof(arg) for arg in args]))
    if not part.writer.rests:
        return [(function, tuple(args))]
    names = {f"a{number}": rest for number, rest in enumerate(part.writer.rests)}
    rest = eval(f"lambda: [{', '.join(f'*{name}()[0]' for name in names)}]", names)  # in half the time of a loop
    return [(call_with_settings, (function, tuple(args), settings, rest, []))]


def call_with_settings(
    function: Any, args: tuple[np.ndarray, ...], settings: np.ndarray, rest: Callable[[], list[float]], last: list[float]
) -> None:
    """Call a fused function after computing the settings of this step, one of its arguments; `last` are those of the step before."""
    numbers = rest()
    if numbers != last:
        settings[:] = last[:] = numbers
    function(*args)


def load(text: str, functions: dict[str, Any]) -> Any:
    """The function with this source, compiled by Numba at its first call and kept on disk.

    The source is a file of its own, named by a hash of everything that it depends on, because Numba keeps compiled code beside the file
    that it comes from.
    """
    key = hashlib.sha256(f"{text} {jit.code_key(*functions.values())} {list(functions)} {numba.__version__}".encode()).hexdigest()[:24]
    text = f'"""A program written by `minitorch.compile`."""\n\n\n{text}'
    path = folder() / f"fused_{key}.txt"  # not .py: what looks for modules must not find it
    if not path.exists():
        write_atomically(path, text)
    numbers = {name: getattr(np, name) for name in NUMBERS} | {"inf": math.inf, "nan": math.nan}
    names: dict[str, Any] = {"__name__": __name__} | numbers | functions
    exec(compile(text, str(path), "exec"), names)
    return jit.serial(names["fused"])


NUMBERS = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool_")
"""NumPy's types, by the names that a source uses."""


def folder() -> Path:
    """Where sources and compiled programs are kept: NUMBA_CACHE_DIR, beside the kernels, or the user's cache."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    choices = [Path(given)] if given else [Path(jit.__file__).parent / "__pycache__", Path.home() / ".cache" / "minitorch"]
    for choice in choices:
        path = choice / "programs"
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(path, os.W_OK):
            return path
    return Path(tempfile.mkdtemp(prefix="minitorch_"))


def write_atomically(path: Path, text: str) -> None:
    """Write a file that other processes may read: it is there as a whole or not at all."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        file.write(text)
    os.replace(file.name, path)
