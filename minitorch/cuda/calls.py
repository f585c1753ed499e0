"""Stage 3 - Functions that kernels call: those of numba.cuda, of Python, of math, and conversions of numbers."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.cuda.expressions import Expressions, Frame, describe
from minitorch.cuda.lanes import WARP, Mask, binary, cast, compare, is_float, is_lanes, is_number, select, spread
from minitorch.cuda.memory import Memory
from minitorch.cuda.races import ATOMIC
from minitorch.cuda_limits import check_memory


class LaneRange:
    """range(start, stop, step) of which at least one argument differs between threads."""

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        self.start, self.stop, self.step = (0, start, step) if stop is None else (start, stop, step)


# Python


def _extreme(kind: type[ast.cmpop]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        values = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        best = values[0]
        for value in values[1:]:
            better = compare(kind, value, best)
            best = select(better, value, best) if is_lanes(better) else value if better else best
        return best

    return extreme


def _range(*arguments: Any) -> Any:
    return LaneRange(*arguments) if any(map(is_lanes, arguments)) else range(*map(int, arguments))


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return binary(ast.FloorDiv, x, y), binary(ast.Mod, x, y)


def _round(x: Any, digits: int | None = None) -> Any:
    return cast(np.rint(x), np.int64) if digits is None else np.round(x, digits)


def _tuple(values: tuple = ()) -> tuple:
    if not isinstance(values, tuple):
        raise TypeError("the compiler must know the number of elements: write them")
    return values


def _sum(values: tuple, start: Any = 0) -> Any:
    for value in values:
        start = binary(ast.Add, start, value)
    return start


PYTHON: dict[Any, Callable[..., Any]] = {
    abs: np.abs, bool: lambda x=False: cast(x, np.bool_), divmod: _divmod, enumerate: lambda *xs: tuple(enumerate(*xs)),
    float: lambda x=0.0: cast(x, np.float64), int: lambda x=0: int(x) if isinstance(x, int) else cast(x, np.int64), len: len,
    max: _extreme(ast.Gt), min: _extreme(ast.Lt), pow: lambda x, y: binary(ast.Pow, x, y), range: _range,
    round: _round, sum: _sum, tuple: _tuple, zip: lambda *xs: tuple(zip(*xs)),  # noqa: B905  # as Python's
}  # fmt: skip


def _integral(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: cast(ufunc(x), np.int64)


_NAMED_ALIKE = (
    "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "fabs", "hypot", "fmod",
    "copysign", "isnan", "isinf", "isfinite", "degrees", "radians",
)  # fmt: skip
MATH: dict[Any, Callable[..., Any]] = {
    **{getattr(math, name): getattr(np, name) for name in _NAMED_ALIKE},
    math.pow: lambda x, y: np.power(cast(x, np.float64), y), math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan,
    math.atan2: np.arctan2, math.asinh: np.arcsinh, math.acosh: np.arccosh, math.atanh: np.arctanh, math.floor: _integral(np.floor),
    math.ceil: _integral(np.ceil), math.trunc: _integral(np.trunc), math.erf: np.vectorize(math.erf, otypes=[np.float64]),
    math.erfc: np.vectorize(math.erfc, otypes=[np.float64]), math.gamma: np.vectorize(math.gamma, otypes=[np.float64]),
    math.lgamma: np.vectorize(math.lgamma, otypes=[np.float64]),
}  # fmt: skip


def dtype_of(value: Any) -> np.dtype | None:
    """The NumPy dtype of a type of NumPy's, numba's or Python's; None for anything else."""
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type) and issubclass(value, (np.generic, float, int)):
        return np.dtype(value)
    if type(value).__module__.startswith("numba"):
        name = str(value)
        try:
            return np.dtype("bool" if name.startswith("bool") else name)
        except TypeError:
            return None
    return None


def plain_function(function: Any) -> Callable[..., Any] | None:
    """What computes a function of Python, math or NumPy, or a conversion; None for anything else."""
    try:
        known = PYTHON.get(function) or MATH.get(function)
    except TypeError:  # not hashable
        return None
    if known is not None:
        return known
    if isinstance(function, np.ufunc):
        return function
    dtype = dtype_of(function)
    return None if dtype is None else lambda x=0: cast(x, dtype)


# numba.cuda. Each function gets the interpreter, the node, the frame, the mask and the arguments of the call.


def _check_dims(machine: Expressions, node: Any, frame: Frame, dims: Any) -> None:
    if type(dims) is not int or dims not in (1, 2, 3) or ast.unparse(node.args[0]) in frame.function.signature.parameters:
        message = f"{ast.unparse(node.func)} expected the constant 1, 2 or 3, the number of dimensions, got {ast.unparse(node)!r}"
        raise machine.error(frame, node, f"{message}; write the number")


def _grid(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, dims: int) -> Any:
    _check_dims(machine, node, frame, dims)
    axes = [machine.block_index[a] * n + machine.thread_index[a] for a, n in zip("xyz", machine.recorder.block_shape, strict=True)]
    return axes[0] if dims == 1 else tuple(axes[:dims])


def _gridsize(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, dims: int) -> Any:
    _check_dims(machine, node, frame, dims)
    sizes = [b * g for b, g in zip(machine.recorder.block_shape, machine.recorder.grid, strict=True)]
    return sizes[0] if dims == 1 else tuple(sizes[:dims])


def _syncthreads(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask) -> None:
    machine.recorder.barrier(machine.line(frame, node), mask, machine.alive)


def _syncwarp(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, members: Any = None) -> None:
    machine.recorder.warp_barrier(machine.line(frame, node), mask, machine.alive, members is None)


