"""Stage 7 - Parametrizations: a parameter or buffer of a module that is computed, whenever it is read, by other modules.

The module gets a class of its own, `ParametrizedLinear`, whose attribute `weight` calls `module.parametrizations.weight`. This list holds
the parametrizations and the tensors that they begin with.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch.core.context import no_grad
from minitorch.nn.containers import ModuleDict, ModuleList
from minitorch.nn.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.torch.tensor import Tensor


class Cache:
    """What has been computed while `cached` is active.

    Attributes:
        depth: How many are active.
        tensors: The results, by module and name.
    """

    depth = 0
    tensors: dict[tuple[Any, str], Any] = {}  # noqa: RUF012 - one for all


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once, when it is first read, until the end of the block."""
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if not Cache.depth:
            Cache.tensors = {}


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, in order, as `module.parametrizations.weight`; called, it computes the tensor.

    It holds the tensor that they begin with as `original`, or several as `original0`, `original1` and so on.

    Args:
        modules: The parametrizations.
        original: The parameter or buffer.
        unsafe: Whether they may change shape and dtype.

    Raises:
        ValueError: If there are none, or unless unsafe, if they change shape or dtype.
    """

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList expected at least one parametrization, got none")
        super().__init__(modules)
        self.unsafe, before = unsafe, original.detach()
        begin = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        begin = module.right_inverse(begin)
                    except NotImplementedError:
                        continue
        self.is_tensor = isinstance(begin, Tensor)
        parts = [begin] if self.is_tensor else _tensors(begin)
        self.ntensors = len(parts)
        if self.is_tensor:
            if begin.dtype != original.dtype:
                raise ValueError(f"right_inverse expected to return {original.dtype.name}, the dtype of the tensor, got {begin.dtype.name}")
            if begin is not original:
                original.data = begin.detach()
            _register(self, "original", original)
        else:
            for number, x in enumerate(parts):
                as_original = Parameter(x, original.requires_grad) if isinstance(original, Parameter) else x.detach()
                _register(self, f"original{number}", as_original)
        if not unsafe:
            _check_same("the parametrization", self(), before)

    def originals(self) -> list[Any]:
        """The tensors that the parametrizations begin with, of any shape."""
        return [self.original] if self.is_tensor else [getattr(self, f"original{number}") for number in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the parametrizations compute a value, of any shape.

        Raises:
            RuntimeError: If a parametrization has no right_inverse.
            ValueError: If it returns other tensors than there are originals.
        """
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    name = type(module).__name__
                    raise RuntimeError(f"{name} has no right_inverse, so its tensor cannot be assigned; define right_inverse(self, value)")
                value = module.right_inverse(value)
            parts = [value] if self.is_tensor and isinstance(value, Tensor) else _tensors(value)
            if len(parts) != self.ntensors:
                raise ValueError(f"right_inverse expected to return {self.ntensors} tensors, got {len(parts)}")
            for x, part in zip(self.originals(), parts, strict=True):
                if part.dtype != x.dtype:
                    raise ValueError(f"right_inverse expected to return {x.dtype.name}, the dtype of the tensor, got {part.dtype.name}")
                x.data = part.detach().clone()

    def forward(self) -> Any:
        """Compute the tensor, of any shape."""
        first, *others = self
        x = first(*self.originals())
        for module in others:
            x = module(x)
        return x


def _tensors(values: Any) -> list[Any]:
    """What right_inverse returned, if it is several tensors. Raises ValueError if it is anything else."""
    if isinstance(values, (list, tuple)) and all(isinstance(x, Tensor) for x in values):
        return list(values)
    raise ValueError(f"right_inverse expected to return a Tensor or a tuple of them, got {type(values).__name__}")


def _check_same(what: str, after: Any, before: Any) -> None:
    """Raise ValueError unless both are tensors of one shape and dtype."""
    if not isinstance(after, Tensor):
        raise ValueError(f"{what} expected to return a Tensor, got {type(after).__name__}")
    if after.shape != before.shape or after.dtype != before.dtype:
        raise ValueError(
            f"{what} expected to return {before.dtype.name} of shape {tuple(before.shape)}, as the tensor is, got {after.dtype.name} of "
            f"shape {tuple(after.shape)}; pass unsafe=True to change them"
        )


def _register(module: Any, name: str, x: Any) -> None:
    """Register a parameter or a buffer."""
    (module.register_parameter if isinstance(x, Parameter) else module.register_buffer)(name, x)


