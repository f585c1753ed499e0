"""Schedules of the learning rate: values by hand, and PyTorch's over thirty epochs where it is installed."""

import math

import pytest

from minitorch import SGD, Parameter, Scalar
from minitorch.optim import CosineAnnealingLR, LambdaLR, LinearLR, Schedule, SequentialLR, StepLR
from tests.errors import raises


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


def test_a_step_schedule_shrinks_the_rate_after_every_few_epochs():
    optimizer = begun(8.0)
    assert rates(optimizer, StepLR(optimizer, step_size=2, gamma=0.5), 6) == [8.0, 8.0, 4.0, 4.0, 2.0, 2.0]


def test_a_linear_schedule_warms_up_and_stays():
    optimizer = begun(8.0)
    assert rates(optimizer, LinearLR(optimizer, start_factor=0.25, total_iters=3), 6) == [2.0, 4.0, 6.0, 8.0, 8.0, 8.0]


def test_a_cosine_schedule_goes_down_half_a_wave_and_comes_back():
    optimizer = begun(9.0)
    expected = [9.0, 5 + 4 * math.sqrt(0.5), 5.0, 5 - 4 * math.sqrt(0.5), 1.0, 5 - 4 * math.sqrt(0.5)]
    assert rates(optimizer, CosineAnnealingLR(optimizer, T_max=4, eta_min=1.0), 6) == pytest.approx(expected, rel=1e-14)


def test_a_function_of_the_epoch_gives_the_factor():
    optimizer = begun(8.0)
    assert rates(optimizer, LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch)), 4) == [8.0, 4.0, 8 / 3, 2.0]


def test_every_group_follows_from_the_rate_that_it_began_with():
    optimizer = begun(8.0, 1.0)
    schedule = LambdaLR(optimizer, [lambda epoch: 0.5**epoch, lambda epoch: 1.0 + epoch])
    schedule.step()
    assert schedule.get_last_lr() == [4.0, 2.0]
    optimizer.add_param_group({"params": [Parameter(Scalar(1.0))], "lr": 3.0})
    steps = StepLR(optimizer, 1, gamma=0.5)
    steps.step()
    assert steps.get_last_lr() == [4.0, 0.5, 1.5]


def test_schedules_stand_one_behind_the_other():
    optimizer = begun(8.0)
    parts = [LinearLR(optimizer, 0.5, total_iters=2), StepLR(optimizer, 2, gamma=0.25), LambdaLR(optimizer, lambda epoch: 1 + epoch)]
    assert rates(optimizer, SequentialLR(optimizer, parts, [2, 5]), 7) == [4.0, 6.0, 8.0, 8.0, 2.0, 8.0, 16.0]


def test_a_schedule_goes_on_from_its_state():
    optimizer, other = begun(8.0), begun(8.0)
    schedule, following = (CosineAnnealingLR(each, 10) for each in (optimizer, other))
    for _ in range(3):
        schedule.step()
    assert schedule.state_dict() == {"last_epoch": 3}
    following.load_state_dict(schedule.state_dict())
    assert optimizer.lr == other.lr == pytest.approx(4 + 4 * math.cos(0.3 * math.pi), rel=1e-14)
    assert rates(optimizer, schedule, 5) == rates(other, following, 5)


def test_a_schedule_may_begin_at_a_later_epoch():
    optimizer = begun(8.0)
    assert (StepLR(optimizer, 2, gamma=0.5, last_epoch=3).last_epoch, optimizer.lr) == (4, 2.0)


PAIRS = [
    ("StepLR", {"step_size": 4}),
    ("StepLR", {"step_size": 7, "gamma": 0.5}),
    ("LinearLR", {}),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.5, "total_iters": 12}),
    ("CosineAnnealingLR", {"T_max": 30}),
    ("CosineAnnealingLR", {"T_max": 12, "eta_min": 0.01}),  # and up again, and down
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
]


