"""Module 0: separate the points by hand."""

import math

import streamlit as st

from project.lab.cards import WrongResult
from project.lab.charts.drawing import draw
from project.lab.charts.palette import BLACK
from project.lab.guard import task_guard

CELLS = 30

st.title("Manual classifier")
st.write("Three numbers make a straight boundary: a point counts as label 1 where weight_1 · x_1 + weight_2 · x_2 + bias is positive.")

with task_guard():
    from minitorch import datasets
    from project.lab.charts import charts


def right_points(graph, weight_1: float, weight_2: float, bias: float) -> int:
    """How many points lie on the side of their label."""
    return sum((weight_1 * x_1 + weight_2 * x_2 + bias > 0) == (label == 1) for (x_1, x_2), label in zip(graph.X, graph.y, strict=True))


def probabilities(weight_1: float, weight_2: float, bias: float) -> list[list[float]]:
    """The sigmoid of the sum over the unit square, by tanh: this page needs none of the student's operators."""
    middles = [(i + 0.5) / CELLS for i in range(CELLS)]
    return [[0.5 + 0.5 * math.tanh((weight_1 * x_1 + weight_2 * x_2 + bias) / 2) for x_1 in middles] for x_2 in middles]


def zero_line(weight_1: float, weight_2: float, bias: float) -> dict:
    """The layer of the chart that shows where the sum is 0."""
    ends = []
    if weight_2:
        ends = [{"x": x_1, "y": -(weight_1 * x_1 + bias) / weight_2} for x_1 in (0.0, 1.0)]
    elif weight_1:
        ends = [{"x": -bias / weight_1, "y": x_2} for x_2 in (0.0, 1.0)]
    axes = {name: {"field": name, "type": "quantitative"} for name in ("x", "y")}
    return {"data": {"values": ends}, "mark": {"type": "line", "clip": True, "color": BLACK, "strokeWidth": 2}, "encoding": axes}


def written(graph) -> None:
    """What the numbers in project/run_manual.py achieve."""
    from project.run_manual import separating_line

    line = separating_line()
    if not isinstance(line, tuple) or len(line) != 3:
        raise WrongResult(f"separating_line() expected to return (weight_1, weight_2, bias), got {line!r}")
    st.write(f"What you wrote into `separating_line()` gets {right_points(graph, *line)} of {graph.N} points right.")


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
    right = right_points(graph, weight_1, weight_2, bias)
with controls:
    st.metric("Points right", f"{right} / {graph.N}")
    st.write("To keep this boundary, write into `project/run_manual.py`:")
    st.code(f"return ({round(weight_1, 1)}, {round(weight_2, 1)}, {round(bias, 1)})", language="python")
    with task_guard(stop=False):
        written(graph)
with chart:
    spec = charts.boundary(probabilities(weight_1, weight_2, bias), graph)
    draw({**spec, "layer": [*spec["layer"], zero_line(weight_1, weight_2, bias)]}, "manual_chart")
    st.caption(
        f"{right} of {graph.N} points lie on the side of their label. Blue: the sum is negative, label 0; orange: positive, label 1; "
        "the black line is where it is 0."
    )
