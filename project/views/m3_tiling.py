"""Module 3: a matrix product step by step, counting every read: element by element, or in tiles through shared memory."""

import streamlit as st

from project.lab import task_source
from project.lab.cards import plain
from project.lab.charts import cells
from project.lab.explorers import tiling
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

SOURCES = {
    tiling.ORDERS[0]: ["minitorch.fast_ops:_tensor_matrix_multiply"],
    tiling.ORDERS[1]: ["minitorch.cuda_ops:_tensor_matrix_multiply"],
}
state = st.session_state


def pick_element() -> None:
    """Go to the block of the element of C that was clicked, and select its thread."""
    row, _, column = (state.tiles.picked or "").partition(",")
    if row:
        element = int(row), int(column)
        state.tiling_step = tiling.moment_of(shown, element, state.get("tiling_step", 0))
        state.tiling_step_playing = False
        state.thread_row, state.thread_column = (i % shown.tile for i in element)


st.title("Tiling")
st.write(
    "In an n × n product C = A · B, every element of A and B is needed n times. Instead of reading it from global memory each time, a "
    "block of threads loads one tile of each matrix into shared memory and reads the tiles from there. On a CPU the cache plays this role."
)
with st.container(horizontal=True, vertical_alignment="bottom", key="tiling_settings"):
    n = whole_number("n", "n", 6, 2, tiling.MOST)
    tile = whole_number("Tile t", "tile", 3, 2, n)
    order = st.segmented_control("Order", tiling.ORDERS, default=tiling.ORDERS[1], required=True, key="tiling_order", bind="query-params")
    shown = tiling.Tiling(n, tile, order or tiling.ORDERS[1])
    thread = 0, 0
    if shown.tiled:
        thread = whole_number("Thread row", "thread_row", 0, 0, tile - 1), whole_number("Thread column", "thread_column", 0, 0, tile - 1)
number = player(len(shown.steps), "tiling_step", "Steps", 1, plays=True)
left, right = st.columns([2, 3])
with left:
    st.write(plain(tiling.sentence(shown, number)))
    st.caption(tiling.progress(shown, number))
with right:
    st.code(tiling.arithmetic(shown, number, thread), language=None, wrap_lines=True)
cells.draw([tiling.panel(shown, number, thread)], "tiles", pick_element)
st.caption(
    "Blue: read in this step. Green: changed in this step. Orange: belongs to the selected thread. Shaded: every other tile. 7…: a partial "
    "sum in a register. Click an element of C to go to its step. The blocks run one after the other here; a GPU runs many at a time, in "
    "any order."
)
left, right = st.columns(2, vertical_alignment="center")
with left:
    st.table(tiling.totals(shown, number), width="content")
with right:
    st.code(tiling.comparison(n, tile), language=None, wrap_lines=True)
task_source.show(SOURCES[order or tiling.ORDERS[1]])
