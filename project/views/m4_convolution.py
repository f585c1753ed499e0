"""Module 4: a convolution element by element, with its products and their sum; pooling window by window, with the gradient of each."""

from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from project.lab import kernels, task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells
from project.lab.explorers import pictures, pooling
from project.lab.explorers.convolution import MOST, Convolution, Walk, panels, remark, rule, sentence, window
from project.lab.explorers.pooling import KINDS, Pooling
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import parse_array
from project.lab.typed.source import Refused
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.parts import show_one
from project.lab.widgets.player import player
from project.lab.widgets.window import moving_window

DIMS = {"1D": 1, "2D": 2}
SAME, GENERAL = "course", "general"
FIRST_KERNEL = {1: "difference", 2: "vertical edges"}
FORWARD, BACKWARD = "forward", "backward"
state = st.session_state


def select_image(row: DeltaGenerator) -> tuple[int, np.ndarray]:
    """Show the controls that select an image; return its number of dimensions and its values."""
    with row:
        chosen = st.segmented_control("Dimensions", list(DIMS), default="2D", required=True, key="conv_dims", bind="query-params")
    dims = DIMS[chosen or "2D"]
    return dims, image_choice.image("conv", dims, MOST, row=row)


def take_kernel(key: str, dims: int) -> None:
    """Copy the selected kernel into the text field."""
    if state[f"{key}_example"]:
        state[key] = pictures.kernel_text(dims, state[f"{key}_example"])


def read_weight(row: DeltaGenerator, dims: int) -> np.ndarray:
    """Return the weight in the text field, shape (out_channels, in_channels, kh, kw). Invalid input ends the page with an error."""
    key = f"conv_weight_{dims}"
    first = pictures.kernel_text(dims, FIRST_KERNEL[dims])
    with row:
        st.selectbox(
            "Kernels",
            list(pictures.KERNELS[dims]),
            index=None,
            key=f"{key}_example",
            on_change=take_kernel,
            args=(key, dims),
            placeholder="Choose one",
            width=150,
        )
        text = st.text_input("Weight", first, key=key, bind="query-params", width=260)
    try:
        weight = parse_array(text, dims + 2, 5, dims)
    except Refused as refusal:
        refuse(str(refusal), f"Enter a kernel such as {first}, at most 5 numbers wide. Add brackets for input and output channels.")
    return weight if dims == 2 else weight[:, :, None]


def select_walk(row: DeltaGenerator) -> Walk:
    """Show the controls for stride, padding and dilation, or for the form of the course, and return their values."""
    with row:
        form = st.segmented_control("Form", (SAME, GENERAL), default=SAME, required=True, key="conv_form", bind="query-params")
        if form == GENERAL:
            stride = whole_number("Stride", "conv_stride", 2, 1, 4)
            padding = whole_number("Padding", "conv_padding", 1, 0, 3)
            return Walk(stride=stride, padding=padding, dilation=whole_number("Dilation", "conv_dilation", 1, 1, 3))
        help = "Anchors the window at its last element, as in the backward pass."
        return Walk(reverse=st.toggle("reverse", key="conv_reverse", bind="query-params", help=help))


def student_result(shown: Convolution) -> np.ndarray | None:
    """Return the result of the student's code. If it fails, show a card and return None."""
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        kernels.check()
        with st.spinner("Compiling the kernel. This may take half a minute …"):
            found = network_functions.convolve(shown.image, shown.weight, shown.dims, shown.walk.reverse)
        if wrong := network_functions.complaint(
            f"conv{shown.dims}d{', reversed,' if shown.walk.reverse else '(input, weight)'}", found, shown.expected
        ):
            with task_guard(stop=False):
                raise WrongResult(wrong)
        return found
    return None


def pick_cell(shown: Convolution) -> None:
    """Go to the element of the result that was clicked."""
    numbers = (state.conv_picture.picked or "").split(",")
    if len(numbers) == 3:
        o, y, x = map(int, numbers)
        state.conv_step = shown.number((o, y, x)) + 1
        state.conv_step_playing = False


def show_convolution() -> None:
    """Show the window of a convolution, the products under it and the result so far."""
    st.write("A kernel of weights slides over an image. The sum of its products with the pixels below is one element of the result.")
    row = st.container(horizontal=True, vertical_alignment="bottom", key="conv_settings")
    dims, image = select_image(row)
    weight = read_weight(row, dims)
    fitted = pictures.fit(weight, image.shape[0])
    if fitted is not weight:
        st.caption(f"The weight has one channel, which is repeated for all {image.shape[0]} channels of the image.")
    walk = select_walk(row)
    try:
        shown = Convolution(image, fitted, walk, dims)
    except Refused as refusal:
        refuse(str(refusal), "Choose another kernel, a larger image or more padding.")
    own = None if walk.padding is not None else student_result(shown)
    out = shown.expected if own is None else own
    number = player(shown.size, "conv_step", "Elements computed", 1, plays=True)
    st.caption(plain(sentence(shown, number)))
    wrong = ~np.isclose(out, shown.expected, rtol=1e-6, atol=1e-6)
    moving_window(panels(shown, number, out, wrong), window(shown, number), "conv_picture", partial(pick_cell, shown))
    st.caption(
        "Move the pointer over the image or the result: the window follows. Click to go there. Blue frame: under the window. "
        "Dashed: outside of the image, where the value is 0. Green frame: just computed. Colors show the values: blue for positive, "
        "orange for negative, darker for larger."
    )
    show_notes(shown, own)
    task_source.show_task(f"4.{dims}")


