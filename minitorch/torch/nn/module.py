"""Stage 6 - Module with PyTorch's interface, and the adapter that makes modules of it from the engine's layers."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np

import minitorch.nn.module as engine
from minitorch.core.context import grad_mode, no_grad
from minitorch.core.dtypes import is_float
from minitorch.core.gradients import Hook
from minitorch.module import Parameter as EngineParameter
from minitorch.nn.module import Keys, join
from minitorch.tensor import Tensor as EngineTensor
from minitorch.torch.nn.hooks import BackwardHooks, KeywordsKey
from minitorch.torch.nn.parameter import Parameter
from minitorch.torch.placement import placement, targets_of
from minitorch.torch.tensor import Tensor, as_torch, lift

ADAPTED: dict[type, type[Module]] = {}
"""For every class of the engine's layers the class that is made from it."""


class IncompatibleKeys(Keys):
    """The names by which a state dict differs from a module."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class Module(engine.Module):
    """Base class of networks.

    A subclass calls `super().__init__()` first. Assigning a Parameter or a Module to an attribute registers it under that name. Modules in
    a plain list or dictionary are not registered: use a ModuleList or a ModuleDict.
    """

    # Registration

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute, parameter, child module or buffer; layers and parameters of the engine are adapted.

        Raises:
            TypeError: If the name is that of a parameter, child or buffer, and the value is something else, but not None.
        """
        if isinstance(value, EngineParameter) and not isinstance(value, Parameter):
            value = Parameter._of(value.value)
        elif isinstance(value, engine.Node) and not isinstance(value, Module):
            value = adapt_module(value)
        own = self.__dict__
        if isinstance(value, (Parameter, Module)):
            own.get("_buffers", {}).pop(name, None)
            engine.Node.__setattr__(self, name, value)
            return
        if name in own.get("_buffers", ()):
            self._check(name, value, "buffer", (Tensor, EngineTensor), "torch.Tensor")
            own[name] = as_torch(value)
            return
        for registry, kind, expected in (("_parameters", "parameter", Parameter), ("_modules", "child module", Module)):
            if name in own.get(registry, ()):
                self._check(name, value, kind, expected, f"torch.nn.{expected.__name__}")
                del own[registry][name]
        object.__setattr__(self, name, value)

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
        self._check(name, tensor, "buffer", (Tensor, EngineTensor), "torch.Tensor")
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

    def add_module(self, name: str, module: Module | None) -> None:
        """Register a child module, or None for one that the module lacks.

        Raises:
            TypeError: If module is neither a Module nor None.
            KeyError: If the name contains a dot, is empty or is already in use.
        """
        self._check_name(name, name in self._modules)
        self._check(name, module, "child module", Module, "torch.nn.Module")
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
        """The buffer with a dotted name.

        Raises:
            AttributeError: If there is none.
        """
        return _named(self, target, dict(self.named_buffers(remove_duplicate=False)), "buffer")

    # Traversal

    def children(self) -> Iterator[Any]:  # type: ignore[override]  # an iterator, as in PyTorch
        """Yield the direct child modules, each once."""
        return (module for _, module in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Yield the direct child modules with their names, each once."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self) -> Iterator[Any]:  # type: ignore[override]
        """Yield this module and all its descendants, each once."""
        return (module for _, module in self.named_modules())

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Yield `modules()` with their dotted names.

        Args:
            memo: Modules to leave out; those that are yielded are added.
            prefix: Name of this module.
            remove_duplicate: Whether a module with several names is yielded once.
        """
        memo = set() if memo is None else memo
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                yield from module.named_modules(memo, join(prefix, name), remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:  # type: ignore[override]
        """Yield the parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:  # type: ignore[override]
        """Yield the parameters with their dotted names: the module's own first, then those of its children in order."""
        return self._members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:  # type: ignore[override]
        """Yield the buffers, each once."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:  # type: ignore[override]
        """Yield the buffers with their dotted names."""
        return self._members(_own_buffers, prefix, recurse, remove_duplicate)

    def _members(self, own: Callable[[Any], Any], prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        """Yield what `own` finds in every module, with dotted names."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in own(module):
                if member is not None and not (remove_duplicate and id(member) in seen):
                    seen.add(id(member))
                    yield join(path, name), member

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Enable (or disable) gradients for all parameters and return this module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters to None, or to zeros if set_to_none is False."""
        zero_gradients(self.parameters(), set_to_none)

    # State dicts

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Any]:  # type: ignore[override]
        """Parameters and persistent buffers by dotted name, detached but sharing storage with the module.

        Args:
            destination: Dictionary to write into; a new one by default.
            prefix: Beginning of the names, with the dot.
            keep_vars: Whether to return the parameters themselves.
        """
        found = OrderedDict() if destination is None else destination
        for name, value in self._entries(prefix.removesuffix(".")):
            found[name] = value if keep_vars else Tensor._of(value.detach())
        return found

    def _entries(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Yield the entries of the state dict; the parameters of a module come before its buffers."""
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=False):
            for name, parameter in module._parameters.items():
                yield join(path, name), parameter
            for name, persistent in module._buffers.items():
                if persistent and module.__dict__[name] is not None:
                    yield join(path, name), module.__dict__[name]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:  # type: ignore[override]
        """Copy a state dict into the parameters and buffers; on an error nothing changes.

        Args:
            state_dict: Tensors or arrays by name, PyTorch's as well.
            strict: Whether the names must match those of this module exactly.
            assign: Whether parameters get the entries' dtypes, and share their storage, instead of copying the elements.

        Returns:
            The missing and the unexpected names.

        Raises:
            TypeError: If state_dict is not a mapping.
            RuntimeError: If names or shapes do not match; the message lists all differences.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"load_state_dict expected a dictionary, got {type(state_dict).__name__}; pass a state_dict()")
        own = dict(self._entries())
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        problems = []
        if strict and unexpected:
            problems.append(f"unexpected {_quoted(unexpected)}")
        if strict and missing:
            problems.append(f"missing {_quoted(missing)}")
        for name, value in own.items():
            if name in state_dict and tuple(state_dict[name].shape) != value.shape:
                problems.append(f"{name}: expected shape {tuple(value.shape)}, got {tuple(state_dict[name].shape)}")
        if problems:
            listed = "\n\t".join(problems)
            raise RuntimeError(f"{type(self).__name__}.load_state_dict expected matching names and shapes, got:\n\t{listed}")
        for name, value in own.items():
            if name in state_dict:
                _load_entry(value, state_dict[name], assign, name)
        return IncompatibleKeys(missing, unexpected)

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

        def convert(x: EngineTensor) -> EngineTensor:
            for target in resolved:
                x = x.to(target) if is_float(x.dtype) or not isinstance(target, np.dtype) else x
            return x

        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    engine._convert_parameter(parameter, convert)
            for _, buffer in _own_buffers(module):
                if buffer is not None:
                    buffer._take(convert(buffer))
        return self

    def type(self, dst_type: Any) -> Self:
        """Convert all floating-point values to a dtype and return this module."""
        return self.to(dst_type)

    def cuda(self, device: Any = None) -> Self:
        """Move to the GPU and return this module."""
        return self.to("cuda" if device is None else device)

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` between the registered hooks. A layer of the engine calls its children with the engine's tensors: so do they."""
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
            hook: The function.
            prepend: Whether it is called before those that are already registered.
            with_kwargs: Whether it is called as hook(module, args, kwargs, output).
            always_call: False.

        Returns:
            A handle whose `remove()` unregisters the hook.

        Raises:
            TypeError: If hook is not callable.
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
            prepend: Whether it is called before those that are already registered.

        Returns:
            A handle whose `remove()` unregisters the hook.

        Raises:
            TypeError: If hook is not callable.
        """
        return _register_hook(self.__dict__.setdefault("_backward_hooks", {}), hook, prepend, False)

    # Representation

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
    """Register a hook.

    Raises:
        TypeError: If it is not callable.
    """
    if not callable(hook):
        raise TypeError(f"a hook expected a function, got {type(hook).__name__}")
    key = KeywordsKey() if with_kwargs else object()
    later = dict(hooks) if prepend else {}
    if prepend:
        hooks.clear()
    hooks[key] = hook
    hooks.update(later)
    return Hook(hooks, key)


def _own_buffers(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the module's own buffers."""
    for name in module._buffers:
        yield name, module.__dict__[name]


