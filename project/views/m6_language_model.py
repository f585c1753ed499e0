"""Module 6: a language model from text to the probability of the next token: tokens, attention, residual stream, cache and weights."""

from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from project.lab.cards import plain
from project.lab.charts import cells
from project.lab.charts.drawing import draw
from project.lab.guard import refuse, task_guard
from project.lab.training.jobs import Failed
from project.lab.typed.source import Refused
from project.lab.widgets.fields import whole_number
from project.lab.widgets.player import player

TICK = 0.5  # seconds between updates while training
TEMPERATURES = (0.0, 0.2, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 5.0)
TOP_K = (1, 2, 3, 5, 10, 20, 50, None)
SOURCES = ("stories", "train a small one", "load a checkpoint")
WEIGHTS = ("float32", "int8", "float32 and adapters", "int8 with merged adapters")
BEGINNING = "One day, Lily found a"
state = st.session_state

st.title("A language model")
st.write(
    "A language model reads a text as tokens and gives each token of its vocabulary a probability to come next. One of them is drawn and "
    "added to the text, and the model reads again. This page follows one prediction from the text to its number. It is computed by your "
    "functions of Module 6."
)
with task_guard():
    from minitorch.io.formats import FileFormatError
    from project.lab import language_model
    from project.lab.explorers import language_generation, language_model_pass, language_model_training
    from project.lab.explorers import language_model_charts as charts
    from project.lab.training import checkpoint
    from project.lab.training.checkpoint import CheckpointError
    from project.lab.training.text_trainer import Setting


# Training


def start(setting: Setting, text: str) -> None:
    """Start a new run. After training on another text, the page begins with some of that text."""
    stop()
    if "language_run" in state and state.language_run.text != text:
        state[f"language_text_{SOURCES.index('train a small one')}"] = language_model_training.BEGINNINGS[text]
    with task_guard(stop=False):
        state.language_run = language_model_training.Training(setting, text)


def stop() -> None:
    """Stop training and keep the last checkpoint."""
    run = state.get("language_run")
    if run is not None:
        with task_guard(stop=False):
            run.stop()


