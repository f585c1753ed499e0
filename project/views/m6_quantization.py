"""Module 6: a row of weights as integers, its errors, and a small model before and after quantization."""

import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing
from project.lab.guard import task_guard
from project.lab.widgets.fields import whole_number

with task_guard():
    from project.lab.explorers import language_quantization as quantization

st.title("Weights in a byte")
st.write(
    "Each weight of a row is rounded to a multiple of the row's scale, which is the largest magnitude divided by 127. "
    "One large weight makes the grid coarse for all others of its row."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    largest = st.slider("Largest weight", 1.0, 20.0, 1.0, 0.5, key="quantize_largest", bind="query-params", width=240)
    seed = whole_number("Seed", "quantize_seed", 0, 0, 10_000)

with task_guard():
    weights = quantization.row(largest, seed)
    integers, scale, back = quantization.quantize(weights)
st.subheader("Weights near zero, on the grid")
drawing.draw(quantization.grid(weights, back, scale), "quantize_grid")
used = len(set(integers.tolist()))
st.caption(f"The scale is {scale:.4g}. The {len(weights)} weights use {used} of the 255 integers.")

st.subheader("Errors")
drawing.draw(quantization.histogram(weights, back, scale), "quantize_errors")
st.caption("The lines are the bound: half a scale.")

st.subheader("A small model")
if st.button("Train and quantize", key="quantize_model"):
    with task_guard(stop=False):
        found = quantization.compare(seed)
        st.table([{"weights": name, "bytes": f"{size:,}", "perplexity": f"{value:.4f}"} for name, size, value in found])
        change = found[1][2] / found[0][2] - 1
        st.caption(f"It learned one batch by heart, in {quantization.STEPS} steps. Quantization changes its perplexity by {change:+.2%}.")
task_source.show_task("6.8")
