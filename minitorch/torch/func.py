"""Stage 6 - torch.func: functions that compute derivatives of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minitorch.autograd import functional
from minitorch.autograd.engine import grad as gradients
from minitorch.autograd.functional import as_tuple
from minitorch.nn.parameter import Parameter
from minitorch.tensor import generator
from minitorch.torch import shapes
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.tensor import Tensor, lift

_stack_tensors = lift(shapes.stack)

Argnums = int | Sequence[int]
"""Positions of the arguments to differentiate with respect to."""


def _split(args: tuple[Any, ...], argnums: Argnums) -> tuple[list[int], tuple[Tensor, ...]]:
    """The positions, and the arguments there."""
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    return numbers, tuple(args[i] for i in numbers)


def _with(args: tuple[Any, ...], numbers: list[int], values: Sequence[Any]) -> list[Any]:
    """The arguments of a call, of which those at some places are replaced."""
    changed = list(args)
    for i, value in zip(numbers, values, strict=True):
        changed[i] = value
    return changed


def _tensors_in(value: Any) -> Iterator[Tensor]:
    """The Tensors in nested tuples, lists and dictionaries.

    Raises:
        TypeError: If there is anything else.
    """
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(each)
    else:
        raise TypeError(f"expected Tensors to differentiate with respect to, got {type(value).__name__}; see argnums")


def _filled(value: Any, tensors: Iterator[Any]) -> Any:
    """The same structure with other Tensors, in order."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {name: _filled(each, tensors) for name, each in value.items()}
    return getattr(type(value), "_make", type(value))([_filled(each, tensors) for each in value])


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function and its value.

    Args:
        func: Returns a Tensor of one element; with has_aux a pair of it and anything else.
        argnums: Positions of the arguments to differentiate with respect to: Tensors, or tuples, lists and dictionaries of them.
        has_aux: See func.
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        tensors = list(_tensors_in(chosen))
        recorded = any(x.history is not None for x in tensors)
        leaves = functional.point("grad", tensors, True)
        out = func(*_with(args, numbers, _filled(chosen, iter(leaves))), **kwargs)
        value, aux = out if has_aux else (out, None)
        computed = gradients(value, leaves, create_graph=True, materialize_grads=True)
        found = _filled(chosen, (functional.result(g, recorded) for g in computed))
        result = found[0] if isinstance(argnums, int) else found
        value = functional.result(value, recorded)
        return (result, (value, aux)) if has_aux else (result, value)

    return gradient_and_value


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
    leaves = functional.point("vjp", primals, True)
    outputs = func(*leaves)

    def pull(*cotangents: Any) -> tuple[Tensor, ...]:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        return tuple(gradients(outputs, leaves, given, retain_graph=True, create_graph=True, materialize_grads=True))  # type: ignore

    return functional.result(outputs, any(x.history is not None for x in primals)), pull


def jvp(func: Callable[..., Any], primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...]) -> tuple[Any, Any]:
    """The value of a function, and the product of its Jacobian with a vector."""
    return functional.jvp(func, tuple(primals), tuple(tangents), create_graph=any(x.history is not None for x in primals))


def jacrev(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Jacobian of a function, by one backward pass per element of its value."""

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        recorded = any(x.history is not None for x in chosen)

        def of_chosen(*xs: Tensor) -> Any:
            return func(*_with(args, numbers, xs), **kwargs)

        return functional.jacobian(of_chosen, chosen[0] if isinstance(argnums, int) else chosen, create_graph=recorded)

    return jacobian


jacfwd = jacrev  # the same matrix


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of a function with one number as its value."""
    return jacrev(grad(func, argnums), argnums)


# vmap


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunk_size: int | None = None) -> Any:
    """The function that applies a function to every slice of its arguments, and stacks the results.

    It calls the function in a loop: results and gradients are those of PyTorch's, which computes all slices at once, but not the speed.

    Args:
        func: Function of Tensors, in tuples, lists and dictionaries; returns such.
        in_dims: The dimension of the slices in all arguments; or a tuple with that of each, None for one that is passed as it is. An entry
            may be nested like its argument. Arguments by name are sliced along dimension 0.
        out_dims: The dimension of the slices in all results, or a tuple with that of each.
        randomness: Random numbers within func are an "error", "different" for each slice, or the "same". It counts those of the stream
            that `manual_seed` seeds.
        chunk_size: No effect: the slices are computed one by one.

    Raises:
        ValueError: If randomness is another word.
    """
    if randomness not in ("error", "different", "same"):
        raise ValueError(f'vmap expected randomness "error", "different" or "same", got {randomness!r}')

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
            raise ValueError(f"vmap expected in_dims for {len(args)} arguments, got {in_dims!r}")
        named = {name: _nested(value, 0) for name, value in kwargs.items()}
        dims = _nested(args, tuple(in_dims) if isinstance(in_dims, list) else in_dims), named
        sizes: set[int] = set()
        _slices((args, kwargs), dims, lambda x, dim: sizes.add(x.shape[dim]))
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(
                f"vmap expected arguments with one number of slices, above 0, got {sorted(sizes) or 'none with a dimension'}; see in_dims"
            )
        start, results = generator.bit_generator.state, []
        for number in range(*sizes):
            before = generator.bit_generator.state
            if randomness == "same":
                generator.bit_generator.state = start
            chosen, by_name = _slices((args, kwargs), dims, lambda x, dim: x[(*(slice(None),) * (dim % x.dim()), number)])  # noqa: B023
            results.append(func(*chosen, **by_name))
            if randomness == "error" and generator.bit_generator.state != before:
                raise RuntimeError('vmap expected a function without random numbers; pass randomness="different", or "same" for each slice')
        return _stack(results, out_dims)

    return mapped


