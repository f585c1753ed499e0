"""A field for a whole number whose range may change while the page is open."""

import streamlit as st


def whole_number(label: str, key: str, given: int, least: int, most: int) -> int:
    """A number that stays in its range when the range changes.

    Args:
        label: Stands above it.
        key: Its name in the session's state and in the address.
        given: The number at the start.
        least: The smallest.
        most: The largest.
    """
    kept = st.session_state.get(key, given)
    # What is out of range Streamlit replaces by the default; what is the default it leaves out of the address.
    default = min(max(given if least <= kept <= most else kept, least), most)
    value = "min" if default == least else default  # a default in figures would be in the way of a page that sets the number itself
    return int(st.number_input(label, least, most, value, key=key, bind="query-params", width=135))
