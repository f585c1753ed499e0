"""The computational graph of a Tensor: how `graph.record` treats tensors, and where gradients are reduced after broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.core.context import grad_mode
from minitorch.core.creation import ones
from minitorch.tensor import Tensor
from project.lab.explorers import graph

PRINTED = 6
"""Tensors with more elements are abbreviated in sentences."""

IN_A_BOX = 3
"""For tensors with more elements, the graph shows only the shape."""


class Tensors(graph.Scalars):
    """How a recording treats its variables if they are Tensors."""

    def value(self, variable: Any) -> Any:
        """Return the elements of a variable."""
        return variable.to_numpy()

    def first(self, out: Any) -> Any:
        """Return ones in the shape of the output, the gradient of the sum of its elements."""
        return ones(out.shape, out.backend, dtype=out.dtype if out.dtype.kind == "f" else None)

    def passed(self, variable: Any, arrived: Any, call: str) -> list[tuple[Any, Any, str]]:
        """Apply the chain rule of a tensor; a remark says where a gradient was reduced to the shape of its input."""
        pairs = list(variable.chain_rule(arrived))
        function, ctx = variable.history.last_fn, variable.history.ctx
        returned = function._backward(ctx, arrived)
        if len(returned) == len(ctx.is_tensor):
            returned = [gradient for gradient, is_tensor in zip(returned, ctx.is_tensor, strict=True) if is_tensor]
        returned = [gradient for gradient, parent in zip(returned, variable.parents, strict=True) if not parent.is_constant()]
        return [(parent, passed, remark(raw, parent)) for (parent, passed), raw in zip(pairs, returned, strict=True)]

    def saved(self, variable: Any) -> list[tuple[str, int]]:
        """Return what the function of a tensor has saved: each tensor with its shape, other values as they are."""
        values = variable.history.ctx.saved_values
        return [(f"shape {value.shape}", value.size) if isinstance(value, Tensor) else (str(value), 0) for value in values]

    def short(self, value: Any) -> str:
        """Return the elements as nested lists; of a large tensor, the first elements and the shape."""
        if value.size > PRINTED or not value.size:
            return f"{_nested(value.tolist(), 2)} of shape {value.shape}"
        return _nested(value.tolist())

    def brief(self, value: Any) -> str:
        """Return the elements of a small gradient, and the shape of another one."""
        return self.short(value) if value.size <= IN_A_BOX else str(value.shape)

    def about(self, value: Any) -> list[str]:
        """Return the lines of a node: the shape, and a small value."""
        return [f"shape {value.shape}", *([f"value {self.short(value)}"] if value.size <= IN_A_BOX else [])]

    def local(self, variable: Any, call: str) -> list[tuple[Any, str]]:
        """Return nothing: the derivative of a tensor with respect to another one has a number for each pair of their elements."""
        return []


TENSORS = Tensors()


def remark(returned: Any, parent: Any) -> str:
    """Describe how the chain rule changed the shape of a gradient that `backward` returned; "" if it did not."""
    if returned is None:
        return "backward returned None, which means zeros"
    if not hasattr(returned, "shape") or returned.shape == parent.shape:
        return ""
    missing = len(returned.shape) - len(parent.shape)
    dims = [d for d, size in enumerate(returned.shape) if d < missing or (size != 1 and parent.shape[d - missing] == 1)]
    if not dims:
        return f"repeated from shape {returned.shape}"
    where = " and ".join(str(d) for d in dims)
    return f"summed from shape {returned.shape} over dimension{'s' if len(dims) > 1 else ''} {where}"


def record(out: Any) -> graph.Recording:
    """Run the backward pass from a Tensor of any shape, starting with ones, and record every step; see `graph.record`."""
    with _retain_graph():
        return graph.record(out, TENSORS)


def forward_only(out: Any) -> graph.Recording:
    """Return the graph without gradients."""
    return graph.forward_only(out, TENSORS)


@contextmanager
def _retain_graph() -> Iterator[None]:
    """Behave like backward(retain_graph=True): record nothing new, and free nothing that is needed again."""
    before = grad_mode.enabled, grad_mode.retain_graph
    grad_mode.enabled, grad_mode.retain_graph = False, True
    try:
        yield
    finally:
        grad_mode.enabled, grad_mode.retain_graph = before


def _nested(values: Any, most: int | None = None) -> str:
    """Return nested lists as text, with at most `most` items of each list."""
    if not isinstance(values, list):
        return f"{values:.3g}"
    shown = [_nested(value, most) for value in values[:most]]
    return f"[{', '.join([*shown, '…'] if len(shown) < len(values) else shown)}]"
