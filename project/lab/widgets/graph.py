"""A computational graph with a Play button. A node or an edge that is pointed at shows its rule and its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from project.lab.widgets.fields import whole_number
from project.lab.widgets.figure import figure, to_index

state = st.session_state


def played_graph(drawing: dict[str, Any], key: str, playable: bool = True) -> int:
    """Show the figure, at first after the first visit, and return the step at which it was last at rest, which is also in the URL.

    Args:
        drawing: What `graph_drawing.drawing` returned; each step may have "pictures", which are HTML.
        key: The name of the number of the step in the session state and in the URL.
        playable: Whether it has a Play button.
    """
    last = len(drawing["steps"]) - 1
    with st.container(key="graph_moment"):  # hidden: the figure has a slider of its own
        moment = whole_number("Nodes visited", key, 1, 0, last) if last else 0

    def rested() -> None:
        step = to_index(state[f"{key}_figure"].moment, last + 1)
        if step is not None:
            state[key] = step

    _graph(key=f"{key}_figure", data=drawing | {"moment": moment, "playable": playable}, on_moment_change=rested)
    return moment


_HTML = """
<div class="figure">
  <div class="controls">
    <button class="back">← Back</button><button class="play"></button><button class="forward">Forward →</button>
    <input type="range" min="0" aria-label="Nodes visited">
  </div>
  <p class="sentence" aria-live="polite"></p>
  <div class="scroll" tabindex="0" role="group" aria-label="The graph; the arrow keys step through the backward pass"><svg></svg></div>
  <p class="words"></p>
  <div class="local">
    <div>
      <b class="name"></b>
      <p class="hint">Point at a node or an edge: its local rule and the line of its <code>backward</code> light up.</p>
      <ul></ul>
      <p class="saved"></p>
    </div>
    <div><span class="where"></span><pre></pre></div>
  </div>
  <div class="pictures"></div>
</div>
"""

_STYLE = """
.figure {
  --faint: color-mix(in srgb, var(--st-text-color) 55%, var(--st-background-color));
  --now: color-mix(in srgb, var(--orange) 45%, var(--st-background-color));
  --lit: color-mix(in srgb, var(--blue) 22%, var(--st-background-color));
}
.figure [hidden] {display: none}
.figure p {margin: .5rem 0; font-size: .875rem}
.controls {display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; font-size: .875rem}
button {
  font: inherit; color: inherit; background: var(--st-background-color); border: 1px solid var(--faint); border-radius: .5rem;
  padding: .35rem .8rem; cursor: pointer;
}
button.play {color: #fff; background: var(--blue); border-color: var(--blue); min-width: 5.5rem}
button:hover:enabled {border-color: var(--st-primary-color)}
:is(button, input, .scroll):focus-visible {outline: 2px solid var(--st-primary-color); outline-offset: 2px}
button:disabled {opacity: .45; cursor: default}
input {flex: 0 1 16rem; min-width: 6rem; accent-color: var(--blue)}
.figure p.sentence {min-height: 2.6em; padding: .5rem .8rem; border-radius: .5rem; background: var(--lit)}
.scroll {overflow-x: auto; padding: 4px 0}
.scroll svg {max-width: var(--width); min-width: calc(.72 * var(--width))}
@media (max-width: 640px) {.scroll svg {min-width: var(--width)}}
.figure svg text {font-size: 12px; text-anchor: middle}
.box {fill: var(--st-secondary-background-color); stroke: var(--faint); stroke-dasharray: 4 3}
.leaf .box {fill: color-mix(in srgb, var(--green) 18%, var(--st-background-color))}
.done .box {stroke: var(--st-text-color); stroke-width: 2; stroke-dasharray: none}
.now .box {fill: var(--now); stroke-width: 3}
.constant .box, .edge .box {fill: transparent; stroke: none}
.edge path {fill: none; stroke: var(--faint); stroke-width: 1.2}
.edge .head {fill: var(--faint)}
.edge .passed {font-weight: 600; fill: color-mix(in srgb, var(--orange) 75%, var(--st-text-color))}
.edge.now path {stroke: var(--orange); stroke-width: 3}
.edge.now .head {fill: var(--orange)}
.edge.now .box {fill: var(--now)}
.edge.now .passed {fill: var(--st-text-color)}
.edge .remark {font-size: 11px}
g.lit > .box {stroke: var(--blue); stroke-width: 3; stroke-dasharray: none}
g.lit > path {stroke: var(--blue); stroke-width: 3}
.node, .edge {cursor: default}
.local {display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: .5rem 2rem; min-height: 8.5rem}
.local > div {min-width: 0}
ul {list-style: none; margin: .3rem 0; padding: 0}
li {padding: .15rem .5rem; margin-bottom: 2px; border-radius: .3rem; font-variant-numeric: tabular-nums; font-size: .9rem}
pre {
  font: .8rem/1.5 var(--st-code-font); background: var(--st-secondary-background-color); border-radius: .5rem; margin: .3rem 0;
  padding: .5rem .8rem; overflow-x: auto;
}
pre span {display: block; min-height: 1.5em; border-radius: .2rem}
li.lit, pre .lit {background: var(--lit)}
.where {font-size: .82rem}
"""

_graph: Any = figure("graph", _HTML, _STYLE, Path(__file__).with_name("graph.js"))
