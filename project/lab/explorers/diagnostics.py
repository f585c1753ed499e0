"""What numba made of the loops of a kernel: which of them run in parallel, and what each iteration allocates."""

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
"""Functions of NumPy that make an array."""

PARALLEL, FUSED, SERIAL = "parallel", "fused", "serial"
"""What becomes of a loop."""


@dataclass(frozen=True)
class Loop:
    """One `prange`, or one operation on whole arrays, of which numba makes a loop.

    Attributes:
        line: Where it stands in its file.
        source: That line.
        fate: PARALLEL; FUSED with another loop; or SERIAL, as it stands in a loop that is parallel already.
        into: Line of that other loop.
        allocations: Lines in the loop that make a new array in every iteration.
        hoisted: How many instructions numba moved to before the loop, where they run once.
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
        name: Without what it is defined in.
        file: Its path, from the top of the workspace if it lies there.
        line: Where it begins.
        loops: In the order of their lines.
    """

    name: str
    file: str
    line: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Report:
    """What there is to say about a kernel.

    Attributes:
        function: A name in FUNCTIONS.
        problem: Why nothing can run in parallel; "" if it can.
        compiled: The functions that the kernel consists of.
        raw: What numba prints.
    """

    function: str
    problem: str = ""
    compiled: tuple[Compiled, ...] = ()
    raw: str = field(default="", repr=False)

    @property
    def parallel(self) -> bool:
        """Whether every function that was compiled has a parallel loop."""
        return bool(self.compiled) and all(any(loop.fate == PARALLEL for loop in each.loops) for each in self.compiled)


# The kernels, each called with small tensors so that numba compiles it: with strides that agree, and with others


def _map() -> Any:
    kernel = tensor_map(callable_from_kernels(operators.id))
    out, a = minitorch.zeros((3, 3)), minitorch.ones((3, 3))
    return _called(kernel, [(out, a), (out, a.permute(1, 0))])


def _zip() -> Any:
    kernel = tensor_zip(callable_from_kernels(operators.eq))
    out, a = minitorch.zeros((3, 3)), minitorch.ones((3, 3))
    return _called(kernel, [(out, a, a), (out, a, a.permute(1, 0))])


def _reduce() -> Any:
    kernel = tensor_reduce(callable_from_kernels(operators.add))
    a = minitorch.ones((3, 3))
    return _called(kernel, [(minitorch.zeros((3, 1)), a, 1), (minitorch.zeros((1, 3)), a, 0)])


def _matmul() -> Any:
    a = minitorch.ones((1, 3, 3))
    return _called(tensor_matrix_multiply, [(minitorch.zeros((1, 3, 3)), a, a)])


FUNCTIONS: dict[str, Callable[[], Any]] = {"map": _map, "zip": _zip, "reduce": _reduce, "matmul": _matmul}
"""What can be asked about, and what makes the kernel and calls it."""


def _called(kernel: Any, calls: list[tuple[Any, ...]]) -> Any:
    """The kernel after these calls with tensors and numbers."""
    launched = TextbookKernel(kernel)
    for operands in calls:
        launched(*(operand._tensor if isinstance(operand, minitorch.Tensor) else operand for operand in operands))
    return kernel


# What numba says


def examine(function: str, level: int = 3) -> Report:
    """Compile a kernel of this workspace and ask numba what became of its loops.

    Args:
        function: A name in FUNCTIONS.
        level: How much numba prints, from 1 to 4.

    Raises:
        NotImplementedError: If the kernel is not written yet.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaPerformanceWarning)  # no loop is parallel: the report says it better
        kernel = FUNCTIONS[function]()
        if not hasattr(kernel, "parallel_diagnostics"):
            return Report(function, "it is not compiled; return njit(…, parallel=True)")
        printed = io.StringIO()
        with _listening() as heard, redirect_stdout(printed):
            try:
                kernel.parallel_diagnostics(level=level)
            except ValueError:  # numba has none of a function that was compiled for one thread
                return Report(function, "it is compiled for one thread; pass parallel=True to njit")
    return Report(function, "", tuple(_compiled(each) for each in heard), printed.getvalue().strip("\n"))


@contextmanager
def _listening() -> Iterator[list[ParforDiagnostics]]:
    """Gathers what is printed as the objects behind it: the text is made for eyes."""
    heard: list[ParforDiagnostics] = []
    dump = ParforDiagnostics.dump

    def noted(self: ParforDiagnostics, level: int = 1) -> None:
        if not self.has_setup:
            raise ValueError("the function was compiled for one thread")
        heard.append(self)
        dump(self, level)

    ParforDiagnostics.dump = noted
    try:
        yield heard
    finally:
        ParforDiagnostics.dump = dump


def _compiled(found: Any) -> Compiled:
    """What numba knows of one function, in few words."""
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
    name = found.func_ir.func_id.func_name
    return Compiled(name, _shown(file), found.func_ir.loc.line, tuple(sorted(loops, key=lambda loop: loop.line)))


def _is_name(instruction: Any) -> bool:
    """Whether it only looks up a module, a function or a constant, which costs nothing in compiled code."""
    value = instruction.value
    return isinstance(value, (ir.Global, ir.FreeVar, ir.Const)) or (isinstance(value, ir.Expr) and value.op == "getattr")


def _allocations(parfor: Any) -> tuple[int, ...]:
    """The lines of a loop, and of the loops in it, that make an array."""
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


# In words


def in_words(report: Report) -> list[str]:
    """The report as lines to print: a heading, and below it a line for every function and every loop."""
    heading = f"{report.function.upper()}: "
    if report.problem:
        return [f"{heading}not parallel: {report.problem}"]
    count = sum(loop.fate == PARALLEL for each in report.compiled for loop in each.loops)
    verdict = f"parallel, {count} loop{'s' * (count != 1)}" if report.parallel else "not parallel everywhere; see below"
    lines = [heading + verdict]
    for each in report.compiled:
        lines.append(f"  {each.name} in {each.file}, line {each.line}")
        if not each.loops:
            lines.append("    no parallel loop: the loop over the results should be `for … in prange(…)`")
        for loop in each.loops:
            lines.append(f"    line {loop.line}: {loop.source}")
            lines += [f"      {remark}" for remark in remarks(loop)]
    return lines


def remarks(loop: Loop) -> list[str]:
    """What there is to say about a loop."""
    if loop.fate == SERIAL:
        return [f"serial: it stands inside the parallel loop of line {loop.into}"]
    if loop.fate == FUSED:
        return [f"fused: it runs together with the loop of line {loop.into}"]
    told = ["parallel"]
    if loop.hoisted:
        told.append(f"{loop.hoisted} instruction{'s' * (loop.hoisted != 1)} moved to before the loop")
    if loop.allocations:
        places = ", ".join(map(str, dict.fromkeys(loop.allocations)))
        arrays = len(loop.allocations)
        told.append(f"every iteration makes {arrays} new array{'s' * (arrays != 1)}, in line {places}")
    return told


def _shown(file: str) -> str:
    """The path from the top of the workspace, if it lies there."""
    top = Path(__file__).resolve().parents[3]
    try:
        return Path(file).resolve().relative_to(top).as_posix()
    except ValueError:
        return file
