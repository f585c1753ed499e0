"""Charts on a page, in the size of their specification and with the colors of the theme."""

from typing import Any

import streamlit as st


def draw(spec: dict[str, Any], key: str) -> None:
    """Show a Vega-Lite specification.

    Args:
        spec: Its width and height are those of the plot without axes; at most 320 pixels wide, to fit a phone.
        key: Keeps the chart in place while its data change.
    """
    # By default, Streamlit fits the axes into the width, which leaves seams between the cells of a heat map.
    st.vega_lite_chart({"autosize": {"type": "pad", "contains": "padding"}, **spec}, width="content", key=key)
