"""Launches of CUDA kernels, in the simulator or in the interpreter of minitorch.cuda: values, mistakes, and use of global memory.

The interpreter runs a launch again without a GPU. It finds races, missing barriers and accesses outside of arrays, also where the values
are right by chance, and counts how often each element is read.
"""

from __future__ import annotations

import contextlib
import linecache
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from course.explain.calls import Call, Judge, Target, as_array
from course.explain.divergence import Difference

INTERPRETER = "minitorch.cuda.report"
"""The module of the interpreter's function `inspect_kernel`."""

MOST_THREADS = 8192
"""Launches with more threads are not inspected."""

MOST_INSPECTED = 50
"""At most this many launches of a test are inspected."""

TABLE_WIDTH = 100
"""Columns of the table of a report."""

MOST_FINDINGS = 3
"""At most this many findings are shown."""


class Launches:
    """Compares launches of kernels that students write.

    Args:
        tasks: The task of every function that students write.
        find: Finds a loaded function by "module:qualified.name".
        inside: The code of the functions defined inside a function.
    """

    def __init__(self, tasks: Mapping[str, str], find: Callable[[str], Any], inside: Callable[[CodeType], Iterator[CodeType]]) -> None:
        self.tasks, self.find, self.inside = tasks, find, inside
        self.inspected = 0

    def simulated(self, call: Call) -> Difference | None:
        """How a launch in the simulator, a call of its kernel object, differs from its oracle."""
        kernel = call.arguments[0].fn
        found = self._oracle(kernel)
        if found is None:
            return None
        name, function, judge = found
        launched = self._launched(call, Target(name, judge, function, self.tasks.get(name, "")), kernel, 1)
        grid, block = call.start
        return self._compare(call, launched, lambda: self._inspect(kernel, grid, block, launched.before))

    def interpreted(self, call: Call) -> Difference | None:
        """How a launch in the interpreter, a call of `inspect_kernel`, differs from its oracle."""
        kernel = sys.modules["minitorch.cuda.source"].python_function(call.arguments[0])
        found = self._oracle(kernel)
        if found is None:
            return None
        name, function, judge = found
        target = Target(name, judge, function, self.tasks.get(name, ""))
        launched = self._launched(call, target, kernel, 3)
        if call.result is None:  # the interpreter raised an error: the kernel is to blame
            call.target, call.code, call.before = target, kernel.__code__, launched.before
            return None
        after = iter(call.result.arrays.values())
        launched.after = [value if as_array(value) is None else next(after, value) for value in launched.before]
        difference = self._compare(call, launched, lambda: call.result)
        call.recorder.details = "" if difference else call.result.table(TABLE_WIDTH)
        return difference

    def _oracle(self, kernel: FunctionType) -> tuple[str, Any, Judge] | None:
        """The name of the function to which a kernel belongs, that function, and its judge."""
        from course.oracles import convolutions, cuda_kernels, fused_attention, kernels, matrix_products

        groups = {
            "cuda_ops": kernels.CUDA | matrix_products.CUDA, "cuda_conv": convolutions.CUDA, "cuda_kernels": cuda_kernels.CUDA,
            "language.cuda_attention": fused_attention.CUDA,
        }  # fmt: skip
        for module, judges in groups.items():
            for name, (judge, inner) in judges.items():
                function = self.find(f"minitorch.{module}:{name}")
                if function is not None and kernel.__code__ in ([*self.inside(function.__code__)] if inner else [function.__code__]):
                    return f"minitorch.{module}:{name}", function, judge
        return None

    def _launched(self, call: Call, target: Target, kernel: FunctionType, skip: int) -> Call:
        """The launch as a call of the kernel itself, whose arguments follow `skip` others."""
        cells = [cell.cell_contents for cell in kernel.__closure__ or ()]
        closure = dict(zip(kernel.__code__.co_freevars, cells, strict=True))
        arguments, before, after = call.arguments[skip:], call.before[skip:], call.after[skip:]
        return replace(call, target=target, code=kernel.__code__, arguments=arguments, before=before, after=after, closure=closure)

    def _compare(self, call: Call, launched: Call, inspect: Callable[[], Any]) -> Difference | None:
        """How a launch differs from its oracle: in its values, its mistakes, or the number of its accesses."""
        difference = None
        with contextlib.suppress(Exception):  # the oracle has no answer for such arguments
            difference = launched.target.judge(launched)
        report = inspect() if difference is not None or self.inspected < MOST_INSPECTED else None
        if report is not None:
            if difference is not None:
                difference = replace(difference, rows=(*difference.rows, *_findings(report)))
            elif report.findings:
                difference = Difference("what its threads do", (*_findings(report), *_sources(report, _lines(report))), _launch(report))
            else:
                difference = _surplus(launched, report)
        if difference is not None:
            call.target, call.code = launched.target, launched.code
        return difference

    def _inspect(self, kernel: FunctionType, grid: Any, block: Any, arguments: Sequence[Any]) -> Any:
        """The report of the interpreter for a launch; None if it is too large or the interpreter does not support it."""
        self.inspected += 1
        if math.prod((*grid, *block)) > MOST_THREADS or INTERPRETER not in sys.modules:
            return None
        with contextlib.suppress(Exception):
            return sys.modules[INTERPRETER].inspect_kernel(kernel, tuple(grid), tuple(block), *arguments)
        return None


