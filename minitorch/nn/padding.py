"""Stage 7 - Padding with a constant, by reflection, by repeating the edge and circularly."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from minitorch.autodiff import Context
from minitorch.core.indexing import basic_view
from minitorch.core.recording import call, fill
from minitorch.nn.module import Module
from minitorch.ops.checks import check_tensor
from minitorch.tensor_functions import Function
from minitorch.torch.saved import needing

if TYPE_CHECKING:
    from minitorch.tensor import Tensor

MODES = ("constant", "reflect", "replicate", "circular")
"""The modes of `pad`."""


class ConstantPad(Function):
    """A tensor surrounded by a constant."""

    @staticmethod
    def forward(ctx: Context, a: Tensor, widths: tuple[tuple[int, int], ...], value: float) -> Tensor:
        shape = tuple([size + before + after for size, (before, after) in zip(a.shape, widths, strict=True)])
        inside = tuple([slice(before, before + size) for size, (before, _) in zip(a.shape, widths, strict=True)])
        ctx.save_for_backward(inside)
        out = a.zeros(shape)
        if value:
            call(fill, out._tensor._storage, value)
        if a.numel():
            a.f.id_map(a, a._like(basic_view(out._tensor, inside)))
        return out

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (inside,) = ctx.saved_values
        return grad_output[inside], None, None


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements at both ends of the last dimensions, or remove them where a width is negative.

    Args:
        input: Any shape.
        pad: Widths (before, after) of the last dimension, then of the one before it, and so on.
        mode: "constant"; "reflect", without repeating the edge; "replicate", the edge; "circular", from the other end of what remains.
        value: The constant, 0 by default.

    Raises:
        TypeError: If input is not a Tensor, or a width not an integer.
        ValueError: If the number of widths is odd or too large, the mode is unknown, a width is too large for it, or a constant is given
            for a mode that takes none.
    """
    check_tensor("pad", input, "input")
    widths = [operator.index(width) for width in pad]
    if mode not in MODES:
        raise ValueError(f"pad expected mode {', '.join(MODES)}, got {mode!r}")
    if mode != "constant" and value:
        raise ValueError(f'pad expected a value with mode "constant" only, got value {value} with mode {mode!r}; leave value out')
    if len(widths) % 2 or len(widths) > 2 * input.dims:
        raise ValueError(f"pad expected two widths for each of at most {input.dims} dimensions, got {tuple(pad)} (input {input.shape})")
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    x = input
    for number, (before, after) in enumerate(pairs):
        dim = input.dims - 1 - number
        least = 1 if mode in ("reflect", "replicate") else 0
        if x.shape[dim] + before + after < least or (mode != "constant" and not x.shape[dim]):
            raise ValueError(f"pad expected widths that leave dimension {dim} of shape {input.shape} a size, got {(before, after)}")
        if mode != "constant" and (before, after) != (0, 0):
            x = x[(*[slice(None)] * dim, border_positions(x.shape[dim], before, after, mode))]
    if mode != "constant":
        return x if mode == "circular" else needing(x, input)
    if min(widths, default=0) < 0:
        x = x[tuple([slice(max(0, -before), size - max(0, -after)) for size, (before, after) in _per_dim(x, pairs)])]
    added = tuple([(max(0, before), max(0, after)) for _, (before, after) in _per_dim(x, pairs)])
    return ConstantPad.apply(x, added, float(value or 0)) if any(map(any, added)) else x.clone()


def _per_dim(x: Tensor, pairs: list[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
    """The size and the widths of every dimension."""
    widths = [(0, 0)] * (x.dims - len(pairs)) + pairs[::-1]
    return list(zip(x.shape, widths, strict=True))


def border_positions(size: int, before: int, after: int, mode: str) -> np.ndarray:
    """For every position of the padded dimension, the position of the input that it repeats.

    Raises:
        ValueError: If the input is too short.
    """
    kept = size + min(before, 0) + min(after, 0)
    limit = {"reflect": size - 1, "circular": max(kept, 0), "replicate": max(before, after, 0)}[mode]
    if max(before, after) > limit:
        raise ValueError(f"pad expected widths of at most {limit} in mode {mode!r} for a size of {size}, got {(before, after)}")
    positions = np.arange(-before, size + after)
    if mode == "replicate":
        return positions.clip(0, size - 1)
    if mode == "circular":
        first = max(-before, 0)
        return (positions - first) % max(kept, 1) + first
    return size - 1 - abs(size - 1 - abs(positions))


# Layers


class _Pad(Module):
    """Base class of the padding layers.

    Args:
        padding: One width for all sides, or the widths in the order of `pad`.

    Raises:
        ValueError: If the number of widths is wrong.

    Attributes:
        dims: Number of padded dimensions.
        mode: A mode of `pad`.
    """

    dims: ClassVar[int]
    mode: ClassVar[str] = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, Sequence) else (padding,) * (2 * self.dims)
        if len(self.padding) != 2 * self.dims:
            raise ValueError(f"{type(self).__name__} expected one width or {2 * self.dims}, got {padding!r}")
        self.value = 0.0

    def extra_repr(self) -> str:
        return str(self.padding)

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return pad(input, self.padding, self.mode, self.value)


class _ConstantPad(_Pad):
    """Base class of the layers that pad with a constant."""

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _layer(name: str, base: type[_Pad], dims: int, mode: str) -> Any:
    """Make a padding layer."""
    doc = f"Padding of the last {dims} dimensions, mode {mode!r}; see `pad`." if dims > 1 else f"Padding, mode {mode!r}; see `pad`."
    return type(name, (base,), {"dims": dims, "mode": mode, "__doc__": doc, "__module__": __name__})


ZeroPad1d, ZeroPad2d, ZeroPad3d = (_layer(f"ZeroPad{n}d", _Pad, n, "constant") for n in (1, 2, 3))
ConstantPad1d, ConstantPad2d, ConstantPad3d = (_layer(f"ConstantPad{n}d", _ConstantPad, n, "constant") for n in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_layer(f"ReflectionPad{n}d", _Pad, n, "reflect") for n in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (_layer(f"ReplicationPad{n}d", _Pad, n, "replicate") for n in (1, 2, 3))
CircularPad1d, CircularPad2d, CircularPad3d = (_layer(f"CircularPad{n}d", _Pad, n, "circular") for n in (1, 2, 3))
