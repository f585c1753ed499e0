"""Module 2: the layout of a tensor in its storage, and what each view changes."""

import streamlit as st

from project.lab.cards import WrongResult, plain
from project.lab.guard import refuse, task_guard
from project.lab.typed.source import Refused
from project.lab.typed.steps import METHODS, flip, parse_shape, parse_steps, permute, to_text
from project.lab.widgets.dimension_order import Dimension, dimension_order
from project.lab.widgets.fields import whole_number

EXAMPLES = {  # shape, steps
    "Transpose": ("3, 4", "x.permute(1, 0)"),
    "Every other column": ("3, 4", "x[:, ::2]"),
    "A block in the middle": ("4, 5", "x[1:3, 1:4]"),
    "One column, viewed as a matrix": ("3, 4", "x[:, 1].view(3, 1)"),
    "A row, repeated three times": ("1, 4", "x.expand(3, 4)"),
    "Flipped, which copies": ("3, 4", "x[::-1]"),
    "Permuted, then viewed after a copy": ("2, 3", "x.permute(1, 0).contiguous().view(2, 3)"),
    "Four dimensions": ("2, 2, 2, 3", "x.permute(3, 0, 2, 1)"),
}
ADDED = {"permute": "2, 0, 1", "transpose": "0, 1", "index": "1:, ::2", "view": "6, -1", "expand": "2, 3, 4", "flip": "0", "contiguous": ""}
MADE = {"": "", "view": ":blue-badge[view]", "copy": ":orange-badge[copy]", "itself": ":gray-badge[unchanged]"}
PICKS = ("a cell", "a storage position")
state = st.session_state

st.title("Stride explorer")
st.write(
    "A tensor consists of a storage, a shape, a stride for each dimension, and an offset. Most operations change only these numbers; the "
    "result is a view of the same storage. The elements of x are 0, 1, 2 …, so each value shows where it is stored."
)

with task_guard():
    from project.lab.charts import cells
    from project.lab.explorers import strides
    from project.lab.explorers.strides import Stage


def take_example() -> None:
    """Copy the selected example into the text fields."""
    if state.example_view:
        state.shape, state.steps = EXAMPLES[state.example_view]


def remove(number: int) -> None:
    """Remove an operation from the chain."""
    steps = parse_steps(state.steps)
    del steps[number]
    state.steps = to_text(steps)


def add(dims: int) -> None:
    """Append the selected operation to the chain, or store the error message if it is invalid."""
    kind = state.step_kind
    arguments = state.get(f"arguments_{kind}", "")
    try:
        if kind == "flip":
            more = flip(arguments, dims)
        else:
            more = f"[{arguments}]" if kind == "index" else f".{kind}({arguments})"
        state.steps = to_text(parse_steps(state.steps.strip() + more))
    except Refused as refusal:
        state.refused = str(refusal)


def read_inputs() -> tuple[tuple[int, ...], list]:
    """Return the shape and the operations in the text fields. Invalid input ends the page with an error."""
    st.selectbox("Examples", list(EXAMPLES), index=None, key="example_view", on_change=take_example, placeholder="Choose one")
    try:
        shape = parse_shape(st.text_input("Shape of x", "3, 4", key="shape", bind="query-params"), 4, strides.MOST_ELEMENTS)
    except Refused as refusal:
        refuse(str(refusal), f"Enter 1 to 4 sizes, such as 2, 3, 4, with at most {strides.MOST_ELEMENTS} elements in total.")
    try:
        return shape, parse_steps(st.text_input("Operations", "x.permute(1, 0)[1:, ::2]", key="steps", bind="query-params"))
    except Refused as refusal:
        refuse(str(refusal), f"After x, use {', '.join(f'.{name}({example})' for name, example in METHODS.items())} and [1:, ::2].")


def row(number: int, text: str, says: str) -> None:
    """Show one operation with a button that removes it; number 0 is x itself."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if number:
            help = f"Remove {text}"
            st.button("", on_click=remove, args=(number - 1,), key=f"remove_{number}", icon=":material/delete:", help=help)
        st.markdown(f"`{text}` {says}", width=300 if number else "stretch")


def layout(stage: Stage) -> str:
    """Return, as Markdown, whether a tensor is a view or a copy, and its layout."""
    data = stage.data
    contiguous = ":gray-badge[contiguous]" if data.is_contiguous() else ":violet-badge[not contiguous]"
    return f"{MADE[stage.made]} {contiguous}  \n:small[shape **{data.shape}**, strides **{data.strides}**, offset **{data.offset}**]"


def chain(run: strides.Run, steps: list) -> None:
    """Show the operations, each with the layout of its result."""
    for number, text in enumerate(["x", *(step.text for step in steps)]):
        if number < len(run.stages):
            row(number, text, layout(run.stages[number]))
        else:
            row(number, text, ":red-badge[invalid]" if run.refusal and number == len(run.stages) else ":gray-badge[not executed]")


def add_row(dims: int) -> None:
    """Show the controls that append an operation."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("Add an operation", list(ADDED), key="step_kind", width=132)
        if ADDED[kind]:
            label = {"index": "Index", "flip": "Dimension"}.get(kind, "Arguments")
            st.text_input(label, ADDED[kind], key=f"arguments_{kind}", width=112)
        st.button("Add", on_click=add, args=(dims,), icon=":material/add:", key="add")
    if refused := state.pop("refused", ""):
        st.error(plain(refused), icon=":material/block:")


