"""Stage 1 - Lazy imports: modules that are imported on first use, so that `import minitorch` is fast, and those of later stages."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

_lock = Lock()


@dataclass
class _Postponed:
    """A module that has not been imported, or a name in it."""

    module: str
    name: str = ""

    def __getattr__(self, name: str) -> _Postponed:
        return _Postponed(self.module, name)


@contextmanager
def lazy_imports(namespace: dict[str, Any]) -> Iterator[None]:
    """Postpone the statements `from … import …` of a with block in an `__init__.py` until one of their names is used.

    Type checkers, and programs that read the source, see ordinary imports. As with those, the package's modules that the statements
    mention become its attributes.

    Args:
        namespace: The package's `globals()`; its functions `__getattr__` and `__dir__` are defined here (PEP 562).
    """
    package = namespace["__name__"]
    postponed: dict[str, _Postponed] = namespace.setdefault("__postponed__", {})

    def postpone(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        return _Postponed(name) if globals is namespace and fromlist else import_now(name, globals, locals, fromlist, level)

    def load(name: str) -> Any:
        if name not in postponed:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = postponed[name].module, postponed[name].name
        if module == package:
            value = import_module(f"{package}.{attribute}")
        else:
            value = getattr(__import__(module, fromlist=[attribute]), attribute)
        namespace[name] = value
        return value

    def names() -> list[str]:
        modules = [name for name, source in postponed.items() if source.module == package]
        return sorted({*namespace, *modules, *namespace.get("__all__", ())})  # without bfloat16: reading it may raise an ImportError

    with _lock:  # of two threads, the one that finishes first must not restore the function of the other
        import_now, builtins.__import__ = builtins.__import__, postpone
        try:
            yield
        finally:
            builtins.__import__ = import_now
    for name in [name for name, value in namespace.items() if isinstance(value, _Postponed)]:
        postponed[name] = source = namespace.pop(name)
        if source.module.startswith(f"{package}."):
            inner = source.module.removeprefix(f"{package}.").partition(".")[0]
            postponed.setdefault(inner, _Postponed(package, inner))
    namespace.update(__getattr__=load, __dir__=names)


def later_module(name: str, purpose: str) -> Any:
    """A module of a later stage, imported when it is needed.

    Args:
        name: Its dotted name.
        purpose: What needs it, for the message.

    Raises:
        RuntimeError: If the package ends at an earlier stage.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise RuntimeError(
            f"{purpose} expected the module {name}, which this package does not have; leave it out, or use the whole library"
        ) from None
