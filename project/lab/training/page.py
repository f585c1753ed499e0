"""The training page of Modules 1 to 3: train a network while its decision boundary, loss and metrics are drawn."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

import pyarrow
import streamlit as st

import minitorch
from project.lab import guard, sources
from project.lab.cards import explain
from project.lab.charts import charts
from project.lab.guard import task_guard
from project.lab.time_limit import TimeLimitExceeded
from project.lab.training import run_files
from project.lab.training.trainer import Setting, Trainer
from project.lab.widgets.fields import whole_number

TICK = 0.25  # seconds from one update to the next, unless the first takes longer
TURNS = 1.0  # seconds that an update trains and draws in turns; another part of the page that updates itself waits for so long
SHARE = 0.89  # of the time is for training, unless turns would take longer than LONGEST
SHORTEST, LONGEST = 0.05, 0.3  # seconds of training in a turn; the buttons work after a turn
PATIENCE = 0.3  # seconds that a session waits for its turn at a time
NUMBERS = 0.5  # seconds from one drawing of the metrics and curves to the next
CELLS = 20  # the decision boundary is drawn as CELLS × CELLS probabilities
GRID, MOST_PARTS = 0.002, 5  # seconds for the cells of a drawing while training; or they are computed in up to so many parts
ADMITTED, MEANINGFUL = 0.7, 3.0  # the page says so if training gets a smaller share, after so many seconds

SMALLEST_RATE = 0.01
MOST_HIDDEN = 50  # or twice the default of the page, whichever is larger

state = st.session_state
turn = threading.Lock()
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
        state.whole_page = True
        st.fragment(update, run_every=TICK if state.running else None)()
        st.write("**Command line**")
        st.code(trainer.setting.command(), language="bash", wrap_lines=True)
        if state.rate_changed:
            st.caption("The learning rate was changed during this run. The command uses the initial one throughout.")


# Callbacks of the buttons


def start() -> None:
    """Start or resume training."""
    state.running, state.pace = True, new_pace()


def new_pace() -> dict[str, float]:
    """Return when training began and when the latest turn ended (0: not yet), the seconds of all turns, and those that it is owed."""
    return {"since": 0.0, "until": 0.0, "training": 0.0, "owed": 0.0}


def pause() -> None:
    """Pause training, and keep the run as a file."""
    state.running = False
    run_files.keep(state.get("trainer"))


def reset() -> None:
    """Stop training and discard the network."""
    pause()
    state.pop("trainer", None)


def step() -> None:
    """Train to the end of one epoch."""
    advance(lambda trainer: trainer.run_epoch())


def advance(train: Callable[[Trainer], None]) -> None:
    """Run the trainer. An error in student code stops it and is stored for the page."""
    run_files.begin(state.trainer)
    try:
        with guard.limited():
            train(state.trainer)
    except (Exception, TimeLimitExceeded) as error:
        card = explain(error)
        if card is None:
            raise
        state.failure = card
        state.running = False
        run_files.keep(state.trainer, "failed", card.title)
    if state.trainer.done:
        run_files.keep(state.trainer)


# The parts of the page


def read_setting(default: AnySetting) -> AnySetting:
    """Show the controls and return the setting. The URL contains them, so that a setting can be shared between people and pages."""
    given, before, touched = asdict(default), state.get("defaults", {}), state.setdefault("touched", set())
    touched.update(st.query_params)  # the URL has what differs from the defaults
    for name in [name for name in before.keys() & given if state.get(name) == before[name] != given[name] and name not in touched]:
        state[name] = given[name]  # it was left at the default of another network
    state.defaults = given

    def named(name: str) -> dict[str, Any]:
        return {"key": name, "on_change": touched.add, "args": (name,)}

    def integer(label: str, name: str, least: int, most: int, step: int = 1, **options: Any) -> int:
        return whole_number(label, given=given[name], least=least, most=most, step=step, width="stretch", **named(name), **options)

    bind = "query-params"
    names = list(minitorch.datasets)
    chosen = {"dataset": st.selectbox("Data set", names, names.index(default.dataset), bind=bind, **named("dataset"))}
    chosen["points"] = integer("Points", "points", 2, 500, 10)
    chosen["hidden"] = integer("Hidden layer size", "hidden", 1, max(MOST_HIDDEN, 2 * default.hidden))
    step = max(SMALLEST_RATE, default.rate / 10)  # one click down from the default must not reach 0
    help = "You can change it during training."
    rate = st.number_input("Learning rate", SMALLEST_RATE, 10.0, default.rate, step, bind=bind, help=help, **named("rate"))
    chosen["rate"] = float(rate)
    chosen["epochs"] = integer("Epochs", "epochs", 1, 10_000, 50)
    chosen["seed"] = integer("Seed", "seed", 0, 10_000, help="For the points and the initial weights.")
    if "backend" in vars(default):
        chosen["backend"] = st.selectbox("Backend", ["cpu", "gpu"], bind=bind, help="The backend that computes.", **named("backend"))
    if "eager" in vars(default) and getattr(minitorch, "compile", None):  # a workspace ends before it
        help = "Run every step as it is. Otherwise a long run records the step once, and replays it. The results are the same."
        chosen["eager"] = st.toggle("Eager", bind=bind, help=help, **named("eager"))
    try:
        return replace(default, **chosen)
    except ValueError as error:  # there is no GPU
        guard.refuse(str(error), "Choose the backend cpu.")


def prepare(setting: AnySetting, make_trainer: Callable[[AnySetting], Trainer]) -> Trainer:
    """Return the current trainer, or a new one if the settings or the source files have changed."""
    # Plain values: after a source file is saved, it is loaded again, and its new classes equal none of the old ones. The learning rate is
    # left out, because it may change during a run.
    made_from = (asdict(setting) | {"rate": None}, sources.digest(setting.program))
    if "trainer" not in state or state.get("made_from") != made_from:
        run_files.keep(state.pop("trainer", None))
        state.update(running=False, failure=None, grid=None, rate_changed=False, made_from=made_from, pace=new_pace())
        state.trainer = make_trainer(setting)
    trainer = state.trainer
    if trainer.optimizer.lr != setting.rate:
        if trainer.epoch:
            state.rate_changed = trainer.changed = True
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


def live(spec: dict[str, Any]) -> dict[str, Any]:
    """Move the data of a chart of layers out of its specification.

    The browser makes a chart anew when its specification changes, and only moves its marks when its data do. It paints many marks faster
    on a canvas than as elements of the page.
    """
    names = [f"layer {i}" for i in range(len(spec["layer"]))]
    data = {name: pyarrow.Table.from_pylist(layer["data"]["values"]) for name, layer in zip(names, spec["layer"], strict=True)}
    layers = [layer | {"data": {"name": name}} for name, layer in zip(names, spec["layer"], strict=True)]
    return spec | {"layer": layers, "datasets": data, "usermeta": {"embedOptions": {"renderer": "canvas"}}}


class Progress:
    """The metrics, the charts and their description. Each changes in place while the network trains.

    Args:
        trainer: The trainer.
    """

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.numbers = st.container(horizontal=True)
        left, right = st.columns([3, 4], gap="medium")
        self.places = {"boundary": left.container(key="boundary_chart"), "curves": right}  # app.py makes the boundary a square
        self.words = st.container()
        self.shown: dict[str, Any] = {}
        self.numbers_drawn = 0.0

    def put(self, place: Any, name: str, kind: str, *arguments: Any, **options: Any) -> None:
        """Show an element, in place of the earlier one of this name."""
        self.shown[name] = getattr(self.shown.get(name, place), kind)(*arguments, **options)

    def draw(self, everything: bool) -> None:
        """Show the decision boundary; also everything else if that is due or asked for."""
        everything = everything or time.perf_counter() > self.numbers_drawn + NUMBERS
        if everything:
            self.draw_metrics()
        grid = grid_so_far(self.trainer)
        self.chart("boundary", live(charts.boundary(grid, self.trainer.graph)), "stretch")
        if everything:
            self.draw_curves()
            self.numbers_drawn = time.perf_counter()

    def wait(self) -> None:
        """Show what is known without training. Streamlit looks whether a button was pressed only when an element is shown."""
        if self.shown:
            self.draw_metrics()
        else:
            self.draw(everything=True)

    def draw_metrics(self) -> None:
        """Show the metrics of the last epoch."""
        trainer, begun = self.trainer, self.trainer.epoch > 0
        for name, value, width in (
            ("Epoch", f"{trainer.epoch} / {trainer.setting.epochs}", 180),
            ("Loss", f"{trainer.losses[-1]:.3f}" if begun else "-", 120),
            ("Correct points", f"{trainer.correct[-1]} / {trainer.graph.N}" if begun else "-", 150),
            ("Seconds per epoch", f"{sum(trainer.seconds) / trainer.epoch:.4f}" if begun else "-", 150),
        ):
            note = "Training alone, without the time that this page takes for drawing." if name == "Seconds per epoch" else None
            self.put(self.numbers, name, "metric", name, value, width=width, help=note)

    def draw_curves(self) -> None:
        """Show the curves, and the charts in words."""
        trainer = self.trainer
        if trainer.epoch:
            spec = charts.curves(trainer.losses, trainer.correct, trainer.graph.N)
            self.chart("curves", spec | {"description": "Loss and accuracy over the epochs."}, "content")
        compiled = f"Compilation took {trainer.compiling:.1f} s before the first epoch." if trainer.compiling else ""
        sentences = in_words(trainer), compiled, pace_in_words()
        self.put(self.words, "words", "caption", " ".join(filter(None, sentences)))

    def chart(self, name: str, spec: dict[str, Any], height: Any) -> None:
        """Show a chart that is as wide as its column."""
        self.put(self.places[name], name, "vega_lite_chart", spec, width="stretch", height=height, key=f"{name}_chart")


def grid_so_far(trainer: Trainer) -> list[list[float]]:
    """Return the probabilities of the decision boundary's cells.

    While training, if all cells take longer than GRID seconds, a call computes every second row, or up to every fifth; the others stay.
    """
    drawn, begun = state.grid, time.perf_counter()
    if drawn is None or not state.running or drawn["every"] == 1:
        rows = trainer.grid(CELLS)
        state.grid = {"rows": rows, "every": parts(time.perf_counter() - begun), "next": 0}
        return rows
    every, rows = drawn["every"], drawn["rows"]
    middles = [(i + 0.5) / CELLS for i in range(CELLS)]
    due = range(drawn["next"], CELLS, every)
    values = trainer.probabilities([(x_1, middles[j]) for j in due for x_1 in middles])
    for number, j in enumerate(due):
        rows[j] = values[number * CELLS : (number + 1) * CELLS]
    drawn["next"] = (drawn["next"] + 1) % every
    if drawn["next"] == 0:
        drawn["every"] = parts(every * (time.perf_counter() - begun))
    return rows


def parts(seconds: float) -> int:
    """Return in how many parts the cells are computed if all of them take this long."""
    return min(max(1, math.ceil(seconds / GRID)), MOST_PARTS)


def in_words(trainer: Trainer) -> str:
    """Describe the charts in text."""
    if not trainer.epoch:
        return f"{trainer.graph.N} points, not trained yet. Background: predicted probability of label 1, from 0 (orange) to 1 (blue)."
    first, last = trainer.losses[0], trainer.losses[-1]
    return (
        f"After {trainer.epoch} epochs, {trainer.correct[-1]} of {trainer.graph.N} points are classified correctly; the loss changed "
        f"from {first:.3f} to {last:.3f}. Background: predicted probability of label 1, from 0 (orange) to 1 (blue)."
    )


def pace_in_words() -> str:
    """Return how much of the time went into training since the last start, if it was clearly less than intended; otherwise ""."""
    pace = state.pace
    passed = pace["until"] - pace["since"]
    if not pace["since"] or passed < MEANINGFUL or pace["training"] / passed > ADMITTED:
        return ""
    share = f"{pace['training'] / passed:.0%}"
    return f"Training got {share} of the time since the last start; drawing this page, or other sessions, took the rest."


def update() -> None:
    """Draw; while the network trains, train and draw in turns."""
    trainer, progress = state.trainer, Progress(state.trainer)
    if not state.running:
        with task_guard():
            progress.draw(everything=True)
        return
    alone, state.whole_page = not state.whole_page, False  # the rest of a page waits for its fragments
    end = time.perf_counter() + TURNS
    while True:
        take_a_turn(trainer, progress)
        if not (state.running and alone and time.perf_counter() < end):
            break
        time.sleep(0.0002)  # lets the next session take its turn, and the server send what was drawn
    if not state.running:
        st.rerun()  # the buttons are outside of this fragment


def take_a_turn(trainer: Trainer, progress: Progress) -> None:
    """Train, then draw, while no other session does. With many threads at work, the process would not answer anyone in time."""
    asked = time.perf_counter()
    if not turn.acquire(timeout=PATIENCE):
        with task_guard():
            progress.wait()
        state.pace["until"] = time.perf_counter()
        return
    try:
        train_for_a_turn(asked)
        state.running = state.running and not trainer.done
        with task_guard():
            progress.draw(everything=not (state.running and progress.shown))
    finally:
        turn.release()


def train_for_a_turn(asked: float) -> None:
    """Train for a time in proportion to what the page took for itself.

    Args:
        asked: When the page was ready to train again.
    """
    pace, begun = state.pace, time.perf_counter()
    if not pace["since"]:
        pace["since"] = pace["until"] = asked = begun
    pace["owed"] += (asked - pace["until"]) * SHARE / (1 - SHARE)
    seconds = min(max(pace["owed"], SHORTEST), LONGEST)
    advance(lambda trainer: trainer.run_for(seconds))
    pace["until"] = time.perf_counter()
    trained = pace["until"] - begun
    pace["training"] += trained
    pace["owed"] = min(max(pace["owed"] - trained, -LONGEST), LONGEST)
