"""Module 3: train a wide network on a compiled backend and watch its decision boundary move."""

import streamlit as st

from project.lab import kernels
from project.lab.guard import task_guard

st.title("Fast training")
st.write(
    "The network of Module 2 with matrix products, on a compiled backend. It is trained in mini-batches of ten points, reshuffled in "
    "every epoch; the loss is the mean over all points."
)

with task_guard():
    from project.lab.training import page as training_page
    from project.lab.training.fast_trainer import FastSetting, FastTrainer
    from project.run_fast_tensor import SETTING, Network

    kernels.check()


def compiled_trainer(setting: FastSetting) -> FastTrainer:
    """Return a trainer whose kernels are compiled, so that training starts at once when the student presses Start.

    The grid of the decision boundary is larger than a batch and uses other kernels. They are compiled here as well; otherwise the
    page would take the first drawing for slow and not update the picture for half a minute.
    """
    trainer = FastTrainer(setting, Network)
    with st.spinner("Compiling the kernels. This may take half a minute …"):
        trainer.compile()
        trainer.grid(training_page.CELLS)
    return trainer


training_page.show(SETTING, compiled_trainer)
