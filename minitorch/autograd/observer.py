"""Stage 7 - Observers of function calls: the base of the profiler and of the memory ledger, at no cost while none is active.

While an observer is active, every Function's `forward` and the common `_backward` are replaced by wrappers that report each
call. Calls within a call count as part of it, except within a checkpoint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from minitorch.autograd.checkpoints import Checkpoint, Part
from minitorch.core.context import TensorContext
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Function


class Gradient(Function):
    """Name under which a leaf's gradient accumulation is reported."""


class Call(NamedTuple):
    """One call of a function.

    Attributes:
        fn: The function.
        backward: Whether this is a call of its backward.
        seconds: Duration.
        ctx: Context of the function.
        given: Tensor arguments; in backward the gradient of the result.
        results: Returned tensors.
    """

    fn: type[Function]
    backward: bool
    seconds: float
    ctx: Any
    given: list[Tensor]
    results: list[Tensor]


class Observer:
    """Base class of observers, which get every call of the current thread within `with Observer() as observer:`.

    Functions that are defined within the block are not observed. Observers may be nested.
    """

    def __init__(self) -> None:
        self._thread = 0

    def saw(self, call: Call) -> None:
        """Process one call."""
        raise RuntimeError(f"{type(self).__name__} does nothing with what it sees; define saw(call) in the subclass")

    def __enter__(self) -> Any:
        if self in _observers:
            raise RuntimeError(f"this {type(self).__name__} is observing already; make another one")
        self._thread = threading.get_ident()
        with _lock:
            if not _observers:
                _replace()
            _observers.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            _observers.remove(self)
            if not _observers:
                _restore()


_lock = threading.Lock()
_observers: list[Observer] = []
_patched_methods: list[tuple[type, str, Any]] = []


class _Depth(threading.local):
    """Nesting depth of function calls in this thread."""

    depth = 0


_running = _Depth()


def select_tensors(values: Sequence[Any]) -> list[Tensor]:
    """The values that are tensors."""
    return [x for x in values if isinstance(x, Tensor)]


def _report(fn: type[Function], ctx: Any, args: Sequence[Any], backward: bool, call: Callable[[], Any]) -> Any:
    """Run call and return its result; report it to the observers unless it is nested in another call."""
    thread = threading.get_ident()
    observers = [observer for observer in _observers if observer._thread == thread]
    if not observers or _running.depth or fn in (Checkpoint, Part):
        return call()
    _running.depth = 1
    try:
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
    finally:
        _running.depth = 0
    results = select_tensors(result if isinstance(result, (tuple, list)) else [result])
    seen = Call(fn, backward, seconds, ctx, select_tensors(args), results)
    for observer in observers:
        observer.saw(seen)
    return result


def _functions(kind: type[Function] = Function) -> Iterator[type[Function]]:
    """All subclasses of a Function class."""
    for other in kind.__subclasses__():
        yield other
        yield from _functions(other)


def _replace() -> None:
    """Replace every forward, the common backward and the accumulation of gradients by wrappers that report."""
    for fn in dict.fromkeys(_functions()):
        if "forward" in vars(fn):
            _patch(fn, "forward", _wrap_forward(vars(fn)["forward"]))
    backward = vars(Function)["_backward"]

    def report_backward(cls: type[Function], ctx: Any, grad_output: Tensor) -> Any:
        return _report(cls, ctx, [grad_output], True, lambda: backward.__func__(cls, ctx, grad_output))

    _patch(Function, "_backward", classmethod(report_backward))
    accumulate = vars(Tensor)["accumulate_derivative"]

    def report_accumulation(leaf: Tensor, gradient: Tensor) -> None:
        def call() -> Tensor | None:
            accumulate(leaf, gradient)
            return leaf.grad

        _report(Gradient, TensorContext(Gradient, (leaf,), True), [gradient], True, call)

    _patch(Tensor, "accumulate_derivative", report_accumulation)


def _wrap_forward(forward: Any) -> Any:
    """Wrap a forward so that it reports; it stays a static or class method, and one without a decorator becomes static."""
    plain = getattr(forward, "__func__", forward)
    if isinstance(forward, classmethod):

        def class_forward(cls: type[Function], ctx: Any, *args: Any) -> Any:
            return _report(cls, ctx, args, False, lambda: plain(cls, ctx, *args))

        return classmethod(class_forward)

    def static_forward(ctx: Any, *args: Any) -> Any:
        return _report(ctx.fn, ctx, args, False, lambda: plain(ctx, *args))

    return staticmethod(static_forward)


def _patch(fn: type, name: str, new: Any) -> None:
    """Replace a method and save the original."""
    _patched_methods.append((fn, name, vars(fn)[name]))
    setattr(fn, name, new)


def _restore() -> None:
    """Restore the original methods."""
    while _patched_methods:
        fn, name, old = _patched_methods.pop()
        setattr(fn, name, old)
