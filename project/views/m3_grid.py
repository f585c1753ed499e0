"""Module 3: the grid, its blocks and their threads: who computes what in a map, in a reduction and in a matrix product."""

import streamlit as st

from project.lab import task_source
from project.lab.cards import plain
from project.lab.charts import cells
from project.lab.explorers import grid_blocks
from project.lab.explorers import tree_reduction as tree
from project.lab.guard import refuse
from project.lab.typed.expressions import Refused
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
    """What the kernel shall lack."""
    if state.get("grid_missing") not in choices:
        state.grid_missing = choices[0]
    return st.selectbox("Leave out", choices, key="grid_missing", bind="query-params", width=260)


def learn(missing: str, lesson: str) -> None:
    """What happens without it."""
    st.warning(f"**Without {missing}.** {plain(lesson)}", icon=":material/school:")


def picked() -> None:
    """A cell was clicked that knows its block and its thread."""
    block, _, thread = (state.grid_picture.picked or "").partition(",")
    if block:
        state.grid_block, state.grid_thread = int(block), int(thread)


def picked_element(launched: grid_blocks.Product) -> None:
    """A cell of the matrix was clicked."""
    row, _, column = (state.grid_picture.picked or "").partition(",")
    if row:
        (state.block_x, state.block_y), (state.thread_x, state.thread_y) = launched.thread(int(row), int(column))


def block_and_thread(blocks: int, threads: int) -> tuple[int, int]:
    """The picked thread."""
    block = whole_number("blockIdx.x", "grid_block", 0, 0, blocks - 1)
    return block, whole_number("threadIdx.x", "grid_thread", 0, 0, threads - 1)


def map_page() -> None:
    """A map over a tensor."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.setdefault("grid_shape", "4, 5")
        try:
            shape = parse_shape(st.text_input("Shape of out", key="grid_shape", bind="query-params", width=150), 4, MOST_ELEMENTS)
        except Refused as refusal:
            refuse(str(refusal), f"Type 1 to 4 sizes, such as 4, 5: at most {MOST_ELEMENTS} elements.")
        threads = whole_number("Threads per block", "grid_threads", 8, 1, 32)
        missing = leave_out(tree.MISSING[:2])
    launched = grid_blocks.Map(shape, threads)
    if not launched.size:
        st.info("The tensor has no elements: no block is launched.")
        return
    st.write(plain(launched.launch()))
    if missing != tree.NOTHING:
        learn(missing, launched.unguarded())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        block, thread = block_and_thread(launched.blocks, threads)
    st.code(launched.formula(block, thread, missing == tree.NOTHING), language=None, wrap_lines=True)
    cells.draw(launched.panels(block, thread, missing == tree.NOTHING), "grid_picture", picked)
    st.caption(
        "Orange: the picked thread and its element. Hatched: idle, the guard sends it home. Shaded: every other block. Red: goes "
        "wrong. Point at a thread to see its element; click one to pick it."
    )


def reduce_page() -> None:
    """The sums of blocks in shared memory."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        size = whole_number("Elements of a", "grid_size", 20, 1, MOST_ELEMENTS)
        threads = st.selectbox("Threads per block", (4, 8, 16, 32), 1, key="tree_threads", bind="query-params", width=150)
        missing = leave_out(tree.MISSING)
    sums = tree.Tree(size, threads, missing)
    if missing != tree.NOTHING:
        learn(missing, sums.lesson())
    number = player(len(sums.moments) - 1, "tree_step", "Steps taken", plays=True)
    st.write(plain(sums.sentence(number)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        block, thread = block_and_thread(sums.blocks, threads)
    st.code(sums.formula(number, block, thread), language=None, wrap_lines=True)
    cells.draw(sums.panels(number, (block, thread)), "grid_picture", picked)
    st.caption(
        "Blue: read in this step. Green: changes in this step. Orange: the picked thread, and dashed the cell that it adds. Red: goes "
        "wrong. ?: whatever was left there. Between two steps stands cuda.syncthreads(): nobody goes on before all have come. The sums"
        " of the blocks are summed by a second launch: there is no barrier between blocks."
    )


def product_page() -> None:
    """The blocks of a matrix product."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
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
    with st.container(horizontal=True, vertical_alignment="bottom"):
        block = whole_number("blockIdx.x", "block_x", 0, 0, down - 1), whole_number("blockIdx.y", "block_y", 0, 0, across - 1)
        thread = whole_number("threadIdx.x", "thread_x", 0, 0, side - 1), whole_number("threadIdx.y", "thread_y", 0, 0, side - 1)
    st.code(launched.formula(block, thread, missing == tree.NOTHING), language=None, wrap_lines=True)
    panels = launched.panels(launched.element(block, thread), missing == tree.NOTHING)
    cells.draw(panels, "grid_picture", lambda: picked_element(launched))
    st.caption(
        "Large: row and column of the element. Small: threadIdx.x and threadIdx.y. Hatched: beyond the edge of out, such a thread only"
        " loads for others. Shaded: every other block. Red: goes wrong. Click an element to pick its thread. blockIdx.z counts the "
        "matrices of a batch."
    )
    st.write(plain(launched.neighbours(block)))


st.title("Grid explorer")
st.write(
    "A kernel is launched on a grid of blocks, each of as many threads. It runs once in every thread, and finds out from the numbers of "
    "the thread and its block which element is its own. Threads of one block share memory and can wait for each other; blocks know nothing "
    "of each other."
)
kernel = st.segmented_control("Kernel", list(SOURCES), default="map", required=True, key="grid_kernel", bind="query-params") or "map"
{"map": map_page, "reduce": reduce_page, "matmul": product_page}[kernel]()
task_source.show(SOURCES[kernel])
