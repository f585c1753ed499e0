"""Module 6: the parameters of a model, its loss at the start, and one batch that it learns by heart."""

import math

import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing, plots
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import figure
from project.lab.widgets.fields import whole_number

STEPS = 40

with task_guard():
    from project.lab.explorers import language_model

st.title("The model")
st.write(
    "A stack of equal blocks between an embedding and its transpose. Its parameters can be counted on paper, and so can its first loss."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    vocabulary = whole_number("Vocabulary", "model_vocabulary", 6, 2, 50)
    layers = whole_number("Layers", "model_layers", 1, 1, 3)
    heads = whole_number("Heads", "model_heads", 2, 1, 4)
    width = whole_number("Width", "model_width", 8, 1, 16)
    seed = whole_number("Seed", "model_seed", 0, 0, 10_000)
if width % heads:
    refuse(f"expected heads that divide the width, {width}, got {heads}", "Choose another width, such as 8.")
with task_guard():
    model = language_model.build(vocabulary, layers, heads, width, seed)
    found = language_model.counts(model)

left, right = st.columns(2, gap="large")
with left:
    st.subheader("Parameters")
    st.table([{"part": name, "parameters": f"{count:,}"} for name, count in {**found, "sum": sum(found.values())}.items()])
    st.caption("By the formula: V · C + T · C + L · (12 · C² + 13 · C) + 2 · C for vocabulary V, width C, L layers, and a context T of 4.")
with right, task_guard(stop=False):
    st.subheader("One batch")
    tokens, targets = language_model.batch(vocabulary, seed)
    losses = language_model.overfit(model, tokens, targets, STEPS)
    curves = {"loss": losses, "ln V": [(0.0, math.log(vocabulary)), (STEPS - 1.0, math.log(vocabulary))]}
    drawing.draw(plots.curves(curves, f"The loss of {STEPS} steps on the same batch.", "step"), "model_losses")
    first, last, even = figure(losses[0][1]), figure(losses[-1][1]), figure(math.log(vocabulary))
    st.caption(f"It begins at {first}; the logarithm of the vocabulary is {even}. It ends at {last}.")
task_source.show_task("6.4")
