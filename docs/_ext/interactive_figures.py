"""The directives `{descent}`, `{fit}` and `{views}`: figures with sliders, which work in a page opened from the disk, without a server.

    ```{descent}
    ```

A figure is an SVG, its controls, a line that says in words what the figure shows now, and a script of its own inside the page. Without the
script the figure shows only what never changes. The names of its shapes are those of the other figures, so that both themes color them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape
from itertools import product

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LEFT, RIGHT, HIGHEST = -2.5, 6.5, 20.0
"""What the figure of gradient descent shows: weights from LEFT to RIGHT, losses from 0 to HIGHEST."""

WIDTH, HEIGHT, MARGIN = 440, 250, 40
"""Size of that figure, and the space for its axes, in pixels."""

HOURS, PASSED, LATEST = (1, 2, 3, 4, 5, 6), (0, 0, 1, 0, 1, 1), 7
"""The six students of the figure of a fit, and the largest number of hours on its axis."""

CELL = 28
"""Side of a cell in pixels."""

View = tuple[tuple[int, ...], tuple[int, ...], int]
"""Shape, strides and offset."""

VIEWS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "t": lambda t: t,
    "t.permute(1, 0)": lambda t: t.transpose(1, 0),
    "t[1:, ::2]": lambda t: t[1:, ::2],
    "t[:, 1]": lambda t: t[:, 1],
    "t[0].expand(3, 4)": lambda t: np.broadcast_to(t[0], (3, 4)),
}
"""What can be chosen, as NumPy makes it from the table of shape (3, 4) that holds 0 to 11."""

HELPERS = """
  const round = number => { const text = (Math.round(number * 100) / 100).toFixed(2)
    return text.replace(/^-0.00$/, "0.00").replace("-", "−") }
  const part = name => figure.querySelector("[data-part=" + name + "]")
  const make = (parent, kind, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind)
    for (const name in attributes) made.setAttribute(name, attributes[name])
    if (text !== undefined) made.textContent = text
    parent.append(made)
    return made
  }
"""
"""What the scripts use."""

DESCENT_SCRIPT = """
  const {left, right, highest, width, height, margin, start} = given
  const x = w => margin + (w - left) / (right - left) * (width - margin - 10)
  const y = loss => 10 + (1 - loss / highest) * (height - margin - 10)
  const loss = w => (w - 2) ** 2
  let visited = [start]
  const draw = () => {
    const rate = Number(part("rate").value)
    part("rate-value").textContent = rate.toFixed(2)
    const shown = visited.filter(w => w >= left && w <= right && loss(w) <= highest)
    part("path").setAttribute("d", visited.map((w, i) => (i ? "L" : "M") + x(w).toFixed(1) + " " + y(loss(w)).toFixed(1)).join(""))
    part("points").replaceChildren()
    for (const w of shown) make(part("points"), "circle", {cx: x(w), cy: y(loss(w)), r: 4, class: "graph-node"})
    const count = visited.length - 1, w = visited.at(-1), slope = 2 * (w - 2), next = w - rate * slope
    if (shown.at(-1) === w) part("points").lastChild.setAttribute("class", "graph-node marked")
    const place = shown.at(-1) === w ? "" : " This point is outside the figure."
    part("state").textContent = `After ${count} ${count === 1 ? "step" : "steps"}: w = ${round(w)}, loss ${round(loss(w))}, ` +
      `derivative ${round(slope)}. The next step leads to w = ${round(next)}.` + place
    part("step").disabled = Math.abs(w) > 1e6
  }
  part("rate").addEventListener("input", draw)
  part("step").addEventListener("click", () => {
    const w = visited.at(-1)
    visited.push(w - Number(part("rate").value) * 2 * (w - 2))
    draw()
  })
  part("restart").addEventListener("click", () => { visited = [start]; draw() })
  draw()
