"""Figures of learning: labeled points, gradient descent, curves and derivatives, a backward pass, a stack, layers and units of networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import chain, pairwise, product
from typing import Any, NamedTuple

from figures import CONFIG, HEIGHT, INK, WIDTH, Figure, _box, chart, head

Point = tuple[float, float]
Segment = tuple[Point, Point]
"""Two ends of a straight line."""

BLUE = CONFIG["range"]["category"][0]

GRAY = {"color": INK, "opacity": 0.45}
"""The look of reference lines."""


class Row(Figure):
    """Several figures with one caption. They are in one row, or in several if the screen is narrow.

    Args:
        figures: The figures; their own captions are not shown.
        caption: The whole figure in words.
    """

    def __init__(self, figures: Sequence[Figure], caption: str) -> None:
        self.svg = " ".join(figure.svg for figure in figures)  # each has unique ids already, which `Figure` would change again
        self.caption = caption


def row(figures: Sequence[Figure], caption: str) -> Row:
    """Several figures with one caption."""
    return Row(figures, caption)


def plane(
    title: str,
    points: Sequence[tuple[float, float, int]],
    lines: Sequence[Segment] = (),
    dashed: Sequence[Segment] = (),
    x: str = "x_1",
    y: str = "x_2",
    domain: tuple[Point, Point] = ((0, 1), (0, 1)),
    size: int = 170,
    caption: str = "",
) -> Figure:
    """Labeled points in a plane, circles for label 0 and triangles for label 1, with straight lines.

    Args:
        title: The title of the panel.
        points: (x, y, label), with labels 0 and 1.
        lines: Solid lines, each by its two ends; what lies outside of the plane is cut off.
        dashed: Dashed lines.
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        domain: Smallest and largest x, smallest and largest y.
        size: Width and height of the plane in pixels.
        caption: The figure in words.
    """
    axes = {
        name: {
            "type": "quantitative",
            "title": label,
            "scale": {"domain": list(ends), "nice": False},
            "axis": {"tickCount": 4, "grid": False},
        }
        for name, label, ends in (("x", x, domain[0]), ("y", y, domain[1]))
    }
    layers = [
        _layer({"type": "line", "clip": True, **look}, [{"x": a, "y": b} for a, b in segment], axes)
        for segments, look in ((dashed, GRAY | {"strokeDash": [4, 3]}), (lines, {"color": INK, "strokeWidth": 2}))
        for segment in segments
    ]
    looks = {
        "color": {"field": "label", "type": "nominal", "scale": {"domain": ["1", "0"]}, "legend": None},
        "shape": {"field": "label", "type": "nominal", "scale": {"domain": ["0", "1"], "range": ["circle", "triangle-up"]}, "legend": None},
    }
    values = [{"x": a, "y": b, "label": str(label)} for a, b, label in points]
    layers.append(_layer({"type": "point", "filled": True, "size": 60, "opacity": 0.9}, values, axes, looks))
    return chart({"width": size, "height": size, "title": title, "layer": layers}, caption)


def descent(
    loss: Callable[[float], float],
    paths: Mapping[str, Sequence[float]],
    domain: Point,
    top: float,
    caption: str,
    parameter: str = "w",
) -> Row:
    """For each path a panel with the curve of the loss and the points that gradient descent visits.

    Args:
        loss: The loss as a function of its one parameter.
        paths: The values of the parameter, step by step, by the title of the panel.
        domain: Smallest and largest parameter drawn.
        top: Largest loss drawn.
        caption: The figure in words.
        parameter: Name of the parameter.
    """
    low, high = domain
    curve = [(low + (high - low) * i / 80) for i in range(81)]
    axes = {
        "x": {"type": "quantitative", "title": parameter, "scale": {"domain": [low, high], "nice": False}},
        "y": {"type": "quantitative", "title": "loss", "scale": {"domain": [0, top], "nice": False}, "axis": {"tickCount": 4}},
    }
    order = {"order": {"field": "step", "type": "quantitative"}}
    panels = []
    for title, path in paths.items():
        steps = [{"x": w, "y": loss(w), "step": i} for i, w in enumerate(path)]
        layers = [
            _layer({"type": "line", "clip": True, **GRAY}, [{"x": w, "y": loss(w)} for w in curve], axes),
            _layer({"type": "line", "clip": True, "strokeWidth": 1.5, "color": BLUE}, steps, axes, order),
            _layer({"type": "point", "clip": True, "filled": True, "size": 45, "opacity": 1, "color": BLUE}, steps, axes),
        ]
        panels.append(chart({"width": 165, "height": 150, "title": title, "layer": layers}, ""))
    return Row(panels, caption)


def stacked(panels: Mapping[str, Sequence[Point]], caption: str, rules: Sequence[float] = (), x: str = "x") -> Figure:
    """Curves one above the other over the same horizontal axis.

    Args:
        panels: The points of each curve, by the title of its vertical axis.
        caption: The figure in words.
        rules: Values of x at which a dashed vertical line crosses all panels.
        x: Title of the horizontal axis.
    """
    drawn = []
    for number, (title, points) in enumerate(panels.items()):
        low, high = min(a for a, _ in points), max(a for a, _ in points)
        last = number == len(panels) - 1
        axes = {
            "x": {
                "type": "quantitative",
                "title": x if last else None,
                "scale": {"domain": [low, high], "nice": False},
                "axis": {"labels": last, "ticks": last, "domain": last},
            },
            "y": {"type": "quantitative", "title": title, "scale": {"zero": True}, "axis": {"tickCount": 4}},
        }
        layers = [_layer({"type": "line", "color": BLUE}, [{"x": a, "y": b} for a, b in points], axes)]
        vertical = {"x": axes["x"]}
        layers += [_layer({"type": "rule", "strokeDash": [4, 3], **GRAY}, [{"x": at}], vertical) for at in rules]
        drawn.append({"width": 220, "height": 110, "layer": layers})
    return chart({"vconcat": drawn, "spacing": 12}, caption)


def secants(f: Callable[[float], float], x: float, slope: float, steps: Sequence[float], domain: Point, caption: str) -> Figure:
    """A curve, its tangent at x, and the secants through x and x + ε.

    Args:
        f: The function.
        x: Where the tangent touches.
        slope: The derivative of f at x.
        steps: The values of ε.
        domain: Smallest and largest x drawn.
        caption: The figure in words.
    """
    low, high = domain
    curve = [low + (high - low) * i / 80 for i in range(81)]
    axes = {
        "x": {"type": "quantitative", "title": "x", "scale": {"domain": [low, high], "nice": False}, "axis": {"tickCount": 6}},
        "y": {"type": "quantitative", "title": "f(x)", "scale": {"domain": [min(map(f, curve)), max(map(f, curve))], "nice": False}},
    }
    slopes = {f"ε = {step:g}: slope {(f(x + step) - f(x)) / step:.4g}": (f(x + step) - f(x)) / step for step in steps}
    slopes[f"tangent: slope {slope:g}"] = slope
    values = [{"x": end, "y": f(x) + rate * (end - x), "line": name} for name, rate in slopes.items() for end in domain]
    name = {"field": "line", "type": "nominal", "sort": None, "title": None, "legend": {"orient": "right", "labelFontSize": 12}}
    dashes = name | {"scale": {"range": [*([3 + 2 * i, 3] for i in range(len(steps))), [1, 0]]}}
    dots = [{"x": x + step, "y": f(x + step)} for step in (0, *steps)]
    layers = [
        _layer({"type": "line", "clip": True, "strokeWidth": 2.5, "color": INK}, [{"x": a, "y": f(a)} for a in curve], axes),
        _layer({"type": "line", "clip": True}, values, axes, {"color": name, "strokeDash": dashes}),
        _layer({"type": "point", "filled": True, "size": 55, "opacity": 1, "color": INK}, dots, axes),
    ]
    return chart({"width": 300, "height": 260, "layer": layers}, caption)


def _layer(
    mark: dict[str, Any], values: Sequence[dict[str, Any]], axes: Mapping[str, Any], more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A layer of a Vega-Lite chart, whose fields are called like its axes."""
    return {
        "data": {"values": list(values)},
        "mark": mark,
        "encoding": {**{axis: {"field": axis, **axes[axis]} for axis in axes}, **(more or {})},
    }


