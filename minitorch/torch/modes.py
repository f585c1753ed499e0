"""Stage 7 - Whether gradients are recorded: PyTorch's context managers and decorators over the engine's mode."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.core.context import grad_mode


class GradientMode:
    """A context manager and decorator that sets whether gradients are recorded, and restores it.

    Attributes:
        mode: Whether they are recorded inside.
    """

    mode = False

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(grad_mode.enabled)
        grad_mode.enabled = self.mode

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before.pop()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, called in this mode."""

        @functools.wraps(fn)
        def in_mode(*args: Any, **kwargs: Any) -> Any:
            before, grad_mode.enabled = grad_mode.enabled, self.mode
            try:
                return fn(*args, **kwargs)
            finally:
                grad_mode.enabled = before

        return in_mode


class no_grad(GradientMode):
    """Record no gradients: `with no_grad():`, `@no_grad()` or `@no_grad`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __new__(cls, fn: Callable[..., Any] | None = None) -> Any:
        """The mode, or a function in it."""
        made = super().__new__(cls)
        made.__init__()
        return made if fn is None else made(fn)


class inference_mode(GradientMode):
    """Record no gradients if mode is true."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = not mode


class enable_grad(GradientMode):
    """Record gradients, within `no_grad`."""

    mode = True


class set_grad_enabled(GradientMode):
    """Set whether gradients are recorded, from now on; as a context manager until its end."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self._outside, grad_mode.enabled = grad_mode.enabled, self.mode

    def __enter__(self) -> None:
        self._before.append(self._outside)
        grad_mode.enabled = self.mode


def is_grad_enabled() -> bool:
    """Whether gradients are recorded."""
    return grad_mode.enabled


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Has no effect: functions use no algorithm whose result depends on the order in which threads finish.

    Args:
        mode: Accepted for PyTorch.
        warn_only: The same.
    """
