"""Stage 6 - torch.nn.attention: which kernel computes attention. There is one here, its formula."""

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
        backends: Kernels, one of which must be MATH.
        set_priority: Accepted for PyTorch: there is no choice.

    Raises:
        TypeError: If one is not an SDPBackend.
        RuntimeError: If MATH is not among them.
    """
    allowed = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for each in allowed:
        if not isinstance(each, SDPBackend):
            raise TypeError(f"sdpa_kernel expected torch.nn.attention.SDPBackend, got {each!r}; such as SDPBackend.MATH")
    if SDPBackend.MATH not in allowed:
        names = ", ".join(each.name for each in allowed)
        raise RuntimeError(f"sdpa_kernel expected MATH among the kernels, the only one here, got {names}; add SDPBackend.MATH")
    return nullcontext()
