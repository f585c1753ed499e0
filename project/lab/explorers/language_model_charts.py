"""Charts of a language model: tokens, attention weights, probabilities, the residual stream and caches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch.language import KeyValueCache
from project.lab.charts import cells, vega
from project.lab.charts.palette import BLUE, GRAY, ORANGE, WHITE
from project.lab.charts.vega import Spec

SIDE = 230
"""Width of a heat map, without the tokens beside it, and of bars, in pixels."""

SHOWN = 12
"""The number of tokens in the chart of probabilities, and of positions in that of the caches."""

LEGIBLE = 10
"""The smallest height of a row, in pixels, that has the token beside it."""

LONGEST = 12
"""The number of characters of a token beside a heat map."""

ROW = 22
"""Height of a row of bars in pixels."""


# Tokens and attention


def token_strip(names: Sequence[str], prompt: int, position: int) -> str:
    """Return the markup of the tokens of a text, of which the position can be chosen by a click.

    Args:
        names: The tokens.
        prompt: Number of those that were typed; the others are generated.
        position: The position to highlight.
    """
    found = []
    for j, name in enumerate(names):
        note = f"{j} {name}, {'typed' if j < prompt else 'generated'}"
        look = "picked" if j == position else "" if j < prompt else "changed"
        found.append(cells.Cell(name, f"token{j}", (), note, look, pick=str(j), small=str(j)))
    return cells.strip("Tokens so far", found, words=True)


def heat_map(weights: np.ndarray, names: Sequence[str], query: int, title: str) -> Spec:
    """Return the attention weights of a head as a heat map: one row for each query, one column for each key.

    Args:
        weights: Shape (T, T).
        names: T tokens.
        query: The row to frame.
        title: The title.
    """
    count = len(names)
    places = [f"{i} {name}" for i, name in enumerate(names)]
    seen = [
        {**cell(i, j, j + 1), "query": places[i], "key": places[j], "weight": round(float(weights[i, j]), 4)}
        for i in range(count)
        for j in range(i + 1)
    ]
    masked = [{**cell(i, i + 1, count), "masked": f"{places[i]} does not see what follows"} for i in range(count - 1)]
    pixels = min(max(SIDE // count, 4), 40)  # whole pixels per cell, or thin seams show between cells
    legible = pixels >= LEGIBLE
    shown = [name[:LONGEST] for name in names] if legible else []
    margin = -(-7 * max(map(len, shown), default=0) // pixels)  # cells that a token beside them is as long as
    edges = [{"x": -0.3, "y": i + 0.5, "name": name} for i, name in enumerate(shown)]
    tops = [{"x": j + 0.5, "y": -0.3, "name": name} for j, name in enumerate(shown)]
    scale = {"domain": [-margin, count]}
    x = vega.quantitative("x", "key", scale=scale, axis={"labels": False, "ticks": False, "grid": False, "domain": False})
    y = vega.quantitative("y", "query", scale=scale | {"reverse": True}, axis=x["axis"])
    name = {"x": x, "y": y, "text": {"field": "name"}}
    look = {"tooltip": False, "color": "currentColor", "fontSize": 11, "baseline": "middle"}
    box = {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}
    color = vega.shades("weight", [0, 1], [WHITE, BLUE]) | {"legend": None}  # four of them would be half of the figure
    tooltip = [{"field": name} for name in ("query", "key", "weight")]
    layers = [
        vega.layer("rect", box | {"tooltip": {"field": "masked"}}, masked, color=GRAY, opacity=0.3),
        vega.layer("rect", box | {"color": color, "tooltip": tooltip}, seen),
        vega.layer(
            "rect", box, [{"x": 0, "x2": count, "y": query, "y2": query + 1}], tooltip=False, fill=None, stroke=ORANGE, strokeWidth=2
        ),
        vega.layer("text", name, edges, align="right", **look),
        vega.layer("text", name, tops, align="left", angle=270, **look),
    ]
    said = (
        f"{title}: the weight of each key, up to the query, for each of {count} queries. {attention_in_words(weights[None], names, query)}"
    )
    return vega.chart(said, layers, width=(count + margin) * pixels, title={"text": title, "anchor": "start"})


def cell(row: int, first: int, end: int) -> Spec:
    """Return the edges of a rectangle in a row, from one column up to another."""
    return {"x": first, "x2": end, "y": row, "y2": row + 1}


def strip(weights: np.ndarray, names: Sequence[str], query: int, title: str) -> str:
    """Return the markup of a text, each token shaded by the weight that a query gives it.

    Args:
        weights: The row of the query, shape (T,).
        names: T tokens.
        query: The position of the query.
        title: The title.
    """
    found = []
    for j, name in enumerate(names):
        weight, masked = float(weights[j]), j > query
        note = f"{j} {name}, masked" if masked else f"{j} {name}, weight {weight:.3f}"
        small = "" if masked or weight < 0.005 else f"{weight:.2f}"
        look = "faint" if masked else ""
        found.append(cells.Cell(name, f"{title}{j}", (), note, look, str(j), small, tone=None if masked else weight))
    return cells.strip(title, found, words=True)


def attention_in_words(weights: np.ndarray, names: Sequence[str], query: int) -> str:
    """Describe what each head of a block attends to.

    Args:
        weights: Shape (heads, T, T).
        names: T tokens.
        query: The position of the query.
    """
    said = []
    for head, row in enumerate(weights[:, query, : query + 1], 1):
        j = int(row.argmax())
        where = "itself" if j == query else f"{j} '{names[j]}', {query - j} before it"
        said.append(f"head {head} most to {where} (weight {row[j]:.2f})")
    return f"The query {query} '{names[query]}' attends: {'; '.join(said)}."


# Probabilities


def bars(shares: np.ndarray, others: np.ndarray, other: str, names: Sequence[str], target: int) -> Spec:
    """Return a bar chart of the most likely tokens.

    Args:
        shares: The probability of each token of the vocabulary.
        others: Other probabilities, as lines across the bars.
        other: What these are.
        names: The vocabulary.
        target: The token to highlight.
    """
    order = [int(i) for i in np.argsort(-shares, kind="stable")[:SHOWN]]
    if target not in order:
        order[-1] = target
    rows = [
        {
            "token": f"{names[i]} ({i})",  # several tokens of bytes may look alike
            "probability": float(shares[i]),
            other: float(others[i]),
            "label": f"{shares[i]:.3f}",
            "is": "next" if i == target else "other",
        }
        for i in order
    ]
    axis = {"labelFontSize": 13, "labelOverlap": False, "labelExpr": "replace(datum.label, / .*/, '')"}
    y = {"field": "token", "type": "nominal", "sort": [row["token"] for row in rows], "title": None, "axis": axis}
    scale: Spec = {"scale": {"domain": [0, 1.15]}, "axis": {"values": [0, 0.5, 1]}}
    x = vega.quantitative("probability", f"probability (line: {other})", **scale)
    color = vega.nominal("is", ["next", "other"], [ORANGE, BLUE], None)
    layers = [
        vega.layer("bar", {"y": y, "x": x, "color": color}),
        vega.layer("tick", {"y": y, "x": x | {"field": other}}, color=GRAY, thickness=2),
        vega.layer("text", {"y": y, "x": x, "text": {"field": "label"}}, tooltip=False, align="left", dx=6, color="currentColor"),
    ]
    return vega.chart(next_in_words(shares, names), layers, width=SIDE, height=ROW * len(rows), values=rows)


def next_in_words(shares: np.ndarray, names: Sequence[str]) -> str:
    """Describe the probabilities of the next token."""
    likely = ", ".join(f"'{names[i]}' {shares[i]:.1%}" for i in np.argsort(-shares, kind="stable")[:3] if shares[i])
    kept = np.count_nonzero(shares)
    return f"Most likely next: {likely}. Probabilities of {kept:,} of {len(names):,} tokens are above 0; they sum to 1."


def moved_in_words(before: np.ndarray, after: np.ndarray, names: Sequence[str]) -> str:
    """Describe how other weights move the probabilities."""
    i = int(np.abs(after - before).argmax())
    return f"The largest change is that of '{names[i]}': {before[i]:.2%} with float32, {after[i]:.2%} now."


# The residual stream


def stage_names(blocks: int) -> list[str]:
    """Return the names of the stages of the residual stream."""
    return ["embedding", *(f"{part} of block {block}" for block in range(1, blocks + 1) for part in ("attention", "network"))]


def _rows(blocks: int) -> Spec:
    """Return the vertical channel of a chart of stages."""
    return {"field": "stage", "type": "nominal", "sort": stage_names(blocks), "title": None, "axis": {"labelOverlap": False}}


def stream(stages: np.ndarray, names: Sequence[str], position: int) -> Spec:
    """Return the length of the vector of each token at each stage as a heat map.

    Args:
        stages: Shape (S, T, width).
        names: T tokens.
        position: The column to frame.
    """
    lengths, blocks = np.linalg.norm(stages.astype(float), axis=2), len(stages) // 2
    rows = [
        {"stage": stage, "position": j, "token": f"{j} {name}", "length": round(float(lengths[i, j]), 3)}
        for i, stage in enumerate(stage_names(blocks))
        for j, name in enumerate(names)
    ]
    pixels = min(max(SIDE // len(names), 4), 40)
    axis = {"labels": pixels >= LEGIBLE, "labelOverlap": False, "labelAngle": 270, "ticks": False, "domain": False}
    axis["labelExpr"] = "replace(datum.label, /^[0-9]+ /, '')"
    order = [f"{j} {name}" for j, name in enumerate(names)]
    x = {"field": "token", "type": "nominal", "sort": order, "title": "position", "scale": {"padding": 0}, "axis": axis}
    color = vega.shades("length", [0, float(lengths.max())], [WHITE, BLUE], title="length of the vector", gradientLength=120)
    framed = {"x": x, "y": _rows(blocks), "stroke": {"value": ORANGE}}
    layers = [
        vega.layer("rect", {"x": x, "y": _rows(blocks), "color": color}, rows),
        vega.layer("rect", framed, [row for row in rows if row["position"] == position], fill=None, strokeWidth=2),
    ]
    said = f"The length of the vector of each of {len(names)} tokens after the embedding and each part of {blocks} blocks."
    return vega.chart(said, layers, width=pixels * len(names), height=ROW * len(stages))


def lens(logits: np.ndarray, names: Sequence[str], target: int) -> Spec:
    """Return the logit of a token as each stage has it, and the most likely token there.

    Args:
        logits: What is read from each stage at one position, shape (S, V).
        names: The vocabulary.
        target: The token.
    """
    blocks, values = len(logits) // 2, logits[:, target].astype(float).tolist()
    low, high = min(0.0, *values), max(1.0, *values)
    end = high + 0.3 * (high - low)  # where the most likely tokens are written
    rows = [
        {"stage": stage, "logit": value, "at": max(value, 0.0), "label": f"{value:.1f}", "top": names[int(row.argmax())], "end": end}
        for stage, value, row in zip(stage_names(blocks), values, logits, strict=True)
    ]
    y, scale = _rows(blocks), {"domain": [low, end + 0.6 * (high - low)]}
    x = vega.quantitative("logit", f"logit of {names[target]}", scale=scale, axis={"tickCount": 4, "grid": False})
    look = {"tooltip": False, "align": "left", "color": "currentColor"}
    layers = [
        vega.layer("bar", {"y": y, "x": x, "x2": {"datum": 0}, "color": {"value": ORANGE}}),
        vega.layer("text", {"y": y, "x": x | {"field": "at"}, "text": {"field": "label"}}, dx=4, **look),
        vega.layer("text", {"y": y, "x": x | {"field": "end"}, "text": {"field": "top"}}, **look),
    ]
    said = f"The logit of {names[target]} after each stage: {', '.join(row['label'] for row in rows)}."
    return vega.chart(said, layers, width=SIDE, height=ROW * len(rows), values=rows)


def lens_in_words(logits: np.ndarray, share: float, temperature: float, names: Sequence[str], target: int) -> str:
    """Follow the logit of a token to its probability; see `lens`."""
    values = logits[:, target]
    steps = np.diff(values)
    most = int(np.abs(steps).argmax())
    divided = f" Divided by the temperature, {temperature:g}, it" if temperature not in (0, 1) else " It"
    end = f"gives the probability {share:.3f} of the bar" if share else "is not among those that are kept, so its probability is 0"
    return (
        f"The embedding gives '{names[target]}' the logit {values[0]:.2f}. The {stage_names(len(logits) // 2)[most + 1]} changes it most, "
        f"by {steps[most]:+.2f}. It ends at {values[-1]:.2f}.{divided} {end}."
    )


# The caches


def cache_grid(caches: Sequence[KeyValueCache], names: Sequence[str], new: int) -> str:
    """Return the markup of the caches: a row for each block, a cell for each of the last positions.

    Args:
        caches: One for each block.
        names: The tokens so far.
        new: Number of tokens that were read last.
    """
    count, capacity = len(names), caches[0].capacity
    end = min(count + 2, capacity)  # some cells that are not written yet
    first = max(0, end - SHOWN)
    found = []
    for block, cache in enumerate(caches, 1):
        each = cache.nbytes() // capacity
        for j in range(first, end):
            written = j < count
            note = f"block {block}, position {j}" + (f" {names[j]}: key and value, {each} bytes" if written else ", not written yet")
            look = "" if written and j < count - new else "changed" if written else "idle"
            found.append(cells.Cell(f"{each} B" if written else "", f"cache{block},{j}", (f"token{j}",), note, look))
    return cells.grid(
        "Keys and values: a row for each block, a column for each position", (len(caches), end - first), found, first=(1, first)
    )


def caches_in_words(caches: Sequence[KeyValueCache], count: int, new: int) -> str:
    """Describe the memory of the caches for `count` tokens, `new` of which were read last."""
    total, capacity = sum(cache.nbytes() for cache in caches), caches[0].capacity
    each = total // capacity
    return (
        f"Memory for all {capacity} positions of the context is taken once: {total:,} bytes, {each:,} for each position. {count} of them "
        f"are written, {count * each:,} bytes; the last step wrote {new * each:,}."
    )
