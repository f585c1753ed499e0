"""Stage 5 - Guards: what a recorded program took for granted, and the scan that finds it.

A replay repeats kernels and runs no Python. So whatever Python looked at while the program was recorded must still be the same: the
function's own variables, the modules, parameters, optimizers, lists and numbers that they lead to.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import numpy as np

from minitorch.compiler.guard_check import CheckWriter
from minitorch.compiler.nesting import layout_of
from minitorch.compiler.recorder import NotRecordable
from minitorch.core.context import grad_mode
from minitorch.core.tensor_base import TensorBase
from minitorch.kernels.jit import threads
from minitorch.module import Module, Parameter

PLAIN = (int, float, complex, str, bytes, bool, type(None), np.dtype, np.number, np.bool_)
"""Values that are compared by value; all others by identity."""

DEPTH, ENTRIES = 8, 64
"""How far the scan follows objects, and the longest list or dictionary whose entries it looks at; of a longer one the length counts."""

IGNORED = {"_hooks", "_pre_hooks", "derivative", "grad"}
"""Attributes that are no guards: hooks are refused, gradients are results."""

DECISIVE = ("momentum", "nesterov", "centered")
"""Settings of optimizers that decide which kernel runs."""

MISSING = object()


class Guards:
    """What a program took for granted.

    Attributes:
        tensors: The tensors found, each with the path that led to it: "model.layer1.weights".
        optimizers: The optimizers found.
        modules: The modules found.
    """

    def __init__(self, fn: Any) -> None:
        self.tensors: dict[Any, str] = {}
        self.optimizers: list[Any] = []
        self.modules: list[Module] = []
        self._entries: list[tuple[dict[Any, Any], Any, Any, str]] = []  # dictionary, key, value, path
        self._cells: list[tuple[Any, Any, str]] = []
        self._lists: list[tuple[Any, tuple[Any, ...], str]] = []
        self._parameters: list[tuple[Parameter, Any, str]] = []
        self._storages: list[tuple[Any, Any, Any, bool, str]] = []
        self._seen: set[int] = set()
        self._mode = grad_mode.enabled, threads()
        self._settings = ()
        self._check: Callable[[], bool] | None = None
        self._names = frozenset(_names_used(fn))
        self._scan(fn, "", 0)
        self._settings = self.structure()

    # The scan

    def _scan(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, (*PLAIN, type, types.ModuleType)) or depth > DEPTH or id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, TensorBase):
            self._add_tensor(value, path)
        elif isinstance(value, Parameter):
            self._parameters.append((value, value.value, path))
            self._scan(value.value, path, depth)
        elif _is_optimizer(value):
            self._scan_optimizer(value, path or "optimizer", depth)
        elif isinstance(value, types.MethodType):
            self._scan(value.__self__, path, depth)
            self._scan(value.__func__, path, depth)
        elif isinstance(value, types.FunctionType):
            self._scan_function(value, depth)
        elif isinstance(value, functools.partial):
            self._scan([value.func, value.args, value.keywords], path, depth)
        elif isinstance(value, dict):
            self._scan_dict(value, path, depth, "[{!r}]")
        elif isinstance(value, (list, tuple)):
            self._scan_list(value, path, depth)
        elif isinstance(value, Module) or not _is_foreign(type(value)):
            self._scan_object(value, path, depth)

    def _add_tensor(self, x: Any, path: str) -> None:
        self.tensors[x] = path or "tensor"
        if x._hooks:
            raise NotRecordable(f"{path or 'a tensor'} has a hook, which is Python; remove it, or leave the function uncompiled")
        self._storages.append((x, x._tensor, getattr(x._tensor, "_storage", None), x.history is None, path))

    def _scan_function(self, fn: Any, depth: int) -> None:
        if fn.__module__.partition(".")[0] in LIBRARIES:
            return
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            self._cells.append((cell, content, name))
            self._scan(content, name, depth + 1)
        for name in _global_names(fn.__code__):
            if name in fn.__globals__:
                value = fn.__globals__[name]
                self._entries.append((fn.__globals__, name, value, name))
                self._scan(value, name, depth + 1)
        for value in [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]:
            self._scan(value, "a default argument", depth + 1)

    def _scan_optimizer(self, optimizer: Any, path: str, depth: int) -> None:
        self.optimizers.append(optimizer)
        self._lists.append((optimizer.param_groups, tuple(optimizer.param_groups), f"{path}.param_groups"))
        for group in optimizer.param_groups:
            self._lists.append((group["params"], tuple(group["params"]), f"{path}.params"))
            for parameter in group["params"]:
                self._scan(parameter, parameter.name or f"{path}.params", depth + 1)

    def _scan_dict(self, value: dict[Any, Any], path: str, depth: int, form: str, names: Container[str] | None = None) -> None:
        if len(value) > ENTRIES and names is None:
            return
        for key, entry in list(value.items()):
            if key in IGNORED or (names is not None and key not in names):
                continue
            place = path + form.format(key) if path else str(key)
            self._entries.append((value, key, entry, place))
            self._scan(entry, place, depth + 1)

    def _scan_list(self, value: Any, path: str, depth: int) -> None:
        if len(value) > ENTRIES:
            return
        if isinstance(value, list):
            self._lists.append((value, tuple(value), path))
        for i, entry in enumerate(value):
            self._scan(entry, f"{path}[{i}]", depth + 1)

    def _scan_object(self, value: Any, path: str, depth: int) -> None:
        attributes = getattr(value, "__dict__", None)
        if attributes is None:
            return
        if isinstance(value, Module):
            self.modules.append(value)
        for name in ("_hooks", "_pre_hooks"):
            if isinstance(value, Module) and attributes.get(name):
                raise NotRecordable(f"{path or type(value).__name__} has a hook, which is Python; remove it, or leave it uncompiled")
        for registry in ("_parameters", "_modules"):
            if isinstance(value, Module) and registry in attributes:
                self._seen.add(id(attributes[registry]))
                self._scan_dict(attributes[registry], path, depth, ".{}")
        used = None if _is_foreign(type(value)) else self._names  # a user's object may have others, such as a list of losses
        self._scan_dict(attributes, path, depth, ".{}", used)
        for name in self._names | {"forward", "__call__"}:
            function = inspect.getattr_static(type(value), name, None)
            if isinstance(function, types.FunctionType):
                self._scan(function, path, depth)

    def forget(self, holder: dict[Any, Any], key: Any) -> None:
        """No longer take an entry of a dictionary for granted, because the program itself sets it."""
        gone = [entry[2] for entry in self._entries if entry[0] is holder and entry[1] == key]
        self._entries = [entry for entry in self._entries if entry[0] is not holder or entry[1] != key]
        self._storages = [each for each in self._storages if all(each[0] is not value for value in gone)]
        for value in gone:
            self.tensors.pop(value, None)

    def watch_state(self) -> list[Any]:
        """Take the tensors of the optimizers' state for granted as well, which exist after the first step; returns them."""
        found = []
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                for name, entry in state.items():
                    if isinstance(entry, TensorBase):
                        path = f"the optimizer's {name} of {parameter.name or 'a parameter'}"
                        self._entries.append((state, name, entry, path))
                        self._add_tensor(entry, path)
                        found.append(entry)
        return found

    # The check

    def hold(self) -> bool:
        """Whether nothing differs, as far as identity tells; if not, `failed` says what, or that values are equal after all."""
        if self._check is None:
            self._check = self._write_check()
        return self._check()

    def _write_check(self) -> Callable[[], bool]:
        """All guards as one expression."""
        writer = CheckWriter()
        writer.add("{}.enabled is {} and {}() == {}", grad_mode, self._mode[0], threads, self._mode[1])
        writer.add_all("{}.value is {}", ((parameter, value) for parameter, value, _ in self._parameters))
        for x, data, storage, is_constant, _ in self._storages:
            form = "{}._tensor is {} and {}._storage is {} and {}.history is " + ("None" if is_constant else "not None")
            writer.add(form, x, data, data, storage, x) if storage is not None else writer.add("{}._tensor is {}", x, data)
        writer.add_all("{}.get({}, {}) is {}", ((holder, key, MISSING, value) for holder, key, value, _ in self._entries))
        writer.add_all("{}.cell_contents is {}", ((cell, value) for cell, value, _ in self._cells))
        for entries, before, _ in self._lists:
            writer.add("len({}) == {}", entries, len(before))
            writer.add_all("{}[{}] is {}", ((entries, i, entry) for i, entry in enumerate(before)))
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                for name in DECISIVE:
                    writer.add("{}.get({}) is {}", group, name, group.get(name)) if name in group else None
        return writer.function()

    def failed(self) -> str:
        """What differs now, in words; "" if nothing does."""
        if (grad_mode.enabled, threads()) != self._mode:
            return "grad mode or the number of threads"
        for parameter, value, path in self._parameters:
            if parameter.value is not value:
                return f"the value of {path}"
        for x, data, storage, is_constant, path in self._storages:
            if x._tensor is not data or getattr(data, "_storage", None) is not storage or (x.history is None) is not is_constant:
                return f"{path}, its storage or whether it requires gradients"
        for holder, key, value, path in self._entries:
            now = holder.get(key, MISSING)
            if now is not value and not _same(now, value):
                return f"{path}, which was {_short(value)} and is {_short(now)}"
        for cell, value, name in self._cells:
            now = _content(cell)
            if now is not value and not _same(now, value):
                return f"{name}, which was {_short(value)} and is {_short(now)}"
        for entries, before, path in self._lists:
            if len(entries) != len(before) or not all(a is b or _same(a, b) for a, b in zip(entries, before, strict=True)):
                return f"the entries of {path}"
        return "a setting that decides on the optimizer's kernel" if self.structure() != self._settings else ""

    def structure(self) -> tuple[Any, ...]:
        """The settings of optimizers that decide which kernel runs; all others are read at every step."""
        return tuple([bool(group.get(name)) for optimizer in self.optimizers for group in optimizer.param_groups for name in DECISIVE])


