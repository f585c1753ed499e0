"""Stage 5 - Guards: what a recorded program took for granted.

A replay repeats kernels and runs no Python. So whatever Python looked at while the program was recorded must still be the same: the
function's own variables, the modules, parameters, optimizers, lists and numbers that they lead to; see `scan`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from minitorch.compiler.guard_check import CheckWriter
from minitorch.compiler.nesting import layout_of
from minitorch.compiler.scan import KEPT, MISSING, PLAIN, Scan, sample
from minitorch.core.context import grad_mode
from minitorch.core.dtypes import get_default_dtype
from minitorch.core.tensor_base import TensorBase
from minitorch.kernels.jit import threads

DECISIVE = ("momentum", "nesterov", "centered", "amsgrad", "maximize")
"""Settings of optimizers that decide which kernel runs; all others are read at every step."""

DIFFERS = (KeyError, IndexError, ValueError)
"""What a term of a check may raise instead of being false: a missing key, a shorter list, an empty cell."""

WRITTEN_OUT = 32
"""The longest list whose entries are terms of their own."""


class Guards:
    """What a program took for granted.

    Args:
        fn: The function.
        args: Its arguments that are no tensors, such as a module; see `scan.Scan`.

    Attributes:
        tensors: The tensors found, each with the path that led to it: "model.layer1.weights".
        optimizers: The optimizers found.
        modules: The modules found.
    """

    def __init__(self, fn: Any, args: Any = ()) -> None:
        found = Scan(fn, args)
        self.tensors, self.optimizers, self.modules = found.tensors, found.optimizers, found.modules
        self._entries, self._cells, self._lists = found.entries, found.cells, found.lists
        self._attributes, self._arrays, self._sizes = found.attributes, found.arrays, found.sizes
        self._parameters, self._hooks = found.parameters, found.hooks
        self._names = [(attributes, frozenset(attributes), path) for attributes, path in found.objects]
        self._storages = [_storage(x, path) for x, path in found.tensors.items()]
        self._graded = [(x, x.grad is None, path) for x, path in found.tensors.items()]  # frozen ones as well: an optimizer steps them
        self._modes = _modes()
        self._decided = [
            (group, name, group[name]) for each in self.optimizers for group in each.param_groups for name in DECISIVE if name in group
        ]
        self._all_settings = self.settings()
        self._check: Callable[[], bool] | None = None

    def forget(self, holder: dict[Any, Any], key: Any) -> None:
        """No longer take an entry of a dictionary for granted, because the program itself sets it."""
        gone = [entry[2] for entry in self._entries if entry[0] is holder and entry[1] == key]
        self._entries = [entry for entry in self._entries if entry[0] is not holder or entry[1] != key]
        self._storages = [each for each in self._storages if all(each[0] is not value for value in gone)]
        self._names = [(names, before | {key} if names is holder else before, path) for names, before, path in self._names]
        for value in gone:
            if isinstance(value, TensorBase):
                self.tensors.pop(value, None)

    def state_tensors(self) -> Iterable[tuple[dict[str, Any], str, Any, str]]:
        """The tensors of the optimizers' state: the dictionary that holds each, its name there, the tensor, and its name in messages."""
        for optimizer in self.optimizers:
            for parameter, state in states_of(optimizer).items():
                for name, entry in state.items():
                    if isinstance(entry, TensorBase):
                        yield state, name, entry, f"the optimizer's {name} of {name_of(parameter)}"

    def path_of(self, holder: dict[str, Any], name: str) -> str:
        """The path of an attribute for messages."""
        return next((f"{path}.{name}" for attributes, _, path in self._names if attributes is holder), name)

    def watch_state(self, owned: Mapping[int, Any]) -> list[tuple[Any, str]]:
        """Take the optimizers' state for granted as well, as it is after the recorded step.

        Args:
            owned: States that Python reads again in a replay, by identity.

        Returns:
            The tensors of the other states, with their names.
        """
        found = []
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                self._entries.append((optimizer.state, parameter, state, f"the optimizer's state of {name_of(parameter)}"))
        for state, name, entry, path in self.state_tensors():
            if id(state) not in owned:
                self._entries.append((state, name, entry, path))
                self._storages.append(_storage(entry, path))
                found.append((entry, path))
        return found

    # The check

    def hold(self) -> bool:
        """Whether nothing differs, as far as identity tells; if not, `failed` says what, or that values are equal after all."""
        if self._check is None:
            writer = CheckWriter()
            self.write_check(writer)
            self._check = writer.function()
        try:
            return self._check()
        except DIFFERS:
            return False

    def write_check(self, writer: CheckWriter) -> None:
        """Write all guards as terms of an expression, which may raise DIFFERS instead of being false."""
        writer.add("{}() == {}", _modes, self._modes)
        writer.add_all("{}.value is {}", ((parameter, value) for parameter, value, _ in self._parameters))
        for x, data, storage, history, _ in self._storages:
            kind = "is None" if history is None else "is not None"
            form = "{}._tensor is {} and {}._storage is {} and {}.history " + kind
            writer.add(form, x, data, data, storage, x) if storage is not None else writer.add("{}._tensor is {}", x, data)
        for x, is_none, _ in self._graded:
            writer.add("{}.grad is None" if is_none else "{}.grad is not None", x)
        writer.add_all("not {}._hooks", ((x,) for x in self.tensors))
        writer.add_all("not {}", ((hooks,) for hooks, _ in self._hooks))
        for holder, key, value, _ in self._entries:
            if value is MISSING or hasattr(type(holder), "__missing__"):
                writer.add("{}.get({}, {}) is {}", holder, key, MISSING, value)
            else:
                writer.add("{}[{}] is {}", holder, key, value)
        writer.add_all("{}({}, {}) is {}", ((_attribute, holder, name, value) for holder, name, value, _ in self._attributes))
        writer.add_all("{}.cell_contents is {}", ((cell, value) for cell, value, _ in self._cells if value is not MISSING))
        writer.add_all("{}({}) is {}", ((_content, cell, value) for cell, value, _ in self._cells if value is MISSING))
        writer.add_all("len({}) == {}", ((holder, size) for holder, size, _ in self._sizes))
        writer.add_all("len({}) == {}", ((attributes, len(names)) for attributes, names, _ in self._names))
        for entries, before, _ in self._lists:
            if isinstance(entries, list) and len(before) <= WRITTEN_OUT:
                writer.add("len({}) == {}", entries, len(before))
                writer.add_all("{}[{}] is {}", ((entries, number, entry) for number, entry in enumerate(before)))
            else:
                writer.add("{}({}, {})", _same_entries, entries, before)
        writer.add_all("{}({}, {})", ((_same_array, array, before) for array, before, _ in self._arrays))
        writer.add_all("{}[{}] is {}", self._decided)

    def failed(self) -> str:
        """What differs now, in words; "" if nothing does."""
        if _modes() != self._modes:
            return "grad mode, the default dtype or the number of threads"
        for parameter, value, path in self._parameters:
            if parameter.value is not value:
                return f"the value of {path}, which is another tensor"
        for x, data, storage, history, path in self._storages:
            if x._tensor is not data or (storage is not None and data._storage is not storage):
                return f"the storage of {path}"
            if (x.history is None) is not (history is None):
                return f"whether {path} requires gradients"
        for x, is_none, path in self._graded:
            if (x.grad is None) is not is_none:
                return f"the gradient of {path}, which was {'None' if is_none else 'there'} before the call"
        for x, path in self.tensors.items():
            if x._hooks:
                return f"the hooks of {path}"
        for hooks, path in self._hooks:
            if hooks:
                return f"the hooks of {path}"
        return self._failed_values() or self._failed_containers()

    def _failed_values(self) -> str:
        """Which variable or attribute differs."""
        held = [(holder.get(key, MISSING), value, path) for holder, key, value, path in self._entries]
        held += [(_attribute(holder, name), value, path) for holder, name, value, path in self._attributes]
        held += [(_content(cell), value, name) for cell, value, name in self._cells]
        for now, value, path in held:
            if now is not value and not _same(now, value):
                return f"{path}, which was {_short(value)} and is {_short(now)}"
        return ""

    def _failed_containers(self) -> str:
        """Which list, dictionary, array or setting differs."""
        for holder, size, path in self._sizes:
            if len(holder) != size:
                return f"the number of entries of {path}, which was {size} and is {len(holder)}"
        for entries, before, path in self._lists:
            if not _same_entries(entries, before):
                return f"the entries of {path}"
        for array, before, path in self._arrays:
            if not _same_array(array, before):
                return f"the numbers of the NumPy array {path}"
        for attributes, names, path in self._names:
            if len(attributes) != len(names):
                return f"the attributes of {path}"
        if any(bool(group.get(name)) != bool(value) for group, name, value in self._decided):
            return f"a setting that decides on the optimizer's kernel: {', '.join(DECISIVE)}"
        return ""

    def changed_by_python(self) -> str:
        """What the function changed while it was recorded that a replay would not change, in words; "" if nothing.

        Gradients do not count: they are results.
        """
        self._names = [(attributes, names | ({KEPT} & attributes.keys()), path) for attributes, names, path in self._names]
        for attributes, names, path in self._names:
            new = [name for name in attributes if name not in names]
            if new:
                return f"{path or 'an object'}.{new[0]}, which is new"
        graded, self._graded = self._graded, []
        found = self.failed()
        self._graded = graded
        if found:
            return found
        return "" if self.settings() == self._all_settings else "a setting of the optimizer, such as its learning rate"

    def restore(self) -> None:
        """Take back what the function changed while it was recorded, because it will be called again."""
        for parameter, value, _ in self._parameters:
            parameter.value = value
        for holder, key, value, _ in self._entries:
            if isinstance(holder, dict) and holder.get(key, MISSING) is not value:
                holder[key] = value
        for holder, name, value, _ in self._attributes:
            if value is not MISSING and _attribute(holder, name) is not value:
                setattr(holder, name, value)
        for cell, value, _ in self._cells:
            if value is not MISSING and _content(cell) is not value:
                cell.cell_contents = value
        for entries, before, _ in self._lists:
            if not _same_entries(entries, before):
                entries.clear()
                (entries.update if isinstance(entries, set) else entries.extend)(before)
        for holder, size, _ in self._sizes:
            while len(holder) > size:
                holder.popitem() if isinstance(holder, dict) else holder.pop()
        for array, before, _ in self._arrays:
            if array.shape == before.shape and not _same_array(array, before):
                array[...] = before
        for attributes, names, _ in self._names:
            for name in [name for name in attributes if name not in names]:
                del attributes[name]

    def settings(self) -> list[dict[str, Any]]:
        """All settings of the optimizers, without the parameters."""
        return [
            {name: value for name, value in group.items() if name != "params"} for each in self.optimizers for group in each.param_groups
        ]


