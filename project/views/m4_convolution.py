"""Module 4: a window that slides over an image cell by cell, with the products and the sum of every cell of the result."""

import numpy as np
import streamlit as st

from project.lab import kernels, task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells
from project.lab.explorers import pictures
from project.lab.explorers.convolution import MOST, Convolution, Walk, arithmetic, panels, remark, rule, sentence
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import parse_array
from project.lab.typed.expressions import Refused
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

DIMS = {"1D": 1, "2D": 2}
SAME, GENERAL = "as in the tasks", "general"
FIRST_KERNEL = {1: "difference", 2: "upright edges"}
state = st.session_state


def chosen_image() -> tuple[int, np.ndarray]:
    """The number of dimensions, and the image."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        chosen = st.segmented_control("Dimensions", list(DIMS), default="2D", required=True, key="conv_dims", bind="query-params")
    dims = DIMS[chosen or "2D"]
    return dims, image_choice.image("conv", dims, MOST, row=row)


def take_kernel(key: str, dims: int) -> None:
    """Put the chosen kernel into the field."""
    if state[f"{key}_example"]:
        state[key] = pictures.kernel_text(dims, state[f"{key}_example"])


def typed_weight(dims: int) -> np.ndarray:
    """The weight as it was typed: output channels, channels, rows, columns."""
    key = f"conv_weight_{dims}"
    state.setdefault(key, pictures.kernel_text(dims, FIRST_KERNEL[dims]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Kernels",
            list(pictures.KERNELS[dims]),
            index=None,
            key=f"{key}_example",
            on_change=take_kernel,
            args=(key, dims),
            placeholder="Choose one",
            width=200,
        )
        text = st.text_input("Weight", key=key, bind="query-params", width=430)
    try:
        weight = parse_array(text, dims + 2, 5, dims)
    except Refused as refusal:
        example = pictures.kernel_text(dims, FIRST_KERNEL[dims])
        refuse(str(refusal), f"Type a kernel such as {example}, at most 5 numbers wide; more brackets for channels and output channels.")
    return weight if dims == 2 else weight[:, :, None]


def chosen_walk(dims: int) -> Walk:
    """How the window walks."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        form = st.segmented_control("Form", (SAME, GENERAL), default=SAME, required=True, key="conv_form", bind="query-params")
        if form == GENERAL:
            stride = whole_number("Stride", "conv_stride", 2, 1, 4)
            padding = whole_number("Padding", "conv_padding", 1, 0, 3)
            return Walk(stride=stride, padding=padding, dilation=whole_number("Dilation", "conv_dilation", 1, 1, 3))
        help = "Anchors the window at its last number: so the gradient goes back to the image."
        return Walk(reverse=st.toggle("reverse", key="conv_reverse", bind="query-params", help=help))


def students(shown: Convolution) -> np.ndarray | None:
    """The result of the student's code; None, with a card, if it has none."""
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        kernels.check()
        with st.spinner("The kernel is being compiled, which may take half a minute …"):
            found = network_functions.convolved(shown.image, shown.weight, shown.dims, shown.walk.reverse)
        if wrong := network_functions.complaint(
            f"conv{shown.dims}d{', reversed,' if shown.walk.reverse else '(input, weight)'}", found, shown.expected
        ):
            with task_guard(stop=False):
                raise WrongResult(wrong)
        return found
    return None


def picked() -> None:
    """A cell of the result was clicked."""
    numbers = (state.conv_picture.picked or "").split(",")
    if len(numbers) == 3:
        o, y, x = map(int, numbers)
        state.conv_step = shown.number((o, y, x)) + 1
        state.conv_step_playing = False


st.title("Convolution")
st.write(
    "A small window of weights slides over an image. At every place the numbers under it are multiplied with the weights, and the products"
    " are added up: one number of the result. The same few weights serve every place, so that an edge is found wherever it is."
)
dims, image = chosen_image()
weight = typed_weight(dims)
fitted = pictures.fit(weight, image.shape[0])
if fitted is not weight:
    st.caption(f"The weight has one channel: it serves all {image.shape[0]} of the image.")
walk = chosen_walk(dims)
try:
    shown = Convolution(image, fitted, walk, dims)
except Refused as refusal:
    refuse(str(refusal), "Choose another kernel, a larger image, or more padding.")
own = None if walk.padding is not None else students(shown)
out = shown.expected if own is None else own
number = player(shown.size, "conv_step", "Cells computed", plays=True)
st.write(plain(sentence(shown, number)))
st.code(arithmetic(shown, number), language=None, wrap_lines=True)
wrong = ~np.isclose(out, shown.expected, rtol=1e-6, atol=1e-6)
cells.draw(panels(shown, number, out, wrong), "conv_picture", picked)
st.caption(
    "Blue frame: under the window. Dashed: beyond the edge, where the image counts as 0. Green frame: just computed. Point at a number to "
    "see its weight and its product; click a cell of the result to go there. The deeper the colour, the larger the number: blue above 0, "
    "orange below."
)
st.caption(plain(rule(shown)))
if walk.reverse:
    st.caption(
        "Reversed, a number of the result is made of those up to one window before it. A pixel has a part in just these results of the "
        "forward pass: so the gradient of the image is the reversed convolution of the gradient of the result."
    )
if walk.padding is not None:
    st.caption(
        f"This is the form of PyTorch's conv{dims}d, `minitorch.nn.conv{dims}d` in the full library; the tasks need only the other. Its "
        f"numbers are those of the arithmetic above. {plain(remark(shown))}"
    )
elif own is None:
    st.caption("The numbers of the result are those of the arithmetic until your own code gives some.")
else:
    st.caption(f"The numbers of the result come from your `conv{dims}d`, and each is held against the arithmetic.")
task_source.show_task(f"4.{dims}")
