"""The page of the playground: settings, buttons, the board, a race against other settings, and the run as a command and as Python."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

import minitorch
from minitorch.datasets import Graph
from project.lab import guard, sources
from project.lab.cards import explain, plain
from project.lab.charts import charts
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.playground import script, share
from project.lab.playground.board import board
from project.lab.playground.points import MOST_BYTES, Points, make_points, read_csv
from project.lab.playground.presets import PRESETS
from project.lab.playground.setting import (
    ACTIVATIONS,
    FEATURES,
    LIVE,
    NETWORKS,
    OPTIMIZERS,
    PROGRAMS,
    RATES,
    REGULARIZATIONS,
    PlaygroundSetting,
)
from project.lab.playground.trainer import Trainer
from project.lab.playground.trainers import make_trainer
from project.lab.time_limit import TimeLimitExceeded
from project.lab.training import run_files
from project.lab.widgets.fields import whole_number

TICK = 0.1  # seconds between updates of the page
SHORTEST, LONGEST = 0.06, 0.3  # seconds of training in each
SHARE = 4  # training takes this many times the time of drawing, if the longest allows it
RECENT = 50  # epochs over which the speed is measured
BIND: Any = "query-params"
CSV = "points.csv"
DEFAULT = PlaygroundSetting(network=NETWORKS[0])
DATA = ("dataset", "points", "noise", "test", "seed", "file")  # the fields that determine the points

STYLE = """
.stMainBlockContainer:has(.st-key-pg_bar) {padding-top: 1.2rem; padding-bottom: 1rem}
.stMainBlockContainer:has(.st-key-pg_bar) > .stVerticalBlock {gap: .6rem}
.st-key-pg_bar, .st-key-pg_controls {gap: .7rem; row-gap: .4rem}
.st-key-pg_metrics {gap: 0 1.6rem}
.st-key-pg_metrics [data-testid="stMetric"] {display: flex; flex-wrap: wrap; gap: 0 .4rem; align-items: baseline}
.st-key-pg_metrics [data-testid="stMetricValue"] {font-size: 1.05rem; padding: 0}
@media (min-width: 1300px) {.st-key-pg_words {margin: -1.4rem 7rem 0 0} .st-key-pg_table {margin-top: -1.4rem}}
@media (max-width: 1000px) {:has(> * > * > .st-key-pg_table) > .stColumn {min-width: 100%}}
@media (min-width: 641px) and (max-height: 600px) {
  :has(> .st-key-pg_bar) {position: sticky; top: 0; z-index: 1; background: light-dark(#fff, #171614)}
  .st-key-pg_bar {gap: .3rem}
  .st-key-pg_bar h1 {padding: .2rem 0}
}
@media (max-width: 640px) {
  .stMainBlockContainer:has(.st-key-pg_bar) {padding-top: 3.8rem}
  .stMainBlockContainer:has(.st-key-pg_bar) > .stVerticalBlock > :has(> .st-key-pg_controls) {order: 1}
}
"""
"""Everything on one screen of a laptop; on a phone, the controls are below the board."""

state = st.session_state


def show(bar: DeltaGenerator) -> None:
    """Show the page.

    Args:
        bar: A horizontal container with the title, for the buttons.
    """
    state.setdefault("pg_running", False)
    st.html(f"<style>{STYLE}</style>")
    controls = st.container(horizontal=True, key="pg_controls")
    board_side, side = st.columns([5, 1], gap="medium")
    folds = {title: side.expander(title) for title in ("Data", "Network", "Training", "Race", "Set a weight")}
    upper, table = board_side.container(), board_side.expander("Points and source", key="pg_table", type="compact", bind=BIND)
    with upper:
        with task_guard():
            setting = read(controls, folds)
        prepared = None
        with task_guard(stop=False):
            prepared = prepare(setting)
        if table.open:  # also if the network is not written yet
            with table, task_guard():
                show_points(setting)
        if prepared is None:
            st.stop()
        trainer, rival = prepared
        show_buttons(bar, trainer)
        if state.get("pg_preset"):
            st.info(PRESETS[state.pg_preset].watch, icon=":material/visibility:")
        if state.pg_failure is not None:
            guard.show(state.pg_failure)
        st.fragment(update, run_every=TICK if state.pg_running else None)()
    with folds["Data"]:
        show_original()
    with folds["Race"]:
        show_race(trainer, rival)
    with folds["Set a weight"], task_guard():
        show_weights(trainer)
    with side.popover("Run elsewhere", width="stretch"):
        show_run(trainer)


# Settings; all of them are in the URL


def read(controls: DeltaGenerator, folds: Mapping[str, DeltaGenerator]) -> PlaygroundSetting:
    """Show the controls, the main ones in a line, and return the setting."""
    with controls:
        found = read_main()
    with folds["Data"]:
        found |= read_data()
    with folds["Network"]:
        found |= read_network()
    with folds["Training"]:
        found |= read_training()
    if found["file"]:
        upload(state.pg_file, found)
    if not found["features"]:
        guard.refuse("The network expected at least one input, got none.", "Choose one under **Network**.")
    try:
        return PlaygroundSetting(**found)
    except ValueError as error:
        guard.refuse(str(error), "Choose another value.")


def read_main() -> dict[str, Any]:
    """The controls over the board."""
    found: dict[str, Any] = {}
    file = from_file()
    names, help, blocked = list(PRESETS), file or "Settings to start from, and what to watch.", bool(file)
    st.selectbox(
        "Preset", names, None, key="pg_preset", on_change=apply_preset, placeholder="Try one", help=help, disabled=blocked, width=190
    )
    help = "Scalars: one number at a time. Tensors: a batch at once. Fast: on a compiled backend. Compiled: the step recorded and replayed."
    found["network"] = st.selectbox("Made of", NETWORKS, key="pg_network", bind=BIND, help=help, width=140)
    names = list(minitorch.datasets)
    at = names.index(DEFAULT.dataset)
    found["dataset"] = st.selectbox("Data set", names, at, key="pg_dataset", bind=BIND, help=file, disabled=blocked, width=140)
    at = ACTIVATIONS.index(DEFAULT.activation)
    found["activation"] = st.selectbox("Activation", ACTIVATIONS, at, key="pg_activation", bind=BIND, width=125)
    help = "momentum is SGD with momentum 0.9. The learning rate changes to one that suits the optimizer."
    found["optimizer"] = st.selectbox("Optimizer", OPTIMIZERS, key="pg_optimizer", bind=BIND, on_change=apply_rate, help=help, width=150)
    rate = RATES[found["optimizer"]]
    found["rate"] = float(st.number_input("Learning rate", 0.001, 10.0, rate, 0.05, "%g", key="pg_rate", bind=BIND, width=140))
    return found


def from_file() -> str | None:
    """Why presets, data set, points and noise cannot be chosen while there is a file; None if they can."""
    return "Without effect: the points come from your file. Remove it under **Data** first." if state.get("pg_file") else None


def read_data() -> dict[str, Any]:
    """The controls of the points."""
    found: dict[str, Any] = {}
    file = from_file()
    blocked = bool(file)
    found["points"] = whole_number("Points", "pg_points", DEFAULT.points, 4, 500, 10, help=file, disabled=blocked, width="stretch")
    help = file or "How far a point is moved at most, after it is labeled."
    found["noise"] = float(st.slider("Noise", 0.0, 0.5, DEFAULT.noise, 0.01, key="pg_noise", bind=BIND, help=help, disabled=blocked))
    help = "Test points are not trained on. A large gap between both losses is overfitting."
    found["test"] = int(st.slider("Test points (%)", 0, 90, DEFAULT.test, 10, key="pg_test", bind=BIND, help=help))
    help = "For the points, the split, the initial weights and the order of the points."
    found["seed"] = whole_number("Seed", "pg_seed", DEFAULT.seed, 0, 10_000, help=help, width="stretch")
    st.radio("A click adds a point of label", [1, 0], key="pg_label", horizontal=True)
    help = "Columns x1, x2, label (0 or 1) and, if you like, train or test. Larger coordinates are scaled."
    found["file"] = CSV if st.file_uploader("Your own points (CSV)", type="csv", key="pg_file", help=help) is not None else ""
    return found


def read_network() -> dict[str, Any]:
    """The controls of the inputs and the hidden layers."""
    help = "The inputs of the network, with coordinates from -1 to 1."
    features = st.multiselect("Inputs", list(FEATURES), DEFAULT.feature_names, key="pg_features", bind=BIND, help=help)
    help = "Units of each hidden layer, such as 4,3; none for no hidden layer. The buttons over the network change it, too."
    layers = st.text_input("Hidden layers", DEFAULT.layers, max_chars=30, key="pg_layers", bind=BIND, help=help)
    return {"features": ",".join(name for name in FEATURES if name in features), "layers": layers}


def read_training() -> dict[str, Any]:
    """The controls of training that are not over the board."""
    found: dict[str, Any] = {}
    found["batch"] = whole_number("Batch size", "pg_batch", DEFAULT.batch, 1, 500, 5, help="Points of an update.", width="stretch")
    help = "A penalty on large weights that is added to the loss."
    found["regularization"] = st.selectbox("Regularization", REGULARIZATIONS, key="pg_regularization", bind=BIND, help=help)
    found["penalty"] = float(st.number_input("Penalty", 0.0, 10.0, DEFAULT.penalty, 0.005, "%g", key="pg_penalty", bind=BIND))
    found["epochs"] = whole_number("Epochs", "pg_epochs", DEFAULT.epochs, 1, 100_000, 100, width="stretch")
    return found


def upload(file: UploadedFile, found: dict[str, Any]) -> None:
    """Read an uploaded file once; a file that cannot be read ends the page with a message."""
    key = (file.file_id, found["test"], found["seed"])
    if state.get("pg_uploaded", (None,))[0] == key:
        return
    try:
        if file.size > MOST_BYTES:
            raise ValueError(f"the file expected at most {MOST_BYTES:,} bytes, got {file.size:,}; leave out rows")
        state.pg_uploaded = (key, read_csv(file.getvalue(), found["test"], found["seed"]))
    except ValueError as error:
        guard.refuse(str(error), "Remove the file, or correct it and upload it again.")


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
        weights, biases, points = read_link(setting)
        trainer = make_trainer(setting, points or state.get("pg_clicked"))
        if weights:
            share.load_parameters(trainer, weights, biases)
        state.update(pg_failure=None, pg_made_from=made_from, pg_data=data, pg_trainer=trainer)
        state.pg_clicked = points or state.get("pg_clicked")
        restart_rival()
    state.pg_trainer.change(setting)
    return state.pg_trainer, state.get("pg_rival")


def read_link(setting: PlaygroundSetting) -> tuple[Any, Any, Points | None]:
    """The weights, the biases and the points of a link that was opened; only once."""
    text = st.query_params.pop(share.PARAMETER, "")
    if text in ("", state.get("pg_shared")):  # the browser may bring it back
        return None, None, None
    state.pg_shared = text
    try:
        return share.unpack(text, setting.sizes)
    except ValueError as error:
        guard.refuse(str(error), "Reload the page to go on without it.")


def restart_rival() -> None:
    """Let the rival begin anew, on the same points as the trainer."""
    rival = state.get("pg_rival")
    if rival is not None:
        state.pg_rival = make_trainer(rival.setting, state.pg_trainer.points)


# Callbacks


def apply_preset() -> None:
    """Fill the controls with a preset, and begin anew."""
    if state.pg_preset:
        values = PRESETS[state.pg_preset].values()
        state.update({f"pg_{name}": value for name, value in values.items()}, pg_features=values["features"].split(","))
        reset()


def apply_rate() -> None:
    """Choose a learning rate for the optimizer."""
    state.pg_rate = RATES[state.pg_optimizer]


def start() -> None:
    """Start or resume training."""
    state.update(pg_running=True, pg_trained=time.perf_counter())
    begin()


def begin() -> None:
    """Begin the file of each run, if there is none yet."""
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
    """Train to the end of the epoch."""
    begin()
    advance(lambda trainer: trainer.run_epoch())


def step_batch() -> None:
    """Make one update."""
    begin()
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
    state.pg_again = True  # links, files and the card of an error are outside of the fragment


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


def show_buttons(bar: DeltaGenerator, trainer: Trainer) -> None:
    """Show the buttons. They are outside of the fragment that updates itself."""
    idle, ended = not state.pg_running, trainer.done or state.pg_failure is not None
    with bar:
        st.button("Play", on_click=start, disabled=not idle or ended, icon=":material/play_arrow:", type="primary", key="pg_start")
        st.button("Pause", on_click=pause, disabled=idle, icon=":material/pause:", key="pg_pause")
        st.button("Step", on_click=step, disabled=not idle or ended, icon=":material/skip_next:", help="One epoch", key="pg_step")
        blocked, icon = not idle or ended, ":material/chevron_right:"
        st.button("One batch", on_click=step_batch, disabled=blocked, icon=icon, help="One update", key="pg_batch_step")
        st.button("Reset", on_click=reset, icon=":material/restart_alt:", help="Stop, with new weights", key="pg_reset")


def show_points(setting: PlaygroundSetting) -> None:
    """Show the points as a picture and a table, and the function that makes them."""
    points = state.get("pg_clicked") or make_points(setting)
    count, ones = len(points.y), sum(points.y)
    left, right = st.columns(2)
    with left:
        spec = charts.boundary([], Graph(count, list(points.X), list(points.y)))
        spec |= {"description": f"{count} labeled points.", "layer": spec["layer"][1:], "width": 250, "height": 250}  # without the heat map
        draw(spec, "pg_points_chart")
        st.caption(f"{count} points, {ones} with label 1 (triangles), {count - ones} with label 0 (circles).")
    with right:
        if not setting.file:
            st.code(inspect.getsource(minitorch.datasets[setting.dataset]), language="python", wrap_lines=True)
            st.code(f"minitorch.datasets[{setting.dataset!r}]({setting.points}, seed={setting.seed})", language="python", wrap_lines=True)
        sets = ["test" if each else "training" for each in points.is_test]
        columns = {"x_1": [x for x, _ in points.X], "x_2": [x for _, x in points.X], "label": points.y, "set": sets}
        st.dataframe(columns, hide_index=True, height=240, alt=f"Table of {count} points")


def show_original() -> None:
    """Show the button that restores the points, if they were changed."""
    if state.get("pg_clicked") is not None:
        help = from_file() or "Remove all points that you added, and restore those that you removed."
        icon, blocked = ":material/undo:", from_file() is not None
        st.button("Original points", on_click=original_points, icon=icon, help=help, key="pg_original", disabled=blocked)


def show_race(trainer: Trainer, rival: Trainer | None) -> None:
    """Show the button that starts or ends a race, and where the rival differs."""
    if rival is None:
        st.caption("Keep these settings as a rival, then choose others: both train the same number of epochs.")
        st.button("Race", on_click=race, icon=":material/flag:", key="pg_race")
        return
    st.button("End race", on_click=end_race, icon=":material/flag:", key="pg_end_race")
    different = [name for name, value in asdict(rival.setting).items() if value != getattr(trainer.setting, name)]
    words = ", ".join(f"{name} {getattr(rival.setting, name)}" for name in different) or "the same settings; change one"
    st.caption(f"The rival has {plain(words)}.")


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
        st.container(key="pg_words").caption(in_words(trainer))  # on a wide screen beside the board's button


def show_metrics(trainer: Trainer, rival: Trainer | None) -> None:
    """Show the results of the last epoch; those of the rival as differences."""

    def difference(mine: float | None, theirs: float | None) -> str | None:
        return None if mine is None or theirs is None else f"{mine - theirs:+.3f} of the rival"

    loss, test = (losses[-1] if losses else None for losses in (trainer.losses, trainer.test_losses))
    rivals = (rival.losses[-1] if rival.losses else None, rival.test_losses[-1] if rival.losses else None) if rival else (None, None)
    tests, seconds = len(trainer.points.numbers(test=True)), trainer.seconds[-RECENT:]
    speed = f"{len(seconds) / sum(seconds):,.0f}" if seconds else "-"
    with st.container(horizontal=True, key="pg_metrics"):
        st.metric("Epoch", f"{trainer.epoch} / {trainer.total}", width="content")
        st.metric("Training loss", "-" if loss is None else f"{loss:.3f}", difference(loss, rivals[0]), "inverse", width="content")
        st.metric("Test loss", "-" if test is None else f"{test:.3f}", difference(test, rivals[1]), "inverse", width="content")
        st.metric("Correct test points", f"{trainer.test_correct[-1]} / {tests}" if trainer.epoch and tests else "-", width="content")
        st.metric("Epochs a second", speed, width="content", help="Of training alone, without drawing.")


def in_words(trainer: Trainer) -> str:
    """Describe the picture in text."""
    points, tests = len(trainer.points.X), len(trainer.points.numbers(test=True))
    *units, last = [str(size) for size in trainer.setting.sizes[:-1]]
    units = " and ".join(filter(None, [", ".join(units[1:]), last]))
    hidden = f"hidden layers of {units} units" if trainer.setting.sizes[2:] else "no hidden layer"
    return f"A network with {hidden}; {points} points, of which {tests} are for testing (hollow). Circles are 0, triangles 1."


def show_weights(trainer: Trainer) -> None:
    """Show a form that sets one weight or bias, for those who do not use a pointer."""
    names = trainer.names()
    name = st.selectbox("Parameter", list(names), key="pg_parameter")
    value = st.number_input("Value", -100.0, 100.0, 0.0, 0.1, key="pg_value")
    st.button("Set", on_click=act, args=(names[name] | {"value": value},), key="pg_set")


def show_run(trainer: Trainer) -> None:
    """Show the run as a link, an HTML file, a command and a Python script, and its points as a file."""
    setting, own_points = trainer.setting, state.get("pg_clicked") is not None
    help = "The network and its points in one file, which any browser opens without a server."
    content = lambda: share.page(trainer, in_words(trainer))  # noqa: E731  # of the moment of the click
    with st.container(horizontal=True):
        st.download_button("HTML file", content, "playground.html", "text/html", icon=":material/html:", help=help, key="pg_html")
        if own_points:
            setting = replace(setting, file=CSV)
            csv = trainer.points.to_csv()
            st.download_button("Points", csv, CSV, "text/csv", icon=":material/download:", key="pg_download")
    command, python, link = st.tabs(["Command line", "Python", "Link"])
    command.code(setting.command(), language="bash", wrap_lines=True)
    python.code(script.write(setting), language="python")
    with link:
        show_link(trainer, own_points)
    if trainer.changed:
        st.caption(
            "Points, weights or settings were changed during this run. Command and script train with the current ones from the start."
        )


def show_link(trainer: Trainer, own_points: bool) -> None:
    """Show the address of the page with these weights."""
    if state.pg_running:
        st.caption("Press **Pause** for a link with the weights.")
        return
    try:
        query = share.link(trainer, own_points)
    except ValueError as error:
        st.caption(f"There is no link: {error}.")
        return
    if query is None:
        st.caption("There are too many points for a link. Share the HTML file, or the file of points.")
    else:
        st.caption("Opens this page with these settings, weights and points.")
        st.code(f"{str(st.context.url or '').partition('?')[0]}?{query}", language=None, wrap_lines=True, height=140)
