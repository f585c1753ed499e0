"""Stage 7 - Learning rate schedules.

A schedule multiplies or replaces the groups' current rates, so that several schedules of one optimizer combine.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from minitorch.optim.optimizer import Optimizer, Setting
from minitorch.tensor import Tensor


def validate_integer(value: Any, what: str, minimum: int, name: str) -> int:
    """Return value as an int. Raises TypeError if it is not an integer, and ValueError if it is below the minimum."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} expected {what} to be a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} expected {what} of at least {minimum}, got {value}")
    return int(value)


def validate_optimizer(optimizer: Any, name: str) -> None:
    """Raise TypeError unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{name} expected an optimizer, got {type(optimizer).__name__}; pass the one whose rate it sets")


class LRScheduler:
    """Base class of schedules: `step()` after an epoch sets every group's rate for the next. A subclass defines `get_lr`.

    Args:
        optimizer: The optimizer; its rates are set at once to those of the first epoch.
        last_epoch: The number of the last epoch finished; -1 to start.

    Attributes:
        optimizer: The argument.
        base_lrs: Every group's initial rate.
        last_epoch: The number of the current epoch.

    Raises:
        TypeError: If optimizer is not an Optimizer, or a number has the wrong type.
        ValueError: If a number is out of range.
        KeyError: If last_epoch is given and a group has no initial rate.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        validate_optimizer(optimizer, type(self).__name__)
        last_epoch = validate_integer(last_epoch, "last_epoch", -1, type(self).__name__)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"a schedule that goes on expected initial_lr in param_groups[{number}], got none; load the optimizer's state first"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self._step_count = last_epoch, 0
        self._last_lr: list[float] = []
        self.step()

    def get_lr(self) -> list[float]:
        """The rates of the current epoch, from those that the groups have."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr; define get_lr(self) in the class")

    def get_last_lr(self) -> list[float]:
        """The rate of every group."""
        return self._last_lr

    def step(self, epoch: None = None) -> None:
        """Set the rates of the next epoch.

        Raises:
            NotImplementedError: If an epoch is given.
        """
        if epoch is not None:
            raise NotImplementedError(f"{type(self).__name__}.step supports no epoch; call step() after every epoch")
        self._step_count += 1
        self.last_epoch += 1
        self._set(self.get_lr())

    def restart(self) -> None:
        """Begin with epoch 0 again, from the initial rates."""
        self.last_epoch = 0
        for group, rate in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = rate
        self._set(self.get_lr())

    def _set(self, rates: Sequence[float]) -> None:
        """Set the rates of the groups."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def _current(self) -> list[float]:
        """The rates that the groups have."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The state to save: every attribute but the optimizer; functions are left out."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a `state_dict`. Load the optimizer's as well: it holds the rates of its groups.

        Raises:
            ValueError: If it is not the state of a schedule.
        """
        if not isinstance(state_dict, Mapping) or "last_epoch" not in state_dict:
            raise ValueError(f"{type(self).__name__}.load_state_dict expected what state_dict() returns, got {state_dict!r}")
        self.__dict__.update({"_step_count": state_dict["last_epoch"] + 1} | dict(state_dict))


# Multiples of the current or the initial rate


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        lr_lambda: A function from epoch to factor, or one for each group.

    Raises:
        TypeError: If one is not a function.
        ValueError: If there are not as many functions as groups.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1):
        name = type(self).__name__
        validate_optimizer(optimizer, name)
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, Sequence) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            given = len(self.lr_lambdas)
            raise ValueError(f"{name} expected a function for each of {groups} groups, got {given}; pass one for all, or {groups}")
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"{name} expected a function of the epoch's number, got {fn!r}; try lambda epoch: 0.9**epoch")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * fn(self.last_epoch) for rate, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The state to save, without the functions."""
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The current rate times a function of the epoch; for the arguments see `LambdaLR`."""

    def get_lr(self) -> list[float]:
        if not self.last_epoch:
            return self._current()
        return [rate * fn(self.last_epoch) for rate, fn in zip(self._current(), self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate is multiplied by gamma every step_size epochs.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        step_size: Number of epochs between changes; at least 1.
        gamma: The factor.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = validate_integer(step_size, "step_size", 1, "StepLR"), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        changes = self.last_epoch and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if changes else rate for rate in self._current()]


class MultiStepLR(LRScheduler):
    """The rate is multiplied by gamma at every milestone.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        milestones: Numbers of epochs.
        gamma: The factor.
    """

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * self.gamma ** self.milestones[self.last_epoch] for rate in self._current()]


