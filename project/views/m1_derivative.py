"""Module 1: a function, its tangent, and the error of the central difference."""

import math
import traceback

import streamlit as st

from project.lab.cards import is_student, number, plain
from project.lab.charts import plots
from project.lab.charts.drawing import draw
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, parse
from project.lab.typed.source import Refused

EXAMPLES = ["x ** 3 - 2 * x", "sin(x) * x", "sigmoid(3 * x)", "log(x * x + 1)", "exp(-x * x)", "relu(x)", "abs(x)", "tanh(x) ** 2"]
EPSILONS = [10.0**-k for k in range(1, 16)]
state = st.session_state

st.title("Derivatives")
st.write("The derivative of a function, computed in two ways: by autodiff (the chain rule) and numerically, from two nearby values.")

with task_guard():
    from minitorch import Scalar, central_difference


def take_example() -> None:
    """Put the chosen example into the field."""
    if state.example_f:
        state.fx = state.example_f


def analytic(f, x: float) -> float | None:
    """Return the derivative by backpropagation; None if no gradient reaches x."""
    leaf = Scalar(x, name="x")
    f(leaf).backward()
    return None if leaf.derivative is None else number(leaf.derivative, "derivative")


def undefined(error: Exception) -> bool:
    """Whether the typed function raised an error, rather than the student's `central_difference`."""
    return not is_student(traceback.extract_tb(error.__traceback__)[-1].filename)


def errors(f, x: float, slope: float) -> list[tuple[float, float]]:
    """Return the error of the central difference for each epsilon. An error of 0 becomes 1e-17, because the axis is logarithmic."""
    found = []
    for epsilon in EPSILONS:
        try:
            value = number(central_difference(f, x, epsilon=epsilon), f"central_difference(f, {x:g}, epsilon={epsilon:g})")
        except (ArithmeticError, ValueError) as error:
            if not undefined(error):
                raise
            continue  # the function is undefined at this distance from x
        if math.isfinite(value):
            found.append((epsilon, max(math.fabs(value - slope), 1e-17)))
    return found


left, right = st.columns([3, 2])
with right:
    st.selectbox("Examples", EXAMPLES, index=None, key="example_f", on_change=take_example, placeholder="Choose one")
with left:
    typed = st.text_input("Function of x", EXAMPLES[0], key="fx", bind="query-params")
try:
    expression = parse(typed, ("x",))
except Refused as refusal:
    refuse(str(refusal), f"Use numbers, x, + - * / ** < > == and the functions {', '.join(FUNCTIONS)}.")
x = left.slider("x", -5.0, 5.0, 1.0, 0.05, key="at", bind="query-params")
epsilon = right.select_slider("epsilon", EPSILONS, 1e-3, format_func=lambda value: f"{value:.0e}", key="epsilon", bind="query-params")

f = expression.function(("x",), float)
f_scalar = expression.function(("x",), lambda value: Scalar(value, None))
slope = None
with task_guard():
    try:
        height = f(x)
    except (ArithmeticError, ValueError) as error:
        st.warning(f"The function is undefined at x = {x:g}: {error}. Choose another x.")
        st.stop()
    try:
        numeric = number(central_difference(f, x, epsilon=epsilon), f"central_difference(f, {x:g}, epsilon={epsilon:g})")
    except (ArithmeticError, ValueError) as error:
        if not undefined(error):
            raise
        st.warning(f"The function is undefined within epsilon of x = {x:g}: {error}. Choose a smaller epsilon.")
        st.stop()
with task_guard(stop=False):
    slope = analytic(f_scalar, x) if expression.names else 0.0

with st.container(horizontal=True):
    st.metric("Central difference", f"{numeric:.9g}", width=230)
    st.metric("Autodiff", "-" if slope is None else f"{slope:.9g}", width=230)
    st.metric("Difference", "-" if slope is None else f"{math.fabs(numeric - slope):.2e}", width=180)
drawn = numeric if slope is None else slope
curve = plots.sample(f, x - 2, x + 2)
tangent = [(x + step, height + drawn * step) for step in (-1.0, 1.0)]
secant = [(x + step, height + numeric * step) for step in (-1.0, 1.0)]
tangent_side, error_side = st.columns(2)
with tangent_side:
    words = f"{typed} near x = {x:g}, where its value is {height:.5g} and its slope is {drawn:.5g}."
    draw(plots.curves({"f(x)": curve, "tangent": tangent, "central difference": secant}, words, mark=(x, height)), "tangent_chart")
    st.caption(plain(words))
if slope is not None and math.isfinite(slope) and math.isfinite(numeric):
    with error_side, task_guard():
        measured = errors(f, x, slope)
        best = min(measured, key=lambda point: point[1])
        words = f"Error of the central difference against epsilon. The smallest error, {best[1]:.0e}, is at epsilon = {best[0]:.0e}."
        here = next(point for point in measured if point[0] == epsilon)
        draw(plots.curves({"error": measured}, words, "epsilon", "error", mark=here, log=True), "error_chart")
        st.caption(
            f"{words} For a large epsilon, the truncation error dominates; it decreases with epsilon squared. For a tiny epsilon, the "
            "rounding error dominates: subtracting two nearly equal numbers loses significant digits."
        )
