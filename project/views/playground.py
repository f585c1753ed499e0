"""The playground: a network that is built, changed while it trains, and drawn unit by unit."""

import streamlit as st

from project.lab.guard import task_guard

bar = st.container(horizontal=True, vertical_alignment="center", key="pg_bar")
bar.title("Playground", anchor=False, width="content")

with task_guard():
    from project.lab.playground import page

page.show(bar)
