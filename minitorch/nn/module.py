"""Stage 6 - The complete Module: buffers, state dicts, hooks, and conversion to other dtypes and devices."""

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
"""Any module, including the minimal Module of the course."""


def value_of(parameter: Parameter | None) -> Any:
    """The value of a parameter that a module may lack; None if it does."""
    return None if parameter is None else parameter.value


# Traversal of the module tree


def join(prefix: str, name: str) -> str:
    """Join a prefix and a name by a dot."""
    return f"{prefix}.{name}" if prefix else name


def walk(module: Node, prefix: str, seen: set[int]) -> Iterator[tuple[str, Node]]:
    """Yield a module and its descendants with their dotted names, each module once."""
    if id(module) not in seen:
        seen.add(id(module))
        yield prefix, module
        for name, child in module._modules.items():
            yield from walk(child, join(prefix, name), seen)


def postorder(module: Node, seen: set[int]) -> Iterator[Node]:
    """Yield the descendants of a module and then the module itself, in postorder, each once."""
    if id(module) not in seen:
        seen.add(id(module))
        for child in module._modules.values():
            yield from postorder(child, seen)
        yield module


def walk_with_duplicates(module: Node, prefix: str) -> Iterator[tuple[str, Node]]:
    """Like `walk`, but yield a shared module once for every name."""
    yield prefix, module
    for name, child in module._modules.items():
        yield from walk_with_duplicates(child, join(prefix, name))


def own_buffers(module: Node) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, value and persistence of the module's own buffers, except those that are None."""
    for name, persistent in module.__dict__.get("_buffers", {}).items():
        value = getattr(module, name)
        if value is not None:
            yield name, value, persistent


# Unregistered modules and parameters


def warn_about_unregistered(modules: Sequence[Node], parameters: Container[int]) -> None:
    """Warn about parameters and modules in plain lists and dictionaries, which no optimizer would find."""
    registered = set(map(id, modules))
    for module in modules:
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            unregistered = next(
                (each for each in _nested_modules(value) if id(each) not in registered and id(each) not in parameters), None
            )
            if unregistered is not None:
                container = "ModuleDict" if isinstance(value, dict) else "ModuleList"
                remedy = "use self.add_parameter(name, value)" if isinstance(unregistered, Parameter) else f"put it into a {container}"
                where = f"{type(module).__name__}.{name} is a plain {type(value).__name__}"
                kind = type(unregistered).__name__
                warnings.warn(f"{where}: the {kind} in it is not registered and not trained; {remedy}", UserWarning, stacklevel=4)


def _nested_modules(value: Any, depth: int = 3) -> Iterator[Parameter | Node]:
    """Yield the parameters and modules in nested lists, tuples and dictionaries, up to a depth."""
    if isinstance(value, (Parameter, Node)):
        yield value
    elif isinstance(value, (list, tuple, dict)) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _nested_modules(each, depth - 1)


