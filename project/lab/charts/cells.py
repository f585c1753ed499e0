"""Tensors and storages as rows of cells: related cells are highlighted together, and a click on one is reported to the page."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from streamlit.components.v2 import component

from project.lab.charts.palette import BLUE, GREEN, ORANGE, RED

WIDTH = 2.75
"""The default width of a cell, in rem."""

DEEPEST = 60
"""The percentage of color in the background of a cell of tone 1; the number on it must stay readable."""

LOOKS = {
    "picked": "picked",
    "linked": "belongs to the picked one",
    "wrong": "wrong",
    "faint": "not read",
    "read": "read in this step",
    "changed": "changes in this step",
    "idle": "idle",
}
"""The ways to highlight a cell, with their descriptions."""


@dataclass(frozen=True)
class Cell:
    """One cell of a figure.

    Attributes:
        text: The number in it.
        tag: Its identity; several cells may share a tag, such as the position in storage that they read.
        lights: The tags of the cells that are highlighted while the pointer is on it.
        note: Tooltip, also read by screen readers.
        look: One of LOOKS, or empty.
        pick: What a click on it reports to the page; empty if it cannot be clicked.
        small: Small print below the number.
        shade: Whether its background is darker, as for every other block of cells.
        tone: Its value as a color, from -1 (orange) over 0 (none) to 1 (blue); None for a cell without color.
    """

    text: str
    tag: str
    lights: tuple[str, ...]
    note: str = ""
    look: str = ""
    pick: str = ""
    small: str = ""
    shade: bool = False
    tone: float | None = None


def grid(title: str, shape: Sequence[int], cells: Sequence[Cell], width: float = WIDTH, first: tuple[int, int] = (0, 0)) -> str:
    """Return the markup of a tensor. Its last two dimensions are rows and columns; the tables of the others are side by side.

    Args:
        title: The title above it.
        shape: Size of every dimension.
        cells: In order, last dimension fastest.
        width: Width of a cell, in rem.
        first: The numbers of the first row and column; negative if cells before the edge are drawn.
    """
    if len(cells) != math.prod(shape):
        raise ValueError(f"a grid of shape {tuple(shape)} expected {math.prod(shape)} cells, got {len(cells)}")
    if not cells:
        return _panel(title, '<p class="none">It has no elements.</p>')
    rows, columns = (1, 1, *shape)[-2:]
    blocks = []
    for number, lead in enumerate(product(*map(range, shape[:-2]))):
        start = number * rows * columns
        caption = f"<figcaption>[{', '.join(map(str, lead))}, :, :]</figcaption>" if lead else ""
        lines = "".join(_lines(cells[start : start + rows * columns], columns, len(shape), first))
        blocks.append(f'<figure>{caption}<div class="grid" style="--columns: {columns}; --width: {width}rem">{lines}</div></figure>')
    return _panel(title, f'<div class="blocks">{"".join(blocks)}</div>')


def strip(title: str, cells: Sequence[Cell], words: bool = False) -> str:
    """Return the markup of cells in a row that wraps at the end of the page, such as those of a storage.

    Args:
        title: The title above it.
        cells: In order.
        words: Whether each cell is as wide as its text.
    """
    if not cells:
        return _panel(title, '<p class="none">It has no elements.</p>')
    return _panel(title, f'<div class="strip{" words" * words}">{"".join(map(_cell, cells))}</div>')


def in_pairs(panels: Sequence[str]) -> str:
    """Return the markup of panels, two in a row; on a phone, one below the other."""
    return f'<div class="pairs">{"".join(panels)}</div>'


def stacked(panels: Sequence[str]) -> str:
    """Return the markup of panels, one below the other."""
    return f'<div class="stack">{"".join(panels)}</div>'


def draw(panels: Sequence[str], key: str, on_pick: Callable[[], None]) -> None:
    """Show panels on the page.

    Args:
        panels: Markup from `grid` and `strip`.
        key: Keeps the figure in place while it changes; the clicked cell's `pick` is in `session_state[key].picked`.
        on_pick: Called after a click on a clickable cell.
    """
    _picture(data="".join(panels), key=key, on_picked_change=on_pick)


def _lines(cells: Sequence[Cell], columns: int, dims: int, first: tuple[int, int]) -> Iterator[str]:
    """Return the cells of one grid row by row, with row and column numbers."""
    if dims:
        yield '<i aria-hidden="true"></i>' + "".join(f'<i aria-hidden="true">{first[1] + column}</i>' for column in range(columns))
    for row in range(len(cells) // columns):
        yield f'<i aria-hidden="true">{first[0] + row if dims > 1 else ""}</i>'
        yield from map(_cell, cells[row * columns : (row + 1) * columns])


def _cell(cell: Cell) -> str:
    """Return one cell, a button if it can be clicked. The keyboard uses the fields of the page, so Tab need not stop at every cell."""
    say = "; ".join(part for part in (cell.note or cell.text, LOOKS.get(cell.look, "")) if part)
    toned = "" if cell.tone is None else "tone below" if cell.tone < 0 else "tone"
    facts = {
        "class": " ".join(filter(None, ("cell", cell.look, "shade" if cell.shade else "", toned))),
        "style": "" if cell.tone is None else f"--tone: {abs(cell.tone) * DEEPEST:.0f}%",
        "data-tag": cell.tag,
        "data-lights": " ".join(cell.lights),
        "title": cell.note,
    }
    facts |= {"aria-label": say} | ({"data-pick": cell.pick, "tabindex": "-1", "type": "button"} if cell.pick else {"role": "img"})
    written = " ".join(f'{name}="{html.escape(value)}"' for name, value in facts.items() if value)
    small = f"<small>{html.escape(cell.small)}</small>" if cell.small else ""
    kind = "button" if cell.pick else "span"
    return f"<{kind} {written}>{html.escape(cell.text)}{small}</{kind}>"


def _panel(title: str, inner: str) -> str:
    """Return content with a title above it."""
    return f'<section aria-label="{html.escape(title)}"><h4>{html.escape(title)}</h4>{inner}</section>'


# Colors are mixed with those of the page, so that one rule serves light and dark themes; borders distinguish the looks without color.
STYLE = (
    f".picture {{--blue: {BLUE}; --orange: {ORANGE}; --red: {RED}; --green: {GREEN}}}"
    + """
