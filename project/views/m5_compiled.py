"""Module 5: a training step as a program, pass by pass, and what compiling it gains."""

import streamlit as st

from project.lab.charts.drawing import draw
from project.lab.guard import task_guard
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

st.title("Compiled step")
st.write(
    "A training step of a small network is some forty operations. Each costs several microseconds of Python, and its kernel about one. "
    "`minitorch.compile` records the kernels once and launches them without Python from then on. Passes shorten the program first; in the "
    "end, Numba compiles it as one function."
)
with task_guard():
    import minitorch
    from project.lab.explorers import compiled_step

    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Program", compiled_step.EXAMPLES, key="compiled_program", bind="query-params")
        hidden = whole_number("Hidden units", "compiled_hidden", 10, 2, 32)
    step, args = compiled_step.example(name, hidden)
    compiled = minitorch.compile(step, fuse=False)
    compiled(*args)
    shown = compiled_step.stages(compiled)
    shared, unshared = compiled.memory
number = player(len(shown) - 1, "compiled_stage", "Stages")
stage = shown[number]
st.write(stage.title)
with st.container(horizontal=True):
    st.metric("Loops and products" if stage.is_source else "Operations", stage.operations)
    st.metric("Memory, shared", f"{shared / 1024:.1f} KiB")
    st.metric("Memory, not shared", f"{unshared / 1024:.1f} KiB")
program, figure = st.columns([3, 2], gap="large")
with program:
    st.code(stage.text, language="python" if stage.is_source else "diff", height=420)
    if not stage.is_source:
        st.caption("A line that begins with - is removed by the next pass.")
with figure:
    draw(compiled_step.sizes(shown, number), "compiled_sizes")
    st.caption("How many operations are left after each pass. Fused: loops and products.")

st.subheader("What it gains")
if st.button("Time it", key="compiled_time", help="Fusing compiles for some seconds the first time."):
    with st.spinner("Measuring …"), task_guard():
        st.session_state.compiled_seconds = (name, hidden), compiled_step.measure(name, hidden)
measured = st.session_state.get("compiled_seconds")
if measured and measured[0] == (name, hidden):
    draw(compiled_step.chart(measured[1]), "compiled_chart")
    st.write(compiled_step.in_words(measured[1]))
