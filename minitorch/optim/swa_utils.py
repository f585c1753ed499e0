"""Stage 7 - Averages of a model's parameters over training steps, and the schedule for them.

Source: Izmailov et al. 2018, arXiv:1803.05407.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from minitorch.core.context import no_grad
from minitorch.nn.module import Module
from minitorch.nn.normalization import _BatchNorm
from minitorch.optim.lr_scheduler import LRScheduler
from minitorch.optim.optimizer import Optimizer
from minitorch.torch import creation
from minitorch.torch.tensor import Tensor, as_torch

AvgFn = Callable[[Tensor, Tensor, Any], Tensor]


def _running_mean(averaged: Tensor, current: Tensor, count: Any) -> Tensor:
    return averaged + (current - averaged) / (int(count) + 1)


def _moving_mean(decay: float, averaged: Tensor, current: Tensor, count: Any) -> Tensor:
    return averaged * decay + current * (1 - decay)


def get_swa_avg_fn() -> AvgFn:
    """The running mean of all models, elementwise, as avg_fn of `AveragedModel`."""
    return _running_mean


def get_ema_avg_fn(decay: float = 0.999) -> AvgFn:
    """The exponential moving average decay · averaged + (1 - decay) · current, elementwise, as avg_fn of `AveragedModel`.

    Raises:
        ValueError: If decay is outside [0, 1].
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn expected decay from 0 to 1, got {decay}")
    return partial(_moving_mean, decay)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's; called like the model.

    Args:
        model: The model.
        device: Where the copy is stored; like the model by default.
        avg_fn: Takes an averaged parameter, the current one and the number of models averaged so far; the running mean by default.
        multi_avg_fn: Not supported.
        use_buffers: Whether buffers of floats are averaged, too; otherwise they are copied.

    Raises:
        NotImplementedError: If multi_avg_fn is given.
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: AvgFn | None = None, multi_avg_fn: None = None, use_buffers: bool = False
    ) -> None:
        super().__init__()
        if multi_avg_fn is not None:
            raise NotImplementedError("AveragedModel supports multi_avg_fn=None only; pass avg_fn, which takes one parameter")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", as_torch(creation.tensor(0)))
        self.avg_fn, self.use_buffers = avg_fn or get_swa_avg_fn(), use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the current parameters of the model to the averages; the first time, copy them."""
        own, given = list(self.module.parameters()), list(model.parameters())
        pairs = [(a, b) for a, b in zip(self.module.buffers(), model.buffers(), strict=True)]
        if self.use_buffers:
            averaged = [pair for pair in pairs if pair[0].is_floating_point()]
            own, given = own + [a for a, _ in averaged], given + [b for _, b in averaged]
            pairs = [pair for pair in pairs if not pair[0].is_floating_point()]
        count = int(self.n_averaged.item())
        with no_grad():
            for average, current in zip(own, given, strict=True):
                x = current.detach().to(average.device)
                average.copy_(self.avg_fn(average.detach(), x, count) if count else x)
            for kept, current in pairs:
                kept.copy_(current.detach())
            self.n_averaged.copy_(creation.tensor(count + 1))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of all batch normalizations again, as the mean over the batches of a loader.

    Args:
        loader: Yields batches, of which the first element, or all, is the input of the model.
        model: The model.
        device: Where the batches are moved to.
    """
    layers: list[Any] = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    momenta, training = [layer.momentum for layer in layers], model.training
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    model.train()
    with no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """The rate goes to swa_lr in a number of epochs, and stays there.

    Args:
        optimizer: Its groups get the entry "swa_lr".
        swa_lr: The rate at the end, for all groups or one for each.
        anneal_epochs: Number of epochs until then; 0 for at once.
        anneal_strategy: "cos" or "linear".
        last_epoch: See `LRScheduler`.

    Raises:
        ValueError: If the strategy is unknown, anneal_epochs is negative, or there are too few or too many rates.
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        if anneal_strategy not in ("cos", "linear") or anneal_epochs < 0:
            given = f"{anneal_strategy!r} and {anneal_epochs}"
            raise ValueError(f'SWALR expected anneal_strategy "cos" or "linear" and anneal_epochs of at least 0, got {given}')
        groups = optimizer.param_groups
        rates = list(swa_lr) if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(rates) != len(groups):
            raise ValueError(f"SWALR expected one rate or {len(groups)}, one for each group, got {len(rates)}")
        for group, rate in zip(groups, rates, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """The share of swa_lr in the rate after a number of steps."""
        done = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return done if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now, rates = self._share(step - 1), self._share(step), []
        for group in self.optimizer.param_groups:
            final = group["swa_lr"]
            first = final if before == 1 else (group["lr"] - before * final) / (1 - before)
            rates.append(final * now + first * (1 - now))
        return rates
