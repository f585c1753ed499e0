"""Stage 7 - torch.func: functions that compute derivatives of functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minitorch.autograd import functional
from minitorch.autograd.engine import grad as gradients
from minitorch.tensor import Tensor as EngineTensor
from minitorch.tensor import generator
from minitorch.torch import shapes
from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.stateless import functional_call as functional_call
from minitorch.torch.stateless import stack_module_state as stack_module_state
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


POINT = "expected Tensors to differentiate with respect to, got {}; see argnums"
VALUE = "expected a function that returns Tensors, or tuples, lists and dictionaries of them, got {}; return torch.tensor(...)"
VECTOR = "expected Tensors as a vector or direction, got {}"


def _tensors_in(value: Any, message: str = POINT) -> Iterator[Tensor]:
    """The Tensors in nested tuples, lists and dictionaries. Raises TypeError if there is anything else."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(each, message)
    else:
        raise TypeError(message.format(type(value).__name__))


def _filled(value: Any, tensors: Iterator[Any]) -> Any:
    """The same structure with other Tensors, in order."""
    return _mapped(value, lambda _: next(tensors))


def _mapped(value: Any, change: Callable[[Tensor], Any]) -> Any:
    """The same structure with its Tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _mapped(each, change) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return getattr(type(value), "_make", type(value))([_mapped(each, change) for each in value])
    return value


class _Flat:
    """A function of nested Tensors as one of Tensors, whose value is a tuple of them.

    Args:
        func: The function, of one argument.
        point: The argument.
        has_aux: Whether it returns a pair: its value, and anything else.

    Attributes:
        value: The last value, nested.
        aux: What was returned beside it.
    """

    def __init__(self, func: Callable[[Any], Any], point: Any, has_aux: bool) -> None:
        self.func, self.point, self.has_aux = func, point, has_aux
        self.value: Any = None
        self.aux: Any = None

    def __call__(self, *xs: Any) -> tuple[Tensor, ...]:
        out = self.func(_filled(self.point, iter(xs)))
        self.value, self.aux = out if self.has_aux else (out, None)
        return tuple(_tensors_in(self.value, VALUE))

    def results(self, *found: Any, recorded: bool) -> tuple[Any, ...]:
        """What was found, then what was returned beside the value, if anything was."""
        return (*found, _mapped(self.aux, lambda x: functional.result(x, recorded))) if self.has_aux else found


def _recorded(tensors: Sequence[Tensor]) -> bool:
    """Whether one of them requires gradients."""
    return any(x.history is not None for x in tensors)


def _leads_elsewhere(x: Any, leaves: Sequence[Any]) -> bool:
    """Whether the graph of a tensor leads to leaves other than these, such as parameters that a function uses without being given them."""
    todo, seen = [x], set(map(id, leaves))
    while todo:
        each = todo.pop()
        if isinstance(each, EngineTensor) and each.history is not None and id(each) not in seen:
            if each.history.last_fn is None:
                return True
            seen.add(id(each))
            todo += each.history.inputs
    return False


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function and its value.

    Args:
        func: Returns a Tensor of one element; with has_aux a pair of it and anything else.
        argnums: Positions of the arguments to differentiate with respect to: Tensors, or tuples, lists and dictionaries of them.
        has_aux: See func.

    Example:
        >>> torch.func.grad_and_value(lambda x: x**3)(torch.tensor(2.0))
        (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        flat = _Flat(lambda xs: func(*_with(args, numbers, xs), **kwargs), chosen, has_aux)
        tensors = list(_tensors_in(chosen))
        leaves = functional.point("grad", tensors, True)
        flat(*leaves)
        recorded = _recorded(tensors) or _leads_elsewhere(flat.value, leaves)
        computed = gradients(flat.value, leaves, create_graph=True, materialize_grads=True)
        found = _filled(chosen, (functional.result(g, recorded) for g in computed))
        result = found[0] if isinstance(argnums, int) else found
        value, *aux = flat.results(functional.result(flat.value, recorded), recorded=recorded)
        return (result, (value, *aux)) if has_aux else (result, value)

    return gradient_and_value


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of a function; for the arguments see `grad_and_value`.

    Example:
        >>> torch.func.grad(lambda x, y: x * y, argnums=1)(torch.tensor(2.0), torch.tensor(5.0))
        tensor(2.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of a function, and a function that maps a vector to its product with the Jacobian.

    Args:
        func: Returns Tensors, or tuples, lists and dictionaries of them; with has_aux a pair of this and anything else.
        primals: The point: Tensors, or tuples, lists and dictionaries of them.
        has_aux: See func.

    Returns:
        The value; the function, which takes a vector nested like the value and returns a tuple with a product for each argument, nested
        like it; and with has_aux what func returned beside the value.

    Example:
        >>> value, vjp_fn = torch.func.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]))
        >>> vjp_fn(torch.tensor([1.0, 10.0]))
        (tensor([ 2., 40.]),)
    """
    flat, tensors = _Flat(lambda xs: func(*xs), primals, has_aux), list(_tensors_in(primals))
    leaves = functional.point("vjp", tensors, True)
    outputs = flat(*leaves)
    recorded = _recorded(tensors) or any(_leads_elsewhere(y, leaves) for y in outputs)

    def pull(*cotangents: Any) -> tuple[Any, ...]:
        given = list(_tensors_in(cotangents, VECTOR))
        found = functional.pulled_back(outputs, leaves, given, True, True)
        kept = recorded or _recorded(given)
        return _filled(primals, (functional.result(x, kept) for x in found))

    value, *aux = flat.results(_mapped(flat.value, lambda x: functional.result(x, recorded)), recorded=recorded)
    return value, pull, *aux


