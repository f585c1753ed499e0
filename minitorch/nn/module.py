"""Stage 7 - Module, the base class of networks: parameters, buffers, state dicts, hooks, and conversion to other dtypes and devices."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple, Self

import numpy as np

import minitorch.module
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import as_dtype, convert_array, is_float, to_array
from minitorch.core.gradients import Hook
from minitorch.core.recording import clears_gradient
from minitorch.nn.hooks import BackwardHooks, KeywordsKey
from minitorch.nn.parameter import Parameter, is_lazy
from minitorch.tensor import Tensor as CourseTensor
from minitorch.tensor import make_tensor
from minitorch.tensor_data import TensorData
from minitorch.torch.placement import targets_of
from minitorch.torch.tensor import Tensor, as_torch

Node = minitorch.module.Module
"""Any module, including the minimal Module of the course."""


def value_of(parameter: Parameter | None) -> Any:
    """The value of a parameter that a module may lack; None if it does."""
    return None if parameter is None else parameter.value


# Traversal of the module tree


def join(prefix: str, name: str) -> str:
    """Join a prefix and a name by a dot."""
    return f"{prefix}.{name}" if prefix else name


def walk(module: Node, prefix: str, memo: set[Any], once: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield a module and its descendants with their dotted names: each once, except those in memo; or each for all its names."""
    if module not in memo:
        if once:
            memo.add(module)
        yield prefix, module
        for name, child in module._modules.items():
            yield from walk(child, join(prefix, name), memo, once)


def postorder(module: Node, seen: set[int]) -> Iterator[Node]:
    """Yield the descendants of a module and then the module itself, in postorder, each once."""
    if id(module) not in seen:
        seen.add(id(module))
        for child in module._modules.values():
            yield from postorder(child, seen)
        yield module


def own_buffers(module: Node) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, value and persistence of the module's own buffers, except those that are None."""
    for name, persistent in module.__dict__.get("_buffers", {}).items():
        value = getattr(module, name)
        if value is not None:
            yield name, value, persistent


# Unregistered modules and parameters


def warn_about_unregistered(root: Module, recurse: bool) -> None:
    """Warn about parameters and modules in plain lists and dictionaries, which no optimizer would find."""
    registered, known = list(root.modules()) if recurse else [root], set[int]()
    for module in registered:
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            if not known and any(True for _ in _nested_modules(value)):
                known = {id(each) for node in registered for each in (node, *node._modules.values(), *node._parameters.values())}
            unregistered = next((each for each in _nested_modules(value) if id(each) not in known), None)
            if unregistered is not None:
                container = "ModuleDict" if isinstance(value, dict) else "ModuleList"
                is_parameter = isinstance(unregistered, minitorch.module.Parameter)
                remedy = "use self.add_parameter(name, value)" if is_parameter else f"put it into a {container}"
                where = f"{type(module).__name__}.{name} is a plain {type(value).__name__}"
                kind = type(unregistered).__name__
                warnings.warn(f"{where}: the {kind} in it is not registered and not trained; {remedy}", UserWarning, stacklevel=3)


def _nested_modules(value: Any, depth: int = 3) -> Iterator[Any]:
    """Yield the parameters and modules in nested lists, tuples and dictionaries, up to a depth."""
    if isinstance(value, (minitorch.module.Parameter, Node)):
        yield value
    elif isinstance(value, (list, tuple, dict)) and depth:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _nested_modules(each, depth - 1)


