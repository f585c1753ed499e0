"""A guided tour of each module: steps on its pages that tick themselves off when they have been done."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from course.workspace.atomic_files import write_bytes
from project.lab import registry
from project.lab.training import run_files

State = Mapping[str, Any]

DONE, OPEN = "check_circle", "radio_button_unchecked"


@dataclass(frozen=True)
class Step:
    """One step of a tour.

    Attributes:
        id: Its name in the file of finished steps.
        page: The page, or the part of a page, on which it is done.
        text: What to do.
        done: Whether it has been done, given the session state after a run of the page.
    """

    id: str
    page: str
    text: str
    done: Callable[[State], bool]


def chosen(key: str, *values: Any) -> Callable[[State], bool]:
    """Whether the control with this key has one of these values."""
    return lambda state: state.get(key) in values


def at_least(key: str, least: float) -> Callable[[State], bool]:
    """Whether the control with this key has at least this value."""
    return lambda state: isinstance(state.get(key), (int, float)) and state[key] >= least


def contains(key: str, part: str) -> Callable[[State], bool]:
    """Whether the text field with this key contains a text."""
    return lambda state: part in (state.get(key) or "")


def trained(epochs: int) -> Callable[[State], bool]:
    """Whether the network on a training page has been trained for this many epochs."""
    return lambda state: getattr(state.get("trainer"), "epoch", 0) >= epochs


def predicted(state: State) -> bool:
    """Whether a question of the quiz has been answered."""
    return any(str(key).startswith("answer_") and value is not None for key, value in state.items())


STEPS = (
    Step("relu", "m0_operators", "Choose relu. Where does its derivative jump?", chosen("operator", "relu")),
    Step("eval", "m0_modules", "Switch a network to evaluation mode.", chosen("mode", "eval()")),
    Step("line", "m0_manual", "Move the line until every point is classified correctly.", lambda s: bool(s.get("manual_separated"))),
    Step(
        "spiral",
        "m0_manual",
        "Draw Spiral with 200 points. Can a line separate them?",
        lambda s: s.get("dataset") == "Spiral" and s.get("points", 0) >= 200,
    ),
    Step("epsilon", "m1_derivative", "Make epsilon so small that the error grows again.", lambda s: 0 < s.get("epsilon", 1) <= 1e-10),
    Step("backward", "m1_graph", "Step the backward pass through three variables.", at_least("moment", 3)),
    Step(
        "paths",
        "m1_graph",
        "Choose another order of the visits. What does it cost?",
        lambda s: not s.get("order", "topo").startswith("topo"),
    ),
    Step("predict", "m1_graph", "Turn on the quiz and predict a derivative.", predicted),
    Step("forward", "m1_trace", "Run forward mode with another input.", chosen("seed_input", "x2", "x3")),
    Step("scalars", "m1_training", "Train for 20 epochs, then press Pause.", trained(20)),
    Step("drag", "m2_strides", "Drag the dimensions of the result into another order.", lambda s: bool(s.get("strides_dragged"))),
    Step("expand", "m2_strides", "Make several cells read the same position: add expand.", contains("steps", "expand")),
    Step("sum", "m2_broadcasting", "Follow the gradient: switch the direction to backward.", chosen("direction", "backward")),
    Step("reduce", "m2_functions", "Reduce a tensor along a dimension.", chosen("kind", "Reduction")),
    Step("tensors", "m2_graph", "Step the backward pass through two tensors.", at_least("step", 2)),
    Step("vectorized", "m2_training", "Train for 20 epochs. How much faster is an epoch than with scalars?", trained(20)),
    Step("parallel", "m3_diagnostics", "Read the report of another kernel than map.", lambda s: s.get("kernel") not in (None, "map")),
    Step("speed", "m3_speed", "Time the backends on your machine.", lambda s: s.get("speed_job") is not None),
    Step("tiles", "m3_tiling", "Play the tiled product for ten steps. Who reads memory?", at_least("tiling_step", 10)),
    Step("race", "m3_grid", "Remove a part of a kernel and see what goes wrong.", lambda s: s.get("grid_missing") not in (None, "nothing")),
    Step("warp", "m3_kernels", "Step a warp through ten lines of a kernel.", at_least("kernel_step", 10)),
    Step("batches", "m3_training", "Train for 10 epochs in mini-batches.", trained(10)),
    Step("window", "m4_convolution", "Slide the kernel over ten elements.", at_least("conv_step", 10)),
    Step("pool", "m4_pooling", "See where the gradient of a maximum goes.", chosen("pool_direction", "backward")),
    Step("warm", "m4_softmax", "Raise the temperature to 2 or more.", at_least("softmax_temperature", 2.0)),
    Step("evaluate", "m4_dropout", "Switch dropout to evaluation mode. What is zero now?", chosen("drop_mode", "evaluation")),
    Step("digits", "m4_images", "Train on digits until the first checkpoint.", lambda s: bool(s.get("images_kept"))),
    Step("draw", "m4_images", "Draw a digit of your own.", lambda s: bool(s.get("images_pad_strokes"))),
    Step("words", "m4_sentiment", "Train on sentences until the first checkpoint.", lambda s: bool(s.get("sentiment_kept"))),
    Step("passes", "m5_compiled", "Follow the program through two passes.", at_least("compiled_stage", 2)),
    Step("merges", "m6_tokens", "Follow five merges. Which word is one token first?", at_least("tokens_step", 5)),
    Step(
        "equal",
        "m6_layers",
        "Normalize another row. What happens if its numbers are equal?",
        lambda s: s.get("layers_row") not in (None, "[1, 2, 3, 10]"),
    ),
    Step(
        "future",
        "m6_attention",
        "Change the last token. Which outputs change with the mask, and which without?",
        chosen("attend_changed", True),
    ),
    Step(
        "batch",
        "m6_model",
        "Let a model with 20 tokens or more learn its batch. Where does its loss begin?",
        at_least("model_vocabulary", 20),
    ),
    Step(
        "online",
        "m6_fused",
        "Make tiles of two keys. At which tile is the factor less than 1, and does the result change?",
        chosen("fused_tile", 2),
    ),
    Step(
        "nucleus",
        "m6_generation",
        "Keep the tokens with a sum of 0.5. How many are they at a high temperature?",
        chosen("generate_top_p", 0.5),
    ),
    Step(
        "warm_up",
        "m6_training",
        "Shorten the warm-up to 5 steps or fewer. From which rate on does the training need more?",
        lambda s: s.get("train_warmup", 15) <= 5,
    ),
    Step(
        "outlier",
        "m6_quantization",
        "Make the largest weight 10 or more. How many integers do the others still use?",
        at_least("quantize_largest", 10),
    ),
    Step(
        "without_adapters",
        "m6_lora",
        "Switch the adapters off. Which text does the network know without them?",
        chosen("lora_on", False),
    ),
    Step("generate", "m6_language_model", "Generate ten tokens. Where does the model hesitate?", at_least("language_step", 10)),
    Step("ring", "m6_machines", "Step the ring until every process has the sum.", at_least("ring_step", 6)),
    Step("sum_of_tenths", "m7_formats", "Add 0.1 and 0.2 from the examples.", lambda s: s.get("formats_sum") is not None),
)


def path() -> Path:
    """The file of finished steps, next to the runs of this workspace; its name begins with a dot, so that it is not taken for one."""
    return run_files.folder() / ".tours.json"


def load() -> set[str]:
    """The ids of the finished steps; a missing or damaged file has none."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(path().read_bytes())
        if isinstance(found, list):
            return {step for step in found if isinstance(step, str)}
    return set()