"""

FIT_SCRIPT = """
  const {hours, passed, latest, width, height, margin} = given
  const x = hour => margin + hour / latest * (width - margin - 10)
  const y = p => 10 + (1 - p) * (height - margin - 10)
  const draw = () => {
    const w = Number(part("w").value), b = Number(part("b").value)
    part("w-value").textContent = round(w)
    part("b-value").textContent = round(b)
    const model = hour => 1 / (1 + Math.exp(-(w * hour + b)))
    const at = Array.from({length: 91}, (_, i) => i / 90 * latest)
    part("curve").setAttribute("d", at.map((hour, i) => (i ? "L" : "M") + x(hour).toFixed(1) + " " + y(model(hour)).toFixed(1)).join(""))
    const truth = hours.map((hour, i) => passed[i] ? model(hour) : 1 - model(hour))
    part("points").replaceChildren()
    hours.forEach((hour, i) => {
      make(part("points"), "path", {class: "graph-edge", "stroke-dasharray": "3 3", d: `M${x(hour)} ${y(passed[i])}V${y(model(hour))}`})
      make(part("points"), "circle", {cx: x(hour), cy: y(passed[i]), r: 5, class: truth[i] < 0.5 ? "graph-node marked" : "graph-node"})
    })
    const loss = truth.reduce((sum, p) => sum - Math.log(p), 0) / hours.length, wrong = truth.filter(p => p < 0.5).length
    part("state").textContent = `w = ${round(w)}, b = ${round(b)}: the mean cross-entropy is ${loss.toFixed(3)}, ` +
      `and ${wrong} of ${hours.length} predictions ${wrong === 1 ? "is" : "are"} wrong.`
  }
  for (const name of ["w", "b"]) part(name).addEventListener("input", draw)
  draw()
"""

VIEWS_SCRIPT = """
  const {views, cell, storage} = given
  const box = (parent, left, top, text, kind, dashed) => {
    const border = make(parent, "rect", {class: kind, x: left + 1, y: top + 1, width: cell - 2, height: cell - 2, rx: 3})
    if (dashed) border.setAttribute("stroke-dasharray", "3 3")
    make(parent, "text", {class: "graph-label", x: left + cell / 2, y: top + 19, "text-anchor": "middle", "font-size": 13}, text)
  }
  const tuple = numbers => `(${numbers.join(", ")}${numbers.length === 1 ? "," : ""})`
  const index = (ordinal, shape) => shape.map((size, dim) =>
    Math.floor(ordinal / shape.slice(dim + 1).reduce((a, b) => a * b, 1)) % size)
  const draw = () => {
    const name = part("view").value, [shape, strides, offset] = views[name], size = shape.reduce((a, b) => a * b, 1)
    const slider = part("ordinal")
    slider.max = size - 1
    const current = Math.min(Number(slider.value), size - 1)
    const position = at => at.reduce((sum, i, dim) => sum + i * strides[dim], offset)
    part("ordinal-value").textContent = current
    part("grid").replaceChildren()
    part("cells").replaceChildren()
    const visits = Array.from({length: storage}, () => [])
    for (let ordinal = 0; ordinal < size; ordinal++) {
      const at = index(ordinal, shape), column = at.at(-1), row = at.length > 1 ? at[0] : 0
      visits[position(at)].push(ordinal)
      box(part("grid"), 10 + column * cell, 30 + row * cell, position(at), ordinal === current ? "graph-node marked" : "graph-node")
    }
    const now = index(current, shape)
    for (let place = 0; place < storage; place++) {
      const left = 10 + place * cell, reached = visits[place].filter(ordinal => ordinal <= current)
      box(part("cells"), left, 180, place, place === position(now) ? "graph-node marked" : "graph-node", !visits[place].length)
      reached.forEach((ordinal, line) => make(part("cells"), "text",
        {class: "graph-note", x: left + cell / 2, y: 224 + 14 * line, "text-anchor": "middle", "font-size": 11}, ordinal))
    }
    part("title").textContent = `${name}: strides ${tuple(strides)}` + (offset ? `, offset ${offset}` : "")
    const terms = now.map((i, dim) => `${i} · ${strides[dim]}`).concat(offset ? [offset] : [])
    part("state").textContent = `Element ${current} in reading order has the index ${tuple(now)} ` +
      `and the position ${terms.join(" + ")} = ${position(now)} in the storage.`
  }
  part("view").addEventListener("change", () => { part("ordinal").value = 0; draw() })
  part("ordinal").addEventListener("input", draw)
  draw()
