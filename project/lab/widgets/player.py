"""Controls that step through a sequence of frames: Back, Forward, a slider, and optionally Play."""

from __future__ import annotations

import time

import streamlit as st

from project.lab.widgets.fields import restrict

PACE = 0.9
"""Seconds between two frames while it plays."""

state = st.session_state


def player(last: int, key: str, label: str, first: int = 0, *, plays: bool = False) -> int:
    """Show the controls and return the number of the current frame.

    Args:
        last: The number of the last frame; that of the first one is 0.
        key: The name of the number in the session state and in the URL; a page may set it before this call.
        label: The label of the slider.
        first: The number of the frame that the page opens with.
        plays: Whether to show Play and Pause. While playing, every run of the page advances by one frame.
    """
    playing = f"{key}_playing"
    runs = bool(state.get(playing))
    first = min(first, last)
    state[key] = min(max(int(restrict(key, first, -1, last)) + runs, 0), last)  # -1 before the first frame of a repetition
    state[playing] = runs = runs and state[key] < last
    with st.container(horizontal=True, vertical_alignment="bottom"):
        buttons = st.container(horizontal=True, width="content")
        if last:  # a slider needs two values; st.slider would forget its own when its range changes
            st.select_slider(label, range(last + 1), first, key=key, bind="query-params", width=360)
    number = state[key]
    with buttons:
        st.button("Back", on_click=_go, args=(key, number - 1), disabled=number == 0, icon=":material/arrow_back:", key="back")
        icon = ":material/arrow_forward:"
        st.button("Forward", on_click=_go, args=(key, number + 1), disabled=number == last, icon=icon, type="primary", key="forward")
        if plays:
            st.button("Play", on_click=_play, args=(key, last), disabled=runs or not last, icon=":material/play_arrow:", key="play")
            st.button("Pause", on_click=_pause, args=(key,), disabled=not runs, icon=":material/pause:", key="pause")
    if runs:
        _clock(time.monotonic())
    return number


def _go(key: str, number: int) -> None:
    """Go to another frame."""
    _pause(key)
    state[key] = number


def _play(key: str, last: int) -> None:
    """Start playing; at the end, restart at the first frame."""
    state[key] = -1 if state[key] == last else state[key]
    state[f"{key}_playing"] = True


def _pause(key: str) -> None:
    """Stop playing."""
    state[f"{key}_playing"] = False


@st.fragment(run_every=PACE)
def _clock(shown: float) -> None:
    """Rerun the page when it is time for the next frame."""
    if time.monotonic() - shown > PACE / 2:  # otherwise this is the run of the page itself
        st.rerun()
