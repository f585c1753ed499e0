"""Module 3: a CUDA kernel beside its warps and its memory, without a GPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st

from course.manifest import ROOT
from project.lab import task_source
from project.lab.cards import plain
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.widgets import kernel_report
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

if TYPE_CHECKING:
    from project.lab.explorers.kernel_lab import Launch

MOST_STEPS = 1000
state = st.session_state

st.title("Kernel laboratory")
st.write(
    "A GPU runs the threads of a block in warps of 32 that execute the same line at the same time. This page does so without a GPU, and "
    "reports what would be slow or wrong."
)

with task_guard():
    from minitorch.cuda import KernelError
    from project.lab.charts import cells, kernel_figures, kernel_roofline
    from project.lab.explorers import kernel_lab


def inspect(name: str, launch: Launch, block: tuple[int, int, int]):
    """Return the report of a launch, which is kept until the source or the selection changes."""
    kept = state.setdefault("kernel_reports", {})
    made_from = name, launch.title, block, state.get("sources")
    if made_from not in kept:
        if len(kept) == 2:  # a launch, and the one with its mistake fixed
            kept.clear()
        with task_guard():
            try:
                kept[made_from] = kernel_lab.run(launch, block)
            except KernelError as error:
                st.error(f"**This kernel cannot be run.** {plain(str(error).replace(f'{ROOT}/', ''))}", icon=":material/error:")
                st.stop()
    return kept[made_from]


def to_the_start() -> None:
    """Go to the line with which the page opens, when the kernel has run."""
    state.kernel_changed = True


def select() -> tuple[str, Launch, tuple[int, int, int], int]:
    """Show the controls that select a kernel, a block and a warp."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = "The kernels that you write, on small inputs, and textbook kernels with typical mistakes."
        names, bind = list(kernel_lab.LAUNCHES), "query-params"
        name = st.selectbox("Kernel", names, 7, key="kernel_name", bind=bind, width=360, help=help, on_change=to_the_start)
        launch = kernel_lab.LAUNCHES[name]
        sizes = (*launch.grid, 1, 1)
        block = [whole_number("blockIdx.x", "kernel_block_x", 0, 0, sizes[0] - 1) if sizes[0] > 1 else 0]
        block.append(whole_number("blockIdx.y", "kernel_block_y", 0, 0, sizes[1] - 1) if sizes[1] > 1 else 0)
        threads = math.prod(launch.block)
        warp = whole_number("Warp", "kernel_warp", 0, 0, (threads - 1) // 32) if threads > 32 else 0
        if repaired := kernel_lab.REPAIRED.get(name):
            launch = repaired if st.toggle("Fix it", key="kernel_fixed", bind="query-params") else launch
    st.caption(f"{launch.purpose} Grid {launch.grid}, blocks of {launch.block} threads.")
    return name, launch, (block[0], block[1], 0), warp


def shared_accesses(shown) -> list:
    """Return the accesses of a step to arrays that several threads can see."""
    return [each for each in shown.accesses if each.access.space != "local"]


def show_memory(shown) -> None:
    """Show the threads of the warp and the arrays that they access."""
    accesses = shared_accesses(shown)
    cells.draw([kernel_figures.memory(shown.active, each) for each in accesses or [None]], "kernel_memory", lambda: None)
    st.caption(
        "A line leads from each thread to the element that it accesses. Blue: read. Green: written. Orange: changed atomically; pale "
        "orange: transferred, but not used. Red border: waits for another access of the same bank."
    )


name, launch, block, warp = select()
report = inspect(name, launch, block)
kernel_report.totals(report, inspect(name, kernel_lab.LAUNCHES[name], block) if launch is kernel_lab.REPAIRED.get(name) else None)
kernel_report.findings(report)
steps = kernel_lab.warp_steps(report, warp, MOST_STEPS)
if steps:
    first = next((number for number, each in enumerate(steps) if shared_accesses(each)), 0)
    if state.pop("kernel_changed", False):
        state.kernel_step = first
    moment = player(len(steps) - 1, "kernel_step", "Lines executed", first, plays=True)
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.write(plain(kernel_lab.sentence(steps[moment])))
        place = steps[moment].step.place
        st.html(kernel_figures.source(report, place.line, place.file))
        st.caption(
            "Threads: the share of a warp's threads that is active. Sectors: of 32 bytes in an access of a warp; after a slash, how many "
            "would do. Banks: threads that wait for the same bank. Blue: the current line. Red: part of a mistake."
        )
    with right:
        show_memory(steps[moment])
else:
    st.info("No thread of this warp executes a line.")
st.subheader("How fast could it be?")
left, right = st.columns(2, gap="large")
with left:
    draw(kernel_roofline.roofline(report.intensity), "kernel_roofline")
    st.caption(plain(kernel_roofline.in_words(report.intensity, traffic=bool(report.global_bytes))))
with right:
    help = "Registers of a thread. The compiler decides on their number: make check-cuda prints it."
    registers = whole_number("Registers", "kernel_registers", 32, 1, 255, width=140, help=help)
    st.table(kernel_roofline.occupancies(report.threads, registers, report.shared_bytes))
    st.caption(
        "Occupancy: the warps that a multiprocessor can hold at the same time, of those that the card allows. While one warp waits for "
        "memory, others can work."
    )
with st.expander("The report as text"):
    st.code(report.table(100), language=None)
    if launch.source:
        module, _, function = launch.source.partition(":")
        path = module.replace(".", "/") + ".py"
        st.caption(f"`python -m minitorch.cuda.inspect {path}:{function}` prints such a report for any kernel and any input.")
if launch.source:
    task_source.show([launch.source])
