"""Pooling window by window: the values of each window, their maximum or mean, and the gradient that each value receives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from project.lab.charts.cells import Cell, grid
from project.lab.explorers.convolution import cell_width, largest, short
from project.lab.typed.arrays import factor, figure
from project.lab.typed.source import Refused

KINDS = ("max", "average")
RULES = {
    "all": "your code gives each of them the whole gradient",
    "shared": "your code divides the gradient among them",
    "one": "your code gives the gradient to one of them",
}
"""The accepted gradients if several values of a window are equal to its maximum."""


@dataclass(frozen=True)
class Pooling:
    """Pooling of one channel.

    Attributes:
        image: Rows and columns.
        window: Rows and columns of a window.
        kind: One of KINDS.
    """

    image: np.ndarray
    window: tuple[int, int]
    kind: str

    def __post_init__(self) -> None:
        if any(size % side for size, side in zip(self.image.shape, self.window, strict=True)):
            raise Refused(f"expected a window that divides the image of shape {self.image.shape}, got {self.window}")

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the result."""
        return self.image.shape[0] // self.window[0], self.image.shape[1] // self.window[1]

    @property
    def size(self) -> int:
        """The number of windows."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def tiles(self) -> np.ndarray:
        """The values of each window in the last dimension, shape (rows, columns, values per window)."""
        windows = np.lib.stride_tricks.sliding_window_view(self.image, self.window)[:: self.window[0], :: self.window[1]]
        return windows.reshape(*self.shape, -1)

    @property
    def expected(self) -> np.ndarray:
        """The correct result."""
        return self.tiles.max(2) if self.kind == KINDS[0] else self.tiles.mean(2)

    def index(self, number: int) -> tuple[int, int]:
        """Return the index of a window from its number, which starts at 0."""
        return divmod(number, self.shape[1])

    def window_of(self, row: int, column: int) -> tuple[int, int]:
        """Return the index of the window that contains a pixel."""
        return row // self.window[0], column // self.window[1]

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Give each pixel the value of its window."""
        return gradient.repeat(self.window[0], 0).repeat(self.window[1], 1)

    @cached_property
    def chosen(self) -> np.ndarray:
        """Whether each pixel is equal to the maximum of its window."""
        return self.image == self.back(self.tiles.max(2))

    @cached_property
    def ties(self) -> np.ndarray:
        """The number of values in each window that are equal to its maximum."""
        return (self.tiles == self.tiles.max(2, keepdims=True)).sum(2)

    def gradients(self, grad_output: np.ndarray) -> dict[str, np.ndarray]:
        """Return the correct gradients of the image, by rule for equal maxima.

        Args:
            grad_output: The gradient of the result.
        """
        spread = self.back(grad_output)
        if self.kind == KINDS[1]:
            return {"all": spread / (self.window[0] * self.window[1])}
        return {"all": spread * self.chosen, "shared": spread * self.chosen / self.back(self.ties)}


def rule_of(pooling: Pooling, grad_output: np.ndarray, gradient: np.ndarray) -> str | None:
    """Return the rule in RULES that a gradient of the image follows; None if it is wrong."""
    for rule, expected in pooling.gradients(grad_output).items():
        if np.allclose(gradient, expected, rtol=1e-6, atol=1e-6):
            return rule
    if pooling.kind == KINDS[1]:
        return None
    received = Pooling(gradient, pooling.window, pooling.kind).tiles
    one = (np.count_nonzero(received, 2) == (grad_output != 0)).all() and np.allclose(received.sum(2), grad_output, rtol=1e-6, atol=1e-6)
    return "one" if one and pooling.chosen[gradient != 0].all() else None


# Text


def sentence(pooling: Pooling, number: int) -> str:
    """Describe the position of the window after `number` windows."""
    if not number:
        kh, kw = pooling.window
        return f"{pooling.size} windows of {kh} by {kw} without overlap. The result will have shape {pooling.shape}."
    (y, x), (kh, kw) = pooling.index(number - 1), pooling.window
    return f"out[{y}, {x}]: the window covers rows {_span(y * kh, kh)} and columns {_span(x * kw, kw)}."


def arithmetic(pooling: Pooling, number: int) -> str:
    """Return the computation for the last window."""
    if not number:
        what = "max of" if pooling.kind == KINDS[0] else "mean of"
        return f"out[y, x] = {what} in[y·{pooling.window[0]} + i, x·{pooling.window[1]} + j]"
    y, x = pooling.index(number - 1)
    numbers = [float(value) for value in pooling.tiles[y, x]]
    result = figure(pooling.expected[y, x])
    if pooling.kind == KINDS[0]:
        return f"out[{y}, {x}] = max({', '.join(map(figure, numbers))}) = {result}"
    added = " + ".join([figure(numbers[0]), *map(factor, numbers[1:])])
    return f"out[{y}, {x}] = ({added}) / {len(numbers)} = {figure(sum(numbers))} / {len(numbers)} = {result}"


