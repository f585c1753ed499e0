"""A field for an integer whose range may change while the page is open."""

import streamlit as st


def whole_number(label: str, key: str, given: int, least: int, most: int) -> int:
    """Show a field for an integer and return its value, which stays in range when the range changes.

    Args:
        label: The label of the field.
        key: Its name in the session state and in the URL.
        given: The initial value.
        least: The smallest value.
        most: The largest value.
    """
    kept = st.session_state.get(key, given)
    # Streamlit replaces a value out of range by the default, and omits the default from the URL.
    default = min(max(given if least <= kept <= most else kept, least), most)
    return int(st.number_input(label, least, most, default, key=key, bind="query-params", width=135))
