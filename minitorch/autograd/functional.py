"""Stage 7 - Derivatives of functions of one or several tensors: vector-Jacobian and Jacobian-vector products, Jacobian, and Hessian.

The Jacobian J of f at x holds the derivative of every element of f(x) with respect to every element of x. Backpropagation
computes vᵀJ for a vector v. This is linear in v, so the gradient of (vᵀJ)·t with respect to v is Jt: two backward passes
compute a forward-mode product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.double_backward import Alias
from minitorch.autograd.engine import as_tensor_list, grad
from minitorch.core.creation import stack
from minitorch.core.dtypes import promote_to_float
from minitorch.tensor import Tensor


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = ""
) -> Any:
    """The derivative of every element of func(*inputs) with respect to every element of the inputs.

    Args:
        func: Function of tensors; returns one or a tuple of them.
        inputs: The point, one tensor or a tuple.
        create_graph: Whether the result can be differentiated.
        strict: False.
        vectorize: No effect: there is one backward pass for each element of the value.
        strategy: No effect.

    Returns:
        Shape (*output.shape, *input.shape); a tuple for a tuple of inputs, and a tuple of them for a tuple of outputs.

    Raises:
        NotImplementedError: If strict is set.
        TypeError: If an input does not hold floating-point numbers, or func returns something else.

    Example:
        >>> torch.autograd.functional.jacobian(lambda x, y: x * y, (torch.tensor([1.0, 2.0]), torch.tensor(3.0)))
        (tensor([[3., 0.],
                [0., 3.]]), tensor([1., 2.]))
    """
    leaves, outputs = _apply("jacobian", func, inputs, create_graph, strict)
    blocks = [tuple([result(x, create_graph) for x in _rows(y, leaves, create_graph)]) for y in as_tuple(outputs)]
    blocks = blocks if isinstance(inputs, tuple) else [rows[0] for rows in blocks]
    return tuple(blocks) if isinstance(outputs, tuple) else blocks[0]


def _rows(y: Tensor, leaves: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """For each leaf the Jacobian of y, shape (*y.shape, *leaf.shape)."""
    columns: list[list[Any]] = [[] for _ in leaves]
    for number in range(y.numel()):
        seed = y.detach().zeros(dtype=promote_to_float(y.dtype))
        seed.view(seed.numel())[number] = 1.0
        for column, g in zip(columns, pulled_back(y, leaves, seed, True, create_graph), strict=True):
            column.append(g)
    shapes = [(*y.shape, *x.shape) for x in leaves]
    return [
        stack(column).view(*shape) if column else leaf.detach().zeros(shape)
        for column, shape, leaf in zip(columns, shapes, leaves, strict=True)
    ]


def hessian(func: Callable[..., Tensor], inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False) -> Any:
    """The second derivatives of a function with one number as its value: the Jacobian of its gradient.

    Args:
        func: Function of tensors; returns one of one element. Every function in it must be one whose gradient can be differentiated.
        inputs: See `jacobian` for this, the other arguments and further errors.

    Returns:
        Shape (*input.shape, *input.shape); a tuple of tuples for a tuple of inputs.

    Raises:
        RuntimeError: If the value has several elements, or a gradient in func cannot be differentiated.

    Example:
        >>> torch.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, torch.tensor([3.0, 5.0]))
        tensor([[ 0., 10.],
                [10.,  6.]])
    """

    def gradient(*xs: Tensor) -> Any:
        out = _value("hessian", func, xs)
        if not isinstance(out, Tensor) or out.numel() != 1:
            got = f"shape {tuple(out.shape)}" if isinstance(out, Tensor) else f"{len(out)} results"
            raise RuntimeError(f"hessian expected a function with one number as its value, got {got}; sum it")
        found = tuple(pulled_back(out, xs, None, True, True))
        return found if isinstance(inputs, tuple) else found[0]

    return jacobian(gradient, inputs, create_graph, strict)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function, and the product of a vector with its Jacobian (reverse mode).

    Args:
        func: See `jacobian` for this, the other arguments and further errors.
        v: The vector, in the shape of the value; 1 by default for one element.

    Returns:
        func(*inputs), and for each input the gradient of the sum of v · func(*inputs), zeros for an unused one.

    Raises:
        ValueError: If v has another shape.

    Example:
        >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1.0, 2.0]), v=torch.tensor([1.0, 10.0]))
        (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    leaves, outputs = _apply("vjp", func, inputs, create_graph, strict)
    products = tuple([result(x, create_graph) for x in pulled_back(outputs, leaves, v, None, create_graph)])
    return result(outputs, create_graph), products if isinstance(inputs, tuple) else products[0]


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function, and the product of its Jacobian with a vector (forward mode): how the value changes in a direction.

    Args:
        func: Function of tensors; returns one or a tuple of them. Every function in it must be one whose gradient can be differentiated.
        inputs: See `jacobian` for this, the other arguments and further errors.
        v: The direction, in the shapes of the point; 1 by default.

    Returns:
        func(*inputs), and the sum over i of ∂func/∂x_i · v_i, in the same shape. For Scalars see `minitorch.jvp`.

    Raises:
        TypeError: If v is no tensor.
        ValueError: If point and direction differ in number or shape.
        RuntimeError: If a gradient in func cannot be differentiated.

    Example:
        >>> torch.autograd.functional.jvp(lambda x: x.sum(), torch.tensor([1.0, 2.0]), v=torch.tensor([1.0, 10.0]))
        (tensor(3.), tensor(11.))
    """
    leaves, outputs = _apply("jvp", func, inputs, create_graph, strict)
    given = [x.detach().zeros() + 1.0 for x in leaves] if v is None else as_tensor_list(v, "jvp expected tensors as a direction")
    shapes, others = ([tuple(x.shape) for x in xs] for xs in (leaves, given))
    if shapes != others:
        raise ValueError(f"jvp expected a direction of the shapes of the point, {shapes}, got {others}")
    tangents = [_tangent(y, leaves, given, create_graph) for y in as_tuple(outputs)]
    return result(outputs, create_graph), tuple(tangents) if isinstance(outputs, tuple) else tangents[0]


