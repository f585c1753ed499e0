"""Module 3: the grid, its blocks and their threads: which thread computes what in a map, a reduction and a matrix product."""

import streamlit as st

from project.lab import task_source
from project.lab.cards import plain
from project.lab.charts import cells
from project.lab.explorers import grid_blocks
from project.lab.explorers import tree_reduction as tree
from project.lab.guard import refuse
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_shape
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

MOST_ELEMENTS = 64
SOURCES = {
    "map": ["minitorch.cuda_ops:tensor_map"],
    "reduce": ["minitorch.cuda_ops:_sum_practice", "minitorch.cuda_ops:tensor_reduce"],
    "matmul": ["minitorch.cuda_ops:_tensor_matrix_multiply"],
}
state = st.session_state


def leave_out(choices: tuple[str, ...]) -> str:
    """Show the control that removes a part of the kernel, and return its value."""
    if state.get("grid_missing") not in choices:
        state.grid_missing = choices[0]
    return st.selectbox("Remove", choices, key="grid_missing", bind="query-params", width=260)


def learn(missing: str, lesson: str) -> None:
    """Show what happens without this part."""
    st.warning(f"**Without {missing}.** {plain(lesson)}", icon=":material/school:")


def pick_thread() -> None:
    """Select the thread of the cell that was clicked."""
    block, _, thread = (state.grid_picture.picked or "").partition(",")
    if block:
        state.grid_block, state.grid_thread = int(block), int(thread)


def pick_element(launched: grid_blocks.Product) -> None:
    """Select the thread of the matrix element that was clicked."""
    row, _, column = (state.grid_picture.picked or "").partition(",")
    if row:
        (state.block_x, state.block_y), (state.thread_x, state.thread_y) = launched.thread(int(row), int(column))


def select_thread(blocks: int, threads: int) -> tuple[int, int]:
    """Show the controls that select a thread, and return its block and its index."""
    block = whole_number("blockIdx.x", "grid_block", 0, 0, blocks - 1)
    return block, whole_number("threadIdx.x", "grid_thread", 0, 0, threads - 1)


def map_page() -> None:
    """Show a map over a tensor."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="map_settings"):
        try:
            typed = st.text_input("Shape of out", "4, 5", key="grid_shape", bind="query-params", width=150)
            shape = parse_shape(typed, 4, MOST_ELEMENTS)
        except Refused as refusal:
            refuse(str(refusal), f"Enter 1 to 4 sizes, such as 4, 5, with at most {MOST_ELEMENTS} elements in total.")
        threads = whole_number("Threads per block", "grid_threads", 8, 1, 32)
        missing = leave_out(tree.MISSING[:2])
        launched = grid_blocks.Map(shape, threads)
        if launched.size:
            block, thread = select_thread(launched.blocks, threads)
    if not launched.size:
        st.info("The tensor has no elements, so no block is launched.")
        return
    st.write(plain(launched.launch()))
    if missing != tree.NOTHING:
        learn(missing, launched.unguarded())
    st.code(launched.formula(block, thread, missing == tree.NOTHING), language=None, wrap_lines=True)
    cells.draw(launched.panels(block, thread, missing == tree.NOTHING), "grid_picture", pick_thread)
    st.caption(
        "Orange: the selected thread and its element. Hatched: idle, because of the guard. Shaded: every other block. Red: wrong. "
        "Hover over a thread to highlight its element; click it to select it."
    )


def reduce_page() -> None:
    """Show a reduction in shared memory, one sum per block."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="reduce_settings"):
        size = whole_number("Elements of a", "grid_size", 20, 1, MOST_ELEMENTS)
        threads = st.selectbox("Threads per block", (4, 8, 16, 32), 1, key="tree_threads", bind="query-params", width=150)
        missing = leave_out(tree.MISSING)
        sums = tree.Tree(size, threads, missing)
        block, thread = select_thread(sums.blocks, threads)
    if missing != tree.NOTHING:
        learn(missing, sums.lesson())
    number = player(len(sums.moments) - 1, "tree_step", "Steps", 1, plays=True)
    st.write(plain(sums.sentence(number)))
    st.code(sums.formula(number, block, thread), language=None, wrap_lines=True)
    cells.draw(sums.panels(number, (block, thread)), "grid_picture", pick_thread)
    st.caption(
        "Blue: read in this step. Green: changed in this step. Orange: the selected thread; dashed: the cell that it adds. Red: wrong. "
        "?: uninitialized memory. cuda.syncthreads() separates two steps: no thread continues before all threads of the block arrive. "
        "A second launch adds the sums of the blocks, because there is no barrier between blocks."
    )


def product_page() -> None:
    """Show the blocks of a matrix product."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="product_settings"):
        rows = whole_number("Rows of out", "grid_rows", 7, 1, 12)
        columns = whole_number("Columns of out", "grid_columns", 6, 1, 12)
        side = whole_number("BLOCK_DIM", "grid_side", 4, 2, 6)
        ahead = st.segmented_control(
            "threadIdx.x runs along the", grid_blocks.AHEAD, default="columns", required=True, key="grid_ahead", bind="query-params"
        )
        missing = leave_out(tree.MISSING[:2])
    launched = grid_blocks.Product(rows, columns, side, ahead or "columns")
    st.write(plain(launched.launch()))
    if missing != tree.NOTHING:
        learn(missing, launched.unguarded())
    down, across = launched.blocks
    with st.container(horizontal=True, vertical_alignment="bottom", key="thread_settings"):
        block = whole_number("blockIdx.x", "block_x", 0, 0, down - 1), whole_number("blockIdx.y", "block_y", 0, 0, across - 1)
        thread = whole_number("threadIdx.x", "thread_x", 0, 0, side - 1), whole_number("threadIdx.y", "thread_y", 0, 0, side - 1)
    st.code(launched.formula(block, thread, missing == tree.NOTHING), language=None, wrap_lines=True)
    panels = launched.panels(launched.element(block, thread), missing == tree.NOTHING)
    cells.draw(panels, "grid_picture", lambda: pick_element(launched))
    st.caption(
        "Large: row and column of the element. Small: threadIdx.x and threadIdx.y. Hatched: outside of out; such a thread only loads data "
        "for others. Shaded: every other block. Red: wrong. Click an element to select its thread. blockIdx.z is the index of the matrix "
        "in a batch."
    )
    st.write(plain(launched.coalescing(block)))


st.title("Grid explorer")
st.write(
    "A kernel is launched on a grid of blocks of equal size. Every thread runs it once and computes from the indices of the thread and its "
    "block which element to work on. Threads in the same block share memory and can synchronize; threads in different blocks cannot."
)
kernel = st.segmented_control("Kernel", list(SOURCES), default="map", required=True, key="grid_kernel", bind="query-params") or "map"
{"map": map_page, "reduce": reduce_page, "matmul": product_page}[kernel]()
task_source.show(SOURCES[kernel])
