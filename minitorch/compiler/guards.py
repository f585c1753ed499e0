"""Stage 5 - Guards: what a recorded program took for granted.

A replay repeats kernels and runs no Python. So whatever Python looked at while the program was recorded must still be the same: the
function's own variables, the modules, parameters, optimizers, lists and numbers that they lead to; see `scan`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np

from minitorch.compiler.guard_check import FunctionWriter, compiled_term
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


class Guard:
    """One thing taken for granted.

    Args:
        text: What differs where it does not hold, in words, or a function that returns it.
        term: Its term of the check, as for `FunctionWriter.add`: a form, and the objects in it, first the one that it is about.
        same: Whether it holds apart from objects that were replaced by equal ones.
        restore: Takes back what the recorded function changed.
    """

    def __init__(self, text: Any, *term: Any, same: Callable[[], bool] | None = None, restore: Callable[[], object] | None = None) -> None:
        self._text, self.term, self._same, self._restore = text, term, same, restore

    def holds(self) -> bool:
        """Whether its term is true."""
        try:
            return compiled_term(self.term[0], len(self.term) - 1)(*self.term[1:])
        except DIFFERS:
            return False

    def describe(self) -> str:
        """What differs now, in words; "" if nothing does."""
        if self.holds() or (self._same is not None and self._same()):
            return ""
        return self._text if isinstance(self._text, str) else self._text()

    def restore(self) -> None:
        """Take back what the recorded function changed; results, such as gradients, stay."""
        if self._restore is not None and not self.holds():
            self._restore()


def value_guard(path: str, value: Any, now: Callable[[], Any], restore: Callable[[], object] | None, *term: Any) -> Guard:
    """The value of a variable, or MISSING; now() returns the present one."""
    return Guard(
        lambda: f"{path}, which was {_short(value)} and is {_short(now())}", *term, same=lambda: _same(now(), value), restore=restore
    )


def entry_guard(holder: Any, key: Any, value: Any, path: str) -> Guard:
    """An entry of a dictionary, such as a global variable."""
    absent = value is MISSING or hasattr(type(holder), "__missing__")
    term = ("{}.get({}, {}) is {}", holder, key, MISSING, value) if absent else ("{}[{}] is {}", holder, key, value)
    restore = partial(operator.delitem, holder, key) if value is MISSING else partial(operator.setitem, holder, key, value)
    restore = restore if isinstance(holder, dict) else None  # not the attributes of a class
    return value_guard(path, value, partial(holder.get, key, MISSING), restore, *term)


def storage_guards(x: Any, path: str) -> list[Guard]:
    """That a tensor keeps its storage, and a history or none."""
    data = x._tensor
    term = ("{}._tensor is {}", x, data) if x.backend.cuda else ("{}._tensor is {} and {}._storage is {}", x, data, data, data._storage)
    history = f"({{}}.history is None) is {x.history is None}"
    return [Guard(f"the storage of {path}", *term), Guard(f"whether {path} requires gradients", history, x)]


def gradient_guard(x: Any, path: str) -> Guard:
    """That a tensor has a gradient, or none."""
    was = "None" if x.grad is None else "there"
    return Guard(f"the gradient of {path}, which was {was} before the call", f"({{}}.grad is None) is {x.grad is None}", x)


def list_guard(entries: Any, before: tuple[Any, ...], path: str) -> Guard:
    """The entries of a list or set."""
    term = ("{}({}, {})", _same_entries, entries, before)
    if isinstance(entries, list) and len(before) <= 32:  # short enough to be written out
        form = f"len({{}}) == {len(before)}" + "".join(f" and {{}}[{number}] is {{}}" for number in range(len(before)))
        term = (form, entries, *(part for entry in before for part in (entries, entry)))
    same, restore = partial(_same_entries, entries, before), partial(_refill, entries, before)
    return Guard(f"the entries of {path}", *term, same=same, restore=restore)


def guards_of(found: Scan) -> Iterable[Guard]:
    """The guards of what a scan found, except gradients and names of attributes."""
    yield Guard("grad mode, the default dtype or the number of threads", "{}() == {}", _modes, _modes())
    for parameter, value, path in found.parameters:
        restore = partial(setattr, parameter, "value", value)
        yield Guard(f"the value of {path}, which is another tensor", "{}.value is {}", parameter, value, restore=restore)
    for x, path in found.tensors.items():
        yield from (*storage_guards(x, path), Guard(f"the hooks of {path}", "not {}._hooks", x))
    for hooks, path in found.hooks:
        yield Guard(f"the hooks of {path}", "not {}", hooks)
    yield from starmap(entry_guard, found.entries)
    for holder, name, value, path in found.attributes:
        restore = None if value is MISSING else partial(setattr, holder, name, value)
        now = partial(getattr, holder, name, MISSING)
        yield value_guard(path, value, now, restore, "{}({}, {}, {}) is {}", getattr, holder, name, MISSING, value)
    for cell, value, path in found.cells:
        term = ("{}({}) is {}", _content, cell, value) if value is MISSING else ("{}.cell_contents is {}", cell, value)
        restore = None if value is MISSING else partial(setattr, cell, "cell_contents", value)
        yield value_guard(path, value, partial(_content, cell), restore, *term)
    for holder, size, path in found.sizes:
        restore = partial(_shorten, holder, size)
        yield value_guard(f"the number of entries of {path}", size, partial(len, holder), restore, "len({}) == {}", holder, size)
    yield from starmap(list_guard, found.lists)
    for array, before, path in found.arrays:
        restore = partial(np.copyto, array, before) if array.shape == before.shape else None
        yield Guard(f"the numbers of the NumPy array {path}", "{}({}, {})", _same_array, array, before, restore=restore)
    groups = [group for optimizer in found.optimizers for group in optimizer.param_groups]
    for group, name in ((group, name) for group in groups for name in DECISIVE if name in group):
        text = f"a setting that decides on the optimizer's kernel: {', '.join(DECISIVE)}"
        yield Guard(text, "(not {}[{}]) is {}", group, name, not group[name])


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
        self._guards = list(guards_of(found))
        self._names = [(attributes, set(attributes), path) for attributes, path in found.objects]
        for attributes, names, path in self._names:
            restore = partial(_remove_new, attributes, names)
            self._guards.append(Guard(f"the attributes of {path}", "len({}) == len({})", attributes, names, restore=restore))
        self._gradients = list(starmap(gradient_guard, found.tensors.items()))  # of frozen ones as well: an optimizer steps them
        self._all_settings = self.settings()
        self._check: Callable[[], bool] | None = None

    def forget(self, holder: dict[Any, Any], key: Any) -> None:
        """No longer take an entry of a dictionary for granted, because the program itself sets it."""
        entries = [guard for guard in self._guards if guard.term[1] is holder and guard.term[2] == key]
        gone = [guard.term[-1] for guard in entries if isinstance(guard.term[-1], TensorBase)]
        self._guards = [guard for guard in self._guards if guard not in entries and all(guard.term[1] is not x for x in gone)]
        for x in gone:
            self.tensors.pop(x, None)
        for attributes, names, _ in self._names:
            names |= {key} if attributes is holder else set()

    def forget_gradient(self, x: Any) -> None:
        """No longer take for granted that a tensor had a gradient, or none, because the program clears it first."""
        self._gradients = [guard for guard in self._gradients if guard.term[1] is not x]

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
                self._guards.append(entry_guard(optimizer.state, parameter, state, f"the optimizer's state of {name_of(parameter)}"))
        for state, name, entry, path in self.state_tensors():
            if id(state) not in owned:
                self._guards += [entry_guard(state, name, entry, path), *storage_guards(entry, path)]
                found.append((entry, path))
        return found

    # The check

    def hold(self) -> bool:
        """Whether nothing differs, as far as identity tells; if not, `failed` says what, or that values are equal after all."""
        if self._check is None:
            writer = FunctionWriter()
            self.write_check(writer)
            self._check = writer.check()
        try:
            return self._check()
        except DIFFERS:
            return False

    def write_check(self, writer: FunctionWriter) -> None:
        """Write all guards as terms of an expression, which may raise DIFFERS instead of being false."""
        for guard in self._guards + self._gradients:
            writer.add(*guard.term)

    def failed(self) -> str:
        """What differs now, in words; "" if nothing does."""
        return next(filter(None, (guard.describe() for guard in self._guards + self._gradients)), "")

    def changed_by_python(self) -> str:
        """What the function changed while it was recorded that a replay would not change, in words; "" if nothing.

        Gradients do not count: they are results.
        """
        for attributes, names, path in self._names:
            names |= {KEPT} & attributes.keys()
            if new := [name for name in attributes if name not in names]:
                return f"{path or 'an object'}.{new[0]}, which is new"
        found = next(filter(None, (guard.describe() for guard in self._guards)), "")
        return found or ("" if self.settings() == self._all_settings else "a setting of the optimizer, such as its learning rate")

    def restore(self) -> None:
        """Take back what the function changed while it was recorded, because it will be called again."""
        for guard in self._guards:
            guard.restore()

    def settings(self) -> list[dict[str, Any]]:
        """All settings of the optimizers, without the parameters."""
        return [
            {name: value for name, value in group.items() if name != "params"} for each in self.optimizers for group in each.param_groups
        ]


def states_of(optimizer: Any) -> dict[Any, dict[str, Any]]:
    """The state of each parameter, with the engine's tensors in it."""
    return dict(optimizer.state)


def name_of(parameter: Any) -> str:
    """A parameter's name for messages."""
    return getattr(parameter, "name", None) or "a parameter"


def _modes() -> tuple[Any, ...]:
    """What decides on all results, whatever the function refers to."""
    return grad_mode.enabled, threads(), get_default_dtype()


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # deleted
        return MISSING


def _refill(entries: Any, before: tuple[Any, ...]) -> None:
    entries.clear()
    (entries.update if isinstance(entries, set) else entries.extend)(before)


def _shorten(holder: dict[Any, Any], size: int) -> None:
    while len(holder) > size:
        holder.popitem()


def _remove_new(attributes: dict[str, Any], names: set[str]) -> None:
    for name in attributes.keys() - names:
        del attributes[name]


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
