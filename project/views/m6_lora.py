"""Module 6: a network learns another text with adapters of any rank, or in full: what is trained, the loss, and the change of a weight."""

import copy

import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing, grids, plots
from project.lab.guard import task_guard
from project.lab.typed.arrays import figure
from project.lab.widgets.fields import whole_number

STEPS, RATE = 40, 0.05

with task_guard():
    from project.lab.explorers import language_lora

st.title("Low-rank adapters")
st.write(
    f"A network of two linear layers predicts the next word from two. It has learned *{language_lora.OLD}* Now its weights are "
    f"frozen, and adapters learn *{language_lora.NEW}*"
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    rank = st.slider("Rank", 1, 6, 1, key="lora_rank", bind="query-params", width=240)
    alpha = whole_number("alpha", "lora_alpha", 4, 1, 16)
    seed = whole_number("Seed", "lora_seed", 0, 0, 10_000)
with task_guard():
    base = language_lora.NextWord(seed)
    language_lora.learn(base, language_lora.OLD, STEPS, RATE)
    full = copy.deepcopy(base)
    losses = language_lora.learn(full, language_lora.NEW, STEPS, RATE)
    adapted, adapted_losses = language_lora.adapt(base, rank, float(alpha), STEPS, RATE, seed)

st.subheader("What is trained")
counts = {"all weights": language_lora.trained(full), f"adapters of rank {rank}": language_lora.trained(adapted)}
st.table([{"trained": name, "numbers": f"{n:,}", "bytes": f"{n * language_lora.BYTES:,}"} for name, n in counts.items()])
st.caption("An adapter has rank · (in_size + out_size) numbers. In a layer as small as these, that may be more than the weight itself has.")
curves = {"all weights": losses, f"adapters of rank {rank}": adapted_losses}
drawing.draw(plots.curves(curves, f"The loss of {STEPS} steps on the new text.", "step"), "lora_losses")
st.caption(
    f"Both begin at {figure(losses[0][1])}; all weights end at {figure(losses[-1][1])}, adapters at {figure(adapted_losses[-1][1])}. Less "
    "than ln 2 / 4 = 0.173 is impossible: of eight predictions, two are between *cat* and *dog*, which follow the same words."
)

st.subheader("The text")
on = st.toggle("Adapters", True, key="lora_on", bind="query-params")
with task_guard(stop=False):
    words = [language_lora.continued(adapted if on else base, ("the", animal), 1) for animal in ("cat", "dog")]
    st.write(f"The most likely continuations {'with' if on else 'without'} adapters: *{' '.join(words[0])}* and *{' '.join(words[1])}*.")

st.subheader("The change of a weight")
with task_guard(stop=False):
    merged, changes = language_lora.merge(adapted)
    layer = adapted.second
    parts = {"A": layer.A.value.to_numpy(), "B": layer.B.value.to_numpy(), "delta of the second layer": changes["second"]}
    st.html(grids.side_by_side([grids.grid(values, name) for name, values in parts.items()]))
    st.caption(
        f"The columns of delta are the words *{' '.join(language_lora.WORDS)}*. "
        f"Every row of delta is a {'sum of multiples of the columns' if rank > 1 else 'multiple of the column'} "
        f"of B. Merged into the weight, it gives the same outputs without an adapter."
    )
task_source.show_task("6.9")
