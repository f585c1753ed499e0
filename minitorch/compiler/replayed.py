"""Stage 5 - Replayed programs: a recorded program with its memory, called with other arguments and compiled in the background."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch.autodiff import LEAF
from minitorch.compiler.comparison import Unseen
from minitorch.compiler.fused import FusedProgram, fuse
from minitorch.compiler.guard_check import FunctionWriter
from minitorch.compiler.guards import DIFFERS, Guards
from minitorch.compiler.nesting import COMPUTED, copy_numbers, fill_places, storage_of
from minitorch.compiler.passes import PASSES
from minitorch.compiler.planner import Plan, plan_memory, update_early
from minitorch.compiler.program import Call, bind, run
from minitorch.compiler.recorder import base_of, key_of
from minitorch.compiler.replay import Replay
from minitorch.compiler.snapshot import FUSED_TOLERANCE, Snapshot, difference
from minitorch.compiler.trace import Buffer, Node, Trace, View, layout_only
from minitorch.tensor import Tensor
from minitorch.tensor_data import LARGE, TensorData, version_counter


def memory_of(x: Tensor) -> int:
    """What tells the memory of a tensor from others': tensors that share it have the same."""
    return key_of(base_of(storage_of(x)))


class ReplayedProgram:
    """What a recording becomes; `recording.Recording` fills it.

    Attributes:
        name: Name of the recorded function.
        trace: The program as it was recorded.
        nodes: The program after all passes.
        kept: The buffers whose numbers are needed at the end.
        boundary: Number of the first node of the backward pass, if the result has gradients.
        plan: The memory of its temporary buffers.
        guards: What it takes for granted.
        replays: How often it has run.
        program: The fused program, once it is in use.
        unseen: What has not changed since it was recorded.
        wanted: The leaves whose gradients the backward pass computes.
    """

    name: str
    trace: Trace
    nodes: list[Node]
    kept: set[Buffer]
    boundary: int
    plan: Plan
    guards: Guards
    replays: int
    program: FusedProgram | None
    unseen: Unseen
    wanted: list[Tensor]
    forward_calls: list[Call]
    backward_calls: list[Call]
    _static: list[Tensor]  # the arguments of the program
    _all_layouts: list[tuple[Any, ...]]  # of the arguments
    _layouts: list[tuple[Any, ...]] | None  # of positional arguments that are all tensors
    _takes: Callable[..., bool] | None  # whether such arguments fit; written at the first call
    _known: dict[int, Buffer]  # the buffers of what the function refers to itself, by the identity of the array
    _entry_grads: list[tuple[Any, Tensor]]  # gradients that were there before the call, and their copies
    _argument_grads: list[tuple[int, Tensor]]
    _cleared: list[Any]  # leaves without a gradient at the end
    _cleared_arguments: list[int]
    _graded: list[tuple[Any, int | None, View]]  # leaves with one: the tensor, the number of the argument, where the gradient lies
    _versions: list[list[int]]
    _attributes: list[tuple[Any, str, View, Any]]  # tensors that the function keeps in modules
    _outputs: list[tuple[View, Any]]
    _gradients: list[tuple[View, Any] | None]
    _whole: set[Buffer]
    _result: Any
    _is_tuple: bool  # whether the result is a tuple of new tensors
    _output: Any
    _seed: Any
    _token: Any
    _others: list[Tensor]  # new tensors of a call that `Replay` is computing, without the first
    _step: Any  # what `_write_step` writes
    _copy_in: Any
    _new_gradients: Any
    _ready: Any
    _recorded_boundary: int

    def after_fork(self) -> None:
        """Make new locks."""
        self.lock, self._fusing = threading.Lock(), threading.Lock()

    def prepare(self) -> None:
        """Shorten the program, plan its memory and bind the launches."""
        self.kept = {view.buffer for view in self.trace.outputs}
        _, nodes, self.boundary = self.stages()[-1]
        self.nodes = update_early(nodes[: self.boundary]) + update_early(nodes[self.boundary :])
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
        old = {buffer: buffer.array for buffer in self.kept}, self.forward_calls, self.backward_calls
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
        self._write_step()
        self._copy_in(*tensors)
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
            buffer.array = array if buffer in self.kept else layout_only(array)
        self.forward_calls, self.backward_calls, self._step = forward, backward, None

    def shares_memory(self, tensors: Sequence[Tensor]) -> bool:
        """Whether an argument shares memory with a tensor that the function refers to itself."""
        return any(memory_of(x) in self._known for x in tensors)

    def fits(self, tensors: Sequence[Tensor]) -> str:
        """What differs now, in words; "" if the recording can be replayed with these arguments of the recorded layout."""
        if self._is_needed():
            return "that a result of the call before still waits for its backward pass (call backward, or compute it in no_grad())"
        if self.shares_memory(tensors):
            return "an argument, which shares memory with a tensor that the function refers to itself"
        return "" if self.guards.hold() else self.guards.failed()

    def take(self, args: tuple[Any, ...]) -> bool:
        """Take the lock if this recording fits positional arguments that are all tensors, and is free; else leave it to a search."""
        if self._layouts is None or (self._token is not None and self._is_needed()):
            return False
        if self._takes is None:
            self._takes = self._write_check(self._layouts)
        try:
            return self._takes(*args) and self.lock.acquire(False)
        except DIFFERS:
            return False

    def _write_check(self, layouts: list[tuple[Any, ...]]) -> Callable[..., bool]:
        """Whether arguments have these layouts and share no memory with what the function refers to, and all guards, as one expression."""
        writer = FunctionWriter()
        writer.add("not more")
        names = [f"x{number}" for number in range(len(layouts))]
        for x, (shape, strides, dtype, kind, backend, is_ungraded) in zip(names, layouts, strict=True):
            writer.add(f"type({x}) is {{}} and {x}.backend is {{}} and not {x}._hooks", Tensor, backend)
            writer.add(f"{x}._tensor.shape == {{}} and {x}._tensor.strides == {{}} and {x}._tensor.dtype is {{}}", shape, strides, dtype)
            writer.add(f"({x}.grad is None) is {{}}", is_ungraded)
            is_kind = f"{x}.history is not None and {x}.history is not {{}}" if kind is COMPUTED else f"{x}.history is {{}}"
            writer.add(is_kind, LEAF if kind is COMPUTED else kind)
            if backend.cuda:
                writer.add(f"not {{}}(({x},))", self.shares_memory)
            else:
                array, base = f"{x}._tensor._storage", f"{x}._tensor._storage.base"
                view = f"id({base}) if type({base}) is {{}} and {base}.base is None else {{}}({x})"  # most often of an array itself
                writer.add(f"(id({array}) if {base} is None else {view}) not in {{}}", np.ndarray, memory_of, self._known)
        for number, x in enumerate(names):
            for other in names[:number]:
                writer.add(f"{x} is not {other}")
        self.guards.write_check(writer)
        return writer.check(", ".join([f"{x}=None" for x in names] + ["*more"]))  # a missing or further argument does not fit

    def _is_needed(self) -> bool:
        """Whether a result of the last replay still waits for its backward pass, so that the buffers are needed."""
        return self._token is not None and self._token() is not None

    @property
    def has_gradients(self) -> bool:
        """Whether the result has gradients, so that the backward pass is a program of its own."""
        return self._output is not None

    def replay(self, tensors: Sequence[Tensor]) -> Any:
        """Run the program with other arguments.

        Args:
            tensors: The tensors among them, in the order of the recorded call.

        Returns:
            What the function would return.
        """
        if self._ready is not None:
            self._switch(tensors)
        if not self._step:
            self._write_step()
        made = self._step(*tensors) if self._output is None else self._replay_with_gradients(tensors)
        self.replays += 1
        return made if self._is_tuple else fill_places(self._result, made, tensors)

    def _write_step(self) -> None:
        """Write what a replay does as functions.

        `_step` takes the arguments and returns the new tensors, `_copy_in` is its part before the calls, and `_new_gradients` returns the
        gradients of the backward pass.
        """
        writer, names = FunctionWriter(), [f"x{number}" for number in range(len(self._static))]
        arguments = ", ".join(names)
        self._write_copies_in(writer, names)
        self._copy_in = writer.function(arguments)
        writer.add("for fn, args in {}: fn(*args)", self.forward_calls)
        self._write_effects(writer, names)
        writer.add(f"return ({''.join(f'{self._copy_out(writer, *pair)}, ' for pair in self._outputs)})")
        self._step = writer.function(arguments)
        writer = FunctionWriter()
        writer.add(f"return ({''.join(f'{pair and self._copy_out(writer, *pair)}, ' for pair in self._gradients)})")
        self._new_gradients = writer.function()

    def _write_copies_in(self, writer: FunctionWriter, names: list[str]) -> None:
        """Copy the arguments, and gradients that were there before the call."""
        for x, static, (_, strides, *_) in zip(names, self._static, self._all_layouts, strict=True):
            data = static._tensor
            if not static.backend.cuda and data.strides == strides and len(data._storage) == data.size:
                writer.add(f"if len({x}._tensor._storage) == {data.size}: {{}}[:] = {x}._tensor._storage", data._storage)
                writer.add(f"else: {{}}({{}}, {x})", copy_numbers, static)
            else:
                writer.add(f"{{}}({{}}, {x})", copy_numbers, static)
        for x, static in self._entry_grads:
            writer.add("{}({}, {}.grad)", copy_numbers, static, x)
        for number, static in self._argument_grads:
            writer.add(f"{{}}({{}}, {names[number]}.grad)", copy_numbers, static)

    def _write_effects(self, writer: FunctionWriter, names: list[str]) -> None:
        """Leave the gradients, versions and attributes as the function would."""
        for x in [*map(writer.name, self._cleared), *(names[number] for number in self._cleared_arguments)]:
            writer.add(f"{x}.grad = None")
        for x, number, view in self._graded:
            leaf = writer.name(x) if number is None else names[number]
            writer.add(f"{leaf}.grad = {self._copy_out(writer, view, x)}")
        if self._versions:
            writer.add("tick = {}()", version_counter.__next__)
        for version in map(writer.name, self._versions):
            writer.add(f"{version}[0] += 1; {version}[1] = tick")
        for module, name, view, kind in self._attributes:
            writer.add(f"{{}}({{}}, {{}}, {self._copy_out(writer, view, kind)})", setattr, module, name)

    def _copy_out(self, writer: FunctionWriter, view: View, kind: Tensor) -> str:
        """An expression for a new tensor with the numbers of a buffer; for its kind see `blank`."""
        data = self._data(view)
        if type(data) is TensorData and view.buffer in self._whole:  # without the path through the backend, which takes longer
            whole = TensorData(data._storage[view.offset : view.offset + data.size], view.shape)
            return f"{writer.name(copy_whole)}({writer.name(whole)}, {writer.name(kind)})"
        return f"{writer.name(kind._like)}({writer.name(data)}).clone()"

    def _data(self, view: View) -> TensorData:
        array = view.buffer.array
        if isinstance(array, TensorData):
            return array.as_view(view.shape, view.strides, view.offset)
        return TensorData(array.reshape(-1), view.shape, view.strides, view.offset)

    def _replay_with_gradients(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The new tensors; autograd knows how the first was computed."""
        own = dict(zip(map(id, self._static), tensors, strict=True))
        leaves = [own.get(id(x), x) for x in self.wanted]
        output = Replay.apply(self, tensors, *leaves)
        others, self._others = self._others, []
        return output, *others


def copy_whole(data: TensorData, kind: Tensor) -> Tensor:
    """A new tensor with the numbers of contiguous data, which are all of its storage."""
    if data.size < LARGE:
        made = data.as_view(data.shape, data.strides, 0)
        made._storage, made._version = data._storage.copy(), [0, 0]
    else:
        made = TensorData.empty(data.shape, data.dtype)
        made._storage[:] = data._storage
    return kind._like(made)