# The classes of parametrized modules


def _list_of(module: Any, name: str) -> Any:
    """The parametrizations of a tensor; None if there are none."""
    lists = module.__dict__.get("_modules", {}).get("parametrizations")
    return lists._modules.get(name) if isinstance(lists, ModuleDict) else None


def _parametrized_class(kind: Any) -> type:
    """A class of modules like another, which computes the parametrized tensors."""

    def __getattr__(self: Any, name: str) -> Any:
        parametrizations = _list_of(self, name)
        if parametrizations is None:
            return kind.__getattr__(self, name)
        if not Cache.depth:
            return parametrizations()
        if (self, name) not in Cache.tensors:
            Cache.tensors[self, name] = parametrizations()
        return Cache.tensors[self, name]

    def __setattr__(self: Any, name: str, value: Any) -> None:
        parametrizations = _list_of(self, name)
        if parametrizations is None:
            kind.__setattr__(self, name, value)
        else:
            parametrizations.right_inverse(value)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        memo[id(self)] = made = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} cannot be pickled; save its state_dict(), or call remove_parametrizations first")

    members = {function.__name__: function for function in (__getattr__, __setattr__, __deepcopy__, __reduce_ex__)}
    return type(f"Parametrized{kind.__name__}", (kind,), members | {"__module__": kind.__module__, "__doc__": kind.__doc__})


# Functions


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a module compute a parameter or buffer of another one whenever it is read.

    Args:
        module: The module, which is changed and returned.
        tensor_name: Name of the parameter or buffer. If it is parametrized already, the new parametrization comes after the others.
        parametrization: Maps the tensor to the one that is read. If it has a method right_inverse, this computes the first value, and those
            of assignments; it may return several tensors for a parametrization that takes several.
        unsafe: Whether it may change shape and dtype.

    Raises:
        TypeError: If parametrization is not a Module.
        ValueError: If there is no such tensor, or the parametrization changes its shape or dtype.
    """
    if not isinstance(parametrization, Module):
        raise TypeError(f"register_parametrization expected a Module as parametrization, got {type(parametrization).__name__}")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        if not unsafe:
            _check_same("the parametrization", parametrization(before), before)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
        return module
    original = module._parameters.get(tensor_name, module.__dict__.get(tensor_name) if tensor_name in module._buffers else None)
    if original is None:
        names = ", ".join([*module._parameters, *module._buffers])
        raise ValueError(f"{type(module).__name__} has no parameter or buffer {tensor_name!r}; it has {names or 'none'}")
    parametrizations = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(type(module))
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = parametrizations
    return module


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized, or any tensor if no name is given."""
    lists = module.__dict__.get("_modules", {}).get("parametrizations")
    return isinstance(lists, ModuleDict) and (len(lists) > 0 if tensor_name is None else tensor_name in lists)


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make a parametrized tensor an ordinary one.

    Args:
        module: The module, which is changed and returned.
        tensor_name: Name of the tensor.
        leave_parametrized: Whether it keeps the computed value; otherwise it gets the original one.

    Raises:
        ValueError: If it is not parametrized, or there are several originals and leave_parametrized is not set.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{type(module).__name__} has no parametrization of {tensor_name!r}")
    parametrizations = module.parametrizations[tensor_name]
    if not leave_parametrized and not parametrizations.is_tensor:
        raise ValueError(
            f"{tensor_name!r} is computed of {parametrizations.ntensors} tensors, so it has no original; leave it parametrized"
        )
    original = parametrizations.originals()[0]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach().clone()
        if parametrizations.is_tensor:
            original.data = value
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had before tensors of it were parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give a module the parametrizations of another, the same objects, and copies of the tensors that they begin with.

    Args:
        from_module: The module that has them.
        to_module: The module that gets them, and is returned.
        tensor_name: Name of the only tensor; all parametrized ones if left out.
    """
    names = list(from_module.parametrizations) if is_parametrized(from_module) else []
    for name in names if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if name not in to_module._parameters and name not in to_module._buffers and not is_parametrized(to_module, name):
            x = getattr(from_module, name).detach().clone()
            _register(to_module, name, Parameter(x) if isinstance(source.originals()[0], Parameter) else x)
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=source.unsafe)
        for x, own in zip(to_module.parametrizations[name].originals(), source.originals(), strict=True):
            x.data = own.detach().clone()
    return to_module
