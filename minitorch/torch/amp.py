"""Stage 6 - torch.amp: the loss scaling of mixed precision training, and autocast, which can be switched off only."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

import minitorch.optim.grad_scaler as engine
from minitorch.torch.tensor import as_torch


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


class GradScaler(engine.GradScaler):
    """Scales the loss, unscales the gradients, and skips steps whose gradients overflowed; see `minitorch.optim.GradScaler`.

    Args:
        device: No effect: it works on every device.
        init_scale: Initial scale.
        growth_factor: Factor of the scale after growth_interval consecutive steps without overflow.
        backoff_factor: Factor of the scale after an overflow.
        growth_interval: Number of steps.
        enabled: If False, the scale is 1 and every step is taken.

    Raises:
        ValueError: If init_scale is not above 0, growth_factor not above 1, backoff_factor not between 0 and 1, or growth_interval below 1.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    def scale(self, outputs: Any) -> Any:
        """Multiply a loss, or a list of them, by the scale; half precision becomes float32.

        Raises:
            TypeError: If it is not a Tensor.
        """
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        return as_torch(super().scale(outputs))

    def step(self, optimizer: Any) -> None:  # type: ignore[override]  # it returns nothing, as in PyTorch
        """Unscale the gradients if `unscale_` has not, then take a step, unless a gradient is infinite or NaN.

        Raises:
            RuntimeError: If it has been called for this optimizer since the last update.
        """
        super().step(optimizer)

    def _value_of(self, parameter: Any) -> Any:
        return parameter

    def _skip(self, optimizer: Any) -> None:
        """The gradients stay until `zero_grad`."""
