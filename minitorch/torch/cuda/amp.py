"""Stage 7 - torch.cuda.amp: the older names of torch.amp."""

from __future__ import annotations

from typing import Any

from minitorch.torch import amp
from minitorch.torch.amp import GradScaler as GradScaler


class autocast(amp.autocast):
    """`torch.amp.autocast` for the GPU."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)