def _nested(value: Any, dims: Any) -> Any:
    """The dimensions of slices, for every Tensor in nested arguments; None for what is passed as it is.

    Raises:
        ValueError: If the dimensions are not nested like the argument, or a Tensor has no such dimension.
    """
    if isinstance(value, (tuple, list, dict)) and value:
        keys = value if isinstance(value, dict) else range(len(value))
        if isinstance(dims, (tuple, list, dict)) and len(dims) != len(value):
            raise ValueError(f"vmap expected in_dims nested like the arguments, got {dims!r} for {len(value)} values")
        found = {key: _nested(value[key], dims[key] if isinstance(dims, (tuple, list, dict)) else dims) for key in keys}
        return found if isinstance(value, dict) else list(found.values())
    if dims is not None and not (isinstance(value, Tensor) and isinstance(dims, int) and -value.dim() <= dims < value.dim()):
        got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"vmap expected a Tensor with dimension {dims}, got {got}; pass in_dims with None for what has no slices")
    return dims


def _slices(value: Any, dims: Any, choose: Callable[[Tensor, int], Any]) -> Any:
    """Nested arguments with `choose` of every Tensor that is sliced and its dimension."""
    if isinstance(dims, dict):
        return {name: _slices(each, dims[name], choose) for name, each in value.items()}
    if isinstance(dims, (list, tuple)):
        chosen = [_slices(each, dim, choose) for each, dim in zip(value, dims, strict=True)]
        return getattr(type(value), "_make", type(value))(chosen)
    return value if dims is None else choose(value, dims)


def _stack(results: list[Any], dims: Any) -> Any:
    """Results of all slices, nested alike, as one.

    Raises:
        ValueError: If dims has another length than the results.
        TypeError: If they hold anything but Tensors.
    """
    first = results[0]
    if isinstance(first, Tensor):
        if not isinstance(dims, int):
            raise ValueError(f"vmap expected one number as out_dims for one result, got {dims!r}")
        return _stack_tensors(results, dims)
    if isinstance(first, dict):
        return {name: _stack([each[name] for each in results], dims[name] if isinstance(dims, dict) else dims) for name in first}
    if isinstance(first, (tuple, list)):
        each_dim = [dims] * len(first) if isinstance(dims, int) else list(dims)
        if len(each_dim) != len(first):
            raise ValueError(f"vmap expected out_dims for {len(first)} results, got {dims!r}")
        parts = [_stack(list(part), dim) for part, dim in zip(zip(*results, strict=True), each_dim, strict=True)]
        return getattr(type(first), "_make", type(first))(parts)
    raise TypeError(f"vmap expected a function that returns Tensors, got {type(first).__name__}; return torch.tensor(...)")


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
    for name in parameters_and_buffers:
        if name not in own:
            raise KeyError(f"{type(module).__name__} has no parameter or buffer {name!r}; it has {', '.join(own)}")
    others = {id(own[name]): value for name, value in parameters_and_buffers.items()}
    places = [(part._parameters, name) for part in module.modules() for name in part._parameters]
    places += [(part.__dict__, name) for part in module.modules() for name in part._buffers]
    before = [(place, name, place[name]) for place, name in places if id(place[name]) in others]
    try:
        for place, name, x in before:
            value = others[id(x)]  # a view of it has the type of a parameter and leads gradients back to it
            place[name] = Parameter._of(value.view(value.shape)) if isinstance(x, Parameter) else value
        return module(*(() if args is None else as_tuple(args)), **(kwargs or {}))
    finally:
        for place, name, x in before:
            place[name] = x


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of modules of one kind, stacked by name: for `functional_call` within `vmap`.

    Args:
        models: The modules.

    Returns:
        The stacked parameters, leaves of their own, and the stacked buffers.

    Raises:
        ValueError: If there are none.
    """
    if not models:
        raise ValueError("stack_module_state expected at least one module, got none")
    states = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    params = {
        name: _stack_tensors([state[name].detach() for state in states]).requires_grad_(x.requires_grad) for name, x in states[0].items()
    }
    return params, {name: _stack_tensors([own[name].detach() for own in buffers]) for name in buffers[0]}


__getattr__ = refuse_absent("torch.func", defined(globals()))
