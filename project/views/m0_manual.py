"""Module 0: separate two classes of points by hand."""

import math

import streamlit as st

from project.lab.cards import WrongResult
from project.lab.charts import vega
from project.lab.charts.drawing import draw
from project.lab.charts.palette import BLACK
from project.lab.guard import task_guard

CELLS = 30

st.title("Manual classifier")
st.write("Three numbers define a linear classifier: it predicts label 1 where weight_1 · x_1 + weight_2 · x_2 + bias is positive.")

with task_guard():
    from minitorch import datasets
    from project.lab.charts import charts


def count_correct(graph, weight_1: float, weight_2: float, bias: float) -> int:
    """Return the number of points that are classified correctly."""
    return sum((weight_1 * x_1 + weight_2 * x_2 + bias > 0) == (label == 1) for (x_1, x_2), label in zip(graph.X, graph.y, strict=True))


def probabilities(weight_1: float, weight_2: float, bias: float) -> list[list[float]]:
    """Return the sigmoid of the score on a grid. It uses tanh, so that the page does not depend on the student's operators."""
    middles = [(i + 0.5) / CELLS for i in range(CELLS)]
    return [[0.5 + 0.5 * math.tanh((weight_1 * x_1 + weight_2 * x_2 + bias) / 2) for x_1 in middles] for x_2 in middles]


def zero_line(weight_1: float, weight_2: float, bias: float) -> dict:
    """Return the chart layer that shows where the score is 0."""
    ends = []
    if weight_2:
        ends = [{"x": x_1, "y": -(weight_1 * x_1 + bias) / weight_2} for x_1 in (0.0, 1.0)]
    elif weight_1:
        ends = [{"x": -bias / weight_1, "y": x_2} for x_2 in (0.0, 1.0)]
    axes = {name: {"field": name, "type": "quantitative"} for name in ("x", "y")}  # those of the heat map
    return vega.layer("line", axes, ends, tooltip=False, clip=True, color=BLACK, strokeWidth=2)


def show_submitted(graph) -> None:
    """Show how many points the line in project/run_manual.py classifies correctly."""
    from project.run_manual import separating_line

    line = separating_line()
    if not isinstance(line, tuple) or len(line) != 3:
        raise WrongResult(f"separating_line() expected to return (weight_1, weight_2, bias), got {line!r}")
    st.write(f"Your `separating_line()` classifies {count_correct(graph, *line)} of {graph.N} points correctly.")


controls, chart = st.columns([2, 3], gap="large")
bind = "query-params"
with controls:
    with st.container(horizontal=True):
        name = st.selectbox("Data set", list(datasets), key="dataset", bind=bind, width=170)
        points = st.number_input("Points", 1, 500, 50, 10, key="points", bind=bind, width=150)
    weight_1 = st.slider("weight_1", -10.0, 10.0, 1.0, 0.1, key="weight_1", bind=bind)
    weight_2 = st.slider("weight_2", -10.0, 10.0, 1.0, 0.1, key="weight_2", bind=bind)
    bias = st.slider("bias", -10.0, 10.0, 0.0, 0.1, key="bias", bind=bind)
with task_guard():
    graph = datasets[name](int(points))
    correct = count_correct(graph, weight_1, weight_2, bias)
st.session_state["manual_separated"] = correct == graph.N
with controls:
    st.metric("Correct points", f"{correct} / {graph.N}")
    st.write("To keep this line, write it in `project/run_manual.py`:")
    st.code(f"return ({round(weight_1, 1)}, {round(weight_2, 1)}, {round(bias, 1)})", language="python")
    with task_guard(stop=False):
        show_submitted(graph)
with chart:
    spec = charts.boundary(probabilities(weight_1, weight_2, bias), graph)
    draw({**spec, "layer": [*spec["layer"], zero_line(weight_1, weight_2, bias)]}, "manual_chart")
    st.caption(
        f"{correct} of {graph.N} points are classified correctly. Orange: the score is negative, label 0. Blue: the score is positive, "
        "label 1. Black line: the score is 0."
    )
