"""Stage 7 - Gradients as values: `grad`, and gradients that can be differentiated again.

To differentiate a gradient, the backward pass that computes it must be recorded: it must consist of tensor operations on
the arguments of its function. The table `RULES` has such a backward pass for each function of the library. A function may
define a static method `composed` instead. All others are traced (see `double_backward`); a gradient that cannot be recorded
raises an error when it is differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from minitorch.autodiff import History, topological_sort
from minitorch.autograd.double_backward import Alias, NotDifferentiable, OnceDifferentiable, trace_backward
from minitorch.autograd.in_place import restore_past
from minitorch.core.context import TensorContext, grad_mode, last_write, no_grad
from minitorch.core.dtypes import promote_to_float
from minitorch.core.gradients import apply_hooks, select_tensor_gradients, unbroadcast
from minitorch.core.tensor_base import Tensor, TensorBase
from minitorch.module import Parameter
from minitorch.tensor_functions import Function

Rule = Callable[[Any, Any, Any], Any]
"""rule(ctx, out, grad_output): the gradients of the arguments, computed with tensor operations."""

RULES: dict[type[Function], Rule] = {}
"""The rules of functions whose own backward cannot be recorded."""


@cache
def load_rules() -> None:
    """Import the rules of the library's functions, and with them its layers."""
    import_module("minitorch.autograd.rules")


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of outputs with respect to inputs; no leaf's `grad` changes.

    Args:
        outputs: Tensors to differentiate; several are summed.
        inputs: Leaves, parameters or intermediate results to differentiate with respect to.
        grad_outputs: For each output a gradient of its shape; None means 1, for an output of one element.
        retain_graph: Whether to keep the graph for another backward pass; defaults to create_graph.
        create_graph: Whether the gradients can be differentiated again.
        only_inputs: No effect, as in PyTorch: gradients of the inputs alone are returned.
        allow_unused: Whether an input that no output depends on gets None instead of an error.
        is_grads_batched: False.
        materialize_grads: Whether such an input gets zeros.

    Returns:
        One gradient per input, of its shape and dtype.

    Raises:
        NotImplementedError: If is_grads_batched is set.
        TypeError: If an output or input is not a Tensor.
        ValueError: If the number of grad_outputs or the shape of one does not match the outputs.
        RuntimeError: If an output or an input records no gradients, an output has several elements and no grad_output, an input is not
            used, or the graph has been freed by an earlier backward pass.

    Example:
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> (slope,) = torch.autograd.grad(x**3, x, create_graph=True)
        >>> slope.item(), torch.autograd.grad(slope, x)
        (12.0, (tensor(12.),))
    """
    if is_grads_batched:
        raise NotImplementedError("grad supports is_grads_batched=False only; call it once for each gradient")
    ends, starts = as_tensor_list(outputs, "grad expected tensors as outputs"), as_tensor_list(inputs, "grad expected tensors as inputs")
    for name, tensors in (("outputs", ends), ("inputs", starts)):
        for i, x in enumerate(tensors):
            if x.history is None:
                raise RuntimeError(f"grad expected {name} that require gradients, got a constant as number {i}; make it a leaf before use")
    given = (
        [None] * len(ends) if grad_outputs is None else as_tensor_list(grad_outputs, "grad expected tensors or None as grad_outputs", True)
    )
    if len(given) != len(ends):
        raise ValueError(f"grad expected one of grad_outputs for each of {len(ends)} outputs, got {len(given)}")
    seeds = [_seed(y, seed, create_graph) for y, seed in zip(ends, given, strict=True)]
    found = run_backward(ends, seeds, starts, create_graph if retain_graph is None else retain_graph, create_graph)
    gradients = [found.get(x) if x in found or not materialize_grads else x.detach().zeros() for x in starts]
    for i, gradient in enumerate(gradients):
        if gradient is None and not allow_unused:
            raise RuntimeError(f"grad found that no output depends on input {i}; leave it out, or pass allow_unused=True for None")
    if create_graph:
        return tuple(gradients)
    return tuple([None if gradient is None else gradient.f.id_map(gradient) for gradient in gradients])  # copies: some share a storage


def as_tensor_list(given: Any, expected: str, optional: bool = False) -> list[Any]:
    """One or several tensors or parameters as a list of tensors.

    Args:
        given: A tensor, a parameter, or an iterable of them.
        expected: Beginning of the error message.
        optional: Whether None is allowed.

    Raises:
        TypeError: If a value is not a tensor.
    """
    several = isinstance(given, Iterable) and not isinstance(given, TensorBase)
    found = [x.value if isinstance(x, Parameter) else x for x in (given if several else [given])]
    for x in found:
        if not (isinstance(x, TensorBase) or (optional and x is None)):
            raise TypeError(f"{expected}, got {type(x).__name__}")
    return found


def _seed(y: Tensor, given: Tensor | None, create_graph: bool) -> Tensor:
    """The gradient at an output, with which the backward pass starts.

    Raises:
        RuntimeError: If it is missing and the output has several elements.
        ValueError: If it has another shape.
    """
    if given is None:
        if y.numel() != 1:
            raise RuntimeError(
                f"grad expected outputs of one element, got shape {y.shape}; sum it first, or pass grad_outputs of that shape"
            )
        return y.zeros(dtype=promote_to_float(y.dtype)) + 1.0
    if given.shape != y.shape:
        raise ValueError(f"grad expected grad_outputs of shape {y.shape}, that of the output, got {given.shape}")
    return (given if create_graph else given.detach()).to(promote_to_float(y.dtype))


# The backward pass


class OutputGroup:
    """A root node above several tensors, so that one topological sort covers all of them."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.history = History(None, None, tensors)


