"""The settings of the playground: what `project/run_playground.py` and the page train."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import minitorch
from course.manifest import ROOT
from project.lab.training.settings import BaseSetting, option

FEATURES: dict[str, Callable[[float, float], float]] = {
    "x1": lambda x_1, x_2: x_1,
    "x2": lambda x_1, x_2: x_2,
    "x1^2": lambda x_1, x_2: x_1 * x_1,
    "x2^2": lambda x_1, x_2: x_2 * x_2,
    "x1*x2": lambda x_1, x_2: x_1 * x_2,
    "sin(x1)": lambda x_1, x_2: math.sin(math.pi * x_1),
    "sin(x2)": lambda x_1, x_2: math.sin(math.pi * x_2),
}
"""The inputs that a network can have, as functions of a point's coordinates from -1 to 1; the sines have one period there."""

PROGRAMS = {"scalars": "run_scalar", "tensors": "run_tensor", "fast": "run_fast_tensor", "compiled": "run_fast_tensor"}
"""The program whose Linear layers each kind of network uses."""

_FILES = {kind: [f"project/{program}.py"] for kind, program in PROGRAMS.items()}
_FILES["compiled"].append("minitorch/compiler/compiled.py")

NETWORKS = tuple(kind for kind, files in _FILES.items() if all((ROOT / file).is_file() for file in files))
"""The kinds of networks of this workspace, which may end after Module 1."""

ACTIVATIONS = ("relu", "tanh", "sigmoid", "linear")
RATES = {"SGD": 0.5, "momentum": 0.05, "Adam": 0.03}
"""By optimizer, a learning rate with which the other defaults learn."""

OPTIMIZERS = tuple(RATES)
REGULARIZATIONS = ("none", "L1", "L2")
MOST_LAYERS, MOST_UNITS = 6, 8

LIVE = ("activation", "optimizer", "rate", "batch", "regularization", "penalty", "epochs")
"""The fields that may change during a run; a change of any other one begins a new network."""


@dataclass(frozen=True)
class PlaygroundSetting(BaseSetting):
    """All inputs of a run: the same setting gives the same run.

    Attributes:
        network: What it is made of: Scalars, Tensors, Tensors on a compiled backend, or those with a compiled training step.
        dataset: A name in `minitorch.datasets`.
        points: Number of points.
        noise: The largest displacement of a point, after it is labeled, along each axis.
        test: The percentage of points that are not trained on.
        file: A CSV file of points in the place of the data set; "" for none.
        features: Names in FEATURES, separated by commas.
        layers: The number of units of each hidden layer, separated by commas; "none" for no hidden layer.
        activation: The function of the hidden units.
        optimizer: A name in OPTIMIZERS.
        rate: Learning rate.
        batch: Number of points of an update.
        regularization: Which penalty on the weights is added to the loss: rate · Σ|w| (L1) or rate / 2 · Σw² (L2).
        penalty: The rate of that penalty.
        epochs: Number of passes over the points.
        seed: For the points, the split, the initial weights and the order of the points.

    Raises:
        ValueError: If a value is not allowed.
    """

    program: ClassVar[str] = "run_playground"

    network: str = option("scalars", f"what it is made of: {', '.join(NETWORKS)}", choices=NETWORKS)
    dataset: str = option("Xor", f"one of {', '.join(minitorch.datasets)}", choices=tuple(minitorch.datasets))
    points: int = option(100, "how many points", low=4, high=2_000)
    noise: float = option(0.0, "how far a point is moved at most along each axis, after it is labeled", low=0, high=0.5)
    test: int = option(30, "percentage of points that are not trained on", low=0, high=90)
    file: str = option("", "a CSV file of points in the place of the data set: x1, x2, label")
    features: str = option("x1,x2", f"the inputs, separated by commas, of {' '.join(FEATURES)}")
    layers: str = option("4,3", "units of each hidden layer, separated by commas; none for no hidden layer")
    activation: str = option("tanh", f"function of the hidden units: {', '.join(ACTIVATIONS)}", choices=ACTIVATIONS)
    optimizer: str = option("SGD", f"{', '.join(OPTIMIZERS)}", choices=OPTIMIZERS)
    rate: float = option(RATES["SGD"], "learning rate", above=0, high=10)
    batch: int = option(10, "points of an update", low=1, high=2_000)
    regularization: str = option("none", "penalty on the weights: none, L1, L2", choices=REGULARIZATIONS)
    penalty: float = option(0.01, "rate of that penalty", low=0, high=10)
    epochs: int = option(500, "how often to go through the points", low=1, high=1_000_000)
    seed: int = option(0, "for points, split, weights and order", low=0, high=2**32 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.feature_names
        if not names or len(set(names)) != len(names) or not set(names) <= FEATURES.keys():
            raise ValueError(f"features expected different names of {' '.join(FEATURES)}, separated by commas, got {self.features!r}")
        if not (units_of(self.layers) or self.layers == "none"):
            raise ValueError(
                f"layers expected up to {MOST_LAYERS} numbers of units, each from 1 to {MOST_UNITS}, separated by commas, such as 4,3, "
                f"or none, got {self.layers!r}"
            )

    @property
    def feature_names(self) -> list[str]:
        """The names of the inputs."""
        return [name.strip() for name in self.features.split(",")]

    @property
    def sizes(self) -> list[int]:
        """The number of inputs, the units of each hidden layer, and 1 for the output."""
        return [len(self.feature_names), *units_of(self.layers), 1]


def units_of(text: str) -> list[int]:
    """The units of each hidden layer that a text such as "4,3" names; an empty list if it names none or is wrong."""
    words = [word.strip() for word in text.split(",")]
    units = [int(word) if word.isdecimal() else 0 for word in words]
    return units if len(units) <= MOST_LAYERS and all(1 <= each <= MOST_UNITS for each in units) else []


def inputs(names: list[str], point: tuple[float, float]) -> list[float]:
    """The inputs of the network for a point of the unit square, whose coordinates are first moved to the range from -1 to 1."""
    x_1, x_2 = 2 * point[0] - 1, 2 * point[1] - 1
    return [FEATURES[name](x_1, x_2) for name in names]
