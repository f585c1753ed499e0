"""Module 6: layer normalization of a row, GELU, and the rows of an embedding, each with its gradient."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing, grids, plots
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import figure, parse_array
from project.lab.typed.source import Refused

ROWS, TOKENS = 5, 8


def numbers(label: str, key: str, given: str) -> np.ndarray:
    """Return the numbers in a text field; invalid input ends the page with an error."""
    try:
        return parse_array(st.text_input(label, given, key=key, bind="query-params"), 1, TOKENS)
    except Refused as refusal:
        refuse(str(refusal), "Enter numbers in brackets, such as [1, 2, 3].")


with task_guard():
    from project.lab.explorers import language_layers

st.title("Language layers")
left, right = st.columns(2, gap="large")
with left:
    st.subheader("Layer normalization")
    st.write("Each number minus the mean of its row, divided by the standard deviation. All numbers of a row share its gradient.")
    row = numbers("Row", "layers_row", "[1, 2, 3, 10]")
    grad_output = np.eye(len(row))[0]
    with task_guard(stop=False):
        found, gradient = language_layers.normalize(row, grad_output)
        columns = {"input": row, "result": found, "gradient of the first result": gradient}
        st.table([{"": name} | {str(i): figure(float(value)) for i, value in enumerate(values)} for name, values in columns.items()])
        st.caption(f"The gradient sums to {figure(round(float(gradient.sum()), 9))}: a shift of the whole row changes nothing.")
with right:
    st.subheader("GELU")
    with task_guard(stop=False):
        points = np.linspace(-4, 4, 81)
        values, slopes = language_layers.gelu(points)
        curves = {name: list(zip(points.tolist(), ys.tolist(), strict=True)) for name, ys in (("gelu", values), ("derivative", slopes))}
        drawing.draw(plots.curves(curves, "GELU and its derivative: nearly 0 on the left, nearly x on the right."), "layers_gelu")

st.subheader("Embedding")
st.write(f"A table of {ROWS} rows. The gradient of a row is the sum over all tokens that looked it up.")
tokens = numbers("Tokens", "layers_tokens", "[2, 0, 2, 4]")
if not set(tokens) <= set(range(ROWS)):
    refuse(f"expected tokens from 0 to {ROWS - 1}, got {', '.join(map(figure, tokens))}", "Enter whole numbers in this range.")
table = np.arange(ROWS * 2.0).reshape(ROWS, 2) / 10
with task_guard(stop=False):
    rows, gradient = language_layers.embed(tokens.astype(np.int64), table)
    st.html(grids.side_by_side([grids.grid(table, "table"), grids.grid(rows, "result"), grids.grid(gradient, "gradient of the table")]))
task_source.show_task("6.2")
