"""The drawing of a computational graph: where its nodes and edges lie, and what they show after each step of backpropagation."""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean
from textwrap import dedent
from typing import Any

from course.manifest import ROOT
from project.lab.explorers import buffers
from project.lab.explorers.graph import Recording, by_operand

CHARACTER, LINE = 6.0, 15
"""The width of a character and the height of a line, in pixels; graph.js has the same height."""

BESIDE, BELOW = 18, 10
"""The gaps between columns, and between what is in the same column."""

SWEEPS = 16
"""How many times everything is moved towards what it is connected with."""

RULES = {
    "Add": ("1", "1"),
    "Mul": ("{1}", "{0}"),
    "Neg": ("-1",),
    "Inv": ("-1 / {0}²",),
    "Pow": ("{1} · {0}^({1} - 1)", "{y} · log({0})"),
    "Log": ("1 / ({0} + ε)",),
    "Exp": ("{y}",),
    "Sigmoid": ("{y} · (1 - {y})",),
    "ReLU": ("1 if {0} > 0, else 0",),
    "Tanh": ("1 - {y}²",),
    "Sqrt": ("1 / (2 · {y})",),
    "Sin": ("cos({0})",),
    "Cos": ("-sin({0})",),
    "Abs": ("sign({0})",),
    "LT": ("0", "0"),
    "EQ": ("0", "0"),
    "Sum": ("1",),
    "Prod": ("{y} / {0}",),
    "MaxMin": ("1 if chosen, else 0",),
    "Expand": ("1",),
    "View": ("1",),
    "Permute": ("1",),
    "Copy": ("1",),
}
"""The derivatives of functions with respect to their operands {0} and {1}; {y} is the result. For tensors they hold for each element."""


def drawing(recording: Recording) -> dict[str, Any]:
    """Return everything that the browser shows: the graph, the source code of its functions, and the steps."""
    steps = [_step(recording, moment) for moment in range(len(recording.frames))]
    nodes = [_node(recording, i) for i in range(len(recording.nodes))]
    edges = [_edge(recording, i, k) for i, node in enumerate(recording.nodes) for k in range(len(node.parents))]

    def longest(what: str, key: Any) -> str:
        return max((step[what].get(key, "") for step in steps), key=len)

    texts = [
        [*node["lines"], "gradient " + longest("gradients", i), node["place"]] if node["kind"] != "constant" else node["lines"]
        for i, node in enumerate(nodes)
    ]
    for edge in edges:
        edge["remark"] = longest("remarks", edge["id"]).replace(" over ", "\nover ").splitlines()
    labels = [
        _size([*edge["remark"], edge["label"], "← " + longest("passed", edge["id"]), *edge["remark"]]) if edge["label"] else (0, 0)
        for edge in edges
    ]  # remarks count on both sides, so that the edge is in the middle
    boxes, paths, size = layout(tuple(map(_size, texts)), tuple(edge["ends"] for edge in edges), tuple(labels))
    for each, box in zip([*nodes, *edges], boxes, strict=True):
        each["box"] = box
    for edge, path in zip(edges, paths, strict=True):
        edge["path"] = path
    used = {node.function.__name__: node.function for node in recording.nodes if node.function}
    functions = {name: backward_source(function) for name, function in used.items()}
    return {"size": size, "nodes": nodes, "edges": edges, "functions": functions, "steps": steps}


def _node(recording: Recording, i: int) -> dict[str, Any]:
    """Return what is known of a node before backpropagation."""
    node = recording.nodes[i]
    title = f"{node.name} = {node.formula}" if node.formula else node.name
    is_constant = node.kind == "constant"
    return {
        "kind": node.kind,
        "name": node.name,
        "lines": [title, *([] if is_constant else recording.kind.about(node.value))],
        "place": "" if is_constant or len(recording.frames) == 1 else f"visit {node.place}" if node.place else "never visited",
        "visited": node.place or len(recording.frames),
        "saved": ", ".join(text for text, _ in node.saved),
        "freed": buffers.last_visits(recording).get(i, len(recording.frames)),
        "function": node.function.__name__ if node.function else "",
    }


