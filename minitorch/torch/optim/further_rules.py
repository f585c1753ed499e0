"""Stage 6 - Rprop and ASGD, with PyTorch's arguments and defaults over the engine's update rules."""

from __future__ import annotations

from typing import Any

import minitorch.optim as engine
from minitorch.torch.optim.optimizer import RuleOptimizer


class Rprop(RuleOptimizer):
    """Rprop; see `minitorch.optim.Rprop`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Initial step size.
        etas: Factors of the step size after a change of sign and without one.
        step_sizes: Smallest and largest step size.
        capturable: False.
        foreach: No effect.
        maximize: Whether to ascend.
        differentiable: False.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.Rprop

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop expected etas between 0 and 1 and above 1, got {etas}")
        how = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes, **how)


class ASGD(RuleOptimizer):
    """ASGD; see `minitorch.optim.ASGD`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        lambd: Decay of the values.
        alpha: Exponent of the learning rate's decay.
        t0: Number of steps before averaging starts.
        weight_decay: L2 penalty.
        foreach: No effect.
        maximize: Whether to ascend.
        differentiable: False.
        capturable: False.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.ASGD

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        own = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        how = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        super().__init__(params, **own, **how)