class ExponentialLR(LRScheduler):
    """The rate is multiplied by gamma after every epoch.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        gamma: The factor.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [rate * self.gamma if self.last_epoch else rate for rate in self._current()]


class ConstantLR(LRScheduler):
    """The rate is multiplied by a factor until epoch total_iters.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        factor: The factor, from 0 to 1.
        total_iters: The epoch from which on the rate is the initial one.

    Raises:
        ValueError: If factor is out of range.
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR expected factor from 0 to 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        factor = self.factor if not self.last_epoch else 1 / self.factor if self.last_epoch == self.total_iters else 1.0
        return [rate * factor for rate in self._current()]


class LinearLR(LRScheduler):
    """The rate is multiplied by a factor that changes linearly from start_factor to end_factor, then stays.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        start_factor: Factor of epoch 0, above 0 and at most 1.
        end_factor: Factor from epoch total_iters on, from 0 to 1.
        total_iters: Number of epochs in between.

    Raises:
        ValueError: If a factor is out of range.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR expected start_factor above 0 and at most 1, got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR expected end_factor from 0 to 1, got {end_factor}")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = validate_integer(total_iters, "total_iters", 0, "LinearLR")
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        """The factor of an epoch."""
        return self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters

    def get_lr(self) -> list[float]:
        if not self.last_epoch:
            return [rate * self.start_factor for rate in self._current()]
        if self.last_epoch > self.total_iters:
            return self._current()
        return [rate * self._factor(self.last_epoch) / self._factor(self.last_epoch - 1) for rate in self._current()]


class PolynomialLR(LRScheduler):
    """The rate falls to 0 as (1 - epoch / total_iters) to a power.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        total_iters: The epoch from which on the rate is 0.
        power: The power.
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, total = self.last_epoch, self.total_iters
        if not epoch or epoch > total:
            return self._current()
        factor = ((total - epoch) / (total - epoch + 1)) ** self.power
        return [rate * factor for rate in self._current()]


# Cosines


class CosineAnnealingLR(LRScheduler):
    """The rate falls to eta_min along half a period of the cosine. After T_max epochs it rises again.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        T_max: Number of epochs until the minimum; at least 1.
        eta_min: Minimum rate; not negative.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5, without the restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = validate_integer(T_max, "T_max", 1, "CosineAnnealingLR")
        self.eta_min = Setting("eta_min >= 0", "0 goes all the way down").validate(eta_min, "CosineAnnealingLR")
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: int) -> float:
        """How much of the way from eta_min to the initial rate is left in an epoch."""
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2

    def get_lr(self) -> list[float]:
        if not self.last_epoch:
            return self._current()
        before, now = self._share(self.last_epoch - 1), self._share(self.last_epoch)
        if self._step_count == 1 or (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # nothing was left
            start = [self.eta_min] * len(self.base_lrs) if self._step_count == 1 else self._current()
            return [rate + (base - self.eta_min) * now for rate, base in zip(start, self.base_lrs, strict=True)]
        return [self.eta_min + (rate - self.eta_min) * now / before for rate in self._current()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls to eta_min along half a period of the cosine, then begins anew.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        T_0: Number of epochs until the first restart.
        T_mult: Factor of that number after every restart.
        eta_min: Minimum rate.

    Raises:
        ValueError: If T_0 or T_mult is not a positive integer.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"CosineAnnealingWarmRestarts expected {name}, an integer of at least 1, got {value!r}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        self.T_i, self.T_cur = T_0, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (rate - self.eta_min) * share for rate in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]  # this one takes fractions of epochs
        """Set the rates of the next epoch, or of a given one, which may be a fraction."""
        now = self.last_epoch + 1 if epoch is None else epoch
        if now < 0:
            raise ValueError(f"step expected an epoch of at least 0, got {now}")
        start, length = 0, self.T_0
        while now >= start + length:
            start, length = start + length, length * self.T_mult
        self.T_cur, self.T_i, self.last_epoch = now - start, length, math.floor(now)
        self._step_count += 1
        self._set(self.get_lr())

    def restart(self) -> None:
        """Begin with epoch 0 again."""
        self.step(0)


# Cycles


def momentum_of(group: Mapping[str, Any], name: str) -> float:
    """The momentum of a group: of SGD, or the first beta of Adam. Raises ValueError if it has none."""
    if "betas" in group:
        return group["betas"][0]
    if "momentum" not in group:
        raise ValueError(f"{name} expected an optimizer with momentum or betas for cycle_momentum=True, got one without")
    return group["momentum"]


def set_momentum(group: dict[str, Any], value: float) -> None:
    """Set the momentum of a group."""
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def per_group(value: Any, optimizer: Optimizer, name: str) -> list[float]:
    """One value for every group. Raises ValueError if their number differs from that of the groups."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (tuple, list)) else [value] * count
    if len(values) != count:
        raise ValueError(f"a schedule expected {count} values of {name}, one for each group, got {len(values)}")
    return values


def _power(base: float, shift: int, x: float) -> float:
    return base ** (x - shift)


