"""Module 1: the computational graph of an expression, and backpropagation through it step by step."""

import math

import streamlit as st

from project.lab.cards import number
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, Expression, parse
from project.lab.typed.source import Refused
from project.lab.widgets.player import player

VARIABLES = ("x", "y", "z")
EXAMPLES = {
    "One variable used three times": "x * x + y * sigmoid(x * z)",
    "A product": "x * y * z",
    "A neuron": "relu(x * 0.5 + y * -1.5 + 2)",
    "A loss": "-log(sigmoid(x * z + y))",
    "A shared subexpression": "(x + y) * (x + y)",
    "A comparison, which has no gradient": "(x < y) * z",
}
state = st.session_state

st.title("Expression graph")
st.write(
    "Every operation on Scalars is recorded in a computational graph. Backpropagation visits this graph from the output back to the "
    "inputs, one variable at a time."
)

with task_guard():
    from minitorch import Scalar, central_difference
    from project.lab.explorers import buffers, orders
    from project.lab.explorers.graph import Recording, dot, forward_only


def read_expression() -> Expression:
    """Return the expression in the text field. Invalid input ends the page with an error."""
    try:
        given = next(iter(EXAMPLES.values()))
        return parse(st.text_input("Expression in x, y and z", given, key="f", bind="query-params"), VARIABLES)
    except Refused as refusal:
        refuse(str(refusal), f"Use numbers, x, y, z, + - * / ** < > == and the functions {', '.join(FUNCTIONS)}.")


def take_example() -> None:
    """Copy the selected example into the text field."""
    if state.example:
        state.f, state.moment = EXAMPLES[state.example], 0


def to_the_start() -> None:
    """Return to the first step."""
    state.moment = 0


def quiz(recording: Recording, moment: int) -> None:
    """Ask for the derivative that the next variable passes on, and compare the answer with it."""
    following = recording.frames[moment + 1 :][:1]
    if not following or not following[0].passed:
        st.caption("The next variable passes nothing on. Go one step forward, or back.")
        return
    current = recording.nodes[following[0].current or 0]
    receiver, derivative, _ = following[0].passed[0]
    name = recording.nodes[receiver].name
    answer = st.number_input(
        f"{current.name} = {current.formula} is next. Which derivative does it pass on to {name}?",
        value=None,
        format="%g",
        key=f"answer_{moment}",
        help="The derivative that has arrived at it, times the derivative of its function with respect to that input.",
    )
    if answer is None:
        return
    if math.isclose(answer, derivative, rel_tol=1e-3, abs_tol=1e-6):
        st.success(f"Right: {derivative:.5g}.", icon=":material/check:")
    else:
        st.error(f"Not {answer:g}. Try again, or go one step forward to see it.", icon=":material/close:")


def show_saved(recording: Recording, moment: int) -> None:
    """Show what each function has saved, and whether it is still needed."""
    st.write(
        "A function saves the numbers that its `backward` will need. Once its variable has been visited for the last time, they can be "
        "freed: the memory that training needs shrinks during the backward pass."
    )
    if rows := buffers.table(recording, moment):
        st.table(rows, width="content")


def gradients_table(function, names, values) -> None:
    """Show the gradients of the inputs after backward(), next to central differences."""
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
                "backward()": f"{leaf.derivative:.6g}" if reached else "no gradient",
                "central difference": f"{number(getattr(numeric, 'data', numeric), 'central_difference'):.6g}",
            }
        )
    st.write("**Gradients of the inputs after `backward()`**")
    st.table(rows, width="content")


fields = st.columns([3, 2])
with fields[1]:
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example", on_change=take_example, placeholder="Choose one")
with fields[0]:
    expression = read_expression()
if not expression.names:
    st.info("This expression has no variable. It is constant, so nothing is recorded.")
    st.stop()
given = {"x": 1.0, "y": 2.0, "z": -1.0}
with st.container(horizontal=True):
    values = [st.number_input(name, -1e6, 1e6, given[name], 0.5, key=name, bind="query-params", width=140) for name in expression.names]

with task_guard():
    function = expression.function(expression.names, lambda value: Scalar(value, None))
    out = function(*[Scalar(value, name=name) for name, value in zip(expression.names, values, strict=True)])
order = st.selectbox("Order of the visits", list(orders.ORDERS), key="order", bind="query-params", width=300, on_change=to_the_start)
st.caption(orders.ORDERS[order])
recording = None
with task_guard(stop=False):
    recording = orders.record_in(order, out)
written = recording is not None
if recording is None:  # the card above says why; the graph itself can still be shown
    recording = forward_only(out)
moment = player(len(recording.frames) - 1, "moment", "Nodes visited") if written else 0
frame = recording.frames[moment]
st.info(frame.sentence, icon=":material/arrow_left_alt:")
st.graphviz_chart(dot(recording, moment, dark=st.context.theme.type == "dark"), width="content", alt=frame.sentence)
st.caption(
    f"{recording.in_words(moment)} "
    "Orange: the current variable, which passes its derivative on. Solid border: visited. Dashed border: not visited yet."
)
st.caption(buffers.in_words(recording, moment))
if written:
    if st.toggle("Quiz: predict what is passed on", key="quiz", bind="query-params"):
        quiz(recording, moment)
    with task_guard():
        gradients_table(function, expression.names, values)
    with st.expander("What is saved for the backward pass"):
        show_saved(recording, moment)
    with st.expander("Why in topological order?"), task_guard():
        st.write("In this graph, every variable is the sum of the two before it, like Fibonacci's numbers.")
        rungs = st.slider("Sums", 1, 20, 10, key="rungs", bind="query-params")
        st.table(orders.costs(rungs), width="content")
