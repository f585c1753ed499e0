"""Module 2: the computational graph of a tensor expression, and its gradients step by step."""

import numpy as np
import streamlit as st

from project.lab.cards import plain
from project.lab.charts.grids import grid, side_by_side
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, METHODS, Expression, parse
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_shape
from project.lab.widgets.player import player

VARIABLES = ("x", "y", "z")
EXAMPLES = {
    "A row added to every row": ("x * y + z", "2, 3", "3", "2, 1"),
    "A mean of squares": ("((x - y) * (x - y)).mean()", "2, 3", "2, 3", ""),
    "A sum along a dimension": ("(x * y).sum(0) * z", "2, 3", "2, 3", "3"),
    "A layer without a matrix product": ("(x.view(2, 3, 1) * y).sum(1).view(2, 2) + z", "2, 3", "3, 2", "2"),
    "A transpose": ("(x.permute(1, 0) * y).relu()", "2, 3", "3, 2", ""),
    "A scalar used for every element": ("sigmoid(x * z)", "2, 3", "", ""),
    "The maximum of every row": ("x.max(1)", "2, 3", "", ""),
}
MOST_CHECKED = 48  # elements of all inputs; each needs two evaluations
FIRST: dict[str, str] = dict(zip(("tf", "shape_x", "shape_y", "shape_z"), next(iter(EXAMPLES.values())), strict=True))
state = st.session_state

st.title("Tensor graph")
st.write("The computational graph of Module 1, with a tensor at every node. Each gradient has the shape of its tensor.")

with task_guard():
    from minitorch import tensor
    from project.lab.explorers import buffers
    from project.lab.explorers import tensor_sandbox as sandbox
    from project.lab.explorers.graph import dot
    from project.lab.explorers.tensor_graph import forward_only, record


def take_example() -> None:
    """Copy the selected example into the text fields."""
    if state.tensor_example:
        state.tf, state.shape_x, state.shape_y, state.shape_z = EXAMPLES[state.tensor_example]
        state.step = 0


def read_expression() -> Expression:
    """Return the expression in the text field. Invalid input ends the page with an error."""
    try:
        return parse(st.text_input("Expression in x, y and z", FIRST["tf"], key="tf", bind="query-params"), VARIABLES, methods=True)
    except Refused as refusal:
        names = f"the functions {', '.join(FUNCTIONS)}, and the methods {', '.join(METHODS)}"
        refuse(str(refusal), f"Use numbers, x, y, z, + - * / ** < > ==, {names}.")


def read_shape(name: str) -> tuple[int, ...]:
    """Return the shape of a variable. Invalid input ends the page with an error."""
    try:
        key = f"shape_{name}"
        text = st.text_input(f"Shape of {name}", FIRST[key], key=key, bind="query-params", width=140)
        return parse_shape(text, 4, 64, fewest_dims=0)
    except Refused as refusal:
        refuse(f"Shape of {name}: {refusal}", "For example: 2, 3 for two rows of three. Leave it empty for a scalar.")


def show_details(recording, frame) -> None:
    """Show the tensors of the current node: its value, its gradient, and what it passes to its inputs."""
    if frame.current is None:
        leaves = [grid(node.value, node.name) for node in recording.nodes if node.kind == "leaf"]
        st.html(side_by_side([*leaves, *outcome(recording)]))
        return
    node = recording.nodes[frame.current]
    shown = [grid(node.value, f"value of {node.name}")]
    if frame.current in frame.gradients:
        shown.append(grid(frame.gradients[frame.current].to_numpy(), f"gradient of {node.name}"))
    for p, gradient, _ in frame.passed:
        shown.append(grid(gradient.to_numpy(), f"passed to {recording.nodes[p].name}"))
    st.html(side_by_side(shown))
    remarks = [f"The gradient passed to {recording.nodes[p].name} was {remark}." for p, _, remark in frame.passed if "shape" in remark]
    if remarks:
        reason = "An element that was broadcast was used several times, so it gets the sum of its gradients."
        st.caption(plain(" ".join([*remarks, reason])))


def outcome(recording) -> list[str]:
    """Return the output as a grid."""
    last = recording.nodes[-1]
    return [grid(last.value, f"output {last.name}")] if last.kind == "step" else []


def gradients_table(function, names: tuple[str, ...], values: list[np.ndarray]) -> None:
    """Show the gradients of the inputs after backward(), next to central differences."""
    found = sandbox.gradients(function, expression.text, *values)
    checked = sum(value.size for value in values) <= MOST_CHECKED
    st.write("**Gradients of the inputs after `backward()`**")
    st.html(side_by_side([grid(gradient, f"{name}.grad") for name, gradient in zip(names, found, strict=True)]))
    if not checked:
        st.caption(f"Central differences are omitted, because the inputs have more than {MOST_CHECKED} elements in total.")
        return
    rows = []
    for i, (name, gradient) in enumerate(zip(names, found, strict=True)):
        numeric = sandbox.entry_differences(function, expression.text, *values, arg=i)
        gap, index = sandbox.largest_gap(gradient, numeric)
        rows.append({"input": name, "largest difference from the central difference": f"{gap:.1e}", "at index": str(index)})
    st.table(rows, width="content")


fields = st.columns([3, 2])
with fields[1]:
    st.selectbox("Examples", list(EXAMPLES), index=None, key="tensor_example", on_change=take_example, placeholder="Choose one")
with fields[0]:
    expression = read_expression()
if not expression.names:
    st.info("This expression has no variable. It is constant, so nothing is recorded.")
    st.stop()
with st.container(horizontal=True):
    shapes = [read_shape(name) for name in expression.names]
    seed = st.number_input("Seed of the values", 0, 9999, 0, key="graph_seed", bind="query-params", width=160)
values = [sandbox.random_values(shape, f"{seed} {name}") for name, shape in zip(expression.names, shapes, strict=True)]

function = expression.function(expression.names, tensor)
with task_guard(), sandbox.shapes_guard():
    leaves = [sandbox.make_tensor(value, True, name) for name, value in zip(expression.names, values, strict=True)]
    out = sandbox.apply(function, expression.text, *leaves)
recording = None
with task_guard(stop=False):
    recording = record(out)
written = recording is not None
if recording is None:  # the card above says why; the graph itself can still be shown
    recording = forward_only(out)
moment = player(len(recording.frames) - 1, "step", "Nodes visited") if written else 0
frame = recording.frames[moment]
st.info(frame.sentence, icon=":material/arrow_left_alt:")
st.graphviz_chart(dot(recording, moment, dark=st.context.theme.type == "dark"), width="content", alt=frame.sentence)
st.caption(
    f"{recording.in_words(moment)} "
    "Orange: the current tensor, which passes its gradient on. Solid border: visited. Dashed border: not visited yet."
)
st.caption(buffers.in_words(recording, moment))
with task_guard():
    show_details(recording, frame)
if out.size != 1:
    st.caption(f"The output has shape {out.shape}, so the backward pass starts with ones: the gradient of the sum of its elements.")
if written:
    with task_guard():
        gradients_table(function, expression.names, values)
    with st.expander("What is saved for the backward pass"):
        st.write(
            "A function saves the tensors that its `backward` will need. After its visit they can be freed. A saved tensor is not a copy: "
            "it only stays alive for longer."
        )
        if rows := buffers.table(recording, moment):
            st.table(rows, width="content")
