"""Module 0: separate two classes of points by hand."""

import math

import streamlit as st

from project.lab.cards import WrongResult, number
from project.lab.guard import task_guard
from project.lab.widgets import line
from project.lab.widgets.fields import restrict, whole_number

NAMES = ("weight_1", "weight_2", "bias")
state = st.session_state

st.title("Manual classifier")
st.write("Three numbers define a linear classifier: it predicts label 1 where weight_1 · x_1 + weight_2 · x_2 + bias is positive.")

with task_guard():
    from minitorch import datasets


def count_correct(graph, weight_1: float, weight_2: float, bias: float) -> int:
    """Return the number of points that are classified correctly."""
    return sum((weight_1 * x_1 + weight_2 * x_2 + bias > 0) == (label == 1) for (x_1, x_2), label in zip(graph.X, graph.y, strict=True))


def sigmoid(x: float) -> float:
    """Return the sigmoid for a page whose operators are not written yet."""
    return 0.5 + 0.5 * math.tanh(x / 2)


def student_tables() -> dict | None:
    """Return the probabilities and losses of the student's operators. If they fail, show a card and return None."""
    made_from = state.get("sources")
    if state.get("manual_made_from", ("",)) != (made_from,):
        state.manual_tables = None
        with task_guard(stop=False):
            from minitorch import operators

            state.manual_tables = line.tables(
                lambda x: number(operators.sigmoid(x), f"sigmoid({x:g})"), lambda x: number(operators.log(x), f"log({x:g})")
            )
            state.manual_made_from = (made_from,)
    return state.manual_tables


def use(numbers: list[float]) -> None:
    """Continue with the line that was dragged."""
    state.update(zip(NAMES, numbers, strict=True))


def show_submitted(graph) -> None:
    """Show how many points the line in project/run_manual.py classifies correctly."""
    from project.run_manual import separating_line

    line = separating_line()
    if not isinstance(line, tuple) or len(line) != 3:
        raise WrongResult(f"separating_line() expected to return (weight_1, weight_2, bias), got {line!r}")
    st.write(f"Your `separating_line()` classifies {count_correct(graph, *line)} of {graph.N} points correctly.")


chart, controls = st.columns(2, gap="large")
bind = "query-params"
with controls:
    with st.container(horizontal=True):
        name = st.selectbox("Data set", list(datasets), key="dataset", bind=bind, width=170)
        points = whole_number("Points", "points", 50, 1, 500, 10, width=150)
    with st.container(horizontal=True):
        for label, given in zip(NAMES, (1.0, 1.0, -1.0), strict=True):
            restrict(label, given, -line.MOST, line.MOST)
            st.number_input(label, -line.MOST, line.MOST, given, 0.1, "%g", key=label, bind=bind, width=120)
        chosen = tuple(state[label] for label in NAMES)
with task_guard():
    graph = datasets[name](points)
    state["manual_separated"] = count_correct(graph, *chosen) == graph.N
with controls:
    st.caption(
        "Drag the ring in the middle to move the line, the other one to turn it. Orange: the score is negative, label 0. Blue: the score "
        "is positive, label 1. Black line: the score is 0. Red border: classified wrongly."
    )
    own = student_tables()
    st.caption(
        "The probabilities and the loss come from your `sigmoid` and `log`."
        if own
        else "The probabilities and the loss are computed by this page until your own `sigmoid` and `log` return numbers."
    )
    st.write("To keep this line, write it in `project/run_manual.py`:")
    st.code(f"return {tuple(round(value, 2) for value in chosen)}", language="python")
    with task_guard(stop=False):
        show_submitted(graph)
with chart:
    line.movable_line(chosen, graph, own or line.tables(sigmoid, lambda x: math.log(x + 1e-6)), "manual_line", use)
