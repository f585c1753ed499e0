"""Stage 3 - Limits of a GPU and of the compiler numba.cuda, which its simulator does not have: sizes of launches, arrays of kernels.

Sources: CUDA C++ Programming Guide, "Compute Capabilities", table "Technical Specifications per Compute Capability"; numba-cuda's
documentation, "Memory management" (the shape of a shared or local array is a constant, its dtype a type that Numba knows) and "Supported
Python features in CUDA Python" (a kernel cannot allocate memory, so not create NumPy arrays or lists).

This file imports nothing of its package: graders also load it alone.
"""

from __future__ import annotations

import linecache
import math
import os
import sys
import types
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numba.core import ir
from numba.core import types as numba_types
from numba.core.compiler import run_frontend
from numba.core.ssa import reconstruct_ssa

MAX_GRID = (2**31 - 1, 65_535, 65_535)
"""Blocks of a grid along x, y and z."""

MAX_BLOCK = (1024, 1024, 64)
"""Threads of a block along x, y and z."""

MAX_THREADS = 1024
"""Threads of a block."""

MAX_SHARED = 48 * 1024
"""Bytes of a block's shared arrays, all together. Larger cards have more, but only for arrays whose size is given at the launch."""

MAX_LOCAL = 512 * 1024
"""Bytes of a thread's local arrays."""

CREATORS = frozenset((
    "array", "arange", "asarray", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "linspace", "ones", "ones_like",
    "zeros", "zeros_like",
))  # fmt: skip
"""Functions of NumPy that create an array."""


