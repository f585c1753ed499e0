"""Modules 1 and 2: the computational graph of an expression of Scalars or Tensors, and backpropagation through it step by step; traces."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from project.lab.cards import number
from project.lab.charts.grids import grid, side_by_side
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import FUNCTIONS, METHODS, Expression, parse
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_shape
from project.lab.widgets.fields import whole_number
from project.lab.widgets.graph import played_graph
from project.lab.widgets.parts import show_one

VARIABLES = ("x", "y", "z")
EXAMPLES = {
    "One variable used three times": ("x * x + y * sigmoid(x * z)",),
    "A product": ("x * y * z",),
    "A neuron": ("relu(x * 0.5 + y * -1.5 + 2)",),
    "A loss": ("-log(sigmoid(x * z + y))",),
    "A shared subexpression": ("(x + y) * (x + y)",),
    "A comparison, which has no gradient": ("(x < y) * z",),
}
TENSOR_EXAMPLES = {  # and the shapes of x, y and z
    "A row added to every row": ("x * y + z", "2, 3", "3", "2, 1"),
    "A mean of squares": ("((x - y) * (x - y)).mean()", "2, 3", "2, 3", ""),
    "A sum along a dimension": ("(x * y).sum(0) * z", "2, 3", "2, 3", "3"),
    "A layer without a matrix product": ("(x.view(2, 3, 1) * y).sum(1).view(2, 2) + z", "2, 3", "3, 2", "2"),
    "A transpose": ("(x.permute(1, 0) * y).relu()", "2, 3", "3, 2", ""),
    "A scalar used for every element": ("sigmoid(x * z)", "2, 3", "", ""),
    "The maximum of every row": ("x.max(1)", "2, 3", "", ""),
}
SHAPES: dict[str, str] = dict(zip(VARIABLES, TENSOR_EXAMPLES["A row added to every row"][1:], strict=True))
TRACED = {"x1": 2.0, "x2": 5.0, "x3": 1.0}
MOST_DRAWN = 150  # nodes; the drawing of a larger graph takes long, and nobody can follow it
MOST_CHECKED = 48  # elements of all inputs; each needs two evaluations
state = st.session_state

st.title("Graph")
with task_guard():
    from minitorch import Scalar, central_difference, forward_trace, reverse_trace
    from project.lab.explorers import orders
    from project.lab.explorers.graph import Recording, forward_only
    from project.lab.explorers.graph_drawing import drawing


# What the parts have in common


def read_expression(key: str, given: str, variables: Sequence[str], methods: bool = False) -> Expression:
    """Return the expression in the text field. Invalid input, and a constant, end the page with a message."""
    *others, last = variables
    try:
        typed = st.text_input(f"Expression in {', '.join(others)} and {last}", given, key=key, bind="query-params")
        expression = parse(typed, tuple(variables), methods=methods)
    except Refused as refusal:
        names = f"the functions {', '.join(FUNCTIONS)}" + (f", and the methods {', '.join(METHODS)}" if methods else "")
        refuse(str(refusal), f"Use numbers, {', '.join(variables)}, + - * / ** < > ==, {names}.")
    if not expression.names:
        st.info("This expression has no variable. It is constant, so nothing is recorded.")
        st.stop()
    return expression


def read_example(examples: dict[str, tuple[str, ...]], example: str, keys: Sequence[str], moment: str, methods: bool) -> Expression:
    """Show the expression, and examples that fill it and the other fields with these keys."""

    def take_example() -> None:
        if state[example]:
            state.update(zip(keys, examples[state[example]], strict=True))
            state[moment] = 1

    left, right = st.columns([3, 2])
    with right:
        st.selectbox("Examples", list(examples), index=None, key=example, on_change=take_example, placeholder="Choose one")
    with left:
        return read_expression(keys[0], next(iter(examples.values()))[0], VARIABLES, methods)


def record(backward: Callable[[Any], Any], forward: Callable[[Any], Any], out: Any) -> tuple[Any, bool]:
    """Return the recorded backward pass and True; if a card says why there is none, the graph alone and False."""
    with task_guard(stop=False):
        return backward(out), True
    return forward(out), False


def draw(recording: Recording) -> dict[str, Any]:
    """Return the drawing of a graph. A graph that is too large ends the page with a message."""
    if len(recording.nodes) > MOST_DRAWN:
        refuse(f"expected a graph of at most {MOST_DRAWN} nodes, got {len(recording.nodes)}", "Enter a shorter expression.")
    with task_guard():
        return drawing(recording)


def explain_graph(more: str = "") -> None:
    """Say what the figure shows."""
    st.caption(
        "On an edge: the local derivative, which your `backward` returns for 1, or its rule; below it the gradient that has flowed back. "
        "Orange: what is computed in this step. Solid border: visited. What a function has saved is freed after its last visit. " + more
    )


# Scalars


def scalars() -> None:
    """Show the graph of an expression of Scalars."""
    st.write(
        "Every operation on Scalars is recorded in a computational graph. Backpropagation visits this graph from the output back to the "
        "inputs, one variable at a time."
    )
    expression = read_example(EXAMPLES, "example", ["f"], "moment", methods=False)
    given = {"x": 1.0, "y": 2.0, "z": -1.0}
    again = {"on_change": state.update, "args": ({"moment": 1},)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        values = [st.number_input(name, -1e6, 1e6, given[name], 0.5, key=name, bind="query-params", width=130) for name in expression.names]
        order = st.selectbox("Order of the visits", list(orders.ORDERS), key="order", bind="query-params", width=230, **again)
        asked = st.toggle("Quiz: predict what is passed on", key="quiz", bind="query-params")
    with task_guard():
        function = expression.function(expression.names, lambda value: Scalar(value, None))
        out = function(*[Scalar(value, name=name) for name, value in zip(expression.names, values, strict=True)])
    st.caption(orders.ORDERS[order])
    recording, written = record(partial(orders.record_in, order), forward_only, out)
    if asked:
        for node in recording.nodes:
            node.local = {}  # at the output, where 1 arrives, it is the answer
    moment = played_graph(draw(recording), "moment", playable=not asked)
    explain_graph()
    if not written:
        return
    if asked:
        quiz(recording, moment)
    with task_guard():
        show_derivatives(function, expression.names, values)
    with st.expander("Why in topological order?"), task_guard():
        st.write("In this graph, every variable is the sum of the two before it, like Fibonacci's numbers.")
        rungs = st.slider("Sums", 1, 20, 10, key="rungs", bind="query-params")
        st.table(orders.costs(rungs), width="content")


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


def show_derivatives(function, names, values) -> None:
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


# Tensors


def tensors() -> None:
    """Show the graph of an expression of Tensors."""
    st.write("The computational graph of Module 1, with a tensor at every node. Each gradient has the shape of its tensor.")
    with task_guard():
        from minitorch import tensor
        from project.lab.explorers import tensor_graph
        from project.lab.explorers import tensor_sandbox as sandbox

    expression = read_example(TENSOR_EXAMPLES, "tensor_example", ["tf", "shape_x", "shape_y", "shape_z"], "step", methods=True)
    with st.container(horizontal=True):
        shapes = [read_shape(name) for name in expression.names]
        seed = whole_number("Seed of the values", "graph_seed", 0, 0, 9999, width=160)
    values = [sandbox.random_values(shape, f"{seed} {name}") for name, shape in zip(expression.names, shapes, strict=True)]
    function = expression.function(expression.names, tensor)
    with task_guard(), sandbox.shapes_guard():
        leaves = [sandbox.make_tensor(value, True, name) for name, value in zip(expression.names, values, strict=True)]
        out = sandbox.apply(function, expression.text, *leaves)
    recording, written = record(tensor_graph.record, tensor_graph.forward_only, out)
    drawn = draw(recording)
    with task_guard():
        for step, frame in zip(drawn["steps"], recording.frames, strict=True):
            step["pictures"] = pictures(recording, frame)
    played_graph(drawn, "step")
    explain_graph("An element that was broadcast is used several times, so its gradients are summed.")
    if out.size != 1:
        st.caption(f"The output has shape {out.shape}, so the backward pass starts with ones: the gradient of the sum of its elements.")
    if written:
        with task_guard():
            show_gradients(function, expression, values)


def read_shape(name: str) -> tuple[int, ...]:
    """Return the shape of a variable. Invalid input ends the page with an error."""
    try:
        text = st.text_input(f"Shape of {name}", SHAPES[name], key=f"shape_{name}", bind="query-params", width=140)
        return parse_shape(text, 4, 64, fewest_dims=0)
    except Refused as refusal:
        refuse(f"Shape of {name}: {refusal}", "For example: 2, 3 for two rows of three. Leave it empty for a scalar.")


def pictures(recording: Recording, frame: Any) -> str:
    """Return the tensors of the current node: its value, its gradient, and what it passes to its inputs."""
    if frame.current is None:
        shown = [grid(node.value, node.name) for node in recording.nodes if node.kind == "leaf"]
        last = recording.nodes[-1]
        return side_by_side([*shown, *([grid(last.value, f"output {last.name}")] if last.kind == "step" else [])])
    node = recording.nodes[frame.current]
    shown = [grid(node.value, f"value of {node.name}")]
    if frame.current in frame.gradients:
        shown.append(grid(frame.gradients[frame.current].to_numpy(), f"gradient of {node.name}"))
    for p, gradient, remark in frame.passed:
        shown.append(f"<div>{grid(gradient.to_numpy(), f'passed to {recording.nodes[p].name}')}<p>{remark}</p></div>")
    return side_by_side(shown)


def show_gradients(function, expression: Expression, values: Sequence[Any]) -> None:
    """Show the gradients of the inputs after backward(), next to central differences."""
    from project.lab.explorers import tensor_sandbox as sandbox

    names, found = expression.names, sandbox.gradients(function, expression.text, *values)
    st.write("**Gradients of the inputs after `backward()`**")
    st.html(side_by_side([grid(gradient, f"{name}.grad") for name, gradient in zip(names, found, strict=True)]))
    if sum(value.size for value in values) > MOST_CHECKED:
        st.caption(f"Central differences are omitted, because the inputs have more than {MOST_CHECKED} elements in total.")
        return
    rows = []
    for i, (name, gradient) in enumerate(zip(names, found, strict=True)):
        numeric = sandbox.entry_differences(function, expression.text, *values, arg=i)
        gap, index = sandbox.largest_gap(gradient, numeric)
        rows.append({"input": name, "largest difference from the central difference": f"{gap:.1e}", "at index": str(index)})
    st.table(rows, width="content")


# Traces


def traces() -> None:
    """Show forward mode and reverse mode in tables."""
    st.write(
        "Two ways to differentiate the same steps. Forward mode computes the derivative of every step with respect to one input "
        "(tangents). Reverse mode starts at the output and computes its derivative with respect to every step (adjoints)."
    )
    expression = read_expression("trace_f", "log(x1) + x1 * x2 - sin(x2)", list(TRACED))
    inputs = list(TRACED)[: list(TRACED).index(expression.names[-1]) + 1]
    with st.container(horizontal=True):
        point = [st.number_input(name, -1e6, 1e6, TRACED[name], 0.5, key=name, bind="query-params", width=140) for name in inputs]
        seed = st.selectbox("Forward mode input", inputs, key="seed_input", bind="query-params", width=160)
    with task_guard():
        function = expression.function(inputs, lambda value: Scalar(value, None))
        forward = forward_trace(function, *point, arg=inputs.index(seed))
        reverse = reverse_trace(function, *point)
        left, right = st.columns(2, gap="large")
        with left:
            st.subheader("Forward mode")
            show_trace(forward, f"tangent, d step / d {seed}")
            last = f"{forward.lines[-1].derivative:.4f}"
            st.caption(f"One pass gives the derivative with respect to {seed}: {last}. Each other input needs another.")
        with right:
            st.subheader("Reverse mode")
            show_trace(reverse, "adjoint, d output / d step")
            by_input = {line.name: line.derivative for line in reverse.lines if line.name in inputs}
            gradient = ", ".join(f"{by_input[name]:.4f} for {name}" for name in inputs)
            st.caption(f"One pass gives the derivatives with respect to all inputs: {gradient}.")


def show_trace(trace, column: str) -> None:
    """Show one pass as a table: positive derivatives on blue, negative ones on orange, zeros on gray."""
    rows = [
        {
            "step": f"{line.name} = {line.expression}",
            "value": f"{line.value:.4f}",
            column: f":{'blue' if line.derivative > 0 else 'orange' if line.derivative < 0 else 'gray'}-background[{line.derivative:.4f}]",
        }
        for line in trace.lines
    ]
    st.table(rows, width="content")


show_one(m1_graph=scalars, m2_graph=tensors, m1_trace=traces)
