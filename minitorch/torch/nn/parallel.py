"""Stage 6 - torch.nn.parallel: a module on several devices, of which at most one is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.torch.nn.module import Module


class DataParallel(Module):
    """A module whose batches PyTorch distributes over GPUs; here all of them go to one device.

    Args:
        module: The module; it is the child `module`, which the names of a state dict begin with.
        device_ids: The GPUs, at most one.
        output_device: The GPU of the result.
        dim: The dimension of the batches.

    Raises:
        ValueError: If there are several GPUs.
    """

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"DataParallel expected at most one device, got {len(device_ids)}; leave device_ids out")
        self.module, self.device_ids, self.output_device, self.dim = module, list(device_ids or []), output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
