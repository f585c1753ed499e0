"""Stage 0 - Modules and parameters: the tree of a network's trainable values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Parameter:
    """A trainable value in a Module.

    The value may be any object. A Scalar or a Tensor becomes a leaf (`requires_grad_(True)`) and takes the parameter's name.

    Args:
        x: The value.
        name: Name in graphs and messages.
    """

    def __init__(self, x: Any, name: str | None = None) -> None:
        self.name = name
        self.update(x)

    def update(self, x: Any) -> None:
        """Replace the value, as an optimizer's step does."""
        self.value = x
        if hasattr(x, "requires_grad_"):
            x.requires_grad_(True)
            if self.name:
                x.name = self.name

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)


class Module:
    """A node of a network: its own parameters, its child modules, and a `forward`.

    A subclass calls `super().__init__()` first. Assigning a Parameter or a Module to an attribute registers it under that name;
    any other value is an ordinary attribute.

    Attributes:
        training: True in training mode, False in evaluation mode.
    """

    _modules: dict[str, Module]
    _parameters: dict[str, Parameter]
    training: bool

    def __init__(self) -> None:
        self._modules = {}
        self._parameters = {}
        self.training = True

    def modules(self) -> Sequence[Module]:
        """The direct children, in the order in which they were assigned."""
        return list(self._modules.values())

    def train(self) -> None:
        """Set this module and all its descendants to training mode."""
        self.training = True
        for module in self.modules():
            module.train()

    def eval(self) -> None:
        """Set this module and all its descendants to evaluation mode."""
        self.training = False
        for module in self.modules():
            module.eval()

    def named_parameters(self) -> Sequence[tuple[str, Parameter]]:
        """Every parameter of the tree with its dotted name.

        Returns:
            Pairs such as ("weight", …), ("layer1.weight", …): own parameters first, then each child's in order.
        """
        named = list(self._parameters.items())
        for child_name, module in self._modules.items():
            named += [(f"{child_name}.{name}", parameter) for name, parameter in module.named_parameters()]
        return named

    def parameters(self) -> Sequence[Parameter]:
        """Every parameter of the tree, in the order of `named_parameters`."""
        return [parameter for _, parameter in self.named_parameters()]

    def add_parameter(self, name: str, value: Any) -> Parameter:
        """Register a value as a parameter, for names that are computed at run time (`f"weight_{i}"`).

        Returns:
            The new Parameter, which is also the attribute `name`.
        """
        parameter = Parameter(value, name)
        setattr(self, name, parameter)
        return parameter

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the module; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward; define forward(self, ...) in the class")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`."""
        return self.forward(*args, **kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_parameters", ()) and not isinstance(value, Parameter):
            raise TypeError(
                f"{type(self).__name__}.{name} is a parameter, got {type(value).__name__}; "
                f"change its value with {name}.update(value), or assign a Parameter"
            )
        if isinstance(value, (Parameter, Module)):
            mine, other = ("_parameters", "_modules") if isinstance(value, Parameter) else ("_modules", "_parameters")
            getattr(self, other).pop(name, None)
            self.__dict__.pop(name, None)  # a plain attribute of that name would take precedence
            getattr(self, mine)[name] = value
        else:
            self._unregister(name)
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:  # called only if there is no ordinary attribute of that name
        if name in ("_parameters", "_modules", "training"):
            raise AttributeError(f"{type(self).__name__} is used before Module.__init__ has run; call super().__init__() first")
        for registry in ("_parameters", "_modules"):
            found = self.__dict__.get(registry, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; it has {self._names()}")

    def __delattr__(self, name: str) -> None:
        if not self._unregister(name):
            super().__delattr__(name)

    def _unregister(self, name: str) -> bool:
        """Unregister `name`; return whether it was registered."""
        registered = False
        for registry in ("_parameters", "_modules"):
            registered |= self.__dict__.get(registry, {}).pop(name, None) is not None
        return registered

    def _names(self) -> str:
        """Names of the parameters, children and attributes, for messages."""
        own = [name for name in self.__dict__ if not name.startswith("_")]
        return ", ".join([*self.__dict__.get("_parameters", {}), *self.__dict__.get("_modules", {}), *own]) or "none"

    def __repr__(self) -> str:
        if not self._modules:
            return f"{type(self).__name__}()"
        lines = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self._modules.items()]
        return "\n".join([f"{type(self).__name__}(", *(f"  {line}" for line in lines), ")"])
