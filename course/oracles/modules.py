"""Task 0.4: methods of a tree of modules, compared with the modules and parameters that it has registered."""

from __future__ import annotations

import json
from typing import Any

from course.explain.calls import NOTHING, Call, Judge
from course.explain.divergence import Difference

ORACLE = "the dictionaries _parameters and _modules of every module of the tree"

Entry = tuple[str, Any]
"""A module or a parameter with its dotted path; the path of the root is empty."""


def tree(root: Any) -> list[Entry]:
    """The modules and parameters of a tree, each module followed by its parameters and then by its child modules.

    `json` visits the objects and joins the paths, so that this file contains no solution of the task.
    """
    objects: dict[int, Any] = {}

    def encode(value: Any) -> Any:
        objects[id(value)] = value
        return {"": id(value)} | vars(value)["_parameters"] | vars(value)["_modules"] if _is_module(value) else id(value)

    def join(pairs: list[tuple[str, Any]]) -> list[tuple[str, int]]:
        entries = [(name, inner if isinstance(inner, list) else [("", inner)]) for name, inner in pairs]
        return [(".".join(filter(None, (name, path))), key) for name, inner in entries for path, key in inner]

    encoded = json.JSONEncoder(default=encode, check_circular=False).encode(root)
    return [(path, objects[key]) for path, key in json.loads(encoded, object_pairs_hook=join)]


def _is_module(value: Any) -> bool:
    return "_modules" in getattr(value, "__dict__", ())


def mode(call: Call) -> Difference | None:
    """Compare the mode of every module after train or eval."""
    expected = call.outer == "train"
    for path, module in tree(call.arguments[0]):
        if _is_module(module) and vars(module).get("training") is not expected:
            rows = (
                ("The tree", _diagram(call.arguments[0], path)),
                ("Expected", f"training is {expected} after {call.outer}()"),
                ("Yours", f"training is {vars(module).get('training')}"),
            )
            return Difference(f"the module {path}" if path else "the module itself", rows, ORACLE)
    return None


def named_parameters(call: Call) -> Difference | None:
    """Compare the names and parameters that named_parameters lists."""
    expected = _parameters(call.arguments[0])
    if call.result is None:
        return Difference(NOTHING, (("Expected", ", ".join(name for name, _ in expected)),), ORACLE)
    return _compare(call, expected, [(pair[0], pair[1]) for pair in call.result])


def parameters(call: Call) -> Difference | None:
    """Compare the parameters that parameters lists."""
    expected = _parameters(call.arguments[0])
    if call.result is None:
        return Difference(NOTHING, (("Expected", ", ".join(name for name, _ in expected)),), ORACLE)
    names = {id(parameter): name for name, parameter in expected}
    wanted = dict(enumerate(expected))  # a module with two names has parameters with two names

    def name(place: int, parameter: Any) -> str:
        own = wanted.get(place)
        return own[0] if own and own[1] is parameter else names.get(id(parameter), "?")

    return _compare(call, expected, [(name(place, parameter), parameter) for place, parameter in enumerate(call.result)])


def _parameters(root: Any) -> list[Entry]:
    return [(path, value) for path, value in tree(root) if not _is_module(value)]


def _compare(call: Call, expected: list[tuple[str, Any]], got: list[tuple[str, Any]]) -> Difference | None:
    """The first entry that differs, in its name or its parameter."""
    length = max(len(expected), len(got))
    for place in range(length):
        theirs = expected[place] if place < len(expected) else ("nothing more", None)
        yours = got[place] if place < len(got) else ("nothing more", None)
        if theirs[0] != yours[0] or theirs[1] is not yours[1]:
            path = theirs[0].rpartition(".")[0] if place < len(expected) else ""
            other = yours[0] if yours[0] != theirs[0] else f"{yours[0]}, but not its Parameter: {type(yours[1]).__name__}"
            rows = (
                ("The tree", _diagram(call.arguments[0], path)),
                ("Expected", f"entry {place} is {theirs[0]}"),
                ("Yours", f"entry {place} is {other}"),
                ("All expected", ", ".join(name for name, _ in expected) or "none"),
                ("All of yours", ", ".join(str(name) for name, _ in got) or "none"),
            )
            return Difference(f"entry {place}, {theirs[0]}", rows, ORACLE)
    return None


def _diagram(root: Any, mark: str) -> str:
    """The tree, one line for every module, one of them marked."""
    lines = []
    for path, module in tree(root):
        if not _is_module(module):
            continue
        depth = path.count(".") + 1 if path else 0
        name = path.rpartition(".")[2] or type(module).__name__
        own = ", ".join(vars(module)["_parameters"])
        lines.append(f"{'  ' * depth}{name}{f': {own}' if own else ''}{'   <' if path == mark else ''}")
    return "\n".join(lines[:10] + (["…"] if len(lines) > 10 else []))


JUDGES: dict[str, Judge] = {
    "minitorch.module:Module.train": mode,
    "minitorch.module:Module.eval": mode,
    "minitorch.module:Module.named_parameters": named_parameters,
    "minitorch.module:Module.parameters": parameters,
}
