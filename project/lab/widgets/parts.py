"""The parts of a page as tabs, of which only the open one runs."""

from collections.abc import Callable, Mapping

import streamlit as st


def tabs(key: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Show the open part of a page below a tab for each part; the settings of the others are kept.

    Args:
        key: The name of the open part in the session state and in the URL.
        parts: The functions that show the parts, by the labels of their tabs. A single part has no tab.
    """
    if len(parts) == 1:
        (show,) = parts.values()
        show()
        return
    first = next(iter(parts))
    if st.query_params.get(key) == first:  # of a link; Streamlit would prefer what was open before to a default in the URL
        st.session_state[key] = first
    for tab, show in zip(st.tabs(list(parts), key=key, bind="query-params"), parts.values(), strict=True):
        if tab.open:
            with tab:
                show()