def _tangent(y: Tensor, leaves: Sequence[Tensor], direction: Sequence[Tensor], create_graph: bool) -> Tensor:
    """How one result changes in a direction."""
    probe = (y.detach().zeros(dtype=promote_to_float(y.dtype)) + 1.0).requires_grad_()
    parts = []
    if y.history is not None:
        found = grad(y, leaves, probe, retain_graph=True, create_graph=True, allow_unused=True)
        parts = [(g * t).sum() for g, t in zip(found, direction, strict=True) if g is not None and g.requires_grad]
    (tangent,) = grad(sum(parts[1:], parts[0]), probe, create_graph=create_graph, allow_unused=True) if parts else [None]
    return probe.detach() * 0.0 if tangent is None else result(tangent, create_graph)


def hvp(func: Callable[..., Tensor], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The value of a function with one number as its value, and the product of its Hessian with a vector; see `vjp`.

    Example:
        >>> torch.autograd.functional.hvp(lambda x: x[0] * x[1], torch.tensor([3.0, 5.0]), v=torch.tensor([1.0, 0.0]))
        (tensor(15.), tensor([0., 1.]))
    """
    leaves, out = _apply("hvp", func, inputs, create_graph, strict)
    gradients = pulled_back(out, leaves, None, True, True)
    products = tuple([result(x, create_graph) for x in pulled_back(gradients, leaves, v, None, create_graph)])
    return result(out, create_graph), products if isinstance(inputs, tuple) else products[0]


vhp = hvp  # the Hessian is symmetric


def as_tuple(x: Any) -> tuple[Any, ...]:
    """One or several values as a tuple."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def point(op: str, inputs: Any, create_graph: bool) -> list[Tensor]:
    """The point as tensors whose gradients can be asked for; with create_graph, those that record gradients lead back to the inputs.

    Raises:
        TypeError: If one is no tensor of floats.
    """
    xs = as_tensor_list(inputs, f"{op} expected tensors as the point")
    return [Alias.apply(x) if create_graph and x.history is not None else x.detach().requires_grad_() for x in xs]


def pulled_back(outputs: Any, leaves: Sequence[Tensor], v: Any, retain_graph: bool | None, create_graph: bool) -> list[Tensor]:
    """The gradients of the leaves, zeros for those that no output depends on."""
    recorded = [(y, seed) for y, seed in zip(as_tuple(outputs), _seeds(outputs, v), strict=True) if y.history is not None]
    if not recorded:
        return [x.detach().zeros() for x in leaves]
    ends, seeds = map(list, zip(*recorded, strict=True))
    return list(grad(ends, leaves, seeds, retain_graph, create_graph, materialize_grads=True))  # type: ignore[arg-type]


def _seeds(outputs: Any, v: Any) -> Sequence[Any]:
    """The gradient of each output. Raises TypeError if one is no tensor, and ValueError if there are more or fewer than outputs."""
    count = len(as_tuple(outputs))
    seeds = [None] * count if v is None else as_tensor_list(v, "a product with the Jacobian expected a vector that is a Tensor", True)
    if len(seeds) != count:
        raise ValueError(f"a product with the Jacobian expected a vector for each of {count} results, got {len(seeds)}")
    return seeds


def result(x: Any, create_graph: bool) -> Any:
    """Results without their history, unless create_graph."""
    if isinstance(x, tuple):
        return tuple([result(each, create_graph) for each in x])
    return x if create_graph else x.detach()


def _apply(op: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool) -> tuple[list[Tensor], Any]:
    """The point, and the value there.

    Raises:
        NotImplementedError: If strict is set.
        TypeError: See `point` and `_value`.
    """
    if strict:
        raise NotImplementedError(f"{op} supports strict=False only: derivatives that do not exist are 0")
    leaves = point(op, inputs, create_graph)
    return leaves, _value(op, func, leaves)


def _value(op: str, func: Callable[..., Any], xs: Sequence[Tensor]) -> Any:
    """func(*xs). Raises TypeError if it is neither a tensor nor a tuple of them."""
    out = func(*xs)
    for y in as_tuple(out):
        if not isinstance(y, Tensor):
            raise TypeError(f"{op} expected a function that returns a Tensor, got {type(y).__name__}")
    return out
