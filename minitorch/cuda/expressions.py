"""Stage 3 - Expressions of a kernel, evaluated for all threads of a block at once."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.cuda.findings import KernelError
from minitorch.cuda.lanes import (
    BINARY,
    COMPARE,
    FLOAT_OPERATIONS,
    Mask,
    binary,
    compare,
    is_float,
    is_lanes,
    is_number,
    select,
    spread,
    strong,
    truth,
)
from minitorch.cuda.memory import Memory
from minitorch.cuda.races import READ, WRITE
from minitorch.cuda.recorder import Recorder
from minitorch.cuda.source import Cuda, Function, as_cuda


class Frame:
    """The call of a function.

    Args:
        function: The function.
        mask: The threads that call it.
        variables: Its arguments.

    Attributes:
        living: The threads that have not returned from it.
        result: What it returns; None before a return statement.
        arrays: The local arrays that it has allocated, by the node of the call.
        loops: The loops around the current statement, innermost last.
        numbers: Numbers of the recorder's lines, by line number.
        assigned: For variables that only some threads have assigned, which these are.
    """

    def __init__(self, function: Function, mask: Mask, variables: dict[str, Any]) -> None:
        self.function, self.living, self.variables = function, mask, variables
        self.result: Any = None
        self.arrays: dict[ast.AST, Memory] = {}
        self.loops: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.assigned: dict[str, np.ndarray] = {}


class Expressions:
    """Evaluates expressions; `Interpreter` adds statements and calls.

    Args:
        recorder: Records accesses.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder, self.threads = recorder, recorder.threads
        lanes = np.arange(self.threads)
        x, y, _ = recorder.block_shape
        self.thread_index = {"x": lanes % x, "y": lanes // x % y, "z": lanes // (x * y)}
        self.block_index: dict[str, int] = {}
        self.shared: dict[ast.AST, Memory] = {}  # the block's shared arrays, by the node of the call: all calls of a function have the same
        self.local: dict[ast.AST, int] = {}  # the bytes of a thread's local arrays, by the node of the call
        self.target = ""  # of the current assignment: the name of an array that it allocates
        self.alive = np.ones(self.threads, np.bool_)
        self._handlers: dict[type, Callable[..., Any]] = {}

    def error(self, frame: Frame, node: ast.AST, message: str) -> KernelError:
        """An error at a node."""
        place = frame.function.place(node)
        return KernelError(f"{place.file}, line {place.line}: {message}")

    def line(self, frame: Frame, node: Any) -> int:
        """The number of a node's line."""
        line = getattr(node, "lineno", 0)
        if line not in frame.numbers:
            frame.numbers[line] = self.recorder.number(frame.function.place(node))
        return frame.numbers[line]

    def evaluate(self, node: ast.AST, mask: Mask, frame: Frame) -> Any:
        """The value of an expression for the active threads; the values of others mean nothing."""
        kind = type(node)
        handler = self._handlers.get(kind)
        if handler is None:
            handler = getattr(self, f"_{kind.__name__.lower()}", None)
            if handler is None:
                raise self.error(frame, node, f"a kernel expected numbers, arrays and tuples, got {ast.unparse(node)!r}; {_REMEDY}")
            self._handlers[kind] = handler
        return handler(node, mask, frame)

    def call(self, node: ast.Call, mask: Mask, frame: Frame) -> Any:
        """The value of a call; see `Interpreter`."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, mask: Mask, frame: Frame) -> None:
        """Give a variable a value; see `Interpreter`."""
        raise NotImplementedError

    def _call(self, node: ast.Call, mask: Mask, frame: Frame) -> Any:
        return self.call(node, mask, frame)

    def _constant(self, node: ast.Constant, mask: Mask, frame: Frame) -> Any:
        return frame.function.float_type(node.value) if isinstance(node.value, float) else node.value

    def _name(self, node: ast.Name, mask: Mask, frame: Frame) -> Any:
        if node.id in frame.variables:
            if node.id in frame.assigned and (missing := mask.bits & ~frame.assigned[node.id]).any():
                thread = self.recorder.thread(int(np.flatnonzero(missing)[0]))
                raise self.error(frame, node, f"{node.id} has no value in thread {thread}; assign it in every branch, or before")
            return frame.variables[node.id]
        try:
            value = frame.function.lookup(node.id)
        except KeyError:
            raise self.error(frame, node, f"{node.id} has no value here; assign it before") from None
        if isinstance(value, np.ndarray):
            raise self.error(frame, node, f"{node.id} is an array outside of the kernel; pass it as an argument")
        return self.cuda_number(value.path) if isinstance(value, Cuda) else value

    def _tuple(self, node: ast.Tuple, mask: Mask, frame: Frame) -> tuple:
        values: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                values += self.evaluate(element.value, mask, frame)
            else:
                values.append(self.evaluate(element, mask, frame))
        return tuple(values)

    def _namedexpr(self, node: ast.NamedExpr, mask: Mask, frame: Frame) -> Any:
        value = self.evaluate(node.value, mask, frame)
        self.assign(node.target, value, mask, frame)
        return value

    def condition(self, node: ast.AST, value: Any, frame: Frame) -> Any:
        """Whether a value is true: a bool, or one per thread."""
        if isinstance(value, Memory):
            message = f"expected a number as condition, got the array {value.name} in {ast.unparse(node)!r}"
            raise self.error(frame, node, f"{message}; compare one element, or its size")
        return truth(value) if is_number(value) else bool(value)

    def check_alike(self, node: ast.AST, values: tuple, frame: Frame) -> None:
        """Check that the elements of a tuple have one type: the compiler gives an element whose number it does not know a single type."""
        kinds = {kind_of(value) for value in values}
        if len(kinds) > 1:
            got = ast.unparse(node).splitlines()[0]
            message = f"a tuple expected elements of one type where a variable selects them, got {' and '.join(sorted(kinds))} in {got!r}"
            raise self.error(frame, node, f"{message}; write constants as indices, or make them all float")

    def _attribute(self, node: ast.Attribute, mask: Mask, frame: Frame) -> Any:
        value = self.evaluate(node.value, mask, frame)
        if isinstance(value, Cuda):
            return self._cuda_value(node, f"{value.path}.{node.attr}".lstrip("."), frame)
        if isinstance(value, Memory):
            if node.attr in ("shape", "dtype", "size", "ndim"):
                return getattr(value, node.attr)
            raise self.error(frame, node, f"an array expected .shape, .dtype, .size or .ndim, got .{node.attr}")
        if isinstance(value, types.ModuleType) and hasattr(value, node.attr):
            return as_cuda(node.attr, getattr(value, node.attr))
        if is_number(value) or isinstance(value, tuple) or not hasattr(value, node.attr):
            raise self.error(frame, node, f"{ast.unparse(node.value)} has no attribute {node.attr}")
        return getattr(value, node.attr)

    def _cuda_value(self, node: ast.Attribute, path: str, frame: Frame) -> Any:
        """threadIdx.x and the like; anything else in numba.cuda stays a `Cuda`."""
        base, _, axis = path.partition(".")
        if base not in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            return self.cuda_number(path)
        if axis == "":
            return Cuda(path)
        if axis not in ("x", "y", "z"):
            raise self.error(frame, node, f"cuda.{base} expected .x, .y or .z, got .{axis}")
        if base == "threadIdx":
            return self.thread_index[axis]
        if base == "blockIdx":
            return self.block_index[axis]
        return (self.recorder.block_shape if base == "blockDim" else self.recorder.grid)["xyz".index(axis)]

    def cuda_number(self, path: str) -> Any:
        """cuda.laneid and cuda.warpsize as numbers."""
        if path == "laneid":
            return np.arange(self.threads) % 32
        return 32 if path == "warpsize" else Cuda(path)

    # Operators

    def _binop(self, node: ast.BinOp, mask: Mask, frame: Frame) -> Any:
        return self.operate(node, node.op, self.evaluate(node.left, mask, frame), self.evaluate(node.right, mask, frame), mask, frame)

    def operate(self, node: ast.AST, operator: ast.operator, x: Any, y: Any, mask: Mask, frame: Frame) -> Any:
        """x operator y, counted if it is a floating-point operation."""
        kind = type(operator)
        if isinstance(x, tuple) and isinstance(y, tuple) and kind is ast.Add:
            return x + y
        if isinstance(x, tuple) and isinstance(y, int) and kind is ast.Mult:
            return x * y
        if not (is_number(x) and is_number(y) and kind in BINARY):
            raise self.error(frame, node, f"expected numbers, got {describe(x)} and {describe(y)} in {ast.unparse(node)!r}")
        try:
            result = binary(kind, x, y)
        except ZeroDivisionError:
            raise self.error(frame, node, f"{ast.unparse(node)!r} divides an integer by 0") from None
        except TypeError:
            raise self.error(frame, node, f"{ast.unparse(node)!r} is not defined for {describe(x)} and {describe(y)}") from None
        if kind in FLOAT_OPERATIONS and is_float(result):
            self.recorder.flops(self.line(frame, node), mask)
        return result

    def _unaryop(self, node: ast.UnaryOp, mask: Mask, frame: Frame) -> Any:
        value = self.evaluate(node.operand, mask, frame)
        if isinstance(node.op, ast.Not):
            known = self.condition(node, value, frame)
            return ~known if is_lanes(known) else not known
        if not is_number(value):
            raise self.error(frame, node, f"expected a number, got {describe(value)} in {ast.unparse(node)!r}")
        if isinstance(value, (np.ndarray, np.bool_)) and value.dtype.kind == "b":
            value = value.astype(np.int64)
        if isinstance(node.op, ast.Invert) and is_float(value):
            raise self.error(
                frame, node, f"{ast.unparse(node)!r} is not defined for {describe(value)}; write not, or convert it to an integer"
            )
        sign: Any = value
        return ~sign if isinstance(node.op, ast.Invert) else -sign if isinstance(node.op, ast.USub) else +sign

    def _boolop(self, node: ast.BoolOp, mask: Mask, frame: Frame) -> Any:
        conjunction = isinstance(node.op, ast.And)
        value = self.evaluate(node.values[0], mask, frame)
        for operand in node.values[1:]:
            known: Any = self.condition(node, value, frame)
            if not is_lanes(known):
                if known != conjunction:
                    return value
                value = self.evaluate(operand, mask, frame)
                continue
            undecided = known if conjunction else ~known
            rest = mask & undecided
            if not rest.count:
                return value
            value = self._select(node, undecided, self.evaluate(operand, rest, frame), value, frame)
        return value

    def _compare(self, node: ast.Compare, mask: Mask, frame: Frame) -> Any:
        left, result = self.evaluate(node.left, mask, frame), True
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator, mask, frame)
            known = truth(self._compare_two(node, operator, left, right, frame))
            if is_lanes(known) or is_lanes(result):
                result = spread(result, self.threads) & spread(known, self.threads)
                mask = mask & result
            else:
                result = known
            if not is_lanes(result) and not result:
                return False
            left = right
        return result

    def _compare_two(self, node: ast.Compare, operator: ast.cmpop, x: Any, y: Any, frame: Frame) -> Any:
        kind = type(operator)
        if kind in COMPARE and is_number(x) and is_number(y):
            return compare(kind, strong(x), strong(y)) if is_lanes(x) or is_lanes(y) else compare(kind, x, y)
        if is_lanes(x) or is_lanes(y):
            raise self.error(frame, node, f"expected numbers on both sides, got {ast.unparse(node)!r}")
        if kind in (ast.Eq, ast.NotEq):
            return (x == y) == (kind is ast.Eq)
        if kind in (ast.Is, ast.IsNot):
            return (x is y) == (kind is ast.Is)
        if kind in (ast.In, ast.NotIn) and isinstance(y, tuple):
            return (x in y) == (kind is ast.In)
        raise self.error(frame, node, f"expected numbers on both sides, got {ast.unparse(node)!r}")

    def _ifexp(self, node: ast.IfExp, mask: Mask, frame: Frame) -> Any:
        condition = self.condition(node, self.evaluate(node.test, mask, frame), frame)
        if not is_lanes(condition):
            return self.evaluate(node.body if condition else node.orelse, mask, frame)
        yes, no = mask & condition, mask & ~condition
        if not no.count:
            return self.evaluate(node.body, yes, frame)
        if not yes.count:
            return self.evaluate(node.orelse, no, frame)
        return self._select(node, condition, self.evaluate(node.body, yes, frame), self.evaluate(node.orelse, no, frame), frame)

    def _select(self, node: ast.AST, condition: np.ndarray, x: Any, y: Any, frame: Frame) -> Any:
        try:
            return select(condition, x, y)
        except TypeError as error:
            raise self.error(frame, node, f"{error}; give it values of one type in every branch") from None

    # Elements

    def _slice(self, node: ast.Slice, mask: Mask, frame: Frame) -> slice:
        return slice(*(part and self.evaluate(part, mask, frame) for part in (node.lower, node.upper, node.step)))

    def _subscript(self, node: ast.Subscript, mask: Mask, frame: Frame) -> Any:
        value = self.evaluate(node.value, mask, frame)
        index = self.evaluate(node.slice, mask, frame)
        if isinstance(value, Memory):
            cells, lanes = self.locate(node, value, index, READ, mask, frame)
            return self.load(node, value, cells, lanes, frame)
        if isinstance(value, tuple):
            return self._tuple_element(node, value, index, mask, frame)
        raise self.error(frame, node, f"expected an array or a tuple before [, got {describe(value)} in {ast.unparse(node)!r}")

    def _tuple_element(self, node: ast.Subscript, value: tuple, index: Any, mask: Mask, frame: Frame) -> Any:
        if isinstance(index, slice):
            return value[index]
        if is_lanes(index) or ast.unparse(node.slice) in frame.function.signature.parameters:
            self.check_alike(node, value, frame)
        if not is_lanes(index):
            try:
                return value[index]
            except (IndexError, TypeError):
                message = f"{ast.unparse(node.value)} has {len(value)} elements, got index {describe(index)}"
                raise self.error(frame, node, message) from None
        wrong = mask.bits & ((index < -len(value)) | (index >= len(value)))
        if wrong.any():
            lanes = np.flatnonzero(wrong)
            line = self.line(frame, node)
            self.recorder.refuse(ast.unparse(node.value), (len(value),), READ, line, lanes, (int(index[lanes[0]]),))
        columns = np.stack([spread(element, self.threads) for element in value])
        return columns[np.clip(index, -len(value), len(value) - 1), np.arange(self.threads)]

    def locate(self, node: ast.AST, memory: Memory, index: Any, kind: int, mask: Mask, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """The existing elements that threads access, and these threads; accesses outside of the array are reported."""
        indices = list(index) if isinstance(index, tuple) else [index]
        for each in indices:
            if not is_number(each) or is_float(each) or kind_of(each) == "bool":
                raise self.error(frame, node, f"{memory.name} expected integers as indices, got {describe(each)} in {ast.unparse(node)!r}")
        if len(indices) != memory.ndim:
            message = f"{memory.name} has {memory.ndim} dimensions, got {len(indices)} indices in {ast.unparse(node)!r}"
            raise self.error(frame, node, f"{message}; give one index per dimension")
        cells, inside = memory.locate(indices, mask)
        if inside.all():
            return cells, mask.lanes
        lanes = mask.lanes[~inside]
        first = tuple(int(each[lanes[0]] if is_lanes(each) else each) for each in indices)
        self.recorder.refuse(memory.name, memory.shape, kind, self.line(frame, node), lanes, first)
        return cells[inside], mask.lanes[inside]

    def load(self, node: ast.AST, memory: Memory, cells: np.ndarray, lanes: np.ndarray, frame: Frame) -> np.ndarray:
        """Read elements; threads without one get 0."""
        line = self.line(frame, node)
        self.recorder.access(memory, READ, cells, lanes, line)
        if memory.space == "local":
            cells = cells + lanes * memory.size
        if memory.written is not None:
            unknown = ~memory.written[cells]
            if unknown.any():
                self.recorder.report_unwritten(memory, line, lanes[unknown], cells[unknown])
        result = np.zeros(self.threads, memory.dtype)
        result[lanes] = memory.data[cells]
        return result

    def store(self, node: ast.AST, memory: Memory, cells: np.ndarray, lanes: np.ndarray, value: Any, frame: Frame) -> None:
        """Write elements; of several threads that write one element, the last wins."""
        if not is_number(value):
            raise self.error(frame, node, f"{memory.name} expected a number, got {describe(value)} in {ast.unparse(node)!r}")
        self.recorder.access(memory, WRITE, cells, lanes, self.line(frame, node))
        if memory.space == "local":
            cells = cells + lanes * memory.size
        memory.data[cells] = (value[lanes] if is_lanes(value) else strong(value)).astype(memory.dtype)
        if memory.written is not None:
            memory.written[cells] = True


_REMEDY = "write it with numbers, arrays, tuples, if, while, for and calls of functions, or test it on a GPU"


def kind_of(value: Any) -> str:
    """The type of a value, as the compiler distinguishes them in a tuple."""
    if is_number(value):
        kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else np.dtype(type(value)).kind
        return "float" if kind == "f" else "bool" if kind == "b" else "int"
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else describe(value)


def describe(value: Any) -> str:
    """What a value is, for an error message."""
    if is_number(value):
        return f"numbers of type {value.dtype}" if is_lanes(value) else f"{value!r}"
    if isinstance(value, Memory):
        return f"the array {value.name}"
    return "a tuple" if isinstance(value, tuple) else "None" if value is None else f"an object of type {type(value).__name__}"
