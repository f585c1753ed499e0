"""Stage 7 - Gradient checkpointing: trade a second forward pass for memory.

Backward needs what every function saved in forward, so the memory of a training step grows with the depth of the network.
`checkpoint` keeps only the arguments and results of a part. In the backward pass the part runs again, and the gradients pass
through the graph of that run. With n layers in √n parts, about 2√n layers are in memory at a time.

In the graph a checkpoint is one node. Its inputs are all tensors that its function used: the arguments and others, such as
parameters, which are found in the graph of the first run before that graph is freed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import minitorch.core.creation as creation
from minitorch.autodiff import Context, History, topological_sort
from minitorch.autograd.double_backward import Alias
from minitorch.autograd.engine import RULES, OutputGroup, input_gradients
from minitorch.autograd.in_place import restore_past
from minitorch.core.context import TensorContext, grad_mode
from minitorch.core.gradients import apply_hooks
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Function

generator = creation.generator
"""Where `rand` and dropout draw from."""


def checkpoint(fn: Callable[..., Any], *xs: Any) -> Any:
    """fn(*xs), keeping only the arguments and results for backward, which runs fn a second time.

    The second run draws the same random numbers. The gradients are bitwise equal to those without a checkpoint, unless a tensor is
    used several times within fn and also outside it: then they may be summed in another order. Side effects of fn happen twice:
    a BatchNorm updates its running mean twice.

    Args:
        fn: Function that returns a Tensor, or a tuple or list that contains tensors; for tensors nested deeper, or stored elsewhere,
            the graph is kept. It may use tensors other than its arguments, and nested checkpoints.
        xs: Its arguments, tensors or anything else.

    Returns:
        What fn returns. A tensor that fn used gets a gradient of zeros if only results without a gradient depend on it.

    Raises:
        RuntimeError: In backward, if a tensor that fn used was modified in place, or the second run differs from the first.

    Source: Chen et al. 2016, arXiv:1604.06174.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> minitorch.autograd.checkpoint(lambda x: x * x, x).backward()
        >>> x.grad
        tensor(6.)
    """
    if not grad_mode.enabled:
        return fn(*xs)
    state = generator.bit_generator.state
    returned, outputs, sources = first_run(fn, xs)
    if not outputs:
        return returned
    run = Run(fn, xs, state, [y.shape for y in outputs.values()], sources, {}, next(iter(outputs.values())).zeros(()) + 1.0)
    inputs = [source.tensor for source in sources for _ in range(source.times)]
    ctx = TensorContext(Checkpoint, xs, False)
    ctx.save_for_backward(run, *[x for x in xs if isinstance(x, Tensor)], *inputs)
    node = run.one._like(run.one._tensor, History(Checkpoint, ctx, inputs))
    results: dict[int, Any] = {}
    for number, (place, y) in enumerate(outputs.items()):
        part = TensorContext(Part, (node,), False)
        part.save_for_backward(run, number)
        results[place] = y._like(y._tensor, History(Part, part, [node]))
    return replace_results(returned, results)


class Source(NamedTuple):
    """A tensor that a function used.

    Attributes:
        tensor: The tensor.
        key: The tensor itself, or the index of an argument.
        times: Number of uses.
    """

    tensor: Tensor
    key: Tensor | int
    times: int


class Run(NamedTuple):
    """The data for the second run of a function.

    Attributes:
        fn: The function.
        xs: Its arguments.
        state: State of the random generator before the first run.
        shapes: Shapes of the differentiable results.
        sources: The tensors that it used.
        arrived: Gradients of results by index, in order of arrival.
        one: A constant 1; its sum counts the results whose gradients arrived in this backward pass.
    """

    fn: Callable[..., Any]
    xs: Sequence[Any]
    state: Any
    shapes: list[tuple[int, ...]]
    sources: list[Source]
    arrived: dict[int, Tensor]
    one: Tensor


class Part(Function):
    """One result of a checkpoint; stores its gradient until those of the other results arrive."""

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> Tensor:
        run, number = ctx.saved_values
        run.arrived.pop(number, None)
        run.arrived[number] = grad_output
        return run.one


class Checkpoint(Function):
    """All results of a checkpoint."""

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> list[Tensor | None]:
        run: Run = ctx.saved_values[0]
        arrived = list(run.arrived.items())[-int(grad_output.item()) :]  # earlier ones are left from a backward pass that failed
        arrived.reverse()  # without the checkpoint, the graph of the last one would be visited first
        run.arrived.clear()
        recorded = grad_mode.enabled
        twins, outputs = recompute(run)
        ends, seeds = [outputs[number] for number, _ in arrived], [gradient for _, gradient in arrived]
        before = grad_mode.retain_graph
        grad_mode.retain_graph = recorded
        try:
            stops: dict[Tensor, Any] = {source.key: source.key for source in run.sources if not isinstance(source.key, int)}
            found = collect_gradients(ends, seeds, {**stops, **{twin: i for i, twin in twins.items()}})
        finally:
            grad_mode.retain_graph = before
        if recorded:
            for i, twin in twins.items():  # not earlier: the backward pass above must stop at the arguments
                twin.history = History(Alias, TensorContext(Alias, (run.xs[i],), False), [run.xs[i]])
        return [gradient for source in run.sources for gradient in split_between_uses(found.get(source.key, []), source.times)]


def split_between_uses(parts: list[Tensor], times: int) -> list[Tensor | None]:
    """One gradient per use; the last is the sum of the rest, because some uses may have been missed."""
    rest = parts[times - 1 :]
    last = sum(rest[1:], rest[0]) if rest else None
    return [*parts[: times - 1], *[None] * (times - 1 - len(parts)), last]


RULES[Part] = RULES[Checkpoint] = lambda ctx, out, grad: ctx.fn._backward(ctx, grad)


def detach_arguments(xs: Sequence[Any]) -> dict[int, Tensor]:
    """New leaves for the arguments that require gradients, by index."""
    return {i: x.detach().requires_grad_() for i, x in enumerate(xs) if getattr(x, "history", None) is not None}


def differentiable_results(returned: Any) -> dict[int, Tensor]:
    """The returned tensors that require gradients, by index."""
    results = returned if isinstance(returned, (tuple, list)) else [returned]
    return {place: y for place, y in enumerate(results) if getattr(y, "history", None) is not None}


def replace_results(returned: Any, results: dict[int, Tensor]) -> Any:
    """The return value of a function with some of its tensors replaced, by index."""
    if not isinstance(returned, (tuple, list)):
        return results.get(0, returned)
    parts = [results.get(place, y) for place, y in enumerate(returned)]
    return returned._make(parts) if hasattr(returned, "_make") else type(returned)(parts)  # type: ignore[union-attr]  # of a named tuple


def first_run(fn: Callable[..., Any], xs: Sequence[Any]) -> tuple[Any, dict[int, Tensor], list[Source]]:
    """Run a function, inspect its graph, and free the graph.

    Returns:
        The return value, the differentiable results by index as constants, and the tensors that the function used.
    """
    twins = detach_arguments(xs)
    returned = fn(*[twins.get(i, x) for i, x in enumerate(xs)])
    results = differentiable_results(returned)
    outputs = {place: y.detach() for place, y in results.items()}
    order = topological_sort(OutputGroup(list(results.values())))[1:]  # type: ignore[arg-type]  # all that it is asked for is its history
    users: dict[int, list[Any]] = {id(node): [] for node in order}
    for node in order:
        for source in node.history.inputs:
            if source.history is not None:
                users[id(source)].append(weakref.ref(node))
    for node in results.values():
        users[id(node)].append(lambda: None)
    for i, twin in twins.items():  # for tensors that fn stored elsewhere or returned nested deeper
        twin.history = History(Alias, TensorContext(Alias, (xs[i],), False), [xs[i]])
    nodes = [(id(node), weakref.ref(node)) for node in order]
    returned = replace_results(returned, outputs)
    node = source = None
    del results, order  # frees the graph; what survives existed before or is referenced elsewhere
    numbers = {id(twin): i for i, twin in twins.items()}
    sources: list[Source] = []
    for key, reference in nodes:
        source = reference()
        if source is not None:
            times = max(1, sum(user() is None for user in users[key]))
            sources.append(Source(xs[numbers[key]], numbers[key], times) if key in numbers else Source(source, source, times))
    return returned, outputs, sources


def recompute(run: Run) -> tuple[dict[int, Tensor], list[Tensor]]:
    """Run a function a second time, in grad mode.

    Returns:
        The leaves that replaced its arguments, and the differentiable results.

    Raises:
        RuntimeError: If the results have other shapes than in the first run.
    """
    twins = detach_arguments(run.xs)
    mode, now = grad_mode.enabled, generator.bit_generator.state
    grad_mode.enabled, generator.bit_generator.state = True, run.state
    try:
        outputs = list(differentiable_results(run.fn(*[twins.get(i, x) for i, x in enumerate(run.xs)])).values())
    finally:
        grad_mode.enabled, generator.bit_generator.state = mode, now
    if [y.shape for y in outputs] != run.shapes:
        raise RuntimeError(
            f"checkpoint expected its function to return the same again, results of shapes {run.shapes}, "
            f"got {[y.shape for y in outputs]}; it must depend on nothing that changes between forward and backward"
        )
    return twins, outputs


def collect_gradients(outputs: Sequence[Tensor], seeds: Sequence[Tensor], stops: dict[Tensor, Any]) -> dict[Any, list[Tensor]]:
    """Backpropagate through a graph until the given tensors.

    Args:
        outputs: Tensors at which the backward pass starts.
        seeds: Their gradients.
        stops: Tensors at which it stops, each with its key in the result.

    Returns:
        For each key the list of gradients that arrived.

    Raises:
        RuntimeError: If it reaches a leaf that is not one of the stops.
    """
    gradients: dict[Tensor, Tensor] = {}
    found: dict[Any, list[Tensor]] = {}

    def arrive(x: Tensor, gradient: Tensor) -> None:
        if x in stops:
            found.setdefault(stops[x], []).append(gradient)
        elif x.history is not None:
            gradients[x] = gradients[x] + gradient if x in gradients else gradient

    for y, seed in zip(outputs, seeds, strict=True):
        arrive(y, seed)
    restore_past(*outputs)
    for node in topological_sort(OutputGroup(outputs))[1:]:  # type: ignore[arg-type]  # all that it is asked for is its history
        gradient = gradients.pop(node, None)
        if gradient is None:
            continue
        if node.history.last_fn is None:
            raise RuntimeError(
                f"checkpoint expected its function to do the same again, but this time it used another leaf, of shape {node.shape}; "
                "it must depend on nothing that changes between forward and backward"
            )
        for parent, part in input_gradients(node, apply_hooks(node, gradient)):
            arrive(parent, part)
    return found