def _named(module: Module, target: str, members: Mapping[str, Any], kind: str) -> Any:
    """The member with a dotted name.

    Raises:
        AttributeError: If there is none.
    """
    if target not in members:
        raise AttributeError(f"{type(module).__name__} has no {kind} {target!r}; it has {', '.join(members) or 'none'}")
    return members[target]


def _quoted(names: list[str]) -> str:
    """Names in quotation marks."""
    return ", ".join(f'"{name}"' for name in names)


def _load_entry(value: Tensor, given: Any, assign: bool, name: str) -> None:
    """Copy an entry of a state dict into a parameter or buffer, or let it share the entry's storage."""
    own = value
    if assign and isinstance(given, Tensor):
        value._take(given.detach().requires_grad_(own.requires_grad))
        return
    copied = engine._copy_like(own, given, name)
    with no_grad():
        own[...] = copied


def zero_gradients(parameters: Any, set_to_none: bool) -> None:
    """Reset gradients to None, or to zeros."""
    for parameter in parameters:
        own = parameter
        if own.grad is not None:
            own.grad = None if set_to_none else own.grad.zeros()


# The adapter


def adapt(layer: type, lifted: bool = True) -> Any:
    """Make a Module of a class of the engine's layers: the same computation, called with Tensors.

    Args:
        layer: The engine's class. Its parameters become Parameters around the same tensors of the engine.
        lifted: Whether `forward` computes with the engine's tensors; a container passes on what it is given.

    Returns:
        A class with the arguments of the engine's, but device and dtype in place of backend and dtype: the dtype is the default dtype
        unless another is given, and the backend the fast one.
    """
    places = "backend" in inspect.signature(layer.__init__).parameters

    def __init__(self: Any, *args: Any, device: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        if places:
            kwargs |= placement(device, dtype)
        layer.__init__(self, *args, **kwargs)
        self.reset_parameters()

    members: dict[str, Any] = {
        "__init__": __init__,
        "__doc__": layer.__doc__,
        "__module__": "minitorch.torch.nn",
        "reset_parameters": _keep,
    }
    if lifted:
        members["forward"] = lift(layer.forward)  # type: ignore[attr-defined]
    made = type(layer.__name__, (Module, layer), members)
    ADAPTED[layer] = made
    return made


def _keep(self: Any) -> None:
    """Initialize the parameters; by default they keep the values of the engine's layer."""


def adapts(layer: type) -> Callable[[type], type]:
    """Decorate a subclass of an adapted class, so that children of that class of the engine become instances of the subclass."""

    def register(made: Any) -> Any:
        ADAPTED[layer] = made
        return made

    return register


def adapt_module(module: engine.Node) -> Module:
    """A module of the engine as a Module, with the same tensors.

    Raises:
        TypeError: If its class has not been adapted.
    """
    kind = ADAPTED.get(type(module))
    if kind is None:
        raise TypeError(
            f"a torch.nn.Module expected modules of torch.nn, got {type(module).__module__}.{type(module).__name__}; "
            "derive it from torch.nn.Module"
        )
    made: Any = kind.__new__(kind)
    state = dict(module.__dict__)
    parameters, children = state.pop("_parameters"), state.pop("_modules")
    made.__dict__.update(state, _parameters={}, _modules={})
    for name in made._buffers:
        made.__dict__[name] = as_torch(made.__dict__[name])
    for name, value in (*parameters.items(), *children.items()):
        setattr(made, name, value)
    return made
