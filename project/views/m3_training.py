"""Module 3: train a wide network on a compiled backend and watch its boundary move."""

import streamlit as st

from project.lab import kernels
from project.lab.guard import task_guard

st.title("Fast training")
st.write(
    "The network of Module 2 with matrix products, on a compiled backend. Every ten points are a step, in an order that is drawn anew for "
    "each epoch; the loss is the mean over the points of the epoch."
)

with task_guard():
    from project.lab.training import page as training_page
    from project.lab.training.fast_trainer import FastSetting, FastTrainer
    from project.run_fast_tensor import SETTING, Network

    kernels.check()


def compiled_trainer(setting: FastSetting) -> FastTrainer:
    """A trainer whose kernels are there, so that the first click trains; while they are compiled, the page says so.

    The boundary has more points than a batch, for which there are other kernels. If its first picture compiled them, the page would take
    drawing for slow and leave the picture as it is for half a minute.
    """
    trainer = FastTrainer(setting, Network)
    with st.spinner("The kernels are being compiled, which may take half a minute …"):
        trainer.compile()
        trainer.grid(training_page.CELLS)
    return trainer


training_page.show(SETTING, compiled_trainer)
