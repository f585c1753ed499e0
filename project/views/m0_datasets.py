"""Module 0: the six data sets."""

import inspect

import streamlit as st

from project.lab.charts.drawing import draw
from project.lab.guard import task_guard

st.title("Data sets")
st.write("Points in the unit square with two labels. Which data sets can a straight line separate?")

with task_guard():
    from minitorch import datasets
    from project.lab.charts import charts

bind = "query-params"
with st.container(horizontal=True):
    name = st.selectbox("Data set", list(datasets), key="dataset", bind=bind, width=200)
    points = st.number_input("Points", 1, 2000, 50, 10, key="points", bind=bind, width=160)
    seed = st.number_input("Seed", 0, 10_000, 0, key="seed", bind=bind, width=160)
with task_guard():
    graph = datasets[name](int(points), int(seed))
    spec = charts.boundary([], graph)
left, right = st.columns(2)
with left:
    draw({**spec, "description": f"{graph.N} labeled points.", "layer": spec["layer"][1:]}, "points_chart")  # without the heat map
    st.caption(f"{name}: {graph.N} points, {sum(graph.y)} with label 1 (triangles), {graph.N - sum(graph.y)} with label 0 (circles).")
with right:
    st.code(inspect.getsource(datasets[name]), language="python", wrap_lines=True)
    st.code(f"minitorch.datasets[{name!r}]({points}, seed={seed})", language="python")
