"""The student's schedule, clipped gradients and training, with checks of their results, on a text that a small model learns in seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

import minitorch
from minitorch.language import training as student
from minitorch.language.model import GPT2
from minitorch.module import Parameter
from minitorch.tensor import tensor
from project.lab.cards import WrongResult
from project.lab.explorers.language_layers import checked
from project.lab.explorers.network_functions import to_numpy
from project.lab.explorers.tensor_sandbox import apply

TEXT = np.arange(96) % 8
"""The letters from a to h, again and again."""

STEPS = 40

GRADIENTS = (np.array([3.0, 0.0]), np.array([[4.0], [12.0]]))
"""The gradients of two parameters, whose norm is 13."""

Curve = list[tuple[float, float]]


def rates(schedule: student.Schedule) -> Curve:
    """Return the rate at each step, and at some after the last.

    Raises:
        WrongResult: If one is wrong.
    """
    found: Curve = []
    for step in range(schedule.steps + 6):
        rate, expected = student.learning_rate(step, schedule), defined(step, schedule)
        if not isinstance(rate, (int, float)) or not math.isclose(rate, expected, rel_tol=1e-6, abs_tol=1e-12):
            raise WrongResult(f"learning_rate({step}, {schedule}) expected to return {expected:.6g}, got {rate!r:.60}")
        found.append((float(step), float(rate)))
    return found


def defined(step: int, schedule: student.Schedule) -> float:
    """Return the rate of a step by the definition."""
    if step < schedule.warmup:
        return step * (schedule.largest / schedule.warmup)
    angle = math.pi * min(1.0, (step - schedule.warmup) / (schedule.steps - schedule.warmup))
    return (schedule.largest + schedule.smallest + (schedule.largest - schedule.smallest) * math.cos(angle)) / 2


def clip(limit: float) -> tuple[float, list[np.ndarray]]:
    """Return the norm of `GRADIENTS`, and the gradients after they were clipped.

    Raises:
        WrongResult: If something is wrong.
    """
    parameters = [Parameter(tensor(gradient)) for gradient in GRADIENTS]
    for parameter, gradient in zip(parameters, GRADIENTS, strict=True):
        parameter.value.grad = tensor(gradient)
    call = f"clip_gradients(parameters, {limit:g})"
    norm, expected = student.clip_gradients(parameters, limit), norm_of(GRADIENTS)
    if not isinstance(norm, (int, float)) or not math.isclose(norm, expected, rel_tol=1e-6):
        raise WrongResult(f"{call} expected to return {expected:g}, got {norm!r:.60}")
    said, factor = f"the gradient after {call}", min(1, limit / expected)
    left = [apply(attrgetter("grad"), said, parameter.value) for parameter in parameters]
    found = [to_numpy(each, gradient.shape, said) for each, gradient in zip(left, GRADIENTS, strict=True)]
    return norm, [checked(said, array, gradient * factor) for array, gradient in zip(found, GRADIENTS, strict=True)]


def norm_of(gradients: Sequence[np.ndarray]) -> float:
    """Return the norm of all gradients together."""
    return math.sqrt(sum(float(np.square(gradient).sum()) for gradient in gradients))


def train(schedule: student.Schedule, limit: float, seed: int) -> list[student.StepReport]:
    """Train a new model on the text; return what each step did.

    Raises:
        WrongResult: If a report is not one, or a loss is not finite.
    """
    minitorch.manual_seed(seed)
    training = student.Training(GPT2(8, 4, 1, 2, 8), TEXT, schedule, batch=4, parts=2, largest_norm=limit, seed=seed)
    reports: list[student.StepReport] = []
    for step in range(1, schedule.steps + 1):
        report = training.step()
        if not isinstance(report, student.StepReport):
            raise WrongResult(f"step expected to return a StepReport, got {type(report).__name__}")
        if not math.isfinite(report.loss):
            raise WrongResult(f"the loss of step {step} expected to be finite, got {report.loss}")
        if not math.isclose(report.rate, defined(step, schedule), rel_tol=1e-6, abs_tol=1e-12):
            raise WrongResult(f"step {step} expected the rate {defined(step, schedule):.6g}, got {report.rate:.6g}")
        reports.append(report)
    return reports


def curve(reports: Sequence[student.StepReport], name: str) -> Curve:
    """Return a field of the reports, step by step."""
    return [(float(step), float(getattr(report, name))) for step, report in enumerate(reports, 1)]
