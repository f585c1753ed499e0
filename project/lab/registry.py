"""The pages of the app, one row each in the order of the menu, and the parts of pages that have several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course.manifest import course


@dataclass(frozen=True)
class View:
    """A page, or a part of one.

    Attributes:
        name: Its URL path; for a page also its file under views/ without .py.
        title: Its name in the menu and in links.
        module: The module of the course that it belongs to; None for the board.
        icon: The name of a Material symbol.
        purpose: What a student does on the page, in one sentence; shown in the menu under the pointer.
        within: The page of a part, to which the path of the part redirects; "" for a page.
        query: The query parameters that open the part; for a page its first one.
        prefix: What the names of the page's parameters begin with, if those of the part do not.
        heading: The module under whose heading the menu lists it, if that is another one and this workspace has it.
    """

    name: str
    title: str
    module: int | None
    icon: str
    purpose: str = ""
    within: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    heading: int | None = None

    @property
    def path(self) -> str:
        """The file, relative to app.py."""
        return f"views/{self.within or self.name}.py"


APP = Path(__file__).resolve().parent.parent

VIEWS = (
    View("home", "Board", None, "home", "The status of every task, and which one is next."),
    View("playground", "Playground", None, "joystick", "Build a network, change it while it trains, and see what each unit computes."),
    View("runs", "Runs", None, "history", "Compare, repeat or delete training runs; sweeps.", query={"runs_part": "Runs"}),
    View("m0_operators", "Operators", 0, "function", "Plot each operator and its derivative, and read its source."),
    View("m0_modules", "Module tree", 0, "account_tree", "Inspect a network: its children, its parameters and its mode."),
    View("m0_manual", "Manual classifier", 0, "tune", "Be the optimizer: adjust three numbers until a line separates the points."),
    View("m1_derivative", "Derivatives", 1, "show_chart", "A function, its tangent, and the error of its numerical derivative."),
    View("m1_graph", "Graph", 1, "schema", "Step backpropagation through a graph; traces.", query={"graph_part": "Scalars"}),
    View("m1_training", "Training", 1, "model_training", "Watch a decision boundary move.", query={"training_part": "Scalars"}),
    View(
        "m2_strides",
        "Stride explorer",
        2,
        "grid_on",
        "Shape, strides and offset: permute, slice and expand, and see what shares a storage.",
    ),
    View("m2_broadcasting", "Broadcasting", 2, "open_in_full", "Align two shapes from the right, and see the operands of each element."),
    View("m2_functions", "Tensor functions", 2, "area_chart", "Tensor functions as curves, surfaces and grids, with their gradients."),
    View("m3_speed", "Speed-up, loops", 3, "speed", "Time the backends; read numba's reports.", query={"speed_part": "Speed-up"}),
    View("m3_tiling", "Tiling", 3, "grid_view", "A matrix product step by step, counting every read from memory."),
    View("m3_grid", "Grid explorer", 3, "apps", "Grid, block and thread: which thread computes which element, and how a block cooperates."),
    View(
        "m3_kernels",
        "Kernel laboratory",
        3,
        "developer_board",
        "Step a warp through a CUDA kernel: its memory accesses, conflicts and races, without a GPU.",
    ),
    View(
        "m4_convolution",
        "Convolution, pooling",
        4,
        "filter_center_focus",
        "Slide a kernel over an image; pool its windows.",
        query={"conv_part": "Convolution"},
    ),
    View("m4_softmax", "Softmax, dropout", 4, "thermostat", "Logits to probabilities; dropout.", query={"softmax_part": "Softmax"}),
    View("m4_images", "Images", 4, "image_search", "Train on digits; inspect mistakes, filters and feature maps; draw your own digit."),
    View("m4_sentiment", "Sentiment", 4, "reviews", "Classify sentences as positive or negative; see the weight of each word."),
    View("m5_compiled", "Compiled step", 5, "bolt", "A training step as a program, pass by pass, and what compiling it gains."),
    View("m6_tokens", "Tokens", 6, "text_fields", "Byte-pair encoding, merge by merge, and any text as tokens."),
    View("m6_layers", "Language layers", 6, "layers", "Layer normalization, GELU and embedding, with their gradients."),
    View("m6_attention", "Attention by hand", 6, "hub", "Queries, keys and values of each head, the causal mask, and the weights."),
    View("m6_model", "The model", 6, "stacks", "The parameters of a model, its first loss, and a batch that it learns by heart."),
    View("m6_fused", "Fused attention", 6, "grid_view", "Largest score, sum of weights and output of a query, one tile after the other."),
    View(
        "m6_generation", "The next token", 6, "edit_note", "Probabilities that move with temperature, top_k and top_p, and samples of them."
    ),
    View(
        "m6_training",
        "Training at scale",
        6,
        "trending_down",
        "The schedule of a training, clipped gradients, and losses with warm-up and without.",
    ),
    View("m6_quantization", "Weights in a byte", 6, "compress", "A row of weights as integers, its errors, and a model before and after."),
    View(
        "m6_lora",
        "Low-rank adapters",
        6,
        "tune",
        "Teach a trained network another text with few numbers, and look at the change of a weight.",
    ),
    View(
        "m6_language_model",
        "A language model",
        6,
        "forum",
        "Follow one prediction from text to number: tokens, attention, residual stream and cache of a trained model.",
    ),
    View(
        "m6_machines",
        "Several machines",
        6,
        "sync_alt",
        "Processes that sum their gradients in a ring, step by step: who sends what, what it costs, and a pipeline.",
        heading=7,
    ),
    View("m7_formats", "Number formats", 7, "memory", "Set the bits of a floating-point number, and see its value and what rounding does."),
)

PARTS = (
    View("m0_datasets", "Data sets", None, "scatter_plot", within="playground", query={"pg_table": "true"}, prefix="pg_"),
    View("sweeps", "Sweeps", None, "query_stats", within="runs", query={"runs_part": "Sweeps"}),
    View("m1_trace", "Graph (traces)", 1, "table_rows", within="m1_graph", query={"graph_part": "Traces"}),
    View("m2_graph", "Graph (tensors)", 2, "schema", within="m1_graph", query={"graph_part": "Tensors"}),
    View("m2_training", "Training (tensors)", 2, "model_training", within="m1_training", query={"training_part": "Tensors"}),
    View("m3_training", "Training (compiled)", 3, "model_training", within="m1_training", query={"training_part": "Compiled backend"}),
    View("m3_diagnostics", "Parallel loops", 3, "lan", within="m3_speed", query={"speed_part": "Parallel loops"}),
    View("m4_pooling", "Pooling", 4, "zoom_in_map", within="m4_convolution", query={"conv_part": "Pooling"}),
    View("m4_dropout", "Dropout", 4, "blur_on", within="m4_softmax", query={"softmax_part": "Dropout"}),
)
"""The parts of pages but the first, which the name of the page opens."""

ROWS = VIEWS + PARTS


def view(name: str) -> View:
    """Return the page or part with this name."""
    return next(row for row in ROWS if row.name == name)


def opened(page: str, state: Mapping[str, Any]) -> View:
    """Return the part of a page that is open, given the session state; the page itself if it is the first part."""
    parts = (row for row in PARTS if row.within == page and all(state.get(key) == value for key, value in row.query.items()))
    return next(parts, view(page))


def present(rows: Sequence[View] = VIEWS) -> list[View]:
    """Return the pages of this workspace, which may end after any module; or those of these pages and parts that it has."""
    stages = {None, *(stage.number for stage in course().stages)}
    return [row for row in rows if row.module in stages and (APP / row.path).is_file()]


def sections() -> dict[str, list[View]]:
    """Return the pages grouped by the headings of the menu."""
    titles: dict[int | None, str] = {stage.number: f"{stage.number} · {stage.title}" for stage in course().stages}
    grouped: dict[str, list[View]] = {}
    for row in present():
        heading = "" if row.module is None else titles[row.module]
        grouped.setdefault(titles.get(row.heading, heading), []).append(row)
    return grouped


def start(arguments: Sequence[Any]) -> tuple[View, str]:
    """Return the page to open first, and an error message ("" if the arguments are valid).

    Args:
        arguments: What follows `streamlit run project/app.py --`: nothing, or the number of a module.
    """
    modules = sorted({str(row.module) for row in present() if row.module is not None})
    if not arguments:
        return VIEWS[0], ""
    if len(arguments) == 1 and str(arguments[0]) in modules:
        return next(row for row in present() if row.module == int(arguments[0])), ""
    got = " ".join(map(str, arguments))
    return VIEWS[0], f"expected a module number after --, one of {', '.join(modules)}, got {got!r}"
