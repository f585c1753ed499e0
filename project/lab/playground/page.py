"""The page of the playground: settings, buttons, the board, a race against other settings, and the run as a command and as Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import streamlit as st

import minitorch
from project.lab import guard, sources
from project.lab.cards import explain, plain
from project.lab.guard import task_guard
from project.lab.playground import script
from project.lab.playground.board import board
from project.lab.playground.points import MOST_BYTES, Points, read_csv
from project.lab.playground.setting import ACTIVATIONS, FEATURES, LIVE, NETWORKS, OPTIMIZERS, PROGRAMS, REGULARIZATIONS, PlaygroundSetting
from project.lab.playground.trainer import Trainer
from project.lab.playground.trainers import make_trainer
from project.lab.time_limit import TimeLimitExceeded
from project.lab.training import run_files

TICK = 0.1  # seconds between updates of the page
SHORTEST, LONGEST = 0.06, 0.3  # seconds of training in each
SHARE = 4  # training takes this many times the time of drawing, if the longest allows it
CSV = "points.csv"
DEFAULT = PlaygroundSetting(network=NETWORKS[0])
DATA = ("dataset", "points", "noise", "test", "seed", "file")  # the fields that determine the points

state = st.session_state


def show() -> None:
    """Show the page."""
    state.setdefault("pg_running", False)
    data_side, board_side = st.columns([1, 4], gap="medium")
    with data_side, task_guard():
        chosen = read_data()
    with board_side:
        with task_guard():
            setting = read_live(chosen)
            trainer, rival = prepare(setting)
        show_buttons(trainer, rival)
        if state.pg_failure is not None:
            guard.show(state.pg_failure)
        st.fragment(update, run_every=TICK if state.pg_running else None)()
        show_weights(trainer)
        show_run(trainer, rival)


# Settings


def read_data() -> dict[str, Any]:
    """Show the controls of what a new network depends on, and return their values. All of them are in the URL."""
    bind = "query-params"
    found: dict[str, Any] = {}
    help = "Scalars: one number at a time. Tensors: all points at once. Fast: tensors on a compiled backend."
    found["network"] = st.selectbox("Made of", NETWORKS, key="pg_network", bind=bind, help=help)
    names = list(minitorch.datasets)
    found["dataset"] = st.selectbox("Data set", names, names.index(DEFAULT.dataset), key="pg_dataset", bind=bind)
    found["points"] = int(st.number_input("Points", 4, 500, DEFAULT.points, 10, key="pg_points", bind=bind))
    help = "How far a point is moved at most, after it is labeled."
    found["noise"] = float(st.slider("Noise", 0.0, 0.5, DEFAULT.noise, 0.01, key="pg_noise", bind=bind, help=help))
    help = "Test points are not trained on. A large gap between both losses is overfitting."
    found["test"] = int(st.slider("Test points (%)", 0, 90, DEFAULT.test, 10, key="pg_test", bind=bind, help=help))
    help = "The inputs of the network, with coordinates from -1 to 1."
    features = st.multiselect("Inputs", list(FEATURES), ["x1", "x2"], key="pg_features", bind=bind, help=help)
    found["features"] = ",".join(name for name in FEATURES if name in features)
    help = "Units of each hidden layer, such as 4,3; none for no hidden layer. The buttons over the network change it, too."
    given = "" if "pg_layers" in state else DEFAULT.layers  # a value in the session, set by a button of the board, takes its place
    found["layers"] = st.text_input("Hidden layers", given, max_chars=30, key="pg_layers", bind=bind, help=help)
    help = "For the points, the split, the initial weights and the order of the points."
    found["seed"] = int(st.number_input("Seed", 0, 10_000, DEFAULT.seed, key="pg_seed", bind=bind, help=help))
    with st.expander("Your own points"):
        help = "Columns x1, x2, label (0 or 1) and, if you like, train or test. Larger coordinates are scaled."
        file = st.file_uploader("CSV file", type="csv", key="pg_file", help=help)
        found["file"] = CSV if file is not None else ""
        if file is not None:
            upload(file.file_id, file.size, file.getvalue, found)
        st.radio("A click adds a point of label", [1, 0], key="pg_label", horizontal=True)
    return found


def upload(id: str, size: int, content: Callable[[], bytes], found: dict[str, Any]) -> None:
    """Read an uploaded file once; a file that cannot be read ends the page with a message."""
    key = (id, found["test"], found["seed"])
    if state.get("pg_uploaded", (None,))[0] == key:
        return
    try:
        if size > MOST_BYTES:
            raise ValueError(f"the file expected at most {MOST_BYTES:,} bytes, got {size:,}; leave out rows")
        state.pg_uploaded = (key, read_csv(content(), found["test"], found["seed"]))
    except ValueError as error:
        guard.refuse(str(error), "Remove the file, or correct it and upload it again.")


def read_live(chosen: dict[str, Any]) -> PlaygroundSetting:
    """Show the controls of what may change during a run, and return the setting."""
    bind = "query-params"
    with st.container(horizontal=True):
        first = ACTIVATIONS.index(DEFAULT.activation)
        activation = st.selectbox("Activation", ACTIVATIONS, first, key="pg_activation", bind=bind, width=130)
        help = "momentum is SGD with momentum 0.9. Adam needs a smaller rate: try 0.03."
        optimizer = st.selectbox("Optimizer", OPTIMIZERS, key="pg_optimizer", bind=bind, help=help, width=150)
        rate = st.number_input("Learning rate", 0.001, 10.0, DEFAULT.rate, 0.05, "%g", key="pg_rate", bind=bind, width=150)
        batch = st.number_input("Batch size", 1, 500, DEFAULT.batch, 5, key="pg_batch", bind=bind, help="Points of an update.", width=130)
        help = "A penalty on large weights that is added to the loss."
        regularization = st.selectbox("Regularization", REGULARIZATIONS, key="pg_regularization", bind=bind, help=help, width=150)
        penalty = st.number_input("Penalty", 0.0, 10.0, DEFAULT.penalty, 0.005, "%g", key="pg_penalty", bind=bind, width=130)
        epochs = st.number_input("Epochs", 1, 100_000, DEFAULT.epochs, 100, key="pg_epochs", bind=bind, width=130)
    live = {"activation": activation, "optimizer": optimizer, "rate": float(rate), "batch": int(batch)}
    live |= {"regularization": regularization, "penalty": float(penalty), "epochs": int(epochs)}
    if not chosen["features"]:
        guard.refuse("The network expected at least one input, got none.", "Choose one under **Inputs**.")
    try:
        return PlaygroundSetting(**chosen, **live)
    except ValueError as error:
        guard.refuse(str(error), "Choose another value.")


def prepare(setting: PlaygroundSetting) -> tuple[Trainer, Trainer | None]:
    """Return the trainer and its rival; new ones if what they depend on has changed."""
    fixed = {name: value for name, value in asdict(setting).items() if name not in LIVE}
    uploaded = state.pg_uploaded[1] if setting.file else None
    made_from = (fixed, state.pg_uploaded[0] if setting.file else "", sources.digest(PROGRAMS[setting.network]))
    data = (*(fixed[name] for name in DATA), made_from[1])
    if "pg_trainer" not in state or state.get("pg_made_from") != made_from:
        if state.get("pg_data") != data:  # other points: those that were clicked in belong to the old ones
            state.pg_clicked = uploaded
        keep()
        state.update(pg_failure=None, pg_made_from=made_from, pg_data=data)
        state.pg_trainer = make_trainer(setting, state.pg_clicked)
        restart_rival()
    state.pg_trainer.change(setting)
    return state.pg_trainer, state.get("pg_rival")


def restart_rival() -> None:
    """Let the rival begin anew, on the same points as the trainer."""
    rival = state.get("pg_rival")
    if rival is not None:
        state.pg_rival = make_trainer(rival.setting, state.pg_trainer.points)


# Callbacks


def start() -> None:
    """Start or resume training."""
    state.update(pg_running=True, pg_trained=time.perf_counter())
    for trainer in trainers():
        run_files.begin(trainer)


def trainers() -> list[Trainer]:
    """The trainer and its rival."""
    return [each for each in (state.get("pg_trainer"), state.get("pg_rival")) if each is not None]


def keep() -> None:
    """Keep the run of each of them as a file."""
    for trainer in trainers():
        run_files.keep(trainer)


def pause() -> None:
    """Pause training."""
    state.pg_running = False
    keep()


def reset() -> None:
    """Stop training, with new weights; clicked points stay."""
    pause()
    state.pop("pg_trainer", None)


def original_points() -> None:
    """Return to the points of the setting."""
    state.pop("pg_data", None)
    reset()


def step() -> None:
    """Make one update."""
    for trainer in trainers():
        run_files.begin(trainer)
    advance(lambda trainer: trainer.advance())


def race() -> None:
    """Let the current settings race against those that are chosen next; both begin anew."""
    pause()
    state.pg_rival = state.pg_trainer
    state.pop("pg_trainer", None)


def end_race() -> None:
    """Remove the rival."""
    state.pop("pg_rival", None)


def act(event: dict[str, Any]) -> None:
    """Do what was clicked on the board."""
    trainer: Trainer = state.pg_trainer
    if event["kind"] == "layers":
        state.pg_layers = ",".join(map(str, event["layers"])) or "none"
        state.pg_again = True  # the setting is outside of the fragment in which the board is
    elif event["kind"] == "add":
        use_points(trainer.points.with_point(event["x"], state.pg_label))
    elif event["kind"] == "delete":
        points = trainer.points.without(event["number"])
        if points.numbers(test=False):  # something must remain for training
            use_points(points)
    elif event["kind"] == "weight":
        edit(lambda: trainer.write_weight(event["layer"], event["i"], event["j"], event["value"]))
    else:
        edit(lambda: trainer.write_bias(event["layer"], event["j"], event["value"]))


def use_points(points: Points) -> None:
    """Continue with other points."""
    state.pg_clicked = points
    state.pg_again = True
    for trainer in trainers():
        trainer.use(points)


def edit(write: Callable[[], None]) -> None:
    """Change a number of the network."""
    advance(lambda _: write(), rival=False)
    state.pg_trainer.changed = True


def advance(train: Callable[[Trainer], None], rival: bool = True) -> None:
    """Run both trainers. An error in student code stops them and is stored for the page."""
    try:
        with guard.limited():
            train(state.pg_trainer)
            if rival and state.get("pg_rival") is not None:
                catch_up(state.pg_trainer, state.pg_rival)
    except (Exception, TimeLimitExceeded) as error:
        card = explain(error)
        if card is None:
            raise
        state.pg_failure = card
        state.pg_running = False


def catch_up(trainer: Trainer, rival: Trainer) -> None:
    """Let the rival train as many epochs as the trainer, then as many updates."""
    while rival.epoch < trainer.epoch or (rival.epoch == trainer.epoch and rival.place < trainer.place):
        rival.advance()


# The parts of the page


def show_buttons(trainer: Trainer, rival: Trainer | None) -> None:
    """Show the buttons. They are outside of the fragment that updates itself."""
    idle, ended = not state.pg_running, trainer.done or state.pg_failure is not None
    with st.container(horizontal=True):
        st.button("Play", on_click=start, disabled=not idle or ended, icon=":material/play_arrow:", type="primary", key="pg_start")
        st.button("Pause", on_click=pause, disabled=idle, icon=":material/pause:", key="pg_pause")
        st.button("Step", on_click=step, disabled=not idle or ended, icon=":material/skip_next:", help="One update", key="pg_step")
        st.button("Reset", on_click=reset, icon=":material/restart_alt:", help="Stop, with new weights", key="pg_reset")
        help = "Keep these settings as a rival, then choose others: both train the same number of epochs."
        if rival is None:
            st.button("Race", on_click=race, icon=":material/flag:", help=help, key="pg_race")
        else:
            st.button("End race", on_click=end_race, icon=":material/flag:", key="pg_end_race")
        if state.get("pg_clicked") is not None:
            help = "Remove all points that you added or uploaded, and restore those that you removed."
            icon, has_file = ":material/undo:", state.get("pg_file") is not None
            st.button("Original points", on_click=original_points, icon=icon, help=help, key="pg_original", disabled=has_file)


def update() -> None:
    """Train for a short time, then draw."""
    if state.pg_running:
        work = min(max(SHARE * (time.perf_counter() - state.pg_trained), SHORTEST), LONGEST)
        advance(lambda trainer: trainer.run_for(work / 2 if state.get("pg_rival") else work))
        state.pg_trained = time.perf_counter()
        if state.pg_trainer.done or not state.pg_running:
            pause()
            st.rerun()  # the buttons are outside of this fragment
    if state.pop("pg_again", False):
        st.rerun()
    trainer, rival = state.pg_trainer, state.get("pg_rival")
    with task_guard():
        show_metrics(trainer, rival)
        board(trainer, rival, "pg_board", act, state.pg_running)
        st.caption(in_words(trainer))


def show_metrics(trainer: Trainer, rival: Trainer | None) -> None:
    """Show the results of the last epoch; those of the rival as differences."""

    def difference(mine: float | None, theirs: float | None) -> str | None:
        return None if mine is None or theirs is None else f"{mine - theirs:+.3f} of the rival"

    loss, test = (losses[-1] if losses else None for losses in (trainer.losses, trainer.test_losses))
    rivals = (rival.losses[-1] if rival.losses else None, rival.test_losses[-1] if rival.losses else None) if rival else (None, None)
    tests = len(trainer.points.numbers(test=True))
    with st.container(horizontal=True):
        st.metric("Epoch", f"{trainer.epoch} / {trainer.total}", width=210)
        st.metric("Training loss", "-" if loss is None else f"{loss:.3f}", difference(loss, rivals[0]), "inverse", width=170)
        st.metric("Test loss", "-" if test is None else f"{test:.3f}", difference(test, rivals[1]), "inverse", width=170)
        st.metric("Correct test points", f"{trainer.test_correct[-1]} / {tests}" if trainer.epoch and tests else "-", width=150)


def in_words(trainer: Trainer) -> str:
    """Describe the picture in text."""
    points, tests = len(trainer.points.X), len(trainer.points.numbers(test=True))
    units = " and ".join(map(str, trainer.setting.sizes[1:-1]))
    hidden = f"hidden layers of {units} units" if units else "no hidden layer"
    losses = f" Training loss {trainer.losses[-1]:.3f} after {trainer.epoch} epochs." if trainer.epoch else " Not trained yet."
    return (
        f"A network with {hidden}; {points} points, of which {tests} are for testing (hollow). Triangles have label 1, circles label 0. "
        "Each small square is what a unit computes at each point of the plane, from orange (low) to blue (high). A line is a weight: "
        f"orange if negative, blue if positive, thicker if larger.{losses} Click a line or the corner of a unit to change a weight or a "
        "bias, the large picture to add or remove a point."
    )


def show_weights(trainer: Trainer) -> None:
    """Show a form that sets one weight or bias, for those who do not use a pointer."""
    with st.expander("Set a weight or a bias"), task_guard():
        names = trainer.names()
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        name = left.selectbox("Parameter", list(names), key="pg_parameter")
        value = middle.number_input("Value", -100.0, 100.0, 0.0, 0.1, key="pg_value")
        event = names[name] | {"value": value}
        right.button("Set", on_click=act, args=(event,), key="pg_set")


def show_run(trainer: Trainer, rival: Trainer | None) -> None:
    """Show the run as a command and as a Python script, and its points as a file."""
    setting = trainer.setting
    if state.get("pg_clicked") is not None:
        setting = replace(setting, file=CSV)
        csv = trainer.points.to_csv()
        st.download_button("Download the points", csv, CSV, "text/csv", icon=":material/download:", key="pg_download")
    command, python = st.tabs(["Command line", "Python"])
    command.code(setting.command(), language="bash", wrap_lines=True)
    python.code(script.write(setting), language="python")
    if trainer.changed:
        st.caption(
            "Points, weights or settings were changed during this run. Command and script train with the current ones from the start."
        )
    if rival is not None:
        different = [name for name, value in asdict(rival.setting).items() if value != getattr(trainer.setting, name)]
        words = ", ".join(f"{name} {getattr(rival.setting, name)}" for name in different) or "the same settings; change one"
        st.caption(f"The rival has {plain(words)}.")