def show_notes(shown: Convolution, own: np.ndarray | None) -> None:
    """Show the formula of the convolution, and where the result comes from."""
    st.caption(plain(rule(shown)))
    if shown.walk.reverse:
        st.caption(
            "In reverse, an element of the result depends on the window that ends at its position. These are exactly the results of the "
            "forward pass to which a pixel contributes, so the gradient of the image is the reversed convolution of the gradient of the "
            "result."
        )
    if shown.walk.padding is not None:
        st.caption(
            f"This is the form of PyTorch's conv{shown.dims}d, `minitorch.nn.conv{shown.dims}d` in the full library. The tasks do not need "
            f"it, so the result is computed by this page. {plain(remark(shown))}"
        )
    elif own is None:
        st.caption("The result is computed by this page until your own code returns one.")
    else:
        st.caption(f"The result comes from your `conv{shown.dims}d` and is checked against the arithmetic.")


def read_pooling() -> tuple[Pooling, str | None]:
    """Show the controls for image, window, kind and direction; return the pooling and the direction."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="pool_settings")
    image = image_choice.image("pool", 2, MOST, "a slope", row)
    with row:
        channel = whole_number("Channel", "pool_channel", 0, 0, len(image) - 1) if len(image) > 1 else 0
        rows = whole_number("Window rows", "pool_rows", 2, 1, 8)
        columns = whole_number("Window columns", "pool_columns", 2, 1, 8)
        kind = st.segmented_control("Pooling", KINDS, default=KINDS[0], required=True, key="pool_kind", bind="query-params")
        ways = FORWARD, BACKWARD
        direction = st.segmented_control("Direction", ways, default=FORWARD, required=True, key="pool_direction", bind="query-params")
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
    return Pooling(image[channel, :height, :width], (rows, columns), kind or KINDS[0]), direction


def student_pooling(shown: Pooling, grad_output: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
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


def pick_window(shown: Pooling) -> None:
    """Go to the window that was clicked."""
    row, _, column = (state.pool_picture.picked or "").partition(",")
    if row:
        state.pool_step = int(row) * shown.shape[1] + int(column) + 1
        state.pool_step_playing = False


def show_pooling() -> None:
    """Show the windows of an image, their maximum or mean, and the gradient of each window."""
    st.write(
        "Pooling replaces each window of an image by its maximum or its mean. This keeps what was detected, but not exactly where. It has "
        "no weights."
    )
    try:
        shown, direction = read_pooling()
    except Refused as refusal:
        refuse(str(refusal), "Choose another window.")
    grad_output = np.arange(1.0, shown.size + 1).reshape(shown.shape)
    tiles, out, gradient, own = student_pooling(shown, grad_output)
    number = player(shown.size, "pool_step", "Windows computed", 1, plays=True)
    st.write(plain(pooling.sentence(shown, number)))
    pick = partial(pick_window, shown)
    if direction == BACKWARD:
        st.code(pooling.back_arithmetic(shown, number, grad_output, gradient), language=None, wrap_lines=True)
        cells.draw(pooling.back_panels(shown, number, grad_output, gradient), "pool_picture", pick)
        st.write(plain(pooling.lesson(shown, pooling.rule_of(shown, grad_output, gradient) if own else None)))
        st.caption("The gradient of the result is 1, 2, 3 … in this example, so that each value shows which window it comes from.")
    else:
        st.code(pooling.arithmetic(shown, number), language=None, wrap_lines=True)
        cells.draw(pooling.forward_panels(shown, number, out, tiles), "pool_picture", pick)
        st.caption(
            "`tile` moves the values of each window into the last dimension. Pooling is then a maximum or mean along that dimension."
        )
    source = "come from your code and are checked against the arithmetic" if own else "are computed by this page where your code fails"
    st.caption(
        "Blue frame: the window. Green frame: the values that determine the result. Hover over a number to highlight its window; click it "
        f"to go there. The numbers {source}."
    )
    task_source.show_task(*(("4.4", "Max", "max", "argmax", "maxpool2d") if shown.kind == KINDS[0] else ("4.3",)))


st.title("Convolution, pooling")
show_one(m4_convolution=show_convolution, m4_pooling=show_pooling)
