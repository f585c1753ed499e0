"""Module 3: the speed of the backends, measured live, and how numba compiled the loops of a kernel."""

import json
from typing import Any

import streamlit as st

from course.manifest import ROOT, course
from project.lab import kernels, sources, task_source
from project.lab.cards import plain
from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.training.jobs import Failed, Job
from project.lab.widgets.parts import show_one

TICK = 0.3  # seconds between updates
WRITTEN = {"map": "tensor_map", "zip": "tensor_zip", "reduce": "tensor_reduce", "matmul": "_tensor_matrix_multiply"}
TIMEOUT = 240.0  # seconds; several kernels are compiled
BYTES = {"float32": 4, "float64": 8}
RECORD = ROOT / "benchmarks" / "results" / "goals.json"  # its program, date and machine are in it
ROOFLINE = (
    "The roofline: an operation that does little arithmetic a byte waits for memory (the slope), one that does much is limited by the "
    "processor (the flat part). The bytes are those that must be moved at least, each input and each output once."
)
PARTS = (
    "Compile: what the first call takes longer; later processes find the kernel on disk. Launch: the part of a call that does not depend "
    "on the size. Transfer: copying the inputs to a GPU. Compute: the rest of a call at the largest size."
)
state = st.session_state

st.title("Speed-up, loops")
with task_guard():
    from project.lab.charts import roofline_chart, speed_chart
    from project.lab.explorers import roofline, speed

    kernels.check()


# Speed-up


def show_speed() -> None:
    """Show the controls, and a measurement that runs."""
    st.write("The time of an operation on every backend, in turns: the median of five calls. Other programs on this machine affect it.")
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


def command() -> list[str]:
    """Show the controls and return the corresponding flags of timing.py."""
    with st.container(horizontal=True):
        op = st.segmented_control("Operation", list(speed.SIZES), default="matmul", key="op", bind="query-params", required=True)
        sizes = list(speed.SIZES[op])
        if state.get(f"up_to_{op}", sizes[-1]) not in sizes:
            del state[f"up_to_{op}"]
        up_to = st.selectbox("Up to", sizes, len(sizes) - 1, format_func="{:,}".format, key=f"up_to_{op}", bind="query-params", width=100)
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
        example = ""
        if RECORD.is_file():
            record = json.loads(RECORD.read_text(encoding="utf-8"))
            example = f" An example, one thread: `{record['command']}`, {record['date']}, {record['machine']}."
            with chart:
                draw(speed_chart.recorded(record["rows"]), "recorded_chart")
        top.info(f"Press **Start** to measure.{example}", icon=":material/speed:")
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


# Parallel loops


def show_parallel_loops() -> None:
    """Show how numba compiled the loops of a kernel."""
    st.write(
        "What numba did with the loops of a kernel of the fast backend. A `prange` runs in parallel only outside of other parallel loops."
    )
    with task_guard():
        from project.lab.charts import loop_nest  # an import error of the kernels is shown here, before a process is started
    function = st.segmented_control("Kernel", list(WRITTEN), default="map", key="kernel", bind="query-params", required=True)
    name = f"minitorch.fast_ops:{WRITTEN[function]}"
    loops = st.empty()
    try:
        with task_guard(stop=False):
            loops.html(loop_nest.nest(task_source.source(name), WRITTEN[function], 1, []))  # until numba has compiled them
            report = run_check(function, st.session_state.get("sources") or sources.stamp())
            loops.empty()
            show_report(report)
    except Failed as error:
        task = next(task for task in course().tasks if name in task.write)
        st.error(plain(f"{WRITTEN[function]} of Task {task.id} could not be compiled and run."), icon=":material/error:")
        st.code(str(error), language=None)
    task_source.show([name])
    st.write("**Command line**")
    st.code(f"python project/parallel_check.py --function {function}", language="bash", wrap_lines=True)


@st.cache_data(show_spinner="Compiling the kernel. This may take half a minute …", max_entries=20)
def run_check(function: str, files: Any) -> dict[str, Any]:
    """Return the report of `parallel_check.py`, which runs again when a file has changed."""
    job = Job("parallel_check.py", "--json", "--level", "3", "--function", function)
    job.wait(TIMEOUT)
    return job.lines[-1]


def show_report(report: dict[str, Any]) -> None:
    """Show the verdict, the loops, and numba's own report."""
    from project.lab.charts import loop_nest
    from project.lab.explorers.diagnostics import Loop

    verdict = report["words"][0].partition(": ")[2]
    if report["parallel"]:
        st.success(plain(f"{report['function']}: {verdict}"), icon=":material/check_circle:")
    else:
        st.warning(plain(f"{report['function']}: {verdict}"), icon=":material/warning:")
    for each in report["compiled"]:
        st.markdown(f"**`{each['name']}`** in `{each['file']}`, line {each['line']}")
        if each["loops"]:
            loops = [Loop(**loop) for loop in each["loops"]]
            st.html(loop_nest.nest((ROOT / each["file"]).read_text(encoding="utf-8"), each["name"], each["line"], loops))
        else:
            st.write("No parallel loop. Write the loop over the output as `for … in prange(…)`.")
    if report["compiled"]:
        st.caption("Blue: in parallel. Orange: inside a parallel loop, or fused with one. Gray: an ordinary loop, which one thread runs.")
    if any(loop["allocations"] for each in report["compiled"] for loop in each["loops"]):
        st.caption(
            "An index buffer allocated inside the loop is private to each iteration. Allocated before the loop, it would be shared, and "
            "iterations would overwrite each other's indices."
        )
    if report["raw"]:
        with st.expander("Report from numba"):
            st.code(report["raw"], language=None)


show_one(m3_speed=show_speed, m3_diagnostics=show_parallel_loops)
