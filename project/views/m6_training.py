"""Module 6: the schedule of a training, its clipped gradients, and its loss with warm-up and without."""

import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing, plots
from project.lab.guard import task_guard
from project.lab.typed.arrays import figure
from project.lab.widgets.fields import whole_number

with task_guard():
    from project.lab.explorers import language_training

STEPS, Schedule = language_training.STEPS, language_training.student.Schedule

st.title("Training at scale")
st.write(
    "A rate that is right in the middle of a training may be too large at its beginning. The model learns the letters from a to h, again "
    "and again: with the schedule below, and with the same one without warm-up."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    warmup = st.slider("Steps of warm-up", 0, 30, 15, key="train_warmup", bind="query-params", width=240)
    largest = st.slider("Largest rate", 0.02, 0.6, 0.3, 0.02, key="train_rate", bind="query-params", width=240)
    limit = st.slider("Largest norm", 0.5, 13.0, 1.0, 0.5, key="train_norm", bind="query-params", width=240)
    seed = whole_number("Seed", "train_seed", 0, 0, 10_000)

st.subheader("The schedule")
schedule = Schedule(STEPS, warmup, largest, largest / 10)
with task_guard(stop=False):
    rates = language_training.rates(schedule)
    drawing.draw(plots.curves({"rate": rates}, "The learning rate of each step.", "step", "rate"), "train_rates")

st.subheader("Clipped gradients")
with task_guard(stop=False):
    norm, clipped = language_training.clip(limit)
    before, after = language_training.GRADIENTS, clipped
    rows = [("first parameter", before[0], after[0]), ("second parameter", before[1], after[1])]
    table = [
        {"gradient of": name, "before": str(a.reshape(-1).tolist()), "after": str(b.round(3).reshape(-1).tolist())} for name, a, b in rows
    ]
    st.table([*table, {"gradient of": "norm of both", "before": figure(norm), "after": figure(language_training.norm_of(after))}])

st.subheader("Training")
with task_guard(stop=False):
    runs = {
        f"warm-up of {warmup}": language_training.train(schedule, limit, seed),
        "no warm-up": language_training.train(schedule._replace(warmup=0), limit, seed),
    }
    losses = {name: language_training.curve(reports, "loss") for name, reports in runs.items()}
    norms = {name: language_training.curve(reports, "norm") for name, reports in runs.items()}
    norms["largest norm"] = [(1.0, limit), (float(STEPS), limit)]
    with st.container(horizontal=True):
        drawing.draw(plots.curves(losses, "The loss before each step.", "step", "loss"), "train_losses")
        drawing.draw(plots.curves(norms, "The norm of the gradients before they were clipped.", "step", "norm"), "train_norms")
    ends = ", ".join(f"{figure(pairs[-1][1])} with {name}" for name, pairs in losses.items())
    st.caption(f"The last loss is {ends}. Whatever is above the largest norm was scaled down to it.")
task_source.show_task("6.7")
