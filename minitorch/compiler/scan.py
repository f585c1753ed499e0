"""Stage 5 - The scan: finds what a function may look at, from its code, variables, default arguments and arguments.

It follows modules, objects, lists, tuples, dictionaries, sets, functions and classes of the user's own code. Of objects that are no
modules it looks at those attributes alone whose names occur in the code that the function may run.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections import deque
from collections.abc import Container, Iterator
from typing import Any

import numpy as np

from minitorch.compiler.recorder import NotRecordable
from minitorch.core.backend import TensorBackend
from minitorch.core.tensor_base import TensorBase
from minitorch.module import Module, Parameter

PLAIN = (int, float, complex, str, bytes, bool, type(None), np.dtype, np.number, np.bool_)
"""Values that are compared by value; all others by identity."""

DEPTH, ENTRIES, BYTES = 16, 1024, 1 << 16
"""How far the scan follows objects; the longest list or dictionary into whose entries it looks (of a longer dictionary the length counts,
of a longer list which objects it holds); and the size of the largest NumPy array of which all numbers are compared."""

LIBRARIES = {"minitorch", "numpy", "numba"} | set(sys.stdlib_module_names) - {"__main__"}
"""Modules whose functions and classes are not scanned, and so are all that are installed in site-packages."""

DYNAMIC = {"getattr", "vars", "__dict__", "eval", "exec", "attrgetter", "locals", "globals"}
"""Names by which code finds attributes whose names do not occur in it."""

SETTINGS = {"lr", "param_groups", "defaults", "get_last_lr"}
"""Names by which code reads an optimizer's settings itself."""

KEPT = "_compiled_methods"
"""The attribute in which an object keeps its compiled methods."""

IGNORED = {"_hooks", "_pre_hooks", "derivative", "grad", KEPT}
"""Attributes that are no guards: hooks are refused, gradients are results."""

MISSING = object()


