"""Module 3: what numba made of the loops of a kernel."""

from typing import Any

import streamlit as st

from course.manifest import course
from project.lab import kernels, sources, task_source
from project.lab.cards import plain
from project.lab.guard import task_guard
from project.lab.training.jobs import Failed, Job

WRITTEN = {"map": "tensor_map", "zip": "tensor_zip", "reduce": "tensor_reduce", "matmul": "_tensor_matrix_multiply"}
PATIENCE = 240.0  # seconds; several kernels are compiled

st.title("Parallel loops")
st.write(
    "Each kernel of the compiled backend is compiled anew, for small tensors, and numba is asked what became of its loops. "
    "A `prange` runs in parallel only if no other parallel loop stands around it."
)

with task_guard():
    import minitorch.fast_ops  # noqa: F401  what cannot be imported is named here, before a process is started for it

    kernels.check()


@st.cache_data(show_spinner="The kernel is being compiled. This may take half a minute.", max_entries=20)
def examined(function: str, files: Any) -> dict[str, Any]:
    """The report of `parallel_check.py`; asked again when a file has changed."""
    job = Job("parallel_check.py", "--json", "--level", "3", "--function", function)
    job.wait(PATIENCE)
    return job.lines[-1]


def loop_rows(loops: list[dict[str, Any]]) -> list[dict[str, str]]:
    """A table of loops."""
    rows = []
    for loop in loops:
        places = ", ".join(map(str, dict.fromkeys(loop["allocations"])))
        rows.append(
            {
                "line": str(loop["line"]),
                "loop": f"`{loop['source']}`",
                "runs": {
                    "parallel": "in parallel",
                    "serial": f"serially, inside that of line {loop['into']}",
                    "fused": f"together with that of line {loop['into']}",
                }[loop["fate"]],
                "new arrays an iteration": f"{len(loop['allocations'])} (line {places})" if places else "none",
                "moved to before it": f"{loop['hoisted']} instructions" if loop["hoisted"] else "nothing",
            }
        )
    return rows


def show(report: dict[str, Any]) -> None:
    """The verdict, the loops, and numba's own words."""
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
            st.write("No parallel loop: the loop over the results should be `for … in prange(…)`.")
    if any(loop["allocations"] for each in report["compiled"] for loop in each["loops"]):
        st.caption(
            "An index buffer that is made inside the loop belongs to its iteration alone. Made before the loop it would be shared, and "
            "iterations would overwrite each other's."
        )
    if report["raw"]:
        with st.expander("What numba says"):
            st.code(report["raw"], language=None)


function = st.segmented_control("Kernel", list(WRITTEN), default="map", key="kernel", bind="query-params", required=True)
name = f"minitorch.fast_ops:{WRITTEN[function]}"
try:
    with task_guard(stop=False):
        show(examined(function, st.session_state.get("sources") or sources.stamp()))
except Failed as error:
    task = next(task for task in course().tasks if name in task.write)
    st.error(f"The kernel of Task {task.id} could not be compiled.", icon=":material/error:")
    st.code(str(error), language=None)
task_source.show([name])
st.write("**The same in a terminal**")
st.code(f"python project/parallel_check.py --function {function}", language="bash", wrap_lines=True)
