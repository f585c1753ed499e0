"""What the pages that train classifiers share: the form, the buttons, the curves as they come, and the report for the hand-in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st

from project.lab import guard, sources
from project.lab.cards import plain
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.training import run_report
from project.lab.training.classifier import ClassifierSetting
from project.lab.training.job import Run
from project.lab.training.jobs import Failed

TICK = 0.4  # seconds from one look at the run to the next
FIRST = ("dataset", "epochs", "rate", "batch", "seed")  # the fields that are always in sight
LABELS = {
    "dataset": "Data set",
    "rate": "Learning rate",
    "batch": "Batch size",
    "limit": "Training images at most",
    "dtype": "Numbers",
    "embeddings": "Word vectors",
    "train": "Training sentences",
    "valid": "Validation sentences",
}
LEAST_RATE = 0.0001
WIDTH = 260  # of the curves: the percentages beside them need room on a phone

state = st.session_state
AnySetting = TypeVar("AnySetting", bound=ClassifierSetting)


def show(default: ClassifierSetting, prefix: str, choices: Mapping[str, Sequence[str]], beside: Callable[[Run], None]) -> Run | None:
    """Controls on the left; buttons, figures, curves and the command on the right.

    Args:
        default: Names the program, and holds what the controls show at first.
        prefix: What the names of the controls begin with, in the session's state and in the address.
        choices: For fields that name something, the names that are to be had here.
        beside: Draws what the page shows beside the curves; called whenever something new may have come.

    Returns:
        The run, if one was begun.
    """
    setting_side, training_side = st.columns([1, 4], gap="medium")
    with setting_side, task_guard():
        setting = form(default, prefix, choices)
    with training_side:
        run: Run | None = state.get(f"{prefix}_run")
        state[f"{prefix}_running"] = run is not None and run.running
        state[f"{prefix}_kept"] = run is not None and run.checkpoint.exists()
        buttons(run, setting, prefix)
        if run is not None and not run.running and not run.made_by(setting):
            st.caption("What is shown was trained with other settings: press Start to train with these.")
        elif run is not None and run.made_from != sources.digest(setting.program):
            st.caption("Your code has changed since this run began: Start trains with it as it is now.")
        st.fragment(live, run_every=TICK if state[f"{prefix}_running"] else None)(prefix, beside)
        st.write("**The same run in a terminal**")
        st.code(setting.command(), language="bash", wrap_lines=True)
        if run is not None:
            hand_in(run, prefix)
    return run


# What the buttons do


def start(setting: ClassifierSetting, prefix: str) -> None:
    """Train from the beginning."""
    stop(prefix)
    state[f"{prefix}_run"] = run = Run(setting, sources.digest(setting.program))
    run.start()


def stop(prefix: str) -> None:
    """End the training; what was learned up to the last checkpoint stays."""
    run: Run | None = state.get(f"{prefix}_run")
    if run is not None and run.running:
        run.stop()


def go_on(epochs: int, prefix: str) -> None:
    """Train from the last checkpoint on."""
    state[f"{prefix}_run"].start(epochs)


# The parts of the page


def form(default: AnySetting, prefix: str, choices: Mapping[str, Sequence[str]]) -> AnySetting:
    """What the controls say: one for every field of the setting."""
    fields = {field.name: field for field in dataclasses.fields(default)}
    chosen = {name: control(fields[name], default, prefix, choices.get(name)) for name in FIRST}
    with st.expander("More settings"):
        chosen |= {name: control(field, default, prefix, choices.get(name)) for name, field in fields.items() if name not in FIRST}
    try:
        return dataclasses.replace(default, **chosen)
    except ValueError as error:
        guard.refuse(str(error), "Choose another value.")


def control(field: dataclasses.Field, default: Any, prefix: str, names: Sequence[str] | None) -> Any:
    """The control of one field; what it says."""
    given, limits = getattr(default, field.name), field.metadata
    label = LABELS.get(field.name, field.name.capitalize())
    facts: dict[str, Any] = {"key": f"{prefix}_{field.name}", "bind": "query-params", "help": plain(limits["help"])}
    if isinstance(given, str):
        offered = list(names or limits["choices"])
        return st.selectbox(label, offered, offered.index(given), **facts)
    if isinstance(given, float):
        least = limits["low"] if limits["above"] is None else LEAST_RATE
        most = limits["high"] if limits["high"] is not None else 10.0
        return float(st.number_input(label, float(least), float(most), given, max(given / 10, LEAST_RATE), format="%g", **facts))
    most = min(limits["high"] or 1_000_000, 1_000_000)
    found = st.number_input(label, int(limits["low"] or 0), int(most), given, placeholder="all", **facts)
    return None if found is None else int(found)


def buttons(run: Run | None, setting: ClassifierSetting, prefix: str) -> None:
    """They stand outside the part that redraws itself."""
    running = run is not None and run.running
    resumable = run is not None and run.resumable(setting)
    with st.container(horizontal=True):
        st.button(
            "Start",
            on_click=start,
            args=(setting, prefix),
            disabled=running,
            icon=":material/play_arrow:",
            type="primary",
            key=f"{prefix}_start",
            help="Train from the beginning, in a process of its own",
        )
        st.button("Stop", on_click=stop, args=(prefix,), disabled=not running, icon=":material/stop:", key=f"{prefix}_stop")
        st.button(
            "Go on",
            on_click=go_on,
            args=(setting.epochs, prefix),
            disabled=not resumable,
            icon=":material/resume:",
            key=f"{prefix}_go_on",
            help="From the last checkpoint: the end of the last epoch, or less than half a minute before the stop",
        )


def live(prefix: str, beside: Callable[[Run], None]) -> None:
    """One look: take in what the run has told, and draw it."""
    top, numbers, pictures, words = (st.container() for _ in range(4))  # the same ones at every look: what is in them comes and goes
    run: Run | None = state.get(f"{prefix}_run")
    if run is None:
        top.info("Press Start to train. What it learns is shown after every epoch.", icon=":material/model_training:")
        return
    was_running, epochs = state[f"{prefix}_running"], len(run.history)
    with top:
        read(run, prefix)
    running = state[f"{prefix}_running"]
    ended = not running and (was_running or len(run.history) > epochs)  # it may end before the buttons, and have more to tell behind them
    if ended or (run.checkpoint.exists() and not state[f"{prefix}_kept"]):
        st.rerun()  # the buttons stand outside, and so does what is made from the checkpoint
    if running:
        top.progress(run.progress, waiting(run))
    if not run.history:
        return
    with numbers:
        figures(run)
    with pictures, st.container(horizontal=True):
        spec = run_report.curves(run)
        for panel in spec["vconcat"]:
            panel["width"] = WIDTH
        with st.container(width="content"):
            draw(spec, f"{prefix}_curves")
        with task_guard(stop=False):
            beside(run)
    words.caption(plain(in_words(run)))


def read(run: Run, prefix: str) -> None:
    """Take in what the run has told since; what went wrong is shown."""
    try:
        with task_guard(stop=False):
            state[f"{prefix}_running"] = False
            state[f"{prefix}_running"] = run.read()
    except Failed as error:
        st.error("The training ended with an error.", icon=":material/error:")
        st.code(str(error), language=None, wrap_lines=True)


def waiting(run: Run) -> str:
    """What is being done, and how long it will take."""
    if not run.facts:
        return "The program is being loaded …"
    if not run.history:
        compiling = " The first step compiles the kernels, which may take half a minute." if run.steps == 0 else ""
        return f"Epoch 1, step {run.step} of {run.steps or '…'}.{compiling}"
    left = run.seconds_left or 0.0
    return f"Epoch {len(run.history) + 1} of {run.setting.epochs}; {duration(left)} left"


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def figures(run: Run) -> None:
    """The numbers of the last epoch."""
    last = run.history[-1]
    seconds = sum(line["seconds"] for line in run.history) / len(run.history)
    with st.container(horizontal=True):
        st.metric("Epoch", f"{len(run.history)} / {run.setting.epochs}", width=120)
        st.metric("Loss", "-" if last["loss"] is None else f"{last['loss']:.4f}", width=110)
        st.metric("Training right", f"{last['train_accuracy']:.1%}", width=120)
        st.metric("Validation right", f"{last['valid_accuracy']:.1%}", width=130)
        st.metric("Seconds an epoch", f"{seconds:.2f}", width=140)


def in_words(run: Run) -> str:
    """What the curves show, for those who do not see them."""
    first, last, facts = run.history[0], run.history[-1], run.facts
    if first["loss"] is None or last["loss"] is None:
        return "The loss is no number any more: the learning rate is too high, or a gradient is wrong."
    best = max(run.history, key=lambda line: line["valid_accuracy"])
    loss = f"The loss went from {first['loss']:.3f} to {last['loss']:.3f}." if first is not last else f"The loss is {last['loss']:.3f}."
    return (
        f"{loss} Of {facts['train']:,} training examples "
        f"{last['train_accuracy']:.1%} were right in the last epoch, of {facts['valid']:,} for validation "
        f"{last['valid_accuracy']:.1%}; the most were {best['valid_accuracy']:.1%}, after epoch {best['epoch']}. In training dropout "
        "leaves numbers out, and the weights still change: so its share may be the lower one."
    )


def hand_in(run: Run, prefix: str) -> None:
    """The report, when there is something to report."""
    if not run.history or state[f"{prefix}_running"]:
        return
    st.download_button(
        "Report for the hand-in",
        data=lambda: run_report.packed(run),
        file_name=f"{run.setting.program}.zip",
        mime="application/zip",
        on_click="ignore",
        icon=":material/download:",
        key=f"{prefix}_report",
        help=f"report.md, {run.setting.log} and curves.png",
    )
