"""The playground's networks of Tensors on a compiled backend, whose layers are those of `project/run_fast_tensor.py`."""

from __future__ import annotations

from typing import Any

import minitorch
from project.lab.playground.tensor_trainer import TensorTrainer
from project.run_fast_tensor import Linear


class FastTrainer(TensorTrainer):
    """The network of `TensorTrainer` on the compiled backend."""

    backend = minitorch.FastBackend

    def make_linear(self, in_size: int, out_size: int) -> Any:
        """See `TensorTrainer.make_linear`."""
        return Linear(in_size, out_size, self.backend)


class CompiledTrainer(FastTrainer):
    """The network of `FastTrainer`, whose step is recorded once for each size of a batch, and replayed without Python."""

    def make_step(self) -> Any:
        """See `TensorTrainer.make_step`."""
        return minitorch.compile(super().make_step(), fallback="eager", max_recordings=self.setting.batch)