def run_backward(
    outputs: Sequence[Tensor], seeds: Sequence[Tensor], inputs: Sequence[Tensor] | None, retain_graph: bool, create_graph: bool
) -> dict[Tensor, Tensor]:
    """Backpropagate through the part of the graph that leads to the inputs.

    Args:
        outputs: Tensors at which the backward pass starts.
        seeds: Their gradients.
        inputs: Tensors whose gradients are returned; with None every leaf accumulates its `grad`.
        retain_graph: Whether to keep the saved values of the functions.
        create_graph: Whether to record the backward pass.

    Returns:
        The gradients of the inputs that the outputs depend on.
    """
    if create_graph:
        load_rules()
    restore_past(*outputs)
    order: list[Tensor] = topological_sort(OutputGroup(outputs))[1:]  # type: ignore[arg-type]  # all that it is asked for is its history
    wanted = None if inputs is None else set(inputs)
    leading = {node for node in order if node.history.last_fn is not None} if wanted is None else nodes_leading_to(wanted, order)
    before = grad_mode.enabled, grad_mode.retain_graph
    grad_mode.enabled, grad_mode.retain_graph = create_graph, retain_graph
    gradients: dict[Tensor, Tensor] = {}
    found: dict[Tensor, Tensor] = {}
    try:
        for y, seed in zip(outputs, seeds, strict=True):
            gradients[y] = gradients[y] + seed if y in gradients else seed
        for node in order:
            gradient = gradients.pop(node, None)
            if gradient is None:
                continue
            gradient = apply_hooks(node, gradient)
            if wanted is None and node not in leading:
                node.grad = gradient.clone() if node.grad is None else node.grad + gradient
            if wanted is not None and node in wanted:
                found[node] = gradient
            for parent, part in input_gradients(node, gradient) if node in leading else ():
                if wanted is None or parent in leading or parent in wanted:
                    gradients[parent] = gradients[parent] + part if parent in gradients else part
    finally:
        grad_mode.enabled, grad_mode.retain_graph = before
    return found


def nodes_leading_to(wanted: set[Tensor], order: Sequence[Tensor]) -> set[Tensor]:
    """The nodes that depend on a wanted tensor; a node whose graph was freed counts, because its inputs are unknown."""
    leading: set[Tensor] = set()
    for node in reversed(order):
        history: Any = node.history
        if history.last_fn is not None and (history.ctx is None or any(x in wanted or x in leading for x in history.inputs)):
            leading.add(node)
    return leading