class Scan:
    """What a function may look at.

    Args:
        fn: The function.
        args: Its arguments, in nested lists, tuples and dictionaries; tensors among them are left out.

    Attributes:
        tensors: The tensors, each with the path that led to it.
        optimizers: The optimizers.
        modules: The modules.
        parameters: Parameters and their values.
        entries: Dictionaries, keys and values.
        attributes: Objects with slots, names and values.
        cells: Cells of closures, and their contents.
        lists: Lists and sets, and their entries.
        sizes: Dictionaries, and their lengths.
        arrays: NumPy arrays, and their numbers; see `sample`.
        hooks: Dictionaries of a module's hooks, which must be empty.
        objects: The attributes of objects.

    The last item of each is a path for messages.

    Raises:
        NotRecordable: If a tensor or module has hooks.
    """

    def __init__(self, fn: Any, args: Any = ()) -> None:
        self.tensors: dict[Any, str] = {}
        self.optimizers: list[Any] = []
        self.modules: list[Module] = []
        self.parameters: list[tuple[Parameter, Any, str]] = []
        self.entries: list[tuple[dict[Any, Any], Any, Any, str]] = []
        self.attributes: list[tuple[Any, str, Any, str]] = []
        self.cells: list[tuple[Any, Any, str]] = []
        self.lists: list[tuple[Any, tuple[Any, ...], str]] = []
        self.sizes: list[tuple[Any, int, str]] = []
        self.arrays: list[tuple[np.ndarray, np.ndarray, str]] = []
        self.hooks: list[tuple[dict[Any, Any], str]] = []
        self.objects: list[tuple[dict[str, Any], str]] = []
        self._seen: dict[int, Any] = {}  # with the objects, so that no other one gets the same number
        others = list(_other_arguments(args))
        self._names, self._called = names_used([fn, *(value for value, _ in others)])
        self._is_dynamic = not DYNAMIC.isdisjoint(self._names)
        self._scan(fn, "", 0)
        for value, path in others:
            self._scan(value, path, 0)

    def _scan(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, (*PLAIN, TensorBackend)) or depth > DEPTH or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, TensorBase):
            self._add_tensor(value, path)
        elif isinstance(value, Parameter):
            self.parameters.append((value, value.value, path))
            self._scan(value.value, path, depth)
        elif isinstance(value, np.ndarray):
            if value.dtype.kind != "O":
                self.arrays.append((value, sample(value).copy(), path))
        elif isinstance(value, type):
            self._scan_class(value, path, depth)
        elif isinstance(value, types.ModuleType):
            if not is_library_module(value.__name__):
                self._scan_dict(vars(value), path, depth, ".{}", self._names)
        elif is_compiled(value):  # a compiled function guards what it refers to itself
            self._scan(getattr(value, "fn", None), path, depth)
        elif is_optimizer(value):
            self._scan_optimizer(value, path or "optimizer", depth)
        elif isinstance(value, types.MethodType):
            self._scan(value.__self__, path, depth)
            self._scan(value.__func__, path, depth)
        elif isinstance(value, types.FunctionType):
            self._scan_function(value, depth)
        elif isinstance(value, (staticmethod, classmethod, functools.cached_property)):
            self._scan(value.func if isinstance(value, functools.cached_property) else value.__func__, path, depth)
        elif isinstance(value, property):
            self._scan(value.fget, path, depth)
        elif isinstance(value, functools.partial):
            self._scan((value.func, value.args, value.keywords), path, depth)
        elif isinstance(value, dict):
            self.sizes.append((value, len(value), path))
            self._scan_dict(value, path, depth, "[{!r}]")
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            self._scan_list(value, path, depth)
        elif isinstance(value, Module) or not is_foreign(type(value)):
            self._scan_object(value, path, depth)

    def _add_tensor(self, x: Any, path: str) -> None:
        self.tensors[x] = path or "tensor"
        if x._hooks:
            raise NotRecordable(f"{path or 'a tensor'} has a hook, which is Python; remove it, or leave the function uncompiled")

    def _scan_function(self, fn: Any, depth: int) -> None:
        if is_library(fn):
            return
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:  # not assigned yet
                content = MISSING
            self.cells.append((cell, content, name))
            if content is not MISSING:
                self._scan(content, name, depth + 1)
        for name in global_names(fn.__code__):
            if name in fn.__globals__:
                value = fn.__globals__[name]
                self.entries.append((fn.__globals__, name, value, name))
                self._scan(value, name, depth + 1)
            elif name in global_variables(fn.__code__):  # it may be defined later, and hide a function of Python's
                self.entries.append((fn.__globals__, name, MISSING, name))
            elif isinstance(sys.modules.get(name), types.ModuleType):  # imported by the function itself
                self._scan(sys.modules[name], name, depth + 1)
        self._scan(fn.__defaults__, "a default argument", depth + 1)
        self._scan(fn.__kwdefaults__, "a default argument", depth + 1)

    def _scan_optimizer(self, optimizer: Any, path: str, depth: int) -> None:
        self.optimizers.append(optimizer)
        for name in ("param_groups", "state"):
            self.entries.append((vars(optimizer), name, getattr(optimizer, name), f"{path}.{name}"))
        self.lists.append((optimizer.param_groups, tuple(optimizer.param_groups), f"{path}.param_groups"))
        for group in optimizer.param_groups:
            self.lists.append((group["params"], tuple(group["params"]), f"{path}.params"))
            for parameter in group["params"]:
                self._scan(parameter, getattr(parameter, "name", None) or f"{path}.params", depth + 1)
            if not SETTINGS.isdisjoint(self._names):
                self._scan_dict(group, path, depth, ".{}", set(group) - {"params"})
        if not is_library(type(optimizer).step):  # a step of its own
            self._scan_class(type(optimizer), path, depth)
            self._scan_dict(vars(optimizer), path, depth, ".{}", set(vars(optimizer)) - {"param_groups", "state"})
            for group in optimizer.param_groups:
                self._scan_dict(group, path, depth, ".{}", set(group) - {"params"})

    def _scan_dict(self, value: Any, path: str, depth: int, form: str, names: Container[Any] | None = None) -> None:
        if len(value) > ENTRIES and names is None:
            return
        for key, entry in list(value.items()):
            if key in IGNORED or (names is not None and key not in names):
                continue
            if names is not None and key in self._called and isinstance(entry, PLAIN):  # `optimizer.step()` reads no `self.step`
                continue
            place = path + form.format(key) if path else str(key)
            self.entries.append((value, key, entry, place))
            self._scan(entry, place, depth + 1)

    def _scan_list(self, value: Any, path: str, depth: int) -> None:
        if not isinstance(value, (tuple, frozenset)):
            self.lists.append((value, tuple(value), path))
        for i, entry in enumerate(value if len(value) <= ENTRIES else ()):
            self._scan(entry, f"{path}[{i}]", depth + 1)

    def _scan_class(self, kind: type, path: str, depth: int) -> None:
        """The attributes and methods of a class and its bases, of the user's own code, whose names occur in the code."""
        for base in kind.__mro__:
            if not is_library(base):
                self._scan_dict(vars(base), path or kind.__name__, depth, ".{}", self._names | METHODS)

    def _scan_object(self, value: Any, path: str, depth: int) -> None:
        if isinstance(value, Module):
            self.modules.append(value)
        attributes = getattr(value, "__dict__", {})
        for name in ("_hooks", "_pre_hooks"):
            if isinstance(value, Module) and name in attributes:
                self.hooks.append((attributes[name], path or type(value).__name__))
                if attributes[name]:
                    raise NotRecordable(f"{path or type(value).__name__} has a hook, which is Python; remove it, or leave it uncompiled")
        for registry in ("_parameters", "_modules"):
            if isinstance(value, Module) and registry in attributes:
                self._seen[id(attributes[registry])] = attributes[registry]
                self.sizes.append((attributes[registry], len(attributes[registry]), path or type(value).__name__))
                self._scan_dict(attributes[registry], path, depth, ".{}")
        # a user's object may have others, such as a list of losses
        names = None if self._is_dynamic or _uses_library_code(type(value)) else self._names | {"training"}
        self._scan_dict(attributes, path, depth, ".{}", names)
        if hasattr(value, "__dict__"):
            self.objects.append((attributes, path or type(value).__name__))
        for base in type(value).__mro__:
            for name in _slots(base):
                if names is None or name in names:
                    entry = getattr(value, name, MISSING)
                    place = f"{path}.{name}"
                    self.attributes.append((value, name, entry, place))
                    self._scan(entry, place, depth + 1)
        self._scan_class(type(value), path, depth)


