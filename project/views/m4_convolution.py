"""Module 4: a convolution step by step, with the products and the sum for every element of the result."""

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from project.lab import kernels, task_source
from project.lab.cards import WrongResult, plain
from project.lab.explorers import pictures
from project.lab.explorers.convolution import MOST, Convolution, Walk, panels, remark, rule, sentence, window
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import parse_array
from project.lab.typed.source import Refused
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player
from project.lab.widgets.window import moving_window

DIMS = {"1D": 1, "2D": 2}
SAME, GENERAL = "course", "general"
FIRST_KERNEL = {1: "difference", 2: "vertical edges"}
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


def pick_cell() -> None:
    """Go to the element of the result that was clicked."""
    numbers = (state.conv_picture.picked or "").split(",")
    if len(numbers) == 3:
        o, y, x = map(int, numbers)
        state.conv_step = shown.number((o, y, x)) + 1
        state.conv_step_playing = False


st.title("Convolution")
st.write("A kernel of weights slides over an image. The sum of its products with the pixels below is one element of the result.")
row = st.container(horizontal=True, vertical_alignment="bottom")
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
number = player(shown.size, "conv_step", "Elements computed", plays=True)
st.caption(plain(sentence(shown, number)))
wrong = ~np.isclose(out, shown.expected, rtol=1e-6, atol=1e-6)
moving_window(panels(shown, number, out, wrong), window(shown, number), "conv_picture", pick_cell)
st.caption(
    "Move the pointer over the image or the result: the window follows. Click to go there. Blue frame: under the window. "
    "Dashed: outside of the image, where the value is 0. Green frame: just computed. Colors show the values: blue for positive, orange for "
    "negative, darker for larger."
)
st.caption(plain(rule(shown)))
if walk.reverse:
    st.caption(
        "In reverse, an element of the result depends on the window that ends at its position. These are exactly the results of the "
        "forward pass to which a pixel contributes, so the gradient of the image is the reversed convolution of the gradient of the result."
    )
if walk.padding is not None:
    st.caption(
        f"This is the form of PyTorch's conv{dims}d, `minitorch.nn.conv{dims}d` in the full library. The tasks do not need it, so the "
        f"result is computed by this page. {plain(remark(shown))}"
    )
elif own is None:
    st.caption("The result is computed by this page until your own code returns one.")
else:
    st.caption(f"The result comes from your `conv{dims}d` and is checked against the arithmetic.")
task_source.show_task(f"4.{dims}")
