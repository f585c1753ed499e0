"""The attention weights of several heads as heat maps. The row under the pointer is the query, in all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from project.lab.charts.palette import BLUE, GRAY, ORANGE
from project.lab.widgets.figure import figure, to_index

state = st.session_state


def heads(
    weights: np.ndarray,
    names: Sequence[str],
    titles: Sequence[str],
    query: int,
    key: str,
    choose: Callable[[int], None],
    causal: bool = True,
    values: np.ndarray | None = None,
) -> None:
    """Show the figure.

    Args:
        weights: Shape (heads, T, T): row i has the weights of query i.
        names: What the T positions are called.
        titles: What the heads are called.
        query: The row that is framed while no other one is under the pointer.
        key: The component's name in the session state.
        choose: Called with the row that was clicked, or reached with the arrow keys.
        causal: Whether a query does not see what follows.
        values: If given, shape (heads, T, size): the sum of weights and values is written out.
    """

    def chosen() -> None:
        row = to_index(state[key].query, len(names))
        if row is not None:
            choose(row)

    data = {"weights": weights.round(4).tolist(), "names": names, "titles": titles, "query": query, "causal": causal}
    _heads(key=key, data=data | {"values": None if values is None else values.tolist()}, on_query_change=chosen)


_STYLE = (
    f".heads {{--blue: {BLUE}; --orange: {ORANGE}; --gray: {GRAY}}}"
    + """
.heads {display: flex; flex-wrap: wrap; gap: 1rem 2rem}
.head {width: 280px; max-width: 100%}
.few {width: 190px}
.figure .few text {font-size: 16px}
.few .strip {display: none}
h4 {margin: 0 0 .2rem; font-size: .9rem; font-weight: 600}
.figure text {font-size: 11px; text-anchor: middle; dominant-baseline: central}
.map {cursor: pointer; touch-action: pan-y}
.map:focus-visible {outline: 2px solid var(--st-primary-color)}
.seen {fill: var(--blue); stroke: color-mix(in srgb, var(--st-text-color) 12%, transparent)}
.masked {fill: var(--gray); opacity: .25}
.query {fill: none; stroke: var(--orange); stroke-width: 2.5}
.strip {display: flex; flex-wrap: wrap; gap: 2px; margin-top: .3rem}
.strip span {
  min-width: 1.9rem; text-align: center; border-radius: 4px; font-size: .8rem; line-height: 1.1; padding: .1rem .15rem;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 25%, transparent);
  background: color-mix(in srgb, var(--blue) var(--tone), transparent);
}
.strip .hidden {opacity: .45; border-style: dotted}
.strip small {display: block; font-size: .65rem}
p {margin: .3rem 0 0; font-size: .82rem; font-variant-numeric: tabular-nums}
"""
)

_heads: Any = figure("heads", '<div class="figure"><div class="heads"></div></div>', _STYLE, Path(__file__).with_name("heads.js"))
