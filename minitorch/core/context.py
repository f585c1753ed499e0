"""Stage 2 - The context of a tensor function, and the mode that turns recording on and off."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from minitorch.autodiff import Context
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import version_counter


class GradMode(threading.local):
    """The autograd mode of a thread.

    Attributes:
        enabled: Whether functions are recorded.
        retain_graph: Whether the current backward pass keeps the graph.
    """

    enabled = True
    retain_graph = False


grad_mode = GradMode()


class no_grad(ContextDecorator):
    """Disable the recording of tensor functions: `with no_grad():`, or `@no_grad()` on a function."""

    def __init__(self) -> None:
        self._before: list[bool] = []  # one for every entry: an instance may be nested in itself

    def __enter__(self) -> None:
        self._before.append(grad_mode.enabled)
        grad_mode.enabled = False

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before.pop()

    def _recreate_cm(self) -> no_grad:
        return no_grad()  # one for every call: several threads may run a decorated function at once


class TensorContext(Context):
    """Values that a tensor function saves for its backward pass; detects if they are modified in between.

    Args:
        fn: The function.
        args: Its arguments.
        no_grad: Whether no gradients will be computed; determined from the arguments if left out.

    Attributes:
        fn: The function.
        args: Its arguments.
        recorded_at: The version counter when the call was recorded.
    """

    __slots__ = ("_saved", "_saved_at", "args", "fn", "recorded_at")

    def __init__(self, fn: type, args: Sequence[Any] = (), no_grad: bool | None = None) -> None:
        self.fn, self.args = fn, args
        self.no_grad = not (grad_mode.enabled and any(self.needs_input_grad)) if no_grad is None else no_grad
        self._saved: tuple[Any, ...] = ()

    # Computed on access, because most functions never use these lists.

    @property
    def is_tensor(self) -> list[bool]:
        """For every argument, whether it is a tensor."""
        return [isinstance(arg, TensorBase) for arg in self.args]

    @property
    def needs_input_grad(self) -> list[bool]:
        """For every argument, whether a gradient flows into it."""
        return [getattr(arg, "history", None) is not None for arg in self.args]

    def save_for_backward(self, *values: Any) -> None:
        """Save these tensors and plain values for the backward pass."""
        if not self.no_grad:
            self._saved, self._saved_at = values, next(version_counter)

    @property
    def saved_values(self) -> tuple[Any, ...]:  # type: ignore[override]  # a field in Context
        """The values given to `save_for_backward`.

        Raises:
            RuntimeError: If one has been written into since.
        """
        for value in self._saved:
            if isinstance(value, TensorBase) and value._tensor._version[1] > self._saved_at and needs_value(self, value):
                raise RuntimeError(
                    f"backward of {self.fn.__name__} needs a tensor of shape {value.shape} as it was in forward, "
                    f"but it has been written into since{last_write(value)}; write into a copy: x.clone()"
                )
        return self._saved

    def __repr__(self) -> str:
        return f"TensorContext({self.fn.__name__}, no_grad={self.no_grad}, saved_values={self._saved})"


bilinear: set[type] = set()
"""Products of two tensors: the gradient of each needs the numbers of the other one only. `autograd.in_place` names them."""


def needs_value(ctx: TensorContext, value: Any) -> bool:
    """Whether the gradients of a function need the numbers of a tensor that it saved."""
    if ctx.fn not in bilinear:
        return True
    (a, b, *_), (needed_by_a, needed_by_b, *_) = ctx.args, ctx.needs_input_grad
    return (value is b and needed_by_a) or (value is a and needed_by_b) or (value is not a and value is not b)


def last_write(x: Any) -> str:
    """Which function in place last wrote into the memory of a tensor, and where it was called, if that is known."""
    _, tick, *noted = x._tensor._version
    if not noted or noted[0][0] != tick:
        return ""
    _, name, file, line = noted[0]
    return f" by {name} ({file}, line {line})"
