"""Stage 7 - The error for a name that `minitorch.torch` does not have: the nearest name that it has, and where all names are listed."""

from __future__ import annotations

import difflib
import opcode
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any


def absent(owner: str, name: str, known: Sequence[str]) -> AttributeError:
    """The error for a name that an owner, as PyTorch calls it ("torch.nn"), lacks; known are the public names that it has."""
    near = [] if name.startswith("_") else difflib.get_close_matches(name, known, 1)  # Python asks for names with underscores itself
    hint = f"the nearest name is {owner}.{near[0]}; " if near else ""
    names = (
        f"its names are {', '.join(sorted(known))}"
        if owner.startswith("torchvision")
        else "the table of names is in docs/from_here_to_pytorch.md"
    )
    return AttributeError(f"{owner} has no {name} in minitorch; {hint}{names}")


def refuse_absent(
    owner: str,
    known: Iterable[str],
    late: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
    reasons: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[str], Any]:
    """The function `__getattr__` of a module, which raises `absent` for every name but those in `late`, which are made when asked for.

    For the names in `reasons`, the error says this in place of the nearest name.

    `from module import name` would replace an AttributeError by an ImportError of its own: there it raises one that says the same.
    """
    known = [*known, *late]

    def __getattr__(name: str) -> Any:
        if name in late:
            return late[name]()
        reason = reasons.get(name)
        error = absent(owner, name, known) if reason is None else AttributeError(f"{owner} has no {name} in minitorch: {reason}")
        caller = sys._getframe(1)
        if opcode.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
            raise ImportError(str(error))
        raise error

    return __getattr__


def defined(space: Mapping[str, Any]) -> list[str]:
    """The public functions and classes that a module, given by its `globals()`, defines or lifts, without those that it imports."""
    return [
        name
        for name, thing in space.items()
        if not name.startswith("_") and (hasattr(thing, "__wrapped__") or getattr(thing, "__module__", "") == space["__name__"])
    ]
