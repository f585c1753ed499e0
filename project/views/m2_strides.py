"""Module 2: how a tensor lies in its storage, and what each view of it changes."""

import streamlit as st

from project.lab.cards import WrongResult, plain
from project.lab.guard import refuse, task_guard
from project.lab.typed.expressions import Refused
from project.lab.typed.steps import METHODS, flip, parse_shape, parse_steps, written

EXAMPLES = {  # shape, steps
    "Rows become columns": ("3, 4", "x.permute(1, 0)"),
    "Every other column": ("3, 4", "x[:, ::2]"),
    "A window in the middle": ("4, 5", "x[1:3, 1:4]"),
    "One column, as rows again": ("3, 4", "x[:, 1].view(3, 1)"),
    "A row, three times": ("1, 4", "x.expand(3, 4)"),
    "Flipped: a copy": ("3, 4", "x[::-1]"),
    "Permuted, then viewed: copy first": ("2, 3", "x.permute(1, 0).contiguous().view(2, 3)"),
    "Four dimensions": ("2, 2, 2, 3", "x.permute(3, 0, 2, 1)"),
}
ADDED = {"permute": "2, 0, 1", "transpose": "0, 1", "index": "1:, ::2", "view": "6, -1", "expand": "2, 3, 4", "flip": "0", "contiguous": ""}
MADE = {"": "", "view": ":blue-badge[view]", "copy": ":orange-badge[copy]", "itself": ":gray-badge[nothing to do]"}
state = st.session_state

st.title("Stride explorer")
st.write(
    "A tensor is a storage, a shape, a stride for every dimension, and an offset. Most steps change only those numbers: the result is a "
    "view of the same storage. The elements of x are 0, 1, 2 …, so that every number tells where it came from."
)

with task_guard():
    from project.lab.charts import cells
    from project.lab.explorers import strides
    from project.lab.explorers.strides import Stage


def take_example() -> None:
    """Put the chosen example into the fields."""
    if state.example_view:
        state.shape, state.steps = EXAMPLES[state.example_view]


def remove(number: int) -> None:
    """Take a step out of the chain."""
    steps = parse_steps(state.steps)
    del steps[number]
    state.steps = written(steps)


def add(dims: int) -> None:
    """Put the chosen step at the end of the chain, or keep the reason why it is not one."""
    kind = state.step_kind
    arguments = state.get(f"arguments_{kind}", "")
    try:
        if kind == "flip":
            more = flip(arguments, dims)
        else:
            more = f"[{arguments}]" if kind == "index" else f".{kind}({arguments})"
        state.steps = written(parse_steps(state.steps.strip() + more))
    except Refused as refusal:
        state.refused = str(refusal)


def typed() -> tuple[tuple[int, ...], list]:
    """Shape and steps as they were typed, or the end of the page with the reason why they are refused."""
    state.setdefault("shape", "3, 4")
    state.setdefault("steps", "x.permute(1, 0)[1:, ::2]")
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example_view", on_change=take_example, placeholder="Choose one")
    try:
        shape = parse_shape(st.text_input("Shape of x", key="shape", bind="query-params"), 4, strides.MOST_ELEMENTS)
    except Refused as refusal:
        refuse(str(refusal), f"Type 1 to 4 sizes, such as 2, 3, 4: at most {strides.MOST_ELEMENTS} elements.")
    try:
        return shape, parse_steps(st.text_input("Steps", key="steps", bind="query-params"))
    except Refused as refusal:
        refuse(str(refusal), f"Allowed after x: {', '.join(f'.{name}({example})' for name, example in METHODS.items())} and [1:, ::2].")


def row(number: int, text: str, says: str) -> None:
    """One line of the list of steps, with a button to take it out; number 0 is x itself."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if number:
            help = f"Remove {text}"
            st.button("", on_click=remove, args=(number - 1,), key=f"remove_{number}", icon=":material/delete:", help=help)
        st.markdown(f"`{text}` {says}", width=300 if number else "stretch")


def layout(stage: Stage) -> str:
    """How a tensor was made and how it lies, as Markdown."""
    data = stage.data
    contiguous = ":gray-badge[contiguous]" if data.is_contiguous() else ":violet-badge[not contiguous]"
    return f"{MADE[stage.made]} {contiguous}  \n:small[shape **{data.shape}**, strides **{data.strides}**, offset **{data.offset}**]"


def chain(run: strides.Run, steps: list) -> None:
    """The list of steps, each with the layout that it leads to."""
    for number, text in enumerate(["x", *(step.text for step in steps)]):
        if number < len(run.stages):
            row(number, text, layout(run.stages[number]))
        else:
            row(number, text, ":red-badge[does not fit]" if run.refusal and number == len(run.stages) else ":gray-badge[not reached]")


def add_row(dims: int) -> None:
    """The fields for one more step."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("Add a step", list(ADDED), key="step_kind", width=132)
        if ADDED[kind]:
            label = {"index": "Index", "flip": "Dimension"}.get(kind, "Numbers")
            st.text_input(label, ADDED[kind], key=f"arguments_{kind}", width=112)
        st.button("Add", on_click=add, args=(dims,), icon=":material/add:", key="add")
    if refused := state.pop("refused", ""):
        st.error(plain(refused), icon=":material/block:")