class Keys(NamedTuple):
    """The names by which a state dict differs from a module."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class StateDictError(RuntimeError, ValueError):
    """A state dict does not fit a module: a RuntimeError as in PyTorch, and a ValueError."""


class Module(minitorch.module.Module):
    """Base class of networks: the course's `Module` with the methods of PyTorch's.

    A subclass calls `super().__init__()` first. Assigning a Parameter or a Module to an attribute registers it under that name. Modules in
    a plain list or dictionary are not registered: use a ModuleList or a ModuleDict.
    """

    def __init__(self) -> None:
        super().__init__()
        self._buffers: dict[str, bool] = {}  # attribute name -> persistent
        self._pre_hooks: dict[object, Callable[..., Any]] = {}
        self._hooks: dict[object, Callable[..., Any]] = {}

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute, parameter, child module or buffer; a parameter of the course becomes one of this library.

        Raises:
            TypeError: If the name is that of a parameter, child or buffer, and the value is something else, but not None.
        """
        if isinstance(value, minitorch.module.Parameter) and not isinstance(value, Parameter):
            value = Parameter(value.value, value.value.requires_grad)
        own = self.__dict__
        if isinstance(value, (Parameter, Node)):
            own.get("_buffers", {}).pop(name, None)
            super().__setattr__(name, value)
            return
        if name in own.get("_buffers", ()):
            self._check(name, value, "buffer", CourseTensor, "torch.Tensor")
            own[name] = as_torch(value)
            return
        for registry, kind, expected in (("_parameters", "parameter", Parameter), ("_modules", "child module", Node)):
            if name in own.get(registry, ()):
                self._check(name, value, kind, expected, f"torch.nn.{expected.__name__}")
                del own[registry][name]
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # without super().__init__() these are missing, too; the lookup of "training" then raises the error that says so
        return super().__getattr__("training" if name in ("_buffers", "_pre_hooks", "_hooks") else name)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self._buffers.pop(name, None)

    def add_parameter(self, name: str, value: Any) -> Parameter:
        """Register a tensor as a parameter, for names that are computed at run time (`f"weight_{i}"`); see `register_parameter`."""
        self.register_parameter(name, Parameter(value))
        return self._parameters[name]  # type: ignore[return-value]

    def _check(self, name: str, value: Any, kind: str, expected: Any, wanted: str) -> None:
        """Raise TypeError if a value that is not None cannot replace what is registered."""
        if value is not None and not isinstance(value, expected):
            raise TypeError(f"{kind} {name!r} expected {wanted} or None, got {type(value).__name__}")

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Register a tensor that is not a parameter but belongs to the module, such as a running mean.

        Args:
            name: Attribute name of the buffer; assigning to the attribute replaces the value.
            tensor: Value of any shape, or None.
            persistent: Whether the buffer is part of the state dict.

        Raises:
            TypeError: If tensor is not a Tensor or None.
            KeyError: If the name contains a dot, is empty or is already in use.
        """
        self._check_name(name, name in self._buffers)
        self._check(name, tensor, "buffer", CourseTensor, "torch.Tensor")
        self._buffers[name] = persistent
        self.__dict__[name] = as_torch(tensor)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter, or None for one that the module lacks.

        Raises:
            TypeError: If param is neither a Parameter nor None.
            KeyError: If the name contains a dot, is empty or is already in use.
        """
        self._check_name(name, name in self._parameters)
        self._check(name, param, "parameter", Parameter, "torch.nn.Parameter")
        setattr(self, name, param)

    def add_module(self, name: str, module: Node | None) -> None:
        """Register a child module, or None for one that the module lacks.

        Raises:
            TypeError: If module is neither a Module nor None.
            KeyError: If the name contains a dot, is empty or is already in use.
        """
        self._check_name(name, name in self._modules)
        self._check(name, module, "child module", Node, "torch.nn.Module")
        setattr(self, name, module)

    register_module = add_module

    def _check_name(self, name: str, registered: bool) -> None:
        """Raise KeyError if a name cannot be registered."""
        if not name or "." in name:
            raise KeyError(f"a module expected a name without a dot that is not empty, got {name!r}")
        if not registered and hasattr(self, name):
            raise KeyError(f"attribute {name!r} already exists; choose another name")

    def get_submodule(self, target: str) -> Any:
        """The descendant with a dotted name; the module itself for the empty name.

        Raises:
            AttributeError: If there is none.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name)
            if module is None:
                raise AttributeError(f"{type(self).__name__} has no module {target!r}; it has {', '.join(dict(self.named_modules()))}")
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name.

        Raises:
            AttributeError: If there is none.
        """
        return _named(self, target, dict(self.named_parameters(remove_duplicate=False)), "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer, of any shape, with a dotted name.

        Raises:
            AttributeError: If there is none.
        """
        return _named(self, target, dict(self.named_buffers(remove_duplicate=False)), "buffer")

    # Traversal

    def children(self) -> Iterator[Any]:
        """Yield the direct child modules, each once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield the direct child modules with their names, each once."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Any]:  # type: ignore[override]  # an iterator over the whole tree, as in PyTorch
        """Yield this module and all its descendants, each once. (The course's own Module returns its children.)"""
        return (module for _, module in self.named_modules())

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield `modules()` with their dotted names.

        Args:
            memo: Modules to leave out; those that are yielded are added.
            prefix: Name of this module.
            remove_duplicate: Whether a module with several names is yielded once.
        """
        return walk(self, prefix, set() if memo is None else memo, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:  # type: ignore[override]
        """Yield the parameters, each once. A module in a plain list or dictionary, whose parameters are missing, causes a warning."""
        warn_about_unregistered(self, recurse)
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:  # type: ignore[override]
        """Yield the parameters with their dotted names: the module's own first, then those of its children in order."""
        return self._members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield the buffers with their dotted names."""
        return self._members(lambda module: ((name, x) for name, x, _ in own_buffers(module)), prefix, recurse, remove_duplicate)

    def _members(self, own: Callable[[Any], Any], prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        """Yield what `own` finds in every module, with dotted names."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in own(module):
                if member is not None and not (remove_duplicate and id(member) in seen):
                    seen.add(id(member))
                    yield join(path, name), member

    def apply(self, fn: Callable[[Any], object]) -> Self:
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

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Enable (or disable) gradients for all parameters and return this module."""
        for parameter in self.parameters():
            parameter.value.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or to zeros if set_to_none is False."""
        for _, parameter in self.named_parameters():
            x = parameter.value
            if set_to_none:
                clears_gradient(x)
            if x.grad is not None:
                x.grad = None if set_to_none else x.grad.zeros()

    # State dicts

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:  # type: ignore[override]
        """Parameters and persistent buffers by dotted name, detached but sharing storage with the module; of unknown shape as they are.

        Args:
            destination: Dictionary to write into; a new one by default.
            prefix: Beginning of the names, with the dot.
            keep_vars: Whether to return the parameters themselves.
        """
        found = OrderedDict() if destination is None else destination
        for name, value in self._entries(prefix.removesuffix(".")):
            found[name] = value if keep_vars or is_lazy(value) else as_torch(value.detach())
        return found

    def _entries(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the entries of the state dict; the parameters of a module come before its buffers."""
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=False):
            for name, parameter in module._parameters.items():
                yield join(path, name), parameter.value
            for name, value, persistent in own_buffers(module):
                if persistent:
                    yield join(path, name), value

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Keys:  # type: ignore[override]
        """Copy a state dict into the parameters and buffers; on an error nothing changes.

        Args:
            state_dict: Tensors or arrays by name, PyTorch's as well. One name of a shared parameter is enough.
            strict: Whether the names must match those of this module exactly.
            assign: Whether parameters get the entries' dtypes, and share their storage, instead of copying the elements.

        Returns:
            The missing and the unexpected names.

        Raises:
            TypeError: If state_dict is not a mapping.
            StateDictError: If names or shapes do not match; the message lists all differences.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict expected a dictionary, got {type(state_dict).__name__}; pass a state_dict()")
        state_dict, further = dict(state_dict), ([], [], [])
        for path, module in self.named_modules():
            for hook in list(module.__dict__.get("_load_hooks", {}).values()):
                hook(module, state_dict, path and f"{path}.", {}, True, *further)
        own = dict(self._entries())
        given = {id(value) for name, value in own.items() if name in state_dict}
        missing = [*further[0], *[name for name, value in own.items() if name not in state_dict and id(value) not in given]]
        unexpected = [*further[1], *[name for name in state_dict if name not in own]]
        problems = further[2]
        if strict and unexpected:
            problems.append(f"unexpected {_quoted(unexpected)}")
        if strict and missing:
            problems.append(f"missing {_quoted(missing)}")
        loaded = {}
        for name, value in own.items():
            try:
                if name in state_dict:
                    loaded[name] = _entry_like(value, state_dict[name], assign, name)
            except (TypeError, ValueError) as error:
                problems.append(str(error))
        if problems:
            listed = "\n\t".join(problems)
            raise StateDictError(f"{type(self).__name__}.load_state_dict expected matching names and shapes, got:\n\t{listed}")
        for name, x in loaded.items():
            value = own[name]
            if is_lazy(value):
                if is_lazy(x):
                    continue
                value.materialize(x.shape)
            if assign and isinstance(state_dict[name], Tensor):
                value._take(x.requires_grad_(value.requires_grad))
            else:
                with no_grad():
                    value[...] = x
        return Keys(missing, unexpected)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call a function before this module, or one that it is part of, reads a state dict, such as to give older entries their new names.

        Args:
            hook: Called as hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs). It may
                change state_dict, in which the names of this module begin with prefix, and append to the last three lists;
                local_metadata is empty, and strict always True, as in PyTorch. See `register_forward_pre_hook` for the result and errors.
        """
        return _register_hook(self.__dict__.setdefault("_load_hooks", {}), hook, False, False)

    # Conversion

    def to(self, *targets: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False) -> Self:
        """Convert all parameters, their gradients and all buffers, and return this module.

        Args:
            targets: Devices and dtypes, or a tensor that has both.
            device: "cpu", "cuda" or a device.
            dtype: Floating-point dtype; integer and bool buffers keep theirs.
            non_blocking: Has no effect: every copy is complete when this returns.

        Raises:
            TypeError: If a target is neither a device nor a floating-point dtype; nothing is converted in this case.
        """
        resolved = targets_of(*[x for x in targets if not isinstance(x, bool)], device, dtype)
        for target in resolved:
            if isinstance(target, np.dtype) and not is_float(target):
                raise TypeError(f"Module.to expected a floating-point dtype, got {target.name}; convert single tensors instead")

        def convert(x: CourseTensor) -> CourseTensor:
            for target in resolved:
                x = x.to(target) if is_float(x.dtype) or not isinstance(target, np.dtype) else x
            return x

        for module in self.modules():
            for parameter in module._parameters.values():
                _convert_parameter(parameter, convert)
            for name, buffer, _ in own_buffers(module):
                _convert_buffer(module, name, buffer, convert)
        return self

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integers as well, to a floating-point dtype and return this module."""
        self.to(dst_type)
        for module in self.modules():
            for name, buffer, _ in own_buffers(module):
                _convert_buffer(module, name, buffer, lambda x: x.to(as_dtype(dst_type)))
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
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """Move to the GPU."""
        return self.to("cuda" if device is None else device)

    def share_memory(self) -> Self:
        """Move parameters and buffers into memory that other processes can share: see `torch.multiprocessing`."""
        share_memory_ = import_module("minitorch.torch.multiprocessing.sharing").share_memory_
        for tensor in [*(parameter.value for parameter in self.parameters()), *self.buffers()]:
            share_memory_(tensor)
        return self

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` between the registered hooks."""
        backward_hooks = self.__dict__.get("_backward_hooks")
        if not (self._pre_hooks or self._hooks or backward_hooks):
            return self.forward(*args, **kwargs)
        for key, hook in list(self._pre_hooks.items()):
            result = hook(self, args, kwargs) if isinstance(key, KeywordsKey) else hook(self, args)
            if isinstance(key, KeywordsKey):
                args, kwargs = (args, kwargs) if result is None else result
            else:
                args = args if result is None else result if isinstance(result, tuple) else (result,)
        observed = BackwardHooks(self, list(backward_hooks.values())) if backward_hooks and grad_mode.enabled else None
        output = self.forward(*(observed.enter(args) if observed else args), **kwargs)
        for key, hook in list(self._hooks.items()):
            result = hook(self, args, kwargs, output) if isinstance(key, KeywordsKey) else hook(self, args, output)
            output = output if result is None else result
        return observed.leave(output) if observed else output

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False) -> Hook:
        """Call hook(module, args) before every `forward`; a return value other than None replaces the arguments.

        Args:
            hook: The function.
            prepend: Whether it is called before those that are already registered.
            with_kwargs: Whether it is called as hook(module, args, kwargs), and returns None or both.

        Returns:
            A handle whose `remove()` unregisters the hook.

        Raises:
            TypeError: If hook is not callable.
        """
        return _register_hook(self._pre_hooks, hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Hook:
        """Call hook(module, args, output) after every `forward`; a return value other than None replaces the output.

        Args:
            hook: The function; for this, prepend, the result and the errors see `register_forward_pre_hook`.
            with_kwargs: Whether it is called as hook(module, args, kwargs, output).
            always_call: False.

        Raises:
            NotImplementedError: If always_call is set.
        """
        if always_call:
            raise NotImplementedError("register_forward_hook supports always_call=False only; catch the error where the module is called")
        return _register_hook(self._hooks, hook, prepend, with_kwargs)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> Hook:
        """Call hook(module, grad_input, grad_output) in the backward pass, when the gradients of the inputs are known.

        Args:
            hook: Takes two tuples of gradients: of the positional arguments, None for those that have none, and of the outputs. What it
                returns, unless None, replaces grad_input.
            prepend: See `register_forward_pre_hook` for this, the result and the error.
        """
        return _register_hook(self.__dict__.setdefault("_backward_hooks", {}), hook, prepend, False)

    def flops(self, args: tuple[Any, ...], output: Any) -> int:
        """Number of additions and multiplications in `forward`, excluding child modules; 0 if not implemented."""
        return 0

    # Representation

    def extra_repr(self) -> str:
        """The arguments to show in the repr, such as "in_features=2, out_features=3"."""
        return ""

    _forward_pre_hooks = property(lambda self: self._pre_hooks)  # as programs read them
    _forward_hooks = property(lambda self: self._hooks)

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not children:
            return f"{self._get_name()}({extra})" if len(lines) < 2 else "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"
        return "\n  ".join([f"{self._get_name()}(", *lines, *children]) + "\n)"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._modules})


def _register_hook(hooks: dict[object, Any], hook: Callable[..., Any], prepend: bool, with_kwargs: bool) -> Hook:
    """Register a hook. Raises TypeError if it is not callable."""
    if not callable(hook):
        raise TypeError(f"a hook expected a function, got {type(hook).__name__}")
    key = KeywordsKey() if with_kwargs else object()
    later = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[key] = hook
    hooks.update(later)
    return Hook(hooks, key)


def _named(module: Module, target: str, members: Mapping[str, Any], kind: str) -> Any:
    """The member with a dotted name. Raises AttributeError if there is none."""
    if target not in members:
        raise AttributeError(f"{type(module).__name__} has no {kind} {target!r}; it has {', '.join(members) or 'none'}")
    return members[target]


def _quoted(names: list[str]) -> str:
    """Names in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)


def _entry_like(own: CourseTensor, given: Any, assign: bool, name: str) -> CourseTensor:
    """An entry of a state dict, detached, or else copied in the dtype and backend of the current value.

    Args:
        own: The current value.
        given: A Tensor, a PyTorch tensor or an array.
        assign: Whether a Tensor is not copied.
        name: Its name, for the error message.

    Raises:
        TypeError: If the entry is not numeric.
        ValueError: If its shape differs or is unknown, or it would have to be converted from floating-point to integer.
    """
    if is_lazy(given):
        if is_lazy(own):
            return given
        raise ValueError(f"{name}: expected shape {tuple(own.shape)}, got an {type(given).__name__}; save it after the first batch")
    if hasattr(given, "detach"):
        given = given.detach()
    if hasattr(given, "cpu") and not isinstance(given, CourseTensor):  # a PyTorch tensor; NumPy has no bfloat16
        given = given.cpu().float() if str(given.dtype) == "torch.bfloat16" else given.cpu()
    values = to_array(given.to_numpy() if isinstance(given, CourseTensor) else given, name)
    if not is_lazy(own) and values.shape != own.shape:
        raise ValueError(f"{name}: expected shape {tuple(own.shape)}, got {tuple(values.shape)}")
    if assign and isinstance(given, Tensor):
        return given
    if not is_float(own.dtype) and is_float(values.dtype):
        raise ValueError(f"{name}: expected {own.dtype.name}, got {values.dtype.name}")
    return make_tensor(TensorData(convert_array(values, own.dtype, name).reshape(-1), values.shape), own.backend, False)


def _convert_parameter(parameter: Any, convert: Callable[[CourseTensor], CourseTensor]) -> None:
    """Convert the value of a parameter and its gradient."""
    if is_lazy(parameter):
        parameter.data = convert(parameter.data)
        return
    value, old = parameter.value, parameter.value.detach()
    new = convert(old)
    if new is old:
        return
    grad, requires_grad = value.grad, value.requires_grad
    parameter.update(new)
    parameter.value.requires_grad_(requires_grad)
    parameter.value.grad = None if grad is None else convert(grad)


def _convert_buffer(module: Node, name: str, buffer: Any, convert: Callable[[CourseTensor], CourseTensor]) -> None:
    """Convert a buffer, which is replaced."""
    if is_lazy(buffer):
        buffer.data = convert(buffer.data)
    else:
        setattr(module, name, convert(buffer))
