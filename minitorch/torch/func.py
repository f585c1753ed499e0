"""Stage 6 - torch.func: functions that compute derivatives of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.autograd import functional
from minitorch.torch.autograd.gradients import as_tuple
from minitorch.torch.autograd.gradients import grad as gradients
from minitorch.torch.tensor import Tensor

Argnums = int | Sequence[int]
"""Positions of the arguments to differentiate with respect to."""


def _split(args: tuple[Any, ...], argnums: Argnums) -> tuple[list[int], tuple[Tensor, ...]]:
    """The positions, and the arguments there."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    return numbers, tuple(args[i] for i in numbers)


def _with(args: tuple[Any, ...], numbers: list[int], values: Sequence[Any]) -> list[Any]:
    """The arguments, some of them replaced."""
    changed = list(args)
    for i, value in zip(numbers, values, strict=True):
        changed[i] = value
    return changed


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function and its value.

    Args:
        func: Returns a Tensor of one element; with has_aux a pair of it and anything else.
        argnums: Positions of the arguments to differentiate with respect to.
        has_aux: See func.
    """

    @functools.wraps(func)
    def computed(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        recorded = any(x._engine.history is not None for x in chosen)
        leaves = functional._leaves(chosen, True)
        out = func(*_with(args, numbers, leaves), **kwargs)
        value, aux = out if has_aux else (out, None)
        found = tuple(functional._constants(g, recorded) for g in gradients(value, leaves, create_graph=True, materialize_grads=True))
        result = found[0] if isinstance(argnums, int) else found
        value = functional._constants(value, recorded)
        return (result, (value, aux)) if has_aux else (result, value)

    return computed


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function; for the arguments see `grad_and_value`."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable[..., Any], *primals: Tensor) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and a function that maps a vector to its product with the Jacobian.

    Args:
        func: Function of Tensors; returns one or several.
        primals: The point.
    """
    leaves = functional._leaves(primals, True)
    outputs = func(*leaves)

    def pull(*cotangents: Any) -> tuple[Tensor, ...]:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        return tuple(gradients(outputs, leaves, given, retain_graph=True, create_graph=True, materialize_grads=True))  # type: ignore

    return functional._constants(outputs, any(x._engine.history is not None for x in primals)), pull


def jvp(func: Callable[..., Any], primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...]) -> tuple[Any, Any]:
    """The value of a function, and the product of its Jacobian with a vector."""
    return functional.jvp(func, tuple(primals), tuple(tangents), create_graph=any(x._engine.history is not None for x in primals))


def jacrev(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Jacobian of a function, by one backward pass per element of its value."""

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        recorded = any(x._engine.history is not None for x in chosen)

        def of_chosen(*xs: Tensor) -> Any:
            return func(*_with(args, numbers, xs), **kwargs)

        return functional.jacobian(of_chosen, chosen[0] if isinstance(argnums, int) else chosen, create_graph=recorded)

    return jacobian


jacfwd = jacrev  # the same matrix


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of a function with one number as its value."""
    return jacrev(grad(func, argnums), argnums)


def functional_call(module: Any, parameters_and_buffers: Mapping[str, Tensor], args: Any = None, kwargs: Any = None) -> Any:
    """Call a module with other tensors as its parameters and buffers.

    Args:
        module: The module; it is not changed.
        parameters_and_buffers: Tensors by dotted name; those that are left out keep their values.
        args: The argument, or a tuple of arguments.
        kwargs: Arguments by name.

    Raises:
        KeyError: If the module has no parameter or buffer of a name.
    """
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    before = []
    try:
        for name, value in parameters_and_buffers.items():
            if name not in own:
                raise KeyError(f"{type(module).__name__} has no parameter or buffer {name!r}; it has {', '.join(own)}")
            before.append((own[name], own[name]._engine))
            own[name]._engine = value._engine
        return module(*(() if args is None else as_tuple(args)), **(kwargs or {}))
    finally:
        for x, engine in reversed(before):
            x._engine = engine


__getattr__ = refuse_absent("torch.func", defined(globals()))
