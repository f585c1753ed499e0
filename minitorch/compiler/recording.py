"""Stage 5 - Recordings: one recorded call of a function, and how it is replayed with other arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autodiff import LEAF
from minitorch.compiler.fused import FusedProgram
from minitorch.compiler.guards import Guards
from minitorch.compiler.nesting import (
    COMPUTED,
    ArgumentPlace,
    Place,
    fill_places,
    is_expanded,
    layout_of,
    map_tensors,
    outline,
    same_layout,
    storage_of,
)
from minitorch.compiler.planner import Plan
from minitorch.compiler.recorder import NotRecordable, Recorder, base_of, key_of
from minitorch.compiler.replayed import ReplayedProgram
from minitorch.compiler.rewriting import is_whole
from minitorch.compiler.scan import PLAIN
from minitorch.compiler.snapshot import Snapshot
from minitorch.compiler.trace import EXTERNAL, INPUT, Node, Trace, View
from minitorch.core.context import grad_mode
from minitorch.core.tensor_base import TensorBase, blank
from minitorch.tensor import Tensor


class Recording(ReplayedProgram):
    """A recorded call.

    Attributes:
        trace: The program as it was recorded.
        nodes: The program after all passes.
        plan: The memory of its temporary buffers.
        guards: What it took for granted.
        before: What the call might have changed, as it was.
        replays: How often it has run since.
        lock: Held while it is replayed.
        thread: Which thread replays it; 0 for none.
        program: The fused program, once it is in use.
    """

    trace: Trace
    plan: Plan
    nodes: list[Node]

    def __init__(self, fn: Callable[..., Any], args: Any, name: str) -> None:
        self.fn, self.name = fn, name
        self.guards = Guards(fn, args)
        self.before = Snapshot(self.guards)
        self.recorder = Recorder()
        self.after_fork()
        self.thread = 0
        self.replays = 0
        self.program: FusedProgram | None = None
        self._token: Any = None
        self._ready: Any = None  # the fused program, once it is compiled
        self._static: list[Tensor] = []
        self._all_layouts: list[tuple[Any, ...]] = []
        self._argument_grads: list[tuple[int, Tensor]] = []
        self._places: dict[int, Tensor] = {}  # by the identity of an argument
        paths = self.guards.tensors
        for x, path in paths.items():
            self.recorder.register(storage_of(x), path, EXTERNAL)
        for _, _, x, path in self.guards.state_tensors():
            self.recorder.register(storage_of(x), path, EXTERNAL)
        self._known = {key_of(buffer.array): buffer for buffer in self.recorder.buffers.values()}
        self._arguments = map_tensors(args, self._make_static)
        self._computed_arguments = [number for number, layout in enumerate(self._all_layouts) if layout[3] is COMPUTED]
        positional = not args[1] and all(isinstance(x, TensorBase) for x in args[0]) and len(args[0]) == len(self._static)
        self._layouts, self._takes = self._all_layouts if positional else None, None
        self._computed = [x for x in paths if x.history is not None and x.history is not LEAF]
        self._entry_grads = [(x, self._static_grad(x)) for x in paths if x.grad is not None]

    # Recording

    def record(self, tensors: Sequence[Tensor]) -> Any:
        """Run the function once on the program's own arguments and keep the program.

        Args:
            tensors: The caller's arguments.

        Returns:
            The result for the caller, without gradients.

        Raises:
            NotRecordable: If a replay could not repeat what the function does.
        """
        attributes = _tensor_attributes(self.guards)
        versions = [x._tensor._version[1] for x in self._static]
        outside = {x: x._tensor._version[1] for x in self.guards.tensors}
        for x, static in self._entry_grads:
            x.grad = static
        before = outline(self._arguments)
        with self.recorder.listening():
            result = self.fn(*self._arguments[0], **self._arguments[1])
            self._check_recorded(versions)
            if outline(self._arguments) != before:
                raise NotRecordable("the function changes its arguments, a list or dictionary, which a replay would not repeat; return it")
            _check_result(result)
            self._output = _live_output(result)
            self._recorded_boundary = len(self.recorder.nodes)
            self.wanted, gradients = self._record_backward() if self._output is not None else ([], [])
        self._check_python(attributes)
        entry: dict[Any, Any] = dict(self._entry_grads)
        for x, gradient in self.recorder.cleared.items():
            if x.history is LEAF and gradient is entry.get(x):
                self.guards.forget_gradient(x)
        graded = {x for x, _ in self._entry_grads}  # frozen ones as well: zero_grad() may have cleared theirs
        leaves = [x for x in (*self.guards.tensors, *self._static) if x.history is LEAF or x in graded]
        self._grads = [(x, None if x.grad is None else self.recorder.hold(x.grad._tensor)) for x in leaves]
        outputs: list[Tensor] = [] if self._output is None else [self._output]
        self._result = map_tensors(result, lambda x: self._keep(x, outputs))
        self._is_tuple = (
            type(self._result) is tuple
            and self._result == tuple(map(Place, range(len(outputs))))
            and all(type(part) is Place for part in self._result)
        )
        self._outputs = [(self.recorder.hold(x._tensor), blank(x)) for x in outputs]
        self._gradients = [None if g is None else (self.recorder.hold(g._tensor), blank(g)) for g in gradients]
        kept = [view for view, _ in self._outputs] + [pair[0] for pair in self._gradients if pair]
        kept += [view for _, view in self._grads if view] + [view for _, _, view, _ in self._attributes]
        self.trace = Trace(self.name, self.recorder.nodes, [self.recorder.view(x._tensor) for x in self._static], kept)
        for number, x in enumerate(self._static):
            self.recorder.register(storage_of(x), f"input{number}", INPUT)
        for x, path in self.guards.watch_state(self.recorder.owned):
            self.recorder.adopt(storage_of(x), path)
        self.trace.nodes[:] = self.recorder.nodes
        own = {id(x): number for number, x in enumerate(self._static)}
        self._cleared = [x for x, view in self._grads if view is None and id(x) not in own]
        self._cleared_arguments = [number for number, _ in self._argument_grads if self._static[number].grad is None]
        self._graded = [(x, own.get(id(x)), view) for x, view in self._grads if view is not None]
        self._whole = {view.buffer for view in kept if is_whole(view)}
        written = {buffer for node in self.trace.nodes for buffer in node.buffers() if node.out is None or node.out.buffer is buffer}
        changed = [x for x, version in outside.items() if x._tensor._version[1] != version]
        self._versions = [x._tensor._version for x in changed]
        for x, path in ((x, self.guards.tensors[x]) for x in changed):
            if self.recorder.view(x._tensor).buffer not in written:
                raise NotRecordable(f"the function assigns to elements of {path}, which a replay would not repeat; do it outside")
        if any(self.recorder.is_assigned(view, x._tensor) for (view, _), x in zip(self._outputs, outputs, strict=True)):
            raise NotRecordable("the function assigns to elements of its result, which a replay would not repeat; use where or cat")
        return fill_places(self._result, [x.detach().clone() for x in outputs], tensors)

    def _make_static(self, x: Tensor) -> Tensor:
        """A tensor of the program in the place of an argument, with the same layout."""
        data = x._tensor
        if id(x) in self._places:
            return self._places[id(x)]
        if x._hooks:
            raise NotRecordable("an argument has a hook, which is Python; remove it, or leave the function uncompiled")
        if self.shares_memory([x]):
            name = self._known[key_of(base_of(storage_of(x)))].name
            raise NotRecordable(f"an argument shares memory with {name}, which the function refers to itself; leave out the argument")
        made = x.zeros() if x.is_contiguous() or x.backend.cuda or is_expanded(data) else x._like(same_layout(data))
        made[...] = x.detach()
        self._static.append(made)
        self._places[id(x)] = made
        self._all_layouts.append(layout_of(x))
        self.recorder.register(storage_of(made), f"input{len(self._static) - 1}", INPUT)
        if x.history is not None:
            made.requires_grad_(True)
        if x.grad is not None:
            self._argument_grads.append((len(self._static) - 1, self._static_grad(x, made)))
        return made

    def _static_grad(self, x: Any, owner: Any = None) -> Tensor:
        """A tensor of the program in the place of a gradient that was there before the call; the owner, if given, takes it."""
        made = x.grad.detach().clone()
        name = self.guards.tensors[x] if owner is None else f"input{len(self._static) - 1}"
        self.recorder.register(storage_of(made), f"{name}.grad", INPUT)
        if owner is not None:
            owner.grad = made
        return made

    def _record_backward(self) -> tuple[list[Tensor], list[Tensor | None]]:
        """Record the backward pass of the output; returns the leaves and their gradients."""
        output: Any = self._output
        leaves = [x for x in (*self._static, *self.guards.tensors) if x.history is LEAF]
        with self.recorder.paused():  # a replay writes it, and must not compute it again
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

    def _keep(self, x: Tensor, outputs: list[Tensor]) -> Any:
        """The place of a result: among those that are copied out; or an argument or a tensor outside, which stays what it is."""
        for number, static in enumerate(self._static):
            if x is static:
                return ArgumentPlace(number)
        if x in self.guards.tensors:
            return x
        for number, output in enumerate(outputs):
            if x is output:
                return Place(number)
        outputs.append(x)
        return Place(len(outputs) - 1)

    def _check_recorded(self, versions: list[int]) -> None:
        """Check what the recorder noted.

        Raises:
            NotRecordable: If the function went on after something that cannot be recorded, writes into an argument, or computes gradients
                beyond its own part of the graph.
        """
        if self.recorder.refused:
            raise NotRecordable(self.recorder.refused)
        for number, (static, version) in enumerate(zip(self._static, versions, strict=True)):
            if static._tensor._version[1] != version:
                raise NotRecordable(
                    f"the function writes into argument {number}, which is copied at every call; write into a copy: x.clone()"
                )
        for x in self._computed:
            if self._is_used(x):
                raise NotRecordable(
                    f"{self.guards.tensors[x]} was computed with gradients outside of the function; pass it as an argument, or detach it"
                )
        for number in self._computed_arguments:
            if self._static[number].grad is not None:
                raise NotRecordable(
                    f"argument {number} was computed with gradients outside of the function, which calls backward itself; "
                    "call backward outside, or detach the argument"
                )

    def _is_used(self, x: Any) -> bool:
        """Whether the program touches the numbers of a tensor."""
        buffer = self.recorder.view(x._tensor).buffer
        return any(buffer in node.buffers() for node in self.recorder.nodes)

    def _check_python(self, before: dict[tuple[int, str], tuple[Any, str, Any]]) -> None:
        """Check that the function changed nothing that a replay would not change. Raises NotRecordable if it did."""
        self._attributes: list[tuple[Any, str, View, Any]] = []
        after = _tensor_attributes(self.guards)
        for key, (module, name, x) in after.items():
            old = before.get(key, (None, "", None))[2]
            if x is not old:
                path = self.guards.path_of(vars(module), name)
                if _is_live(x):
                    raise NotRecordable(f"the function keeps a tensor with gradients as {path}; keep x.detach(), or return it")
                if old is not None and self._is_used(old):
                    raise NotRecordable(f"the function replaces {path}, which it reads; pass it as an argument and return the new one")
                self._attributes.append((module, name, self.recorder.hold(x._tensor), blank(x)))
                self.guards.forget(vars(module), name)
        changed = self.guards.changed_by_python()
        if changed:
            raise NotRecordable(f"the function changes {changed}, which a replay would not repeat; do it outside of the compiled function")

    def finish(self) -> Snapshot:
        """Keep nothing of the recorded run; returns what it might have changed, as it was before."""
        before = self.before
        del self.before, self.recorder
        return before

    def hand_over(self, tensors: list[Tensor]) -> None:
        """Give the gradients of the recorded call to the caller's own tensors."""
        for static, x in zip(self._static, tensors, strict=True):
            if static.grad is not None or x.grad is not None:
                x.grad = None if static.grad is None else static.grad.clone()
        for x, view in self._grads:
            if view is not None and x in self.guards.tensors:
                x.grad = x.grad.clone()  # type: ignore[union-attr] - the view is that of its gradient


def _check_result(result: Any) -> None:
    """Check that a result can be made again in a replay.

    Raises:
        NotRecordable: If there is anything in it but tensors and plain values, in lists, tuples and dictionaries.
    """
    if isinstance(result, (list, tuple, dict)):
        for part in result.values() if isinstance(result, dict) else result:
            _check_result(part)
    elif not isinstance(result, (*PLAIN, TensorBase)):
        kind = type(result).__name__
        raise NotRecordable(f"it returns an object of type {kind}; return tensors and plain values, in tuples, lists or dictionaries")


def _live_output(result: Any) -> Any:
    """The tensor of a result whose backward pass has not run; None if there is none. Raises NotRecordable if there are several."""
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
