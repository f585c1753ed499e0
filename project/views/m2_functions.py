"""Module 2: tensor functions and their gradients, checked against central differences."""

import math

import numpy as np
import streamlit as st

from project.lab.cards import plain
from project.lab.charts import plots
from project.lab.charts.drawing import draw
from project.lab.charts.grids import grid, side_by_side
from project.lab.charts.heatmaps import heatmap
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import parse
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_shape
from project.lab.widgets.fields import whole_number

KINDS = ("One tensor", "Two tensors", "Reduction", "Layout")
LAYOUTS = ("x.view(3, 2)", "x.permute(1, 0)", "x.transpose(0, 1)", "x.flatten()", "x.unsqueeze(0)", "x.expand(2, 2, 3)")
POINTS = 80  # an even number, so that a curve from -5 to 5 omits 0, where ReLU is not differentiable
CELLS = 21
state = st.session_state

st.title("Tensor functions")
st.write("The output of a tensor function, the gradient that `backward` computes, and the central difference for comparison.")

with task_guard():
    from minitorch import Tensor, tensor
    from project.lab.explorers import tensor_sandbox as sandbox


def one_page() -> None:
    """Show an elementwise function of one tensor as curves."""
    call = st.selectbox("Function", list(sandbox.ONE), key="one", bind="query-params")
    f = sandbox.ONE[call]
    left, right = st.columns([2, 3], gap="large")
    with left:
        low, high = sorted(st.slider("Range of x", -10.0, 10.0, (-5.0, 5.0), 0.5, key="one_range", bind="query-params"))
        if low == high:
            high = low + 0.5
        at = st.slider("x", low, high, min(max(1.0, low), high))
    xs = np.linspace(low, high, POINTS)
    point = np.array([at])
    with task_guard():
        found = {call: sandbox.values(f, call, xs)}
        row = {"x": f"{at:g}", "value": f"{sandbox.values(f, call, point)[0]:.6g}"}
    with task_guard(stop=False):
        found["backward"] = sandbox.gradients(f, call, xs)[0]
        row["backward"] = f"{sandbox.gradients(f, call, point)[0][0]:.6g}"
    with task_guard(stop=False):
        found["central difference"] = sandbox.differences(f, call, xs)
        row["central difference"] = f"{sandbox.differences(f, call, point)[0]:.6g}"
    with right:
        words = f"{', '.join(found)} for a tensor of {POINTS} values from {low:g} to {high:g}, with gaps where the value is undefined."
        curves = {name: list(zip(xs.tolist(), ys.tolist(), strict=True)) for name, ys in found.items()}
        draw(plots.curves(curves, words, mark=(at, float(row["value"]))), "curves")
        st.caption(plain(words))
    with left:
        st.table([row], width="content")
        if len(found) == 3:
            gap, index = sandbox.largest_gap(found["backward"], found["central difference"])
            where = f", at x = {xs[index]:.3g}" if index and gap > 0 else ""
            st.caption(f"The largest difference is {gap:.1e}{where}. It should be small except where the function is not differentiable.")
    show_sources(call, f, xs)


def two_page() -> None:
    """Show an elementwise function of two tensors and both partial derivatives as heat maps."""
    call = st.selectbox("Function", list(sandbox.TWO), index=2, key="two", bind="query-params")
    f = sandbox.TWO[call]
    with st.container(horizontal=True):
        low, high = sorted(st.slider("Range of x and y", -10.0, 10.0, (-5.0, 5.0), 0.5, key="two_range", bind="query-params", width=300))
        if low == high:
            high = low + 0.5
        x = st.slider("x", low, high, min(max(1.0, low), high), width=200)
        y = st.slider("y", low, high, min(max(2.0, low), high), width=200)
    places = np.linspace(low, high, CELLS)
    grids, point = np.meshgrid(places, places), (np.array([x]), np.array([y]))
    rows = [{"input": name, "value": f"{at:g}"} for name, at in (("x", x), ("y", y))]
    with task_guard():
        found = {call: sandbox.values(f, call, *grids)}
        st.write(f"At x = {x:g}, y = {y:g}, the value is **{sandbox.values(f, call, *point)[0]:.6g}**.")
    with task_guard(stop=False):
        grad_x, grad_y = sandbox.gradients(f, call, *grids)
        found |= {"gradient of x": grad_x, "gradient of y": grad_y}
        for row, gradient in zip(rows, sandbox.gradients(f, call, *point), strict=True):
            row["backward"] = f"{gradient[0]:.6g}"
    with task_guard(stop=False):
        for i, (row, name) in enumerate(zip(rows, list(found)[1:], strict=False)):
            row["central difference"] = f"{sandbox.differences(f, call, *point, arg=i)[0]:.6g}"
            gap, _ = sandbox.largest_gap(found[name], sandbox.differences(f, call, *grids, arg=i))
            row["largest difference"] = f"{gap:.1e}"
    columns = st.columns(3)
    for i, (name, surface) in enumerate(found.items()):
        with columns[i]:
            words = f"{name} for x and y from {low:g} to {high:g}, {CELLS} by {CELLS} elements: {extent(surface)}."
            draw(heatmap(places.tolist(), surface.tolist(), name, words), f"surface_{i}")
            st.caption(plain(words))
    if len(found) == 3:
        st.table(rows, width="content")
    show_sources(call, f, *grids)


