"""What training runs have in common and where they differ, in words, and the page that shows a run's settings. Without Streamlit."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from project.lab.charts import run_curves
from project.lab.charts.vega import Spec
from project.lab.training.run_files import RunFile

MOST = len(run_curves.COLORS)
"""Number of runs that can be compared at once."""

ACCURACIES = ("valid_accuracy", "accuracy", "train_accuracy")
"""The curves whose last value is the accuracy of a run: that on the validation data if it has one."""

MOST_PARTS = 3
"""Number of settings in the label of a run."""

_POINTS = {"points": (2, 500), "rate": (0.01, 10), "epochs": (1, 10_000), "seed": (0, 10_000)}

PAGES: Mapping[str, tuple[str, str, Mapping[str, tuple[float, float]]]] = {
    "run_scalar": ("m1_training", "", _POINTS | {"hidden": (1, 50)}),
    "run_tensor": ("m2_training", "", _POINTS | {"hidden": (1, 50)}),
    "run_fast_tensor": ("m3_training", "", _POINTS | {"hidden": (1, 200)}),
    "run_mnist_multiclass": ("m4_images", "images_", {"rate": (0.0001, 10)}),
    "run_sentiment": ("m4_sentiment", "sentiment_", {"rate": (0.0001, 10)}),
    "run_playground": ("playground", "pg_", _POINTS | {"points": (4, 500), "rate": (0.001, 10), "epochs": (1, 100_000), "batch": (1, 500)}),
}
"""By program: its page, the prefix of the page's query parameters, and the ranges of fields that allow less than the program."""


def differing(runs: Sequence[RunFile]) -> list[str]:
    """Return the names of the settings that are not the same in all runs."""
    return [name for name in settings_of(runs) if len({repr(run.settings.get(name)) for run in runs}) > 1]


def settings_of(runs: Sequence[RunFile]) -> list[str]:
    """Return the names of all settings, in the order in which they occur first."""
    return list(dict.fromkeys(name for run in runs for name in run.settings))


def in_short(run: RunFile, names: Sequence[str]) -> str:
    """Return these settings of a run as one line, without those that it lacks."""
    values = {name: run.settings[name] for name in names if name in run.settings}
    return ", ".join(f"{name} {f'{value:g}' if isinstance(value, float) else _value(value)}" for name, value in values.items())


def labels(runs: Sequence[RunFile]) -> list[str]:
    """Return a label for each of at most MOST runs: a letter, the program, and where the run differs from the others of the program.

    The program is left out if it is the same for all. Runs that do not differ have their start time instead.
    """
    one_program = len({run.program for run in runs}) == 1
    found = []
    for letter, run in zip(string.ascii_uppercase, runs, strict=False):
        others = [other for other in runs if other.program == run.program]
        names = differing(others)
        more = " …" if len(names) > MOST_PARTS else ""
        identity = [] if len(others) == 1 else [in_short(run, names[:MOST_PARTS]) + more or when(run)]
        program = [] if one_program and identity else [run.program]
        found.append(f"{letter}: {', '.join([*program, *identity])}")
    return found


def settings_table(runs: Sequence[RunFile]) -> list[dict[str, str]]:
    """Return a row for each setting with its value in each run; the settings that differ come first."""
    other = differing(runs)
    names = [*other, *(name for name in settings_of(runs) if name not in other)]
    programs = [run.program for run in runs]
    rows = {"program": (programs, len(set(programs)) > 1)}
    rows |= {name: ([_value(run.settings.get(name)) for run in runs], name in other) for name in names}
    differing_first = sorted(rows.items(), key=lambda row: not row[1][1])  # otherwise in the same order
    return [{"setting": name, "differs": "yes" if differs else ""} | _cells(values) for name, (values, differs) in differing_first]


def table(runs: Sequence[RunFile], changed: Sequence[bool]) -> list[dict[str, Any]]:
    """Return a row for each run with what it was and what it reached.

    Args:
        runs: The runs.
        changed: For each run, whether the student's code has changed since.
    """
    by_program = {run.program: [other for other in runs if other.program == run.program] for run in runs}
    names = {program: differing(group) or settings_of(group) for program, group in by_program.items()}
    return [
        {
            "started": when(run),
            "program": run.program,
            "settings": in_short(run, names[run.program]),
            "trained": f"{run.finished} of {run.total} {run.unit}s",
            "loss": run.last("loss"),
            "accuracy": run.last(*ACCURACIES),
            "seconds": run.seconds,
            "status": run.status,
            "your code": "changed" if old else "",
        }
        for run, old in zip(runs, changed, strict=True)
    ]


def chart(runs: Sequence[RunFile]) -> Spec | None:
    """Return the overlaid curves of at most MOST runs; None if they have none."""
    curves = dict(zip(labels(runs), (run.curves for run in runs), strict=True))
    description = "Loss and accuracy of training runs. " + " ".join(in_words(run, label) for run, label in zip(runs, curves, strict=True))
    return run_curves.overlay(curves, [run.unit for run in runs], description)


def in_words(run: RunFile, label: str) -> str:
    """Describe the curves of a run in a sentence."""
    losses = run.curves.get("loss", [])
    if not losses:
        return f"{label}: no {run.unit} was finished."
    first, last = losses[0], losses[-1]
    if first is None or last is None:
        result = "the loss became infinite or not a number"
    elif len(losses) == 1:
        result = f"the loss is {last:.4g}"
    else:
        result = f"the loss changed from {first:.4g} to {last:.4g}"
    kind, accuracy = "validation accuracy" if "valid_accuracy" in run.curves else "accuracy", run.last(*ACCURACIES)
    reached = "" if accuracy is None else f", the {kind} is {accuracy:.1%}"
    return f"{label}: after {run.finished} {run.unit}s, {result}{reached}."


def result(run: RunFile) -> str:
    """Return the last loss and accuracy of a run in a few words."""
    loss, accuracy = run.last("loss"), run.last(*ACCURACIES)
    words = [run.status, *([] if loss is None else [f"loss {loss:.3g}"]), *([] if accuracy is None else [f"accuracy {accuracy:.0%}"])]
    return ", ".join(words)


def when(run: RunFile) -> str:
    """Return the start time of a run as text."""
    return f"{datetime.fromisoformat(run.started):%Y-%m-%d %H:%M}"


def link(run: RunFile) -> tuple[str, dict[str, str | list[str]]] | None:
    """Return the name of the page that trains with the settings of a run, and its query parameters.

    Returns:
        None if there is no such page, or if its fields do not allow these settings.
    """
    if run.program not in PAGES or run.settings.get("file"):  # a page cannot open a file
        return None
    page, prefix, ranges = PAGES[run.program]
    for name, (low, high) in ranges.items():
        value = run.settings.get(name)
        if not isinstance(value, int | float) or not low <= value <= high:
            return None
    values = {f"{prefix}{name}": _value(value) for name, value in run.settings.items() if value not in (None, "")}
    lists = {name: value.split(",") for name, value in values.items() if name == f"{prefix}features"}
    return page, values | lists


def _cells(values: Sequence[str]) -> dict[str, str]:
    """Return the values of one row of the comparison, by the letter of the run."""
    return dict(zip(string.ascii_uppercase, values, strict=False))


def _value(value: Any) -> str:
    """Return the value of a setting as it appears in a URL and in a table."""
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