def simulated_size(call: Call) -> tuple[Any, Any]:
    """The grid and the block of a launch in the simulator, whose kernel object keeps only those of the last one."""
    kernel = call.arguments[0]
    return tuple(kernel.grid_dim), tuple(kernel.block_dim)


def _findings(report: Any) -> tuple[tuple[str, str], ...]:
    """The first findings as rows."""
    more = len(report.findings) - MOST_FINDINGS
    rows = [("Finding", str(finding)) for finding in report.findings[:MOST_FINDINGS]]
    return (*rows, *([("", f"{more} more of other lines or arrays")] if more > 0 else []))


def _lines(report: Any) -> list[int]:
    """The lines of the first finding in the kernel's own file."""
    finding = report.findings[0]
    places = [finding.place] if hasattr(finding, "place") else []
    places += [getattr(finding, name).place for name in ("access", "first", "second") if hasattr(finding, name)]
    return sorted({place.line for place in places if place.file == report.file})


def _sources(report: Any, lines: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Lines of the kernel's file as rows."""
    return tuple((f"Line {line}", linecache.getline(report.file, line).strip()) for line in lines)


def _launch(report: Any) -> str:
    """The source of a difference: the interpreter, with the size of the launch."""
    return f"the interpreter of minitorch.cuda, with grid {report.grid} and blocks of {report.block} threads"


def _surplus(launched: Call, report: Any) -> Difference | None:
    """The first element that a kernel reads or writes in global memory more often than it has to."""
    from course.oracles.cuda_kernels import READS

    needed = READS.get(launched.target.name)
    if needed is None:
        return None
    arrays = [place for place, value in enumerate(launched.before) if as_array(value) is not None]
    names = dict(zip(arrays, report.arrays, strict=True))
    for place, right in needed(launched.before).items():
        if (difference := _surplus_of(report, names[place], "read", right)) is not None:
            return difference
    return _surplus_of(report, names[0], "read", 0) or _surplus_of(report, names[0], "write", 1)


def _surplus_of(report: Any, name: str, kind: str, right: Any) -> Difference | None:
    """The first element of an array that is read or written more often than it has to be."""
    shape = report.arrays[name].shape
    counts = report.count_cells(name, kind).reshape(-1)
    right = np.broadcast_to(right, counts.shape)
    cells = np.flatnonzero(counts > right)
    if not cells.size:
        return None
    cell, deed = int(cells[0]), {"read": "read", "write": "written"}[kind]
    index = ", ".join(map(str, np.unravel_index(cell, shape)))
    lines = sorted({access.place.line for access in report.select_accesses(name, kind) if access.place.file == report.file})
    by_line = {line: int(report.count_cells(name, kind, line).reshape(-1)[cell]) for line in lines}
    by_line = {line: count for line, count in by_line.items() if count}
    words = ", ".join(f"line {line} {_times(count)}" for line, count in by_line.items())
    more = f"{cells.size} of {counts.size} elements are {deed} more often than they have to be"
    rows = (
        ("Expected", f"{name}[{index}] is {deed} {_times(int(right[cell]))} by all threads together"),
        ("Yours", f"{_times(int(counts[cell]))}: {words}; {more}"),
        *_sources(report, list(by_line)),
    )
    return Difference(f"how often its threads {kind} global memory", rows, _launch(report))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
