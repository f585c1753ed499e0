"""Stage 5 - Module as networks use it after the course: buffers, states to save, hooks, moves to other dtypes and backends."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

import minitorch.module
from minitorch.dtypes import is_float
from minitorch.gradients import Hook
from minitorch.module import Parameter
from minitorch.tensor import tensor
from minitorch.tensor_backend import backend_at

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

Node = minitorch.module.Module
"""Any module, also one of the course's own kind."""


class Keys(NamedTuple):
    """What a state has too few and too many of."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(minitorch.module.Module):
    """A node of a network. All that the course's `Module` is, and PyTorch's methods.

    A subclass calls `super().__init__()` first. Assigning a Parameter or a Module to an attribute registers it under that name. Modules in
    a plain list or dictionary are not found: put them into a ModuleList or a ModuleDict.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buffers: dict[str, bool] = {}  # whether it belongs to the state, by the name of the attribute
        self._pre_hooks: dict[object, Callable[..., Any]] = {}
        self._hooks: dict[object, Callable[..., Any]] = {}

    # The tree

    def children(self) -> Sequence[Node]:
        """The modules one level below, in the order in which they were assigned."""
        return list(self._modules.values())

    def named_children(self) -> Sequence[tuple[str, Node]]:
        """`children`, each with its name."""
        return list(self._modules.items())

    def modules(self) -> Sequence[Node]:
        """This module and all its descendants, each once. (Of the course's own Module these are its children.)"""
        return [module for _, module in self.named_modules()]

    def named_modules(self, prefix: str = "") -> Sequence[tuple[str, Node]]:
        """`modules`, each with its dotted name; that of this module is the prefix."""
        return list(_walk(self, prefix, set()))

    def named_parameters(self) -> Sequence[tuple[str, Parameter]]:
        """Every parameter of the tree with its dotted name, each once: own ones first, then each child's in order."""
        found: dict[int, tuple[str, Parameter]] = {}
        for prefix, module in self.named_modules():
            _warn_of_hidden(module)
            for name, parameter in module._parameters.items():
                found.setdefault(id(parameter), (_join(prefix, name), parameter))
        return list(found.values())

    def apply(self, fn: Callable[[Node], object]) -> Self:
        """Call fn with every module of the tree, children before parents; returns this module."""
        for module in reversed(self.modules()):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and all its descendants to training mode (or, with False, to evaluation mode); returns this module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set this module and all its descendants to evaluation mode; returns this module."""
        return self.train(False)

    def requires_grad_(self, flag: bool = True) -> Self:
        """Have all parameters keep gradients, or (False) stand still; returns this module."""
        for parameter in self.parameters():
            parameter.value.requires_grad_(flag)
        return self

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.value.zero_grad_()

    # Buffers

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that is no parameter, yet moves with the module and belongs to its state, such as a running mean.

        Args:
            name: The attribute under which it is found; assigning to it gives the buffer another value.
            tensor: The value; None for a buffer that is not there yet.
            persistent: Whether it belongs to the state.

        Raises:
            ValueError: If the name has a dot, or is taken.
        """
        if "." in name or not name:
            raise ValueError(f"register_buffer expected a name without a dot, got {name!r}")
        if name not in self._buffers and hasattr(self, name):
            raise ValueError(f"register_buffer expected a new name, got {name!r}, which {type(self).__name__} has; choose another")
        self._buffers[name] = persistent
        setattr(self, name, tensor)

    def named_buffers(self) -> Sequence[tuple[str, Tensor]]:
        """Every buffer of the tree with its dotted name."""
        return [(_join(prefix, name), value) for prefix, module in self.named_modules() for name, value, _ in _buffers_of(module)]

    def buffers(self) -> Sequence[Tensor]:
        """Every buffer of the tree."""
        return [value for _, value in self.named_buffers()]

    # The state

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by their dotted names, as constants over the storages that the module computes with.

        A parameter that stands in several places has a name for each, as in PyTorch.
        """
        return {name: value.detach() for name, value in self._state()}

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        """What belongs to the state, each with its name; parameters before the buffers of the same module."""
        for prefix, module in _places(self, ""):
            for name, parameter in module._parameters.items():
                yield _join(prefix, name), parameter.value
            for name, value, persistent in _buffers_of(module):
                if persistent:
                    yield _join(prefix, name), value

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Keys:
        """Take over a state: copies, in the dtype and on the backend that the module has. Without an error all of it is taken.

        Args:
            state: Tensors or arrays by name, as `state_dict` gives them, PyTorch's among them.
            strict: Whether the names must be those of this module, no more and no fewer.

        Returns:
            The names that are missing in the state, and those that are too many.

        Raises:
            ValueError: If the names are others, or a shape or a kind of number does not fit; all of them are listed.
        """
        own = dict(self._state())
        keys = Keys([name for name in own if name not in state], [name for name in state if name not in own])
        given = {name: _as_array(state[name]) for name in own if name in state}
        wrong = [f"missing {name}" for name in keys.missing_keys if strict]
        wrong += [f"unexpected {name}" for name in keys.unexpected_keys if strict]
        wrong += [problem for name, array in given.items() if (problem := _misfit(name, own[name], array))]
        if wrong:
            names = "its own names, shapes and kinds of numbers" if strict else "its own shapes and kinds of numbers"
            listed = "".join(f"\n  {line}" for line in wrong)
            raise ValueError(f"{type(self).__name__}.load_state_dict expected {names}, got a state with {len(wrong)} that differ:{listed}")
        for prefix, module in _places(self, ""):
            for name, parameter in module._parameters.items():
                if (full := _join(prefix, name)) in given:
                    keeps = parameter.value.requires_grad
                    parameter.update(_like(parameter.value, given[full]))
                    parameter.value.requires_grad_(keeps)
            for name, value, _ in list(_buffers_of(module)):
                if (full := _join(prefix, name)) in given:
                    setattr(module, name, _like(value, given[full]))
        return keys

    # Moves

    def to(self, *targets: Any, dtype: Any = None, device: Any = None) -> Self:
        """Move all parameters, their gradients and all buffers; returns this module.

        Args:
            targets: dtypes and places, as `Tensor.to` takes them: `to(float32)`, `to("cuda")`, `to("cpu", float32)`.
            dtype: Of floats; whole numbers and truth values stay as they are.
            device: "cpu", "cuda", "simple" or a backend.
        """
        wanted = [target for target in (*targets, device, dtype) if target is not None]

        def moved(x: Tensor) -> Tensor:
            for target in wanted:
                x = x.to(target) if backend_at(target) is not None or is_float(x.dtype) else x
            return x

        for module in self.modules():
            for parameter in module._parameters.values():
                _replace(parameter, moved)
            for name, value, _ in list(_buffers_of(module)):
                setattr(module, name, moved(value))
        return self

    def half(self) -> Self:
        """All floats as float16."""
        return self.to("float16")

    def float(self) -> Self:
        """All floats as float32."""
        return self.to("float32")

    def double(self) -> Self:
        """All floats as float64."""
        return self.to("float64")

    def cpu(self) -> Self:
        """Onto the compiled backend."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """Onto the GPU."""
        return self.to("cuda")

    # Calls

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Have hook(module, args) called before every `forward`; what it returns takes the place of the arguments, unless that is None.

        Returns:
            A handle whose `remove()` ends it.
        """
        key = object()
        self._pre_hooks[key] = hook
        return Hook(self._pre_hooks, key)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Have hook(module, args, output) called after every `forward`; what it returns takes the output's place, unless that is None.

        Returns:
            A handle whose `remove()` ends it.
        """
        key = object()
        self._hooks[key] = hook
        return Hook(self._hooks, key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and the hooks before and after it."""
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        output = self.forward(*args, **kwargs)
        for hook in list(self._hooks.values()):
            changed = hook(self, args, output)
            output = output if changed is None else changed
        return output

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """How many additions and multiplications `forward` does, without its children's; 0 where nobody counts."""
        return 0

    # Text

    def extra_repr(self) -> str:
        """What stands between the brackets of this module's text, such as "in_features=2, out_features=3"."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        if self.extra_repr():
            lines.insert(0, self.extra_repr())
        return "\n".join([f"{type(self).__name__}(", *(f"  {line}" for line in lines), ")"])

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._buffers.pop(name, None)


# The tree


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _walk(module: Node, prefix: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """A module and its descendants with their names, each once."""
    if id(module) not in seen:
        seen.add(id(module))
        yield prefix, module
        for name, child in module._modules.items():
            yield from _walk(child, _join(prefix, name), seen)


def _places(module: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    """As `_walk`; a module that stands in several places comes once for each."""
    yield prefix, module
    for name, child in module._modules.items():
        yield from _places(child, _join(prefix, name))


def _buffers_of(module: Node) -> Iterator[tuple[str, Any, bool]]:
    """The module's own buffers: name, value, and whether it belongs to the state. Those that are not there yet are left out."""
    for name, persistent in module.__dict__.get("_buffers", {}).items():
        value = getattr(module, name)
        if value is not None:
            yield name, value, persistent


