"""Module 2: train a network of Tensors and watch its decision boundary move."""

import streamlit as st

from project.lab.guard import task_guard

st.title("Tensor training")
st.write(
    "The network of Module 1, built from Tensors. It processes all points at once, as one tensor of shape (points, 2). "
    "Each epoch is one forward pass, one backward pass and one step of gradient descent."
)

with task_guard():
    from project.lab.training import page as training_page
    from project.lab.training.tensor_trainer import TensorTrainer
    from project.run_tensor import SETTING, Network

training_page.show(SETTING, lambda setting: TensorTrainer(setting, Network))
