"""Fields for numbers whose values stay in range, even if the range changes while the page is open or the URL has another number."""

import math
from typing import Any

import streamlit as st


def restrict(key: str, given: float, low: float, high: float) -> float:
    """Bring the value of a field into its range before the field is shown, and return it.

    Args:
        key: The name of the field in the session state and in the URL, which counts until the field is shown.
        given: The initial value.
        low: The smallest value.
        high: The largest value.
    """
    state = st.session_state
    try:
        value = float(state[key] if key in state else st.query_params.get(key, given))
    except ValueError:
        value = math.nan
    value = given if math.isnan(value) else value  # Streamlit ignores what is no number, too
    allowed = min(max(value, low), high)
    if allowed != value:
        state[key] = allowed
    remove_infinite(key)
    return allowed


def remove_infinite(key: str) -> None:
    """Remove a number that is infinite, such as 1e400, from the URL and run the page again: a field for integers would fail with it."""
    try:
        infinite = math.isinf(float(st.query_params.get(key, 0)))
    except ValueError:
        return
    if infinite:
        del st.query_params[key]
        st.rerun()


def whole_number(label: str, key: str, given: int, least: int, most: int, step: int = 1, **options: Any) -> int:
    """Show a field for an integer and return its value, which stays in range when the range changes.

    Args:
        label: The label of the field.
        key: Its name in the session state and in the URL.
        given: The initial value.
        least: The smallest value.
        most: The largest value.
        step: What its buttons add and subtract.
        options: More options of `st.number_input`.
    """
    restrict(key, given, least, most)
    # Streamlit replaces a value out of range by the default, and omits the default from the URL.
    default = min(max(given, least), most)
    value = "min" if default == least else default  # a numeric default would conflict with a page that sets the value itself
    return int(st.number_input(label, least, most, value, step, key=key, bind="query-params", **{"width": 135, **options}))
