"""Controls that select an image: an example, a digit of the data set, a drawing or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from project.lab.explorers import pictures
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import parse_array
from project.lab.typed.source import Refused
from project.lab.widgets import digit_pad
from project.lab.widgets.fields import whole_number

TYPED = {1: "[0, 1, 2, 3]", 2: "[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]"}
"""The initial value of the text field, by number of dimensions."""

state = st.session_state


def image(prefix: str, dims: int, most: int, first: str = "", row: Any = None) -> np.ndarray:
    """Show the controls and return the selected image.

    Args:
        prefix: The prefix of the names in the session state and in the URL.
        dims: 1 or 2.
        most: The largest number of rows and columns.
        first: The initial choice; by default the first one.
        row: The container of the controls; by default a new one.

    Returns:
        Shape (C, H, W); in one dimension, H = 1.
    """
    names = [*pictures.PICTURES[dims], *((pictures.DIGIT, pictures.DRAW) if dims == 2 else ()), pictures.TYPED]
    with row or st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Image", names, names.index(first or names[0]), key=f"{prefix}_image_{dims}", bind="query-params", width=200)
        if name == pictures.DIGIT:
            return digit(whole_number("Digit number", f"{prefix}_digit", 0, 0, len(digits()[1]) - 1))
        if name == pictures.TYPED:
            return read_numbers(prefix, dims, most)
    if name == pictures.DRAW:
        return read_drawing(f"{prefix}_pad")
    return pictures.PICTURES[dims][name]


def read_numbers(prefix: str, dims: int, most: int) -> np.ndarray:
    """Return the numbers in a text field. Invalid input ends the page with an error."""
    key = f"{prefix}_typed_{dims}"
    try:
        values = parse_array(st.text_input("Values", TYPED[dims], key=key, bind="query-params", width=430), dims + 1, most, dims)
        if len(values) > pictures.MOST_CHANNELS:
            raise Refused(f"expected at most {pictures.MOST_CHANNELS} channels, got {len(values)}")
    except Refused as refusal:
        refuse(str(refusal), f"Enter numbers such as {TYPED[dims]}, at most {most} in a row. Add a bracket level for several channels.")
    return values if dims == 2 else values[:, None]


def digit(number: int) -> np.ndarray:
    """Return a digit of the data set, with pixels from 0 to 16."""
    images, labels = digits()
    st.markdown(f":gray-badge[label {labels[number]}]")
    return images[number]


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Return all digits of the data set and their labels. An error ends the page with a card."""
    with task_guard():
        from minitorch.data import Digits

        data = Digits()
        return np.rint(np.asarray(data.images, float) * pictures.DEPTH), np.asarray(data.labels)
    raise AssertionError("a card ends the page")


def read_drawing(key: str) -> np.ndarray:
    """Return the drawing on the pad, converted like the digits of the data set."""
    strokes = digit_pad.pad(key)
    if not strokes:
        st.info("Draw a digit on the pad. It is converted to an image of 8 by 8 pixels.", icon=":material/draw:")
        st.stop()
    return np.rint(digit_pad.small(strokes) * pictures.DEPTH)[None]