class CyclicLR(LRScheduler):
    """The rate rises linearly from base_lr to max_lr and falls again, in cycles; call `step` after every batch.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        base_lr: Lowest rate, one for all groups or one for each.
        max_lr: Highest rate.
        step_size_up: Number of steps in which it rises.
        step_size_down: Number of steps in which it falls; step_size_up by default.
        mode: "triangular"; "triangular2" halves the height after every cycle; "exp_range" scales it by gamma^step.
        gamma: See mode.
        scale_fn: A function that scales the height in place of mode.
        scale_mode: Whether scale_fn is given the number of the "cycle" or that of the step, "iterations".
        cycle_momentum: Whether the momentum falls while the rate rises, and rises while it falls.
        base_momentum: Lowest momentum.
        max_momentum: Highest momentum.

    Raises:
        ValueError: If mode is unknown, or the optimizer has no momentum to cycle.

    Source: Smith 2017, arXiv:1506.01186.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        scales: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (partial(_power, 1.0, 0), "cycle"),
            "triangular2": (partial(_power, 0.5, 1), "cycle"),
            "exp_range": (partial(_power, gamma, 0), "iterations"),
        }
        if scale_fn is None and mode not in scales:
            raise ValueError("CyclicLR expected mode triangular, triangular2 or exp_range, or a scale_fn, got neither")
        self.scale, self.scale_mode = scales[mode] if scale_fn is None else (scale_fn, scale_mode)
        self.max_lrs = per_group(max_lr, optimizer, "max_lr")
        for group, rate in zip(optimizer.param_groups, per_group(base_lr, optimizer, "base_lr"), strict=True):
            if last_epoch == -1:
                group["lr"] = group["initial_lr"] = rate
        self.step_size_up, self.step_size_down = float(step_size_up), float(step_size_down or step_size_up)
        self.cycle_momentum, self.base_momentum, self.max_momentum = cycle_momentum, base_momentum, max_momentum
        for group in optimizer.param_groups if cycle_momentum else ():
            momentum_of(group, "CyclicLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of the current step; sets the momentum as well."""
        total = self.step_size_up + self.step_size_down
        cycle = math.floor(1 + self.last_epoch / total)
        position, rise = 1 + self.last_epoch / total - cycle, self.step_size_up / total
        height = position / rise if position <= rise else (position - 1) / (rise - 1)
        height *= self.scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                set_momentum(group, self.max_momentum - (self.max_momentum - self.base_momentum) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


class OneCycleLR(LRScheduler):
    """The rate rises from max_lr / div_factor to max_lr and falls far below the first; call `step` after every batch.

    Args:
        optimizer: See `LRScheduler` for this and last_epoch.
        max_lr: Highest rate, one for all groups or one for each.
        total_steps: Number of steps; epochs · steps_per_epoch by default.
        epochs: Number of epochs.
        steps_per_epoch: Number of steps of an epoch.
        pct_start: Share of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: Whether the momentum falls while the rate rises, and rises while it falls.
        base_momentum: Lowest momentum.
        max_momentum: Highest momentum.
        div_factor: The first rate is max_lr / div_factor.
        final_div_factor: The last rate is the first one / final_div_factor.
        three_phase: Whether the rate falls to the first one as it rose, and only then to the last one.

    Raises:
        ValueError: If the number of steps is missing, an argument is out of range, or more than that number of steps is made.

    Source: Smith and Topin 2018, arXiv:1708.07120.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("OneCycleLR expected total_steps, or epochs and steps_per_epoch, got neither")
        if not 0 <= pct_start <= 1 or anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f'OneCycleLR expected pct_start from 0 to 1 and anneal_strategy "cos" or "linear", got {pct_start} and {anneal_strategy!r}'
            )
        self.total_steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        self.anneal_strategy, self.cycle_momentum, last = anneal_strategy, cycle_momentum, self.total_steps - 1
        peak = float(pct_start * self.total_steps) - 1
        ends = [peak, float(2 * pct_start * self.total_steps) - 2, last] if three_phase else [peak, last]
        names = [("initial", "max"), ("max", "initial"), ("initial", "min")] if three_phase else [("initial", "max"), ("max", "min")]
        momenta = [(max_momentum, base_momentum), (base_momentum, max_momentum), (max_momentum, max_momentum)]
        self.phases = [(float(end), *rates, *momentum) for end, rates, momentum in zip(ends, names, momenta, strict=False)]
        self.rates = []
        for group, rate in zip(optimizer.param_groups, per_group(max_lr, optimizer, "max_lr"), strict=True):
            first = rate / div_factor
            self.rates.append({"max": rate, "initial": first, "min": first / final_div_factor})
            if last_epoch == -1:
                group["initial_lr"] = group["lr"] = first
            if cycle_momentum:
                momentum_of(group, "OneCycleLR")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates of the current step; sets the momentum as well."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR expected at most {self.total_steps} steps, got step {step}; raise total_steps")
        number = next((i for i, phase in enumerate(self.phases) if step <= phase[0]), len(self.phases) - 1)
        start = self.phases[number - 1][0] if number else 0.0
        end, first, last, momentum, other = self.phases[number]
        share = (step - start) / (end - start)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                set_momentum(group, self._between(momentum, other, share))
        return [self._between(rates[first], rates[last], share) for rates in self.rates]

    def _between(self, start: float, end: float, share: float) -> float:
        """The value at a share of the way from start to end."""
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))


# Schedules of measurements and of other schedules


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by factor when a measurement has stopped to improve; `step` is given the measurement.

    Args:
        optimizer: The optimizer.
        mode: "min" if lower is better, "max" if higher is.
        factor: The factor, below 1.
        patience: Number of epochs without improvement that are allowed.
        threshold: What counts as an improvement.
        threshold_mode: "rel": a share of the best value; "abs": a difference.
        cooldown: Number of epochs after a change in which none counts.
        min_lr: Lowest rate, one for all groups or one for each.
        eps: Smallest change of the rate that is made.

    Raises:
        ValueError: If factor is not below 1, or a mode is unknown.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError("ReduceLROnPlateau expected a factor below 1, got a larger one")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f'expected mode "min" or "max" and threshold_mode "rel" or "abs", got {mode!r} and {threshold_mode!r}')
        validate_optimizer(optimizer, "ReduceLROnPlateau")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = per_group(min_lr, optimizer, "min_lr")
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0
        self._last_lr = self._current()

    def is_better(self, value: float, best: float) -> bool:
        """Whether a measurement improves the best one."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * value > sign * best + self.threshold
        return sign * value > sign * best * (1 + sign * self.threshold) if math.isfinite(best) else sign * value > sign * best

    def step(self, metrics: Any, epoch: None = None) -> None:  # type: ignore[override]  # this one is given a measurement
        """Take a measurement into account: a number or a Tensor of one element."""
        value = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        self.last_epoch += 1
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, low)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._current()


