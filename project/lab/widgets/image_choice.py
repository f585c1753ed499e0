"""The choice of an image: a picture of the app, a digit of the data set, one drawn on the pad, or typed numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from project.lab.explorers import pictures
from project.lab.guard import refuse, task_guard
from project.lab.typed.arrays import parse_array
from project.lab.typed.expressions import Refused
from project.lab.widgets import digit_pad
from project.lab.widgets.fields import whole_number

TYPED = {1: "[0, 1, 2, 3]", 2: "[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]"}
"""By the number of dimensions what stands in the field at first."""

state = st.session_state


def image(prefix: str, dims: int, most: int, first: str = "", row: Any = None) -> np.ndarray:
    """Fields for the choice, and what is chosen.

    Args:
        prefix: Begins the names in the session's state and in the address.
        dims: 1 for a line of numbers, 2 for an image.
        most: The most rows and columns.
        first: What is chosen at first, if it is not the first of the list.
        row: The row of fields to stand in; one of its own if left out.

    Returns:
        Channels, rows, columns; in one dimension one row.
    """
    names = [*pictures.PICTURES[dims], *((pictures.DIGIT, pictures.DRAW) if dims == 2 else ()), pictures.TYPED]
    with row or st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Image", names, names.index(first or names[0]), key=f"{prefix}_image_{dims}", bind="query-params", width=200)
        if name == pictures.DIGIT:
            return digit(whole_number("Number of the digit", f"{prefix}_digit", 0, 0, len(digits()[1]) - 1))
        if name == pictures.TYPED:
            return typed(prefix, dims, most)
    if name == pictures.DRAW:
        return drawn(f"{prefix}_pad")
    return pictures.PICTURES[dims][name]


def typed(prefix: str, dims: int, most: int) -> np.ndarray:
    """Numbers from a field."""
    key = f"{prefix}_typed_{dims}"
    state.setdefault(key, TYPED[dims])
    try:
        values = parse_array(st.text_input("Its numbers", key=key, bind="query-params", width=430), dims + 1, most, dims)
        if len(values) > pictures.MOST_CHANNELS:
            raise Refused(f"expected at most {pictures.MOST_CHANNELS} channels, got {len(values)}")
    except Refused as refusal:
        refuse(str(refusal), f"Type numbers such as {TYPED[dims]}, at most {most} in a row; one bracket more for several channels.")
    return values if dims == 2 else values[:, None]


def digit(number: int) -> np.ndarray:
    """A digit of the data set; its pixels are 0 to 16, as they were counted."""
    images, labels = digits()
    st.markdown(f":gray-badge[a {labels[number]}]")
    return images[number]


def digits() -> tuple[np.ndarray, np.ndarray]:
    """All digits of the data set with their labels, or the end of the page with a card."""
    with task_guard():
        from minitorch.data import Digits

        data = Digits()
        return np.rint(np.asarray(data.images, float) * pictures.DEPTH), np.asarray(data.labels)
    raise AssertionError("a card ends the page")


def drawn(key: str) -> np.ndarray:
    """What is drawn on the pad, made as the digits of the data set are."""
    strokes = digit_pad.pad(key)
    if not strokes:
        st.info("Draw a digit on the pad: it becomes an image of 8 by 8 pixels.", icon=":material/draw:")
        st.stop()
    return np.rint(digit_pad.small(strokes) * pictures.DEPTH)[None]