class Step(NamedTuple):
    """A step of a backward pass.

    Attributes:
        title: What happens.
        node: The node whose turn it is; "" before the first.
        passes: What it passes to which of its inputs.
        received: What each node has received so far, by its name.
        done: The nodes whose turn is over.
    """

    title: str
    node: str
    passes: Mapping[str, Sequence[str]]
    received: Mapping[str, str]
    done: Sequence[str] = ()


RADIUS = 15


def backward_steps(
    inputs: Mapping[str, Sequence[str]],
    at: Mapping[str, Point],
    steps: Sequence[Step],
    caption: str,
    unit: Point = (46, 66),
) -> Row:
    """A small graph once for each step of a backward pass.

    Args:
        inputs: For each node the nodes that it is computed from.
        at: Column and row of each node, the output at the top.
        steps: What the panels show.
        caption: The figure in words.
        unit: Width of a column and height of a row in pixels.
    """
    wide, high = 1 + max(x for x, _ in at.values()), 1 + max(y for _, y in at.values())
    width, height = max(150.0, wide * unit[0] + 34), high * unit[1] + 20
    left = (width - (wide - 1) * unit[0]) / 2 - 12
    place = {name: (left + x * unit[0], 46 + y * unit[1]) for name, (x, y) in at.items()}
    return Row([_pass_panel(inputs, place, step, number, (width, height)) for number, step in enumerate(steps, 1)], caption)