"""


def descent(start: float = 0.0) -> str:
    """Gradient descent on (w − 2)², with a slider for the learning rate and a button for one step, as HTML.

    Args:
        start: The first weight.
    """

    def place(w: float) -> tuple[float, float]:
        across, down = WIDTH - MARGIN - 10, HEIGHT - MARGIN - 10
        return MARGIN + (w - LEFT) / (RIGHT - LEFT) * across, 10 + (1 - (w - 2) ** 2 / HIGHEST) * down

    weights = [LEFT + (RIGHT - LEFT) * i / 90 for i in range(91)]
    curve = "".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(map(place, weights)))
    (left, _), (right, _), bottom = place(LEFT), place(RIGHT), place(2.0)[1]
    ticks = [
        f'<text class="graph-label" x="{place(w)[0]:.1f}" y="{bottom + 16:g}" text-anchor="middle" font-size="12">{w}</text>'
        for w in (0, 2, 4, 6)
    ]
    svg = (
        f'<path class="graph-edge" d="M{left:g} 10V{bottom:g}H{right:g}"/>{"".join(ticks)}'
        f'<text class="graph-label" x="{(left + right) / 2:g}" y="{bottom + 34:g}" text-anchor="middle" font-size="12">weight w</text>'
        f'<text class="graph-label" x="{left + 24:g}" y="22" font-size="12">loss</text>'
        f'<clipPath id="descent-frame"><rect x="{left:g}" y="4" width="{right - left:g}" height="{bottom:g}"/></clipPath>'
        f'<path class="interactive-curve" d="{curve}"/>'
        '<path class="graph-edge active" data-part="path" clip-path="url(#descent-frame)" d=""/><g data-part="points"></g>'
    )
    controls = (
        '<label>Learning rate <input type="range" data-part="rate" min="0.05" max="1.2" step="0.05" value="0.4"> '
        '<output data-part="rate-value">0.40</output></label> '
        '<button type="button" data-part="step">Step</button> <button type="button" data-part="restart">Start over</button>'
    )
    given = {"left": LEFT, "right": RIGHT, "highest": HIGHEST, "width": WIDTH, "height": HEIGHT, "margin": MARGIN, "start": start}
    caption = (
        "Gradient descent on the loss (w − 2)², from w = 0. Choose a learning rate and take steps. Up to 0.5, the weight approaches "
        "the minimum from one side. Between 0.5 and 1, it jumps from side to side and comes closer. At 1, every second step returns to 0. "
        "Above 1, it diverges."
    )
    return _figure("descent", (WIDTH, HEIGHT), svg, controls, caption, given, DESCENT_SCRIPT)


def fit() -> str:
    """The model of the six students with sliders for its weight and its bias, as HTML."""
    right, bottom = WIDTH - 10, HEIGHT - MARGIN
    across, middle = (right - MARGIN) / LATEST, 'text-anchor="middle" font-size="12"'
    ticks = [f'<text class="graph-label" x="{MARGIN + hour * across:.1f}" y="{bottom + 16:g}" {middle}>{hour}</text>' for hour in HOURS]
    ticks += [f'<text class="graph-label" x="{MARGIN - 10}" y="{y:g}" {middle}>{p}</text>' for p, y in ((1, 14), (0, bottom + 4))]
    svg = (
        f'<path class="graph-edge" d="M{MARGIN} 10V{bottom:g}H{right:g}"/>{"".join(ticks)}'
        f'<text class="graph-label" x="{(MARGIN + right) / 2:g}" y="{bottom + 34:g}" {middle}>hours x</text>'
        '<path class="interactive-curve" data-part="curve" d=""/><g data-part="points"></g>'
    )
    sliders = {"w": ("Weight w", -1, 4, 0.5), "b": ("Bias b", -10, 4, 0)}
    controls = " ".join(
        f'<label>{label} <input type="range" data-part="{name}" min="{low}" max="{high}" step="0.1" value="{value}"> '
        f'<output data-part="{name}-value">{value:.2f}</output></label>'
        for name, (label, low, high, value) in sliders.items()
    )
    given = {"hours": HOURS, "passed": PASSED, "latest": LATEST, "width": WIDTH, "height": HEIGHT, "margin": MARGIN}
    caption = (
        "The six students, with their labels 0 and 1, and the probability that the model gives to label 1. A dashed line is the distance "
        "between the two. A strong border marks a wrong prediction. Find a lower loss than 0.418, that of w = 1 and b = −3.5."
    )
    return _figure("fit", (WIDTH, HEIGHT), svg, controls, caption, given, FIT_SCRIPT)


def layouts() -> dict[str, View]:
    """Shape, strides and offset of each of VIEWS, in elements."""
    table = np.arange(12).reshape(3, 4)
    made = {name: view(table) for name, view in VIEWS.items()}
    strides = {name: tuple(stride // view.itemsize for stride in view.strides) for name, view in made.items()}
    return {name: (view.shape, strides[name], int(view[(0,) * view.ndim])) for name, view in made.items()}


def views() -> str:
    """Views of one table of shape (3, 4), with a slider that visits the elements in reading order, as HTML."""
    found = layouts()
    lines = 1 + max(_repeats(view) for view in found.values())
    size = 20 + 12 * CELL, 214 + 14 * lines
    svg = (
        '<text class="graph-label" data-part="title" x="10" y="18" font-size="13"></text><g data-part="grid"></g>'
        '<text class="graph-label" x="10" y="172" font-size="13">storage, and below it the order of the visits</text>'
        '<g data-part="cells"></g>'
    )
    options = "".join(f"<option>{escape(name)}</option>" for name in found)
    controls = (
        f'<label>View <select data-part="view">{options}</select></label> '
        '<label>Element <input type="range" data-part="ordinal" min="0" max="11" step="1" value="0"> '
        '<output data-part="ordinal-value">0</output></label>'
    )
    caption = (
        "The table t of shape (3, 4) holds the numbers 0 to 11, each at the position of the same number. Choose a view and move the "
        "slider: it visits the elements of the view row by row. Positions that the view never reads are dashed. permute jumps through "
        "the storage in steps of 4, a slice leaves out positions, and expand reads the first four positions again for each row."
    )
    return _figure("views", size, svg, controls, caption, {"views": found, "cell": CELL, "storage": 12}, VIEWS_SCRIPT)


def _repeats(view: View) -> int:
    """How often the view reads the position that it reads most."""
    shape, strides, offset = view
    places = [offset + sum(i * stride for i, stride in zip(index, strides, strict=True)) for index in product(*map(range, shape))]
    return max(map(places.count, places))


def _figure(name: str, size: tuple[int, int], svg: str, controls: str, caption: str, given: Mapping[str, object], script: str) -> str:
    """The figure with its controls, the sentence on its state, its caption, and the script that connects them."""
    width, height = size
    attributes = f'aria-hidden="true" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{svg}</svg>'
    begin = f'const figure = document.getElementById("interactive-{name}"), given = {json.dumps(given)}'
    return (
        f'<figure class="drawn interactive" id="interactive-{name}"><div class="controls">{controls}</div>{drawn}'
        f'<p class="state" data-part="state" aria-live="polite"></p><figcaption>{escape(caption)}</figcaption></figure>'
        f"<script>(() => {{\n  {begin}{HELPERS}{script}}})()</script>"
    )


class Descent(SphinxDirective):
    """Show gradient descent with a slider for the learning rate."""

    def run(self) -> list[nodes.Node]:
        """The figure as HTML."""
        return [nodes.raw("", descent(), format="html")]


class Fit(SphinxDirective):
    """Show a model of one input with sliders for its two parameters."""

    def run(self) -> list[nodes.Node]:
        """The figure as HTML."""
        return [nodes.raw("", fit(), format="html")]


class Views(SphinxDirective):
    """Show views of one table with a slider for the element."""

    def run(self) -> list[nodes.Node]:
        """The figure as HTML."""
        return [nodes.raw("", views(), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directives."""
    app.add_directive("descent", Descent)
    app.add_directive("fit", Fit)
    app.add_directive("views", Views)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
