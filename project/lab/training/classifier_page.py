"""Shared by the pages that train classifiers: the settings, the buttons, the live curves and the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import streamlit as st

from project.lab import guard, sources
from project.lab.cards import plain
from project.lab.guard import task_guard
from project.lab.training import run_report
from project.lab.training.classifier import ClassifierSetting
from project.lab.training.job import Run
from project.lab.training.jobs import Failed
from project.lab.widgets.fields import restrict

TICK = 0.4  # seconds between updates
FIRST = ("dataset", "epochs", "rate", "batch", "seed")  # the fields that are always visible
LABELS = {
    "dataset": "Data set",
    "rate": "Learning rate",
    "batch": "Batch size",
    "limit": "Maximum training images",
    "dtype": "dtype",
    "embeddings": "Word vectors",
    "train": "Training sentences",
    "valid": "Validation sentences",
}
LEAST_RATE = 0.0001

state = st.session_state
AnySetting = TypeVar("AnySetting", bound=ClassifierSetting)


def show(
    default: ClassifierSetting,
    prefix: str,
    choices: Mapping[str, Sequence[str]],
    show_examples: Callable[[], None],
    show_details: Callable[[Run], None],
) -> Run | None:
    """Show the settings on the left; buttons, metrics, curves and the command on the right.

    Args:
        default: The program and the initial values of the settings.
        prefix: The prefix of the names of the controls, in the session state and in the URL.
        choices: The available values of fields that name a data set or word vectors.
        show_examples: Draws examples of the data, until there is a run.
        show_details: Draws the part of the page next to the curves; called after every update.

    Returns:
        The current run; None before the first one.
    """
    setting_side, training_side = st.columns([1, 4], gap="medium")
    with setting_side, task_guard():
        setting = form(default, prefix, choices)
    with training_side:
        address = f"{prefix}_run"
        known = known_runs().get(st.query_params.get(address, ""))
        run: Run | None = state.setdefault(address, known if known is not None and known.setting.program == default.program else None)
        if run is not None:
            st.query_params[address] = run.checkpoint.parent.name
            known_runs()[st.query_params[address]] = run
        state[f"{prefix}_running"] = run is not None and run.running
        state[f"{prefix}_kept"] = run is not None and run.checkpoint.exists()
        buttons(run, setting, prefix)
        if run is not None and not run.running and not run.made_by(setting):
            st.caption("This run used other settings. Press **Start** to train with the current ones.")
        elif run is not None and run.made_from != sources.digest(setting.program):
            st.caption("Your code has changed since this run started. Press **Start** to train with the current code.")
        st.fragment(update, run_every=TICK if state[f"{prefix}_running"] else None)(prefix, show_examples, show_details)
        st.write("**Command line**")
        st.code(setting.command(), language="bash", wrap_lines=True)
        if run is not None:
            show_report(run, prefix)
    return run


@st.cache_resource
def known_runs() -> WeakValueDictionary[str, Run]:
    """The runs of all sessions by their names in the URL, so that a page that is loaded again continues with its run.

    Whoever opens an address with a run may stop and resume it.
    Streamlit keeps a session for two minutes after its page was closed. Then the run is removed, and its program ends.
    """
    return WeakValueDictionary()


# Callbacks of the buttons


def start(setting: ClassifierSetting, prefix: str) -> None:
    """Start a new run."""
    stop(prefix)
    state[f"{prefix}_run"] = run = Run(setting, sources.digest(setting.program))
    run.start()


def stop(prefix: str) -> None:
    """Stop training and keep the last checkpoint."""
    run: Run | None = state.get(f"{prefix}_run")
    if run is not None and run.running:
        run.stop()


def resume(epochs: int, prefix: str) -> None:
    """Resume training from the last checkpoint."""
    state[f"{prefix}_run"].start(epochs)


# The parts of the page


def form(default: AnySetting, prefix: str, choices: Mapping[str, Sequence[str]]) -> AnySetting:
    """Show one control for each field of the setting, and return the setting."""
    fields = {field.name: field for field in dataclasses.fields(default)}
    chosen = {name: control(fields[name], default, prefix, choices.get(name)) for name in FIRST}
    with st.expander("More settings"):
        chosen |= {name: control(field, default, prefix, choices.get(name)) for name, field in fields.items() if name not in FIRST}
    try:
        return dataclasses.replace(default, **chosen)
    except ValueError as error:
        guard.refuse(str(error), "Choose another value.")


def control(field: dataclasses.Field, default: Any, prefix: str, names: Sequence[str] | None) -> Any:
    """Show the control of one field and return its value."""
    given, limits = getattr(default, field.name), field.metadata
    label = LABELS.get(field.name, field.name.capitalize())
    facts: dict[str, Any] = {"key": f"{prefix}_{field.name}", "bind": "query-params", "help": plain(limits["help"])}
    if isinstance(given, bool):
        return st.toggle(label, given, **facts)
    if isinstance(given, str):
        offered = list(names or limits["choices"])
        return st.selectbox(label, offered, offered.index(given), **facts)
    if isinstance(given, float):
        least = limits["low"] if limits["above"] is None else LEAST_RATE
        most = limits["high"] if limits["high"] is not None else 10.0
        return float(st.number_input(label, float(least), float(most), given, max(given / 10, LEAST_RATE), format="%g", **facts))
    most = min(limits["high"] or 1_000_000, 1_000_000)
    least = int(limits["low"] or 0)
    restrict(facts["key"], given, least, most)
    found = st.number_input(label, least, int(most), given, placeholder="all", **facts)
    return None if found is None else int(found)


def buttons(run: Run | None, setting: ClassifierSetting, prefix: str) -> None:
    """Show the buttons. They are outside of the fragment that updates itself."""
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
            help="Start a new run in a separate process",
        )
        st.button("Stop", on_click=stop, args=(prefix,), disabled=not running, icon=":material/stop:", key=f"{prefix}_stop")
        st.button(
            "Resume",
            on_click=resume,
            args=(setting.epochs, prefix),
            disabled=not resumable,
            icon=":material/resume:",
            key=f"{prefix}_resume",
            help="Continue from the last checkpoint, which is saved after each epoch and every 30 seconds",
        )


def update(prefix: str, show_examples: Callable[[], None], show_details: Callable[[Run], None]) -> None:
    """Read the output of the run and draw it."""
    top, numbers, pictures, words = (st.container() for _ in range(4))  # always the same containers, even if some are empty
    run: Run | None = state.get(f"{prefix}_run")
    if run is None:
        top.info("Press **Start** to train. This page updates after every epoch.", icon=":material/model_training:")
        with pictures, task_guard(stop=False):
            show_examples()
        return
    was_running, epochs = state[f"{prefix}_running"], len(run.history)
    with top:
        read(run, prefix)
    running = state[f"{prefix}_running"]
    ended = not running and (was_running or len(run.history) > epochs)  # a run may end before its last lines are read
    if ended or (run.checkpoint.exists() and not state[f"{prefix}_kept"]):
        st.rerun()  # the buttons, and what is made from the checkpoint, are outside of this fragment
    if running:
        top.progress(run.kernel / (run.kernels or run.kernel) if run.preparing else run.progress, status(run))
    if not run.history:
        return
    with numbers:
        show_metrics(run)
    with pictures, st.container(horizontal=True):
        with st.container(key=f"{prefix}_curves_side"):  # app.py lets it grow
            st.vega_lite_chart(run_report.curves(run), width="stretch", key=f"{prefix}_curves")
        with task_guard(stop=False):
            show_details(run)
    words.caption(plain(in_words(run)))


def read(run: Run, prefix: str) -> None:
    """Read the output of the run and show errors."""
    try:
        with task_guard(stop=False):
            state[f"{prefix}_running"] = False
            state[f"{prefix}_running"] = run.read()
    except Failed as error:
        st.error("Training failed.", icon=":material/error:")
        st.code(str(error), language=None, wrap_lines=True)


def status(run: Run) -> str:
    """Return what the run is doing and how long the rest will take."""
    if run.preparing:
        count = f"{run.kernel} of about {run.kernels}" if run.kernels else f"{run.kernel}"
        return f"Preparing kernel {count}: {run.kernel_name}. Each is compiled once and stored on disk."
    if not run.facts:
        return "Starting the program …"
    if not run.history:
        return f"Epoch 1, step {run.step} of {run.steps or '…'}."
    left = run.seconds_left or 0.0
    return f"Epoch {len(run.history) + 1} of {run.setting.epochs}; {duration(left)} left"


def duration(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def show_metrics(run: Run) -> None:
    """Show the metrics of the last epoch."""
    last = run.history[-1]
    seconds = sum(line["seconds"] for line in run.history) / len(run.history)
    with st.container(horizontal=True):
        st.metric("Epoch", f"{len(run.history)} / {run.setting.epochs}", width=120)
        st.metric("Loss", "-" if last["loss"] is None else f"{last['loss']:.4f}", width=110)
        st.metric("Training accuracy", f"{last['train_accuracy']:.1%}", width=140)
        st.metric("Validation accuracy", f"{last['valid_accuracy']:.1%}", width=150)
        st.metric("Seconds per epoch", f"{seconds:.2f}", width=140)


def in_words(run: Run) -> str:
    """Describe the curves in text."""
    first, last, facts = run.history[0], run.history[-1], run.facts
    if first["loss"] is None or last["loss"] is None:
        return "The loss is not a number (NaN). The learning rate is too high, or a gradient is wrong."
    best = max(run.history, key=lambda line: line["valid_accuracy"])
    loss = f"The loss changed from {first['loss']:.3f} to {last['loss']:.3f}." if first is not last else f"The loss is {last['loss']:.3f}."
    return (
        f"{loss} In the last epoch, the accuracy was {last['train_accuracy']:.1%} on {facts['train']:,} training examples and "
        f"{last['valid_accuracy']:.1%} on {facts['valid']:,} validation examples. The best validation accuracy was "
        f"{best['valid_accuracy']:.1%}, after epoch {best['epoch']}. The training accuracy may be the lower one, because it is measured "
        "with dropout and while the weights change."
    )


def show_report(run: Run, prefix: str) -> None:
    """Show the button that downloads the report, once the run has finished an epoch and stopped."""
    if not run.history or state[f"{prefix}_running"]:
        return
    st.download_button(
        "Download report",
        data=lambda: run_report.packed(run),
        file_name=f"{run.setting.program}.zip",
        mime="application/zip",
        on_click="ignore",
        icon=":material/download:",
        key=f"{prefix}_report",
        help=f"report.md, {run.setting.log} and curves.png",
    )
