"""Stage 7 - torch.autograd.profiler: PyTorch's older names for `torch.profiler`."""

from __future__ import annotations

from typing import Any

import minitorch.torch.profiler as newer
from minitorch.torch.absent import refuse_absent
from minitorch.torch.profiler import record_function as record_function

NO_GPU = "it marks ranges for another profiler, which does not see the functions of this library; use torch.profiler.profile"


class profile(newer.profile):
    """`torch.profiler.profile` with PyTorch's older arguments.

    Args:
        enabled: Whether anything is counted.
        record_shapes: Whether `key_averages` can group by shapes.
        options: No effect: `use_cuda`, `with_flops`, `profile_memory`, `with_stack` …
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, **options: Any) -> None:
        super().__init__(record_shapes=record_shapes)
        self._enabled = enabled

    def __enter__(self) -> Any:
        return super().__enter__() if self._enabled else self

    def __exit__(self, *error: object) -> None:
        if self._enabled:
            super().__exit__(*error)

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The rows as text; see `EventList.table`."""
        return self.key_averages().table(sort_by, row_limit, **options)

    def total_average(self) -> newer.FunctionEventAvg:
        """The sum of all rows."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all functions."""
        return self.total_average().self_cpu_time_total


__getattr__ = refuse_absent("torch.autograd.profiler", ["profile", "record_function"], reasons={"emit_nvtx": NO_GPU, "emit_itt": NO_GPU})