def read_setting() -> tuple[Setting, str]:
    """Show the settings, and return them with the name of the text."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = "Repeated words are learned in seconds. The course's book takes far longer. A token is a byte of the text."
        text = st.selectbox("Text", language_model_training.TEXTS, key="language_corpus", bind="query-params", width=200, help=help)
        steps = whole_number("Steps", "language_steps", 1000, 20, 5000)
        layers = whole_number("Blocks", "language_blocks", 2, 1, 4)
        help = "The number of heads in each block; they attend independently."
        heads = st.selectbox("Heads", (1, 2, 4), 1, key="language_heads", bind="query-params", width=110, help=help)
        seed = whole_number("Seed of the weights", "language_weights_seed", 0, 0, 10_000)
    return Setting(steps=steps, batch=32, context=24, layers=layers, heads=heads, width=48, rate=3e-3, seed=seed), text


def train_section() -> Path | None:
    """Show the settings, the buttons and the progress of training; return the checkpoint, if there is one."""
    setting, text = read_setting()
    run = state.get("language_run")
    running = run is not None and run.running
    state.language_reports = len(run.reports) if run is not None else 0
    state.language_running = running
    with st.container(horizontal=True):
        st.button(
            "Start",
            on_click=start,
            args=(setting, text),
            disabled=running,
            icon=":material/play_arrow:",
            type="primary",
            key="language_start",
            help="Train a new model in a separate process",
        )
        st.button(
            "Stop", on_click=stop, disabled=not running, icon=":material/stop:", key="language_stop", help="Keeps what it has learned"
        )
    st.fragment(update, run_every=TICK if running else None)()
    return run.checkpoint if run is not None and run.checkpoint.exists() else None


def update() -> None:
    """Show the progress of the run; the page follows each checkpoint."""
    run = state.get("language_run")
    if run is None:
        st.info("Press **Start** to train a model. It takes about half a minute.", icon=":material/model_training:")
        return
    running = False
    try:
        with task_guard(stop=False):
            running = run.read()
    except Failed as error:
        st.error("Training failed.", icon=":material/error:")
        st.code(str(error), language=None, wrap_lines=True)
    if running != state.language_running or len(run.reports) != state.language_reports:
        st.rerun()
    if running:
        st.progress(run.progress, run.status())
    if run.reports:
        with st.container(horizontal=True):
            with st.container(width="content"):
                draw(run.chart(), "language_losses")
            st.caption(run.in_words(), width=320)


def load_section() -> Path | None:
    """Show the field for a file, and return it."""
    help = "Relative to the folder that contains minitorch/ and project/."
    text = st.text_input("File", key="language_file", bind="query-params", help=help, placeholder="gpt.safetensors")
    st.caption("Made by this command:")
    st.code("python project/run_gpt.py --checkpoint gpt.safetensors", language="bash", wrap_lines=True)
    return language_model_pass.ROOT / text.strip() if text.strip() else None


# The model


def load(path: Path, kind: str) -> dict[str, Any]:
    """Return a model and its copy with weights of some kind; the file is read again after it has changed."""
    made_from = path, path.stat().st_mtime_ns if path.is_file() else 0, kind, state.get("sources")
    if state.get("language_loaded", {}).get("from") != made_from:
        try:
            base = language_model.load(path)
        except (CheckpointError, FileFormatError, OSError) as error:
            refuse(str(error), "Enter the file of a checkpoint that run_gpt.py has written.")
        other, *sizes = {
            WEIGHTS[0]: lambda model: (model, 0, 0),
            WEIGHTS[1]: language_model_pass.quantized,
            WEIGHTS[2]: language_model_pass.adapted,
            WEIGHTS[3]: language_model_pass.adapted_and_quantized,
        }[kind](base.model)
        state.language_loaded = {"from": made_from, "base": base, "now": base._replace(model=other), "sizes": sizes}
    return state.language_loaded


def choose_weights(source: str) -> str:
    """Show the kinds of weights, and return one."""
    kinds = WEIGHTS if source == SOURCES[0] else WEIGHTS[:2]
    help = "int8: the linear layers have weights of one byte. Adapters: two narrow matrices beside each weight, trained on other stories. "
    help += "Merged adapters are added to the weights before these are quantized."
    given = state.get("language_weights")
    if given is not None and given not in kinds:
        state.language_weights = kinds[0]
    return st.segmented_control("Weights", kinds, default=kinds[0], required=True, key="language_weights", bind="query-params", help=help)


def about(source: str, loaded: dict[str, Any]) -> None:
    """Say where the model comes from."""
    language = loaded["base"]
    parameters = sum(parameter.value.numel() for parameter in language.model.parameters())
    said = f"{parameters:,} parameters in {language.model.layers} blocks, {len(language.tokenizer):,} tokens, {language.step:,} steps."
    if source == SOURCES[0]:
        made = checkpoint.load(language_model.SHIPPED).about
        said += f" It learned synthetic stories and sums on {made['date']}, by `{made['command']}`."
    st.caption(said)


# The text


def typed_text(language: Any, number: int) -> list[int]:
    """Show the field for the text, and return its tokens."""
    beginning = language_model_training.BEGINNINGS[state.get("language_corpus") or "repeated words"]
    given = BEGINNING if number == 0 else beginning
    text = st.text_input("Your text", given, key=f"language_text_{number}", bind="query-params", width=420)
    try:
        return language_model_pass.encode(language, text)
    except Refused as refusal:
        refuse(str(refusal), "Enter a text that is not empty, or a shorter one.")


def read_sampling() -> tuple[Any, int]:
    """Show how the next token is chosen, and return it with the seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        help = "Divides the logits. 0: always the most likely token."
        options = {"bind": "query-params", "width": 210}
        temperature = st.select_slider("Temperature", TEMPERATURES, 1.0, key="language_temperature", help=help, **options)
        help = "Only so many of the most likely tokens are kept."
        top_k = st.select_slider("top_k", TOP_K, None, lambda k: str(k or "all"), key="language_top_k", help=help, **options)
        help = "Of these, only the fewest most likely ones with this sum are kept."
        top_p = st.slider("top_p", 0.05, 1.0, 1.0, 0.05, key="language_top_p", help=help, **options)
        seed = whole_number("Seed of the samples", "language_samples", 0, 0, 10_000)
    return language_model_pass.Sampling(temperature, top_k, None if top_p == 1 else top_p), seed


def generate(language: Any, tokens: list[int], sampling: Any, seed: int) -> list[int]:
    """Return the tokens that the model generates, none if that fails; they are generated again only if something has changed."""
    made_from = state.language_loaded["from"], tokens, sampling, seed
    if state.get("language_generated", ("",))[0] == made_from:
        return state.language_generated[1]
    language_model_pass.forward(language.model, tokens)  # an error of the model ends the page with one card
    found = list[int]()
    with task_guard(stop=False):
        found = language_model_pass.continue_text(language, tokens, sampling, seed)
        state.language_generated = made_from, found
    return found


