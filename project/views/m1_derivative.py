"""Module 1: a function, its tangent, and the error of the central difference."""

import streamlit as st

from project.lab.cards import plain
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, parse
from project.lab.typed.source import Refused
from project.lab.widgets.curve import movable_point
from project.lab.widgets.fields import restrict

EXAMPLES = ["x ** 3 - 2 * x", "sin(x) * x", "sigmoid(3 * x)", "log(x * x + 1)", "exp(-x * x)", "relu(x)", "abs(x)", "tanh(x) ** 2"]
state = st.session_state

st.title("Derivatives")
st.write("The derivative of a function, computed in two ways: by autodiff (the chain rule) and numerically, from two nearby values.")

with task_guard():
    from project.lab.explorers import derivative


def take_example() -> None:
    """Put the chosen example into the field."""
    if state.example_f:
        state.fx = state.example_f


def tables(expression) -> dict:
    """Return what the student's functions return at all places, which is kept until the function or the source changes."""
    made_from = expression.text, state.get("sources")
    if state.get("derivative_made_from") != made_from:
        with task_guard():
            heights, numeric = derivative.heights(expression), derivative.central_differences(expression)
        state.derivative_table = {"heights": heights, "numeric": numeric, "slopes": None}
        with task_guard(stop=False):
            state.derivative_table["slopes"] = derivative.slopes(expression)
            state.derivative_made_from = made_from
    fixed = {"places": derivative.PLACES, "epsilons": derivative.EPSILONS, "around": derivative.AROUND}
    return fixed | state.derivative_table


def use(place: int, epsilon: int) -> None:
    """Continue with the point and the epsilon that were dragged."""
    state.at, state.epsilon = derivative.PLACES[place], derivative.EPSILONS[epsilon]


with st.container(horizontal=True, vertical_alignment="bottom"):
    typed = st.text_input("Function of x", EXAMPLES[0], key="fx", bind="query-params", width=240)
    st.selectbox("Examples", EXAMPLES, index=None, key="example_f", on_change=take_example, placeholder="Choose one", width=200)
    given = restrict("at", 1.0, -5.0, 5.0)
    if (nearest := derivative.PLACES[round(20 * given) + 100]) != given:
        state.at = nearest  # the figure has no other places
    x = st.number_input("x", -5.0, 5.0, 1.0, 0.05, "%g", key="at", bind="query-params", width=130)
    epsilon = st.selectbox("epsilon", derivative.EPSILONS, 0, lambda value: f"{value:.0e}", key="epsilon", bind="query-params", width=110)
try:
    expression = parse(typed, ("x",))
except Refused as refusal:
    refuse(str(refusal), f"Use numbers, x, + - * / ** < > == and the functions {', '.join(FUNCTIONS)}.")
table = tables(expression)
place, size = round(20 * x) + 100, derivative.EPSILONS.index(epsilon)
x = derivative.PLACES[place]
movable_point(place, size, table, "derivative_curve", use)
if table["heights"][place + 20] is None:
    st.warning(f"The function is undefined at x = {x:g}. Choose another x.")
elif table["numeric"][size][place] is None:
    st.warning(f"The function is undefined within epsilon of x = {x:g}. Choose a smaller epsilon.")
st.caption(
    f"Drag the ring along {plain(typed)}, or the other one to choose epsilon. Blue: the function. Orange, dashed: the tangent by your "
    "autodiff. Green: the secant through the points at distance epsilon, with the slope that your `central_difference` returned."
)
st.caption(
    "Error of the central difference against epsilon: first the truncation error dominates, which decreases with epsilon squared; for a "
    "tiny epsilon the rounding error, because subtracting two nearly equal numbers loses significant digits."
)