class SequentialLR(LRScheduler):
    """Schedules one after another, each from its epoch 0: for example `LinearLR` as warm-up, then `CosineAnnealingLR`.

    Args:
        optimizer: The optimizer.
        schedulers: Schedules of this optimizer.
        milestones: Epochs at which the second and later schedules start, rising; one fewer than schedules.
        last_epoch: -1.

    Raises:
        TypeError: If one is not a schedule, or a milestone is not an integer.
        ValueError: If a schedule belongs to another optimizer, or the milestones do not fit.
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1) -> None:
        for each in schedulers:
            if not isinstance(each, LRScheduler):
                raise TypeError(f"SequentialLR expected schedules, got {type(each).__name__}; make them over the same optimizer")
            if each.optimizer is not optimizer:
                raise ValueError(f"SequentialLR expected schedules of its own optimizer, got a {type(each).__name__} of another")
        milestones = [validate_integer(milestone, "a milestone", 1, "SequentialLR") for milestone in milestones]
        if len(milestones) != len(schedulers) - 1 or milestones != sorted(set(milestones)):
            raise ValueError(
                f"SequentialLR expected one milestone fewer than schedules, rising, got {milestones} for {len(schedulers)}; "
                "name the epoch with which each but the first begins"
            )
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self._schedulers[0].restart()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: None = None) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number and self._milestones[number - 1] == self.last_epoch:
            scheduler.restart()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """The state to save, with those of the schedules."""
        state = {name: value for name, value in super().state_dict().items() if name != "_schedulers"}
        return state | {"_schedulers": [each.state_dict() for each in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a `state_dict`."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for each, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            each.load_state_dict(state)


class ChainedScheduler(LRScheduler):
    """Several schedules at once: each changes the rates that the one before has set.

    Args:
        schedulers: Schedules of one optimizer.
        optimizer: That optimizer.

    Raises:
        ValueError: If there are none, or they have different optimizers.
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self._schedulers = list(schedulers)
        if not self._schedulers:
            raise ValueError("ChainedScheduler expected at least one schedule, got none")
        self.optimizer = self._schedulers[0].optimizer if optimizer is None else optimizer
        if any(each.optimizer is not self.optimizer for each in self._schedulers):
            raise ValueError("ChainedScheduler expected schedules of one optimizer, got several")
        self._last_lr = self._current()

    def step(self, epoch: None = None) -> None:
        """Set the rates of the next epoch."""
        for each in self._schedulers:
            each.step()
        self._last_lr = self._current()

    state_dict, load_state_dict = SequentialLR.state_dict, SequentialLR.load_state_dict
