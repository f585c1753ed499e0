"""Whose mistake an error is: that of the function that raises it, of its caller, or of the forward pass that saved nothing for it."""

from __future__ import annotations

import inspect
import re

from course.explain.calls import Call
from course.explain.divergence import Difference
from course.runner.messages import error_line


def callers_mistake(call: Call, error: BaseException) -> str:
    """Why a call that raised an error is its caller's mistake; "" if it is not.

    It is if the caller passed None where the signature forbids it, if the docstring of the function says that it raises this error, or if
    the oracle rejects the arguments, too; but not if the oracle knows the right result for them.
    """
    for parameter, value in zip(inspect.signature(call.target.function).parameters.values(), call.arguments, strict=False):
        kind = str(parameter.annotation)
        if (
            value is None
            and parameter.default is not None
            and parameter.annotation is not parameter.empty
            and "None" not in kind
            and "Optional" not in kind
            and "Any" not in kind
        ):
            return f"{call.name} is called with {parameter.name} = None, which must be of type {kind}"
    if call.missing is not None:
        return ""
    _, _, raises = (inspect.getdoc(call.target.function) or "").partition("Raises:")
    if type(error).__name__ in re.findall(r"^\s+(\w+): ", raises, re.MULTILINE):
        return f"{call.name} raises {type(error).__name__} as its docstring says; it is called with arguments that do not fit"
    if call.is_rejected:
        names = zip(call.code.co_varnames, call.before, strict=False)
        shapes = [f"{name} = {tuple(map(int, value))}" for name, value in names if name.endswith("shape")]
        given = f" ({', '.join(shapes)})" if shapes else ""
        return f"{call.name} is called with arguments that do not fit{given}; its oracle rejects them, too"
    return ""


def unsaved_values(call: Call, error: BaseException) -> tuple[Call, Difference] | None:
    """The call of forward that saved nothing or too few values, if `backward` raised an error because of that."""
    forward = call.recorder.forwards.get(id(call.arguments[0])) if call.outer == "backward" and call.arguments else None
    uses = {"saved_values", "saved_tensors"} & set(call.code.co_names)
    saved = getattr(call.arguments[0], "saved_values", None) if forward is not None and uses else None
    if forward is None or not isinstance(saved, tuple):
        return None
    wanted = re.search(rf"not enough values to unpack \(expected (\d+), got {len(saved)}\)", str(error))
    if saved and wanted is None:
        return None
    many = f"{wanted[1]} values" if wanted and wanted[1] != "1" else "value" if wanted else "values"
    rows = (
        ("Expected", f"ctx.save_for_backward(…) with the {many} that {call.name} reads"),
        ("Yours", f"forward saved {len(saved)} of them" if saved else "forward saved nothing"),
        ("It raises", f"{error_line(error)}, in {call.name}"),
    )
    return forward, Difference("what it saves for the backward pass", rows, "the context, as backward found it")
