"""Module 2: how two shapes broadcast, element by element, and how the gradient is reduced."""

import streamlit as st

from project.lab.cards import WrongResult, plain
from project.lab.guard import refuse, task_guard
from project.lab.typed.source import Refused
from project.lab.typed.steps import parse_shape
from project.lab.widgets.fields import whole_number

EXAMPLES = {
    "A column and a row": ("3, 1", "1, 4"),
    "A matrix and a row": ("3, 4", "4"),
    "A matrix and a number": ("2, 3", "()"),
    "Points and weights, as in a layer": ("4, 2, 1", "1, 2, 3"),
    "Incompatible shapes": ("3, 4", "3"),
    "The same, made compatible by a 1": ("3, 4", "3, 1"),
    "No elements": ("0, 3", "1, 3"),
}
state = st.session_state

st.title("Broadcasting")
st.write(
    "Two tensors of different shapes can be added if their sizes, aligned from the right, are equal or 1. Nothing is copied: the smaller "
    "tensor is read several times. In the backward pass, an element that was read several times gets the sum of the gradients."
)

with task_guard():
    from project.lab.charts import cells
    from project.lab.explorers import broadcasting


def take_example() -> None:
    """Copy the selected example into the text fields."""
    if state.example_shapes:
        state.a, state.b = EXAMPLES[state.example_shapes]


def read_shape(place, name: str, given: str) -> tuple[int, ...]:
    """Return the shape in a text field. Invalid input ends the page with an error."""
    try:
        return parse_shape(place.text_input(f"Shape of {name}", given, key=name, bind="query-params"), broadcasting.MOST_DIMS, 10**9, 0)
    except Refused as refusal:
        refuse(str(refusal), "Enter sizes separated by commas, such as 2, 1, 3. A scalar has the shape ().")


def pick_cell() -> None:
    """Select the cell that was clicked."""
    of, _, numbers = (state.picture.picked or "").partition(":")
    if of:
        state.of = of
        for dim, i in enumerate(filter(None, numbers.split(","))):
            state[f"at_{dim}"] = int(i)


def select_cell(shapes: dict[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """Show the controls that select a cell; return the tensor and the index of the cell."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        of = st.segmented_control("Select a cell of", list(shapes), default="result", required=True, key="of", bind="query-params")
        index = (whole_number(f"Dimension {dim}", f"at_{dim}", 0, 0, length - 1) for dim, length in enumerate(shapes[of]))
        return of, tuple(index)


def sentence(found: list, of: str, index: tuple[int, ...], forward: bool) -> str:
    """Describe which cells the selected cell depends on, or which depend on it."""
    if of == "result":
        source = next(source for source in found if source.index == index)
        if source.wrong:
            return f"{source.wrong}."
        a, b = f"a{list(source.a)}", f"b{list(source.b)}"
        if forward:
            return f"result{list(index)} = {a} + {b}."
        return f"The gradient of result{list(index)} is added to the gradients of {a} and {b}."
    users = broadcasting.users(found, of, index)
    names = ", ".join(str(list(user)) for user in users[:8]) + (f" and {len(users) - 8} more" if len(users) > 8 else "")
    if forward:
        return f"{of}{list(index)} is read {broadcasting.times(len(users))}, for the results at {names}."
    return f"The gradient of {of}{list(index)} is the sum of the gradients of the result at {names}."


def show_grids(shapes: dict[str, tuple[int, ...]], rules: list) -> None:
    """Show the operands and the result as grids."""
    sizes = list(shapes.values())
    directions = ["forward", "backward"]
    forward = (
        st.segmented_control("Direction", directions, default="forward", required=True, key="direction", bind="query-params") == "forward"
    )
    found = []
    with task_guard():
        found = broadcasting.sources(*sizes)
    wrong = [source.wrong for source in found if source.wrong]
    if wrong:
        with task_guard(stop=False):
            raise WrongResult(f"{wrong[0]} ({len(wrong)} of {len(found)} cells have a wrong index)")
    if not found:
        st.info("The result has no elements, so there is nothing to select.")
        return
    of, index = select_cell(shapes)
    st.write(plain(sentence(found, of, index, forward)))
    panels = broadcasting.forward_panels if forward else broadcasting.backward_panels
    cells.draw(panels(sizes, found, of, index), "picture", pick_cell)
    given = "" if forward else " The gradient of a + b is 1, 2, 3 … in this example."
    st.caption(f"Hover over a cell to highlight the cells it depends on; click it to select it.{given}")
    for name in ("a", "b"):
        if forward:
            st.caption(plain(broadcasting.strides_sentence(name, shapes[name], shapes["result"])))
        else:
            st.caption(plain(broadcasting.gradient_sentence(name, rules)))


left, right = st.columns([2, 3], gap="large")
with left:
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example_shapes", on_change=take_example, placeholder="Choose one")
    fields = st.container(horizontal=True)
    a, b = read_shape(fields, "a", "2, 1"), read_shape(fields, "b", "3")
    st.write("**Aligned from the right**")
    rules = broadcasting.align(a, b)
    if rules:
        st.markdown(broadcasting.table(rules))
        st.markdown("\n".join(f"- dimension {rule.dim}: {rule.reason}" for rule in reversed(rules)))
    else:
        st.write("Both tensors are scalars, so there is nothing to align.")
with right:
    with task_guard():
        shape, refusal = broadcasting.broadcast(a, b)
    if shape is None:
        st.warning(f"The shapes are incompatible. `shape_broadcast` correctly raises an error: {plain(refusal)}", icon=":material/block:")
    else:
        st.write(f"`shape_broadcast({a}, {b})` returns **{shape}**.")
        if broadcasting.drawable(a, b, shape):
            show_grids({"a": a, "b": b, "result": shape}, rules)
        else:
            st.info(f"Grids are shown for tensors of at most {broadcasting.MOST_ELEMENTS} elements. The rules above hold for any size.")
