"""Stage 7 - torch.amp: the loss scaling of mixed precision training, and autocast, which can be switched off only."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from minitorch.optim.grad_scaler import GradScaler as GradScaler


class autocast(ContextDecorator):
    """A context manager and decorator that changes nothing: operations compute in the dtypes of their operands.

    Args:
        device_type: "cpu" or "cuda".
        dtype: No effect.
        enabled: False.
        cache_enabled: No effect.

    Raises:
        NotImplementedError: If it is enabled.
        ValueError: If the device is unknown.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool = True) -> None:
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f'autocast expected device_type "cpu" or "cuda", got {device_type!r}')
        if enabled:
            raise NotImplementedError(
                "autocast supports enabled=False only; pass that, and convert the tensors of some layers yourself: x.half()"
            )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass
