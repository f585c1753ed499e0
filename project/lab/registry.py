"""The pages of the app: one row each, in the order of the menu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.manifest import course


@dataclass(frozen=True)
class View:
    """One page.

    Attributes:
        name: Its file under views/ without .py, also its address.
        title: Its name in the menu.
        module: The module of the course that it belongs to; None for the board.
        icon: A Material symbol.
        purpose: What one does there, in a sentence.
    """

    name: str
    title: str
    module: int | None
    icon: str
    purpose: str

    @property
    def path(self) -> str:
        """The file, relative to app.py."""
        return f"views/{self.name}.py"


APP = Path(__file__).resolve().parent.parent

VIEWS = (
    View("home", "Board", None, "home", "Every task, how it stands, and which one is next."),
    View("m0_operators", "Operators", 0, "function", "Draw each operator and its derivative, and read its source."),
    View("m0_modules", "Module tree", 0, "account_tree", "Look into a network: its children, its parameters, its mode."),
    View("m0_datasets", "Data sets", 0, "scatter_plot", "The six sets of points that networks of this course learn."),
    View("m0_manual", "Manual classifier", 0, "tune", "Be the optimizer: move three numbers until a line separates the points."),
    View(
        "m1_derivative", "Derivatives", 1, "show_chart", "A function, its tangent, and how well a difference quotient meets its derivative."
    ),
    View("m1_graph", "Expression graph", 1, "schema", "Type an expression and step backpropagation through its graph, forward and back."),
    View("m1_trace", "Traces", 1, "table_rows", "Forward and reverse mode side by side, every step in a table."),
    View("m1_training", "Training", 1, "model_training", "Train a network of Scalars and watch its boundary move."),
    View(
        "m2_strides", "Stride explorer", 2, "grid_on", "Shape, strides and offset: permute, slice and expand, and see who shares a storage."
    ),
    View("m2_broadcasting", "Broadcasting", 2, "open_in_full", "Two shapes matched from the right, and where each cell comes from."),
    View(
        "m2_functions",
        "Tensor functions",
        2,
        "area_chart",
        "Functions of tensors as curves, surfaces and grids, with the gradients that flow back.",
    ),
    View(
        "m2_graph",
        "Tensor graph",
        2,
        "schema",
        "Step gradients back through the graph of a tensor expression, and see where they are summed.",
    ),
    View("m2_training", "Tensor training", 2, "model_training", "The network again, made of Tensors: all points at once."),
    View(
        "m3_diagnostics", "Parallel loops", 3, "lan", "What the compiler made of your loops: which run in parallel, and what they allocate."
    ),
    View("m3_speed", "Speed-up", 3, "speed", "Measure the backends on growing work and watch how many times faster they become."),
    View("m3_tiling", "Tiling", 3, "grid_view", "A matrix product step by step, with every read from memory counted."),
    View("m3_grid", "Grid explorer", 3, "apps", "Grid, block and thread: who computes which element, and how a block works together."),
    View(
        "m3_training", "Fast training", 3, "model_training", "The network on a compiled backend, a hundred numbers wide, in mini-batches."
    ),
    View(
        "m4_convolution", "Convolution", 4, "filter_center_focus", "A window slides over an image: its products and its sums, cell by cell."
    ),
    View("m4_pooling", "Pooling", 4, "zoom_in_map", "Windows side by side: their maximum or mean, and where the gradient goes back to."),
    View("m4_softmax", "Softmax", 4, "thermostat", "From numbers to probabilities: temperature, and why the largest is subtracted first."),
    View("m4_dropout", "Dropout", 4, "blur_on", "Numbers left out at random: the mask, the rate, and what it does to a sum."),
    View(
        "m4_images", "Images", 4, "image_search", "Train on digits: mistakes, filters and feature maps, and a digit that you draw yourself."
    ),
    View("m4_sentiment", "Sentiment", 4, "reviews", "Train on sentences of praise and blame, and see which words the network goes by."),
)


def view(name: str) -> View:
    """The page with this name."""
    return next(row for row in VIEWS if row.name == name)


def present() -> list[View]:
    """The pages that this workspace has: one of Module 0 alone lacks the later ones."""
    stages = {None, *(stage.number for stage in course().stages)}
    return [row for row in VIEWS if row.module in stages and (APP / row.path).is_file()]


def sections() -> dict[str, list[View]]:
    """The pages under the headings of the menu."""
    titles = {stage.number: f"{stage.number} · {stage.title}" for stage in course().stages}
    grouped: dict[str, list[View]] = {}
    for row in present():
        grouped.setdefault("" if row.module is None else titles[row.module], []).append(row)
    return grouped


def start(arguments: Sequence[Any]) -> tuple[View, str]:
    """The page to open first, and a complaint about the arguments ("" if there is none).

    Args:
        arguments: What stands after `streamlit run project/app.py --`: nothing, or the number of a module.
    """
    modules = sorted({str(row.module) for row in present() if row.module is not None})
    if not arguments:
        return VIEWS[0], ""
    if len(arguments) == 1 and str(arguments[0]) in modules:
        return next(row for row in present() if row.module == int(arguments[0])), ""
    got = " ".join(map(str, arguments))
    return VIEWS[0], f"expected the number of a module after --, one of {', '.join(modules)}, got {got!r}"