def _pass_panel(inputs: Mapping[str, Sequence[str]], place: Mapping[str, Point], step: Step, number: int, size: Point) -> Figure:
    parts = [_text(size[0] / 2, 16, f"{number}. {step.title}", strong=True)]
    for name, others in inputs.items():
        for other in dict.fromkeys(others):
            active = name == step.node and other in step.passes
            count = list(others).count(other)
            for i in range(count):
                bend = 12 * (2 * i - 1) if count > 1 else 0
                parts.append(_downward(place[name], place[other], bend, step.passes[other][i] if active else "", active))
    for name, (x, y) in place.items():
        kind = "graph-node marked" if name == step.node else "graph-node done" if name in step.done else "graph-node"
        parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{RADIUS}"/>')
        parts.append(_text(x, y + 5, name, strong=True))
        if name in step.received:
            leaf = not inputs.get(name)
            at, anchor = ((x, y + RADIUS + 14), "middle") if leaf else ((x + RADIUS + 5, y - 6), "start")
            parts.append(_text(*at, step.received[name], anchor, kind="graph-note"))
    return Figure(f"{head(*size)}{''.join(parts)}</svg>", "")


def _downward(start: Point, end: Point, bend: float, label: str, active: bool) -> str:
    """An arrow from one circle to another below it, bent to the right by `bend`."""
    (x0, y0), (x1, y1) = start, end
    length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
    dx, dy = (x1 - x0) / length * (RADIUS + 1), (y1 - y0) / length * (RADIUS + 1)
    mx, my = (x0 + x1) / 2, (y0 + y1) / 2
    kind = "graph-edge active" if active else "graph-edge"
    path = f'<path class="{kind}" d="M{x0 + dx:g} {y0 + dy:g}Q{mx + 2 * bend:g} {my:g} {x1 - dx:g} {y1 - dy:g}" marker-end="url(#tip)"/>'
    return path + (_text(mx + 1.6 * bend, my + 4, label, kind="graph-passed") if label else "")


class Stack(NamedTuple):
    """The state of a search between two steps.

    Attributes:
        names: What lies on the stack, from the bottom.
        action: What happens next to the top.
        entered: The nodes with the first mark.
        left: Those with the second.
    """

    names: str
    action: str
    entered: str = ""
    left: str = ""


