"""What numba compiles while tests run, so that a student who waits sees why."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def note_compilations(note: Callable[[str], object]) -> Any:
    """Call `note` with a function's name whenever numba begins to compile it, and with "" at the end; functions that it calls do not count.

    Returns:
        numba's listener; None if the tests have not imported numba.
    """
    if "numba" not in sys.modules:
        return None
    event = importlib.import_module("numba.core.event")
    depth = 0

    class Listener(event.Listener):  # type: ignore[name-defined]
        def on_start(self, started: Any) -> None:
            nonlocal depth
            depth += 1
            if depth == 1:
                note(name_of(started.data["dispatcher"]))

        def on_end(self, ended: Any) -> None:
            nonlocal depth
            depth -= 1
            if depth == 0:
                note("")

    listener = Listener()
    event.register("numba:compile", listener)
    return listener


def name_of(dispatcher: Any) -> str:
    """The name of the function whose kernel is compiled, such as tensor_map for tensor_map._map."""
    return dispatcher.py_func.__qualname__.partition(".<locals>")[0]
