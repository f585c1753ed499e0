"""Module 3: a matrix product step by step, with every read counted: element by element, and tile by tile through shared memory."""

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


def picked() -> None:
    """An element of C was clicked: go to its block, and pick its thread."""
    row, _, column = (state.tiles.picked or "").partition(",")
    if row:
        element = int(row), int(column)
        state.tiling_step = tiling.moment_of(shown, element, state.get("tiling_step", 0))
        state.tiling_step_playing = False
        state.thread_row, state.thread_column = (i % shown.tile for i in element)


def picked_thread() -> tuple[int, int]:
    """The thread of the block whose arithmetic is spelled out."""
    if not shown.tiled:
        return 0, 0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = whole_number("Row of the thread", "thread_row", 0, 0, shown.tile - 1)
        return row, whole_number("Its column", "thread_column", 0, 0, shown.tile - 1)


st.title("Tiling")
st.write(
    "In C = A · B of n rows and columns every number of A and B is needed n times. Read from global memory each time, they take longer to "
    "come than to multiply. A block of threads that first brings a tile of each into shared memory reads them there instead. On a "
    "processor the cache plays that part, and it too needs the work in this order."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    n = whole_number("n", "n", 6, 2, tiling.MOST)
    tile = whole_number("Tile t", "tile", 3, 2, n)
    order = st.segmented_control("Order", tiling.ORDERS, default=tiling.ORDERS[1], required=True, key="tiling_order", bind="query-params")
shown = tiling.Tiling(n, tile, order or tiling.ORDERS[1])
number = player(len(shown.steps), "tiling_step", "Steps taken", plays=True)
st.write(plain(tiling.sentence(shown, number)))
st.caption(tiling.progress(shown, number))
left, right = st.columns([2, 3], vertical_alignment="bottom")
with left:
    thread = picked_thread()
with right:
    st.code(tiling.arithmetic(shown, number, thread), language=None, wrap_lines=True)
cells.draw([tiling.panel(shown, number, thread)], "tiles", picked)
st.caption(
    "Blue: read in this step. Green: changes in this step. Orange: the picked thread's. Shaded: every other tile. 7…: a sum that is still "
    "in a register. Click an element of C to go to its step. Blocks are shown one after the other; a GPU runs many at a time, in any order."
)
left, right = st.columns(2, vertical_alignment="center")
with left:
    st.table(tiling.totals(shown, number), width="content")
with right:
    st.code(tiling.comparison(n, tile), language=None, wrap_lines=True)
task_source.show(SOURCES[order or tiling.ORDERS[1]])
