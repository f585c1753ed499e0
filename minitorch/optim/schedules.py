"""Stage 6 - Learning rate schedules."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.optim.optimizer import Optimizer, Setting


class Schedule:
    """Base class of learning rate schedules: `step()` after an epoch sets every group's learning rate for the next epoch.

    A rate is computed from the group's initial rate, which is stored in the group as "initial_lr", and the epoch's number. Two
    schedules of one optimizer do not combine: the last one to step overwrites the rates. `SequentialLR` chains schedules.

    Args:
        optimizer: The optimizer; its rates are set at once to those of the first epoch.
        last_epoch: The number of the last epoch finished; -1 to start.

    Attributes:
        last_epoch: The number of the current epoch.

    Raises:
        TypeError: If optimizer is not an Optimizer, or a number has the wrong type.
        ValueError: If a number is out of range.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__} expected an optimizer, got {type(optimizer).__name__}; pass the one whose rate it sets")
        self.optimizer = optimizer
        self.last_epoch = _validate_integer(last_epoch, "last_epoch", -1, type(self).__name__) + 1
        self._set_rates()

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """The learning rate of an epoch.

        Args:
            initial: The group's initial rate.
            epoch: Epoch, from 0.
            group: Index of the group.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rate; define rate(self, initial, epoch, group) in the class")

    def step(self) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        self._set_rates()

    def get_last_lr(self) -> list[float]:
        """The learning rate of every group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, int]:
        """Return the state to save, next to the optimizer's."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Load a `state_dict`. Load the optimizer's first: it holds the groups' initial rates.

        Raises:
            TypeError: If its epoch is not an integer.
            ValueError: If it is not the state of a schedule, or its epoch is negative.
        """
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.keys() != {"last_epoch"}:
            raise ValueError(f"{name}.load_state_dict expected {{'last_epoch': …}}, got {state!r}; pass what state_dict() returns")
        self.last_epoch = _validate_integer(state["last_epoch"], "last_epoch", 0, name)
        self._set_rates()

    def _set_rates(self) -> None:
        for number, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(group.setdefault("initial_lr", group["lr"]), self.last_epoch, number)


class StepLR(Schedule):
    """Multiply the rate by gamma every step_size epochs.

    Args:
        optimizer: The optimizer.
        step_size: Number of epochs between changes; at least 1.
        gamma: Factor; not negative.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = _validate_integer(step_size, "step_size", 1, "StepLR")
        self.gamma = Setting("gamma >= 0", "try 0.1").validate(gamma, "StepLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        return initial * self.gamma ** (epoch // self.step_size)


class LambdaLR(Schedule):
    """Multiply the initial rate by a function of the epoch.

    Args:
        optimizer: The optimizer.
        lr_lambda: Function from epoch to factor, or a list of one function per group.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`; also if the number of functions differs from the number of groups, or a factor is negative.
    """

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]], last_epoch: int = -1
    ) -> None:
        self.lr_lambda = lr_lambda
        for fn in [lr_lambda] if not isinstance(lr_lambda, Sequence) else lr_lambda:
            if not callable(fn):
                raise TypeError(f"LambdaLR expected a function of the epoch's number, got {fn!r}; try lambda epoch: 0.9**epoch")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        fn = self.lr_lambda
        if isinstance(fn, Sequence):
            groups = len(self.optimizer.param_groups)
            if len(fn) != groups:
                raise ValueError(f"LambdaLR expected a function for each of {groups} groups, got {len(fn)}; pass one for all, or {groups}")
            fn = fn[group]
        return initial * Setting("a factor >= 0 from its function", f"see what it gives for epoch {epoch}").validate(fn(epoch), "LambdaLR")


class LinearLR(Schedule):
    """Multiply the initial rate by a factor that changes linearly from start_factor to end_factor, then stays: by default a warm-up.

    Args:
        optimizer: The optimizer.
        start_factor: Factor of epoch 0, above 0 and at most 1.
        end_factor: Factor from epoch total_iters on, from 0 to 1.
        total_iters: Number of epochs in between; at least 1.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        above_1 = math.nextafter(1.0, 2.0)
        start = Setting("start_factor above 0 and at most 1", "try 1 / 3", low=math.ulp(0.0), below=above_1)
        self.start_factor = start.validate(start_factor, "LinearLR")
        self.end_factor = Setting("end_factor from 0 to 1", "try 1.0", below=above_1).validate(end_factor, "LinearLR")
        self.total_iters = _validate_integer(total_iters, "total_iters", 1, "LinearLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        progress = min(epoch, self.total_iters) / self.total_iters
        return initial * (self.start_factor + (self.end_factor - self.start_factor) * progress)


class CosineAnnealingLR(Schedule):
    """Anneal the rate from its initial value to eta_min along half a period of the cosine. After T_max epochs it rises again.

    Args:
        optimizer: The optimizer.
        T_max: Number of epochs until the minimum; at least 1.
        eta_min: Minimum rate; not negative.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5, without the restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = _validate_integer(T_max, "T_max", 1, "CosineAnnealingLR")
        self.eta_min = Setting("eta_min >= 0", "0 goes all the way down").validate(eta_min, "CosineAnnealingLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        return self.eta_min + (initial - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class SequentialLR(Schedule):
    """Run schedules one after another, each from its epoch 0: for example `LinearLR` as warm-up, then `CosineAnnealingLR`.

    Args:
        optimizer: The optimizer.
        schedulers: Schedules of this optimizer.
        milestones: Epochs at which the second and later schedules start, increasing; one fewer than schedules.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`; also if a schedule belongs to another optimizer, or the milestones do not fit.
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Schedule], milestones: Sequence[int], last_epoch: int = -1) -> None:
        self.schedulers = list(schedulers)
        self.milestones = [_validate_integer(milestone, "a milestone", 1, "SequentialLR") for milestone in milestones]
        for scheduler in self.schedulers:
            if not isinstance(scheduler, Schedule):
                raise TypeError(f"SequentialLR expected schedules, got {type(scheduler).__name__}; make them over the same optimizer")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"SequentialLR expected schedules of its own optimizer, got a {type(scheduler).__name__} of another")
        if len(self.milestones) != len(self.schedulers) - 1 or self.milestones != sorted(set(self.milestones)):
            raise ValueError(
                f"SequentialLR expected one milestone fewer than schedules, rising, got {self.milestones} for {len(self.schedulers)}; "
                "name the epoch with which each but the first begins"
            )
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        number = bisect_right(self.milestones, epoch)
        return self.schedulers[number].rate(initial, epoch - ([0, *self.milestones])[number], group)


def _validate_integer(value: Any, what: str, minimum: int, name: str) -> int:
    """Return value as an int if it is an integer >= minimum."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} expected {what} to be a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} expected {what} of at least {minimum}, got {value}")
    return int(value)
