"""The presets of the playground: settings to start from, each with a sentence of what to watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from project.lab.playground.setting import RATES, PlaygroundSetting

KEPT = ("network", "file", "seed")
"""The fields that a preset leaves as they are."""


@dataclass(frozen=True)
class Preset:
    """A preset.

    Attributes:
        watch: What to watch, in a sentence or two.
        changed: The fields that differ from the default setting.
    """

    watch: str
    changed: dict[str, Any]

    def values(self) -> dict[str, Any]:
        """The value of every field that the preset sets."""
        fields = vars(PlaygroundSetting(**self.changed))
        return {name: value for name, value in fields.items() if name not in KEPT}


PRESETS = {
    "Solve the spiral": Preset(
        "The two arms separate within about 50 epochs. Then remove both sines under **Network**: how many epochs does it take now?",
        {
            "dataset": "Spiral",
            "points": 200,
            "features": "x1,x2,sin(x1),sin(x2)",
            "layers": "8,8",
            "optimizer": "Adam",
            "rate": RATES["Adam"],
        },
    ),
    "Overfit": Preset(
        "The training loss falls toward 0, while the test loss soon rises: the network learns the noise of its 20 training points.",
        {"dataset": "Circle", "points": 40, "noise": 0.3, "test": 50, "layers": "8,8", "optimizer": "Adam", "rate": RATES["Adam"]},
    ),
    "Dead ReLU": Preset(
        "Units turn white: their output is 0 everywhere, so their gradient is 0 as well, and they stay white for the rest of the run.",
        {"dataset": "Circle", "layers": "6,4", "activation": "relu", "rate": 3.0},
    ),
    "Rate too large": Preset(
        "The loss jumps up and down instead of falling: each step goes past the minimum. Press **Reset**, choose 0.5, and compare.",
        {"rate": 5.0},
    ),
}
"""By title."""
