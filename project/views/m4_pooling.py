"""Module 4: pooling, window by window: what is kept of an image, and where the gradient goes back to."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells
from project.lab.explorers import pooling
from project.lab.explorers.convolution import MOST
from project.lab.explorers.pooling import KINDS, Pooling
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import Refused
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

FORWARD, BACKWARD = "forward", "backward"
state = st.session_state


def chosen() -> Pooling:
    """The image, the window and what becomes of it."""
    image = image_choice.image("pool", 2, MOST, "a slope")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        channel = whole_number("Channel", "pool_channel", 0, 0, len(image) - 1) if len(image) > 1 else 0
        rows = whole_number("Rows of a window", "pool_rows", 2, 1, 8)
        columns = whole_number("Its columns", "pool_columns", 2, 1, 8)
        kind = st.segmented_control("Pooling", KINDS, default=KINDS[0], required=True, key="pool_kind", bind="query-params")
    height, width = (size - size % side for size, side in zip(image.shape[1:], (rows, columns), strict=True))
    if not height or not width:
        refuse(
            f"expected a window of at most {image.shape[1]} by {image.shape[2]}, got {rows} by {columns}",
            "Choose a smaller window or a larger image.",
        )
    if (height, width) != image.shape[1:]:
        st.caption(
            f"Windows of {rows} by {columns} do not fill an image of {image.shape[1]} by {image.shape[2]}: `tile` must refuse it. Here it "
            f"is cut to {height} by {width}."
        )
    return Pooling(image[channel, :height, :width], (rows, columns), kind or KINDS[0])


def students(shown: Pooling, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """What the student's code makes of it: tile, result, and gradient of the image, with whether they are all there.

    What it does not give is that of the arithmetic.
    """
    tiles, out, gradient = shown.tiles, shown.expected, shown.gradients(grad_output)["all"]
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        tiles = network_functions.tiled(shown.image, shown.window)
        if wrong := network_functions.complaint(f"tile(input, {shown.window})", tiles, shown.tiles):
            with task_guard(stop=False):
                raise WrongResult(wrong)
        name = "maxpool2d" if shown.kind == KINDS[0] else "avgpool2d"
        out, gradient = network_functions.pooled(shown.kind, shown.image, shown.window, grad_output)
        if wrong := network_functions.complaint(f"{name}(input, {shown.window})", out, shown.expected):
            raise WrongResult(wrong)
        if pooling.rule_of(shown, grad_output, gradient) is None:
            raise WrongResult(f"backward of {name}(input, {shown.window}) leaves gradients in the image that are not those of its windows")
        return tiles, out, gradient, True
    return tiles, out, gradient, False


def picked() -> None:
    """A window was clicked."""
    row, _, column = (state.pool_picture.picked or "").partition(",")
    if row:
        state.pool_step = int(row) * shown.shape[1] + int(column) + 1
        state.pool_step_playing = False


st.title("Pooling")
st.write(
    "An image is cut into windows, and each becomes one number: the largest in it, or the mean. What was found stays, where exactly it was "
    "found is given up, and what comes after has less to compute. There is nothing to learn in it: no weights."
)
try:
    shown = chosen()
except Refused as refusal:
    refuse(str(refusal), "Choose another window.")
grad_output = np.arange(1.0, shown.size + 1).reshape(shown.shape)
direction = st.segmented_control(
    "Direction", (FORWARD, BACKWARD), default=FORWARD, required=True, key="pool_direction", bind="query-params"
)
tiles, out, gradient, own = students(shown, grad_output)
number = player(shown.size, "pool_step", "Windows done", plays=True)
st.write(plain(pooling.sentence(shown, number)))
if direction == BACKWARD:
    st.code(pooling.back_arithmetic(shown, number, grad_output, gradient), language=None, wrap_lines=True)
    cells.draw(pooling.back_panels(shown, number, grad_output, gradient), "pool_picture", picked)
    st.write(plain(pooling.lesson(shown, pooling.rule_of(shown, grad_output, gradient) if own else None)))
    st.caption("That which arrives at the result is 1, 2, 3 … here, so that every gradient tells from which window it came.")
else:
    st.code(pooling.arithmetic(shown, number), language=None, wrap_lines=True)
    cells.draw(pooling.forward_panels(shown, number, out, tiles), "pool_picture", picked)
    st.caption(
        "`tile` lays the numbers of each window in a row of their own: then the maximum or the mean along the last dimension is all that "
        "is left to do."
    )
st.caption(
    "Blue frame: the window. Green frame: what has a part in the result. Point at a number to see its window; click one to go there. "
    + (
        "The numbers come from your code, and each is held against the arithmetic."
        if own
        else "The numbers are those of the arithmetic where your own code gives none."
    )
)
if shown.kind == KINDS[0]:
    task_source.show_task("4.4", "Max", "max", "argmax", "maxpool2d")
else:
    task_source.show_task("4.3")
