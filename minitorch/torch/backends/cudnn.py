"""Stage 7 - torch.backends.cudnn: its switches can be set, and change nothing, as in PyTorch on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

benchmark = deterministic = allow_tf32 = False
enabled, benchmark_limit = True, 10


def is_available() -> bool:
    """False: cuDNN is not used."""
    return False


def version() -> None:
    """None: cuDNN is not used."""


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False, allow_tf32: bool = True
) -> Iterator[None]:
    """Set the switches inside of a block."""
    new: dict[str, Any] = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: globals()[name] for name in new}
    globals().update(new)
    try:
        yield
    finally:
        globals().update(before)
