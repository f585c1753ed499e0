"""Module 2: how two shapes go together, cell by cell, and where the gradient goes."""

import streamlit as st

from project.lab.cards import WrongResult, plain
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import Refused
from project.lab.typed.steps import parse_shape

EXAMPLES = {
    "A column and a row": ("3, 1", "1, 4"),
    "A matrix and a row": ("3, 4", "4"),
    "A matrix and a number": ("2, 3", "()"),
    "Points and weights, as in a layer": ("4, 2, 1", "1, 2, 3"),
    "A clash": ("3, 4", "3"),
    "The same, with a 1 put in": ("3, 4", "3, 1"),
    "No elements": ("0, 3", "1, 3"),
}
state = st.session_state

st.title("Broadcasting")
st.write(
    "Two tensors of different shapes can be added if their sizes, matched from the right, are equal or 1. Nothing is copied: the smaller "
    "one is read again and again. Going back, what was read several times gets the sum of several gradients."
)

with task_guard():
    from project.lab.charts import cells
    from project.lab.explorers import broadcasting


def take_example() -> None:
    """Put the chosen example into the fields."""
    if state.example_shapes:
        state.a, state.b = EXAMPLES[state.example_shapes]


def shape_field(place, name: str) -> tuple[int, ...]:
    """A shape as it was typed, or the end of the page with the reason why it is refused."""
    try:
        return parse_shape(place.text_input(f"Shape of {name}", key=name, bind="query-params"), broadcasting.MOST_DIMS, 10**9, 0)
    except Refused as refusal:
        refuse(str(refusal), "Type sizes separated by commas, such as 2, 1, 3; () is a tensor of no dimensions, one number.")


def picked() -> None:
    """A cell of the picture was clicked."""
    of, _, numbers = (state.picture.picked or "").partition(":")
    if of:
        state.of = of
        for dim, i in enumerate(filter(None, numbers.split(","))):
            state[f"at_{dim}"] = int(i)


def choice(shapes: dict[str, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    """The tensor in which a cell is picked, and its index."""
    state.setdefault("of", "result")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Pick a cell of", list(shapes), key="of", required=True)
        index = []
        for dim, length in enumerate(shapes[state.of]):
            key = f"at_{dim}"
            state[key] = min(max(state.get(key, 0), 0), length - 1)
            index.append(int(st.number_input(f"Dimension {dim}", 0, length - 1, key=key, width=115)))
    return state.of, tuple(index)


def sentence(found: list, of: str, index: tuple[int, ...], forward: bool) -> str:
    """What the picked cell has to do with the others."""
    if of == "result":
        source = next(source for source in found if source.index == index)
        if source.wrong:
            return f"{source.wrong}."
        a, b = f"a{list(source.a)}", f"b{list(source.b)}"
        if forward:
            return f"result{list(index)} = {a} + {b}."
        return f"The gradient at {list(index)} of the result is added to the gradients of {a} and of {b}."
    users = broadcasting.users(found, of, index)
    names = ", ".join(str(list(user)) for user in users[:8]) + (f" and {len(users) - 8} more" if len(users) > 8 else "")
    if forward:
        return f"{of}{list(index)} is read {broadcasting.times(len(users))}: for {names} of the result."
    return f"The gradient of {of}{list(index)} is the sum of the result's gradient at {names}."


def picture(shapes: dict[str, tuple[int, ...]], rules: list) -> None:
    """Operands and result as grids."""
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
            raise WrongResult(f"{wrong[0]} ({len(wrong)} of {len(found)} cells are looked for in the wrong place)")
    if not found:
        st.info("The result has no elements: there is nothing to pick.")
        return
    of, index = choice(shapes)
    st.write(plain(sentence(found, of, index, forward)))
    panels = broadcasting.forward_panels if forward else broadcasting.backward_panels
    cells.draw(panels(sizes, found, of, index), "picture", picked)
    given = "" if forward else " That which arrives at a + b is 1, 2, 3 … here."
    st.caption(f"Point at a cell to see what belongs to it; click one to pick it.{given}")
    for name in ("a", "b"):
        if forward:
            st.caption(plain(broadcasting.strides_sentence(name, shapes[name], shapes["result"])))
        else:
            st.caption(plain(broadcasting.gradient_sentence(name, rules)))


state.setdefault("a", "2, 1")
state.setdefault("b", "3")
left, right = st.columns([2, 3], gap="large")
with left:
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example_shapes", on_change=take_example, placeholder="Choose one")
    fields = st.container(horizontal=True)
    a, b = (shape_field(fields, name) for name in ("a", "b"))
    st.write("**Matched from the right**")
    rules = broadcasting.align(a, b)
    if rules:
        st.markdown(broadcasting.table(rules))
        st.markdown("\n".join(f"- dimension {rule.dim}: {rule.reason}" for rule in reversed(rules)))
    else:
        st.write("Both are single numbers: there is nothing to match.")
with right:
    with task_guard():
        shape, refusal = broadcasting.together(a, b)
    if shape is None:
        st.warning(f"The shapes clash, and `shape_broadcast` refuses them, as it must: {plain(refusal)}", icon=":material/block:")
    else:
        st.write(f"`shape_broadcast({a}, {b})` gives **{shape}**.")
        if broadcasting.drawable(a, b, shape):
            picture({"a": a, "b": b, "result": shape}, rules)
        else:
            st.info(f"To be drawn, a tensor may have {broadcasting.MOST_ELEMENTS} elements at most: the rules above hold for any size.")
