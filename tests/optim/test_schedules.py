"""Schedules of the learning rate: values by hand."""

import math

import pytest

from minitorch import SGD, Parameter, Scalar
from minitorch.optim import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler, SequentialLR, StepLR, lr_scheduler
from minitorch.torch.optim import lr_scheduler as torch_schedules
from tests.errors import raises
from tests.nn.checks import refuses


def begun(*rates):
    """An optimizer with a group for each rate."""
    return SGD([{"params": [Parameter(Scalar(1.0))], "lr": rate} for rate in rates])


def rates(optimizer, schedule, epochs):
    """The rate of the first group in each epoch."""
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        schedule.step()
    return found


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda o: StepLR(o, step_size=2, gamma=0.5), [8, 8, 4, 4, 2, 2], id="steps shrink the rate after every few epochs"),
        pytest.param(lambda o: LinearLR(o, start_factor=0.25, total_iters=3), [2, 4, 6, 8, 8, 8], id="a line warms up and stays"),
        pytest.param(lambda o: LambdaLR(o, lambda epoch: 1 / (1 + epoch)), [8, 4, 8 / 3, 2], id="a function gives the factor"),
        pytest.param(
            lambda o: SequentialLR(o, [LinearLR(o, 0.5, total_iters=2), StepLR(o, 2, 0.25), LambdaLR(o, lambda epoch: 1 + epoch)], [2, 5]),
            [4, 6, 8, 8, 2, 8, 16],
            id="schedules follow each other",
        ),
    ],
)
def test_rates_by_hand(make, expected):
    optimizer = begun(8.0)
    assert rates(optimizer, make(optimizer), len(expected)) == expected


def test_a_cosine_schedule_goes_down_half_a_wave_and_comes_back():
    optimizer = begun(9.0)
    expected = [9.0, 5 + 4 * math.sqrt(0.5), 5.0, 5 - 4 * math.sqrt(0.5), 1.0, 5 - 4 * math.sqrt(0.5)]
    assert rates(optimizer, CosineAnnealingLR(optimizer, T_max=4, eta_min=1.0), 6) == pytest.approx(expected, rel=1e-14)


def test_every_group_follows_from_the_rate_that_it_began_with():
    optimizer = begun(8.0, 1.0)
    schedule = LambdaLR(optimizer, [lambda epoch: 0.5**epoch, lambda epoch: 1.0 + epoch])
    schedule.step()
    assert schedule.get_last_lr() == [4.0, 2.0]
    optimizer.add_param_group({"params": [Parameter(Scalar(1.0))], "lr": 3.0})
    steps = StepLR(optimizer, 1, gamma=0.5)
    steps.step()
    assert steps.get_last_lr() == [2.0, 1.0, 1.5]  # it changes the current rates


@pytest.mark.parametrize("state", [lambda schedule: schedule.state_dict(), lambda schedule: {"last_epoch": schedule.last_epoch}])
def test_a_schedule_goes_on_from_its_state_and_from_one_of_an_earlier_version(state):
    optimizer, other = begun(8.0), begun(8.0)
    schedule, following = (CosineAnnealingLR(each, 10) for each in (optimizer, other))
    for _ in range(3):
        schedule.step()
    other.load_state_dict(optimizer.state_dict())
    following.load_state_dict(state(schedule))
    assert optimizer.lr == other.lr == pytest.approx(4 + 4 * math.cos(0.3 * math.pi), rel=1e-14)
    assert rates(optimizer, schedule, 5) == rates(other, following, 5)


def test_a_schedule_may_begin_at_a_later_epoch():
    optimizer = begun(2.0)
    with pytest.raises(KeyError, match="a schedule that goes on expected initial_lr in param_groups"):
        StepLR(optimizer, 2, last_epoch=3)
    optimizer.param_groups[0]["initial_lr"] = 8.0
    assert (StepLR(optimizer, 2, gamma=0.5, last_epoch=3).last_epoch, optimizer.lr) == (4, 1.0)


# What is refused


NO_SCHEDULE = "schedules, got int; make them over the same optimizer"
OF_ANOTHER = "schedules of its own optimizer, got a StepLR of another"
FACTOR = "start_factor above 0 and at most 1, got {}"


@pytest.mark.parametrize(
    ("error", "name", "make", "message"),
    [
        (ValueError, "StepLR", lambda o: StepLR(o, 0), "step_size of at least 1, got 0"),
        (TypeError, "StepLR", lambda o: StepLR(o, 2.0), "step_size to be a whole number, got 2.0"),
        (ValueError, "StepLR", lambda o: StepLR(o, 2, last_epoch=-2), "last_epoch of at least -1, got -2"),
        (TypeError, "StepLR", lambda o: StepLR(3, 2), "an optimizer, got int; pass the one whose rate it sets"),
        (ValueError, "LinearLR", lambda o: LinearLR(o, 0.0), FACTOR.format(0.0)),
        (ValueError, "LinearLR", lambda o: LinearLR(o, 1.5), FACTOR.format(1.5)),
        (ValueError, "LinearLR", lambda o: LinearLR(o, end_factor=1.5), "end_factor from 0 to 1, got 1.5"),
        (ValueError, "LinearLR", lambda o: LinearLR(o, total_iters=-1), "total_iters of at least 0, got -1"),
        (TypeError, "CosineAnnealingLR", lambda o: CosineAnnealingLR(o, True), "T_max to be a whole number, got True"),
        (ValueError, "CosineAnnealingLR", lambda o: CosineAnnealingLR(o, 3, math.nan), "eta_min >= 0, got nan; 0 goes all the way down"),
        (TypeError, "LambdaLR", lambda o: LambdaLR(o, 0.9), "a function of the epoch's number, got 0.9; try lambda epoch: 0.9**epoch"),
        (ValueError, "LambdaLR", lambda o: LambdaLR(o, [abs, abs]), "a function for each of 1 groups, got 2; pass one for all, or 1"),
        (TypeError, "SequentialLR", lambda o: SequentialLR(o, [StepLR(o, 1), 4], [3]), NO_SCHEDULE),
        (ValueError, "SequentialLR", lambda o: SequentialLR(o, [StepLR(begun(1.0), 1)], []), OF_ANOTHER),
    ],
)
def test_wrong_settings_are_refused(error, name, make, message):
    with raises(error, f"{name} expected {message}"):
        make(begun(0.5))


@pytest.mark.parametrize("milestones", [[], [3, 3], [5, 3], [3, 4, 5]])
def test_milestones_that_do_not_fit_are_refused(milestones):
    optimizer = begun(0.5)
    message = (
        f"SequentialLR expected one milestone fewer than schedules, rising, got {milestones} for 3; "
        "name the epoch with which each but the first begins"
    )
    with raises(ValueError, message):
        SequentialLR(optimizer, [StepLR(optimizer, 1) for _ in range(3)], milestones)


def test_a_state_of_something_else_is_refused():
    schedule = StepLR(begun(0.5), 1)
    for wrong in ({}, {"gamma": 2}, [1]):
        refuses(ValueError, f"StepLR.load_state_dict expected what state_dict() returns, got {wrong!r}", schedule.load_state_dict, wrong)
    assert schedule.last_epoch == 0


def test_a_schedule_without_a_rate_is_told():
    with raises(NotImplementedError, "LRScheduler has no get_lr; define get_lr(self) in the class"):
        LRScheduler(begun(0.5))


def test_pytorchs_schedules_are_these():
    for name in torch_schedules.__all__:
        assert getattr(torch_schedules, name) is getattr(lr_scheduler, name)
