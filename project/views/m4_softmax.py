"""Module 4: softmax with its temperature and its numerical stability; dropout with its mask and the distribution of the sum."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import cells, drawing
from project.lab.explorers import dropout as dropped
from project.lab.explorers import softmax
from project.lab.explorers.convolution import MOST
from project.lab.guard import task_guard
from project.lab.typed.arrays import figure
from project.lab.widgets import image_choice
from project.lab.widgets.fields import whole_number
from project.lab.widgets.parts import show_one

LOGITS = (2.0, 1.0, 0.0, -1.0, 3.0, -2.0)
TEMPERATURES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
TRAINING, USE = "training", "evaluation"
MASKS = 500


def sliders() -> tuple[np.ndarray, float]:
    """Show the sliders; return the logits and the temperature."""
    classes = whole_number("Classes", "softmax_classes", 4, 2, len(LOGITS))
    logits = [
        st.slider(f"Logit z of class {i}", -10.0, 10.0, LOGITS[i], 0.1, key=f"softmax_z{i}", bind="query-params") for i in range(classes)
    ]
    help = "Divides the logits. Below 1 the distribution is sharper, above 1 it is flatter."
    temperature = st.select_slider("Temperature T", TEMPERATURES, 1.0, key="softmax_temperature", bind="query-params", help=help)
    return np.array(logits), float(temperature)


def student_results(x: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return softmax, logsoftmax and the gradient of the loss from the student's code. If they are wrong, show a card and return None."""
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        expected = softmax.log_probabilities(x)
        right = np.eye(len(x))[target]
        probabilities, _ = network_functions.softmax("softmax", x, right)
        logs, gradient = network_functions.softmax("logsoftmax", x, -right)
        row = f"tensor([[{', '.join(map(figure, x))}]])"
        for call, found, wanted in (
            (f"softmax({row}, 1)", probabilities, np.exp(expected)),
            (f"logsoftmax({row}, 1)", logs, expected),
            (f"backward of -logsoftmax({row}, 1)[0, {target}]", gradient, np.exp(expected) - right),
        ):
            if wrong := network_functions.complaint(call, found, wanted):
                raise WrongResult(wrong)
        return probabilities, logs, gradient
    return None


def show_softmax() -> None:
    """Show the probabilities of some logits, and how they are computed without an overflow."""
    st.write(
        "The last layer of a classifier computes a number for each class, its logit. Softmax turns the logits into probabilities: the "
        "exponential of each logit, divided by the sum of all exponentials. The order is preserved, every probability is positive, and "
        "they sum to 1."
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        logits, temperature = sliders()
    x = logits / temperature
    expected = np.exp(softmax.log_probabilities(x))
    with right:
        target = whole_number("Target class", "softmax_target", 0, 0, len(x) - 1)
        own = student_results(x, target)
        probabilities, logs, gradient = own or (expected, np.log(np.maximum(expected, 1e-300)), expected - np.eye(len(x))[target])
        words = ", ".join(f"class {i}: {figure(float(p))}" for i, p in enumerate(probabilities))
        drawing.draw(softmax.chart([float(p) for p in probabilities], f"Probabilities. {words}."), "softmax_chart")
        st.caption(softmax.spread(expected))
        if own:
            rows = zip(logits, x, probabilities, logs, gradient, strict=True)
            names = ("logit z", "x = z / T", "softmax", "logsoftmax", "gradient")
            st.table([{"class": str(i)} | dict(zip(names, map(figure, row), strict=True)) for i, row in enumerate(rows)], width="content")
            st.caption(
                f"The numbers come from your code. The last column is the gradient with respect to x of the loss {plain('-')}logsoftmax(x) "
                "of the target class: the probability, minus 1 for the target class."
            )
        else:
            st.caption("The probabilities are computed by this page until your own code is correct.")
    show_stability(x)
    task_source.show_task("4.4", "softmax", "logsoftmax")


def show_stability(x: np.ndarray) -> None:
    """Show the exponentials with and without the shift by the maximum, and the logarithm of a probability."""
    st.subheader("Why the maximum is subtracted first")
    st.write(
        "In e^(x - m) / Σ e^(x - m) the factor e^-m cancels, so mathematically the probabilities do not change. In floating point, "
        "however, e^x overflows. Set the temperature to 0.001 to see it."
    )
    dtype = st.segmented_control("dtype", list(softmax.TYPES), default="float64", required=True, key="softmax_dtype", bind="query-params")
    plain_side, shifted_side = st.columns(2, gap="large")
    for place, shift, title in ((plain_side, False, "Without the shift"), (shifted_side, True, f"Shifted by m = {figure(float(x.max()))}")):
        with place:
            st.write(f"**{title}**")
            st.table(softmax.table(x, dtype or "float64", shift), width="content")
            st.write(plain(softmax.verdict(x, dtype or "float64", shift)))
    st.subheader("A stable logarithm")
    st.write(
        "A loss needs the logarithm of a probability. If the probability underflows to 0, its logarithm is lost. The same shift computes "
        "the logarithm directly."
    )
    st.code(softmax.log_sum_exp(x), language=None, wrap_lines=True)


def read_settings() -> tuple[np.ndarray, float, int, bool, bool]:
    """Show the controls; return the values, the rate, the seed, whether dropout is off, and whether the sums are rescaled."""
    image = image_choice.image("drop", 2, MOST, "a slope")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rate = st.slider("Rate", 0.0, 1.0, 0.25, 0.05, key="drop_rate", bind="query-params", width=260)
        seed = whole_number("Seed", "drop_seed", 0, 0, 9999)
        mode = st.segmented_control("Mode", (TRAINING, USE), default=TRAINING, required=True, key="drop_mode", bind="query-params")
        rescaled = st.toggle("Divide by 1 - rate", key="drop_rescaled", bind="query-params", help="In the histogram, as nn.Dropout does.")
    return image[0], rate, seed, mode == USE, rescaled and rate < 1


def show_dropout() -> None:
    """Show the activations that are left, and the distribution of their sum."""
    st.write(
        "In training, dropout sets a random subset of the activations of a layer to 0, a new subset in each forward pass. No unit can rely "
        "on another one being present, so what is learned is spread over many units. In evaluation nothing is dropped."
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
                f"{kept} of {mask.size} values are kept, {mask.size - kept} dropped. The sum changes from {values.sum():g} to "
                f"{left.sum():g}."
            )
        )
        if np.array_equal(left, values * mask):
            cells.draw(dropped.panels(values, mask, left), "drop_picture", lambda: None)
        else:
            cells.draw(dropped.panels(values, ((left != 0) | (values == 0)).astype(float), left), "drop_picture", lambda: None)
            st.caption("Your code returns a different mask for the same seed. Draw it with `minitorch.rand`, which respects `manual_seed`.")
        st.caption(
            "Hatched: dropped. Your code draws the mask after `minitorch.manual_seed` with the seed above. Change the seed to get another "
            "mask."
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


st.title("Softmax, dropout")
show_one(m4_softmax=show_softmax, m4_dropout=show_dropout)