def back_arithmetic(pooling: Pooling, number: int, grad_output: np.ndarray, gradient: np.ndarray) -> str:
    """Return the gradients that the values of the last window receive."""
    if not number:
        return "in.grad[row, column] = the part of out.grad that the pixel receives from its window"
    y, x = pooling.index(number - 1)
    shares = Pooling(gradient, pooling.window, pooling.kind).tiles[y, x]
    given = f"out.grad[{y}, {x}] = {figure(grad_output[y, x])}"
    return f"{given}\nvalues    {', '.join(map(figure, pooling.tiles[y, x]))}\ngradients {', '.join(map(figure, shares))}"


def lesson(pooling: Pooling, rule: str | None) -> str:
    """Describe how the gradient is distributed within a window."""
    if pooling.kind == KINDS[1]:
        return f"Each value has weight 1/{pooling.window[0] * pooling.window[1]} in the mean and receives that fraction of the gradient."
    tied = int((pooling.ties > 1).sum())
    says = "The result depends only on the largest value of each window, so the gradient of the others is 0."
    if not tied or rule is None:
        return says
    where = f"In {tied} of {pooling.size} windows, several values are equal to the maximum"
    choice = "The maximum is not differentiable there, so other choices are accepted; the published course gives each the whole gradient."
    return f"{says} {where}: {RULES[rule]}. {choice}"


def _span(first: int, length: int) -> str:
    """Return a range as text."""
    return f"{first} to {first + length - 1}" if length > 1 else str(first)


# Drawing


def forward_panels(pooling: Pooling, number: int, out: np.ndarray, tiles: np.ndarray) -> list[str]:
    """Return the markup of image, tile and result.

    Args:
        pooling: The pooling.
        number: The number of windows computed so far.
        out: The result.
        tiles: The windows, each flattened in the last dimension.
    """
    winners = pooling.chosen & (pooling.kind == KINDS[0])
    image = _image_panel(pooling, number, pooling.image, "image", winners)
    return [image, _tile_panel(pooling, number, tiles), _result_panel(pooling, number, out, pooling.expected, "result")]


def back_panels(pooling: Pooling, number: int, grad_output: np.ndarray, gradient: np.ndarray) -> list[str]:
    """Return the markup of the image, of the gradient of the result and of the gradient of the image."""
    back = _image_panel(pooling, number, gradient, "gradient of the image", gradient != 0)
    arrives = _result_panel(pooling, number, grad_output, grad_output, "gradient of the result", whole=True)
    winners = pooling.chosen & (pooling.kind == KINDS[0])
    return [_image_panel(pooling, number, pooling.image, "image", winners), arrives, back]


def _image_panel(pooling: Pooling, number: int, values: np.ndarray, title: str, winners: np.ndarray) -> str:
    """Return one value per pixel. The current window is highlighted, and its winners differently from its other pixels."""
    current = pooling.index(number - 1) if number else None
    scale, cells = largest(values), []
    for row, column in np.ndindex(values.shape):
        at = row, column
        window = pooling.window_of(row, column)
        value, tag = float(values[at]), f"w{window[0]},{window[1]}"
        note = f"{title}[{row}, {column}] = {figure(value)}, in window {list(window)}"
        look = "" if window != current else "changed" if winners[at] else "read"
        cells.append(Cell(short(value), tag, (tag,), note, look, ",".join(map(str, window)), tone=value / scale))
    return grid(f"{title}, shape {values.shape}", values.shape, cells, cell_width(values.shape[1]))


def _tile_panel(pooling: Pooling, number: int, tiles: np.ndarray) -> str:
    """Return the flattened windows."""
    current = pooling.index(number - 1) if number else None
    scale, cells = largest(tiles), []
    for y, x, k in np.ndindex(tiles.shape):
        value, tag = float(tiles[y, x, k]), f"w{y},{x}"
        wrong = not np.isclose(value, pooling.tiles[y, x, k])
        look = "wrong" if wrong else "read" if (y, x) == current else ""
        cells.append(Cell(short(value), tag, (tag,), f"tile[{y}, {x}, {k}] = {figure(value)}", look, f"{y},{x}", tone=value / scale))
    return grid(f"tile, shape {tiles.shape}: one window per row", tiles.shape, cells, cell_width(tiles.shape[2]))


def _result_panel(pooling: Pooling, number: int, out: np.ndarray, expected: np.ndarray, title: str, whole: bool = False) -> str:
    """Return one value per window; `whole` shows all of them."""
    scale, cells = largest(out), []
    for at, (y, x) in enumerate(np.ndindex(pooling.shape)):
        value, there, tag = float(out[y, x]), whole or at < number, f"w{y},{x}"
        wrong = there and not np.isclose(value, expected[y, x])
        look = "wrong" if wrong else "changed" if at == number - 1 else "" if there else "faint"
        note = f"{title}[{y}, {x}]" + (f" = {figure(value)}" if there else ", not computed yet")
        note += f"; expected {figure(float(expected[y, x]))}" if wrong else ""
        tone = value / scale if there and np.isfinite(value) else None
        cells.append(Cell(short(value) if there else "", tag, (tag,), note, look, f"{y},{x}", tone=tone))
    return grid(f"{title}, shape {pooling.shape}", pooling.shape, cells, cell_width(pooling.shape[1]))
