"""A small GPT from the inside: the attention weights of its heads, the probabilities of the next character, and text that it generates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minitorch
from minitorch import FastBackend, float32, no_grad, tensor
from minitorch.models import GPT
from project.lab.charts import cells, vega
from project.lab.charts.palette import BLUE, GRAY, ORANGE, WHITE
from project.lab.charts.vega import Spec
from project.lab.training import checkpoint
from project.lab.training.checkpoint import CheckpointError
from project.lab.training.text_trainer import Setting
from project.lab.typed.source import Refused

ROOT = Path(__file__).resolve().parents[3]
"""The folder that contains minitorch/ and project/."""

MOST_CHARACTERS = 32
"""The longest text whose attention is drawn."""

SIDE = 240
"""Width of a heat map in pixels."""

SHOWN = 12
"""The number of characters in the chart of probabilities."""

SYMBOLS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
"""Characters that a chart shows as something visible."""


class Loaded(NamedTuple):
    """A model and its vocabulary.

    Attributes:
        model: The model, in evaluation mode.
        characters: The vocabulary: the index of a character is its position.
        step: Number of steps that it was trained for.
    """

    model: GPT
    characters: str
    step: int

    @property
    def most(self) -> int:
        """The number of characters that a text may have here."""
        return min(self.model.context, MOST_CHARACTERS)


class ForwardPass(NamedTuple):
    """What the model computes for a text of T characters.

    Attributes:
        weights: For each layer, the attention weights of its heads, shape (heads, T, T): row i has the weights of query i.
        logits: For each position, the logits of the next character, shape (T, vocabulary).
    """

    weights: list[np.ndarray]
    logits: np.ndarray


def load(path: str | Path) -> Loaded:
    """Load the model of a checkpoint of run_gpt.py.

    Raises:
        CheckpointError: If the file is missing, damaged or of another program.
    """
    saved = checkpoint.load(path)
    about = saved.about
    if about.get("program") != Setting.program:
        raise CheckpointError(
            f"{path} expected a checkpoint of {Setting.program}.py, got one of {about.get('program')}.py; name another file"
        )
    setting, characters = Setting(**about["setting"]), about["characters"]
    if setting.tokens:
        raise CheckpointError(f"{path} expected a model of characters, got one of {setting.tokens} tokens; train another without --tokens")
    model = GPT(len(characters), setting.context, setting.layers, setting.heads, setting.width, 0.0, FastBackend, float32)
    model.load_state_dict({name.partition(".")[2]: array for name, array in saved.arrays.items() if name.startswith("model.")})
    model.eval()
    return Loaded(model, characters, about["step"])


def encode(loaded: Loaded, text: str) -> list[int]:
    """Return the indices of the characters of a text.

    Raises:
        Refused: If the text is empty or too long, or has characters that the model does not know.
    """
    if not 1 <= len(text) <= loaded.most:
        raise Refused(f"expected 1 to {loaded.most} characters, got {len(text)}")
    if unknown := sorted(set(text) - set(loaded.characters)):
        raise Refused(f"expected characters of the text that the model was trained on, got {', '.join(map(repr, unknown))} as well")
    return [loaded.characters.index(character) for character in text]


def known(loaded: Loaded, text: str) -> str:
    """Return a text without the characters that the model does not know; if none is left, the first one that it knows."""
    return "".join(character for character in text if character in loaded.characters)[: loaded.most] or loaded.characters[0]


def forward(model: GPT, tokens: Sequence[int]) -> ForwardPass:
    """Run the model layer by layer, and keep the attention weights.

    The model itself discards them. So each layer's attention is called once more, with the input that the layer gives it.
    """
    weights = []
    with no_grad():
        x = model.tokens(tensor(np.array([tokens]), FastBackend)) + model.positions(tensor(np.arange(len(tokens)), FastBackend))
        for block in model.blocks:
            weights.append(attend(block, x)[1])
            x = block(x, is_causal=True)
        logits = model.head(model.norm(x))
    return ForwardPass(weights, logits.to_numpy()[0])


def attend(block: Any, x: minitorch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return the output of a layer's attention for the input of the layer, shape (1, T, E), and the weights, shape (heads, T, T)."""
    normalized = block.norm1(x)
    out, weights = block.self_attn(normalized, normalized, normalized, average_attn_weights=False, is_causal=True)
    return out.to_numpy(), weights.to_numpy()[0]