def _edge(recording: Recording, i: int, k: int) -> dict[str, Any]:
    """Return what is known of the edge from the k-th operand of node i before backpropagation."""
    nodes, node = recording.nodes, recording.nodes[i]
    is_constant = nodes[node.parents[k]].kind == "constant"
    rules = RULES.get(node.function.__name__, ())
    rule = rules[k].format(*[nodes[p].name for p in node.parents], y=node.name) if len(rules) == len(node.parents) else ""
    quotient = f"∂{node.formula if node.formula.endswith(')') else f'({node.formula})'}/∂{nodes[node.parents[k]].name}"
    return {
        "id": f"{i}.{k}",
        "ends": (node.parents[k], i),
        "rule": quotient + (rule and f" = {rule}"),
        "local": node.local.get(k, ""),
        "label": "" if is_constant else node.local.get(k) or rule or "∂",
    }


def _step(recording: Recording, moment: int) -> dict[str, Any]:
    """Return what a step changes: the gradients of nodes by their number, and what is passed along edges by their id, as texts."""
    frame, brief = recording.frames[moment], recording.kind.brief
    before = recording.frames[moment - 1].gradients if moment else {}
    operands = by_operand(recording.nodes[frame.current], frame.passed) if frame.current is not None else {}
    passed = {f"{frame.current}.{k}": each for k, each in operands.items()}
    return {
        "node": frame.current,
        "sentence": frame.sentence,
        "words": f"{recording.in_words(moment)} {buffers.in_words(recording, moment)}",
        "gradients": {i: brief(gradient) for i, gradient in frame.gradients.items() if before.get(i) is not gradient},
        "arrived": brief(frame.arrived) if passed else "",
        "passed": {edge: brief(gradient) for edge, (_, gradient, _) in passed.items()},
        "remarks": {edge: remark for edge, (_, _, remark) in passed.items() if remark},
    }


