"""Modules 1 to 3: train a network of Scalars, of Tensors, or on a compiled backend, and watch its decision boundary move."""

import streamlit as st

from project.lab import kernels
from project.lab.guard import task_guard
from project.lab.widgets.parts import show_one

st.title("Training")


def scalars() -> None:
    """Train the network of Module 1."""
    st.write("A network of Scalars separates two classes of points. Each epoch is one step of gradient descent on the whole data set.")
    with task_guard():
        from project.lab.training import page
        from project.lab.training.scalar_trainer import ScalarTrainer
        from project.run_scalar import SETTING, Network

    page.show(SETTING, lambda setting: ScalarTrainer(setting, Network))


def tensors() -> None:
    """Train the network of Module 2."""
    st.write(
        "The network of Module 1, built from Tensors. It processes all points at once, as one tensor of shape (points, 2). "
        "Each epoch is one forward pass, one backward pass and one step of gradient descent."
    )
    with task_guard():
        from project.lab.training import page
        from project.lab.training.tensor_trainer import TensorTrainer
        from project.run_tensor import SETTING, Network

    page.show(SETTING, lambda setting: TensorTrainer(setting, Network))


def fast() -> None:
    """Train the network of Module 3, whose kernels are compiled first, so that training starts at once when the student presses Start.

    The grid of the decision boundary is larger than a batch and uses other kernels. They are compiled as well; otherwise the page would
    take the first drawing for slow and not update the picture for half a minute.
    """
    st.write(
        "The network of Module 2 with matrix products, on a compiled backend. It is trained in mini-batches of ten points, reshuffled in "
        "every epoch; the loss is the mean over all points."
    )
    with task_guard():
        from project.lab.training import page
        from project.lab.training.fast_trainer import FastSetting, FastTrainer
        from project.run_fast_tensor import SETTING, Network

        kernels.check()

    def compiled(setting: FastSetting) -> FastTrainer:
        trainer = FastTrainer(setting, Network)
        with st.spinner("Compiling the kernels. This may take half a minute …"):
            trainer.compile()
            trainer.grid(page.CELLS)
        return trainer

    page.show(SETTING, compiled)


show_one(m1_training=scalars, m2_training=tensors, m3_training=fast)
