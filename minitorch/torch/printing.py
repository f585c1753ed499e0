"""Stage 7 - The text of a tensor, in PyTorch's form."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtypes import bool_, int64, is_float, printable
from minitorch.torch.promotion import get_default_dtype


def represent(x: Any) -> str:
    """The text of a Tensor: its elements with four decimals, and what differs from the defaults."""
    values = printable(x._tensor.array())
    text = np.array2string(values, separator=", ", prefix="tensor(", threshold=1000, formatter=formatter(values))
    notes = [f"size={tuple(x.shape)}"] if not x.numel() and x.dim() != 1 else []
    if x.dtype not in (int64, bool_, get_default_dtype()) or (not x.numel() and not is_float(x.dtype)):
        notes.append(f"dtype=torch.{x.dtype.name}")
    if x.is_cuda:
        notes.insert(0, f"device='{x.device}'")
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{x.grad_fn.name()}>")
    elif x.requires_grad:
        notes.append("requires_grad=True")
    return f"tensor({', '.join([text, *notes])})"


def formatter(values: np.ndarray) -> Any:
    """How numbers are written: whole ones with a point, others with four decimals or in scientific notation; finite ones of one width."""
    if values.dtype.kind != "f":
        return {"bool": lambda flag: f"{flag!s:>5}"} if values.dtype.kind == "b" and values.size and not values.all() else None
    finite = np.abs(values[np.isfinite(values)].astype(float))
    above = finite[finite > 0]
    if (finite == np.trunc(finite)).all():
        write = "{:.4e}".format if above.size and above.max() > 1e8 else "{:.0f}.".format
    elif above.max() / above.min() > 1000 or above.max() > 1e8 or above.min() < 1e-4:
        write = "{:.4e}".format
    else:
        write = "{:.4f}".format
    shown = lambda number: write(number) if np.isfinite(number) else str(number)  # noqa: E731
    width = max((len(write(number)) for number in values.reshape(-1)[:1000] if np.isfinite(number)), default=0)
    return {"float_kind": lambda number: f"{shown(number):>{width}}"}
