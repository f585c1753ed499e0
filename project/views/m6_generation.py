"""Module 6: the probabilities of the next token as bars that move with temperature, top_k and top_p, and samples of them."""

import streamlit as st

from project.lab import task_source
from project.lab.charts import drawing
from project.lab.guard import task_guard
from project.lab.widgets.fields import whole_number

COUNT = 500

with task_guard():
    from project.lab.explorers import language_generation

WORDS = language_generation.WORDS

st.title("The next token")
st.write(
    "A model gives each token a logit. Temperature, top_k and top_p, in this order, turn logits into probabilities, and a random number "
    "draws a token."
)
with st.container(horizontal=True, vertical_alignment="bottom"):
    temperature = st.slider("Temperature", 0.0, 3.0, 1.0, 0.1, key="generate_temperature", bind="query-params", width=240)
    top_k = st.slider("top_k", 1, len(WORDS), len(WORDS), key="generate_top_k", bind="query-params", width=240)
    top_p = st.slider("top_p", 0.05, 1.0, 1.0, 0.05, key="generate_top_p", bind="query-params", width=240)
    seed = whole_number("Seed", "generate_seed", 0, 0, 10_000)

with task_guard():
    plain = language_generation.probabilities(language_generation.LOGITS, 1.0, None, None)
    chance = language_generation.probabilities(language_generation.LOGITS, temperature, top_k, top_p)
drawing.draw(language_generation.bars(plain, chance), "generate_bars")

with task_guard(stop=False):
    drawn = language_generation.frequencies(chance, COUNT, seed)
    st.table(
        [{"token": w, "probability": f"{c:.3f}", f"of {COUNT} samples": f"{d:.3f}"} for w, c, d in zip(WORDS, chance, drawn, strict=True)]
    )
kept = int((chance > 0).sum())
st.caption(
    f"{kept} of {len(WORDS)} tokens are kept. A frequency is within 5 · √(p · (1 - p) / {COUNT}) of its probability p, nearly always."
)
task_source.show_task("6.6")
