"""Stage 7 - Loss scaling for mixed precision training: gradients in float16 do not underflow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minitorch.core.dtypes import compute_dtype, is_half
from minitorch.optim.arithmetic import value_of
from minitorch.optim.optimizer import Optimizer
from minitorch.tensor import Tensor

SMALLEST = 2.0**-126
"""The smallest scale whose inverse is finite in float32; reached if all gradients are NaN for a long time."""


class GradScaler:
    """Scales the loss, unscales the gradients, and skips steps whose gradients overflowed.

    In float16, gradients below 6e-8 underflow to 0 and those above 65504 overflow. Scaling the loss before the backward pass
    multiplies all gradients by the same factor. The factor adapts: it shrinks when a gradient is infinite or NaN, and grows
    after many steps without.

    Parameters are float32 (master weights). The forward pass uses half-precision copies, `weight.half()`, whose gradients flow
    back into the float32 ones. Compute the loss in float32, from `logits.float()`.

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    Args:
        device: No effect: it works on every device.
        init_scale: Initial scale.
        growth_factor: Factor of the scale after growth_interval consecutive steps without overflow.
        backoff_factor: Factor of the scale after an overflow.
        growth_interval: Number of steps.
        enabled: If False, the scale is 1 and every step is taken.

    Raises:
        TypeError: If device is a number.
        ValueError: If init_scale is not above 0, growth_factor not above 1, backoff_factor not between 0 and 1, or growth_interval below 1.

    Source: Micikevicius et al. 2018, arXiv:1710.03740, section 3.2.
    """

    def __init__(
        self,
        device: Any = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if isinstance(device, (int, float)):
            raise TypeError(f'GradScaler expected a device such as "cuda" first, got {device}; pass init_scale={device}')
        self._enabled, self._tracker = enabled, 0
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), float(growth_factor), float(backoff_factor)
        self._growth_interval = growth_interval
        self._overflowed: dict[Optimizer, bool] = {}  # by optimizer, those unscaled since the last update
        self._stepped: set[Optimizer] = set()
        counts = hasattr(growth_interval, "__index__") and growth_interval >= 1
        for name, value, fits, expected in (
            ("init_scale", self._scale, 0 < self._scale < math.inf, "above 0 and finite"),
            ("growth_factor", self._growth_factor, 1 < self._growth_factor < math.inf, "above 1 and finite"),
            ("backoff_factor", self._backoff_factor, 0 < self._backoff_factor < 1, "between 0 and 1"),
            ("growth_interval", growth_interval, counts, "as a whole number of at least 1"),
        ):
            if not fits:
                raise ValueError(f"GradScaler expected {name} {expected}, got {value}")

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 if disabled."""
        return self._scale if self._enabled else 1.0

    def scale(self, outputs: Any) -> Any:
        """Multiply a loss, losses of any shape, or a list of them by the scale; half precision becomes float32.

        Raises:
            TypeError: If one is not a Tensor.
        """
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(map(self.scale, outputs))
        if not isinstance(outputs, Tensor):
            raise TypeError(f"scale expected a Tensor, got {type(outputs).__name__}; scale the loss before backward")
        return outputs.to(compute_dtype(outputs.dtype)) * self._scale if self._enabled else outputs

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for example before clipping; otherwise `step` does it.

        Raises:
            RuntimeError: If they have been unscaled since the last update.
            TypeError: If a gradient is in half precision, where it would underflow again.
        """
        if not self._enabled:
            return
        if optimizer in self._overflowed:
            raise RuntimeError("unscale_ expected gradients that are still scaled, got those of an optimizer twice; call update() before")
        gradients = list(self._gradients(optimizer))
        for value, gradient in gradients:
            if is_half(gradient.dtype):
                shape = tuple(value.shape)
                raise TypeError(
                    f"unscale_ expected gradients of float32 or float64, got {gradient.dtype.name} for a parameter of shape {shape}; "
                    "keep the parameters in float32, and use halves of them in forward: weight.half()"
                )
        overflowed = False
        for value, gradient in gradients:
            value.grad = gradient = gradient.detach() * (1 / self._scale)
            overflowed = overflowed or not np.isfinite(gradient.to_numpy()).all()
        self._overflowed[optimizer] = overflowed

    def step(self, optimizer: Optimizer) -> Any:
        """Unscale the gradients if `unscale_` has not, then take a step, unless a gradient is infinite or NaN.

        The gradients of a skipped step stay until `zero_grad`.

        Returns:
            What the optimizer's step returns; None if it was skipped. Then `update` makes the scale smaller.

        Raises:
            RuntimeError: If it has been called for this optimizer since the last update.
        """
        if not self._enabled:
            return optimizer.step()
        if optimizer in self._stepped:
            raise RuntimeError("step expected one call for an optimizer between two updates, got a second one; call update() before")
        if optimizer not in self._overflowed:
            self.unscale_(optimizer)
        self._stepped.add(optimizer)
        return None if self._overflowed[optimizer] else optimizer.step()

    def update(self) -> None:
        """Adapt the scale: smaller after an overflow, larger after growth_interval steps without.

        Raises:
            RuntimeError: If there was no step since the last update.
        """
        if not self._enabled:
            return
        if not self._overflowed:
            raise RuntimeError("update expected a step before it, got none; call step(optimizer) first")
        if any(self._overflowed.values()):
            self._scale, self._tracker = max(self._scale * self._backoff_factor, SMALLEST), 0
        else:
            self._tracker += 1
            if self._tracker == self._growth_interval:
                larger = self._scale * self._growth_factor
                self._scale, self._tracker = larger if larger < 2.0**128 else self._scale, 0  # the largest that float32 can represent
        self._overflowed.clear()
        self._stepped.clear()

    def state_dict(self) -> dict[str, float]:
        """Return the state to save, with PyTorch's keys; empty if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, float]) -> None:
        """Load a `state_dict`.

        Raises:
            ValueError: If keys are missing or unexpected, all of which are listed, or a value is out of range.
        """
        if not self._enabled:
            return
        own = self.state_dict()
        mismatches = [f"missing {name}" for name in own if name not in state_dict]
        mismatches += [f"unexpected {name}" for name in state_dict if name not in own]
        if mismatches:
            raise ValueError(
                f"GradScaler.load_state_dict expected the state of an enabled GradScaler, got one with {', '.join(mismatches)}"
            )
        scale, *factors, interval, tracker = [state_dict[name] for name in own]
        loaded = GradScaler("cuda", scale, *factors, growth_interval=int(interval))
        self.__dict__.update({**vars(loaded), "_tracker": int(tracker)})

    def _gradients(self, optimizer: Optimizer) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield (value, gradient) of every parameter that has a gradient."""
        for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
            value = value_of(parameter)
            if getattr(value, "grad", None) is not None:
                yield value, value.grad
