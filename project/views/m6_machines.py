"""Module 6: a ring all-reduce, with which several processes sum their gradients, and a pipeline of micro-batches."""

import numpy as np
import streamlit as st

from project.lab import task_source
from project.lab.charts import cells, ring_figure
from project.lab.guard import task_guard
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

with task_guard():
    from project.lab.explorers import language_machines as machines

NETWORKS = {  # links between machines: seconds of an empty message, bytes per second
    "within a machine": (1e-6, 10e9),
    "Ethernet, 1 Gbit/s": (50e-6, 0.125e9),
    "Ethernet, 10 Gbit/s": (30e-6, 1.25e9),
    "InfiniBand, 200 Gbit/s": (2e-6, 25e9),
}
MODELS = {  # bytes of the gradients in float32
    "a layer of 784 × 256: 0.8 MB": 784 * 256 * 4,
    "LeNet: 0.25 MB": 61_706 * 4,
    "ResNet-18: 47 MB": 11_689_512 * 4,
    "a small GPT: 0.5 GB": 124_000_000 * 4,
}

st.title("Several machines")
st.write(
    "In data-parallel training, each process computes gradients on a part of the batch. Before the optimizer's step, all of them need the "
    "sum. In a ring, every process sends to one neighbor only, all at the same time, and no process has to carry everything."
)
processes = whole_number("Processes", "ring_processes", 4, machines.FEWEST_PROCESSES, machines.MOST_PROCESSES)
number = player(2 * (processes - 1), "ring_step", "Steps", 1, plays=True)
with task_guard(stop=False):
    found = machines.moments(processes)
    st.info(machines.sentence(processes, number), icon=":material/sync_alt:")
    values = np.random.default_rng(0).integers(1, 10, (processes, processes)).tolist()
    drawn = ring_figure.circle(found[number], values, machines.sentence(processes, number))
    cells.draw([drawn, machines.panel(found[number], values)], "ring_picture", lambda: None)
    st.caption(
        "In the ring, an arrow is a chunk that is sent: + it is added, = it replaces. A bar is a chunk, as full as its sum; green: just "
        "received, dark blue: complete. In the table, large: the sum so far. Small: the processes whose numbers are in it. Blue: sent in "
        "this step. Green: received. Shaded: complete. Hover over a cell to highlight its chunk in all processes."
    )
    st.write(f"Each process has sent {number} of {processes} chunks so far: {number / processes:.2f} times the size of its gradients.")
st.subheader("What it costs")
with st.container(horizontal=True, vertical_alignment="bottom"):
    network = st.selectbox("Network", list(NETWORKS), 2, key="ring_network", bind="query-params", width=230)
    model = st.selectbox("Gradients of", list(MODELS), 2, key="ring_model", bind="query-params", width=260)
    count = st.select_slider(
        "Number of processes", [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], 8, key="ring_count", bind="query-params", width=300
    )
latency, bandwidth = NETWORKS[network]
rows = [
    {
        "algorithm": cost.name,
        "messages in a row": f"{cost.steps:,}",
        "busiest process moves": f"{cost.busiest / 1e6:,.1f} MB",
        "predicted time": f"{cost.seconds * 1e3:,.2f} ms",
    }
    for cost in machines.costs(count, MODELS[model], latency, bandwidth)
]
st.table(rows, width="content")
st.caption(
    f"The model: a message takes {latency * 1e6:g} µs, and {1e9 / bandwidth:.3g} ns per byte. The ring sends the fewest bytes, however "
    "many processes there are, but needs the most messages in a row: for small gradients the tree wins. "
    "`python -m benchmarks.distributed` checks this model on this machine."
)

st.subheader("The pipeline")
st.write(
    "If a model is too large for one machine, each holds a stage of it. A batch is cut into micro-batches, so that the stages compute at "
    "the same time: first all micro-batches go forward, then their gradients go backward."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    stages = whole_number("Stages", "pipe_stages", 3, 1, 8)
    micro_batches = whole_number("Micro-batches", "pipe_micro_batches", 4, 1, 12)
with task_guard(stop=False):
    waves = machines.waves(micro_batches, stages)
    cells.draw([machines.pipeline(waves, stages)], "pipe_picture", lambda: None)
    st.caption(
        f"The number in a cell is that of the micro-batch; shaded: backward. Each way takes {len(waves)} waves, and a stage is idle for "
        f"{machines.idle_share(micro_batches, stages):.0%} of the time. Hover over a cell to highlight its micro-batch."
    )
task_source.show_task("6.10")