BASES = ("minitorch.module", "minitorch.nn.module")
"""Where the base classes of modules are, whose own attributes the scan knows."""

METHODS = {"forward", "__call__"}
"""Methods that run although no code names them."""


def _slots(base: type) -> tuple[str, ...]:
    found = vars(base).get("__slots__", ()) if not is_library(base) else ()
    return (found,) if isinstance(found, str) else tuple(found)


def sample(array: np.ndarray) -> np.ndarray:
    """The numbers of an array; of a large one about a thousand, at equal distances."""
    return array if array.nbytes <= BYTES else array.reshape(-1)[:: max(1, array.size >> 10)]


def _other_arguments(args: Any, path: str = "the arguments") -> Iterator[tuple[Any, str]]:
    """The arguments that are no tensors and no plain values, with a path."""
    if isinstance(args, (list, tuple)):
        for number, entry in enumerate(args):
            yield from _other_arguments(entry, f"{path}[{number}]")
    elif isinstance(args, dict):
        for key, entry in args.items():
            yield from _other_arguments(entry, str(key))
    elif not isinstance(args, (*PLAIN, TensorBase)):
        yield args, path


def is_optimizer(value: Any) -> bool:
    """Whether it has what an Optimizer has: groups of parameters, and their state."""
    return hasattr(type(value), "step") and isinstance(getattr(value, "param_groups", None), list) and hasattr(value, "state")


def is_compiled(value: Any) -> bool:
    """Whether it is an object of the compiler, such as a compiled function."""
    return any(base.__module__.startswith("minitorch.compiler.") for base in type(value).__mro__)


