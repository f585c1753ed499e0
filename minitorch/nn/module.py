"""Stage 5 - Module as networks use it after the course: buffers, states to save, hooks, moves to other dtypes and backends."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

import minitorch.module
from minitorch.core.backend import resolve_backend
from minitorch.core.dtypes import as_dtype, convert_array, is_float, to_array
from minitorch.core.gradients import Hook
from minitorch.module import Parameter
from minitorch.tensor import Tensor, make_tensor
from minitorch.tensor_data import TensorData

Node = minitorch.module.Module
"""Any module, also one of the course's own kind."""


def join(prefix: str, name: str) -> str:
    """A dotted name."""
    return f"{prefix}.{name}" if prefix else name


def walk(module: Node, prefix: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """A module and its descendants with their names, each once."""
    if id(module) not in seen:
        seen.add(id(module))
        yield prefix, module
        for name, child in module._modules.items():
            yield from walk(child, join(prefix, name), seen)


def upwards(module: Node, seen: set[int]) -> Iterator[Node]:
    """A module's descendants, each once and after those below it, then the module."""
    if id(module) not in seen:
        seen.add(id(module))
        for child in module._modules.values():
            yield from upwards(child, seen)
        yield module


def places(module: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    """As `walk`; a module that stands in several places comes once for each."""
    yield prefix, module
    for name, child in module._modules.items():
        yield from places(child, join(prefix, name))


def buffers_of(module: Node) -> Iterator[tuple[str, Any, bool]]:
    """The module's own buffers: name, value, and whether it belongs to the state. Those that are not there yet are left out."""
    for name, persistent in module.__dict__.get("_buffers", {}).items():
        value = getattr(module, name)
        if value is not None:
            yield name, value, persistent


# What hides


def warn_of_hidden(modules: Sequence[Node], parameters: Container[int]) -> None:
    """Say so if a plain list or dictionary holds what no optimizer will find."""
    known = set(map(id, modules))
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            hidden = next((each for each in _inside(value) if id(each) not in known and id(each) not in parameters), None)
            if hidden is not None:
                container = "ModuleDict" if isinstance(value, dict) else "ModuleList"
                remedy = "use self.add_parameter(name, value)" if isinstance(hidden, Parameter) else f"put it into a {container}"
                where = f"{type(module).__name__}.{name} is a plain {type(value).__name__}"
                kind = type(hidden).__name__
                warnings.warn(f"{where}: the {kind} in it is not found and not trained; {remedy}", UserWarning, stacklevel=4)


def _inside(value: Any, depth: int = 3) -> Iterator[Parameter | Node]:
    """The parameters and modules in lists, tuples and dictionaries, and in those in them, so deep."""
    if isinstance(value, (Parameter, Node)):
        yield value
    elif isinstance(value, (list, tuple, dict)) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inside(each, depth - 1)


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
        return list(walk(self, prefix, set()))

    def named_parameters(self) -> Sequence[tuple[str, Parameter]]:
        """Every parameter of the tree with its dotted name, each once: own ones first, then each child's in order."""
        modules = self.named_modules()
        found: dict[int, tuple[str, Parameter]] = {}
        for prefix, module in modules:
            for name, parameter in module._parameters.items():
                found.setdefault(id(parameter), (join(prefix, name), parameter))
        warn_of_hidden([module for _, module in modules], found)
        return list(found.values())

    def apply(self, fn: Callable[[Node], object]) -> Self:
        """Call fn with every module of the tree, children before parents; returns this module."""
        for module in upwards(self, set()):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and all its descendants to training mode (or, with False, to evaluation mode); returns this module.

        A subclass that defines it anew decides for its own part of the tree.

        Raises:
            TypeError: If mode is neither True nor False.
        """
        if not isinstance(mode, bool):
            raise TypeError(f"{type(self).__name__}.train expected True or False, got {mode!r}; eval() is train(False)")
        self.training = mode
        for module in self._modules.values():
            if isinstance(module, Module):
                module.train(mode)
            elif mode:
                module.train()
            else:
                module.eval()
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
            tensor: The value, of any shape; None for a buffer that is not there yet.
            persistent: Whether it belongs to the state.

        Raises:
            TypeError: If it is no tensor.
            ValueError: If the name has a dot, or is taken.
        """
        if "." in name or not name:
            raise ValueError(f"register_buffer expected a name without a dot, got {name!r}")
        if name not in self._buffers and hasattr(self, name):
            raise ValueError(f"register_buffer expected a new name, got {name!r}, which {type(self).__name__} has; choose another")
        _check_buffer(self, name, tensor)
        self._buffers[name] = persistent
        setattr(self, name, tensor)

    def named_buffers(self) -> Sequence[tuple[str, Tensor]]:
        """Every buffer of the tree with its dotted name."""
        return [(join(prefix, name), value) for prefix, module in self.named_modules() for name, value, _ in buffers_of(module)]

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
        for prefix, module in places(self, ""):
            for name, parameter in module._parameters.items():
                yield join(prefix, name), parameter.value
            for name, value, persistent in buffers_of(module):
                if persistent:
                    yield join(prefix, name), value

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Keys:
        """Take over a state: copies, in the dtype and on the backend that the module has. Without an error all of it is taken.

        Args:
            state: Tensors or arrays by name, as `state_dict` gives them, PyTorch's among them. Of a parameter that stands in several
                places one of its names is enough.
            strict: Whether the names must be those of this module, no more and no fewer.

        Returns:
            The names that are missing in the state, and those that are too many.

        Raises:
            TypeError: If the state is no dictionary.
            ValueError: If the names are others, or a shape or a kind of number does not fit; all of them are listed.
        """
        if not isinstance(state, Mapping):
            kind = type(self).__name__
            raise TypeError(f"{kind}.load_state_dict expected tensors by their names, got {type(state).__name__}; pass a state_dict()")
        own = dict(self._state())
        found = {id(value) for name, value in own.items() if name in state}
        missing = [name for name, value in own.items() if name not in state and id(value) not in found]
        keys = Keys(missing, [name for name in state if name not in own])
        wrong = [f"missing {name}" for name in keys.missing_keys if strict]
        wrong += [f"unexpected {name}" for name in keys.unexpected_keys if strict]
        given = {}
        for name, value in own.items():
            try:
                if name in state:
                    given[name] = _like(value, state[name], name)
            except (TypeError, ValueError) as error:
                wrong.append(str(error))
        if wrong:
            names = "its own names, shapes and kinds of numbers" if strict else "its own shapes and kinds of numbers"
            listed = "".join(f"\n  {line}" for line in wrong)
            raise ValueError(f"{type(self).__name__}.load_state_dict expected {names}, got a state with {len(wrong)} that differ:{listed}")
        for prefix, module in places(self, ""):
            for name, parameter in module._parameters.items():
                if (full := join(prefix, name)) in given:
                    keeps = parameter.value.requires_grad
                    parameter.update(given[full])
                    parameter.value.requires_grad_(keeps)
            for name, _, _ in list(buffers_of(module)):
                if (full := join(prefix, name)) in given:
                    setattr(module, name, given[full])
        return keys

    # Moves

    def to(self, *targets: Any, dtype: Any = None, device: Any = None) -> Self:
        """Move all parameters, their gradients and all buffers; returns this module.

        Args:
            targets: dtypes and places, as `Tensor.to` takes them: `to(float32)`, `to("cuda")`, `to("cpu", float32)`.
            dtype: Of floats; whole numbers and truth values stay as they are.
            device: "cpu", "cuda", "simple" or a backend.

        Raises:
            TypeError: If one is neither a place nor a dtype of floats; nothing is moved then.
        """
        wanted = [resolve_backend(target) or as_dtype(target) for target in (*targets, device, dtype) if target is not None]
        for target in wanted:
            if isinstance(target, np.dtype) and not is_float(target):
                raise TypeError(f"{type(self).__name__}.to expected a dtype of floats, got {target.name}; convert single tensors instead")

        def moved(x: Tensor) -> Tensor:
            for target in wanted:
                x = x.to(target) if is_float(x.dtype) or not isinstance(target, np.dtype) else x
            return x

        for module in self.modules():
            for parameter in module._parameters.values():
                _replace(parameter, moved)
            for name, value, _ in list(buffers_of(module)):
                setattr(module, name, moved(value))
        return self

    def half(self) -> Self:
        """All floats as float16."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """All floats as bfloat16."""
        return self.to("bfloat16")

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

        Raises:
            TypeError: If it is no function.
        """
        return _entered(self._pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Have hook(module, args, output) called after every `forward`; what it returns takes the output's place, unless that is None.

        Returns:
            A handle whose `remove()` ends it.

        Raises:
            TypeError: If it is no function.
        """
        return _entered(self._hooks, hook)

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

    def __setattr__(self, name: str, value: Any) -> None:
        """Bind a name, be it an attribute's, a parameter's, a child's or a buffer's.

        Raises:
            TypeError: If the name is a buffer's, and the value neither a tensor nor a parameter or module that takes its place.
        """
        if name in self.__dict__.get("_buffers", ()):
            if isinstance(value, (Parameter, Node)):
                del self._buffers[name]
            else:
                _check_buffer(self, name, value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__("training" if name in ("_buffers", "_pre_hooks", "_hooks") else name)  # it says what to call first

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._buffers.pop(name, None)


# Buffers


def _check_buffer(module: Node, name: str, value: Any) -> None:
    """That a value can be a buffer."""
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{type(module).__name__}.{name} expected a Tensor or None as a buffer, got {type(value).__name__}")


# States


def _like(own: Tensor, given: Any, name: str) -> Tensor:
    """A copy of what a state has under a name, with the dtype and on the backend of its predecessor.

    Args:
        own: The predecessor.
        given: A tensor of ours, of PyTorch's, or an array.
        name: For the message.

    Raises:
        TypeError: If there is anything but numbers.
        ValueError: If its shape or its kind of numbers is another.
    """
    if hasattr(given, "detach"):
        given = given.detach()
    if hasattr(given, "cpu") and not isinstance(given, Tensor):  # PyTorch's, whose bfloat16 NumPy does not know
        given = given.cpu().float() if str(given.dtype) == "torch.bfloat16" else given.cpu()
    values = to_array(given.to_numpy() if isinstance(given, Tensor) else given, name)
    if values.shape != own.shape:
        raise ValueError(f"{name} of shape {own.shape}, got {values.shape}")
    if not is_float(own.dtype) and is_float(values.dtype):
        raise ValueError(f"{name} of {own.dtype.name}, got {values.dtype.name}")
    return make_tensor(TensorData(convert_array(values, own.dtype, name).reshape(-1), values.shape), own.backend, False)


# Calls


def _entered(hooks: dict[object, Callable[..., Any]], hook: Callable[..., Any]) -> Hook:
    """Put a hook behind those that there are."""
    if not callable(hook):
        raise TypeError(f"a hook expected a function, got {type(hook).__name__}; pass it without calling it")
    key = object()
    hooks[key] = hook
    return Hook(hooks, key)


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
