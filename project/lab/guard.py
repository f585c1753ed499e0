"""The guard around student code: an error or an endless loop becomes a card on the page.

Every call of student code, imports included, runs inside `with task_guard():`. Errors of the app itself propagate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

import streamlit as st

from project.lab import time_limit
from project.lab.cards import Card, explain, is_student, plain
from project.lab.time_limit import TimeLimitExceeded


@contextmanager
def task_guard(stop: bool = True) -> Iterator[None]:
    """Show an error of student code as a card, and stop calls that do not return.

    Args:
        stop: Whether an error ends the page (or the fragment). If False, the page continues after the `with` block.
    """
    try:
        with limited():
            yield
    except (Exception, TimeLimitExceeded) as error:
        card = explain(error)
        if card is None:
            raise
        show(card)
        if stop:
            st.stop()


def limited() -> AbstractContextManager[None]:
    """Limit the time of each call of student code without showing a card; raises TimeLimitExceeded. `task_guard` includes it."""
    return time_limit.time_limit(is_student)


def show(card: Card) -> None:
    """Show a card on the page."""
    place = st.info if card.todo else st.error
    place(f"**{plain(card.title)}**\n\n{card.body}", icon=":material/edit_note:" if card.todo else ":material/error:")


def refuse(message: str, remedy: str) -> NoReturn:
    """Show why an input is not accepted and what to enter instead, and end the page."""
    st.error(plain(message), icon=":material/block:")
    st.caption(plain(remedy))
    st.stop()