def states_of(optimizer: Any) -> dict[Any, dict[str, Any]]:
    """The state of each parameter, with the engine's tensors in it."""
    return {parameter: getattr(state, "engine", state) for parameter, state in optimizer.state.items()}


def name_of(parameter: Any) -> str:
    """A parameter's name for messages."""
    return getattr(parameter, "name", None) or "a parameter"


def _modes() -> tuple[Any, ...]:
    """What decides on all results, whatever the function refers to."""
    return grad_mode.enabled, threads(), get_default_dtype()


def _storage(x: Any, path: str) -> tuple[Any, Any, Any, Any, str]:
    return x, x._tensor, None if x.backend.cuda else x._tensor._storage, x.history, path


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # deleted
        return MISSING


def _attribute(holder: Any, name: str) -> Any:
    return getattr(holder, name, MISSING)


def _same(now: Any, before: Any) -> bool:
    """Whether two plain values are equal; NaN equals NaN."""
    return type(now) is type(before) and isinstance(now, PLAIN) and (now == before or (now != now and before != before))


def _same_entries(entries: Any, before: tuple[Any, ...]) -> bool:
    """Whether a list or set still has the same entries."""
    if len(entries) != len(before):
        return False
    return all(map(operator.is_, entries, before)) or all(a is b or _same(a, b) for a, b in zip(entries, before, strict=True))


