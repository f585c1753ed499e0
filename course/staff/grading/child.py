"""What runs in the sandbox: it imports a submission, does the steps that it is told, and answers in plain data. It knows no expected value.

Started as `python -I child.py FOLDER [IN OUT]`, with the file descriptors of its requests and answers, else its input and output. A request
is a line of JSON, and so is an answer.

* A request is {"id": …, "programs": [[[step, …], [value, …]], …]}: the steps of each program, and what of it to give back. The answer is
  {"id": …, "answers": [[plain, …], …]}, with {"error": [[names of its classes], message]} in place of a list where a step raised.
* A step makes a value: ["find", "module:qualified.name"], ["get", value, name], ["call", value, [argument, …], {name: argument}], or
  ["function", [step, …], value], a function that does those steps.
* A value is a number, a string, null, a list of values, or one of {"step": number of an earlier step}, {"argument": number, in a
  function}, {"tuple": [value, …]}, {"float": "nan", "inf" or "-inf"}.
* Plain data is the same without steps, and {"number": [class, value]} for numbers that are not Python's own, {"array": […]} and
  {"tensor": […]}, {"object": class} for everything else.

It imports nothing but the standard library until it is asked to.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

MOST = 60_000
"""Numbers and strings that one answer may hold."""

DEEPEST = 8
"""Lists inside lists in one answer."""

STACK = 1 << 19
"""Bytes of a thread's stack: the simulator of a GPU starts a thousand threads at once."""

LONGEST = 500
"""Letters of a string in an answer."""


class Worker:
    """Does the steps of one request.

    Args:
        steps: What to do.
        arguments: What `{"argument": n}` stands for.
    """

    def __init__(self, steps: list[Any], arguments: tuple[Any, ...] = ()) -> None:
        self.made: list[Any] = []
        self.arguments = arguments
        for kind, *parts in steps:
            self.made.append(getattr(self, f"_{kind}")(*parts))

    def value(self, coded: Any) -> Any:
        """What a value in a request stands for."""
        if isinstance(coded, list):
            return [self.value(one) for one in coded]
        if not isinstance(coded, dict):
            return coded
        ((kind, content),) = coded.items()
        if kind == "step":
            return self.made[content]
        if kind == "argument":
            return self.arguments[content]
        return tuple(self.value(content)) if kind == "tuple" else float(content)

    def _find(self, name: str) -> Any:
        module, _, path = name.partition(":")
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found

    def _get(self, of: Any, name: str) -> Any:
        return getattr(self.value(of), name)

    def _call(self, function: Any, arguments: list[Any], named: dict[str, Any]) -> Any:
        return self.value(function)(*self.value(arguments), **{name: self.value(argument) for name, argument in named.items()})

    def _function(self, steps: list[Any], give: Any) -> Any:
        def function(*arguments: Any) -> Any:
            calls.append(arguments)
            return Worker(steps, arguments).value(give)

        calls = vars(function)["calls"] = []
        return function


class Plain:
    """Makes plain data of what was computed, of so many numbers at most."""

    def __init__(self) -> None:
        self.left = MOST

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """The value as it stands in an answer.

        Raises:
            ValueError: If the answer grows too large.
        """
        if depth > DEEPEST:
            raise ValueError(f"an answer may have {DEEPEST} lists inside each other")
        self._count(1)
        if value is None or type(value) in (bool, int):
            return value
        if isinstance(value, str):
            return str.__str__(value)[:LONGEST]
        if type(value) is float:
            return self._float(value)
        if type(value) in (list, tuple):
            items = [self(item, depth + 1) for item in value]
            return items if type(value) is list else {"tuple": items}
        if hasattr(value, "_tensor"):
            data = value._tensor
            return {"tensor": [list(data.shape), list(data.strides), data.offset, value.history is not None, self._array(value.to_numpy())]}
        if hasattr(value, "dtype") and hasattr(value, "tolist"):
            return {"array": self._array(value)} if getattr(value, "ndim", 0) else self._number(value)
        return self._number(value) if isinstance(value, (float, int)) else {"object": type(value).__name__}

    def _array(self, array: Any) -> Any:
        self._count(array.size)
        values = array.reshape(-1).tolist()
        return [str(array.dtype), list(array.shape), [self._float(x) if type(x) is float else x for x in values]]

    def _number(self, value: Any) -> Any:
        return {"number": [type(value).__name__, self._float(float(value))]}

    def _float(self, value: float) -> Any:
        return value if math.isfinite(value) else {"float": repr(value)}

    def _count(self, number: int) -> None:
        self.left -= number
        if self.left < 0:
            raise ValueError(f"an answer may hold {MOST} numbers")


def answered(request: dict[str, Any]) -> str:
    """The answer to a request."""
    return json.dumps({"id": request["id"], "answers": [done(*program) for program in request["programs"]]}, allow_nan=False)


def done(steps: list[Any], give: list[Any]) -> Any:
    """What a program gives, or the error that it raised."""
    try:
        worker, plain = Worker(steps), Plain()
        given = [plain(worker.value(value)) for value in give]
        json.dumps(given, allow_nan=False)  # here it may fail, not where the answers of others would fail with it
        return given
    except BaseException as error:  # sys.exit, too, is an answer
        return {"error": [[kind.__name__ for kind in type(error).__mro__], message_of(error)]}


def message_of(error: BaseException) -> str:
    """Its message, shortened; an error may fail to say it."""
    try:
        return str(error)[:LONGEST]
    except BaseException:
        return ""


def main(folder: str, source: int = 0, target: int = 1) -> None:
    """Answer until there are no more requests."""
    requests, answers = os.fdopen(os.dup(source), encoding="utf-8"), os.dup(target)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), source)
    os.dup2(2, target)  # what the submission prints is no answer
    threading.stack_size(STACK)
    sys.path[:] = [folder, *(entry for entry in sys.path if not (Path(entry) / "minitorch").is_dir())]
    for line in requests:
        reply = f"{answered(json.loads(line))}\n".encode()
        while reply:
            reply = reply[os.write(answers, reply) :]


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
