"""Module 3: how numba compiled the loops of a kernel."""

from typing import Any

import streamlit as st

from course.manifest import course
from project.lab import kernels, sources, task_source
from project.lab.cards import plain
from project.lab.guard import task_guard
from project.lab.training.jobs import Failed, Job

WRITTEN = {"map": "tensor_map", "zip": "tensor_zip", "reduce": "tensor_reduce", "matmul": "_tensor_matrix_multiply"}
TIMEOUT = 240.0  # seconds; several kernels are compiled

st.title("Parallel loops")
st.write(
    "This page compiles a kernel of the fast backend and reports what numba did with its loops. A `prange` runs in parallel only if it "
    "is not nested in another parallel loop."
)

with task_guard():
    import minitorch.fast_ops  # noqa: F401  an import error is shown here, before a process is started

    kernels.check()


@st.cache_data(show_spinner="Compiling the kernel. This may take half a minute …", max_entries=20)
def run_check(function: str, files: Any) -> dict[str, Any]:
    """Return the report of `parallel_check.py`, which runs again when a file has changed."""
    job = Job("parallel_check.py", "--json", "--level", "3", "--function", function)
    job.wait(TIMEOUT)
    return job.lines[-1]


def loop_rows(loops: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the rows of the table of loops."""
    rows = []
    for loop in loops:
        places = ", ".join(map(str, dict.fromkeys(loop["allocations"])))
        rows.append(
            {
                "line": str(loop["line"]),
                "loop": f"`{loop['source']}`",
                "runs": {
                    "parallel": "in parallel",
                    "serial": f"serially, inside the loop at line {loop['into']}",
                    "fused": f"fused with the loop at line {loop['into']}",
                }[loop["fate"]],
                "arrays allocated per iteration": f"{len(loop['allocations'])} (line {places})" if places else "none",
                "hoisted out of the loop": f"{loop['hoisted']} instructions" if loop["hoisted"] else "none",
            }
        )
    return rows


def show(report: dict[str, Any]) -> None:
    """Show the verdict, the loops, and numba's own report."""
    verdict = report["words"][0].partition(": ")[2]
    if report["parallel"]:
        st.success(plain(f"{report['function']}: {verdict}"), icon=":material/check_circle:")
    else:
        st.warning(plain(f"{report['function']}: {verdict}"), icon=":material/warning:")
    for each in report["compiled"]:
        st.markdown(f"**`{each['name']}`** in `{each['file']}`, line {each['line']}")
        if each["loops"]:
            st.table(loop_rows(each["loops"]))
        else:
            st.write("No parallel loop. Write the loop over the output as `for … in prange(…)`.")
    if any(loop["allocations"] for each in report["compiled"] for loop in each["loops"]):
        st.caption(
            "An index buffer allocated inside the loop is private to each iteration. Allocated before the loop, it would be shared, and "
            "iterations would overwrite each other's indices."
        )
    if report["raw"]:
        with st.expander("Report from numba"):
            st.code(report["raw"], language=None)


function = st.segmented_control("Kernel", list(WRITTEN), default="map", key="kernel", bind="query-params", required=True)
name = f"minitorch.fast_ops:{WRITTEN[function]}"
try:
    with task_guard(stop=False):
        show(run_check(function, st.session_state.get("sources") or sources.stamp()))
except Failed as error:
    task = next(task for task in course().tasks if name in task.write)
    st.error(plain(f"{WRITTEN[function]} of Task {task.id} could not be compiled and run."), icon=":material/error:")
    st.code(str(error), language=None)
task_source.show([name])
st.write("**Command line**")
st.code(f"python project/parallel_check.py --function {function}", language="bash", wrap_lines=True)
