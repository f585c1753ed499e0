"""Fields for numbers whose values stay in range, even if the range changes while the page is open or the URL has another number."""

import math
from typing import Any, TypeVar

import streamlit as st

Initial = TypeVar("Initial", bound=float | None)


def restrict(key: str, given: Initial, low: float, high: float) -> Initial | float:
    """Bring the value of a field into its range before the field is shown, and return it.

    A number in the URL is replaced there, and the page runs again: a field for integers would fail with an infinite one, such as 1e400.

    Args:
        key: The name of the field in the session state and in the URL, which counts until the field is shown.
        given: The initial value; None for an empty field.
        low: The smallest value.
        high: The largest value.
    """
    state, address = st.session_state, st.query_params
    from_address = key not in state and key in address
    try:
        value = float(address[key] if from_address else state.get(key, given))
    except (TypeError, ValueError):
        value = math.nan
    value = given if math.isnan(value) else value  # Streamlit ignores what is no number, too
    if value is None or low <= value <= high:
        return value
    state[key] = allowed = min(max(value, low), high)
    if from_address:
        address[key] = str(allowed)
        st.rerun()
    return allowed


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
