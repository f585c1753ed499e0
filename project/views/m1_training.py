"""Module 1: train a network of Scalars and watch its boundary move."""

import streamlit as st

from project.lab.guard import task_guard

st.title("Training")
st.write("A network of Scalars learns to tell two kinds of points apart. Each epoch is one step down the mean gradient of all points.")

with task_guard():
    from project.lab.training import page as training_page
    from project.lab.training.scalar_trainer import ScalarTrainer
    from project.run_scalar import SETTING, Network

training_page.show(SETTING, lambda setting: ScalarTrainer(setting, Network))