def _warn_of_hidden(module: Node) -> None:
    """Say so if a plain list or dictionary holds what no optimizer will find."""
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
            continue
        inside = value.values() if isinstance(value, dict) else value
        hidden = next((type(each).__name__ for each in inside if isinstance(each, (Parameter, Node))), None)
        if hidden:
            container = "ModuleDict" if isinstance(value, dict) else "ModuleList"
            remedy = "use self.add_parameter(name, value)" if hidden == "Parameter" else f"put it into a {container}"
            where = f"{type(module).__name__}.{name} is a plain {type(value).__name__}"
            warnings.warn(f"{where}: the {hidden} in it is not found and not trained; {remedy}", UserWarning, stacklevel=4)


# States


def _as_array(value: Any) -> np.ndarray:
    """A tensor of ours, of PyTorch's, or an array, as an array; the numbers are not copied."""
    if hasattr(value, "to_numpy"):
        return value.detach().to_numpy()
    if hasattr(value, "detach"):  # PyTorch's
        value = value.detach().cpu()
    return np.asarray(value)


def _misfit(name: str, own: Tensor, given: np.ndarray) -> str:
    """What of a value does not fit its place; empty if all does."""
    if given.shape != own.shape:
        return f"{name} of shape {own.shape}, got {given.shape}"
    if not is_float(own.dtype) and is_float(given.dtype):
        return f"{name} of {own.dtype.name}, got {given.dtype.name}"
    return ""


def _like(own: Tensor, values: np.ndarray) -> Tensor:
    """A tensor of these values, a copy, with the dtype and on the backend of its predecessor."""
    return tensor(values, own.backend, dtype=own.dtype)


# Moves


def _replace(parameter: Parameter, moved: Callable[[Tensor], Tensor]) -> None:
    """Move the value of a parameter and its gradient."""
    value, before = parameter.value, parameter.value.detach()
    after = moved(before)
    if after is before:
        return
    gradient, keeps = value.grad, value.requires_grad
    parameter.update(after)
    parameter.value.requires_grad_(keeps)
    parameter.value.grad = None if gradient is None else moved(gradient)
