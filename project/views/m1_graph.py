"""Module 1: the graph of an expression, and backpropagation through it step by step."""

import streamlit as st

from project.lab.cards import number
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, Expression, Refused, parse
from project.lab.widgets.player import player

VARIABLES = ("x", "y", "z")
EXAMPLES = {
    "One variable, three uses": "x * x + y * sigmoid(x * z)",
    "A product": "x * y * z",
    "A neuron": "relu(x * 0.5 + y * -1.5 + 2)",
    "A loss": "-log(sigmoid(x * z + y))",
    "A diamond": "(x + y) * (x + y)",
    "A comparison, where nothing flows": "(x < y) * z",
}
state = st.session_state

st.title("Expression graph")
st.write(
    "Every operation on Scalars is recorded. Backpropagation visits the record from the output back to the inputs, one variable at a time."
)

with task_guard():
    from minitorch import Scalar, central_difference
    from project.lab.explorers.graph import dot, forward_only, record


def typed_function() -> Expression:
    """What was typed, or the end of the page with the reason why it was refused."""
    try:
        return parse(st.text_input("Expression in x, y and z", key="f", bind="query-params"), VARIABLES)
    except Refused as refusal:
        refuse(str(refusal), f"Allowed: numbers, x, y, z, + - * / ** < > == and {', '.join(FUNCTIONS)}.")


def take_example() -> None:
    """Put the chosen example into the field."""
    if state.example:
        state.f, state.moment = EXAMPLES[state.example], 0


def gradients_table(function, names, values) -> None:
    """What backward() leaves in the inputs, beside central differences."""
    leaves = [Scalar(value, name=name) for name, value in zip(names, values, strict=True)]
    function(*leaves).backward()
    rows = []
    for i, leaf in enumerate(leaves):
        numeric = central_difference(function, *[Scalar(value, None) for value in values], arg=i)
        reached = leaf.derivative is not None
        rows.append(
            {
                "input": leaf.name,
                "value": f"{leaf.data:g}",
                "backward()": f"{leaf.derivative:.6g}" if reached else "nothing arrived",
                "central difference": f"{number(getattr(numeric, 'data', numeric), 'central_difference'):.6g}",
            }
        )
    st.write("**What `backward()` leaves in the inputs**")
    st.table(rows, width="content")


state.setdefault("f", next(iter(EXAMPLES.values())))
fields = st.columns([3, 2])
with fields[1]:
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example", on_change=take_example, placeholder="Choose one")
with fields[0]:
    expression = typed_function()
if not expression.names:
    st.info("There is no variable in this expression: all of it is constant, and nothing is recorded.")
    st.stop()
given = {"x": 1.0, "y": 2.0, "z": -1.0}
with st.container(horizontal=True):
    values = [st.number_input(name, -1e6, 1e6, given[name], 0.5, key=name, bind="query-params", width=140) for name in expression.names]

with task_guard():
    function = expression.function(expression.names, lambda value: Scalar(value, None))
    out = function(*[Scalar(value, name=name) for name, value in zip(expression.names, values, strict=True)])
recording = None
with task_guard(stop=False):
    recording = record(out)
written = recording is not None
if recording is None:  # the card above says why: the graph at least can be looked at
    recording = forward_only(out)
moment = player(len(recording.frames) - 1, "moment", "Visited so far") if written else 0
frame = recording.frames[moment]
st.info(frame.sentence, icon=":material/arrow_left_alt:")
st.graphviz_chart(dot(recording, moment, dark=st.context.theme.type == "dark"), width="content", alt=frame.sentence)
visits = len(recording.frames) - 1
st.caption(
    f"{len(recording.nodes)} nodes, inputs on the left, the output on the right; {moment} of {visits} visited. "
    "Orange: the variable that is passing its derivative on. Solid border: visited. Dashed: still waiting."
)
if written:
    with task_guard():
        gradients_table(function, expression.names, values)