def backward_source(function: Any) -> dict[str, Any] | None:
    """Return the source code of the `backward` of a function, and which of its lines return the derivatives; None if there is none."""
    try:
        lines, first = inspect.getsourcelines(function.backward)
        path = Path(inspect.getsourcefile(inspect.unwrap(function.backward)) or "").resolve()
        text = dedent("".join(lines)).rstrip()
        returns = list(_returns(ast.parse(text).body[0]))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return None
    returned = {line - 1 for node in returns for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    where = f"{path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path}, line {first}"
    return {"where": where, "lines": text.splitlines(), "returned": sorted(returned)}


def _returns(parent: ast.AST) -> Iterator[ast.Return]:
    """The return statements of a function, without those of functions that are defined in it."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _returns(node)


# Layout


def _size(lines: list[str]) -> tuple[float, float]:
    """Return width and height of a box with these lines."""
    return max(map(len, lines)) * CHARACTER + 14, len(lines) * LINE + 8


@lru_cache(8)  # the page draws the same graph again at each step at which it rests
def layout(
    sizes: tuple[tuple[float, float], ...], edges: tuple[tuple[int, int], ...], labels: tuple[tuple[float, float], ...]
) -> tuple[list[list[int]], list[str], list[float]]:
    """Place a graph in columns, inputs on the left, such that nothing overlaps.

    The label of an edge is in the column before the node to which the edge leads. All edges that leave a node share one line up to there.

    Args:
        sizes: Width and height of each node.
        edges: From which node to which one.
        labels: Width and height of the label of each edge.

    Returns:
        x and y of the center, width and height of each node and then of each label; the path of each edge; and the size of the whole.
    """
    ranks = _ranks(len(sizes), edges)
    boxes, columns, lanes, chains = [*sizes, *labels], [*ranks, *(ranks[to] - 1 for _, to in edges)], {}, []
    for edge, (start, to) in enumerate(edges):
        for rank in range(ranks[start] + 1, ranks[to] - 1):
            if (start, rank) not in lanes:
                lanes[start, rank] = len(boxes)
                boxes.append((0.0, 0.0))
                columns.append(rank)
        chains.append([start, *(lanes[start, rank] for rank in range(ranks[start] + 1, ranks[to] - 1)), len(sizes) + edge, to])
    links = [link for chain in chains for link in pairwise(chain)]
    heights = [height for _, height in boxes]
    y = _heights(columns, heights, links)
    widths = [max(boxes[box][0] for box, at in enumerate(columns) if at == column) for column in range(max(columns) + 1)]
    lefts = list(accumulate((width + BESIDE for width in widths), initial=0))
    centers = [lefts[column] + widths[column] / 2 for column in columns]
    top = min(at - height / 2 for at, height in zip(y, heights, strict=True))
    placed = [[round(x), round(at - top), *map(round, size)] for x, at, size in zip(centers, y, boxes, strict=True)]
    spans = [(lefts[column], lefts[column] + widths[column]) for column in columns]
    whole = [lefts[-1] - BESIDE, max(at + height / 2 for _, at, _, height in placed)]
    return placed[: len(sizes) + len(labels)], [_path(chain, placed, spans, chains) for chain in chains], whole


def _ranks(count: int, edges: tuple[tuple[int, int], ...]) -> list[int]:
    """Return the column of each node, an even number; an input is as near as possible to the first node that uses it."""
    ranks = [0] * count
    for _ in range(count):
        before = list(ranks)
        for start, to in edges:
            ranks[to] = max(ranks[to], ranks[start] + 2)
        if ranks == before:
            break
    for start in set(range(count)) - {to for _, to in edges}:
        ranks[start] = min((ranks[to] for a, to in edges if a == start), default=2) - 2
    return ranks


def _heights(columns: list[int], heights: list[float], links: list[tuple[int, int]]) -> list[float]:
    """Return the vertical center of each box, near to those that it is linked with."""
    linked: list[list[int]] = [[] for _ in columns]
    for a, b in links:
        linked[a].append(b)
        linked[b].append(a)
    layers = [[box for box, at in enumerate(columns) if at == column] for column in range(max(columns) + 1)]
    y = [float(box) for box in range(len(columns))]
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else layers[::-1]:
            wanted = {box: fmean(y[other] for other in linked[box]) if linked[box] else 0.0 for box in layer}
            layer.sort(key=lambda box: wanted[box])
            spread = _spread([wanted[box] for box in layer], [heights[box] for box in layer])
            for box, at in zip(layer, spread, strict=True):
                y[box] = at
    return y


def _spread(wanted: list[float], heights: list[float]) -> list[float]:
    """Return the positions nearest to the wanted ones, in the same order, at which nothing overlaps: an isotonic regression."""
    offsets = list(accumulate(((a + b) / 2 + BELOW for a, b in pairwise(heights)), initial=0.0))
    groups: list[tuple[float, int]] = []  # those that touch each other: the mean of where they would begin, and their number
    for at, offset in zip(wanted, offsets, strict=True):
        mean, count = at - offset, 1
        while groups and groups[-1][0] > mean:
            other, more = groups.pop()
            mean, count = (other * more + mean * count) / (more + count), more + count
        groups.append((mean, count))
    starts = [mean for mean, count in groups for _ in range(count)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _path(chain: list[int], placed: list[list[int]], spans: list[tuple[float, float]], chains: list[list[int]]) -> str:
    """Return the path of an edge in SVG. In a column it is horizontal, and it bends only in the gaps between them."""
    *between, to = chain[1:]
    start = chain[0]
    x, y = placed[start][0] + placed[start][2] / 2, placed[start][1]
    path = f"M{x:.1f} {y:.1f}H{spans[start][1]:.1f}"
    x = spans[start][1]
    entries = sorted({placed[other[-2]][1] for other in chains if other[-1] == to})
    end = placed[to][1] + 12 * (entries.index(placed[chain[-2]][1]) - (len(entries) - 1) / 2)
    for box in [*between, to]:
        left, right, at = *spans[box], end if box == to else placed[box][1]
        middle = (x + left) / 2
        path += f"C{middle:.1f} {y:.1f} {middle:.1f} {at:.1f} {left:.1f} {at:.1f}" + ("" if box == to else f"H{right:.1f}")
        x, y = right, at
    return f"{path}H{placed[to][0] - placed[to][2] / 2:.1f}"