class Keys(NamedTuple):
    """The names by which a state dict differs from a module."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(minitorch.module.Module):
    """Base class of neural networks: the course's `Module` with the methods of PyTorch's.

    A subclass calls `super().__init__()` first. Assigning a Parameter or a Module to an attribute registers it under that name. Modules in
    a plain list or dictionary are not registered: use a ModuleList or a ModuleDict.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buffers: dict[str, bool] = {}  # attribute name -> persistent
        self._pre_hooks: dict[object, Callable[..., Any]] = {}
        self._hooks: dict[object, Callable[..., Any]] = {}

    # Traversal

    def children(self) -> Sequence[Node]:
        """Return the direct child modules, in order of assignment."""
        return list(self._modules.values())

    def named_children(self) -> Sequence[tuple[str, Node]]:
        """Return the direct child modules with their names."""
        return list(self._modules.items())

    def modules(self) -> Sequence[Node]:
        """Return this module and all its descendants, each once. (The course's own Module returns its children.)"""
        return [module for _, module in self.named_modules()]

    def named_modules(self, prefix: str = "") -> Sequence[tuple[str, Node]]:
        """Return `modules()` with their dotted names; the name of this module is the prefix."""
        return list(walk(self, prefix, set()))

    def named_parameters(self) -> Sequence[tuple[str, Parameter]]:
        """Return every parameter with its dotted name, each once: the module's own first, then those of its children in order."""
        modules = self.named_modules()
        named: dict[int, tuple[str, Parameter]] = {}
        for prefix, module in modules:
            for name, parameter in module._parameters.items():
                named.setdefault(id(parameter), (join(prefix, name), parameter))
        warn_about_unregistered([module for _, module in modules], named)
        return list(named.values())

    def apply(self, fn: Callable[[Node], object]) -> Self:
        """Apply fn to every module, children before parents, and return this module."""
        for module in postorder(self, set()):
            fn(module)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set this module and its descendants to training mode (or evaluation mode if mode is False) and return this module.

        A subclass that overrides it decides for its subtree.

        Raises:
            TypeError: If mode is not a bool.
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
        """Set this module and its descendants to evaluation mode and return this module."""
        return self.train(False)

    def requires_grad_(self, flag: bool = True) -> Self:
        """Enable (or disable) gradients for all parameters and return this module."""
        for parameter in self.parameters():
            parameter.value.requires_grad_(flag)
        return self

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.value.zero_grad_()

    # Buffers

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is not a parameter but belongs to the module, such as a running mean.

        Args:
            name: Attribute name of the buffer; assigning to the attribute replaces the value.
            tensor: Value of any shape, or None.
            persistent: Whether the buffer is part of the state dict.

        Raises:
            TypeError: If tensor is not a Tensor or None.
            ValueError: If the name contains a dot or is already in use.
        """
        if "." in name or not name:
            raise ValueError(f"register_buffer expected a name without a dot, got {name!r}")
        if name not in self._buffers and hasattr(self, name):
            raise ValueError(f"register_buffer expected a new name, got {name!r}, which {type(self).__name__} has; choose another")
        _check_buffer(self, name, tensor)
        self._buffers[name] = persistent
        setattr(self, name, tensor)

    def named_buffers(self) -> Sequence[tuple[str, Tensor]]:
        """Return every buffer with its dotted name."""
        return [(join(prefix, name), value) for prefix, module in self.named_modules() for name, value, _ in own_buffers(module)]

    def buffers(self) -> Sequence[Tensor]:
        """Return every buffer."""
        return [value for _, value in self.named_buffers()]

    # State dicts

    def state_dict(self) -> dict[str, Tensor]:
        """Return parameters and persistent buffers by dotted name, detached but sharing storage with the module.

        A shared parameter appears under each of its names, as in PyTorch.
        """
        return {name: value.detach() for name, value in self._state()}

    def _state(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the entries of the state dict; the parameters of a module come before its buffers."""
        for prefix, module in walk_with_duplicates(self, ""):
            for name, parameter in module._parameters.items():
                yield join(prefix, name), parameter.value
            for name, value, persistent in own_buffers(module):
                if persistent:
                    yield join(prefix, name), value

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Keys:
        """Copy a state dict into this module, converted to the module's dtypes and backend; on an error nothing changes.

        Args:
            state: Tensors or arrays by name, as returned by `state_dict`, including PyTorch's. One name of a shared parameter is enough.
            strict: Whether the names must match those of this module exactly.

        Returns:
            The missing and the unexpected names.

        Raises:
            TypeError: If state is not a mapping.
            ValueError: If names, shapes or dtypes do not match; the message lists all differences.
        """
        if not isinstance(state, Mapping):
            kind = type(self).__name__
            raise TypeError(
                f"{kind}.load_state_dict expected a mapping of names to tensors, got {type(state).__name__}; pass a state_dict()"
            )
        own = dict(self._state())
        present = {id(value) for name, value in own.items() if name in state}
        missing = [name for name, value in own.items() if name not in state and id(value) not in present]
        keys = Keys(missing, [name for name in state if name not in own])
        mismatches = [f"missing {name}" for name in keys.missing_keys if strict]
        mismatches += [f"unexpected {name}" for name in keys.unexpected_keys if strict]
        loaded = {}
        for name, value in own.items():
            try:
                if name in state:
                    loaded[name] = _copy_like(value, state[name], name)
            except (TypeError, ValueError) as error:
                mismatches.append(str(error))
        if mismatches:
            names = "matching names, shapes and dtypes" if strict else "matching shapes and dtypes"
            listed = "".join(f"\n  {line}" for line in mismatches)
            raise ValueError(
                f"{type(self).__name__}.load_state_dict expected {names}, got a state with {len(mismatches)} that differ:{listed}"
            )
        for prefix, module in walk_with_duplicates(self, ""):
            for name, parameter in module._parameters.items():
                if (full := join(prefix, name)) in loaded:
                    requires_grad = parameter.value.requires_grad
                    parameter.update(loaded[full])
                    parameter.value.requires_grad_(requires_grad)
            for name, _, _ in list(own_buffers(module)):
                if (full := join(prefix, name)) in loaded:
                    setattr(module, name, loaded[full])
        return keys

    # Conversion

    def to(self, *targets: Any, dtype: Any = None, device: Any = None) -> Self:
        """Convert all parameters, their gradients and all buffers, and return this module.

        Args:
            targets: dtypes and devices, as in `Tensor.to`: `to(float32)`, `to("cuda")`, `to("cpu", float32)`.
            dtype: Floating-point dtype; integer and bool buffers keep theirs.
            device: "cpu", "cuda", "simple" or a backend.

        Raises:
            TypeError: If a target is neither a device nor a floating-point dtype; nothing is converted in this case.
        """
        resolved = [resolve_backend(target) or as_dtype(target) for target in (*targets, device, dtype) if target is not None]
        for target in resolved:
            if isinstance(target, np.dtype) and not is_float(target):
                raise TypeError(f"{type(self).__name__}.to expected a dtype of floats, got {target.name}; convert single tensors instead")

        def convert(x: Tensor) -> Tensor:
            for target in resolved:
                x = x.to(target) if is_float(x.dtype) or not isinstance(target, np.dtype) else x
            return x

        for module in self.modules():
            for parameter in module._parameters.values():
                _convert_parameter(parameter, convert)
            for name, value, _ in list(own_buffers(module)):
                setattr(module, name, convert(value))
        return self

    def half(self) -> Self:
        """Convert all floating-point values to float16."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """Convert all floating-point values to bfloat16."""
        return self.to("bfloat16")

    def float(self) -> Self:
        """Convert all floating-point values to float32."""
        return self.to("float32")

    def double(self) -> Self:
        """Convert all floating-point values to float64."""
        return self.to("float64")

    def cpu(self) -> Self:
        """Move to the compiled CPU backend."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """Move to the GPU."""
        return self.to("cuda")

    # Hooks

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call hook(module, args) before every `forward`; a return value other than None replaces the arguments.

        Returns:
            A handle whose `remove()` unregisters the hook.

        Raises:
            TypeError: If hook is not callable.
        """
        return _register_hook(self._pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call hook(module, args, output) after every `forward`; a return value other than None replaces the output.

        Returns:
            A handle whose `remove()` unregisters the hook.

        Raises:
            TypeError: If hook is not callable.
        """
        return _register_hook(self._hooks, hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` between the registered hooks."""
        for hook in list(self._pre_hooks.values()):
            result = hook(self, args)
            args = args if result is None else result if isinstance(result, tuple) else (result,)
        output = self.forward(*args, **kwargs)
        for hook in list(self._hooks.values()):
            result = hook(self, args, output)
            output = output if result is None else result
        return output

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Number of additions and multiplications in `forward`, excluding child modules; 0 if not implemented."""
        return 0

    # Representation

    def extra_repr(self) -> str:
        """The arguments to show in the repr, such as "in_features=2, out_features=3"."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        if self.extra_repr():
            lines.insert(0, self.extra_repr())
        return "\n".join([f"{type(self).__name__}(", *(f"  {line}" for line in lines), ")"])

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute, parameter, child module or buffer.

        Raises:
            TypeError: If the name is a buffer's and the value is not a Tensor, None, a Parameter or a Module.
        """
        if name in self.__dict__.get("_buffers", ()):
            if isinstance(value, (Parameter, Node)):
                del self._buffers[name]
            else:
                _check_buffer(self, name, value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        # without super().__init__() these are missing, too; the lookup of "training" then raises the error that says so
        return super().__getattr__("training" if name in ("_buffers", "_pre_hooks", "_hooks") else name)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._buffers.pop(name, None)


# Buffers


def _check_buffer(module: Node, name: str, value: Any) -> None:
    """Raise TypeError if a value cannot be a buffer."""
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{type(module).__name__}.{name} expected a Tensor or None as a buffer, got {type(value).__name__}")


# Loading a state dict


def _copy_like(own: Tensor, given: Any, name: str) -> Tensor:
    """Copy an entry of a state dict, converted to the dtype and backend of the current value.

    Args:
        own: The current value.
        given: A Tensor, a PyTorch tensor or an array.
        name: Its name, for the error message.

    Raises:
        TypeError: If the entry is not numeric.
        ValueError: If its shape differs, or it would have to be converted from floating-point to integer.
    """
    if hasattr(given, "detach"):
        given = given.detach()
    if hasattr(given, "cpu") and not isinstance(given, Tensor):  # a PyTorch tensor; NumPy has no bfloat16
        given = given.cpu().float() if str(given.dtype) == "torch.bfloat16" else given.cpu()
    values = to_array(given.to_numpy() if isinstance(given, Tensor) else given, name)
    if values.shape != own.shape:
        raise ValueError(f"{name} of shape {own.shape}, got {values.shape}")
    if not is_float(own.dtype) and is_float(values.dtype):
        raise ValueError(f"{name} of {own.dtype.name}, got {values.dtype.name}")
    return make_tensor(TensorData(convert_array(values, own.dtype, name).reshape(-1), values.shape), own.backend, False)


# Hooks


def _register_hook(hooks: dict[object, Callable[..., Any]], hook: Callable[..., Any]) -> Hook:
    """Append a hook and return its handle."""
    if not callable(hook):
        raise TypeError(f"a hook expected a callable, got {type(hook).__name__}; pass it without calling it")
    key = object()
    hooks[key] = hook
    return Hook(hooks, key)


# Conversion


def _convert_parameter(parameter: Parameter, convert: Callable[[Tensor], Tensor]) -> None:
    """Convert the value of a parameter and its gradient."""
    value, old = parameter.value, parameter.value.detach()
    new = convert(old)
    if new is old:
        return
    grad, requires_grad = value.grad, value.requires_grad
    parameter.update(new)
    parameter.value.requires_grad_(requires_grad)
    parameter.value.grad = None if grad is None else convert(grad)