def pick(key: str) -> None:
    """Go to the position of the token that was clicked in a figure."""
    state.language_position = int(state[key].picked)


def choose_position(names: list[str], prompt: int) -> int:
    """Show the tokens, and return the position to look at: the last one until another one is chosen."""
    last = len(names) - 1
    if state.get("language_seen", names) != names:
        state.language_position = last
    state.language_seen = names
    strip = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        position = whole_number("Position", "language_position", last, 0, last)
        st.caption("Click a token, or enter its position, to look at what the model predicts after it.", width=420)
    with strip:
        cells.draw([charts.token_strip(names, prompt, position)], "language_tokens", lambda: pick("language_tokens"))
    return position


# What the model computes


class Scene(NamedTuple):
    """What the sections show.

    Attributes:
        kind: One of WEIGHTS.
        vocabulary: All tokens as text.
        tokens: The tokens of the text so far.
        prompt: Number of those that were typed.
        position: The position to look at.
        target: The token that comes next there, in the text or drawn; otherwise the most likely one.
        sampling: How the next token is chosen.
        now: What the model computes for the tokens.
        base: What it computes with the weights of its file.
    """

    kind: str
    vocabulary: list[str]
    tokens: list[int]
    prompt: int
    position: int
    target: int
    sampling: Any
    now: Any
    base: Any

    @property
    def names(self) -> list[str]:
        """The tokens so far as text."""
        return [self.vocabulary[token] for token in self.tokens]


def next_section(scene: Scene) -> Any:
    """Show the probabilities after the position, and return them."""
    chance, position, names = language_generation.probabilities, scene.position, scene.vocabulary
    shares = chance(scene.now.logits[position], *scene.sampling)
    if scene.kind == WEIGHTS[0]:
        other, others = "softmax alone", chance(scene.base.logits[position], 1.0, None, None)
    else:
        other, others = "float32", chance(scene.base.logits[position], *scene.sampling)
    with st.container(horizontal=True):
        with st.container(width="content"):
            draw(charts.bars(shares, others, other, names, scene.target), "language_bars")
        with st.container(width=320):
            st.write(plain(charts.next_in_words(shares, names)))
            if scene.kind != WEIGHTS[0]:
                st.write(plain(charts.moved_in_words(others, shares, names)))
            st.caption(f"Orange: the token that comes next in the text, or is drawn next. Gray lines: {other}.")
    return shares


def attention_section(scene: Scene) -> None:
    """Show the attention weights of a block."""
    st.write(
        "In each block, each head lets every token (the query) look at the tokens up to itself (the keys). The attention weights say how "
        "much it takes from each of them. They are positive and sum to 1."
    )
    block = whole_number("Block", "language_block", 1, 1, len(scene.now.weights))
    heads, names, position = scene.now.weights[block - 1], scene.names, scene.position
    titles = [f"Block {block}, head {head}" for head in range(1, len(heads) + 1)]
    with st.container(horizontal=True, width=760):  # two in a row
        for title, head in zip(titles, heads, strict=True):
            draw(charts.heat_map(head, names, position, title), f"language_{title}")
    st.caption(
        "A row for each query, from top to bottom; a column for each key, from left to right. Blue: a weight of 1; white: 0. Gray: masked, "
        "the query does not see what follows. The row of the position is framed. Point at a cell to read its weight; click "
        "a token below to go to its row."
    )
    rows = [charts.strip(head[position], names, position, title) for title, head in zip(titles, heads, strict=True)]
    cells.draw([cells.stacked(rows)], "language_strips", lambda: pick("language_strips"))
    st.write(plain(charts.attention_in_words(heads, names, position)))


def stream_section(scene: Scene, model: Any, shares: Any) -> None:
    """Show the residual stream of all positions, and what one of them predicts after each stage, up to the probability, if there is one."""
    st.write(
        "Each token has a vector, at first the sum of the embeddings of token and position. Attention and the network of each block add to "
        "it. So the last normalization and the embedding, which make the logits at the end, can read any stage: what would the model "
        "predict if it ended here?"
    )
    lens, names = language_model_pass.lens(model, scene.now, scene.position), scene.vocabulary
    likely = [int(i) for i in (-lens[-1]).argsort(kind="stable")[: charts.SHOWN]]
    options = [scene.target, *(i for i in likely if i != scene.target)]
    if state.get("language_options") != (options, scene.position):
        state.language_options, state.language_target = (options, scene.position), scene.target
    target: Any = st.selectbox("Next token", options, format_func=lambda i: names[i], key="language_target", width=200)
    with st.container(horizontal=True):
        with st.container(width="content"):
            draw(charts.stream(scene.now.stages, scene.names, scene.position), "language_stream")
        with st.container(width="content"):
            draw(charts.lens(lens, names, target), "language_lens")
    st.caption(
        "Left: the length of each vector after each stage, from top to bottom; the position is framed. Right: the logit of the next token "
        "that is read from the framed vector, and the token that would be the most likely one."
    )
    if shares is not None:
        st.write(plain(charts.lens_in_words(lens, float(shares[target]), scene.sampling.temperature, names, target)))