STACK_CELL = 28


def stacks(states: Sequence[Stack], caption: str) -> Row:
    """The stack of a depth-first search, one panel for each step, its top node above the others.

    The upper copy of a node that was entered has a strong border, a node that was left a dashed one.

    Args:
        states: The stack at each step, with a name of one letter for each node.
        caption: The figure in words.
    """
    tallest = max(len(state.names) for state in states)
    return Row([_stack_panel(state, number, 8 + tallest * STACK_CELL) for number, state in enumerate(states, 1)], caption)


def _stack_panel(state: Stack, number: int, base: float) -> Figure:
    x, width = 17, STACK_CELL + 34
    parts = []
    for i, name in enumerate(state.names):
        y = base - (i + 1) * STACK_CELL
        on_path = name in state.entered and name not in state.left and i == state.names.rindex(name)
        kind = "graph-node marked" if on_path else "graph-node"
        dash = ' stroke-dasharray="3 3"' if name in state.left else ""
        box = f'x="{x + 1:g}" y="{y + 1:g}" width="{STACK_CELL - 2}" height="{STACK_CELL - 2}" rx="3"{dash}'
        parts.append(f'<rect class="{kind}" {box}/>')
        parts.append(_text(width / 2, y + 19, name, strong=i == len(state.names) - 1))
    parts.append(f'<path class="graph-edge" d="M{x - 4:g} {base + 2:g}H{x + STACK_CELL + 4:g}"/>')
    parts.append(_text(width / 2, base + 20, str(number), strong=True))
    parts.append(_text(width / 2, base + 37, state.action, kind="graph-note"))
    return Figure(f"{head(width, base + 44)}{''.join(parts)}</svg>", "")


class Layer(NamedTuple):
    """What a layer of a network returns for one input.

    Attributes:
        operation: What the layer computes, one line for each element; empty for the input.
        shape: (channels, height, width), or (units,).
    """

    operation: Sequence[str]
    shape: tuple[int, ...]


def layers(network: Sequence[Layer], caption: str) -> Row:
    """The layers of a network, each with the feature maps or units that it returns.

    Args:
        network: From the input to the output. A channel is drawn as a square, units as one narrow column.
        caption: The figure in words.
    """
    height = max(_side(layer) + MAP_OFFSET * (layer.shape[0] - 1) * (len(layer.shape) == 3) for layer in network)
    return Row([_layer_panel(layer, height) for layer in network], caption)


MAP_OFFSET = 3
"""Pixels between the corners of two channels."""


def _side(layer: Layer) -> float:
    """Height of a feature map or of a column of units in pixels."""
    return 26 + 0.5 * layer.shape[-1] if len(layer.shape) == 3 else min(90.0, 20 + layer.shape[0] / 4)


def _layer_panel(layer: Layer, height: float) -> Figure:
    maps = len(layer.shape) == 3
    side, count = _side(layer), layer.shape[0] if maps else 1
    width = side if maps else 12
    wide = width + MAP_OFFSET * (count - 1)
    arrow = 11 + 5.4 * max((len(line) for line in layer.operation), default=-1)
    middle, parts = 30 + height / 2, []
    if layer.operation:
        parts.append(f'<path class="graph-edge" d="M4 {middle:g}H{arrow:g}" marker-end="url(#tip)"/>')
        for i, line in enumerate(reversed(layer.operation)):
            parts.append(_text(arrow / 2, middle - 8 - 15 * i, line, kind="graph-note"))
    x, top = arrow + 6, middle - (side + MAP_OFFSET * (count - 1)) / 2
    for i in range(count):
        corner = f'x="{x + MAP_OFFSET * i:g}" y="{top + MAP_OFFSET * i:g}"'
        parts.append(f'<rect class="graph-node" {corner} width="{width:g}" height="{side:g}"/>')
    label = " × ".join(map(str, layer.shape))
    half = 4 * len(label) + 2
    right = max(x + wide + 2, 2 * half)  # a long label reaches below the arrow
    parts.append(_text(max(half, min(x + wide / 2, right - half)), height + 52, label, strong=True))
    return Figure(f"{head(right, height + 62)}{''.join(parts)}</svg>", "")


