"""Stage 3 - The interpreter: runs a kernel's Python source for all threads of a block in lockstep.

Every statement is executed for all threads of the block at once, under a mask of active threads. A branch on which threads disagree runs
both sides, one after the other. A real GPU keeps only the threads of a warp in lockstep, and no rule orders its warps: so the
interpreter does not rely on its own order, but reports accesses that no barrier orders.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from minitorch.cuda.calls import LaneRange, call_cuda, call_plain, plain_function
from minitorch.cuda.expressions import Expressions, Frame, describe
from minitorch.cuda.findings import KernelError, Position
from minitorch.cuda.lanes import Mask, binary, is_lanes, spread
from minitorch.cuda.memory import Memory
from minitorch.cuda.races import READ
from minitorch.cuda.recorder import Recorder
from minitorch.cuda.source import Cuda, Function
from minitorch.cuda.source import function as find_function

DEEPEST_CALL = 50
"""Calls inside of calls; more are taken for a recursion without end."""


class _Loop:
    """The threads that have left a loop, and those that wait for its next iteration."""

    def __init__(self, threads: int) -> None:
        self.broken = Mask(np.zeros(threads, np.bool_))
        self.continued = Mask(np.zeros(threads, np.bool_))


class Interpreter(Expressions):
    """Runs the blocks of a kernel, one after the other.

    Args:
        recorder: Records what the threads do.
        function: The kernel.
        max_steps: Number of statements of a block after which the kernel is taken to run without end.
    """

    def __init__(self, recorder: Recorder, function: Function, max_steps: int) -> None:
        super().__init__(recorder)
        self.function, self.max_steps = function, max_steps
        self.depth, self.steps = 0, 0

    def run_block(self, block: Position, arguments: dict[str, Any]) -> None:
        """Run one block.

        Args:
            block: Its position in the grid.
            arguments: The kernel's arguments, by parameter.

        Raises:
            KernelError: If the kernel uses what is not supported, or does not end.
        """
        self.block_index = dict(zip("xyz", block, strict=True))
        self.alive = np.ones(self.threads, np.bool_)
        self.steps, self.shared, self.local = 0, {}, {}
        everyone = Mask(self.alive.copy())
        frame = Frame(self.function, everyone, dict(arguments))
        with np.errstate(all="ignore"):
            self.execute(self.function.body, everyone, frame)

    # Statements. Each handler returns the threads that go on with the next statement.

    def execute(self, statements: list[ast.stmt], mask: Mask, frame: Frame) -> Mask:
        """Execute statements for the active threads; returns the threads that reach their end."""
        for node in statements:
            if not mask.count:
                break
            handler = getattr(self, f"_do_{type(node).__name__.lower()}", None)
            if handler is None:
                what = ast.unparse(node).splitlines()[0]
                raise self.error(frame, node, f"a kernel expected assignments, if, while, for, return and calls, got {what!r}; rewrite it")
            try:
                mask = handler(node, mask, frame)
            except KernelError:
                raise
            except Exception as error:
                message = f"the interpreter cannot run {ast.unparse(node).splitlines()[0]!r} ({type(error).__name__}: {error})"
                raise self.error(frame, node, f"{message}; write it in smaller steps, or test it on a GPU") from error
        return mask

    def _count(self, node: ast.AST, mask: Mask, frame: Frame, kind: str = "") -> None:
        """Count a statement."""
        self.steps += 1
        if self.steps > self.max_steps:
            message = f"block {tuple(self.block_index.values())} has executed {self.max_steps} statements and has not ended"
            raise self.error(frame, node, f"{message}; check the loop's condition, or raise max_steps")
        self.recorder.statement(self.line(frame, node), kind or type(node).__name__.lower(), mask)

    def _do_expr(self, node: ast.Expr, mask: Mask, frame: Frame) -> Mask:
        if not isinstance(node.value, ast.Constant):  # else a docstring
            barrier = isinstance(node.value, ast.Call) and ast.unparse(node.value.func).endswith(("syncthreads", "syncwarp"))
            self._count(node, mask, frame, "barrier" if barrier else "expr")
            self.evaluate(node.value, mask, frame)
        return mask

    def _do_pass(self, node: ast.Pass, mask: Mask, frame: Frame) -> Mask:
        return mask

    def _do_global(self, node: ast.Global | ast.Nonlocal, mask: Mask, frame: Frame) -> Mask:
        return mask  # `check_language` has seen that nothing is assigned

    _do_nonlocal = _do_global

    def _do_assert(self, node: ast.Assert, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        holds, fails = self._branch(node, node.test, mask, frame)
        if fails.count:
            thread = self.recorder.thread(fails.lanes[0])
            message = f"{ast.unparse(node)!r} does not hold in thread {thread} of block {tuple(self.block_index.values())}"
            raise self.error(frame, node, f"{message}; a GPU would go on unless the kernel is compiled with debug=True")
        return holds

    def _do_assign(self, node: ast.Assign, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        self.target = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ast.unparse(node.targets[0])
        value = self.evaluate(node.value, mask, frame)
        for target in node.targets:
            self.assign(target, value, mask, frame)
        return mask

    def _do_annassign(self, node: ast.AnnAssign, mask: Mask, frame: Frame) -> Mask:
        if node.value is not None:
            self._count(node, mask, frame)
            self.target = ast.unparse(node.target)
            self.assign(node.target, self.evaluate(node.value, mask, frame), mask, frame)
        return mask

    def _do_augassign(self, node: ast.AugAssign, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        target = node.target
        if isinstance(target, ast.Subscript):
            memory = self.evaluate(target.value, mask, frame)
            if not isinstance(memory, Memory):
                raise self.error(frame, node, f"expected an array before [, got {describe(memory)} in {ast.unparse(node)!r}")
            cells, lanes = self.locate(target, memory, self.evaluate(target.slice, mask, frame), READ, mask, frame)
            old = self.load(target, memory, cells, lanes, frame)
            value = self.operate(node, node.op, old, self.evaluate(node.value, mask, frame), mask, frame)
            self.store(target, memory, cells, lanes, value, frame)
            return mask
        if not isinstance(target, ast.Name) or target.id not in frame.variables:
            raise self.error(frame, node, f"{ast.unparse(target)} has no value here; assign it before")
        old = frame.variables[target.id]
        value = self.operate(node, node.op, old, self.evaluate(node.value, mask, frame), mask, frame)
        self.assign(target, value, mask, frame)
        return mask

    def assign(self, target: ast.expr, value: Any, mask: Mask, frame: Frame) -> None:
        """Give a variable, an element or several of them a value in the active threads."""
        if isinstance(target, ast.Name):
            old, everyone = frame.variables.get(target.id), mask.count == frame.living.count
            if everyone:
                frame.assigned.pop(target.id, None)
            elif old is None or target.id in frame.assigned:
                frame.assigned[target.id] = frame.assigned.get(target.id, False) | mask.bits
            if old is None or everyone:
                frame.variables[target.id] = value
            else:
                frame.variables[target.id] = self._select(target, mask.bits, value, old, frame)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise self.error(frame, target, f"expected {len(target.elts)} values for {ast.unparse(target)!r}, got {describe(value)}")
            for element, part in zip(target.elts, value, strict=True):
                self.assign(element, part, mask, frame)
        elif isinstance(target, ast.Subscript):
            memory = self.evaluate(target.value, mask, frame)
            if not isinstance(memory, Memory):
                raise self.error(frame, target, f"expected an array before [, got {describe(memory)} in {ast.unparse(target)!r}")
            cells, lanes = self.locate(target, memory, self.evaluate(target.slice, mask, frame), 1, mask, frame)
            self.store(target, memory, cells, lanes, value, frame)
        else:
            raise self.error(frame, target, f"expected a variable or an element left of =, got {ast.unparse(target)!r}")

    def _branch(self, node: Any, test: ast.expr, mask: Mask, frame: Frame) -> tuple[Mask, Mask]:
        """The active threads for which a condition is true, and the others."""
        return self._split(node, self.condition(test, self.evaluate(test, mask, frame), frame), mask, frame)

    def _split(self, node: ast.AST, condition: Any, mask: Mask, frame: Frame) -> tuple[Mask, Mask]:
        bits = condition if is_lanes(condition) else np.full(self.threads, condition)
        yes = mask & bits
        self.recorder.branch(self.line(frame, node), mask, yes)
        return yes, mask - yes

    def _do_if(self, node: ast.If, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        yes, no = self._branch(node, node.test, mask, frame)
        return self.execute(node.body, yes, frame) | self.execute(node.orelse, no, frame)

    def _do_while(self, node: ast.While, mask: Mask, frame: Frame) -> Mask:
        loop, done = _Loop(self.threads), Mask(np.zeros(self.threads, np.bool_))
        while mask.count:
            self._count(node, mask, frame)
            mask, out = self._branch(node, node.test, mask, frame)
            done = done | out
            mask = self._iteration(node, loop, mask, frame)
        return self.execute(node.orelse, done, frame) | loop.broken

    def _do_for(self, node: ast.For, mask: Mask, frame: Frame) -> Mask:
        loop, done = _Loop(self.threads), Mask(np.zeros(self.threads, np.bool_))
        values = self.evaluate(node.iter, mask, frame)
        if isinstance(values, LaneRange):
            counter, stop, step = (spread(value, self.threads) for value in (values.start, values.stop, values.step))
            while mask.count:
                self._count(node, mask, frame)
                mask, out = self._split(node, np.where(step > 0, counter < stop, counter > stop), mask, frame)
                done = done | out
                if mask.count:
                    self.assign(node.target, counter, mask, frame)
                    mask = self._iteration(node, loop, mask, frame)
                    counter = binary(ast.Add, counter, step)
            return self.execute(node.orelse, done, frame) | loop.broken
        if isinstance(values, tuple):
            self.check_alike(node, values, frame)
        elif not isinstance(values, range):
            raise self.error(frame, node, f"a loop expected range(…) or a tuple, got {describe(values)} in {ast.unparse(node.iter)!r}")
        for value in values:
            if not mask.count:
                break
            self._count(node, mask, frame)
            self.recorder.branch(self.line(frame, node), mask, mask)
            self.assign(node.target, value, mask, frame)
            mask = self._iteration(node, loop, mask, frame)
        return self.execute(node.orelse, mask, frame) | loop.broken

    def _iteration(self, node: ast.For | ast.While, loop: _Loop, mask: Mask, frame: Frame) -> Mask:
        """Execute the body of a loop once; returns the threads that stay in the loop."""
        frame.loops.append(loop)
        mask = self.execute(node.body, mask, frame)
        frame.loops.pop()
        mask, loop.continued = mask | loop.continued, Mask(np.zeros(self.threads, np.bool_))
        return mask

    def _do_break(self, node: ast.Break, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        frame.loops[-1].broken = frame.loops[-1].broken | mask
        return mask - mask

    def _do_continue(self, node: ast.Continue, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        frame.loops[-1].continued = frame.loops[-1].continued | mask
        return mask - mask

    def _do_return(self, node: ast.Return, mask: Mask, frame: Frame) -> Mask:
        self._count(node, mask, frame)
        value = None if node.value is None else self.evaluate(node.value, mask, frame)
        first = frame.result is None
        frame.result = value if first else self._select(node, mask.bits, value, frame.result, frame)
        frame.living = frame.living - mask
        if self.depth == 0:
            self.alive &= ~mask.bits
        return mask - mask

    def _do_raise(self, node: ast.Raise, mask: Mask, frame: Frame) -> Mask:
        thread = self.recorder.thread(mask.lanes[0])
        what = ast.unparse(node)
        message = f"thread {thread} of block {tuple(self.block_index.values())} executes {what!r}"
        raise self.error(frame, node, f"{message}; write the kernel, or remove the raise: a GPU cannot raise an exception")

    # Calls

    def call(self, node: ast.Call, mask: Mask, frame: Frame) -> Any:
        """The value of a call: of numba.cuda, of Python, math or NumPy, or of a function whose source is interpreted."""
        called = self.evaluate(node.func, mask, frame)
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments += self.evaluate(argument.value, mask, frame)
            else:
                arguments.append(self.evaluate(argument, mask, frame))
        keywords = {keyword.arg: self.evaluate(keyword.value, mask, frame) for keyword in node.keywords if keyword.arg}
        if isinstance(called, Cuda):
            return call_cuda(self, called.path, node, frame, mask, arguments, keywords)
        plain = plain_function(called)
        if plain is not None:
            return call_plain(self, plain, node, frame, arguments, keywords)
        function = find_function(called, self.function.kernel_file)
        if function is None:
            message = f"expected a Python function, math or numba.cuda, got {ast.unparse(node.func)}, {describe(called)}"
            raise self.error(frame, node, f"{message}; call it outside of the kernel")
        return self._inline(function, node, mask, frame, arguments, keywords)

    def _inline(self, function: Function, node: ast.Call, mask: Mask, frame: Frame, arguments: list, keywords: dict) -> Any:
        try:
            bound = function.signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise self.error(frame, node, f"{function.name}{function.signature} does not accept these arguments: {error}") from None
        bound.apply_defaults()
        if self.depth >= DEEPEST_CALL:
            raise self.error(frame, node, f"{function.name} calls itself without end; a kernel cannot recurse this deep")
        inner, target, step = Frame(function, mask, dict(bound.arguments)), self.target, self.recorder.step
        self.depth += 1
        self.execute(function.body, mask, inner)
        self.depth -= 1
        self.target, self.recorder.step = target, step
        return inner.result


def blocks(grid: Position) -> Iterator[Position]:
    """The positions of all blocks, x fastest."""
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                yield x, y, z
