"""Module 4: dropout: the mask over the numbers of a layer, and how the sum of what is left varies."""

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

TRAINING, USE = "training", "in use"
MASKS = 500


def chosen() -> tuple[np.ndarray, float, int, bool, bool]:
    """The numbers, the rate, the seed, whether nothing is dropped, and whether the rest is made larger."""
    image = image_choice.image("drop", 2, MOST, "a slope")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rate = st.slider("Rate", 0.0, 1.0, 0.25, 0.05, key="drop_rate", bind="query-params", width=260)
        seed = whole_number("Seed", "drop_seed", 0, 0, 9999)
        mode = st.segmented_control(
            "The network is", (TRAINING, USE), default=TRAINING, required=True, key="drop_mode", bind="query-params"
        )
        rescaled = st.toggle(
            "Divide by 1 - rate", key="drop_rescaled", bind="query-params", help="As nn.Dropout does it, in the histogram."
        )
    return image[0], rate, seed, mode == USE, rescaled and rate < 1


st.title("Dropout")
st.write(
    "While a network is trained, some numbers of a layer, drawn anew every time, are set to 0. No number can rely on another one being "
    "there, and what is learned is spread over many. In use nothing is dropped."
)
values, rate, seed, ignore, rescaled = chosen()
with task_guard(stop=False):
    from project.lab.explorers import network_functions

    left = network_functions.dropped(values, rate, seed, ignore)
    call = f"dropout(input, {rate:g}{', ignore=True' if ignore else ''})"
    if wrong := dropped.odd_one(values, left):
        raise WrongResult(f"{call} {wrong}")
    if ignore and (wrong := network_functions.complaint(call, left, values)):
        raise WrongResult(wrong)
    mask = network_functions.dropped(np.ones(values.shape), rate, seed, ignore)
    kept = int(np.count_nonzero(mask))
    st.write(
        plain(
            f"Of {mask.size} numbers {kept} are kept and {mask.size - kept} dropped; the sum goes from {values.sum():g} to {left.sum():g}."
        )
    )
    if np.array_equal(left, values * mask):
        cells.draw(dropped.panels(values, mask, left), "drop_picture", lambda: None)
    else:
        cells.draw(dropped.panels(values, ((left != 0) | (values == 0)).astype(float), left), "drop_picture", lambda: None)
        st.caption("The same seed gives your code another mask each time: draw with `minitorch.rand`, which `manual_seed` governs.")
    st.caption(
        "Hatched: dropped. The mask is drawn by your code after `minitorch.manual_seed` of the seed above; another seed, another mask."
    )
    sums = network_functions.dropped(np.repeat(values.reshape(1, -1), MASKS, 0), rate, seed, ignore).sum(1)
    sums = sums / (1 - rate) if rescaled and not ignore else sums
    if ignore:
        st.caption("In use every sum is the same: there is no mask.")
    else:
        says = dropped.summary(values, sums, rate, rescaled)
        drawing.draw(dropped.histogram(sums, float(values.sum()), f"Histogram of the sum. {says}"), "drop_histogram")
        st.write(says)
task_source.show_task("4.4", "dropout")
