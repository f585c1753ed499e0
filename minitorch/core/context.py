"""Stage 2 - What a tensor function keeps for its backward, and whether anything is recorded at all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from minitorch.autodiff import Context
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_data import version_counter


class GradMode(threading.local):
    """What autograd does in this thread.

    Attributes:
        enabled: Whether functions are recorded.
        retain_graph: Whether the running backward keeps what it has used.
    """

    enabled = True
    retain_graph = False


grad_mode = GradMode()


class no_grad(ContextDecorator):
    """Do not record the tensor functions that are called within: `with no_grad():`, or `@no_grad()` over a function."""

    def __init__(self) -> None:
        self._before: list[bool] = []  # one for every entry: an instance may be entered again within itself

    def __enter__(self) -> None:
        self._before.append(grad_mode.enabled)
        grad_mode.enabled = False

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before.pop()

    def _recreate_cm(self) -> no_grad:
        return no_grad()  # one for every call: several threads may be in a decorated function at once


class TensorContext(Context):
    """What a tensor function keeps in forward for its backward; it notices when that is changed in between.

    Args:
        fn: The function.
        args: Its arguments.
        no_grad: Whether nothing will be differentiated; found out where it is left out.

    Attributes:
        fn: The function.
        args: Its arguments.
    """

    __slots__ = ("_saved", "_tick", "args", "fn")

    def __init__(self, fn: type, args: Sequence[Any] = (), no_grad: bool | None = None) -> None:
        self.fn, self.args = fn, args
        self.no_grad = not (grad_mode.enabled and any(self.needs_input_grad)) if no_grad is None else no_grad
        self._saved: tuple[Any, ...] = ()

    # Most functions never ask for these lists: they are made when one does.

    @property
    def is_tensor(self) -> list[bool]:
        """For every argument, whether it is a tensor."""
        return [isinstance(arg, TensorBase) for arg in self.args]

    @property
    def needs_input_grad(self) -> list[bool]:
        """For every argument, whether a gradient flows into it."""
        return [getattr(arg, "history", None) is not None for arg in self.args]

    def save_for_backward(self, *values: Any) -> None:
        """Keep these tensors and plain values until backward."""
        if not self.no_grad:
            self._saved, self._tick = values, next(version_counter)

    @property
    def saved_values(self) -> tuple[Any, ...]:  # type: ignore[override]  # there a field, here checked
        """The values given to `save_for_backward`.

        Raises:
            RuntimeError: If one was written into since.
        """
        for value in self._saved:
            if isinstance(value, TensorBase) and value._tensor._version[1] > self._tick:
                raise RuntimeError(
                    f"backward of {self.fn.__name__} needs a tensor of shape {value.shape} as it was in forward, "
                    "but it has been written into since; write into a copy: x.clone()"
                )
        return self._saved

    def __repr__(self) -> str:
        return f"TensorContext({self.fn.__name__}, no_grad={self.no_grad}, saved_values={self._saved})"