def jvp(
    func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function, and the product of its Jacobian with a vector.

    Args:
        func: See `vjp`.
        primals: The arguments of func, in a tuple; nested as for `vjp`.
        tangents: The direction, nested like primals.
        strict: False.
        has_aux: See `vjp`.

    Returns:
        The value, the product, nested like it, and with has_aux what func returned beside the value.

    Example:
        >>> torch.func.jvp(lambda x: x * x, (torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, 10.0]),))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    primals, flat = tuple(primals), _Flat(lambda xs: func(*xs), tuple(primals), has_aux)
    point, direction = tuple(_tensors_in(primals)), tuple(_tensors_in(tangents, VECTOR))
    recorded = _recorded([*point, *direction])
    values, products = functional.jvp(flat, point, direction, recorded, strict)
    value, product = (_filled(flat.value, iter(found)) for found in (values, products))
    return flat.results(value, product, recorded=recorded)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and a function that maps a direction to the product of the Jacobian with it; see `jvp`.

    The product is computed anew for every direction.
    """
    value = _mapped(func(*primals), lambda x: functional.result(x, x.history is not None and _recorded(list(_tensors_in(primals)))))
    return value, lambda *tangents: jvp(func, primals, tangents)[1]


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, chunk_size: int | None = None) -> Callable[..., Any]:
    """The function that computes the Jacobian of a function, by one backward pass per element of its value.

    Args:
        func: See `vjp`.
        argnums: Positions of the arguments to differentiate with respect to, nested as for `vjp`.
        has_aux: Whether func returns a pair of its value and anything else; then the Jacobian is in a pair with the latter.
        chunk_size: No effect.

    Returns:
        The Jacobian is nested like the value, and each entry like the argument, or a tuple of them for several argnums.

    Example:
        >>> torch.func.jacrev(lambda x: x * x)(torch.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen = _split(args, argnums)
        flat, point = _Flat(lambda xs: func(*_with(args, numbers, xs), **kwargs), chosen, has_aux), tuple(_tensors_in(chosen))
        recorded = _recorded(point)
        rows = [_filled(chosen, iter(row)) for row in functional.jacobian(flat, point, create_graph=recorded)]
        found = _filled(flat.value, iter([row[0] if isinstance(argnums, int) else row for row in rows]))
        return flat.results(found, recorded=recorded) if has_aux else found

    return jacobian


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Callable[..., Any]:
    """The same as `jacrev`; `randomness` has no effect, because func is called once."""
    return jacrev(func, argnums, has_aux)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that computes the Hessian of a function with one number as its value.

    Example:
        >>> torch.func.hessian(lambda x: x[0] * x[1])(torch.tensor([3.0, 5.0]))
        tensor([[0., 1.],
                [1., 0.]])
    """
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

    Example:
        >>> rows, vector = torch.tensor([[1, 2], [3, 4]]), torch.tensor([10, 1])
        >>> torch.func.vmap(torch.dot, in_dims=(0, None))(rows, vector)
        tensor([12, 34])
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
    if isinstance(value, (tuple, list, dict)):
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


__getattr__ = refuse_absent("torch.func", [*defined(globals()), "functional_call", "stack_module_state"])
