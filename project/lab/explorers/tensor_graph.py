"""The graph behind a Tensor: what `graph.record` asks about tensors, and where a broadcast gradient is summed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.core.context import grad_mode
from minitorch.core.creation import ones
from project.lab.explorers import graph

PRINTED = 6
"""A tensor of more elements is shortened in a sentence."""

IN_A_BOX = 3
"""A tensor of more elements is no more than its shape in the drawing."""


class Tensors(graph.Scalars):
    """What a recording asks about its variables, if they are Tensors."""

    def value(self, variable: Any) -> Any:
        """Its elements, as they are now."""
        return variable.to_numpy()

    def first(self, out: Any) -> Any:
        """Ones in the shape of the output: the gradient of the sum of its elements."""
        return ones(out.shape, out.backend, dtype=out.dtype if out.dtype.kind == "f" else None)

    def passed(self, variable: Any, arrived: Any, call: str) -> list[tuple[Any, Any, str]]:
        """What a tensor passes on, each with a remark if its shape is not the one in which backward returned it."""
        pairs = list(variable.chain_rule(arrived))
        function, ctx = variable.history.last_fn, variable.history.ctx
        returned = function._backward(ctx, arrived)
        if len(returned) == len(ctx.is_tensor):
            returned = [gradient for gradient, is_tensor in zip(returned, ctx.is_tensor, strict=True) if is_tensor]
        returned = [gradient for gradient, parent in zip(returned, variable.parents, strict=True) if not parent.is_constant()]
        return [(parent, passed, remark(raw, parent)) for (parent, passed), raw in zip(pairs, returned, strict=True)]

    def short(self, value: Any) -> str:
        """The elements as nested lists; of many, the first ones and the shape."""
        if value.size > PRINTED or not value.size:
            return f"{_nested(value.tolist(), 2)} of shape {value.shape}"
        return _nested(value.tolist())

    def label(self, value: Any, gradient: Any) -> list[str]:
        """The lines of a box: the shape, the value and the gradient, in full where they are short."""
        lines = [f"shape {value.shape}"]
        if value.size <= IN_A_BOX:
            lines.append(f"value {self.short(value)}")
        if gradient is None:
            return [*lines, "gradient -"]
        return [*lines, f"gradient {self.short(gradient) if gradient.size <= IN_A_BOX else gradient.shape}"]


TENSORS = Tensors()


def remark(returned: Any, parent: Any) -> str:
    """What the chain rule did to a gradient that a backward returned in another shape than its input has; "" if nothing."""
    if returned is None:
        return "backward returned None, which stands for zeros"
    if not hasattr(returned, "shape") or returned.shape == parent.shape:
        return ""
    missing = len(returned.shape) - len(parent.shape)
    dims = [d for d, size in enumerate(returned.shape) if d < missing or (size != 1 and parent.shape[d - missing] == 1)]
    if not dims:
        return f"repeated from shape {returned.shape}"
    where = " and ".join(str(d) for d in dims)
    return f"summed from shape {returned.shape} over dimension{'s' if len(dims) > 1 else ''} {where}"


def record(out: Any) -> graph.Recording:
    """Go backward from a Tensor of any shape, beginning with ones, and keep every moment; see `graph.record`."""
    with _kept():
        return graph.record(out, TENSORS)


def forward_only(out: Any) -> graph.Recording:
    """The graph without gradients."""
    return graph.forward_only(out, TENSORS)


@contextmanager
def _kept() -> Iterator[None]:
    """As within backward(retain_graph=True): nothing new is recorded, and nothing that is needed again is freed."""
    before = grad_mode.enabled, grad_mode.retain_graph
    grad_mode.enabled, grad_mode.retain_graph = False, True
    try:
        yield
    finally:
        grad_mode.enabled, grad_mode.retain_graph = before


def _nested(values: Any, most: int | None = None) -> str:
    """Nested lists as text, with at most so many items of each list."""
    if not isinstance(values, list):
        return f"{values:.3g}"
    shown = [_nested(value, most) for value in values[:most]]
    return f"[{', '.join([*shown, '…'] if len(shown) < len(values) else shown)}]"
