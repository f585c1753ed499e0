"""The page of Task 6.7: the schedule, clipped gradients, a training with warm-up and without, and wrong functions."""

import math

import numpy as np
import pytest

from minitorch.language import training
from project.lab.cards import WrongResult
from project.lab.explorers import language_training

from ..errors import raises
from .pages import ignore_saved_files, open_page, page_text  # noqa: F401  a fixture

SHORT = training.Schedule(4, 2, 0.1, 0.01)


def test_the_page_trains_with_warm_up_and_without():
    app = open_page("m6_training", train_norm="6.5")
    assert not app.exception
    assert not app.error
    assert "with warm-up of 15" in page_text(app)
    assert app.table[0].value["after"].tolist() == ["[1.5, 0.0]", "[2.0, 6.0]", "6.5"]


def test_without_warm_up_the_same_rate_is_too_large():
    schedule = training.Schedule(language_training.STEPS, 15, 0.3, 0.03)
    ends = [language_training.train(each, 1.0, 0)[-1].loss for each in (schedule, schedule._replace(warmup=0))]
    assert ends[0] < 0.2
    assert ends[1] > 1


def test_rates_and_clipped_gradients_are_those_of_the_task():
    assert language_training.rates(SHORT)[:3] == [(0, 0), (1, pytest.approx(0.05)), (2, pytest.approx(0.1))]
    norm, (first, second) = language_training.clip(26.0)
    assert norm == 13
    np.testing.assert_array_equal(first, language_training.GRADIENTS[0])
    np.testing.assert_array_equal(second, language_training.GRADIENTS[1])


def keep_none(parameters, limit):
    for parameter in parameters:
        parameter.value.grad = None
    return 13.0


@pytest.mark.parametrize(
    ("name", "wrong", "call", "message"),
    [
        ("learning_rate", lambda step, schedule: step, lambda: language_training.rates(SHORT), r"expected to return 0\.05, got 1"),
        ("learning_rate", lambda step, schedule: None, lambda: language_training.rates(SHORT), r"expected to return 0, got None"),
        (
            "clip_gradients",
            lambda parameters, limit: 17.0,
            lambda: language_training.clip(1),
            r"parameters, 1\) expected to return 13, got 17\.0",
        ),
        ("clip_gradients", lambda parameters, limit: 13.0, lambda: language_training.clip(1), r"expected 0\.2308 at \[0\], got 3"),
        ("clip_gradients", keep_none, lambda: language_training.clip(1), r"the gradient after clip_gradients\(parameters, 1\) expected"),
    ],
)
def test_a_wrong_function_is_reported(monkeypatch, name, wrong, call, message):
    monkeypatch.setattr(training, name, wrong)
    with pytest.raises(WrongResult, match=message):
        call()


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (None, "step expected to return a StepReport, got NoneType"),
        (training.StepReport(math.nan, 1.0, 0.05), "the loss of step 1 expected to be finite, got nan"),
        (training.StepReport(2.0, 1.0, 0.1), "step 1 expected the rate 0.05, got 0.1"),
    ],
)
def test_a_wrong_report_is_reported(monkeypatch, report, message):
    monkeypatch.setattr(training.Training, "step", lambda self: report)
    with raises(WrongResult, message):
        language_training.train(SHORT, 1.0, 0)