@pytest.mark.parametrize(("name", "settings"), PAIRS, ids=lambda part: part if isinstance(part, str) else "")
def test_thirty_epochs_are_pytorchs(name, settings):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs = torch.optim.SGD([torch.zeros(1)], lr=0.3)
    expected = torch_rates(theirs, getattr(torch.optim.lr_scheduler, name)(theirs, **settings))
    optimizer = begun(0.3)
    assert rates(optimizer, globals()[name](optimizer, **settings), 30) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_thirty_epochs_of_a_warm_up_and_a_cosine_are_pytorchs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    theirs, optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.3), begun(0.3)
    library = torch.optim.lr_scheduler
    parts = [library.LinearLR(theirs, 0.1, total_iters=5), library.CosineAnnealingLR(theirs, 25, 0.01)]
    expected = torch_rates(theirs, library.SequentialLR(theirs, parts, [5]))
    ours = [LinearLR(optimizer, 0.1, total_iters=5), CosineAnnealingLR(optimizer, 25, 0.01)]
    assert rates(optimizer, SequentialLR(optimizer, ours, [5]), 30) == pytest.approx(expected, rel=1e-9)


def torch_rates(optimizer, schedule):
    """As `rates`, of PyTorch's."""
    found = []
    for _ in range(30):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


# What is refused


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: StepLR(o, 0), ValueError, "StepLR expected step_size of at least 1, got 0"),
        (lambda o: StepLR(o, 2.0), TypeError, "StepLR expected step_size to be a whole number, got 2.0"),
        (lambda o: StepLR(o, 2, gamma=-1), ValueError, "StepLR expected gamma >= 0, got -1; try 0.1"),
        (lambda o: StepLR(o, 2, last_epoch=-2), ValueError, "StepLR expected last_epoch of at least -1, got -2"),
        (lambda o: LinearLR(o, 0.0), ValueError, "LinearLR expected start_factor above 0 and at most 1, got 0.0; try 1 / 3"),
        (lambda o: LinearLR(o, 1.5), ValueError, "LinearLR expected start_factor above 0 and at most 1, got 1.5; try 1 / 3"),
        (lambda o: LinearLR(o, end_factor=1.5), ValueError, "LinearLR expected end_factor from 0 to 1, got 1.5; try 1.0"),
        (lambda o: LinearLR(o, total_iters=0), ValueError, "LinearLR expected total_iters of at least 1, got 0"),
        (lambda o: CosineAnnealingLR(o, True), TypeError, "CosineAnnealingLR expected T_max to be a whole number, got True"),
        (
            lambda o: CosineAnnealingLR(o, 3, eta_min=math.nan),
            ValueError,
            "CosineAnnealingLR expected eta_min >= 0, got nan; 0 goes all the way down",
        ),
        (
            lambda o: LambdaLR(o, 0.9),
            TypeError,
            "LambdaLR expected a function of the epoch's number, got 0.9; try lambda epoch: 0.9**epoch",
        ),
        (
            lambda o: LambdaLR(o, [abs, abs]),
            ValueError,
            "LambdaLR expected a function for each of 1 groups, got 2; pass one for all, or 1",
        ),
        (
            lambda o: LambdaLR(o, lambda epoch: -1),
            ValueError,
            "LambdaLR expected a factor >= 0 from its function, got -1; see what it gives for epoch 0",
        ),
        (
            lambda o: StepLR(3, 2),
            TypeError,
            "StepLR expected an optimizer, got int; pass the one whose rate it sets",
        ),
        (
            lambda o: SequentialLR(o, [StepLR(o, 1), 4], [3]),
            TypeError,
            "SequentialLR expected schedules, got int; make them over the same optimizer",
        ),
        (
            lambda o: SequentialLR(o, [StepLR(begun(1.0), 1)], []),
            ValueError,
            "SequentialLR expected schedules of its own optimizer, got a StepLR of another",
        ),
    ],
)
def test_wrong_settings_are_refused(make, error, message):
    with raises(error, message):
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
    for wrong in ({}, {"last_epoch": 1, "gamma": 2}, [1]):
        message = f"StepLR.load_state_dict expected {{'last_epoch': …}}, got {wrong!r}; pass what state_dict() returns"
        with raises(ValueError, message):
            schedule.load_state_dict(wrong)
    with raises(ValueError, "StepLR expected last_epoch of at least 0, got -1"):
        schedule.load_state_dict({"last_epoch": -1})
    assert schedule.last_epoch == 0


def test_a_schedule_without_a_rate_is_told():
    with raises(NotImplementedError, "Schedule has no rate; define rate(self, initial, epoch, group) in the class"):
        Schedule(begun(0.5))