def _fence(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask) -> None:
    """A fence orders one thread's writes; it does not make threads wait, so races stay."""


def _array(space: str) -> Callable[..., Memory]:
    def array(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, shape: Any, dtype: Any) -> Memory:
        arrays = machine.shared if space == "shared" else frame.arrays
        if node in arrays:
            return arrays[node]
        sizes = shape if isinstance(shape, tuple) else (shape,)
        if space == "shared" and sizes == (0,):
            message = f"the size of {ast.unparse(node)!r} is given at the launch, and inspect_kernel launches with none"
            raise machine.error(frame, node, f"{message}; give the array a constant size of at least 1")
        element = np.dtype(dtype) if isinstance(dtype, str) else dtype_of(dtype)
        if element is None or not all(isinstance(size, (int, np.integer)) and size > 0 for size in sizes):
            raise machine.error(
                frame, node, f"cuda.{space}.array expected constant sizes of at least 1 and a dtype, got {ast.unparse(node)!r}"
            )
        memory = Memory(machine.target, space, sizes, element, machine.threads if space == "local" else 1)
        arrays[node] = memory
        if space == "shared":
            machine.recorder.add_shared(memory)
        try:
            machine.local |= {node: memory.nbytes} if space == "local" else {}
            check_memory(space, machine.recorder.shared if space == "shared" else sum(machine.local.values()))
        except ValueError as error:
            raise machine.error(frame, node, str(error)) from None
        return memory

    return array


def _atomic(update: Callable[..., Any]) -> Callable[..., Any]:
    def atomic(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, memory: Any, index: Any, *values: Any) -> Any:
        if not isinstance(memory, Memory) or not all(map(is_number, values)):
            raise machine.error(frame, node, f"an atomic function expected an array, an index and a number, got {ast.unparse(node)!r}")
        cells, lanes = machine.locate(node, memory, index, ATOMIC, mask, frame)
        machine.recorder.access(memory, ATOMIC, cells, lanes, machine.line(frame, node))
        if memory.space == "local":
            cells = cells + lanes * memory.size
        elif memory.written is not None:
            unknown = ~memory.written[cells]
            if unknown.any():
                machine.recorder.report_unwritten(memory, machine.line(frame, node), lanes[unknown], cells[unknown])
            memory.written[cells] = True
        old = np.zeros(machine.threads, memory.dtype)
        columns = [spread(value, machine.threads) for value in values]
        for cell, lane in zip(cells.tolist(), lanes.tolist(), strict=True):
            old[lane] = memory.data[cell]
            memory.data[cell] = update(memory.data[cell], *(column[lane] for column in columns))
        if is_float(memory.data) and update is _add:
            machine.recorder.flops(machine.line(frame, node), mask)
        return old

    return atomic


def _add(old: Any, value: Any) -> Any:
    return old + value


def _shuffle(source: Callable[[np.ndarray, Any], np.ndarray]) -> Callable[..., Any]:
    def shuffle(machine: Expressions, node: ast.AST, frame: Frame, mask: Mask, members: Any, value: Any, other: Any) -> Any:
        lanes = np.arange(machine.threads)
        lane = source(lanes % WARP, other)
        taken = lanes - lanes % WARP + lane
        valid = (lane >= 0) & (lane < WARP) & (taken < machine.threads)
        return spread(value, machine.threads)[np.where(valid, taken, lanes)]

    return shuffle


CUDA: dict[str, Callable[..., Any]] = {
    "grid": _grid, "gridsize": _gridsize, "syncthreads": _syncthreads, "syncwarp": _syncwarp, "threadfence": _fence,
    "threadfence_block": _fence, "shared.array": _array("shared"), "local.array": _array("local"), "atomic.add": _atomic(_add),
    "atomic.sub": _atomic(lambda old, value: old - value), "atomic.max": _atomic(np.maximum), "atomic.min": _atomic(np.minimum),
    "atomic.exch": _atomic(lambda old, value: value),
    "atomic.cas": _atomic(lambda old, expected, value: value if old == expected else old),
    "shfl_sync": _shuffle(lambda lane, source: source % WARP + 0 * lane), "shfl_up_sync": _shuffle(lambda lane, delta: lane - delta),
    "shfl_down_sync": _shuffle(lambda lane, delta: lane + delta), "shfl_xor_sync": _shuffle(lambda lane, bits: lane ^ bits),
}  # fmt: skip


def call_cuda(machine: Expressions, name: str, node: ast.Call, frame: Frame, mask: Mask, arguments: list, keywords: dict) -> Any:
    """The value of a call of cuda.name."""
    if name not in CUDA:
        raise machine.error(frame, node, f"the interpreter does not know cuda.{name}; it knows cuda.{', cuda.'.join(sorted(CUDA))}")
    try:
        return CUDA[name](machine, node, frame, mask, *arguments, **keywords)
    except TypeError as error:
        raise machine.error(frame, node, f"cuda.{name} got the wrong arguments in {ast.unparse(node)!r} ({error})") from None


def call_plain(machine: Expressions, function: Callable[..., Any], node: ast.Call, frame: Frame, arguments: list, keywords: dict) -> Any:
    """The value of a call of a function of Python, math or NumPy."""
    if any(isinstance(argument, Memory) for argument in arguments) and function is not len:
        raise machine.error(frame, node, f"expected numbers, got an array in {ast.unparse(node)!r}; pass one element")
    try:
        return function(*arguments, **keywords)
    except (TypeError, ValueError, AttributeError) as error:
        shown = ", ".join(map(describe, arguments))
        raise machine.error(frame, node, f"{ast.unparse(node.func)} does not accept {shown} ({error})") from None
