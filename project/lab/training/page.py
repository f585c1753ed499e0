"""The training page of Modules 1 to 3: train a network while its decision boundary, loss and metrics are drawn."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeVar

import streamlit as st

import minitorch
from project.lab import guard, sources
from project.lab.cards import explain
from project.lab.charts import charts
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.time_limit import TimeLimitExceeded
from project.lab.training.trainer import Setting, Trainer

TICK = 0.1  # seconds between updates
WORK = 0.06  # seconds of training in each update
CELLS = 20  # the decision boundary is drawn as CELLS × CELLS probabilities

SMALLEST_RATE = 0.01
MOST_HIDDEN = 50  # or twice the default of the page, whichever is larger

state = st.session_state
AnySetting = TypeVar("AnySetting", bound=Setting)


def show(default: AnySetting, make_trainer: Callable[[AnySetting], Trainer]) -> None:
    """Show the settings on the left; buttons, metrics, charts and the command on the right.

    Args:
        default: The program and the initial values of the settings.
        make_trainer: Makes the trainer from the setting.
    """
    setting_side, training_side = st.columns([1, 4], gap="medium")
    with setting_side, task_guard():
        setting = read_setting(default)
    with training_side:
        with task_guard():
            trainer = prepare(setting, make_trainer)
        show_buttons(trainer)
        if state.failure is not None:
            guard.show(state.failure)
        st.fragment(update, run_every=TICK if state.running else None)()
        st.write("**Command line**")
        st.code(trainer.setting.command(), language="bash", wrap_lines=True)
        if state.rate_changed:
            st.caption("The learning rate was changed during this run. The command uses the initial one throughout.")


# Callbacks of the buttons


def start() -> None:
    """Start or resume training."""
    state.running = True


def pause() -> None:
    """Pause training."""
    state.running = False


def reset() -> None:
    """Stop training and discard the network."""
    state.running = False
    state.pop("trainer", None)


def step() -> None:
    """Train to the end of one epoch."""
    advance(lambda trainer: trainer.run_epoch())


def advance(train: Callable[[Trainer], None]) -> None:
    """Run the trainer. An error in student code stops it and is stored for the page."""
    try:
        with guard.limited():
            train(state.trainer)
    except (Exception, TimeLimitExceeded) as error:
        card = explain(error)
        if card is None:
            raise
        state.failure = card
        state.running = False


# The parts of the page


def read_setting(default: AnySetting) -> AnySetting:
    """Show the controls and return the setting. The URL contains them, so that a setting can be shared between people and pages."""
    bind = "query-params"
    names = list(minitorch.datasets)
    dataset = st.selectbox("Data set", names, names.index(default.dataset), key="dataset", bind=bind)
    points = st.number_input("Points", 2, 500, default.points, 10, key="points", bind=bind)
    most = max(MOST_HIDDEN, 2 * default.hidden)
    if state.get("hidden", 1) > most:  # the value in the session is from a page that allows larger networks
        state.hidden = most
    hidden = st.number_input("Hidden layer size", 1, most, default.hidden, key="hidden", bind=bind)
    step = max(SMALLEST_RATE, default.rate / 10)  # one click down from the default must not reach 0
    help = "You can change it during training."
    rate = st.number_input("Learning rate", SMALLEST_RATE, 10.0, default.rate, step, key="rate", bind=bind, help=help)
    epochs = st.number_input("Epochs", 1, 10_000, default.epochs, 50, key="epochs", bind=bind)
    seed = st.number_input("Seed", 0, 10_000, default.seed, key="seed", bind=bind, help="For the points and the initial weights.")
    chosen = {"dataset": dataset, "points": int(points), "hidden": int(hidden), "rate": float(rate), "epochs": int(epochs)}
    if hasattr(default, "backend"):
        chosen["backend"] = st.selectbox("Backend", ["cpu", "gpu"], key="backend", bind=bind, help="The backend that computes.")
    if hasattr(default, "compile") and hasattr(minitorch, "compile"):  # a workspace ends before it
        help = "Record the training step once and replay it. The results are the same."
        chosen["compile"] = st.toggle("Compiled", key="compile", bind=bind, help=help)
    try:
        return replace(default, **chosen, seed=int(seed))
    except ValueError as error:  # there is no GPU
        guard.refuse(str(error), "Choose the backend cpu.")


def prepare(setting: AnySetting, make_trainer: Callable[[AnySetting], Trainer]) -> Trainer:
    """Return the current trainer, or a new one if the settings or the source files have changed."""
    # Plain values: after a source file is saved, it is loaded again, and its new classes equal none of the old ones. The learning rate is
    # left out, because it may change during a run.
    made_from = (asdict(setting) | {"rate": None}, sources.digest(setting.program))
    if "trainer" not in state or state.get("made_from") != made_from:
        state.pop("trainer", None)
        state.update(running=False, failure=None, boundary=None, rate_changed=False, made_from=made_from)
        state.trainer = make_trainer(setting)
    trainer = state.trainer
    if trainer.optimizer.lr != setting.rate:
        if trainer.epoch:
            state.rate_changed = True
        else:  # before the first step: this is the rate of the whole run
            trainer.setting = setting
        trainer.optimizer.lr = setting.rate
    return trainer


def show_buttons(trainer: Trainer) -> None:
    """Show the buttons. They are outside of the fragment that updates itself, and only set what its next run does."""
    idle = not state.running
    ended = trainer.done or state.failure is not None
    with st.container(horizontal=True):
        st.button("Start", on_click=start, disabled=not idle or ended, icon=":material/play_arrow:", type="primary", key="start")
        st.button("Pause", on_click=pause, disabled=idle, icon=":material/pause:", key="pause")
        st.button("Step", on_click=step, disabled=not idle or ended, icon=":material/skip_next:", help="One epoch", key="step")
        st.button("Reset", on_click=reset, icon=":material/restart_alt:", help="Stop, with new weights", key="reset")


def picture(trainer: Trainer) -> dict:
    """Return the specification of the decision boundary's chart; it is redrawn less often if drawing would take longer than training."""
    drawn = state.boundary
    if drawn is None or (drawn["epoch"] != trainer.epoch and (not state.running or time.perf_counter() > drawn["again"])):
        begun = time.perf_counter()
        grid = trainer.grid(CELLS)
        ended = time.perf_counter()
        # "again": when to draw again, so that computing the grid takes at most a fifth of the time while training
        drawn = {"epoch": trainer.epoch, "again": ended + 4 * (ended - begun), "spec": charts.boundary(grid, trainer.graph)}
        state.boundary = drawn
    return drawn["spec"]


