"""How numba compiled the loops of a kernel: which run in parallel, and what each iteration allocates."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from linecache import getline
from pathlib import Path
from typing import Any

from numba.core import ir
from numba.core.errors import NumbaPerformanceWarning
from numba.parfors.parfor import Parfor, ParforDiagnostics

import minitorch
from minitorch import operators
from minitorch.fast_ops import TextbookKernel, callable_from_kernels, tensor_map, tensor_matrix_multiply, tensor_reduce, tensor_zip

ALLOCATING = {"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"}
"""NumPy functions that allocate an array."""

PARALLEL, FUSED, SERIAL = "parallel", "fused", "serial"
"""How a loop runs."""


@dataclass(frozen=True)
class Loop:
    """A `prange`, or an array expression that numba turns into a loop.

    Attributes:
        line: Line number in the file.
        source: The source of that line.
        fate: PARALLEL; FUSED with another loop; or SERIAL, because it is nested in a parallel loop.
        into: Line number of that other loop.
        allocations: Line numbers in the loop that allocate an array in every iteration.
        hoisted: The number of instructions that numba moved out of the loop.
    """

    line: int
    source: str
    fate: str
    into: int | None = None
    allocations: tuple[int, ...] = ()
    hoisted: int = 0


@dataclass(frozen=True)
class Compiled:
    """A function that was compiled with parallel=True.

    Attributes:
        name: Its unqualified name.
        file: Its path, relative to the workspace if it is inside.
        line: Line number of its definition.
        loops: Its loops in the order of their lines.
    """

    name: str
    file: str
    line: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Report:
    """The report on a kernel.

    Attributes:
        function: A name in FUNCTIONS.
        problem: Why nothing can run in parallel; "" if it can.
        compiled: The compiled functions of the kernel.
        raw: The report from numba.
    """

    function: str
    problem: str = ""
    compiled: tuple[Compiled, ...] = ()
    raw: str = field(default="", repr=False)

    @property
    def parallel(self) -> bool:
        """Whether every compiled function has a parallel loop."""
        return bool(self.compiled) and all(any(loop.fate == PARALLEL for loop in each.loops) for each in self.compiled)


# Each kernel is called with small tensors so that numba compiles it, both with equal strides and with different ones.


def _map() -> Any:
    kernel = tensor_map(callable_from_kernels(operators.id))
    out, a = minitorch.zeros((3, 3)), minitorch.ones((3, 3))
    return _call(kernel, [(out, a), (out, a.permute(1, 0))])


def _zip() -> Any:
    kernel = tensor_zip(callable_from_kernels(operators.eq))
    out, a = minitorch.zeros((3, 3)), minitorch.ones((3, 3))
    return _call(kernel, [(out, a, a), (out, a, a.permute(1, 0))])


def _reduce() -> Any:
    kernel = tensor_reduce(callable_from_kernels(operators.add))
    a = minitorch.ones((3, 3))
    return _call(kernel, [(minitorch.zeros((3, 1)), a, 1), (minitorch.zeros((1, 3)), a, 0)])


def _matmul() -> Any:
    a = minitorch.ones((1, 3, 3))
    return _call(tensor_matrix_multiply, [(minitorch.zeros((1, 3, 3)), a, a)])


FUNCTIONS: dict[str, Callable[[], Any]] = {"map": _map, "zip": _zip, "reduce": _reduce, "matmul": _matmul}
"""By name, functions that create a kernel and call it."""


def _call(kernel: Any, calls: list[tuple[Any, ...]]) -> Any:
    """Call a kernel with tensors and numbers, and return the kernel."""
    launched = TextbookKernel(kernel)
    for operands in calls:
        launched(*(operand._tensor if isinstance(operand, minitorch.Tensor) else operand for operand in operands))
    return kernel


# The report from numba


def examine(function: str, level: int = 3) -> Report:
    """Compile a kernel of this workspace and report how numba compiled its loops.

    Args:
        function: A name in FUNCTIONS.
        level: The verbosity of numba's report, from 1 to 4.

    Raises:
        NotImplementedError: If the kernel is not written yet.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)  # the report explains it better
        kernel = FUNCTIONS[function]()
        if not hasattr(kernel, "parallel_diagnostics"):
            return Report(function, "the kernel is not compiled; return njit(…, parallel=True)")
        printed = io.StringIO()
        with _captured_diagnostics() as captured, redirect_stdout(printed):
            try:
                kernel.parallel_diagnostics(level=level)
            except ValueError:  # numba has no report on a function that is compiled without parallel=True
                return Report(function, "the kernel is compiled for one thread; pass parallel=True to njit")
    return Report(function, "", tuple(_compiled(each) for each in captured), printed.getvalue().strip("\n"))