def check_launch(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    """Check that a GPU accepts the size of a launch.

    Args:
        grid: Blocks along x, y and z.
        block: Threads of a block along x, y and z.

    Raises:
        ValueError: If it does not.
    """
    threads = math.prod(block)
    if threads > MAX_THREADS or block[2] > MAX_BLOCK[2]:
        raise ValueError(
            f"block expected at most {MAX_THREADS} threads and {MAX_BLOCK[2]} along z, got {block}: {threads} threads; use more blocks"
        )
    if any(size > most for size, most in zip(grid, MAX_GRID, strict=True)):
        raise ValueError(
            f"grid expected at most {MAX_GRID[0]} blocks along x and {MAX_GRID[1]} along y and z, got {grid}; "
            "put the longest side along x, or let a block do more"
        )
    for name, sizes in (("grid", grid), ("block", block)):
        if min(sizes) < 1:
            raise ValueError(f"{name} expected sizes of at least 1, got {sizes}; do not launch a kernel without work")


def check_memory(space: str, size: int) -> None:
    """Check that the shared arrays of a block, or the local arrays of a thread, fit into memory.

    Args:
        space: "shared" or "local".
        size: Their bytes.

    Raises:
        ValueError: If they do not.
    """
    most, whose = (MAX_SHARED, "the shared arrays of a block") if space == "shared" else (MAX_LOCAL, "the local arrays of a thread")
    if size > most:
        raise ValueError(f"{whose} expected at most {most} bytes, got {size}; use smaller tiles")


def check_arrays(kernel: Any) -> None:
    """Check that numba.cuda can compile the arrays of a kernel and of the functions that it calls.

    Args:
        kernel: The Python function.

    Raises:
        ValueError: If it cannot; the message begins with the file and the line.
    """
    if problem := _problem_of(kernel):
        raise ValueError(problem)


@lru_cache(maxsize=256)
def _problem_of(function: types.FunctionType, is_kernel: bool = True) -> str:
    """Why the compiler refuses an array of a function, or of one that it calls; empty if it does not."""
    code = code_of(function, is_kernel)
    if code is None:
        return ""
    problems = (problem for line, call in code.calls() if (problem := code.problem(line, call)))
    called = (problem for other in code.called() if other is not function and (problem := _problem_of(other, False)))
    return next(problems, "") or next(called, "")


@lru_cache(maxsize=256)
def code_of(function: types.FunctionType, is_kernel: bool = True) -> Code | None:
    """What the frontend of Numba makes of a function; None if it does not support it, which says nothing about arrays and variables."""
    try:
        return Code(function, is_kernel)
    except Exception:
        return None


class _NotConstant(Exception):
    """A value that is not known when the kernel is compiled."""


_UNKNOWN = object()
"""A value that the compiler may know, or not."""


class Code:
    """What the frontend of Numba makes of a function, in which each variable is assigned once.

    Args:
        function: The Python function.
        is_kernel: Whether it is launched; the arguments of other functions may be constants.
    """

    def __init__(self, function: types.FunctionType, is_kernel: bool) -> None:
        blocks = reconstruct_ssa(run_frontend(function)).blocks
        self.is_kernel, self.file = is_kernel, function.__code__.co_filename
        self.assigned = {node.target.name: node for block in blocks.values() for node in block.body if isinstance(node, ir.Assign)}
        self.returned = [node.value for block in blocks.values() for node in block.body if isinstance(node, ir.Return)]

    def calls(self) -> Iterator[tuple[int, Any]]:
        """The calls and the lists of the function, each with its line."""
        for node in self.assigned.values():
            if isinstance(node.value, ir.Expr) and node.value.op in ("call", "build_list"):
                yield node.loc.line, node.value

    def called(self) -> Iterator[types.FunctionType]:
        """The Python functions of the compiled functions that it calls."""
        for _, call in self.calls():
            python = getattr(self.meaning(call.func), "py_func", None) if call.op == "call" else None
            if isinstance(python, types.FunctionType):
                yield python

    def problem(self, line: int, call: Any) -> str:
        """Why the compiler refuses an array that a call creates; empty if it does not, or if it is another call."""
        expected, remedy = "", "use cuda.local.array(size, dtype)"
        if call.op == "build_list":
            expected = "a kernel expected no list"
        elif space := self.space(call.func):
            expected, remedy = self._array(space, call)
        else:
            meaning = self.meaning(call.func)
            name = getattr(meaning, "__name__", "")
            if name in CREATORS and getattr(np, name) is meaning:
                expected = "a kernel expected no new NumPy array"
        source = linecache.getline(self.file, line).strip()
        return expected and f"{os.path.basename(self.file)}, line {line}: {expected}, got {source!r}; {remedy}"

    def space(self, called: Any) -> str:
        """ "shared" or "local" if a variable is the function array of one of them."""
        method = self._value(called)
        if getattr(method, "op", "") != "getattr" or method.attr != "array":
            return ""
        owner = self._value(method.value)
        name = owner.attr if getattr(owner, "op", "") == "getattr" else getattr(owner, "name", "")
        return name if name in ("shared", "local") else ""

    def _array(self, space: str, call: Any) -> tuple[str, str]:
        """What a shared or local array lacks, and the remedy; empty if it lacks nothing."""
        named = dict(call.kws)
        shape, dtype = [*call.args, *map(named.get, ("shape", "dtype")[len(call.args) :])][:2]
        try:
            size = self.constant(shape)
        except _NotConstant:
            size = None
        sizes: tuple[Any, ...] = size if isinstance(size, tuple) else (size,)
        called = f"cuda.{space}.array"
        if not all(type(one) is int or one is _UNKNOWN for one in sizes):
            remedy = "write a number, or a variable that is assigned outside of kernels, where a computation such as TILE + 1 belongs, too"
            return f"{called} expected a size that is known when the kernel is compiled", remedy
        given_at_launch = space == "shared" and sizes == (0,)
        if not given_at_launch and any(one is not _UNKNOWN and one < 1 for one in sizes):
            return f"{called} expected sizes of at least 1", "write one for each dimension"
        if dtype is None or not _is_dtype(self.meaning(dtype)):
            return f"{called} expected a type of Numba or NumPy as dtype", "write one such as numba.float64, numba.int32 or out.dtype"
        return "", ""

    def _value(self, variable: Any) -> Any:
        """What is assigned to a variable, or to the variable that is assigned to it, and so on."""
        while isinstance(variable, ir.Var):
            node = self.assigned.get(variable.name)
            variable = None if node is None else node.value
        return variable

    def meaning(self, variable: Any) -> Any:
        """The value of a constant or global variable or of its attribute; `_UNKNOWN` for anything else."""
        value = self._value(variable)
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            return value.value
        if getattr(value, "op", "") != "getattr":
            return _UNKNOWN
        owner = self.meaning(value.value)
        return _UNKNOWN if owner is sys.modules.get("numba.cuda") else getattr(owner, value.attr, _UNKNOWN)  # it may not be loaded yet

    def constant(self, variable: Any, seen: frozenset[str] = frozenset()) -> Any:
        """The value of a variable if the compiler knows it; `_UNKNOWN` if that is uncertain.

        Raises:
            _NotConstant: If it does not.
        """
        if isinstance(variable, ir.Var):
            if variable.name in seen or variable.name not in self.assigned:
                return _UNKNOWN
            return self.constant(self.assigned[variable.name].value, seen | {variable.name})
        if isinstance(variable, (ir.Const, ir.Global, ir.FreeVar)):
            return variable.value
        operation = getattr(variable, "op", "")
        if operation == "build_tuple":
            return tuple(self.constant(item, seen) for item in variable.items)
        if operation == "phi":
            first, *others = (self.constant(value, seen) for value in variable.incoming_values if value is not ir.UNDEFINED)
            if all(other is first or (type(other) is int and other == first) for other in others):
                return first
            if _UNKNOWN in (first, *others):
                return _UNKNOWN
        if operation in ("getitem", "static_getitem", "exhaust_iter"):
            owner = self.constant(variable.value, seen)
            if isinstance(owner, tuple) or owner is _UNKNOWN:
                return owner if operation == "exhaust_iter" else self._item(owner, variable, seen)
        if (operation == "getattr" and variable.attr == "ndim") or (isinstance(variable, ir.Arg) and not self.is_kernel):
            return _UNKNOWN
        raise _NotConstant

    def _item(self, owner: Any, element: Any, seen: frozenset[str]) -> Any:
        """An element of a tuple, whose index is a constant; `_UNKNOWN` for slices."""
        index = element.index
        if isinstance(index, ir.Var):
            of = self._value(index)
            index = _UNKNOWN if getattr(of, "op", "") == "call" and self.meaning(of.func) is slice else self.constant(index, seen)
        return owner[index] if isinstance(owner, tuple) and type(index) is int and -len(owner) <= index < len(owner) else _UNKNOWN


def _is_dtype(value: Any) -> bool:
    """Whether `cuda.shared.array` may take a value as dtype. Python's types float, int, bool and complex are unknown to it."""
    if value is _UNKNOWN or isinstance(value, numba_types.Type):
        return True
    if not isinstance(value, (np.dtype, str)) and not (isinstance(value, type) and issubclass(value, np.generic)):
        return False
    try:
        return np.dtype(value).char not in "gGOSU"  # no long doubles, objects or texts
    except TypeError:
        return False


def watch_simulator() -> None:
    """Let numba's simulator refuse what a GPU, or the compiler for it, refuses."""
    kernels, memory = import_module("numba.cuda.simulator.kernel"), import_module("numba.cuda.simulator.kernelapi")
    call, local = kernels.FakeCUDAKernel.__call__, memory.FakeCUDALocal.array

    def checked_call(kernel: Any, *args: Any) -> Any:
        if not kernel._device and kernel.grid_dim is not None:
            check_launch(tuple(kernel.grid_dim), tuple(kernel.block_dim))
            check_arrays(kernel.fn)
        return call(kernel, *args)

    def checked_local(owner: Any, *args: Any, **named: Any) -> Any:
        made = local(owner, *args, **named)
        check_memory("local", made.nbytes)
        return made

    class SharedArrays(dict):
        """The shared arrays of a launch, by line."""

        def __setitem__(self, line: Any, array: np.ndarray) -> None:
            super().__setitem__(line, array)
            check_memory("shared", sum(other.nbytes for other in self.values()))

    start = memory.FakeCUDAShared.__init__

    def start_checked(owner: Any, *args: Any) -> None:
        start(owner, *args)
        owner._allocations = SharedArrays()

    kernels.FakeCUDAKernel.__call__, memory.FakeCUDALocal.array = checked_call, checked_local
    memory.FakeCUDAShared.__init__ = start_checked
