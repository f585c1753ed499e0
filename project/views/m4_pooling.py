"""Module 4: pooling window by window, and the gradient of each window."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells
from project.lab.explorers import pooling
from project.lab.explorers.convolution import MOST
from project.lab.explorers.pooling import KINDS, Pooling
from project.lab.guard import refuse, task_guard
from project.lab.typed.source import Refused
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

FORWARD, BACKWARD = "forward", "backward"
state = st.session_state


def read_settings() -> Pooling:
    """Show the controls for image, window and kind of pooling, and return the pooling."""
    image = image_choice.image("pool", 2, MOST, "a slope")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        channel = whole_number("Channel", "pool_channel", 0, 0, len(image) - 1) if len(image) > 1 else 0
        rows = whole_number("Window rows", "pool_rows", 2, 1, 8)
        columns = whole_number("Window columns", "pool_columns", 2, 1, 8)
        kind = st.segmented_control("Pooling", KINDS, default=KINDS[0], required=True, key="pool_kind", bind="query-params")
    height, width = (size - size % side for size, side in zip(image.shape[1:], (rows, columns), strict=True))
    if not height or not width:
        refuse(
            f"expected a window of at most {image.shape[1]} by {image.shape[2]}, got {rows} by {columns}",
            "Choose a smaller window or a larger image.",
        )
    if (height, width) != image.shape[1:]:
        st.caption(
            f"A window of {rows} by {columns} does not divide an image of {image.shape[1]} by {image.shape[2]}, so `tile` must raise an "
            f"error. This page crops the image to {height} by {width}."
        )
    return Pooling(image[channel, :height, :width], (rows, columns), kind or KINDS[0])


def student_results(shown: Pooling, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return tiles, result and gradient of the image from the student's code, and whether all of them are correct.

    Where the student's code fails, a card is shown, and the values are those of this page.
    """
    tiles, out, gradient = shown.tiles, shown.expected, shown.gradients(grad_output)["all"]
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        tiles = network_functions.tile(shown.image, shown.window)
        if wrong := network_functions.complaint(f"tile(input, {shown.window})", tiles, shown.tiles):
            with task_guard(stop=False):
                raise WrongResult(wrong)
        name = "maxpool2d" if shown.kind == KINDS[0] else "avgpool2d"
        out, gradient = network_functions.pool(shown.kind, shown.image, shown.window, grad_output)
        if wrong := network_functions.complaint(f"{name}(input, {shown.window})", out, shown.expected):
            raise WrongResult(wrong)
        if pooling.rule_of(shown, grad_output, gradient) is None:
            raise WrongResult(f"the backward pass of {name}(input, {shown.window}) computes a wrong gradient of the image")
        return tiles, out, gradient, True
    return tiles, out, gradient, False


def pick_window() -> None:
    """Go to the window that was clicked."""
    row, _, column = (state.pool_picture.picked or "").partition(",")
    if row:
        state.pool_step = int(row) * shown.shape[1] + int(column) + 1
        state.pool_step_playing = False


st.title("Pooling")
st.write(
    "Pooling divides an image into windows and replaces each window by its maximum or its mean. This keeps what was detected but not "
    "exactly where, and leaves less work for the next layer. A pooling layer has no weights."
)
try:
    shown = read_settings()
except Refused as refusal:
    refuse(str(refusal), "Choose another window.")
grad_output = np.arange(1.0, shown.size + 1).reshape(shown.shape)
direction = st.segmented_control(
    "Direction", (FORWARD, BACKWARD), default=FORWARD, required=True, key="pool_direction", bind="query-params"
)
tiles, out, gradient, own = student_results(shown, grad_output)
number = player(shown.size, "pool_step", "Windows computed", plays=True)
st.write(plain(pooling.sentence(shown, number)))
if direction == BACKWARD:
    st.code(pooling.back_arithmetic(shown, number, grad_output, gradient), language=None, wrap_lines=True)
    cells.draw(pooling.back_panels(shown, number, grad_output, gradient), "pool_picture", pick_window)
    st.write(plain(pooling.lesson(shown, pooling.rule_of(shown, grad_output, gradient) if own else None)))
    st.caption("The gradient of the result is 1, 2, 3 … in this example, so that each value shows which window it comes from.")
else:
    st.code(pooling.arithmetic(shown, number), language=None, wrap_lines=True)
    cells.draw(pooling.forward_panels(shown, number, out, tiles), "pool_picture", pick_window)
    st.caption("`tile` moves the values of each window into the last dimension. Pooling is then a maximum or a mean along that dimension.")
st.caption(
    "Blue frame: the window. Green frame: the values that determine the result. Hover over a number to highlight its window; click it to "
    "go there. "
    + (
        "The numbers come from your code and are checked against the arithmetic."
        if own
        else "Where your code fails, the numbers are computed by this page."
    )
)
if shown.kind == KINDS[0]:
    task_source.show_task("4.4", "Max", "max", "argmax", "maxpool2d")
else:
    task_source.show_task("4.3")
