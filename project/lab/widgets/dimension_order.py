"""The dimensions of a tensor as cards that can be dragged into another order; the arrow keys move the card with the focus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.components.v2 import component

state = st.session_state


class Dimension(NamedTuple):
    """One dimension.

    Attributes:
        name: Its title, such as "dim 0".
        detail: Its size and its stride.
    """

    name: str
    detail: str


def dimension_order(dimensions: Sequence[Dimension], key: str, on_change: Callable[[list[int]], None]) -> None:
    """Show the dimensions.

    Args:
        dimensions: In their current order.
        key: The name of the cards in the session state.
        on_change: Called before the next run of the page with the new order: for each place, the number of the dimension that is there now.
    """

    def change() -> None:
        if order := read(state[key].order, len(dimensions)):
            on_change(order)

    _cards(key=key, data=[each._asdict() for each in dimensions], on_order_change=change)


def read(sent: Any, count: int) -> list[int]:
    """Return the order that the browser sent; [] if it is not another order of all dimensions."""
    plain = isinstance(sent, list) and all(type(each) is int for each in sent)
    return sent if plain and sorted(sent) == list(range(count)) and sent != list(range(count)) else []


_STYLE = """
.cards {font-family: var(--st-font); color: var(--st-text-color); display: flex; flex-wrap: wrap; gap: .5rem; padding: 3px}
button {
  position: relative; padding: .3rem .6rem .3rem 1.6rem; border-radius: 8px; cursor: grab;
  font: inherit; font-size: .82rem; color: inherit; text-align: left; white-space: nowrap;
  touch-action: none; user-select: none; background: var(--st-secondary-background-color);
  border: 1px solid color-mix(in srgb, var(--st-text-color) 35%, var(--st-background-color));
}
button b {display: block}
button::before {content: "⠿"; position: absolute; left: .55rem; top: .9rem; opacity: .6}
button:hover {border-color: var(--st-primary-color)}
button.dragged {cursor: grabbing; outline: 3px solid var(--st-primary-color); opacity: .85}
button:focus-visible {outline: 3px solid var(--st-primary-color); outline-offset: 1px}
"""

_SCRIPT = """
export default function ({parentElement, data, setTriggerValue}) {
  const root = parentElement.querySelector(".cards");
  const dragged = () => root.querySelector(".dragged");
  // The page may be drawn again while a card is dragged: the card stays in the hand.
  if (!dragged() || root.children.length !== data.length) {
    const focused = [...root.children].findIndex((card) => card.matches(":focus"));
    root.replaceChildren(...data.map(({name, detail}, number) => {
      const card = document.createElement("button"), title = document.createElement("b");
      card.type = "button";
      card.dataset.number = number;
      card.setAttribute("aria-label", `${name}, ${detail}. Press the left or right arrow key to move it.`);
      title.textContent = name;
      card.append(title, detail);
      return card;
    }));
    if (focused >= 0) root.children[Math.min(focused, data.length - 1)]?.focus();
  }
  const order = () => [...root.children].map((card) => Number(card.dataset.number));
  const send = () => {
    const now = order();
    if (now.some((number, place) => number !== place)) setTriggerValue("order", now);
  };
  const move = (card, to) => {
    const at = [...root.children].indexOf(card);
    if (to === at || to < 0 || to >= root.children.length) return;
    root.insertBefore(card, to > at ? root.children[to].nextSibling : root.children[to]);
  };
  root.onpointerdown = (event) => {
    const card = event.target.closest("button");
    if (!card) return;
    root.setPointerCapture(event.pointerId);
    card.classList.add("dragged");
  };
  root.onpointermove = (event) => {
    const card = dragged();
    if (!card) return;
    const over = [...root.children].findIndex((each) => {
      const box = each.getBoundingClientRect();
      return event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    });
    if (over >= 0 && root.children[over] !== card) move(card, over);
  };
  root.onpointerup = root.onpointercancel = () => {
    const card = dragged();
    if (!card) return;
    card.classList.remove("dragged");
    card.focus();
    send();
  };
  root.onkeydown = (event) => {
    const card = event.target.closest("button");
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!card || !by) return;
    event.preventDefault();
    event.stopPropagation();
    move(card, [...root.children].indexOf(card) + by);
    card.focus();
    send();
  };
}
"""

_cards: Any = component("minitorch_dimension_order", html='<div class="cards"></div>', css=_STYLE, js=_SCRIPT)