def is_library(fn: Any) -> bool:
    """Whether a function or class belongs to a library, whose code is not scanned."""
    return is_library_module(fn.__module__)


def is_library_module(name: str | None) -> bool:
    """Whether a module belongs to a library."""
    package = str(name).partition(".")[0]
    return package in LIBRARIES or _is_installed(package)


@functools.cache
def _is_installed(package: str) -> bool:
    return "site-packages" in (getattr(sys.modules.get(package), "__file__", None) or "")


def is_foreign(kind: type) -> bool:
    """Whether objects of a class belong to another library, whose attributes are not scanned; those of MiniTorch's own are."""
    return is_library(kind) and not kind.__module__.startswith("minitorch.") and kind is not types.SimpleNamespace


def _uses_library_code(kind: type) -> bool:
    """Whether methods of MiniTorch's own, whose code is not scanned, may look at the attributes of an object."""
    return any(base.__module__.startswith("minitorch.") and base.__module__ not in BASES for base in kind.__mro__)


def global_names(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes that a function and those defined in it may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from global_names(constant)


def global_variables(code: types.CodeType) -> set[str]:
    """The names among these that are looked up as globals."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*map(global_variables, inner))


def names_not_called(code: types.CodeType) -> set[str]:
    """The names of globals and attributes that a function reads or writes otherwise than by calling a method of that name."""
    names = set()
    for each in dis.get_instructions(code):
        is_call = each.opname == "LOAD_METHOD" or (each.opname == "LOAD_ATTR" and sys.version_info >= (3, 12) and bool((each.arg or 0) & 1))
        if each.argval in code.co_names and not is_call:
            names.add(each.argval)
    return names.union(*(names_not_called(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)))


def names_used(functions: list[Any]) -> tuple[frozenset[str], frozenset[str]]:
    """The names of globals and attributes that occur in functions and, directly or indirectly, in what they may call outside libraries.

    Of an object's methods those count whose names occur.

    Returns:
        All names, and those by which methods are called and nothing else.
    """
    names: set[str] = set(METHODS)
    others: set[str] = set()
    owners: list[type] = []
    waiting, seen = list(functions), {}
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, (*PLAIN, TensorBase, TensorBackend)):
            continue
        seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            if not is_library(value):
                new = set(global_names(value.__code__)) - names
                names |= new
                others |= names_not_called(value.__code__)
                for name in global_names(value.__code__):
                    waiting.append(value.__globals__.get(name, sys.modules.get(name)))
                waiting += [vars(owner)[name] for owner in owners for name in new if name in vars(owner)]
                for cell in value.__closure__ or ():
                    try:
                        waiting.append(cell.cell_contents)
                    except ValueError:
                        continue
        elif is_compiled(value):
            waiting.append(getattr(value, "fn", None))
        elif isinstance(value, types.MethodType):
            waiting += [value.__func__, value.__self__]
        elif isinstance(value, (staticmethod, classmethod)):
            waiting.append(value.__func__)
        elif isinstance(value, functools.cached_property):
            waiting.append(value.func)
        elif isinstance(value, property):
            waiting.append(value.fget)
        elif isinstance(value, functools.partial):
            waiting += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            waiting += list(value)[:ENTRIES]
        elif isinstance(value, dict):
            waiting += list(value.values())[:ENTRIES]
        elif isinstance(value, types.ModuleType):
            if not is_library_module(value.__name__):
                owners.append(value)  # type: ignore[arg-type] - all that is asked of an owner are its names
                waiting += [vars(value)[name] for name in names if name in vars(value)]
        else:
            kind = value if isinstance(value, type) else type(value)
            for base in kind.__mro__:
                if not is_library(base) and base not in owners:
                    owners.append(base)
                    waiting += [vars(base)[name] for name in names if name in vars(base)]
            if isinstance(value, Module):
                waiting += value.__dict__.get("_modules", {}).values()
            elif not isinstance(value, type) and not is_foreign(kind):
                waiting += getattr(value, "__dict__", {}).values()
    return frozenset(names), frozenset(names - others)
