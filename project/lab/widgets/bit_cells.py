"""The bits of a number as cells in groups. A click flips a bit; the keyboard moves between the bits with the arrow keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.components.v2 import component

from project.lab.charts.palette import BLUE, GREEN, ORANGE

state = st.session_state


class Group(NamedTuple):
    """Bits with a common meaning.

    Attributes:
        name: The title above them.
        bits: Their digits, 0 and 1.
        weights: What each bit is worth if it is 1, shown as a tooltip and read by screen readers.
    """

    name: str
    bits: str
    weights: Sequence[str]


def bit_cells(groups: Sequence[Group], key: str, on_flip: Callable[[str], None]) -> None:
    """Show the bits.

    Args:
        groups: From the highest bit to the lowest.
        key: The name of the cells in the session state.
        on_flip: Called before the next run of the page with all bits, of which one was flipped.
    """
    count = sum(len(group.bits) for group in groups)

    def flip() -> None:
        if bits := read(state[key].flipped, count):
            on_flip(bits)

    _cells(key=key, data=[group._asdict() | {"weights": list(group.weights)} for group in groups], on_flipped_change=flip)


def read(sent: Any, count: int) -> str:
    """Return the bits that the browser sent; "" if they are not as many zeros and ones."""
    return sent if isinstance(sent, str) and len(sent) == count and set(sent) <= {"0", "1"} else ""


# Each group has its own color and its own border, so that they can be told apart without color.
_STYLE = (
    f".bits {{--sign: {GREEN}; --exponent: {ORANGE}; --fraction: {BLUE}}}"
    + """
.bits {
  font-family: var(--st-font); color: var(--st-text-color); display: flex; flex-wrap: wrap; gap: .8rem 1rem; padding: 3px;
}
.group {max-width: 100%}
.group:nth-child(1) {--color: var(--sign); --line: double}
.group:nth-child(2) {--color: var(--exponent); --line: dashed}
.group:nth-child(3) {--color: var(--fraction); --line: solid}
h4 {margin: 0 0 .3rem; font-size: .85rem; font-weight: 600; border-bottom: 3px var(--line) var(--color)}
.row {display: flex; flex-wrap: wrap; gap: 3px}
button {
  box-sizing: border-box; width: 2.05rem; height: 2.6rem; padding: 0; border-radius: 5px; cursor: pointer;
  font: 1.05rem var(--st-code-font); color: inherit; background: var(--st-secondary-background-color);
  border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, var(--st-background-color));
}
button[aria-checked="true"] {
  background: color-mix(in srgb, var(--color) 40%, var(--st-background-color)); border: 2px solid var(--color); font-weight: 700;
}
button:hover {outline: 2px solid var(--color)}
button:focus-visible {outline: 3px solid var(--st-primary-color); outline-offset: 1px}
"""
)

# The cells stay the same elements while the bits change, so that the keyboard's focus stays where it is. Only one of them is a tab stop.
_SCRIPT = """
export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".bits");
  const shape = JSON.stringify(data.map(({name, bits}) => [name, bits.length]));
  if (root.shape !== shape) {
    root.shape = shape;
    root.replaceChildren(...data.map(({name, bits}) => {
      const group = document.createElement("div"), title = document.createElement("h4"), row = document.createElement("div");
      group.className = "group";
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", `${name}, ${bits.length} ${bits.length > 1 ? "bits" : "bit"}`);
      title.textContent = name;
      row.className = "row";
      row.append(...[...bits].map(() => {
        const cell = document.createElement("button");
        cell.type = "button";
        cell.setAttribute("role", "switch");
        cell.tabIndex = -1;
        return cell;
      }));
      group.append(title, row);
      return group;
    }));
    root.querySelector("button").tabIndex = 0;
  }
  const cells = [...root.querySelectorAll("button")];
  const set = (cell, bit) => {
    cell.textContent = bit;
    cell.setAttribute("aria-checked", bit === "1");
  };
  let at = 0;
  for (const {name, bits, weights} of data) {
    [...bits].forEach((bit, place) => {
      const cell = cells[at++];
      cell.title = `${name}: ${weights[place]}`;
      cell.setAttribute("aria-label", `${name} bit ${bits.length - 1 - place}, ${weights[place]}`);
      set(cell, bit);
    });
  }
  root.onclick = (event) => {
    const cell = event.target.closest("button");
    if (!cell) return;
    set(cell, cell.textContent === "1" ? "0" : "1");
    focus(cell);
    setTriggerValue("flipped", cells.map((each) => each.textContent).join(""));
  };
  const focus = (cell) => {
    cells.forEach((each) => {each.tabIndex = each === cell ? 0 : -1;});
    cell.focus();
  };
  root.onkeydown = (event) => {
    const place = cells.indexOf(event.target.closest("button"));
    const places = {ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: cells.length - 1};
    if (place < 0 || !(event.key in places)) return;
    focus(cells[Math.min(Math.max(places[event.key], 0), cells.length - 1)]);
    event.preventDefault();
    event.stopPropagation();
  };
}
"""

_cells: Any = component("minitorch_bit_cells", html='<div class="bits"></div>', css=_STYLE, js=_SCRIPT)
