"""Stage 6 - torch.cuda: what there is of GPUs."""

from __future__ import annotations

from typing import Any

from minitorch.kernels.cuda.device import require_cuda
from minitorch.tensor import manual_seed


def is_available() -> bool:
    """Whether a GPU can be used."""
    try:
        require_cuda()
    except RuntimeError:
        return False
    return True


def device_count() -> int:
    """How many GPUs are used: at most one."""
    return int(is_available())


def synchronize(device: Any = None) -> None:
    """Wait until the GPU has computed everything."""
    if is_available():
        from numba import cuda

        cuda.synchronize()


def empty_cache() -> None:
    """Nothing: freed memory is not kept."""


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers, which have one stream for all devices."""
    manual_seed(seed)
