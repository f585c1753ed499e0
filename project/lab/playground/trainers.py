"""The trainer of each kind of network, imported when it is used, because a workspace may end before it."""

from __future__ import annotations

from project.lab.playground.points import Points, make_points
from project.lab.playground.setting import PlaygroundSetting
from project.lab.playground.trainer import Trainer


def make_trainer(setting: PlaygroundSetting, points: Points | None = None) -> Trainer:
    """Return the trainer of a setting.

    Args:
        setting: The setting.
        points: Other points than those of the setting.

    Raises:
        ValueError: If the setting's file is not as expected.
        OSError: If it cannot be read.
    """
    points = points or make_points(setting)
    if setting.network == "scalars":
        from project.lab.playground.scalar_trainer import ScalarTrainer

        return ScalarTrainer(setting, points)
    if setting.network == "tensors":
        from project.lab.playground.tensor_trainer import TensorTrainer

        return TensorTrainer(setting, points)
    from project.lab.playground.fast_trainer import CompiledTrainer, FastTrainer

    return (CompiledTrainer if setting.network == "compiled" else FastTrainer)(setting, points)
