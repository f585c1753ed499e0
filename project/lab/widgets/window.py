"""The window of a convolution, moved over the image by hovering, by dragging a finger, or by pointing at an element of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from project.lab.charts.cells import BEHAVIOUR, STYLE
from project.lab.widgets.figure import figure


def moving_window(panels: Sequence[str], window: dict[str, Any], key: str, on_pick: Callable[[], None]) -> None:
    """Show the panels of a convolution; see `project.lab.explorers.convolution`.

    Args:
        panels: Image, weight and products, and result.
        window: What the browser needs to move the window by itself.
        key: Keeps the figure in place while it changes; `session_state[key].picked` is the element of the result that was clicked.
        on_pick: Called after a click on an element of the result, or on the image, which means the element that the window belongs to.
    """
    _window(key=key, data=window | {"panels": "".join(panels)}, on_picked_change=on_pick)


_HTML = '<div class="picture"></div><pre class="terms"></pre>'

_STYLE = """
.terms {
  font: .82rem/1.5 var(--st-code-font); color: var(--st-text-color); background: var(--st-secondary-background-color); border-radius: 8px;
  margin: .8rem 0 0; padding: .5rem .8rem; white-space: pre-wrap; overflow-wrap: anywhere;
}
.chosen {outline: 3px solid var(--green); outline-offset: 1px}
section:first-child .grid {touch-action: pan-y; cursor: crosshair}
"""

_window: Any = figure("window", _HTML, STYLE + _STYLE, Path(__file__).with_name("window.js"), before=BEHAVIOUR)
