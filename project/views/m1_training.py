"""Module 1: train a network of Scalars and watch its decision boundary move."""

import streamlit as st

from project.lab.guard import task_guard

st.title("Training")
st.write("Train a network of Scalars to separate two classes of points. Each epoch is one step of gradient descent on the whole data set.")

with task_guard():
    from project.lab.training import page as training_page
    from project.lab.training.scalar_trainer import ScalarTrainer
    from project.run_scalar import SETTING, Network

training_page.show(SETTING, lambda setting: ScalarTrainer(setting, Network))
