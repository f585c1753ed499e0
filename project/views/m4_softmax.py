"""Module 4: softmax: probabilities from numbers, what the temperature does, and why the largest is subtracted first."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.cards import WrongResult, plain
from project.lab.charts import drawing
from project.lab.explorers import softmax
from project.lab.guard import task_guard
from project.lab.typed.arrays import figure
from project.lab.widgets.fields import whole_number

LOGITS = (2.0, 1.0, 0.0, -1.0, 3.0, -2.0)
TEMPERATURES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)


def sliders() -> tuple[np.ndarray, float]:
    """The logits and the temperature."""
    classes = whole_number("Classes", "softmax_classes", 4, 2, len(LOGITS))
    logits = [
        st.slider(f"Logit z of class {i}", -10.0, 10.0, LOGITS[i], 0.1, key=f"softmax_z{i}", bind="query-params") for i in range(classes)
    ]
    help = "The logits are divided by it. Below 1 the largest stands out more, above 1 less."
    temperature = st.select_slider("Temperature T", TEMPERATURES, 1.0, key="softmax_temperature", bind="query-params", help=help)
    return np.array(logits), float(temperature)


def students(x: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Softmax, logsoftmax and the gradient of the loss, by the student's code; None, with a card, if there is something wrong."""
    with task_guard(stop=False):
        from project.lab.explorers import network_functions

        expected = softmax.log_probabilities(x)
        right = np.eye(len(x))[target]
        probabilities, _ = network_functions.softened("softmax", x, right)
        logs, gradient = network_functions.softened("logsoftmax", x, -right)
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


st.title("Softmax")
st.write(
    "The last layer of a classifier gives a number for every class, its logit. Softmax makes them probabilities: e to the power of each, "
    "divided by the sum of all. The order stays, every share is above 0, and they add up to 1."
)
left, right = st.columns([2, 3], gap="large")
with left:
    logits, temperature = sliders()
x = logits / temperature
expected = np.exp(softmax.log_probabilities(x))
with right:
    target = whole_number("Right class", "softmax_target", 0, 0, len(x) - 1)
    own = students(x, target)
    probabilities, logs, gradient = own or (expected, np.log(np.maximum(expected, 1e-300)), expected - np.eye(len(x))[target])
    words = ", ".join(f"class {i}: {figure(float(p))}" for i, p in enumerate(probabilities))
    drawing.draw(softmax.chart([float(p) for p in probabilities], f"Probabilities. {words}."), "softmax_chart")
    st.caption(softmax.spread(expected))
    if own:
        rows = zip(logits, x, probabilities, logs, gradient, strict=True)
        names = ("logit z", "x = z / T", "softmax", "logsoftmax", "gradient")
        st.table([{"class": str(i)} | dict(zip(names, map(figure, row), strict=True)) for i, row in enumerate(rows)], width="content")
        st.caption(
            f"The numbers come from your code. The last column is the gradient, by x, of the loss {plain('-')}logsoftmax of the right "
            "class: the probability, minus 1 for the right class."
        )
    else:
        st.caption("The bars are those of the arithmetic until your own code gives the right numbers.")

st.subheader("Why the largest is subtracted first")
st.write(
    "In e^(x - m) / Σ e^(x - m) the factor e^-m cancels: on paper the shares are the same. In a computer e^x overflows. Turn the "
    "temperature down to 0.001 and see."
)
dtype = st.segmented_control("Type", list(softmax.TYPES), default="float64", required=True, key="softmax_dtype", bind="query-params")
plain_side, shifted_side = st.columns(2, gap="large")
for place, shift, title in ((plain_side, False, "As it stands"), (shifted_side, True, f"Shifted by m = {figure(float(x.max()))}")):
    with place:
        st.write(f"**{title}**")
        st.table(softmax.table(x, dtype or "float64", shift), width="content")
        st.write(plain(softmax.verdict(x, dtype or "float64", shift)))
st.subheader("The logarithm, without ever leaving the floats")
st.write(
    "A loss needs the logarithm of a probability. The logarithm of a share that has become 0 is lost; but the same shift gives the "
    "logarithm directly."
)
st.code(softmax.log_sum_exp(x), language=None, wrap_lines=True)
task_source.show_task("4.4", "softmax", "logsoftmax")