def _is_optimizer(value: Any) -> bool:
    """Whether it has what an Optimizer has: groups of parameters, and their state."""
    return hasattr(type(value), "step") and isinstance(getattr(value, "param_groups", None), list) and hasattr(value, "state")


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _same(now: Any, before: Any) -> bool:
    """Whether two plain values are equal; NaN equals NaN."""
    return type(now) is type(before) and isinstance(now, PLAIN) and (now == before or (now != now and before != before))


def _short(value: Any) -> str:
    text = "missing" if value is MISSING else repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


def _global_names(code: types.CodeType) -> Iterator[str]:
    """The names that a function and those defined in it may look up among the globals."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _names_used(fn: Any) -> set[str]:
    """The names of globals and attributes that occur in a function and, directly or indirectly, in what it may call outside libraries."""
    names: set[str] = set()
    waiting, seen = [fn], set()
    while waiting:
        value = waiting.pop()
        value = value.__func__ if isinstance(value, types.MethodType) else value
        owner = getattr(value, "__self__", value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            if value.__module__.partition(".")[0] in LIBRARIES:
                continue
            names.update(_global_names(value.__code__))
            waiting += [value.__globals__.get(name) for name in _global_names(value.__code__)]
            waiting += [content for cell in value.__closure__ or () if (content := _content(cell)) is not MISSING]
        elif isinstance(value, Module):
            waiting += [getattr(type(value), name, None) for name in vars(type(value))] + list(value._modules.values())
        elif not isinstance(value, (type, types.ModuleType)) and not _is_foreign(type(value)):
            waiting += [function for function in vars(type(value)).values() if isinstance(function, types.FunctionType)]
        if owner is not value:
            waiting.append(owner)
    return names


LIBRARIES = {"minitorch", "numpy", "numba", "builtins", "random", "threading", "typing", "collections", "pathlib", "re", "logging", "math"}


def _is_foreign(kind: type) -> bool:
    """Whether objects of a class belong to a library, whose attributes are not scanned."""
    return kind.__module__.partition(".")[0] in LIBRARIES


def argument_key(value: Any, tensors: list[Any]) -> Any:
    """What decides whether a recording fits an argument; its tensors are appended to the list.

    Args:
        value: An argument: a tensor, a plain value, or tuples, lists and dictionaries of them; of anything else the identity counts.
        tensors: Receives the tensors.
    """
    if isinstance(value, TensorBase):
        tensors.append(value)
        return "tensor", *layout_of(value)
    if isinstance(value, (list, tuple)):
        return type(value), tuple([argument_key(entry, tensors) for entry in value])
    if isinstance(value, Mapping):
        return dict, tuple([(key, argument_key(entry, tensors)) for key, entry in value.items()])
    if isinstance(value, PLAIN):
        return type(value), value if value == value else "nan"
    return id(value)
