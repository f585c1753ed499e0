"""The playground: a network that is built, changed while it trains, and drawn unit by unit."""

import streamlit as st

from project.lab.guard import task_guard

st.title("Playground")

with task_guard():
    from project.lab.playground import page

page.show()
