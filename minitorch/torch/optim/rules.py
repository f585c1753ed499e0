"""Stage 6 - The optimizers, with PyTorch's arguments and defaults over the engine's update rules."""

from __future__ import annotations

from typing import Any

import minitorch.optim as engine
from minitorch.optim.adam_variants import AMSGradW
from minitorch.optim.optimizer import Optimizer as Rule
from minitorch.torch.optim.optimizer import RuleOptimizer

# foreach and fused say how PyTorch computes a step; they change no result.


class SGD(RuleOptimizer):
    """Stochastic gradient descent; see `minitorch.optim.SGD`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        momentum: Decay rate of the velocity.
        dampening: Reduction of the gradient's weight in the velocity.
        weight_decay: L2 penalty.
        nesterov: Whether to use Nesterov momentum.
        maximize: Whether to ascend.
        foreach: No effect.
        differentiable: False.
        fused: No effect.

    Raises:
        ValueError: If a setting is out of range, or nesterov is combined with dampening or zero momentum.
    """

    rule = engine.SGD

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        own = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, **own, maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused)

    def check(self, settings: dict[str, Any]) -> None:
        """Raise ValueError if settings are out of range."""
        super().check(settings)
        if settings["nesterov"] and (settings["momentum"] <= 0 or settings["dampening"] != 0):
            raise ValueError("SGD expected a momentum above 0 and no dampening with nesterov; leave out nesterov, or set them")


class Adam(RuleOptimizer):
    """Adam; see `minitorch.optim.Adam`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        betas: Decay rates of the moving averages of the gradient and its square.
        eps: Added to the denominator.
        weight_decay: L2 penalty.
        amsgrad: Whether to divide by the largest mean square so far.
        foreach: No effect.
        maximize: Whether to ascend.
        capturable: False.
        differentiable: False.
        fused: No effect.
        decoupled_weight_decay: Whether to decay the weights as `AdamW` does.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.Adam

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize}
        how = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, **own, **how, decoupled_weight_decay=decoupled_weight_decay)

    def rule_of(self, group: dict[str, Any]) -> type[Rule]:
        """The update rule of a group."""
        if group.get("decoupled_weight_decay"):
            return AMSGradW if group["amsgrad"] else engine.AdamW
        return engine.AMSGrad if group["amsgrad"] else engine.Adam


class AdamW(Adam):
    """Adam with decoupled weight decay; for the arguments see `Adam`."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
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
        how: dict[str, Any] = {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, **how, decoupled_weight_decay=True)


class RMSprop(RuleOptimizer):
    """RMSprop; see `minitorch.optim.RMSprop`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        alpha: Decay rate of the moving averages.
        eps: Added to the denominator.
        weight_decay: L2 penalty.
        momentum: Decay rate of the velocity.
        centered: Whether to divide by the estimated standard deviation.
        capturable: False.
        foreach: No effect.
        maximize: Whether to ascend.
        differentiable: False.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule, counts_steps = engine.RMSprop, True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        own = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay}
        super().__init__(params, **own, capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable)


class Adadelta(RuleOptimizer):
    """Adadelta; see `minitorch.optim.Adadelta`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Factor of every step.
        rho: Decay rate of the moving averages.
        eps: Added to both mean squares.
        weight_decay: L2 penalty.
        foreach: No effect.
        capturable: False.
        maximize: Whether to ascend.
        differentiable: False.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.Adadelta

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        own = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **own, maximize=maximize, capturable=capturable, foreach=foreach, differentiable=differentiable)


class Adagrad(RuleOptimizer):
    """Adagrad; see `minitorch.optim.Adagrad`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        lr_decay: The rate is divided by 1 + lr_decay · (number of earlier steps).
        weight_decay: L2 penalty.
        initial_accumulator_value: Initial value of the sums.
        eps: Added to the denominator.
        foreach: No effect.
        maximize: Whether to ascend.
        differentiable: False.
        fused: No effect.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.Adagrad

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        own = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        how = {"foreach": foreach, "maximize": maximize, "differentiable": differentiable, "fused": fused}
        super().__init__(params, **own, initial_accumulator_value=initial_accumulator_value, **how)


class Adamax(RuleOptimizer):
    """Adamax; see `minitorch.optim.Adamax`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        betas: Decay rates of the moving average of the gradient and of the maximum.
        eps: Added to the size of the gradient.
        weight_decay: L2 penalty.
        foreach: No effect.
        maximize: Whether to ascend.
        differentiable: False.
        capturable: False.

    Raises:
        ValueError: If a setting is out of range.
    """

    rule = engine.Adamax

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, **own, foreach=foreach, maximize=maximize, differentiable=differentiable, capturable=capturable)


class NAdam(RuleOptimizer):
    """NAdam; see `minitorch.optim.NAdam`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        betas: Decay rates of the moving averages of the gradient and its square.
        eps: Added to the denominator.
        weight_decay: L2 penalty.
        momentum_decay: How fast the momentum approaches its final value.
        decoupled_weight_decay: False.
        foreach: No effect.
        maximize: Whether to ascend.
        capturable: False.
        differentiable: False.

    Raises:
        NotImplementedError: If decoupled_weight_decay is set.
        ValueError: If a setting is out of range.
    """

    rule = engine.NAdam

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _refuse_decoupled("NAdam", decoupled_weight_decay)
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay}
        how = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        super().__init__(params, **own, decoupled_weight_decay=decoupled_weight_decay, **how)


class RAdam(RuleOptimizer):
    """RAdam; see `minitorch.optim.RAdam`.

    Args:
        params: Tensors to update, or groups of them; see `Optimizer`.
        lr: Learning rate.
        betas: Decay rates of the moving averages of the gradient and its square.
        eps: Added to the denominator.
        weight_decay: L2 penalty.
        decoupled_weight_decay: False.
        foreach: No effect.
        maximize: Whether to ascend.
        capturable: False.
        differentiable: False.

    Raises:
        NotImplementedError: If decoupled_weight_decay is set.
        ValueError: If a setting is out of range.
    """

    rule = engine.RAdam

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _refuse_decoupled("RAdam", decoupled_weight_decay)
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        how = {"maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
        super().__init__(params, **own, decoupled_weight_decay=decoupled_weight_decay, **how)


def _refuse_decoupled(name: str, given: bool) -> None:
    """Raise NotImplementedError if the weights should decay as in AdamW."""
    if given:
        raise NotImplementedError(f"{name} supports decoupled_weight_decay=False only; use AdamW")