.picture {display: flex; flex-wrap: wrap; gap: 1.2rem 2rem; font-family: var(--st-font); color: var(--st-text-color)}
section {max-width: 100%}
h4 {margin: 0 0 .3rem; font-size: .9rem; font-weight: 600}
.none {margin: 0; opacity: .7; font-size: .9rem}
.blocks {display: flex; flex-wrap: wrap; gap: .6rem 1.2rem}
figure {margin: 0; max-width: 100%; overflow-x: auto; padding: 0 4px 4px 0}  /* room for the outline */
figcaption {font-size: .75rem; opacity: .75; font-family: var(--st-code-font); padding-left: 1.2rem}
.pairs {display: grid; grid-template-columns: repeat(2, minmax(0, max-content)); gap: 1.2rem 2rem; align-items: start; max-width: 100%}
@media (max-width: 640px) {.pairs {grid-template-columns: minmax(0, 100%)}}
.stack {display: flex; flex-direction: column; gap: 1.2rem; max-width: 100%}
.grid {display: grid; grid-template-columns: 1.1rem repeat(var(--columns), var(--width)); gap: 3px; align-items: center}
.grid i {font-size: .7rem; font-style: normal; text-align: center; opacity: .65}
.strip {--width: 2.75rem; display: flex; flex-wrap: wrap; gap: 3px}
.cell {
  box-sizing: border-box; width: var(--width); height: calc(var(--width) * .91); padding: 0; display: inline-flex; flex-direction: column;
  align-items: center; justify-content: center; font: inherit; font-size: max(.65rem, calc(var(--width) * .31)); line-height: 1.05;
  font-variant-numeric: tabular-nums; color: inherit; border-radius: 4px; background: var(--st-secondary-background-color);
  border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, var(--st-background-color));
}
.words .cell {width: auto; min-width: 2rem; padding: 0 .35rem}
button.cell {cursor: pointer}
.cell small {font-size: .62rem; opacity: .75}
.shade {background: color-mix(in srgb, var(--st-text-color) 18%, var(--st-background-color))}
.faint {background: transparent; border-style: dotted; opacity: .75}
.linked {background: color-mix(in srgb, var(--blue) 32%, var(--st-background-color)); border: 2px dashed var(--blue); opacity: 1}
.picked {background: color-mix(in srgb, var(--orange) 42%, var(--st-background-color)); border: 3px solid var(--orange); opacity: 1}
.wrong {background: color-mix(in srgb, var(--red) 25%, var(--st-background-color)); border: 3px double var(--red);
  text-decoration: line-through}
.read {background: color-mix(in srgb, var(--blue) 32%, var(--st-background-color)); border: 2px solid var(--blue)}
.changed {background: color-mix(in srgb, var(--green) 32%, var(--st-background-color)); border: 2px solid var(--green);
  border-bottom-width: 5px}
.idle {
  border-style: dotted; opacity: .8;
  background: repeating-linear-gradient(
    -45deg, transparent 0 4px, color-mix(in srgb, var(--st-text-color) 16%, transparent) 4px 5px);
}
.tone {background: color-mix(in srgb, var(--blue) var(--tone), var(--st-secondary-background-color))}
.below {background: color-mix(in srgb, var(--orange) var(--tone), var(--st-secondary-background-color))}
.near {outline: 2px solid var(--st-text-color); outline-offset: 1px}
"""
)

BEHAVIOUR = """
function cells({parentElement, data, setTriggerValue}) {
  const picture = parentElement.querySelector(".picture");
  picture.innerHTML = data;
  const all = [...picture.querySelectorAll("[data-tag]")];
  const light = (cell) => {
    const tags = cell ? (cell.dataset.lights || "").split(" ") : [];
    all.forEach((other) => other.classList.toggle("near", tags.includes(other.dataset.tag)));
  };
  picture.onpointerover = (event) => light(event.target.closest("[data-tag]"));
  picture.onpointerleave = () => light(null);
  picture.onclick = (event) => {
    const cell = event.target.closest("[data-pick]");
    if (cell) setTriggerValue("picked", cell.dataset.pick);
  };
}
"""

_picture: Any = component("minitorch_cells", html='<div class="picture"></div>', css=STYLE, js=BEHAVIOUR + "export default cells;")
