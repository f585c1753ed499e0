"""Stepping through a sequence of pictures: Back, Forward, a slider, and Play where it is wanted."""

from __future__ import annotations

import time

import streamlit as st

PACE = 0.9
"""Seconds between two pictures while it plays."""

state = st.session_state


def player(last: int, key: str, label: str, *, plays: bool = False) -> int:
    """The number of the picture to show.

    Args:
        last: The number of the last one; the first is 0.
        key: Where the number stands in the session's state; a page may set it before this call.
        label: Stands above the slider.
        plays: Whether there are also Play and Pause. While it plays, every run of the page goes one picture on.
    """
    playing = f"{key}_playing"
    runs = bool(state.get(playing))
    state[key] = min(max(state.get(key, 0) + runs, 0), last)
    state[playing] = runs = runs and state[key] < last
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Back", on_click=_go, args=(key, state[key] - 1), disabled=state[key] == 0, icon=":material/arrow_back:", key="back")
        st.button(
            "Forward",
            on_click=_go,
            args=(key, state[key] + 1),
            disabled=state[key] == last,
            icon=":material/arrow_forward:",
            type="primary",
            key="forward",
        )
        if plays:
            st.button("Play", on_click=_play, args=(key, last), disabled=runs or not last, icon=":material/play_arrow:", key="play")
            st.button("Pause", on_click=_pause, args=(key,), disabled=not runs, icon=":material/pause:", key="pause")
        if last:  # Streamlit has no slider of one place
            st.slider(label, 0, last, key=key, width=400)
    if runs:
        _clock(time.monotonic())
    return state[key]


def _go(key: str, number: int) -> None:
    """To another picture."""
    _pause(key)
    state[key] = number


def _play(key: str, last: int) -> None:
    """Begin to play; at the end, from the first picture."""
    state[key] = -1 if state[key] == last else state[key]
    state[f"{key}_playing"] = True


def _pause(key: str) -> None:
    """Stop playing."""
    state[f"{key}_playing"] = False


@st.fragment(run_every=PACE)
def _clock(shown: float) -> None:
    """Run the page again when it is time for the next picture."""
    if time.monotonic() - shown > PACE / 2:  # else this is the run of the page itself
        st.rerun()
