"""Runs in the sandbox: imports a submission, executes the requested steps, and answers in plain data. It knows no expected value.

Started as `python -I child.py FOLDER [IN OUT]`, with the file descriptors of requests and answers; the default is standard input and
output. A request is a line of JSON, and so is an answer.

* A request is {"id": …, "programs": [[[step, …], [value, …]], …]}: the steps of each program, and the values to return. The answer is
  {"id": …, "answers": [[plain, …], …]}; a program whose step raised an exception has {"error": [[names of its classes], message]} instead
  of a list.
* A step computes a value: ["find", "module:qualified.name"], ["get", value, name], ["call", value, [argument, …], {name: argument}], or
  ["function", [step, …], value], a function that executes those steps.
* A value is a number, a string, null, a list of values, or one of {"step": index of an earlier step}, {"argument": index, in a
  function}, {"tuple": [value, …]}, {"float": "nan", "inf" or "-inf"}.
* Plain data is the same without steps, and {"number": [class, value]} for numbers that are not Python's own, {"array": […]} and
  {"tensor": […]}, {"object": class} for everything else.

Until a request asks for another import, it imports only the standard library.
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

MAX_ITEMS = 60_000
"""Maximum number of numbers and strings in an answer."""

MAX_DEPTH = 8
"""Maximum nesting depth of lists in an answer."""

STACK_SIZE = 1 << 19
"""Stack size of a thread in bytes; numba's CUDA simulator starts a thousand threads at once."""

MAX_LENGTH = 500
"""Maximum length of a string in an answer."""


class Worker:
    """Executes the steps of one program.

    Args:
        steps: The steps.
        arguments: The values of `{"argument": n}`.
    """

    def __init__(self, steps: list[Any], arguments: tuple[Any, ...] = ()) -> None:
        self.results: list[Any] = []
        self.arguments = arguments
        for kind, *parts in steps:
            self.results.append(getattr(self, f"_{kind}")(*parts))

    def value(self, coded: Any) -> Any:
        """Decode a value of a request."""
        if isinstance(coded, list):
            return [self.value(one) for one in coded]
        if not isinstance(coded, dict):
            return coded
        ((kind, content),) = coded.items()
        if kind == "step":
            return self.results[content]
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


class Encoder:
    """Encodes results as plain data, up to `MAX_ITEMS` numbers and strings."""

    def __init__(self) -> None:
        self.left = MAX_ITEMS

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """Encode a value.

        Raises:
            ValueError: If the answer is too large or nested too deeply.
        """
        if depth > MAX_DEPTH:
            raise ValueError(f"an answer may nest lists up to {MAX_DEPTH} deep")
        self._count(1)
        if value is None or type(value) in (bool, int):
            return value
        if isinstance(value, str):
            return str.__str__(value)[:MAX_LENGTH]
        if type(value) is float:
            return self._float(value)
        if type(value) in (list, tuple):
            items = [self(item, depth + 1) for item in value]
            return items if type(value) is list else {"tuple": items}
        if hasattr(value, "_tensor"):
            data = value._tensor
            layout = [[int(size) for size in data.shape], [int(stride) for stride in data.strides], getattr(data, "offset", 0)]
            return {"tensor": [*layout, value.history is not None, self._array(_elements(value))]}
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
            raise ValueError(f"an answer may contain up to {MAX_ITEMS} numbers and strings")


def _elements(tensor: Any) -> Any:
    """The elements of a tensor as an array; those of the original course's package are read without its own functions."""
    data = tensor._tensor
    if hasattr(data, "offset"):
        return tensor.to_numpy()
    numpy = importlib.import_module("numpy")
    storage = data._storage.copy_to_host() if hasattr(data._storage, "copy_to_host") else numpy.asarray(data._storage)
    steps = [int(stride) * storage.itemsize for stride in data.strides]
    return numpy.lib.stride_tricks.as_strided(storage, tuple(map(int, data.shape)), steps).copy()


def answer(request: dict[str, Any]) -> str:
    """The answer to a request, as a line of JSON."""
    return json.dumps({"id": request["id"], "answers": [run_program(*program) for program in request["programs"]]}, allow_nan=False)


def run_program(steps: list[Any], give: list[Any]) -> Any:
    """The values that a program returns, or the error that it raised."""
    try:
        worker, encode = Worker(steps), Encoder()
        given = [encode(worker.value(value)) for value in give]
        json.dumps(given, allow_nan=False)  # if this fails, only this program's answer is lost
        return given
    except BaseException as error:  # including SystemExit
        return {"error": [[kind.__name__ for kind in type(error).__mro__], message_of(error)]}


def message_of(error: BaseException) -> str:
    """The message of an error, shortened; empty if `str` fails."""
    try:
        return str(error)[:MAX_LENGTH]
    except BaseException:
        return ""


def main(folder: str, source: int = 0, target: int = 1) -> None:
    """Answer requests until the input ends."""
    requests, answers = os.fdopen(os.dup(source), encoding="utf-8"), os.dup(target)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), source)
    os.dup2(2, target)  # keeps the submission's prints out of the answers
    threading.stack_size(STACK_SIZE)
    sys.path[:] = [folder, *(entry for entry in sys.path if not (Path(entry) / "minitorch").is_dir())]
    for line in requests:
        reply = f"{answer(json.loads(line))}\n".encode()
        while reply:
            reply = reply[os.write(answers, reply) :]


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
