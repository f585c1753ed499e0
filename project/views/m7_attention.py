"""Module 7: a small GPT: what each head attends to, which character it expects next, and the text that it generates."""

from pathlib import Path

import streamlit as st

from project.lab.cards import plain
from project.lab.charts import cells
from project.lab.charts.drawing import draw
from project.lab.guard import refuse, task_guard
from project.lab.training.jobs import Failed
from project.lab.typed.source import Refused
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

TICK = 0.5  # seconds between updates while training
COUNT = 80  # characters to generate
TEMPERATURES = (0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 5.0)
SOURCES = ("train a small one", "load a checkpoint")
state = st.session_state

st.title("Attention")
st.write(
    "A GPT reads a text and predicts the next character. In each layer, each head lets every character (the query) look at the characters "
    "up to itself (the keys): the attention weights say how much it takes from each. They are positive and sum to 1. What comes after the "
    "query is masked, because that is what the model learns to predict."
)
with task_guard():
    from project.lab.explorers import attention, attention_training
    from project.lab.training.checkpoint import CheckpointError
    from project.lab.training.text_trainer import Setting


# Training


def start(setting: Setting, text: str) -> None:
    """Start a new run. After training on another text, the page begins with characters of that text."""
    stop()
    if "attention_run" in state and state.attention_run.text != text:
        state.attention_text = attention_training.BEGINNINGS[text]
    with task_guard(stop=False):
        state.attention_run = attention_training.Training(setting, text)


def stop() -> None:
    """Stop training and keep the last checkpoint."""
    run = state.get("attention_run")
    if run is not None:
        with task_guard(stop=False):
            run.stop()


