"""Module 1: forward-mode and reverse-mode differentiation, step by step in tables."""

import streamlit as st

from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, parse
from project.lab.typed.source import Refused

VARIABLES = ("x1", "x2", "x3")
POINT = {"x1": 2.0, "x2": 5.0, "x3": 1.0}

st.title("Traces")
st.write(
    "Two ways to differentiate the same steps. Forward mode computes the derivative of every step with respect to one input (tangents). "
    "Reverse mode starts at the output and computes its derivative with respect to every step (adjoints)."
)

with task_guard():
    from minitorch import Scalar, forward_trace, reverse_trace


def show_table(trace, column: str) -> None:
    """Show one pass as a table."""
    rows = [
        {"step": f"{line.name} = {line.expression}", "value": f"{line.value:.4f}", column: f"{line.derivative:.4f}"} for line in trace.lines
    ]
    st.table(rows, width="content")


try:
    typed = st.text_input("Function of x1, x2, x3", "log(x1) + x1 * x2 - sin(x2)", key="trace_f", bind="query-params")
    expression = parse(typed, VARIABLES)
except Refused as refusal:
    refuse(str(refusal), f"Use numbers, x1, x2, x3, + - * / ** < > == and the functions {', '.join(FUNCTIONS)}.")
if not expression.names:
    st.info("This function has no variable. It is constant, so nothing is recorded.")
    st.stop()
inputs = VARIABLES[: VARIABLES.index(expression.names[-1]) + 1]
with st.container(horizontal=True):
    point = [st.number_input(name, -1e6, 1e6, POINT[name], 0.5, key=name, bind="query-params", width=140) for name in inputs]
    seed = st.selectbox("Forward mode input", inputs, key="seed_input", bind="query-params", width=160)

with task_guard():
    function = expression.function(inputs, lambda value: Scalar(value, None))
    forward = forward_trace(function, *point, arg=inputs.index(seed))
    reverse = reverse_trace(function, *point)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Forward mode")
        show_table(forward, f"tangent, d step / d {seed}")
        st.caption(
            f"One pass gives the derivative with respect to {seed}: {forward.lines[-1].derivative:.4f}. Each other input needs another."
        )
    with right:
        st.subheader("Reverse mode")
        show_table(reverse, "adjoint, d output / d step")
        by_input = {line.name: line.derivative for line in reverse.lines if line.name in inputs}
        gradient = ", ".join(f"{by_input[name]:.4f} for {name}" for name in inputs)
        st.caption(f"One pass gives the derivatives with respect to all inputs: {gradient}.")
