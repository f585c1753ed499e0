"""Stage 5 - Recordings: one recorded call of a function, and how it is replayed with other arguments."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autodiff import LEAF
from minitorch.compiler.fused import FusedProgram, fuse
from minitorch.compiler.guards import Guards
from minitorch.compiler.nesting import Place, copy_numbers, fill_places, layout_of, map_tensors, same_layout, storage_of
from minitorch.compiler.passes import PASSES
from minitorch.compiler.planner import Plan, plan_memory
from minitorch.compiler.program import Call, bind, run
from minitorch.compiler.recorder import NotRecordable, Recorder
from minitorch.compiler.replay import Replay
from minitorch.compiler.rewriting import is_whole
from minitorch.compiler.snapshot import Snapshot, difference
from minitorch.compiler.trace import EXTERNAL, INPUT, Buffer, Node, Trace, View
from minitorch.core.context import grad_mode
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor import Tensor
from minitorch.tensor_data import TensorData, version_counter

FUSED_TOLERANCE = {"float64": 1e-12, "float32": 1e-4}
"""The largest difference between a fused program and its launches, relative to the largest number of a result."""


class Recording:
    """A recorded call.

    Attributes:
        trace: The program as it was recorded.
        nodes: The program after all passes.
        plan: The memory of its temporary buffers.
        guards: What it took for granted.
        before: What the call might have changed, as it was.
        replays: How often it has run since.
        program: The fused program, once it is in use.
    """

    trace: Trace
    plan: Plan
    nodes: list[Node]

    def __init__(self, fn: Callable[..., Any], args: Any, name: str) -> None:
        self.fn, self.name = fn, name
        self.guards = Guards(fn)
        self.before = Snapshot(self.guards)
        self.recorder = Recorder()
        self.lock = threading.Lock()
        self.replays = 0
        self.program: FusedProgram | None = None
        self._token: Any = None
        self._fusing = threading.Lock()
        self._ready: Any = None  # the fused program, once it is compiled
        self._static: list[Tensor] = []
        self._arguments = map_tensors(args, self._make_static)
        positional = not args[1] and all(isinstance(x, TensorBase) for x in args[0])
        self._layouts = [layout_of(x) for x in args[0]] if positional else None
        paths = self.guards.tensors
        for x, path in paths.items():
            self.recorder.register(storage_of(x), path, EXTERNAL)
        self._entry_grads = [(x, self._static_grad(x)) for x in paths if x.grad is not None]

    # Recording

    def record(self) -> Any:
        """Run the function once on the program's own arguments and keep the program; returns the result.

        Raises:
            NotRecordable: If a replay could not repeat what the function does.
        """
        attributes = _tensor_attributes(self.guards)
        for x, static in self._entry_grads:
            x.grad = static
        with self.recorder.listening():
            result = self.fn(*self._arguments[0], **self._arguments[1])
            self._output = _live_output(result)
            self._recorded_boundary = len(self.recorder.nodes)
            self.wanted, gradients = self._record_backward() if self._output is not None else ([], [])
        self._check_python(attributes)
        leaves = [*self.guards.tensors, *self._static]
        self._grads = [(x, None if x.grad is None else self.recorder.view(x.grad._tensor)) for x in leaves if x.history is LEAF]
        outputs: list[Tensor] = []
        self._result = map_tensors(result, lambda x: self._keep(x, outputs))
        self._outputs = [(self.recorder.view(x._tensor), x.backend) for x in outputs]
        self._gradients = [None if g is None else (self.recorder.view(g._tensor), g.backend) for g in gradients]
        kept = [view for view, _ in self._outputs] + [pair[0] for pair in self._gradients if pair]
        kept += [view for _, view in self._grads if view] + [view for _, _, view, _ in self._attributes]
        self.trace = Trace(self.name, self.recorder.nodes, [self.recorder.view(x._tensor) for x in self._static], kept)
        for number, x in enumerate(self._static):
            self.recorder.register(storage_of(x), f"input{number}", INPUT)
        if self._output is None:
            for x in self.guards.watch_state():
                self.recorder.adopt(storage_of(x), self.guards.tensors[x])
            self.trace.nodes[:] = self.recorder.nodes
        own = {id(x): number for number, x in enumerate(self._static)}
        self._cleared = [x for x, view in self._grads if view is None and id(x) not in own]
        self._graded = [(x, own.get(id(x)), view) for x, view in self._grads if view is not None]
        self._whole = {view.buffer for view in kept if is_whole(view)}
        written = {buffer for node in self.trace.nodes for buffer in node.buffers() if node.out is None or node.out.buffer is buffer}
        self._versions = [x._tensor._version for x in self.guards.tensors if self.recorder.view(x._tensor).buffer in written]
        return result

    def prepare(self) -> None:
        """Shorten the program, plan its memory and bind the launches."""
        self.kept = {view.buffer for view in self.trace.outputs}
        (_, self.nodes, self.boundary), *_ = self.stages()[::-1]
        self.plan = plan_memory([node.buffers() for node in self.nodes], self.kept)
        _, arrays = self.plan.allocate()
        self.use(arrays, bind(self.nodes[: self.boundary], arrays), bind(self.nodes[self.boundary :], arrays))

    def fuse(self) -> None:
        """Compile the fused program, or load it from disk; the next replay uses it. May run in another thread."""
        with self._fusing:
            if self._ready is None and self.program is None:
                program = fuse(self.nodes, self.kept, self.boundary)
                if program.sources():
                    self._ready = program, program.compile()

    def fuse_if_possible(self) -> None:
        """`fuse`, with a warning instead of an error: the launches go on."""
        try:
            self.fuse()
        except Exception as error:  # of the compiler, whatever it is
            text = f"{self.name} could not be fused, its kernels are launched one by one: {type(error).__name__}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def source(self) -> str:
        """The source of the fused program; "" if there is none."""
        program = self._ready[0] if self._ready else self.program
        return "" if program is None else "\n".join(program.sources())

    def _switch(self, tensors: Sequence[Tensor]) -> None:
        """Replay with the fused program from now on, if it computes what the launches do, up to rounding."""
        program, calls = self._ready
        self._ready = None
        before = Snapshot(self.guards)
        old = {buffer: buffer.array for buffer in program.plan.positions}, self.forward_calls, self.backward_calls
        expected, after = self._try(tensors)
        before.restore()
        self.use(*calls)
        got, after_fused = self._try(tensors)
        before.restore()
        wrong = difference(got, expected, FUSED_TOLERANCE) or after_fused.difference(after, self.guards, FUSED_TOLERANCE)
        if wrong:
            self.use(*old)
            text = f"the fused program of {self.name} differs in {wrong}; its kernels are launched one by one instead"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        else:
            self.program, self.plan = program, program.plan

    def _try(self, tensors: Sequence[Tensor]) -> tuple[list[np.ndarray], Snapshot]:
        """Run the program; returns its results, with those of a backward pass from ones, and what it changed."""
        self._copy_in(tensors)
        run(self.forward_calls)
        results = [self._data(view).array().copy() for view, _ in self._outputs]
        if self.has_gradients:
            self._seed._tensor.array()[...] = 1.0
            run(self.backward_calls)
            results += [self._data(pair[0]).array().copy() for pair in self._gradients if pair is not None]
        results += [self._data(view).array().copy() for _, _, view in self._graded]
        return results, Snapshot(self.guards)

    def stages(self) -> list[tuple[str, list[Node], int]]:
        """The program as it was recorded and after each pass: title, nodes, and number of the first node of the backward pass.

        A program whose result has gradients is two programs: the second begins with the backward pass, and nothing moves between them.
        """
        split = self._recorded_boundary if self.has_gradients else len(self.trace.nodes)
        forward, backward = self.trace.nodes[:split], self.trace.nodes[split:]
        crossing = {buffer for node in backward for buffer in node.buffers()}
        found = [("recorded", self.trace.nodes, split)]
        for each in PASSES:
            forward, backward = each(forward, self.kept | crossing), each(backward, self.kept)
            found.append((each.__name__, forward + backward, len(forward)))
        return found

    def use(self, arrays: dict[Buffer, np.ndarray], forward: list[Call], backward: list[Call]) -> None:
        """Replay with these calls, which work on these arrays; the arrays used before are released."""
        for buffer, array in arrays.items():
            buffer.array = array
        self.forward_calls, self.backward_calls = forward, backward

    def _make_static(self, x: Tensor) -> Tensor:
        """A tensor of the program in the place of an argument, with the same layout."""
        data = x._tensor
        if x._hooks:
            raise NotRecordable("an argument has a hook, which is Python; remove it, or leave the function uncompiled")
        made = x.zeros() if x.is_contiguous() or x.backend.cuda else x._like(same_layout(data))
        made[...] = x.detach()
        self._static.append(made)
        self.recorder.register(storage_of(made), f"input{len(self._static) - 1}", INPUT)
        if x.history is not None:
            made.requires_grad_(True)
        return made

    def _static_grad(self, x: Any) -> Tensor:
        """A tensor of the program in the place of a gradient that was there before the call."""
        made = x.grad.detach().clone()
        self.recorder.register(storage_of(made), f"{self.guards.tensors[x]}.grad", INPUT)
        return made

    def _record_backward(self) -> tuple[list[Tensor], list[Tensor | None]]:
        """Record the backward pass of the output; returns the leaves and their gradients."""
        output: Any = self._output
        leaves = [x for x in (*self._static, *self.guards.tensors) if x.history is LEAF]
        self._seed = output.zeros() + 1.0
        self.recorder.register(storage_of(self._seed), "grad_output", INPUT)
        before = [x.grad for x in leaves]
        for x in leaves:
            x.grad = None
        output.backward(self._seed)
        gradients = [x.grad for x in leaves]
        for x, grad in zip(leaves, before, strict=True):
            x.grad = grad
        return leaves, gradients

    def _keep(self, x: Tensor, outputs: list[Tensor]) -> Place:
        outputs.append(x)
        return Place(len(outputs) - 1)

    def _check_python(self, before: dict[tuple[int, str], tuple[Any, str, Any]]) -> None:
        """Check that the function changed nothing that a replay would not change.

        Raises:
            NotRecordable: If it did.
        """
        self._attributes: list[tuple[Any, str, View, Any]] = []
        after = _tensor_attributes(self.guards)
        for key, (module, name, x) in after.items():
            if x is not before.get(key, (None, "", None))[2]:
                self._attributes.append((module, name, self.recorder.view(x._tensor), x.backend))
                self.guards.forget(vars(module), name)
        changed = self.guards.failed()
        if changed:
            raise NotRecordable(f"the function changes {changed}, which a replay would not repeat; do it outside of the compiled function")

    # Replaying

    def fits(self) -> str:
        """What a guard found different, in words; "" if the recording can be replayed."""
        return "" if self.guards.hold() else self.guards.failed()

    def take(self, args: tuple[Any, ...]) -> bool:
        """Take the lock if this recording fits positional arguments that are all tensors, and is free; else leave it to a search."""
        if self._layouts is None or len(args) != len(self._layouts):
            return False
        for x, (shape, strides, dtype, is_constant, backend) in zip(args, self._layouts, strict=True):
            data = x._tensor if isinstance(x, TensorBase) else None
            if data is None or data.shape != shape or data.strides != strides or data.dtype is not dtype:
                return False
            if x.backend is not backend or (x.history is None) is not is_constant:
                return False
        waiting = self._token is not None and self._token() is not None
        return not waiting and self.guards.hold() and self.lock.acquire(blocking=False)

    def is_busy(self) -> bool:
        """Whether a result of the last replay still waits for its backward pass, or another thread replays."""
        return self.lock.locked() or (self._token is not None and self._token() is not None)

    @property
    def has_gradients(self) -> bool:
        """Whether the result has gradients, so that the backward pass is a program of its own."""
        return self._output is not None

    def hand_over(self, tensors: list[Tensor]) -> None:
        """Give the gradients of the recorded call to the caller's own tensors."""
        for static, x in zip(self._static, tensors, strict=True):
            if static.grad is not None:
                x.grad = static.grad.clone() if x.grad is None else x.grad + static.grad
        for x, view in self._grads:
            if view is not None and x in self.guards.tensors:
                x.grad = x.grad.clone()  # type: ignore[union-attr] - the view is that of its gradient

    def replay(self, tensors: Sequence[Tensor]) -> Any:
        """Run the program with other arguments.

        Args:
            tensors: The tensors among them, in the order of the recorded call.

        Returns:
            What the function would return.
        """
        if self._ready is not None:
            self._switch(tensors)
        if self._output is not None:
            return self._replay_with_gradients(tensors)
        self._copy_in(tensors)
        run(self.forward_calls)
        self._finish(tensors)
        return self._results(None)

    def _copy_in(self, tensors: Sequence[Tensor]) -> None:
        """Copy the arguments, and gradients that were there before the call."""
        for static, x in zip(self._static, tensors, strict=True):
            copy_numbers(static, x)
        for x, static in self._entry_grads:
            copy_numbers(static, x.grad)

    def _finish(self, tensors: Sequence[Tensor]) -> None:
        """Leave the gradients, versions and attributes as the function would."""
        self.replays += 1
        for x in self._cleared:
            x.grad = None
        for x, number, view in self._graded:
            leaf: Any = x if number is None else tensors[number]
            leaf.grad = self._copy_out(view, x.backend)
        if self._versions:
            tick = next(version_counter)
            for version in self._versions:
                version[0] += 1
                version[1] = tick
        for module, name, view, backend in self._attributes:
            setattr(module, name, self._copy_out(view, backend))

    def _copy_out(self, view: View, backend: Any) -> Tensor:
        """A new tensor with the numbers of a buffer."""
        array = view.buffer.array
        if type(array) is np.ndarray and view.buffer in self._whole:  # without the path through the backend, which takes longer
            data = TensorData.empty(view.shape, array.dtype)
            data._storage[:] = array if data.size == array.size else array[view.offset : view.offset + data.size]
            return Tensor(data, None, None, backend)
        return Tensor(self._data(view), backend=backend).clone()

    def _data(self, view: View) -> TensorData:
        array = view.buffer.array
        if isinstance(array, TensorData):
            return array.as_view(view.shape, view.strides, view.offset)
        return TensorData(array.reshape(-1), view.shape, view.strides, view.offset)

    def _results(self, output: Tensor | None) -> Any:
        """The function's result; `output` in the place of the one with gradients."""
        made = [self._copy_out(view, backend) for view, backend in self._outputs] if output is None else [output]
        return fill_places(self._result, made)

    def _replay_with_gradients(self, tensors: Sequence[Tensor]) -> Any:
        own = dict(zip(map(id, self._static), tensors, strict=True))
        leaves = [own.get(id(x), x) for x in self.wanted]
        output = Replay.apply(self, tensors, *leaves)
        return self._results(output)


def _live_output(result: Any) -> Any:
    """The tensor of a result whose backward pass has not run; None if there is none.

    Raises:
        NotRecordable: If there are several.
    """
    found: list[Any] = []
    map_tensors(result, lambda x: found.append(x) if _is_live(x) and all(x is not y for y in found) else None)
    if len(found) > 1:
        raise NotRecordable("several results with gradients cannot be recorded; return one of them, and the others detached: y.detach()")
    return found[0] if found else None


def _is_live(x: Any) -> bool:
    """Whether a tensor was computed with gradients and its graph is not freed."""
    return grad_mode.enabled and x.history is not None and x.history.last_fn is not None and x.history.ctx is not None


def _tensor_attributes(guards: Guards) -> dict[tuple[int, str], tuple[Any, str, Any]]:
    """The attributes of modules that are tensors, by module and name."""
    return {
        (id(module), name): (module, name, value)
        for module in guards.modules
        for name, value in vars(module).items()
        if isinstance(value, TensorBase)
    }
