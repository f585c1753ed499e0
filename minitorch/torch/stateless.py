"""Stage 7 - Calls of modules with other parameters and buffers, and the states of several modules as one, for `torch.func`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minitorch.core.errors import ArgumentError
from minitorch.nn.module import join
from minitorch.nn.parameter import Parameter
from minitorch.torch import shapes
from minitorch.torch.tensor import Tensor, lift

_stack_tensors = lift(shapes.stack)


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors as its parameters and buffers.

    Args:
        module: The module; it is not changed.
        parameter_and_buffer_dicts: Tensors by dotted name, in one dictionary or several; those that are left out keep their values.
        args: The argument, or a tuple of arguments.
        kwargs: Arguments by name.
        tie_weights: Whether a tensor replaces a shared parameter under all its names.
        strict: Whether all parameters and buffers must be given.

    Raises:
        KeyError: If the module has no parameter or buffer of a name.
        TypeError: If a value is no Tensor.
        ValueError: If a name is in two dictionaries, or two tensors are given for a shared parameter.
        RuntimeError: If strict is set and a name is missing or unknown.

    Example:
        >>> layer = nn.Linear(2, 1, bias=False)
        >>> torch.func.functional_call(layer, {"weight": torch.tensor([[1.0, 10.0]])}, torch.tensor([2.0, 3.0]))
        tensor([32.])
    """
    places = _places(module)
    given = _merged(parameter_and_buffer_dicts)
    unknown = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if strict and (unknown or missing):
        raise RuntimeError(f"functional_call expected all names of {type(module).__name__}, got unknown {unknown} and missing {missing}")
    if unknown:
        raise KeyError(f"{type(module).__name__} has no parameter or buffer {unknown[0]!r}; it has {', '.join(places)}")
    before = {name: place[key] for name, (place, key) in places.items()}
    values = _tied(given, before) if tie_weights else given
    try:
        for name, value in values.items():
            place, key = places[name]  # a view of it has the type of a parameter and leads gradients back to it
            place[key] = Parameter._of(value.view(value.shape)) if isinstance(before[name], Parameter) else value
        return module(*(() if args is None else args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for name in values:
            place, key = places[name]
            place[key] = before[name]


def _places(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is registered, by dotted name."""
    found = {}
    for path, part in module.named_modules(remove_duplicate=False):
        found |= {join(path, name): (part._parameters, name) for name in part._parameters}
        found |= {join(path, name): (part.__dict__, name) for name in part._buffers if part.__dict__[name] is not None}
    return found


def _merged(dictionaries: Any) -> dict[str, Tensor]:
    """One or several dictionaries of Tensors as one.

    Raises:
        TypeError: If a value is no Tensor.
        ValueError: If one is no dictionary, or a name is in two of them.
    """
    found: dict[str, Tensor] = {}
    for each in [dictionaries] if isinstance(dictionaries, Mapping) else dictionaries:
        if not isinstance(each, Mapping):
            raise ValueError(f"functional_call expected dictionaries of Tensors, got {type(each).__name__}")
        for name, value in each.items():
            if name in found:
                raise ValueError(f"functional_call got {name!r} in two dictionaries; leave it out of one")
            if not isinstance(value, Tensor):
                raise TypeError(f"functional_call expected a Tensor for {name!r}, got {type(value).__name__}")
            found[name] = value
    return found


def _tied(given: dict[str, Tensor], own: dict[str, Any]) -> dict[str, Tensor]:
    """The Tensors for all names of the parameters that are replaced. Raises ValueError if a shared parameter is replaced by two Tensors."""
    others: dict[int, Tensor] = {}
    for name, value in given.items():
        if others.setdefault(id(own[name]), value) is not value:
            raise ValueError(f"functional_call got two tensors for the shared parameter {name!r}; leave out one, or pass tie_weights=False")
    return {name: others[id(x)] for name, x in own.items() if id(x) in others}


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one kind, stacked by name: for `functional_call` within `vmap`.

    Args:
        models: The modules.

    Returns:
        The stacked parameters, leaves of their own, and the stacked buffers.

    Raises:
        ValueError: If there are none, or they are of different classes or modes.

    Example:
        >>> parameters, buffers = torch.func.stack_module_state([nn.Linear(2, 3), nn.Linear(2, 3)])
        >>> parameters["weight"].shape
        torch.Size([2, 3, 2])
    """
    if not models:
        raise ArgumentError("stack_module_state expected at least one module, got none")
    kinds = sorted({type(model).__name__ for model in models})
    if len({type(model) for model in models}) > 1:
        raise ArgumentError(f"stack_module_state expected modules of one class, got {', '.join(kinds)}")
    if len({model.training for model in models}) > 1:
        raise ArgumentError("stack_module_state expected modules in one mode, got training and evaluation; call train() or eval() of all")
    states, buffers = [dict(model.named_parameters()) for model in models], [dict(model.named_buffers()) for model in models]
    params = {
        name: _stack_tensors([state[name].detach() for state in states]).requires_grad_(x.requires_grad) for name, x in states[0].items()
    }
    return params, {name: _stack_tensors([own[name].detach() for own in buffers]) for name in buffers[0]}
