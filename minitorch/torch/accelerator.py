"""Stage 6 - torch.accelerator: the GPU, if there is one, whatever its kind."""

from __future__ import annotations

from minitorch.torch.absent import defined, refuse_absent
from minitorch.torch.cuda.devices import device_count, is_available, synchronize
from minitorch.torch.places import device

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def current_accelerator(check_available: bool = False) -> device | None:
    """The GPU as a device; None without one.

    Args:
        check_available: Accepted for PyTorch, where a program may be built for a GPU that is missing.
    """
    return device("cuda") if is_available() else None


__getattr__ = refuse_absent("torch.accelerator", defined(globals()))
