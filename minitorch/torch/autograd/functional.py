"""Stage 6 - torch.autograd.functional: derivatives of functions of one or several Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.creation import stack
from minitorch.torch.autograd.gradients import as_tuple, grad
from minitorch.torch.tensor import Tensor, as_torch


def _leaves(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    """The point as tensors that record gradients: new leaves, or with create_graph the same tensors where they record them already."""
    found = []
    for x in as_tuple(inputs):
        if create_graph and x.history is not None:
            found.append(as_torch(x.clone()))
        else:
            found.append(as_torch(x.detach().requires_grad_()))
    return tuple(found)


def _constants(x: Any, create_graph: bool) -> Any:
    """Results without their history, unless create_graph."""
    if isinstance(x, tuple):
        return tuple(_constants(each, create_graph) for each in x)
    return x if create_graph else as_torch(x.detach())


def _seed(y: Tensor, number: int) -> Tensor:
    """1 at an element, else 0."""
    seed = y.zeros()
    seed.reshape(-1)[number] = 1.0
    return as_torch(seed)


def _rows(y: Tensor, leaves: tuple[Tensor, ...], create_graph: bool) -> list[Tensor]:
    """For each leaf the Jacobian of y, shape (*y.shape, *leaf.shape)."""
    columns: list[list[Any]] = [[] for _ in leaves]
    for number in range(y.numel()):
        found: tuple[Any, ...] = (None,) * len(leaves)
        if y.history is not None:
            found = grad(y, leaves, _seed(y, number), retain_graph=True, create_graph=create_graph, allow_unused=True)
        for column, g, x in zip(columns, found, leaves, strict=True):
            column.append(x.zeros() if g is None else g)
    shapes = [(*y.shape, *x.shape) for x in leaves]
    return [as_torch(stack(column).reshape(*shape)) for column, shape in zip(columns, shapes, strict=True)]


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = ""
) -> Any:
    """The derivative of every element of func(*inputs) with respect to every element of the inputs.

    Args:
        func: Function of Tensors; returns one or several.
        inputs: The point, one Tensor or a tuple.
        create_graph: Whether the result can be differentiated.
        strict: False.
        vectorize: No effect.
        strategy: No effect.

    Returns:
        Shape (*output.shape, *input.shape); a tuple for several inputs, and a tuple of them for several outputs.

    Raises:
        NotImplementedError: If strict is set.
    """
    _refuse_strict("jacobian", strict)
    leaves = _leaves(inputs, create_graph)
    outputs = func(*leaves)
    blocks = []
    for y in as_tuple(outputs):
        rows = tuple(_constants(x, create_graph) for x in _rows(y, leaves, create_graph))
        blocks.append(rows if isinstance(inputs, tuple) else rows[0])
    return tuple(blocks) if isinstance(outputs, tuple) else blocks[0]


def hessian(func: Callable[..., Tensor], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False) -> Any:
    """The second derivatives of a function with one number as its value.

    Args:
        func: Function of Tensors; returns one of one element.
        inputs: The point, one Tensor or a tuple.
        create_graph: Whether the result can be differentiated.
        strict: False.
        vectorize: No effect.

    Returns:
        Shape (*input.shape, *input.shape); a tuple of tuples for several inputs.

    Raises:
        NotImplementedError: If strict is set.
        RuntimeError: If the value has several elements.
    """
    _refuse_strict("hessian", strict)

    def gradient(*xs: Tensor) -> Any:
        out = func(*xs)
        if out.numel() != 1:
            raise RuntimeError(f"hessian expected a function that returns one element, got shape {tuple(out.shape)}")
        found = grad(out, xs, create_graph=True, materialize_grads=True)
        return found if isinstance(inputs, tuple) else found[0]

    return jacobian(gradient, inputs, create_graph)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function, and the product of a vector with its Jacobian.

    Args:
        func: Function of Tensors; returns one or several.
        inputs: The point, one Tensor or a tuple.
        v: The vector, in the shape of the value; 1 by default for one element.
        create_graph: Whether the results can be differentiated.
        strict: False.

    Raises:
        NotImplementedError: If strict is set.
    """
    _refuse_strict("vjp", strict)
    leaves = _leaves(inputs, create_graph)
    outputs = func(*leaves)
    found = grad(outputs, leaves, v, create_graph=create_graph, materialize_grads=True)
    products = tuple(_constants(x, create_graph) for x in found)
    return _constants(outputs, create_graph), products if isinstance(inputs, tuple) else products[0]


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function, and the product of its Jacobian with a vector: how the value changes in a direction.

    Args:
        func: Function of Tensors; returns one or several.
        inputs: The point, one Tensor or a tuple.
        v: The direction, in the shapes of the point; 1 by default for one element.
        create_graph: Whether the results can be differentiated.
        strict: False.

    Raises:
        NotImplementedError: If strict is set.
    """
    _refuse_strict("jvp", strict)
    leaves = _leaves(inputs, create_graph)
    outputs = func(*leaves)
    directions = as_tuple(v) if v is not None else tuple(as_torch(x.zeros() + 1.0) for x in leaves)
    tangents = []
    for y in as_tuple(outputs):
        probe = as_torch((y.zeros() + 0.0).requires_grad_())
        pulled = grad(y, leaves, probe, retain_graph=True, create_graph=True, allow_unused=True)
        sums = [(g * t).sum() for g, t in zip(pulled, directions, strict=True) if g is not None]
        total = sum(sums[1:], sums[0]) if sums else None
        found = (None,)
        if total is not None and total.requires_grad:  # type: ignore
            found = grad(total, probe, create_graph=create_graph, allow_unused=True)
        tangents.append(as_torch(y.zeros()) if found[0] is None else _constants(found[0], create_graph))
    return _constants(outputs, create_graph), tuple(tangents) if isinstance(outputs, tuple) else tangents[0]


def hvp(func: Callable[..., Tensor], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of its Hessian with a vector; see `vjp`."""
    _refuse_strict("hvp", strict)
    leaves = _leaves(inputs, create_graph)
    out = func(*leaves)
    gradients = grad(out, leaves, create_graph=True, materialize_grads=True)
    found = grad(gradients, leaves, v, create_graph=create_graph, materialize_grads=True)
    products = tuple(_constants(x, create_graph) for x in found)
    return _constants(out, create_graph), products if isinstance(inputs, tuple) else products[0]


vhp = hvp  # the Hessian is symmetric


def _refuse_strict(op: str, strict: bool) -> None:
    """Raise NotImplementedError if strict is set."""
    if strict:
        raise NotImplementedError(f"{op} supports strict=False only: derivatives that do not exist are 0")
