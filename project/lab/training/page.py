"""The training page of every module: a network learns while its boundary, its loss and its figures are drawn."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TypeVar

import streamlit as st

from minitorch import datasets
from project.lab import guard, sources
from project.lab.cards import explain
from project.lab.charts import charts
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.time_limit import TimeLimitExceeded
from project.lab.training.trainer import Setting, Trainer

TICK = 0.1  # seconds from one picture to the next
WORK = 0.06  # how many of them are spent on training
CELLS = 20  # the boundary is drawn with CELLS × CELLS probabilities

SMALLEST_RATE = 0.01
MOST_HIDDEN = 50  # of a page with a small network; one with a larger network takes twice that

state = st.session_state
AnySetting = TypeVar("AnySetting", bound=Setting)


def show(default: AnySetting, make_trainer: Callable[[AnySetting], Trainer]) -> None:
    """Controls on the left; buttons, figures, charts and the command on the right.

    Args:
        default: Names the program that trains the same, and holds what the controls show at first.
        make_trainer: Makes the trainer from the setting.
    """
    setting_side, training_side = st.columns([1, 4], gap="medium")
    with setting_side, task_guard():
        setting = chosen_setting(default)
    with training_side:
        with task_guard():
            trainer = prepare(setting, make_trainer)
        controls(trainer)
        if state.failure is not None:
            guard.show(state.failure)
        st.fragment(live, run_every=TICK if state.running else None)()
        st.write("**The same run in a terminal**")
        st.code(trainer.setting.command(), language="bash", wrap_lines=True)
        if state.rate_changed:
            st.caption("The learning rate was changed during this run: the command trains with the first one all the way.")


# What the buttons do


def start() -> None:
    """Train until paused."""
    state.running = True


def pause() -> None:
    """Keep everything as it is."""
    state.running = False


def reset() -> None:
    """Forget what was learned: the next run makes a new network."""
    state.running = False
    state.pop("trainer", None)


def step() -> None:
    """Train to the end of one epoch."""
    advance(lambda trainer: trainer.run_epoch())


def advance(train: Callable[[Trainer], None]) -> None:
    """Let the trainer work; what goes wrong in student code is kept for the page, and ends the run."""
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


def chosen_setting(default: AnySetting) -> AnySetting:
    """What the controls say. They are also in the address, so that a setting can be shared, and stay from one training page to the next."""
    bind = "query-params"
    names = list(datasets)
    dataset = st.selectbox("Data set", names, names.index(default.dataset), key="dataset", bind=bind)
    points = st.number_input("Points", 2, 500, default.points, 10, key="points", bind=bind)
    most = max(MOST_HIDDEN, 2 * default.hidden)
    if state.get("hidden", 1) > most:  # it comes from a page with larger networks
        state.hidden = most
    hidden = st.number_input("Hidden layer size", 1, most, default.hidden, key="hidden", bind=bind)
    step = max(SMALLEST_RATE, default.rate / 10)  # one click down from the default must not end at 0
    help = "May be changed while it trains."
    rate = st.number_input("Learning rate", SMALLEST_RATE, 10.0, default.rate, step, key="rate", bind=bind, help=help)
    epochs = st.number_input("Epochs", 1, 10_000, default.epochs, 50, key="epochs", bind=bind)
    seed = st.number_input("Seed", 0, 10_000, default.seed, key="seed", bind=bind, help="For the points and the first weights.")
    chosen = {"dataset": dataset, "points": int(points), "hidden": int(hidden), "rate": float(rate), "epochs": int(epochs)}
    if hasattr(default, "backend"):
        chosen["backend"] = st.selectbox("Backend", ["cpu", "gpu"], key="backend", bind=bind, help="What computes.")
    try:
        return replace(default, **chosen, seed=int(seed))
    except ValueError as error:  # there is no GPU
        guard.refuse(str(error), "Choose the backend cpu.")


def prepare(setting: AnySetting, make_trainer: Callable[[AnySetting], Trainer]) -> Trainer:
    """The trainer for these controls: the one at work, or a new one if they or what it is made from have changed."""
    # In plain values, as a saved file makes new classes; the rate may change on the way.
    made_from = (asdict(setting) | {"rate": None}, sources.digest(setting.program))
    if "trainer" not in state or state.get("made_from") != made_from:
        state.pop("trainer", None)
        state.update(running=False, failure=None, boundary=None, rate_changed=False, made_from=made_from)
        state.trainer = make_trainer(setting)
    trainer = state.trainer
    if trainer.optimizer.lr != setting.rate:
        if trainer.epoch:
            state.rate_changed = True
        else:  # no step has been taken yet: this is the rate of the whole run
            trainer.setting = setting
        trainer.optimizer.lr = setting.rate
    return trainer


def controls(trainer: Trainer) -> None:
    """The buttons. They stand outside the part that redraws itself, and each only sets what the next tick does."""
    idle = not state.running
    ended = trainer.done or state.failure is not None
    with st.container(horizontal=True):
        st.button("Start", on_click=start, disabled=not idle or ended, icon=":material/play_arrow:", type="primary", key="start")
        st.button("Pause", on_click=pause, disabled=idle, icon=":material/pause:", key="pause")
        st.button("Step", on_click=step, disabled=not idle or ended, icon=":material/skip_next:", help="One epoch", key="step")
        st.button("Reset", on_click=reset, icon=":material/restart_alt:", help="Stop, with new weights", key="reset")


def picture(trainer: Trainer) -> dict:
    """The boundary now, or the one before if drawing it at every tick would take more time than training."""
    drawn = state.boundary
    if drawn is None or (drawn["epoch"] != trainer.epoch and (not state.running or time.perf_counter() > drawn["again"])):
        begun = time.perf_counter()
        grid = trainer.grid(CELLS)
        ended = time.perf_counter()
        drawn = {"epoch": trainer.epoch, "again": ended + 4 * (ended - begun), "spec": charts.boundary(grid, trainer.graph)}
        state.boundary = drawn
    return drawn["spec"]


def figures(trainer: Trainer) -> None:
    """The numbers of the last epoch."""
    with st.container(horizontal=True):
        st.metric("Epoch", f"{trainer.epoch} / {trainer.setting.epochs}", width=180)
        st.metric("Loss", f"{trainer.losses[-1]:.3f}" if trainer.epoch else "-", width=140)
        st.metric("Points right", f"{trainer.correct[-1]} / {trainer.graph.N}" if trainer.epoch else "-", width=150)
        st.metric("Seconds an epoch", f"{sum(trainer.seconds) / trainer.epoch:.3f}" if trainer.epoch else "-", width=150)


def in_words(trainer: Trainer) -> str:
    """What the charts show, for those who do not see them."""
    if not trainer.epoch:
        return f"{trainer.graph.N} points, not trained yet. Background: the probability of label 1, blue for 0, orange for 1."
    first, last = trainer.losses[0], trainer.losses[-1]
    return (
        f"After {trainer.epoch} epochs {trainer.correct[-1]} of {trainer.graph.N} points have the right label; the loss went "
        f"from {first:.3f} to {last:.3f}. Background: the probability of label 1, blue for 0, orange for 1."
    )


def progress(trainer: Trainer) -> None:
    """Numbers, boundary and curves."""
    figures(trainer)
    with st.container(horizontal=True):
        draw(picture(trainer), "boundary_chart")
        if trainer.epoch:
            draw(charts.curves(trainer.losses, trainer.correct, trainer.graph.N), "curves_chart")
    compiled = f" Compiling took {trainer.compiling:.1f} s before the first epoch." if trainer.compiling else ""
    st.caption(in_words(trainer) + compiled)


def live() -> None:
    """One tick: train a little, then draw."""
    trainer = state.trainer
    if state.running:
        advance(lambda trainer: trainer.run_for(WORK))
        if trainer.done or not state.running:
            state.running = False
            st.rerun()  # the buttons stand outside: they change with the whole page
    with task_guard():
        progress(trainer)