def show_metrics(trainer: Trainer) -> None:
    """Show the metrics of the last epoch."""
    with st.container(horizontal=True):
        st.metric("Epoch", f"{trainer.epoch} / {trainer.setting.epochs}", width=180)
        st.metric("Loss", f"{trainer.losses[-1]:.3f}" if trainer.epoch else "-", width=140)
        st.metric("Correct points", f"{trainer.correct[-1]} / {trainer.graph.N}" if trainer.epoch else "-", width=150)
        st.metric("Seconds per epoch", f"{sum(trainer.seconds) / trainer.epoch:.3f}" if trainer.epoch else "-", width=150)


def in_words(trainer: Trainer) -> str:
    """Describe the charts in text."""
    if not trainer.epoch:
        return f"{trainer.graph.N} points, not trained yet. Background: predicted probability of label 1, from 0 (blue) to 1 (orange)."
    first, last = trainer.losses[0], trainer.losses[-1]
    return (
        f"After {trainer.epoch} epochs, {trainer.correct[-1]} of {trainer.graph.N} points are classified correctly; the loss changed "
        f"from {first:.3f} to {last:.3f}. Background: predicted probability of label 1, from 0 (blue) to 1 (orange)."
    )


def show_progress(trainer: Trainer) -> None:
    """Show metrics, decision boundary and curves."""
    show_metrics(trainer)
    with st.container(horizontal=True):
        draw(picture(trainer), "boundary_chart")
        if trainer.epoch:
            draw(charts.curves(trainer.losses, trainer.correct, trainer.graph.N), "curves_chart")
    compiled = f" Compilation took {trainer.compiling:.1f} s before the first epoch." if trainer.compiling else ""
    st.caption(f"{in_words(trainer)}{compiled} {trainer.gain()}".rstrip())


def update() -> None:
    """Train for a short time, then draw."""
    trainer = state.trainer
    if state.running:
        advance(lambda trainer: trainer.run_for(WORK))
        if trainer.done or not state.running:
            state.running = False
            st.rerun()  # the buttons are outside of this fragment
    with task_guard():
        show_progress(trainer)