@contextmanager
def _captured_diagnostics() -> Iterator[list[ParforDiagnostics]]:
    """Collect the diagnostics objects that numba prints, because their text is not meant to be parsed."""
    captured: list[ParforDiagnostics] = []
    dump = ParforDiagnostics.dump

    def capture(self: ParforDiagnostics, level: int = 1) -> None:
        if not self.has_setup:
            raise ValueError("the function was compiled for one thread")
        captured.append(self)
        dump(self, level)

    ParforDiagnostics.dump = capture
    try:
        yield captured
    finally:
        ParforDiagnostics.dump = dump


def _compiled(found: Any) -> Compiled:
    """Return a summary of numba's diagnostics on one function."""
    file, bodies = found.func_ir.loc.filename, {parfor.id: parfor for parfor in found.get_parfors()}
    lines = {parfor.id: parfor.loc.line for parfor in found.initial_parfors}
    inside = {child: parent for parent, children in found.nested_fusion_info.items() for child in children}
    fused = {child: parent for parent, children in found.fusion_info.items() for child in children}
    loops = []
    for id, line in lines.items():
        fate, into = (SERIAL, inside[id]) if id in inside else (FUSED, fused[id]) if id in fused else (PARALLEL, None)
        moved = [each for each in found.hoist_info.get(id, {}).get("hoisted", []) if not _is_name(each)]
        loops.append(
            Loop(
                line,
                getline(file, line).strip(),
                fate,
                lines[into] if into is not None else None,
                _allocations(bodies[id]) if id in bodies and fate == PARALLEL else (),
                len(moved),
            )
        )
    name = found.func_ir.func_id.func.__name__
    return Compiled(name, _relative(file), found.func_ir.loc.line, tuple(sorted(loops, key=lambda loop: loop.line)))


def _is_name(instruction: Any) -> bool:
    """Return whether an instruction only looks up a module, a function or a constant, which is free in compiled code."""
    value = instruction.value
    return isinstance(value, (ir.Global, ir.FreeVar, ir.Const)) or (isinstance(value, ir.Expr) and value.op == "getattr")


def _allocations(parfor: Any) -> tuple[int, ...]:
    """Return the lines in a loop, including nested loops, that allocate an array."""
    makers, lines = set(), []
    for block in parfor.loop_body.values():
        for statement in block.body:
            if isinstance(statement, Parfor):
                lines += _allocations(statement)
            value = statement.value if isinstance(statement, ir.Assign) else None
            if isinstance(value, ir.Expr) and value.op == "getattr" and value.attr in ALLOCATING:
                makers.add(statement.target.name)
            elif isinstance(value, ir.Expr) and value.op == "call" and value.func.name in makers:
                lines.append(statement.loc.line)
    return tuple(sorted(lines))


# Text


def in_words(report: Report) -> list[str]:
    """Return the report as lines of text: a heading, then lines for every function and every loop."""
    heading = f"{report.function.upper()}: "
    if report.problem:
        return [f"{heading}not parallel: {report.problem}"]
    count = sum(loop.fate == PARALLEL for each in report.compiled for loop in each.loops)
    verdict = f"parallel, {count} loop{'s' * (count != 1)}" if report.parallel else "not parallel everywhere; see below"
    lines = [heading + verdict]
    for each in report.compiled:
        lines.append(f"  {each.name} in {each.file}, line {each.line}")
        if not each.loops:
            lines.append("    no parallel loop: write the loop over the output as `for … in prange(…)`")
        for loop in each.loops:
            lines.append(f"    line {loop.line}: {loop.source}")
            lines += [f"      {remark}" for remark in remarks(loop)]
    return lines


def remarks(loop: Loop) -> list[str]:
    """Describe a loop."""
    if loop.fate == SERIAL:
        return [f"serial: nested in the parallel loop at line {loop.into}"]
    if loop.fate == FUSED:
        return [f"fused with the loop at line {loop.into}"]
    found = ["parallel"]
    if loop.hoisted:
        found.append(f"{loop.hoisted} instruction{'s' * (loop.hoisted != 1)} hoisted out of the loop")
    if loop.allocations:
        places = ", ".join(map(str, dict.fromkeys(loop.allocations)))
        arrays = len(loop.allocations)
        found.append(f"every iteration allocates {arrays} array{'s' * (arrays != 1)}, at line {places}")
    return found


def _relative(file: str) -> str:
    """Return the path relative to the workspace, if the file is inside."""
    top = Path(__file__).resolve().parents[3]
    try:
        return Path(file).resolve().relative_to(top).as_posix()
    except ValueError:
        return file
