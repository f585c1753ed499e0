"""Stage 5 - The recorder: runs a function once as usual, and notes every kernel that is launched meanwhile."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitorch.compiler.program import map_leaves
from minitorch.compiler.trace import CONSTANT, EXTERNAL, INPUT, TEMPORARY, Buffer, Launch, Node, Slice, View, layout_only
from minitorch.core.recording import active, copy, fill
from minitorch.tensor_data import MAX_DIMS, TensorData

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Where the library lies."""

STDLIB = os.path.dirname(os.__file__) + os.sep
"""Where Python's own modules lie."""


class NotRecordable(RuntimeError):
    """A function does something that a replay could not repeat."""


class Recorder:
    """Notes the kernels that this thread launches.

    It keeps no temporary array alive, but for those that a replay needs: a recorded run takes as much memory as any other.

    Attributes:
        nodes: The operations so far.
        buffers: The buffers so far whose arrays are alive, by the identity of the array.
        cleared: The tensors whose gradients the function cleared, with what these were the first time.
        refused: Why the program cannot be replayed, even if the function caught the error that said so; "" if it can.
        owned: Objects used by Python code that a replay runs again, such as an optimizer's state, by identity.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.buffers: dict[int, Buffer] = {}
        self.cleared: dict[Any, Any] = {}
        self._count = 0  # of all buffers
        self._versions: dict[int, tuple[Any, int]] = {}  # of what operations wrote: the version and its number of writes
        self.refused = ""
        self.owned: dict[int, Any] = {}
        self._current: Node | None = None
        self._silent = 0  # above 0 within a call that is recorded as a whole

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record what happens in the block."""
        active.recorder = self
        try:
            yield
        finally:
            active.recorder = None

    def elsewhere(self) -> bool:
        """Whether a call that is recorded as a whole is running."""
        return self._silent > 0

    def is_idle(self) -> bool:
        """Whether an operation begins that is to be recorded, and that is not a part of another one."""
        return self._current is None and not self.elsewhere()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Record nothing in the block."""
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1

    # What kernels report; see `core.recording`

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run fn(*args) and record it, as a part of the current operation if there is one."""
        if self.elsewhere():
            return fn(*args)
        tables = self._possible_tables(args)
        with self.paused():
            result = fn(*args)
        kept = {id(table) for table, before in tables if np.array_equal(table, before)}
        self._add(Launch(fn, tuple([arg if id(arg) in kept else self.slices((arg,))[0] for arg in args])))
        return result

    def _possible_tables(self, args: tuple[Any, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Arrays that may be shapes and strides, each with a copy: a textbook kernel gets these as arrays, which it only reads.

        They are small, new and of integers; the first array is what a kernel writes.
        """
        arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
        return [
            (arg, arg.copy())
            for arg in arrays[1:]
            if arg.dtype == np.int32 and arg.ndim == 1 and arg.base is None and arg.size <= MAX_DIMS and key_of(arg) not in self.buffers
        ]

    def call_with(self, fn: Callable[..., Any], arrays: tuple[Any, ...], rest: Callable[[], tuple[Any, ...]]) -> Any:
        """Run fn(*arrays, *rest()) and record it; a replay computes rest() anew."""
        if self.elsewhere():
            return fn(*arrays, *rest())
        example = rest()
        launch = Launch(fn, self.slices(arrays), rest, example)
        with self.paused():
            result = fn(*arrays, *example)
        self._add(launch)
        return result

    def call_python(self, fn: Callable[..., Any], tensors: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        """Run fn(*tensors, *args) and record that a replay does so again; its own launches are not recorded."""
        if self.elsewhere():
            return fn(*tensors, *args)
        self.owned.update((id(arg), arg) for arg in args)
        views = tuple([self.view(x._tensor, EXTERNAL) for x in tensors])
        for x in tensors:
            self._pin(x._tensor)
        target, *others = tensors

        def run(*_: Any) -> Any:
            return fn(target, *[x.clone() for x in others], *args)  # the function may keep them, and the next replay overwrites them

        run.__name__ = getattr(fn, "__qualname__", "python")
        launch = Launch(run, ())
        with self.paused():
            result = run()
        self._add(launch, views)
        return result

    def assign(self, fn: Callable[..., Any], target: TensorData, args: tuple[Any, ...], inputs: tuple[TensorData, ...]) -> None:
        """Run fn(*args), which writes into elements of the target, and record it. A write to a GPU's numbers is not recorded."""
        if self.elsewhere() or not isinstance(host_storage(target), np.ndarray):
            return fn(*args)
        for data in inputs:
            self._input(data)
        view = self._input(target)
        if view.buffer.role == CONSTANT:
            self._renew(view.buffer)
        self.call(fn, args)
        self._versions[id(target._version)] = target._version, target._version[0] + 1
        return None

    def _renew(self, constant: Buffer) -> None:
        """Begin a replay with the numbers that a constant has now, because the program is about to change them."""
        array = constant.array
        whole = Slice(constant, 0, array.shape, array.strides, array.dtype)
        self.nodes.insert(0, Node("kernel", copy.__name__, launches=[Launch(copy, (whole, array.copy()))]))
        constant.role, constant.pinned = TEMPORARY, True

    def _add(self, launch: Launch, inputs: tuple[View, ...] = ()) -> None:
        """Add a launch to the current operation, or as a node of its own."""
        if self._current is not None:
            self._current.launches.append(launch)
            return
        self._append(Node("kernel", kernel_name(launch), inputs=inputs, launches=[launch]))

    def _append(self, node: Node) -> None:
        node.phase, node.line = caller()
        self.nodes.append(node)

    def operation(
        self,
        kind: str,
        fn: Any,
        run: Callable[[], Any],
        out: TensorData | None,
        inputs: Sequence[TensorData],
        replay: Callable[[], Any] | None = None,
        **attrs: Any,
    ) -> Any:
        """Run an operation of a backend and record it as one node.

        Args:
            kind: See `Node`.
            fn: The function on numbers, or None.
            run: Computes out, or returns the tensor that it made.
            out: Where the result is written; None for what run returns.
            inputs: What is read.
            replay: Computes out again, where `run` launches no kernel that is recorded; `run` if left out.
            attrs: See `Node`.

        Returns:
            What run returned.
        """
        if not self.is_idle():
            return run()
        if out is not None and out._version[0] > (writes := self._versions.get(id(out._version), (None, 0))[1]):
            self._versions[id(out._version)] = out._version, writes + 1  # this operation's own write, counted before it runs
        views = tuple([self._input(data) for data in inputs])
        node = Node(kind, getattr(fn, "__name__", kind), fn, None, views, attrs)
        self._current = node
        try:
            result = run()
        finally:
            self._current = None
        written = result._tensor if out is None else out
        node.out = self.view(written)
        if views and all(is_fixed(view.buffer) for view in views):
            self.hold(written)  # see `passes.fold_constants`
        self._versions[id(written._version)] = written._version, written._version[0]
        if all(launch.fn is fill for launch in node.launches):  # the rest, in plain Python, was not launched through `call`
            node.launches = [Launch(replay or run, ())]
            for data in (written, *inputs):
                self._pin(data)
        self._append(node)
        return result

    def _input(self, data: TensorData) -> View:
        """The view of what an operation reads.

        Raises:
            NotRecordable: If it is no part of the program: a replay would read it again, although the function may find another one.
                If Python wrote into it.
        """
        storage = host_storage(data)  # what was made from a number for a GPU is not known, but never changes
        if isinstance(storage, np.ndarray) and storage.size and key_of(base_of(storage)) not in self.buffers:
            self.refuse(f"a tensor of shape {data.shape}, which is no argument and not found from the function's variables,")
        view = self.view(data, EXTERNAL)
        if self.is_assigned(view, data):
            self.refuse("an assignment to elements of a tensor")
        return view

    def is_assigned(self, view: View, data: TensorData) -> bool:
        """Whether Python wrote into a result of the program, as by y[0] = 1, which no operation did."""
        _, writes = self._versions.get(id(data._version), (None, 0))
        return view.buffer.role == TEMPORARY and data._version[0] > writes

    def product(self, multiply: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """The matrix product of two tensors, recorded."""
        made: list[Any] = []

        def run() -> Any:
            made.append(multiply(a, b))
            return made[0]

        def replay() -> None:
            a.backend.id_map(multiply(a, b), made[0])

        return self.operation("matmul", None, run, None, (a._tensor, b._tensor), replay)

    def constant(self, array: Any) -> None:
        """Register an array that was made from plain values; a known array stays what it is."""
        if not self.elsewhere() and isinstance(array, np.ndarray) and array.size:
            base = base_of(array)
            if key_of(base) not in self.buffers:
                self._new(base, CONSTANT)

    def refuse(self, what: str) -> None:
        """Raise NotRecordable for something that Python reads from a tensor.

        Raises:
            NotRecordable: Unless a replay does it again.
        """
        if self.elsewhere():
            return
        _, line = caller()
        self.refused = f"{what} cannot be recorded{f', at {line}' if line else ''}; do it outside of the compiled function"
        raise NotRecordable(self.refused)

    # Buffers

    def register(self, array: Any, name: str, role: str) -> Buffer:
        """Register the storage of an argument, a parameter or another object that the function refers to."""
        base = base_of(array)
        found = self.buffers.get(key_of(base))
        if found is None:
            found = self._new(base, role)
            found.name = name
        return found

    def adopt(self, array: Any, name: str) -> None:
        """Register a storage that outlives the call in which it was made: an optimizer's state. It is not filled with zeros again."""
        buffer = self.register(array, name, EXTERNAL)
        if buffer.role == TEMPORARY:
            buffer.name, buffer.array, buffer.role, buffer.pinned = name, base_of(array), EXTERNAL, True
            self.nodes = [node for node in self.nodes if node.name != fill.__name__ or node.buffers() != [buffer]]

    def _new(self, base: Any, role: str) -> Buffer:
        number, self._count = self._count, self._count + 1
        buffer = Buffer(f"c{number}" if role == CONSTANT else f"t{number}", base, role, pinned=role in (EXTERNAL, CONSTANT, INPUT))
        self.buffers[key_of(base)] = buffer
        if role == TEMPORARY and isinstance(base, np.ndarray):
            buffer.array = layout_only(base)
            weakref.finalize(base, self.buffers.pop, id(base), None)  # another array may get its identity
        return buffer

    def hold(self, data: TensorData) -> View:
        """The layout of a tensor's data over its buffer, which keeps its numbers from now on."""
        view = self.view(data)
        view.buffer.array = base_of(host_storage(data))
        return view

    def _pin(self, data: TensorData) -> None:
        """Let the program use the very array of a tensor's data."""
        self.hold(data).buffer.pinned = True

    def view(self, data: TensorData, role: str = TEMPORARY) -> View:
        """The layout of a tensor's data over its buffer, which gets this role if it is new."""
        storage = host_storage(data)
        base = base_of(storage)
        buffer = self.buffers.get(key_of(base)) or self._new(base, role)
        start = address(storage) - address(base) if storage is not base else 0
        return View(buffer, data.shape, data.strides, data.offset + start // max(1, data.dtype.itemsize))

    def slices(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of a launch, with Slices in place of arrays."""
        return map_leaves(args, lambda arg: self._slice(arg) if isinstance(arg, (np.ndarray, TensorData)) else arg)

    def _slice(self, arg: Any) -> Any:
        if isinstance(arg, TensorData):
            self._pin(arg)
            return arg
        if not arg.size or not arg.flags.writeable:  # a table of sizes and strides; nothing is written into it
            return arg if not arg.size or self.buffers.get(key_of(base_of(arg))) is None else self._known_slice(arg)
        return self._known_slice(arg)

    def _known_slice(self, array: np.ndarray) -> Slice:
        base = base_of(array)
        buffer = self.buffers.get(key_of(base)) or self._new(base, TEMPORARY)
        return Slice(buffer, address(array) - address(base), array.shape, array.strides, array.dtype)


def is_fixed(buffer: Buffer) -> bool:
    """Whether a buffer holds numbers that are the same in every replay: a constant, or what was computed from constants alone."""
    is_kept = buffer.role == TEMPORARY and not buffer.pinned and isinstance(buffer.array, np.ndarray) and buffer.array.flags.writeable
    return buffer.role == CONSTANT or is_kept


def host_storage(data: TensorData) -> Any:
    """The storage of a tensor's data on the host; for data on a GPU itself."""
    return data if hasattr(data, "cell") else data._storage


def key_of(base: Any) -> int:
    """What tells one storage from another: views on a GPU share a cell."""
    return id(getattr(base, "cell", base))


def base_of(array: Any) -> Any:
    """The array that owns the memory, as far as NumPy knows; anything else is its own."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def address(array: Any) -> int:
    """Where the first element of an array lies in memory."""
    return array.__array_interface__["data"][0] if isinstance(array, np.ndarray) else 0


def kernel_name(launch: Launch) -> str:
    """The name of a launched kernel, without the number that makes it unique."""
    fn = launch.fn
    if fn.__name__ == "run_alone" and launch.args:  # a parallel kernel; see `kernels.jit.launch`
        fn = launch.args[0]
    body = getattr(fn, "body", None)
    name = getattr(body, "__name__", None) or getattr(getattr(fn, "py_func", fn), "__name__", "kernel")
    return name.partition(".of_")[0]


def caller() -> tuple[str, str]:
    """The phase of the program, and the innermost line outside of the library that led here, as "file.py:12"."""
    phase, line = "forward", ""
    frame: Any = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            if not line and not code.co_filename.startswith(("<", STDLIB)) and "site-packages" not in code.co_filename:
                line = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
        elif code.co_qualname in ("Tensor.backward", "run_backward"):
            phase = "backward"
        elif code.co_qualname.endswith(".step") and "optim" in code.co_filename:
            phase = "optimizer"
        elif code.co_qualname.startswith("Recording."):
            break
        frame = frame.f_back
    return phase, line


def frames_to_caller() -> int:
    """How many calls above the function that asks the first line outside of the library is: the `stacklevel` of its warning."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
