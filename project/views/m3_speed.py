"""Module 3: the speed of the backends, measured live."""

import streamlit as st

from project.lab import kernels
from project.lab.cards import plain
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.training.jobs import Failed, Job

TICK = 0.3  # seconds between updates
BYTES = {"float32": 4, "float64": 8}
ROOFLINE = (
    "The roofline: an operation that does little arithmetic a byte waits for memory (the slope), one that does much is limited by the "
    "processor (the flat part). The bytes are those that must be moved at least, each input and each output once."
)
PARTS = (
    "Compile: what the first call takes longer; later processes find the kernel on disk. Launch: the part of a call that does not depend "
    "on the size. Transfer: copying the inputs to a GPU. Compute: the rest of a call at the largest size."
)
state = st.session_state

st.title("Speed-up")
st.write(
    "This page times the same operation on every backend, for inputs of increasing size. The backends take turns, and the median of "
    "five calls is reported. Other programs on this machine affect the results."
)

with task_guard():
    from project.lab.charts import roofline_chart, speed_chart
    from project.lab.explorers import roofline, speed

    kernels.check()


def command() -> list[str]:
    """Show the controls and return the corresponding flags of timing.py."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        op = st.segmented_control("Operation", list(speed.SIZES), default="matmul", key="op", bind="query-params", required=True)
        sizes = list(speed.SIZES[op])
        if state.get(f"up_to_{op}", sizes[-1]) not in sizes:
            del state[f"up_to_{op}"]
        up_to = st.selectbox("Up to", sizes, len(sizes) - 1, format_func="{:,}".format, key=f"up_to_{op}", bind="query-params", width=140)
        dtype = st.segmented_control("dtype", ["float32", "float64"], default="float32", key="dtype", bind="query-params", required=True)
    chosen = st.pills("Backends", speed.BACKENDS, selection_mode="multi", default=speed.BACKENDS, key="backends", bind="query-params")
    return ["--op", op, "--up-to", str(up_to), "--dtype", dtype, "--backends", ",".join(chosen or speed.BACKENDS)]


def start(flags: list[str]) -> None:
    """Start a new measurement."""
    stop()
    state.speed_flags = flags
    state.speed_job = Job("timing.py", "--json", *flags)


def stop() -> None:
    """Stop the measurement and keep its results."""
    if "speed_job" in state:
        state.speed_job.stop()


def update() -> None:
    """Read new measurements and draw all of them."""
    top, chart, words, numbers = (st.container() for _ in range(4))  # always the same containers, even if some are empty
    job: Job | None = state.get("speed_job")
    if job is None:
        top.info("Press **Start** to measure. The largest sizes take about half a minute.", icon=":material/speed:")
        return
    was_running = state.speed_running
    with top:
        read(job)
    if was_running and not state.speed_running:
        st.rerun()  # the buttons are outside of this fragment
    if not job.lines:
        if state.speed_running:
            top.progress(0.0, "Loading the backends …")
        return
    plan, *rows = job.lines
    found = [speed.Measurement(**row) for row in rows]
    total = len(plan["sizes"]) * len(plan["backends"])
    if state.speed_running:
        top.progress(len(found) / total, f"{len(found)} of {total} measured")
    if found:
        with chart.container(horizontal=True):
            draw(speed_chart.speedup(found), "speed_chart")
            itemsize, roof = BYTES[plan["dtype"]], roofline.Roof(**plan["roof"])
            draw(roofline_chart.roofline(found, itemsize, roof), "roofline_chart")
        words.caption(plain(speed_chart.in_words(found)))
        words.caption(plain(roofline_chart.in_words(found, itemsize, roof)), help=ROOFLINE)
        if split := speed.parts(found):
            numbers.write("**Where the time goes**")
            numbers.table(times(split), width="content")
            numbers.caption(PARTS)
        numbers.expander("Measurements").dataframe(table(found), hide_index=True)
    for note in speed_chart.notes(found, plan["left_out"]):
        words.caption(plain(note))


def read(job: Job) -> None:
    """Read new measurements and show errors."""
    try:
        with task_guard(stop=False):
            state.speed_running = False
            state.speed_running = job.read()
    except Failed as error:
        st.error("The measurement failed.", icon=":material/error:")
        st.code(str(error), language=None)


def times(split: list) -> list[dict[str, str]]:
    """Return the parts of each backend's time as rows of a table."""
    return [
        {
            "backend": each.backend,
            "size": f"{each.size:,}",
            "compile": speed.duration(each.compiling) if each.compiling else "none",
            "launch": speed.duration(each.launch),
            "transfer": speed.duration(each.transfer) if each.transfer else "none",
            "compute": speed.duration(each.compute),
        }
        for each in split
    ]


def table(found: list) -> list[dict]:
    """Return the measurements as rows of a table."""
    ratio = speed_chart.speedups(found)
    return [
        {
            "size": each.size,
            "backend": each.backend,
            "milliseconds": float(f"{each.seconds * 1000:.4g}"),
            f"speed relative to {found[0].backend}": float(f"{ratio[each.size, each.backend]:.3g}"),
            "measured": f"median of {each.runs}" if each.runs else "estimate",
        }
        for each in found
        if (each.size, each.backend) in ratio
    ]


flags = command()
job = state.get("speed_job")
state.speed_running = job is not None and job.running
with st.container(horizontal=True):
    st.button(
        "Start", on_click=start, args=(flags,), disabled=state.speed_running, icon=":material/play_arrow:", type="primary", key="start"
    )
    st.button("Stop", on_click=stop, disabled=not state.speed_running, icon=":material/stop:", key="stop")
if job is not None and state.speed_flags != flags and not state.speed_running:
    st.caption("The chart shows a measurement with other settings. Press **Start** to measure with these.")
st.fragment(update, run_every=TICK if state.speed_running else None)()
st.write("**Command line**")
st.code(f"python project/timing.py {' '.join(flags)}", language="bash", wrap_lines=True)