def read_setting() -> tuple[Setting, str]:
    """Show the settings, and return them with the name of the text."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = "Repeated words are learned in seconds. The course's book takes far longer."
        text = st.selectbox("Text", attention_training.TEXTS, key="attention_corpus", bind="query-params", width=200, help=help)
        steps = whole_number("Steps", "attention_steps", 300, 20, 5000)
        layers = whole_number("Layers", "attention_layers", 2, 1, 4)
        help = "The number of heads in each layer; they attend independently."
        heads = st.selectbox("Heads", (1, 2, 4), 1, key="attention_heads", bind="query-params", width=110, help=help)
        seed = whole_number("Seed of the weights", "attention_seed", 0, 0, 10_000)
    return Setting(steps=steps, batch=32, context=24, layers=layers, heads=heads, width=48, rate=5e-3, seed=seed), text


def train_section() -> Path | None:
    """Show the settings, the buttons and the progress of training; return the checkpoint, if there is one."""
    setting, text = read_setting()
    run = state.get("attention_run")
    state.attention_running = run is not None and run.running
    state.attention_kept = run is not None and run.checkpoint.exists()
    running = state.attention_running
    with st.container(horizontal=True):
        st.button(
            "Start",
            on_click=start,
            args=(setting, text),
            disabled=running,
            icon=":material/play_arrow:",
            type="primary",
            key="attention_start",
            help="Train a new model in a separate process",
        )
        st.button(
            "Stop", on_click=stop, disabled=not running, icon=":material/stop:", key="attention_stop", help="Keeps what it has learned"
        )
    st.fragment(update, run_every=TICK if running else None)()
    return run.checkpoint if run is not None and state.attention_kept else None


def update() -> None:
    """Show the progress of the run."""
    run = state.get("attention_run")
    if run is None:
        st.info("Press **Start** to train a model. It takes about ten seconds.", icon=":material/model_training:")
        return
    was_running = state.attention_running
    try:
        with task_guard(stop=False):
            state.attention_running = False
            state.attention_running = run.read()
    except Failed as error:
        st.error("Training failed.", icon=":material/error:")
        st.code(str(error), language=None, wrap_lines=True)
    if state.attention_running != was_running or run.checkpoint.exists() != state.attention_kept:
        st.rerun()  # the buttons, and what is made from the checkpoint, are outside of this fragment
    if state.attention_running:
        st.progress(run.progress, run.status())
    if run.reports:
        with st.container(horizontal=True):
            with st.container(width="content"):
                draw(run.chart(), "attention_losses")
            st.caption(run.in_words(), width=320)


def load_section() -> Path | None:
    """Show the field for a file, and return it."""
    help = "Relative to the folder that contains minitorch/ and project/."
    text = st.text_input("File", key="attention_file", bind="query-params", help=help, placeholder="gpt.safetensors")
    st.caption("Made by this command:")
    st.code("python project/run_gpt.py --checkpoint gpt.safetensors", language="bash", wrap_lines=True)
    return attention.ROOT / text.strip() if text.strip() else None


# The model


def load(path: Path) -> attention.Loaded:
    """Return the model of a checkpoint, which is loaded again after the file has changed."""
    try:
        made_from = path, path.stat().st_mtime_ns if path.is_file() else 0, state.get("sources")
        if state.get("attention_loaded", ("",))[0] != made_from:
            state.attention_loaded = made_from, attention.load(path)
    except CheckpointError as error:
        refuse(str(error), "Enter the file of a checkpoint that run_gpt.py has written.")
    return state.attention_loaded[1]


def typed_text(loaded: attention.Loaded) -> str:
    """Show the field for the text, and return the text."""
    begin = attention_training.BEGINNINGS[state.get("attention_corpus") or "repeated words"]
    state.setdefault("attention_text", attention.known(loaded, begin))
    help = f"1 to {loaded.most} characters that occur in the text that the model was trained on."
    text = st.text_input("Your text", key="attention_text", bind="query-params", help=help, width=420)
    try:
        attention.encode(loaded, text)
    except Refused as refusal:
        shown = "".join(map(attention.symbol, loaded.characters))
        refuse(str(refusal), f"The characters are {shown}. A space is {attention.SYMBOLS[' ']}.")
    return text


def attention_section(path: Path, loaded: attention.Loaded) -> str:
    """Show the controls and the attention weights; return the text."""
    st.subheader("What each head attends to")
    text = typed_text(loaded)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        layer = whole_number("Layer", "attention_layer", len(loaded.model.blocks), 1, len(loaded.model.blocks))
        query = whole_number("Query", "attention_query", len(text) - 1, 0, len(text) - 1)
    st.caption("The query is a position in the text, counted from 0; its row is framed in the heat maps.")
    st.fragment(show_attention, run_every=2 if state.get("attention_running") else None)(path, text, layer, query)
    return text


def show_attention(path: Path, text: str, layer: int, query: int) -> None:
    """Show the attention weights of the latest checkpoint."""
    with task_guard(stop=False):
        loaded = load(path)
        weights = attention.forward(loaded.model, attention.encode(loaded, text)).weights[layer - 1]
        names = [f"Layer {layer}, head {head}" for head in range(1, len(weights) + 1)]
        with st.container(horizontal=True):
            for name, head in zip(names, weights, strict=True):
                draw(attention.heat_map(head, text, query, name), f"attention_{name}")
        st.caption(
            "One row per query, from top to bottom; one column per key, from left to right. Gray: masked, the query does not see what "
            "follows. Each row sums to 1. Point at a cell to read its weight."
        )
        rows = [attention.strip(head[query], text, query, name) for name, head in zip(names, weights, strict=True)]
        cells.draw([cells.stacked(rows)], "attention_strips", lambda: None)
        st.write(plain(f"After {loaded.step} steps, layer {layer}. {attention.in_words(weights, text, query)}"))


def generate_section(path: Path, loaded: attention.Loaded, text: str) -> None:
    """Show how the model continues the text, character by character."""
    st.subheader("The next character")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = "Divides the logits. 0: always the most likely character."
        temperature = st.select_slider(
            "Temperature", TEMPERATURES, 0.8, key="attention_temperature", bind="query-params", width=280, help=help
        )
        seed = whole_number("Seed of the samples", "attention_samples", 0, 0, 10_000)
    made_from = state.attention_loaded[0], text, temperature, seed
    if state.get("attention_generated", ("",))[0] != made_from:
        state.attention_generated = made_from, attention.generate(loaded, text, COUNT, temperature, seed)
    generated = state.attention_generated[1]
    st.write(f"Generate {COUNT} characters, one after the other. Each is sampled from the probabilities after all characters before it.")
    number = player(COUNT, "attention_step", "Generated characters", plays=True)
    st.code(text + "▏" + generated[:number], language=None, wrap_lines=True)
    known = (text + generated[:number])[-loaded.model.context :]
    logits = attention.forward(loaded.model, [loaded.characters.index(character) for character in known]).logits[-1]
    shares = attention.probabilities(logits, temperature)
    chosen = generated[number] if number < COUNT else ""
    draw(attention.bars(shares, loaded.characters, chosen), "attention_bars")
    st.write(plain(attention.next_in_words(shares, loaded.characters)))
    if chosen:
        st.caption(plain(f"Sampled with seed {seed}: '{attention.symbol(chosen)}'."))


with task_guard():
    source = st.segmented_control("Model", SOURCES, default=SOURCES[0], required=True, key="attention_source", bind="query-params")
    path = load_section() if source == SOURCES[1] else train_section()
    if path is not None:
        loaded = load(path)
        generate_section(path, loaded, attention_section(path, loaded))
