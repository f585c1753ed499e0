"""Module 1: forward and reverse mode, every step in a table."""

import streamlit as st

from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, Refused, parse

VARIABLES = ("x1", "x2", "x3")
POINT = {"x1": 2.0, "x2": 5.0, "x3": 1.0}

st.title("Traces")
st.write(
    "Two ways through the same steps. Forward mode carries the derivative by one input along (tangents); reverse mode goes back from the "
    "output and finds its derivative by every step (adjoints)."
)

with task_guard():
    from minitorch import Scalar, forward_trace, reverse_trace


def table(trace, column: str) -> None:
    """One sweep."""
    rows = [
        {"step": f"{line.name} = {line.expression}", "value": f"{line.value:.4f}", column: f"{line.derivative:.4f}"} for line in trace.lines
    ]
    st.table(rows, width="content")


try:
    typed = st.text_input("Function of x1, x2, x3", "log(x1) + x1 * x2 - sin(x2)", key="trace_f", bind="query-params")
    expression = parse(typed, VARIABLES)
except Refused as refusal:
    refuse(str(refusal), f"Allowed: numbers, x1, x2, x3, + - * / ** < > == and {', '.join(FUNCTIONS)}.")
if not expression.names:
    st.info("There is no variable in this function: nothing is recorded.")
    st.stop()
inputs = VARIABLES[: VARIABLES.index(expression.names[-1]) + 1]
with st.container(horizontal=True):
    point = [st.number_input(name, -1e6, 1e6, POINT[name], 0.5, key=name, bind="query-params", width=140) for name in inputs]
    seed = st.selectbox("Forward mode by", inputs, key="seed_input", width=160)

with task_guard():
    function = expression.function(inputs, lambda value: Scalar(value, None))
    forward = forward_trace(function, *point, arg=inputs.index(seed))
    reverse = reverse_trace(function, *point)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Forward: read downward")
        table(forward, f"tangent, d by d{seed}")
        st.caption(f"One sweep gives the derivative by {seed}: {forward.lines[-1].derivative:.4f}. Another input needs another sweep.")
    with right:
        st.subheader("Reverse: read downward")
        table(reverse, "adjoint, d output by d step")
        by_input = {line.name: line.derivative for line in reverse.lines if line.name in inputs}
        gradient = ", ".join(f"{by_input[name]:.4f} by {name}" for name in inputs)
        st.caption(f"One sweep gives all derivatives of the output: {gradient}.")
