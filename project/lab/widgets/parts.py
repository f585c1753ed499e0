"""The parts of a page, of which one is shown."""

from collections.abc import Callable

import streamlit as st

from project.lab import registry


def show_one(**parts: Callable[[], None]) -> None:
    """Show one part of a page, below a switch if this workspace has several of them; the settings of the others are kept.

    Args:
        parts: The functions that show the parts, by the names of the parts in the registry; the first one is shown first.
    """
    rows = registry.present([registry.view(name) for name in parts])
    ((key, first),) = rows[0].query.items()
    if st.query_params.get(key) == first:  # of a link; Streamlit would prefer what was shown before to a default in the URL
        st.session_state[key] = first
    names = {row.query[key]: row.name for row in rows}
    shown = first
    if len(names) > 1:
        hidden = "collapsed"
        shown = st.segmented_control("Part", names, default=first, required=True, key=key, bind="query-params", label_visibility=hidden)
    parts[names[shown]]()
