"""Stage 7 - AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from minitorch.optim.adam import Adam
from minitorch.optim.optimizer import settings_among


class AdamW(Adam):
    """Adam with decoupled weight decay: before each step the value is multiplied by 1 - lr · weight_decay; the gradient is unchanged.

    Args:
        params: See `Adam` for the arguments that are not described here, and for the errors.
        weight_decay: Weight decay coefficient; not negative.

    Source: Loshchilov and Hutter 2019, arXiv:1711.05101, algorithm 2.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, **settings_among(locals()), decoupled_weight_decay=True)
