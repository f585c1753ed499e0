"""Module 6: heads as views of a projection, the causal mask, and the weights of each head."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.charts import grids
from project.lab.guard import task_guard
from project.lab.widgets.fields import whole_number
from project.lab.widgets.heads import heads as figure

state = st.session_state

with task_guard():
    from project.lab.explorers import language_attention


def choose(query: int) -> None:
    """Keep the query whose row was clicked."""
    state.attend_query = query


def select_last() -> None:
    """Select the last token, which is the default and not in the URL, when the number of tokens has changed."""
    state.attend_query = state.attend_tokens - 1


st.title("Attention by hand")
st.write(
    "Random numbers in the place of a projection. Its columns are split into queries, keys and values of each head; nothing is copied."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    tokens = whole_number("Tokens", "attend_tokens", 4, 1, 6, on_change=select_last)
    heads = whole_number("Heads", "attend_heads", 2, 1, 3)
    seed = whole_number("Seed", "attend_seed", 0, 0, 10_000)
    query = whole_number("Query", "attend_query", tokens - 1, 0, tokens - 1) if tokens > 1 else 0
    causal = st.toggle("Causal mask", True, key="attend_causal", bind="query-params")
    changed = st.toggle("Change the last token", False, key="attend_changed", bind="query-params")

projected = language_attention.project(tokens, heads, 2, seed)
if changed:
    projected[-1] = 5
left, right = st.columns([2, 3], gap="large")
with left:
    st.html(grids.grid(projected, "projection, a row for each token"))
    with task_guard():
        parts = language_attention.split(projected, heads)
    st.html(grids.side_by_side([grids.grid(part, name) for name, part in zip(language_attention.PARTS, parts, strict=True)]))
allowed = None
with right:
    if causal:
        with task_guard():
            allowed = language_attention.mask(tokens, tokens)
    with task_guard(stop=False):
        weights, out = language_attention.attend(parts, allowed)
        titles = [f"weights of head {head}" for head in range(heads)]
        figure(weights, [str(token) for token in range(tokens)], titles, query, "attend_figure", choose, causal, parts[2])
        sums = ", ".join(f"{total:g}" for total in np.unique(weights.sum(-1).round(9)))
        st.caption(
            f"The row under the pointer is the query; click to keep it. Each row of weights sums to {sums}. With the mask, no output but "
            "the last depends on the last token."
        )
        st.html(grids.grid(out, "output of your code"))
task_source.show_task("6.3")
