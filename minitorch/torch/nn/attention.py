"""Stage 7 - torch.nn.attention: which kernel computes attention.

Here it is in tiles (FLASH_ATTENTION) where it can be, else by its formula (MATH).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext


class SDPBackend(enum.Enum):
    """The kernels of PyTorch."""

    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION, OVERRIDEABLE = -1, 0, 1, 2, 3, 4


def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> AbstractContextManager[None]:
    """Choose the kernels that may compute attention in a block.

    Args:
        backends: Kernels, among them MATH or FLASH_ATTENTION.
        set_priority: No effect: the library chooses.

    Raises:
        TypeError: If one is not an SDPBackend.
        RuntimeError: If neither is among them.
    """
    allowed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for each in allowed:
        if not isinstance(each, SDPBackend):
            raise TypeError(f"sdpa_kernel expected torch.nn.attention.SDPBackend, got {each!r}; such as SDPBackend.MATH")
    if not {SDPBackend.MATH, SDPBackend.FLASH_ATTENTION}.intersection(allowed):
        names = ", ".join(each.name for each in allowed)
        raise RuntimeError(f"sdpa_kernel expected MATH or FLASH_ATTENTION among the kernels, got {names or 'none'}; add SDPBackend.MATH")
    return nullcontext()
