"""Task 0.4: what is asked of a tree of modules, compared with a walk through what its modules have registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Wrong

ORACLE = "a walk through what every module has registered: its _parameters, then its _modules"


def walk(module: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every module of a tree with its path, the root's empty."""
    yield path, module
    for name, child in vars(module)["_modules"].items():
        yield from walk(child, f"{path}.{name}" if path else name)


def mode(call: Call) -> Wrong | None:
    """Whether train or eval has reached every module."""
    expected = call.outer == "train"
    for path, module in walk(call.arguments[0]):
        if vars(module).get("training") is not expected:
            rows = (
                ("The tree", _drawn(call.arguments[0], path)),
                ("Expected", f"training is {expected} after {call.outer}()"),
                ("Yours", f"training is {vars(module).get('training')}"),
            )
            return Wrong(f"the module {path}" if path else "the module itself", rows, ORACLE)
    return None


def named(call: Call) -> Wrong | None:
    """Whether named_parameters lists every parameter by its path."""
    expected = _parameters(call.arguments[0])
    if call.result is None:
        return Wrong(NOTHING, (("Expected", ", ".join(name for name, _ in expected)),), ORACLE)
    return _compare(call, expected, [(pair[0], pair[1]) for pair in call.result])


def listed(call: Call) -> Wrong | None:
    """Whether parameters lists every parameter."""
    expected = _parameters(call.arguments[0])
    if call.result is None:
        return Wrong(NOTHING, (("Expected", ", ".join(name for name, _ in expected)),), ORACLE)
    names = {id(parameter): name for name, parameter in expected}
    return _compare(call, expected, [(names.get(id(parameter), "?"), parameter) for parameter in call.result])


def _parameters(root: Any) -> list[tuple[str, Any]]:
    return [
        (f"{path}.{name}" if path else name, parameter)
        for path, module in walk(root)
        for name, parameter in vars(module)["_parameters"].items()
    ]


def _compare(call: Call, expected: list[tuple[str, Any]], got: list[tuple[str, Any]]) -> Wrong | None:
    """The first entry that differs, by name or by parameter."""
    length = max(len(expected), len(got))
    for place in range(length):
        theirs = expected[place] if place < len(expected) else ("nothing more", None)
        yours = got[place] if place < len(got) else ("nothing more", None)
        if theirs[0] != yours[0] or theirs[1] is not yours[1]:
            path = theirs[0].rpartition(".")[0] if place < len(expected) else ""
            other = yours[0] if yours[0] != theirs[0] else f"{yours[0]}, but not its Parameter: {type(yours[1]).__name__}"
            rows = (
                ("The tree", _drawn(call.arguments[0], path)),
                ("Expected", f"entry {place} is {theirs[0]}"),
                ("Yours", f"entry {place} is {other}"),
                ("All expected", ", ".join(name for name, _ in expected) or "none"),
                ("All of yours", ", ".join(str(name) for name, _ in got) or "none"),
            )
            return Wrong(f"entry {place}, {theirs[0]}", rows, ORACLE)
    return None


def _drawn(root: Any, mark: str) -> str:
    """The tree, a line for each module, one of them marked."""
    lines = []
    for path, module in walk(root):
        depth = path.count(".") + 1 if path else 0
        name = path.rpartition(".")[2] or type(module).__name__
        own = ", ".join(vars(module)["_parameters"])
        lines.append(f"{'  ' * depth}{name}{f': {own}' if own else ''}{'   <' if path == mark else ''}")
    return "\n".join(lines[:10] + (["…"] if len(lines) > 10 else []))


JUDGES: dict[str, Judge] = {
    "minitorch.module:Module.train": mode,
    "minitorch.module:Module.eval": mode,
    "minitorch.module:Module.named_parameters": named,
    "minitorch.module:Module.parameters": listed,
}
