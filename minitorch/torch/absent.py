"""Stage 6 - The error for a name that `minitorch.torch` does not have: the nearest name that it has, and where all names are listed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def absent(owner: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error for a name.

    Args:
        owner: What lacks the name, as PyTorch calls it: "torch.nn".
        name: The name.
        known: The public names that the owner has.
    """
    near = [] if name.startswith("_") else difflib.get_close_matches(name, known, 1)  # Python asks for names with underscores itself
    hint = f"the nearest name is {owner}.{near[0]}; " if near else ""
    return AttributeError(f"{owner} has no {name} in minitorch; {hint}the table of names is in docs/from_here_to_pytorch.md")


def refuse_absent(owner: str, known: Iterable[str]) -> Callable[[str], Any]:
    """The function `__getattr__` of a module, which raises `absent` for every name; see there for the arguments."""
    known = list(known)

    def __getattr__(name: str) -> Any:
        raise absent(owner, name, known)

    return __getattr__


def defined(space: Mapping[str, Any]) -> list[str]:
    """The public functions and classes that a module, given by its `globals()`, defines or lifts, without those that it imports."""
    return [
        name
        for name, thing in space.items()
        if not name.startswith("_") and (hasattr(thing, "__wrapped__") or getattr(thing, "__module__", "") == space["__name__"])
    ]