def reorder(order: list[int]) -> None:
    """Append a permutation to the chain, or change the one at its end."""
    state.steps = to_text(permute(parse_steps(state.steps), order))
    state.strides_dragged = True


def drag_row(stage: Stage) -> None:
    """Show the dimensions of the result, which can be dragged into another order."""
    data = stage.data
    if data.dims > 1:
        st.caption("Drag the dimensions of the result into another order:")
        parts = zip(data.shape, data.strides, strict=True)
        cards = [Dimension(f"dim {dim}", f"size {size}, stride {stride}") for dim, (size, stride) in enumerate(parts)]
        dimension_order(cards, "dimensions", reorder)


def pick_cell() -> None:
    """Select the cell or the storage position that was clicked."""
    kind, _, numbers = (state.picture.picked or "").partition(":")
    if kind == "cell":
        state.pick = PICKS[0]
        for dim, i in enumerate(filter(None, numbers.split(","))):
            state[f"cell_{dim}"] = int(i)
    elif kind == "place":
        state.pick, state.position = PICKS[1], int(numbers)


def select_cell(stage: Stage) -> tuple[tuple[int, ...] | None, int | None]:
    """Show the controls that select a cell; return an index of the result, or a position in its storage."""
    shape, storage = stage.data.shape, len(stage.data._storage)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pick = st.segmented_control("Select", PICKS, default=PICKS[0], required=True, key="pick", bind="query-params")
        if pick == PICKS[1]:
            return None, whole_number("Position", "position", 0, 0, storage - 1)
        labels = [f"{strides.LETTERS[dim]}, of {length}" for dim, length in enumerate(shape)]
        return tuple(whole_number(label, f"cell_{dim}", 0, 0, shape[dim] - 1) for dim, label in enumerate(labels)), None


def explain_cell(stage: Stage, found: list, cell: tuple[int, ...]) -> None:
    """Show the formula for one cell, and the other cells at the same position."""
    st.code(strides.formula(stage.data, cell), language=None, wrap_lines=True)
    if not found:
        return
    number = next(n for n, place in enumerate(found) if place.index == cell)
    place = found[number]
    if place.wrong:
        say = f"At {list(cell)}, expected {place.expected}, got {'nothing' if place.value is None else place.value} from your code."
    else:
        say = f"Element {number} of the result, at index {list(cell)}, is at storage position {place.position}. Its value is {place.value}."
        others = [index for index in strides.readers(found, place.right) if index != cell]
        say += f" The same position is also read by {strides.listed(others)}." if others else ""
    st.write(plain(say))


def explain_position(stage: Stage, found: list, position: int) -> None:
    """Show which cells read a storage position."""
    value, who = int(stage.data._storage[position]), strides.readers(found, position)
    cells = {0: "no cell of the result", 1: "one cell of the result, "}.get(len(who), f"{len(who)} cells of the result: ")
    st.write(plain(f"Storage position {position} holds {value}. It is read by {cells}{strides.listed(who)}."))


def explorer(run: strides.Run, steps: list) -> None:
    """Show the result as a grid, and the details of the selected cell."""
    stage = run.result
    found = []
    with task_guard(stop=False):
        found = strides.places(stage)
        trouble = strides.complaint(stage, found) or strides.ordinal_complaint(stage.data.shape)
        if trouble:
            raise WrongResult(trouble)
    st.write(plain(run.sharing(steps)))
    if not stage.data.size:
        st.info("The result has no elements, so there is nothing to select.")
        return
    cell, position = select_cell(stage)
    if cell is None:
        explain_position(stage, found, position or 0)
    else:
        explain_cell(stage, found, cell)
        position = strides.position_of(found, cell)
    cells.draw(strides.panels(run.stages, found, cell, position), "picture", pick_cell)
    st.caption(
        "Large: the element. Small: its position in the storage. Hover over a cell to highlight the cells at the same position; click it "
        "to select it. Dotted: read by no cell of the result."
    )


left, right = st.columns([2, 3], gap="large")
with left:
    shape, steps = read_inputs()
with right, task_guard():
    run = strides.run(shape, steps)
with left:
    chain(run, steps)
    if not run.refusal and not run.result.wrong:
        drag_row(run.result)
    add_row(run.result.data.dims)
with right:
    if run.refusal:
        st.error(plain(run.refusal), icon=":material/block:")
        st.caption("The grid shows the tensor before this operation. Change or remove the operation.")
    if run.result.wrong:
        st.error(plain(run.result.wrong), icon=":material/error:")
    explorer(run, steps)
