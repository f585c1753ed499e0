"""Stage 7 - torch.backends: libraries for the CPU that are not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Library:
    """A library that is not used. Its switches can be set, and change nothing.

    Args:
        name: Its name.
    """

    enabled = deterministic = allow_tf32 = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.backends.{self.name}, which is not used"

    def is_available(self) -> bool:
        """False."""
        return False

    @contextmanager
    def flags(self, enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> Iterator[None]:
        """Set the switches inside of a block."""
        before = self.enabled, self.deterministic, self.allow_tf32
        self.enabled, self.deterministic, self.allow_tf32 = enabled, deterministic, allow_tf32
        try:
            yield
        finally:
            self.enabled, self.deterministic, self.allow_tf32 = before
