"""Module 4: dropout: the mask over the activations of a layer, and the distribution of the sum."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells, drawing
from project.lab.explorers import dropout as dropped
from project.lab.explorers.convolution import MOST
from project.lab.guard import task_guard
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number

TRAINING, USE = "training", "evaluation"
MASKS = 500


def read_settings() -> tuple[np.ndarray, float, int, bool, bool]:
    """Show the controls; return the values, the rate, the seed, whether dropout is off, and whether the sums are rescaled."""
    image = image_choice.image("drop", 2, MOST, "a slope")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rate = st.slider("Rate", 0.0, 1.0, 0.25, 0.05, key="drop_rate", bind="query-params", width=260)
        seed = whole_number("Seed", "drop_seed", 0, 0, 9999)
        mode = st.segmented_control("Mode", (TRAINING, USE), default=TRAINING, required=True, key="drop_mode", bind="query-params")
        rescaled = st.toggle("Divide by 1 - rate", key="drop_rescaled", bind="query-params", help="In the histogram, as nn.Dropout does.")
    return image[0], rate, seed, mode == USE, rescaled and rate < 1


st.title("Dropout")
st.write(
    "In training, dropout sets a random subset of the activations of a layer to 0, a new subset in each forward pass. No unit can rely on "
    "another one being present, so what is learned is spread over many units. In evaluation nothing is dropped."
)
values, rate, seed, ignore, rescaled = read_settings()
with task_guard(stop=False):
    from project.lab.explorers import network_functions

    left = network_functions.dropout(values, rate, seed, ignore)
    call = f"dropout(input, {rate:g}{', ignore=True' if ignore else ''})"
    if wrong := dropped.complaint(values, left):
        raise WrongResult(f"{call} {wrong}")
    if ignore and (wrong := network_functions.complaint(call, left, values)):
        raise WrongResult(wrong)
    mask = network_functions.dropout(np.ones(values.shape), rate, seed, ignore)
    kept = int(np.count_nonzero(mask))
    st.write(
        plain(
            f"{kept} of {mask.size} values are kept, {mask.size - kept} dropped. The sum changes from {values.sum():g} to {left.sum():g}."
        )
    )
    if np.array_equal(left, values * mask):
        cells.draw(dropped.panels(values, mask, left), "drop_picture", lambda: None)
    else:
        cells.draw(dropped.panels(values, ((left != 0) | (values == 0)).astype(float), left), "drop_picture", lambda: None)
        st.caption("Your code returns a different mask for the same seed. Draw it with `minitorch.rand`, which respects `manual_seed`.")
    st.caption(
        "Hatched: dropped. Your code draws the mask after `minitorch.manual_seed` with the seed above. Change the seed to get another mask."
    )
    sums = network_functions.dropout(np.repeat(values.reshape(1, -1), MASKS, 0), rate, seed, ignore).sum(1)
    sums = sums / (1 - rate) if rescaled and not ignore else sums
    if ignore:
        st.caption("In evaluation there is no mask, so the sum is always the same.")
    else:
        says = dropped.summary(values, sums, rate, rescaled)
        drawing.draw(dropped.histogram(sums, float(values.sum()), f"Histogram of the sum. {says}"), "drop_histogram")
        st.write(says)
task_source.show_task("4.4", "dropout")