def cache_section(scene: Scene, model: Any) -> None:
    """Show the caches after the tokens so far."""
    st.write(
        "Keys and values of a token never change, because it does not see what follows. So each block keeps them in a cache, and a step "
        "computes those of one token, not of the whole text."
    )
    generated = scene.tokens[scene.prompt :]
    caches = language_model_pass.fill_caches(model, scene.tokens[: scene.prompt], generated)
    new = 1 if generated else scene.prompt
    cells.draw([charts.cache_grid(caches, scene.names, new)], "language_caches", lambda: None)
    st.write(charts.caches_in_words(caches, len(scene.tokens), new))


def weights_section(scene: Scene, sizes: list[int]) -> None:
    """Compare the model with what it was before its weights were changed."""
    if scene.kind == WEIGHTS[0]:
        st.write("Choose other weights at the top of the page. All figures follow, and the bars show what changes.")
        return
    rows = []
    for kind, size, found in zip((WEIGHTS[0], scene.kind), sizes, (scene.base, scene.now), strict=True):
        loss = f"{language_model_pass.loss(found.logits, scene.tokens):.4f}" if len(scene.tokens) > 1 else "–"
        rows.append({"weights": kind, "bytes": f"{size:,}", "loss of the text so far": loss})
    st.table(rows)
    if scene.kind in (WEIGHTS[1], WEIGHTS[3]):
        st.caption("The linear layers have a byte for each weight, and a scale for each output. Embeddings and normalizations remain.")
    if scene.kind in WEIGHTS[2:]:
        st.caption("The adapters have learned stories in which everything is red. Generate stories: which colors do they name?")


def show(source: str, path: Path, side: DeltaGenerator) -> None:
    """Show everything about a model; its kinds of weights beside the models."""
    with side:
        kind = choose_weights(source)
    loaded = load(path, kind)
    about(source, loaded)
    language, model = loaded["now"], loaded["now"].model
    st.subheader("The text as tokens")
    prompt = typed_text(language, SOURCES.index(source))
    place = st.container()
    st.subheader("The next token")
    sampling, seed = read_sampling()
    generated = generate(language, prompt, sampling, seed)
    with place:
        number = player(len(generated), "language_step", "Generated tokens", plays=True)
        tokens, vocabulary = [*prompt, *generated[:number]], language_model_pass.names(language)
        position = choose_position([vocabulary[token] for token in tokens], len(prompt))
        st.caption(f"{len(tokens)} tokens of a vocabulary of {len(vocabulary):,}, with their positions. ␣ is a space. Green: generated.")
    now = base = language_model_pass.forward(model, tokens)
    if kind != WEIGHTS[0]:
        base = language_model_pass.forward(loaded["base"].model, tokens)
    target = [*tokens, *generated[number : number + 1], int(now.logits[-1].argmax())][position + 1]
    scene = Scene(kind, vocabulary, tokens, len(prompt), position, target, sampling, now, base)
    shares = None
    with task_guard(stop=False):
        shares = next_section(scene)
    st.subheader("Attention")
    with task_guard(stop=False):
        attention_section(scene)
    st.subheader("The residual stream")
    with task_guard(stop=False):
        stream_section(scene, model, shares)
    st.subheader("The cache")
    with task_guard(stop=False):
        cache_section(scene, model)
    st.subheader("Other weights")
    with task_guard(stop=False):
        weights_section(scene, loaded["sizes"])


with task_guard():
    left, right = st.columns([2, 3])
    source = left.segmented_control("Model", SOURCES, default=SOURCES[0], required=True, key="language_source", bind="query-params")
    path = {SOURCES[0]: lambda: language_model.SHIPPED, SOURCES[1]: train_section, SOURCES[2]: load_section}[source]()
    if path is not None:
        show(source, path, right)