def extent(surface: np.ndarray) -> str:
    """Return the smallest and the largest finite value as text."""
    finite = surface[np.isfinite(surface)]
    return f"from {finite.min():.3g} to {finite.max():.3g}" if finite.size else "no finite value"


def reduction_page() -> None:
    """Show a reduction along a dimension."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [f"x.{name}()" for name in sandbox.REDUCTIONS] + list(sandbox.REDUCE)
        name = st.selectbox("Function", options, key="reduction", bind="query-params", width=260)
        shape = read_shape("2, 3")
        fixed = name in sandbox.REDUCE
        if not fixed:
            dims = ["all", *map(str, range(max(len(shape), 1)))]
            state.dim = state.get("dim", "all") if state.get("dim", "all") in dims else "all"
            dim = st.selectbox("dim", dims, key="dim", bind="query-params", width=110)
            keepdim = st.toggle("keepdim", True, key="keepdim", bind="query-params")
    if fixed:
        grids_page(name, sandbox.REDUCE[name], shape)
        return
    method, along = name[2:-2], None if dim == "all" else int(dim)
    written = [] if along is None else [str(along)]
    written += [] if keepdim else ["keepdim=False"]
    grids_page(f"x.{method}({', '.join(written)})", lambda x: getattr(x, method)(along, keepdim), shape)


def take_layout() -> None:
    """Copy the selected example into the text field."""
    if state.layout_example:
        state.layout = state.layout_example


def layout_page() -> None:
    """Show a method that changes the layout of a tensor, but not its elements."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input("Method of x", LAYOUTS[0], key="layout", bind="query-params", width=260)
        st.selectbox("Examples", LAYOUTS, index=None, key="layout_example", on_change=take_layout, placeholder="Choose one", width=200)
        shape = read_shape("2, 3")
    try:
        expression = parse(text, ("x",), methods=True)
    except Refused as refusal:
        refuse(str(refusal), f"For example: {LAYOUTS[1]} or x.view(-1).")
    if not expression.names:
        st.info("This expression does not contain x, so nothing is recorded.")
        st.stop()
    grids_page(text.strip(), expression.function(("x",), tensor), shape)


def read_shape(given: str) -> tuple[int, ...]:
    """Return the shape of x. Invalid input ends the page with an error."""
    text = st.text_input("Shape of x", given, key="shape", bind="query-params", width=140)
    try:
        return parse_shape(text, 4, 64, fewest_dims=0)
    except Refused as refusal:
        refuse(str(refusal), "For example: 2, 3 for two rows of three.")


def grids_page(call: str, f, shape: tuple[int, ...]) -> None:
    """Show the input and the result of a function, and the gradients of both, as grids."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = whole_number("Seed of x", "seed", 0, 0, 9999, width=140)
        kinds = ["ones", "1, 2, 3 …"]
        kind = st.segmented_control("Gradient of the result", kinds, default="ones", required=True, key="flow", bind="query-params")
    x = sandbox.random_values(shape, f"{seed} x")
    with task_guard(), sandbox.shapes_guard():
        result = sandbox.values(f, call, x)
    flow = sandbox.count_up(result.shape) if kind != "ones" else np.ones(result.shape)
    st.html(side_by_side([grid(x, "x"), grid(result, call)]))
    with task_guard(stop=False):
        gradient = sandbox.gradients(f, call, x, grad_output=flow)[0]
        st.write("**Backward pass**: from the gradient of the result to the gradient of x.")
        shown = [grid(flow, "gradient of the result"), grid(gradient, "gradient of x, backward")]
        with task_guard(stop=False):
            numeric = sandbox.entry_differences(f, call, x, grad_output=flow)
            shown.append(grid(np.round(numeric, 9), "gradient of x, central differences"))
            gap, index = sandbox.largest_gap(gradient, numeric)
        st.html(side_by_side(shown))
        if len(shown) == 3:
            where = f", at index {index}" if gap > 1e-6 else ""
            st.caption(f"The largest difference is {gap:.1e}{where}.")
            if gap > 1e-2 and gap > 1e-2 * (1 + math.fabs(numeric[index])):  # as grad_check has it
                st.warning("The gradients differ. Either `backward` is wrong, or the function is not differentiable here.")
    show_sources(call, f, x)


def show_sources(call: str, f, *inputs: np.ndarray) -> None:
    """Show the source code of a function and of the Functions that it calls."""
    with st.expander("Source code", expanded=False), task_guard():
        name = call.removeprefix("x.").partition("(")[0]
        method = getattr(Tensor, name, f) if call.startswith("x.") else f
        out = f(*[sandbox.make_tensor(np.atleast_1d(value), requires_grad=True) for value in inputs])
        st.code(sandbox.sources(method, out) or "# no source found", language="python")


kind = st.segmented_control("Kind", KINDS, default=KINDS[0], required=True, key="kind", bind="query-params")
{KINDS[0]: one_page, KINDS[1]: two_page, KINDS[2]: reduction_page, KINDS[3]: layout_page}[kind or KINDS[0]]()
