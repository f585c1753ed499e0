"""Stage 5 - Observing: what the functions of tensors do while somebody looks. When nobody does, nothing is in their way.

While there is an observer, every Function's `forward` and the common `_backward` are replaced by ones that also report. What a function
calls in turn counts as its own work, but for a checkpoint, which runs other functions.
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
    """What a leaf does with a gradient: it adds it to its own. The name under which that is reported."""


class Call(NamedTuple):
    """One call of a function.

    Attributes:
        fn: The function.
        backward: Whether it was its backward.
        seconds: How long it took.
        ctx: What the function kept.
        given: The tensors it was given: its arguments, in backward the gradient of its result.
        results: The tensors it returned.
    """

    fn: type[Function]
    backward: bool
    seconds: float
    ctx: Any
    given: list[Tensor]
    results: list[Tensor]


class Observer:
    """Somebody who is told of every call in the thread in which it was entered: `with Observer() as seen:`.

    Functions that are defined within are not seen. One observer may be entered within another.
    """

    def __init__(self) -> None:
        self._thread = 0

    def saw(self, call: Call) -> None:
        """What it does with a call."""
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
    """How many functions are running in this thread, one within the other."""

    depth = 0


_running = _Depth()


def select_tensors(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among them."""
    return [x for x in values if isinstance(x, Tensor)]


def _report(fn: type[Function], ctx: Any, args: Sequence[Any], backward: bool, call: Callable[[], Any]) -> Any:
    """What call returns; it is reported if it is no other function's work."""
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
    """All functions that there are."""
    for other in kind.__subclasses__():
        yield other
        yield from _functions(other)


def _replace() -> None:
    """Put functions that report in the place of the others."""
    for fn in dict.fromkeys(_functions()):
        if "forward" in vars(fn):
            _patch(fn, "forward", _wrap_forward(vars(fn)["forward"]))
    backward = vars(Function)["_backward"]

    def reporting(cls: type[Function], ctx: Any, grad_output: Tensor) -> Any:
        return _report(cls, ctx, [grad_output], True, lambda: backward.__func__(cls, ctx, grad_output))

    _patch(Function, "_backward", classmethod(reporting))
    accumulate = vars(Tensor)["accumulate_derivative"]

    def gathering(leaf: Tensor, gradient: Tensor) -> None:
        def call() -> Tensor | None:
            accumulate(leaf, gradient)
            return leaf.grad

        _report(Gradient, TensorContext(Gradient, (leaf,), True), [gradient], True, call)

    _patch(Tensor, "accumulate_derivative", gathering)


def _wrap_forward(forward: Any) -> Any:
    """A forward that reports, static or of the class as the given one is; one without a decorator counts as static."""
    plain = getattr(forward, "__func__", forward)
    if isinstance(forward, classmethod):

        def of_class(cls: type[Function], ctx: Any, *args: Any) -> Any:
            return _report(cls, ctx, args, False, lambda: plain(cls, ctx, *args))

        return classmethod(of_class)

    def static(ctx: Any, *args: Any) -> Any:
        return _report(ctx.fn, ctx, args, False, lambda: plain(ctx, *args))

    return staticmethod(static)


def _patch(fn: type, name: str, new: Any) -> None:
    """Replace a method and remember it."""
    _patched_methods.append((fn, name, vars(fn)[name]))
    setattr(fn, name, new)


def _restore() -> None:
    """Put the methods back."""
    while _patched_methods:
        fn, name, old = _patched_methods.pop()
        setattr(fn, name, old)