def finished() -> set[str]:
    """The ids of the finished steps, read from the file once in a session."""
    if "tours_done" not in st.session_state:
        st.session_state["tours_done"] = load()
    return st.session_state["tours_done"]


def tick(page: str, state: State) -> list[Step]:
    """Tick off the steps that have now been done on a page, and store them; return them."""
    done = finished()
    new = [step for step in STEPS if step.page == page and step.id not in done and step.done(state)]
    if new:
        done |= {step.id for step in new} | load()  # another session may have written since
        with contextlib.suppress(OSError):  # a workspace that cannot be written to still ticks for this session
            write_bytes(path(), json.dumps(sorted(done)).encode())
    return new


def steps_of(module: int) -> tuple[Step, ...]:
    """The tour of a module, without the pages that this workspace lacks."""
    pages = {view.name for view in registry.present(registry.ROWS) if view.module == module}
    return tuple(step for step in STEPS if step.page in pages)


def count(steps: Iterable[Step]) -> str:
    """How many of these steps are done, such as "2 of 5"."""
    steps = list(steps)
    return f"{sum(step.id in finished() for step in steps)} of {len(steps)}"


def next_step(steps: Iterable[Step]) -> Step | None:
    """The first step that is not done."""
    return next((step for step in steps if step.id not in finished()), None)


def show(place: Any, page: registry.View) -> None:
    """Tick off what was done on a page, and show the tour of its module in a menu.

    Args:
        place: An empty container above the page.
        page: The page, or its part that is open.
    """
    module, name = page.module, page.name
    steps = () if module is None else steps_of(module)
    if not steps:
        return
    for step in tick(name, st.session_state.to_dict()):
        st.toast(f"Tour: {step.text}", icon=f":material/{DONE}:")
    following = next_step([step for step in steps if step.page == name]) or next_step(steps)
    text = following.text if following else "every step is done."
    if following and following.page != name:
        text = f"go to {registry.view(following.page).title}."
    label = f"Tour of Module {module}, {count(steps)}: {text}"
    with place.popover(label, icon=":material/tour:", type="tertiary", wrap=True, key="tour"):
        for step in steps:
            link(step, page)


def link(step: Step, here: registry.View) -> None:
    """Show a step as a link to its page, with a tick if it is done; as a button if it is done on another part of this page."""
    icon = f":material/{DONE if step.id in finished() else OPEN}:"
    page = registry.view(step.page)
    if page != here and page.path == here.path:
        st.button(step.text, icon=icon, type="tertiary", on_click=st.session_state.update, args=(page.query,), key=f"tour_{step.id}")
    else:
        st.page_link(page.path, label=step.text, icon=icon, query_params=page.query)