def _same_array(array: np.ndarray, before: np.ndarray) -> bool:
    """Whether a NumPy array still holds the same numbers, as far as the sample tells."""
    array = sample(array)
    return array.shape == before.shape and array.dtype == before.dtype and array.tobytes() == before.tobytes()


def _short(value: Any) -> str:
    text = "missing" if value is MISSING else repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


class Identity:
    """An object that only equals itself, kept alive: in a key, its number alone might belong to another object later."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"a {type(self.value).__name__}"


def argument_key(value: Any, tensors: list[Any]) -> Any:
    """What decides whether a recording fits an argument; its tensors are appended to the list, each once.

    Args:
        value: An argument: a tensor, a plain value, or tuples, lists and dictionaries of them; of anything else the identity counts.
        tensors: Receives the tensors.
    """
    if isinstance(value, TensorBase):
        for number, x in enumerate(tensors):
            if x is value:
                return "again", number
        tensors.append(value)
        return "tensor", *layout_of(value), not value._hooks
    if isinstance(value, (list, tuple)):
        return type(value), tuple([argument_key(entry, tensors) for entry in value])
    if isinstance(value, dict):
        return dict, tuple([(key, argument_key(entry, tensors)) for key, entry in value.items()])
    if isinstance(value, PLAIN):
        return type(value), value if value == value else "nan"
    return Identity(value)


TENSOR = ("shape", "strides", "dtype", "requires_grad", "backend", "whether it has a gradient", "hooks")


def describe_call(now: Any, before: Any) -> str:
    """Where the keys of two calls' arguments (args, kwargs) differ, in words; "" if they are equal or there is no second one."""
    if before is None:
        return ""
    (_, (args, kwargs)), (_, (args_before, kwargs_before)) = now, before
    if len(args[1]) != len(args_before[1]):
        return f"the number of arguments, which was {len(args_before[1])} and is {len(args[1])}"
    if [name for name, _ in kwargs[1]] != [name for name, _ in kwargs_before[1]]:
        return "the names of keyword arguments"
    pairs = [(f"argument {number}", a, b) for number, (a, b) in enumerate(zip(args[1], args_before[1], strict=True))]
    pairs += [(f"argument {name!r}", a, b) for (name, a), (_, b) in zip(kwargs[1], kwargs_before[1], strict=True)]
    return next((describe_argument(a, b, path) for path, a, b in pairs if a != b), "")


def describe_argument(now: Any, before: Any, path: str) -> str:
    """Where the keys of an argument differ, in words."""
    if not isinstance(now, tuple) or not isinstance(before, tuple) or now[0] != before[0]:
        return path
    if now[0] == "tensor":
        what, a, b = next((name, a, b) for name, a, b in zip(TENSOR, now[1:], before[1:], strict=True) if a != b)
        return f"the {what} of {path}, which was {b} and is {a}" if what in TENSOR[:3] else f"{path} ({what})"
    if isinstance(now[0], type) and issubclass(now[0], PLAIN):
        return f"{path}, which was {before[1]!r} and is {now[1]!r} (pass a number that changes as a tensor)"
    return path