def picked() -> None:
    """A cell of the picture was clicked."""
    kind, _, numbers = (state.picture.picked or "").partition(":")
    if kind == "cell":
        state.pick = "a cell"
        for dim, i in enumerate(filter(None, numbers.split(","))):
            state[f"cell_{dim}"] = int(i)
    elif kind == "place":
        state.pick, state.position = "a storage position", int(numbers)


def field(label: str, key: str, length: int) -> int:
    """A field for a whole number below length."""
    state[key] = min(max(state.get(key, 0), 0), length - 1)
    return int(st.number_input(label, 0, length - 1, key=key, width=100))


def choice(stage: Stage) -> tuple[tuple[int, ...] | None, int | None]:
    """What is picked: an index of the result, or a position in its storage."""
    shape, storage = stage.data.shape, len(stage.data._storage)
    state.setdefault("pick", "a cell")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Pick", ["a cell", "a storage position"], key="pick", required=True)
        if state.pick == "a storage position":
            return None, field("Position", "position", storage)
        return tuple(field(f"{strides.LETTERS[dim]}, of {length}", f"cell_{dim}", length) for dim, length in enumerate(shape)), None


def explain_cell(stage: Stage, found: list, cell: tuple[int, ...]) -> None:
    """The formula for one cell, and who else reads its position."""
    st.code(strides.formula(stage.data, cell), language=None, wrap_lines=True)
    if not found:
        return
    number = next(n for n, place in enumerate(found) if place.index == cell)
    place = found[number]
    if place.wrong:
        say = f"Your code reads {'nothing' if place.value is None else place.value} for {list(cell)}; it must be {place.expected}."
    else:
        say = (
            f"Element number {number} of the result, {list(cell)}, stands at storage position {place.position}, which holds {place.value}."
        )
        others = [index for index in strides.readers(found, place.right) if index != cell]
        say += f" The same position is read by {strides.listed(others)}." if others else ""
    st.write(plain(say))


def explain_position(stage: Stage, found: list, position: int) -> None:
    """Which cells read a position."""
    value, who = int(stage.data._storage[position]), strides.readers(found, position)
    cells = {0: "no cell of the result", 1: "one cell of the result, "}.get(len(who), f"{len(who)} cells of the result: ")
    st.write(plain(f"Storage position {position} holds {value}. It is read by {cells}{strides.listed(who)}."))


def explorer(run: strides.Run, steps: list) -> None:
    """The picture of the result, and what there is to say about the picked cell."""
    stage = run.result
    found = []
    with task_guard(stop=False):
        found = strides.places(stage)
        trouble = strides.complaint(stage, found) or strides.ordinal_complaint(stage.data.shape)
        if trouble:
            raise WrongResult(trouble)
    st.write(plain(run.sharing(steps)))
    if not stage.data.size:
        st.info("The result has no elements: there is nothing to pick.")
        return
    cell, position = choice(stage)
    if cell is None:
        explain_position(stage, found, position or 0)
    else:
        explain_cell(stage, found, cell)
        position = strides.position_of(found, cell)
    cells.draw(strides.panels(run.stages, found, cell, position), "picture", picked)
    st.caption(
        "Large: the element. Small: its position in storage. Point at a cell to see what shares its position; click one to pick it. "
        "Dotted: read by no cell of the result."
    )


left, right = st.columns([2, 3], gap="large")
with left:
    shape, steps = typed()
with right, task_guard():
    run = strides.run(shape, steps)
with left:
    chain(run, steps)
    add_row(run.result.data.dims)
with right:
    if run.refusal:
        st.error(plain(run.refusal), icon=":material/block:")
        st.caption("Drawn is what came before that step: change the step or remove it.")
    if run.result.wrong:
        st.error(plain(run.result.wrong), icon=":material/error:")
    explorer(run, steps)
