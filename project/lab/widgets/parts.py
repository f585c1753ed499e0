"""The parts of a page as tabs, of which only the open one runs."""

from collections.abc import Callable

import streamlit as st

from project.lab import registry


def tabs(**parts: Callable[[], None]) -> None:
    """Show the open part of a page below a tab for each part that this workspace has; the settings of the others are kept.

    Args:
        parts: The functions that show the parts, by the names of the parts in the registry.
    """
    rows = registry.present([registry.view(name) for name in parts])
    if len(rows) == 1:
        parts[rows[0].name]()
        return
    (key,) = rows[0].query
    first = rows[0].query[key]
    if st.query_params.get(key) == first:  # of a link; Streamlit would prefer what was open before to a default in the URL
        st.session_state[key] = first
    for tab, row in zip(st.tabs([row.query[key] for row in rows], key=key, bind="query-params"), rows, strict=True):
        if tab.open:
            with tab:
                parts[row.name]()