def input_gradients(node: Tensor, gradient: Tensor) -> Iterable[tuple[Tensor, Tensor]]:
    """The inputs of a node with their gradients, recorded in grad mode; like `Tensor.chain_rule` without hooks.

    Raises:
        RuntimeError: If an earlier backward pass freed the graph.
    """
    history: Any = node.history
    fn, ctx, inputs = history.last_fn, history.ctx, history.inputs
    if ctx is None:
        raise RuntimeError(
            f"an earlier backward pass freed what {fn.__name__} had saved; pass retain_graph=True the first time, "
            "or compute the output again"
        )
    gradients = record_gradients(fn, ctx, node, gradient) if grad_mode.enabled else fn._backward(ctx, gradient)
    if len(gradients) != len(inputs):
        gradients = select_tensor_gradients(gradients, inputs, ctx)
    if not grad_mode.retain_graph:
        history.ctx, history.inputs = None, ()
    source = f"{fn.__name__}.backward returned"
    return [(x, unbroadcast(part, x, source)) for x, part in zip(inputs, gradients, strict=True) if x.history is not None]


def record_gradients(fn: type[Function], ctx: TensorContext, out: Tensor, gradient: Tensor) -> Sequence[Any]:
    """The gradients of a function's arguments, recorded; where this is impossible, gradients that raise when differentiated."""
    _ = ctx.saved_values  # raises an error where one was written into: a rule may use the result instead
    if fn in RULES:
        gradients = RULES[fn](ctx, out, gradient)
        return gradients if isinstance(gradients, (tuple, list)) else (gradients,)
    if hasattr(fn, "composed"):
        return composed_gradients(fn.composed, ctx, gradient)  # type: ignore[attr-defined]  # a function may have it
    try:
        return trace_backward(fn, ctx, out, gradient)
    except NotDifferentiable as error:
        reason = str(error)
    inputs = [arg for arg in ctx.args if isinstance(arg, TensorBase)]
    with no_grad():
        gradients = fn._backward(ctx, gradient.detach())
        gradients = gradients if len(gradients) == len(inputs) else select_tensor_gradients(gradients, inputs, ctx)
        gradients = [None if part is None else x.zeros() + part if isinstance(part, (int, float)) else part
                     for x, part in zip(inputs, gradients, strict=True)]  # fmt: skip
    return [None if part is None else OnceDifferentiable.apply(part, fn, reason, gradient, *inputs) for part in gradients]


def composed_gradients(composed: Callable[..., Tensor], ctx: TensorContext, gradient: Tensor) -> list[Tensor | None]:
    """The gradients of a function's arguments, by differentiating an equivalent composition of tensor operations."""
    check_unmodified(ctx)
    twins = [arg.detach().requires_grad_() if getattr(arg, "history", None) is not None else arg for arg in ctx.args]
    pairs = [(arg, twin) for arg, twin in zip(ctx.args, twins, strict=True) if twin is not arg]
    out = composed(*twins)
    found = (
        {}
        if out.history is None
        else run_backward([out], [unbroadcast(gradient, out, "grad got")], [twin for _, twin in pairs], True, True)
    )
    for arg, twin in pairs:  # only now, so that the backward pass above stopped at the twins
        twin.history = History(Alias, TensorContext(Alias, (arg,), False), [arg])
    return [found.get(twin) if isinstance(twin, TensorBase) else None for twin in twins]


def check_unmodified(ctx: TensorContext) -> None:
    """Check that no argument of a function was modified in place after forward. Raises RuntimeError if one was."""
    tick = getattr(ctx, "_saved_at", math.inf)
    for arg in ctx.args:
        if isinstance(arg, TensorBase) and arg._tensor._version[1] > tick:
            raise RuntimeError(
                f"backward of {ctx.fn.__name__} needs a tensor of shape {arg.shape} as it was in forward, "
                f"but it has been written into since{last_write(arg)}; write into a copy: x.clone()"
            )


def recorded_backward(output: Tensor, grad_output: Tensor, retain_graph: bool | None) -> None:
    """`Tensor.backward` with create_graph=True."""
    run_backward([output], [grad_output], None, retain_graph is not False, True)
