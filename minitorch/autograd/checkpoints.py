"""Stage 5 - Checkpoints: part of a network forgets what it computed, and computes it again when backward comes by.

Backward needs what every function saved in forward, so the memory of a training step grows with the depth of the network. A part under
`checkpoint` keeps its arguments and results alone. When gradients arrive, the part is run again, and they pass through the graph of that
run. Of n layers in √n parts, the results of the parts and the one part that is unfolded hold about 2√n layers, for a second forward.

In the graph, a checkpoint is one node whose inputs are all the tensors that its function used: its arguments, and those that it found for
itself, such as parameters. Which ones, the graph of the first run says before it is forgotten: they outlive it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import minitorch.core.creation as creation
from minitorch.autodiff import Context, History, topological_sort
from minitorch.autograd.double_backward import Alias
from minitorch.autograd.engine import RULES, OutputGroup, input_gradients
from minitorch.core.context import TensorContext, grad_mode
from minitorch.core.gradients import apply_hooks
from minitorch.tensor import Tensor
from minitorch.tensor_functions import Function

generator = creation.generator
"""Where `rand` and dropout draw from."""


def checkpoint(fn: Callable[..., Any], *xs: Any) -> Any:
    """fn(*xs), of which nothing is kept until backward but the arguments and what is returned: it is then run a second time.

    Random numbers of the library are drawn again as they were the first time, and the gradients are the same to the last bit, unless a
    tensor is used several times within fn and outside it, too: then they may be added up in another order. What else fn does happens
    twice: a BatchNorm's running mean moves twice.

    Args:
        fn: Function that returns a Tensor, or a tuple or list with tensors in it; of tensors that lie deeper, or that it leaves elsewhere,
            the graph is kept. It may use other tensors than its arguments, and checkpoints of its own.
        xs: Its arguments, tensors or anything else.

    Returns:
        What fn returns. A tensor that it used gets zeros as its gradient where only results led to it that no gradient reached.

    Raises:
        RuntimeError: In backward, if a tensor that fn used has been written into since, or fn does not do the same again.

    Source: Chen et al. 2016, arXiv:1604.06174.
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
        key: What stands for it when the function runs: itself, or the number of an argument.
        times: How often it was used.
    """

    tensor: Tensor
    key: Tensor | int
    times: int


class Run(NamedTuple):
    """What is needed to run a function again.

    Attributes:
        fn: The function.
        xs: Its arguments.
        state: That of the random numbers before.
        shapes: Those of the results that gradients flow into.
        sources: What it used.
        arrived: The gradients of results, by their numbers, the last one last.
        one: A constant 1, by which the parts are counted whose gradients have arrived in this backward.
    """

    fn: Callable[..., Any]
    xs: Sequence[Any]
    state: Any
    shapes: list[tuple[int, ...]]
    sources: list[Source]
    arrived: dict[int, Tensor]
    one: Tensor


class Part(Function):
    """One result of a checkpoint: its gradient waits for those of the others."""

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
        arrived = list(run.arrived.items())[-int(grad_output.item()) :]  # others are of a backward that an error has ended
        arrived.reverse()  # the one that arrived last is the one whose graph would have been visited first
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
            for i, twin in twins.items():  # only now, so that nobody went on through the graph behind the arguments
                twin.history = History(Alias, TensorContext(Alias, (run.xs[i],), False), [run.xs[i]])
        return [gradient for source in run.sources for gradient in split_between_uses(found.get(source.key, []), source.times)]


def split_between_uses(parts: list[Tensor], times: int) -> list[Tensor | None]:
    """As many gradients as were expected: the last is the sum of all that are left, for some uses may not have been seen."""
    rest = parts[times - 1 :]
    last = sum(rest[1:], rest[0]) if rest else None
    return [*parts[: times - 1], *[None] * (times - 1 - len(parts)), last]


RULES[Part] = RULES[Checkpoint] = lambda ctx, out, grad: ctx.fn._backward(ctx, grad)


def detach_arguments(xs: Sequence[Any]) -> dict[int, Tensor]:
    """For those arguments that gradients flow into leaves in their place, by their numbers."""
    return {i: x.detach().requires_grad_() for i, x in enumerate(xs) if getattr(x, "history", None) is not None}


def differentiable_results(returned: Any) -> dict[int, Tensor]:
    """The tensors in what a function returned that gradients flow into, by their places."""
    results = returned if isinstance(returned, (tuple, list)) else [returned]
    return {place: y for place, y in enumerate(results) if getattr(y, "history", None) is not None}


def replace_results(returned: Any, results: dict[int, Tensor]) -> Any:
    """What a function returned, with other tensors at some places."""
    if not isinstance(returned, (tuple, list)):
        return results.get(0, returned)
    parts = [results.get(place, y) for place, y in enumerate(returned)]
    return returned._make(parts) if hasattr(returned, "_make") else type(returned)(parts)  # type: ignore[union-attr]  # of a named tuple


def first_run(fn: Callable[..., Any], xs: Sequence[Any]) -> tuple[Any, dict[int, Tensor], list[Source]]:
    """Run a function, look at its graph, and forget that.

    Returns:
        What it returned; the results that gradients flow into, by their places and as constants; and what it used.
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
    for i, twin in twins.items():  # for what fn has left elsewhere, and for what it returned deeper down
        twin.history = History(Alias, TensorContext(Alias, (xs[i],), False), [xs[i]])
    nodes = [(id(node), weakref.ref(node)) for node in order]
    returned = replace_results(returned, outputs)
    node = source = None
    del results, order  # with these goes the graph; what remains was there before, or is kept by others
    numbers = {id(twin): i for i, twin in twins.items()}
    sources: list[Source] = []
    for key, reference in nodes:
        source = reference()
        if source is not None:
            times = max(1, sum(user() is None for user in users[key]))
            sources.append(Source(xs[numbers[key]], numbers[key], times) if key in numbers else Source(source, source, times))
    return returned, outputs, sources


def recompute(run: Run) -> tuple[dict[int, Tensor], list[Tensor]]:
    """Run a function a second time, recorded.

    Returns:
        What stood for its arguments, and the results that gradients flow into.

    Raises:
        RuntimeError: If these are others than the first time.
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
    """Send gradients back through a graph up to where it is left.

    Args:
        outputs: Where they begin.
        seeds: Their gradients.
        stops: Where they end, each with the key under which they are returned.

    Returns:
        For each key the gradients that arrived, one after the other.

    Raises:
        RuntimeError: If a leaf is reached that is none of the stops.
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
    for node in topological_sort(OutputGroup(outputs))[1:]:  # type: ignore[arg-type]  # all that it is asked for is its history
        gradient = gradients.pop(node, None)
        if gradient is None:
            continue
        if node.is_leaf():
            raise RuntimeError(
                f"checkpoint expected its function to do the same again, but this time it used another leaf, of shape {node.shape}; "
                "it must depend on nothing that changes between forward and backward"
            )
        for parent, part in input_gradients(node, apply_hooks(node, gradient)):
            arrive(parent, part)
    return found
