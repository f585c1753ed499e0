"""Stage 5 - Schedules: how the learning rate changes from epoch to epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.optim.optimizer import Optimizer, Setting


class Schedule:
    """What all schedules share: `step()` after an epoch sets the learning rate of every group of an optimizer to that of the next one.

    A rate is worked out from the one that the group began with, which is kept in it as "initial_lr", and from the number of the epoch. Two
    schedules of one optimizer do not add up: the last to step counts. `SequentialLR` puts them one behind the other.

    Args:
        optimizer: Whose rates are set, at once to those of epoch 0.
        last_epoch: The number of the epoch before the first; -1 to begin.

    Attributes:
        last_epoch: The number of the epoch whose rates are set.

    Raises:
        TypeError: If optimizer is none, or a number is of another kind.
        ValueError: If a number is out of its range.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__} expected an optimizer, got {type(optimizer).__name__}; pass the one whose rate it sets")
        self.optimizer = optimizer
        self.last_epoch = _whole(last_epoch, "last_epoch", -1, type(self).__name__) + 1
        self._set()

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """The learning rate of an epoch.

        Args:
            initial: The rate that the group began with.
            epoch: Counted from 0.
            group: The number of the group.
        """
        raise NotImplementedError(f"{type(self).__name__} has no rate; define rate(self, initial, epoch, group) in the class")

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch += 1
        self._set()

    def get_last_lr(self) -> list[float]:
        """The learning rate of every group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, int]:
        """What to save beside the optimizer's state so that another schedule like this can go on."""
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`. Load the optimizer's first: it holds the rates that the groups began with.

        Raises:
            TypeError: If the epoch in it is no whole number.
            ValueError: If it is none, or the epoch in it is negative.
        """
        name = type(self).__name__
        if not isinstance(state, Mapping) or state.keys() != {"last_epoch"}:
            raise ValueError(f"{name}.load_state_dict expected {{'last_epoch': …}}, got {state!r}; pass what state_dict() returns")
        self.last_epoch = _whole(state["last_epoch"], "last_epoch", 0, name)
        self._set()

    def _set(self) -> None:
        for number, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.rate(group.setdefault("initial_lr", group["lr"]), self.last_epoch, number)


class StepLR(Schedule):
    """The rate times gamma after every step_size epochs.

    Args:
        optimizer: Whose rates are set.
        step_size: How many epochs a rate lasts; at least 1.
        gamma: What it is then multiplied with; not negative.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`.
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = _whole(step_size, "step_size", 1, "StepLR")
        self.gamma = Setting("gamma >= 0", "try 0.1").checked(gamma, "StepLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        return initial * self.gamma ** (epoch // self.step_size)


class LambdaLR(Schedule):
    """The rate times what a function makes of the epoch's number.

    Args:
        optimizer: Whose rates are set.
        lr_lambda: From the number of an epoch to a factor; or a list with a function for each group.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`; also if there are not as many functions as groups, or one gives no factor of at least 0.
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
        return initial * Setting("a factor >= 0 from its function", f"see what it gives for epoch {epoch}").checked(fn(epoch), "LambdaLR")


class LinearLR(Schedule):
    """The rate times a factor that goes from start_factor to end_factor in equal steps and stays there: a warm-up, unless told otherwise.

    Args:
        optimizer: Whose rates are set.
        start_factor: That of epoch 0, above 0 and at most 1.
        end_factor: That of epoch total_iters and after, from 0 to 1.
        total_iters: How many steps lie between them; at least 1.
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
        self.start_factor = start.checked(start_factor, "LinearLR")
        self.end_factor = Setting("end_factor from 0 to 1", "try 1.0", below=above_1).checked(end_factor, "LinearLR")
        self.total_iters = _whole(total_iters, "total_iters", 1, "LinearLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        gone = min(epoch, self.total_iters) / self.total_iters
        return initial * (self.start_factor + (self.end_factor - self.start_factor) * gone)


class CosineAnnealingLR(Schedule):
    """The rate from its first value down to eta_min along half a wave of the cosine. After T_max epochs it rises again, as it came.

    Args:
        optimizer: Whose rates are set.
        T_max: How many epochs the way down takes; at least 1.
        eta_min: The least rate; not negative.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, eq. 5, without the restarts.
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = _whole(T_max, "T_max", 1, "CosineAnnealingLR")
        self.eta_min = Setting("eta_min >= 0", "0 goes all the way down").checked(eta_min, "CosineAnnealingLR")
        super().__init__(optimizer, last_epoch)

    def rate(self, initial: float, epoch: int, group: int) -> float:
        """See `Schedule.rate`."""
        return self.eta_min + (initial - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class SequentialLR(Schedule):
    """One schedule behind the other, each beginning with its epoch 0: a warm-up by `LinearLR`, then `CosineAnnealingLR`.

    Args:
        optimizer: Whose rates are set.
        schedulers: The schedules, all of this optimizer; one alone would do without.
        milestones: The epochs with which the second and the later ones begin, rising; one fewer than there are schedules.
        last_epoch: See `Schedule`.

    Raises:
        TypeError: See `Schedule`.
        ValueError: See `Schedule`; also if a schedule is another optimizer's, or the milestones do not fit.
    """

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[Schedule], milestones: Sequence[int], last_epoch: int = -1) -> None:
        self.schedulers = list(schedulers)
        self.milestones = [_whole(milestone, "a milestone", 1, "SequentialLR") for milestone in milestones]
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


def _whole(value: Any, what: str, least: int, name: str) -> int:
    """A whole number of at least least."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} expected {what} to be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} expected {what} of at least {least}, got {value}")
    return int(value)