def probabilities(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Return softmax(logits / temperature); for temperature 0, the most likely character has probability 1."""
    x = logits.astype(np.float64)
    if not temperature:
        return np.eye(len(x))[x.argmax()]
    powers = np.exp((x - x.max()) / temperature)
    return powers / powers.sum()


def generate(loaded: Loaded, text: str, count: int, temperature: float, seed: int) -> str:
    """Return the characters with which the model continues a text, each sampled from the probabilities after those before it."""
    known = encode(loaded, text)
    minitorch.manual_seed(seed)
    for _ in range(count):
        known = loaded.model.generate(known[-loaded.model.context :], 1, temperature)[-loaded.model.context :]
        text += loaded.characters[known[-1]]
    return text[-count:] if count else ""


# Charts


def symbol(character: str) -> str:
    """Return a character as a chart shows it."""
    return SYMBOLS.get(character, character if character.isprintable() else "\N{REPLACEMENT CHARACTER}")


def heat_map(weights: np.ndarray, text: str, query: int, title: str) -> Spec:
    """Return the attention weights of a head as a heat map: one row for each query, one column for each key.

    Args:
        weights: Shape (T, T).
        text: T characters.
        query: The row to frame.
        title: The title.
    """
    names, count = [symbol(character) for character in text], len(text)
    places = [f"{i} {name}" for i, name in enumerate(names)]
    seen = [
        {**cell(i, j, j + 1), "query": places[i], "key": places[j], "weight": round(float(weights[i, j]), 4)}
        for i in range(count)
        for j in range(i + 1)
    ]
    masked = [{**cell(i, i + 1, count), "masked": f"{places[i]} does not see what follows"} for i in range(count - 1)]
    edges = [{"x": j + 0.5, "y": -0.5, "name": name} for j, name in enumerate(names)]
    edges += [{"x": -0.5, "y": i + 0.5, "name": name} for i, name in enumerate(names)]
    domain = [-1, count]  # leaves a row and a column for the characters
    x = vega.quantitative("x", "key", scale={"domain": domain}, axis={"labels": False, "ticks": False, "grid": False, "domain": False})
    y = vega.quantitative("y", "query", scale={"domain": domain, "reverse": True}, axis=x["axis"])
    box = {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}
    color = vega.shades("weight", [0, 1], [WHITE, BLUE], title="attention weight", gradientLength=120, values=[0, 0.5, 1])
    tooltip = [{"field": name} for name in ("query", "key", "weight")]
    layers = [
        vega.layer("rect", box | {"tooltip": {"field": "masked"}}, masked, color=GRAY, opacity=0.3),
        vega.layer("rect", box | {"color": color, "tooltip": tooltip}, seen),
        vega.layer(
            "rect", box, [{"x": 0, "x2": count, "y": query, "y2": query + 1}], tooltip=False, fill=None, stroke=ORANGE, strokeWidth=2
        ),
        vega.layer("text", {"x": x, "y": y, "text": {"field": "name"}}, edges, tooltip=False, color=GRAY, fontSize=11),
    ]
    said = f"{title}: the weight of each key, up to the query, for each of {count} queries. {in_words(weights[None], text, query)}"
    pixels = SIDE // (count + 1)  # whole pixels per cell, or thin seams show between cells
    return vega.chart(said, layers, width=(count + 1) * pixels, title={"text": title, "anchor": "start"})


def cell(row: int, first: int, end: int) -> Spec:
    """Return the edges of a rectangle in a row, from one column up to another."""
    return {"x": first, "x2": end, "y": row, "y2": row + 1}


def strip(weights: np.ndarray, text: str, query: int, title: str) -> str:
    """Return the markup of the text, each character shaded by the weight that a query gives it.

    Args:
        weights: The row of the query, shape (T,).
        text: T characters.
        query: The position of the query.
        title: The title.
    """
    found = []
    for j, character in enumerate(text):
        weight, masked = float(weights[j]), j > query
        note = f"{j} {symbol(character)}, masked" if masked else f"{j} {symbol(character)}, weight {weight:.3f}"
        small = "" if masked or weight < 0.005 else f"{weight:.2f}"
        look = "faint" if masked else ""
        found.append(cells.Cell(symbol(character), f"{title}{j}", (), note, look, small=small, tone=None if masked else weight))
    return cells.strip(title, found)


def in_words(weights: np.ndarray, text: str, query: int) -> str:
    """Describe what each head of a layer attends to.

    Args:
        weights: Shape (heads, T, T).
        text: T characters.
        query: The position of the query.
    """
    said = []
    for head, row in enumerate(weights[:, query, : query + 1], 1):
        j = int(row.argmax())
        where = "itself" if j == query else f"{j} '{symbol(text[j])}', {query - j} before it"
        said.append(f"head {head} most to {where} (weight {row[j]:.2f})")
    return f"The query {query} '{symbol(text[query])}' attends: {'; '.join(said)}."


def bars(shares: np.ndarray, characters: str, chosen: str = "") -> Spec:
    """Return a bar chart of the most likely characters.

    Args:
        shares: The probability of each character of the vocabulary.
        characters: The vocabulary.
        chosen: The character to highlight, if any.
    """
    order = [int(i) for i in np.argsort(-shares, kind="stable")[:SHOWN]]
    if chosen and (place := characters.index(chosen)) not in order:
        order[-1] = place
    rows = [
        {
            "character": symbol(characters[i]),
            "probability": float(shares[i]),
            "label": f"{shares[i]:.3f}",
            "is": "sampled" if characters[i] == chosen else "other",
        }
        for i in order
    ]
    axes = {
        "y": {
            "field": "character",
            "type": "nominal",
            "sort": [row["character"] for row in rows],
            "title": None,
            "axis": {"labelFontSize": 13, "labelOverlap": False},
        },
        "x": vega.quantitative("probability", "probability", scale={"domain": [0, 1.15]}, axis={"values": [0, 0.5, 1]}),
    }
    color = vega.nominal("is", ["sampled", "other"], [ORANGE, BLUE], vega.LEGEND if chosen else None)
    layers = [
        vega.layer("bar", axes | {"color": color}),
        vega.layer("text", axes | {"text": {"field": "label"}}, tooltip=False, align="left", dx=4, color=GRAY),
    ]
    return vega.chart(next_in_words(shares, characters), layers, width=270, height=18 * len(rows), values=rows)


def next_in_words(shares: np.ndarray, characters: str) -> str:
    """Describe the probabilities of the next character."""
    order = [int(i) for i in np.argsort(-shares, kind="stable")[:3]]
    likely = ", ".join(f"'{symbol(characters[i])}' {shares[i]:.1%}" for i in order)
    return f"Most likely next: {likely}. All {len(characters)} characters together have probability 1."