def units(
    columns: Mapping[str, Sequence[str]], caption: str, weights: Mapping[tuple[str, str], str] | None = None, unit: Point = (126, 58)
) -> Figure:
    """A network unit by unit, with an arrow from each unit to every unit of the next column.

    Args:
        columns: The names of the units, by what is written below their column, from the inputs to the output.
        caption: The figure in words.
        weights: What is written on the arrow from the first unit to the second.
        unit: Width of a column and height of a row in pixels.
    """
    middle = unit[1] * max(map(len, columns.values())) / 2
    at = [
        [(name, (unit[0] * (0.5 + x), middle + unit[1] * (0.5 + y - len(names) / 2))) for y, name in enumerate(names)]
        for x, names in enumerate(columns.values())
    ]
    parts, labels = [], []
    for before, after in pairwise(at):
        for (name, start), (other, end) in product(before, after):
            parts.append(_downward(start, end, 0, "", False))
            x, y = (a + (b - a) / 3 for a, b in zip(start, end, strict=True))  # in the middle, labels of arrows that cross would meet
            if weights:
                labels.append(_text(x, y + 4, weights.get((name, other), ""), kind="graph-passed"))
    parts += labels
    for name, (x, y) in chain.from_iterable(at):
        parts += [f'<circle class="graph-node" cx="{x:g}" cy="{y:g}" r="{RADIUS}"/>', _text(x, y + 5, name, strong=True)]
    parts += [_text(unit[0] * (0.5 + x), 2 * middle + 14, note, kind="graph-note") for x, note in enumerate(columns)]
    return Figure(f"{head(unit[0] * len(columns), 2 * middle + 22)}{''.join(parts)}</svg>", caption)


def residual(branches: Sequence[Sequence[tuple[str, str]]], caption: str) -> Figure:
    """A residual stream from left to right. Each branch reads the stream, passes through its boxes, and is added to it.

    Args:
        branches: For each branch its boxes, each with its label and what is written below the label.
        caption: The figure in words.
    """
    stream, top, x = 96.0, 8.0, 40.0
    boxes, parts = [], [_text(20, stream + 5, "x", strong=True)]
    for branch in branches:
        leave, up = x + 14, top + HEIGHT / 2
        for i, (label, note) in enumerate(branch):
            left = leave + 22 + (WIDTH + 26) * i
            boxes += [f'<path class="graph-edge" d="M{left - 22 - 4 * (i > 0):g} {up:g}H{left - 1:g}" marker-end="url(#tip)"/>']
            boxes += [_box(left, top, label, note, False)]
        plus = leave + 22 + (WIDTH + 26) * len(branch) + 4
        boxes.append(f'<path class="graph-edge" d="M{leave:g} {stream:g}V{up:g}M{plus - 30:g} {up:g}H{plus:g}"/>')
        boxes.append(f'<path class="graph-edge" d="M{plus:g} {up:g}V{stream - 12:g}" marker-end="url(#tip)"/>')
        boxes.append(f'<circle class="graph-node" cx="{plus:g}" cy="{stream:g}" r="11"/>{_text(plus, stream + 5, "+", strong=True)}')
        parts.append(f'<path class="graph-edge active" d="M{x - 8:g} {stream:g}H{plus - 12:g}" marker-end="url(#tip)"/>')
        x = plus + 20
    parts.append(f'<path class="graph-edge active" d="M{x - 8:g} {stream:g}H{x + 24:g}" marker-end="url(#tip)"/>')
    return Figure(f"{head(x + 34, stream + 18)}{''.join(parts + boxes)}</svg>", caption)


def _text(x: float, y: float, text: str, anchor: str = "middle", strong: bool = False, kind: str = "graph-label") -> str:
    look = f'text-anchor="{anchor}" font-size="{13 if kind == "graph-label" else 12}" style="font-weight: {600 if strong else 400}"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" {look}>{escape(text)}</text>'
