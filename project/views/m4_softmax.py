"""Module 4: softmax: probabilities from logits, the temperature, and numerical stability."""

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


st.title("Softmax")
st.write(
    "The last layer of a classifier computes a number for each class, its logit. Softmax turns the logits into probabilities: the "
    "exponential of each logit, divided by the sum of all exponentials. The order is preserved, every probability is positive, and they "
    "sum to 1."
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

st.subheader("Why the maximum is subtracted first")
st.write(
    "In e^(x - m) / Σ e^(x - m) the factor e^-m cancels, so mathematically the probabilities do not change. In floating point, however, "
    "e^x overflows. Set the temperature to 0.001 to see it."
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
    "A loss needs the logarithm of a probability. If the probability underflows to 0, its logarithm is lost. The same shift computes the "
    "logarithm directly."
)
st.code(softmax.log_sum_exp(x), language=None, wrap_lines=True)
task_source.show_task("4.4", "softmax", "logsoftmax")
