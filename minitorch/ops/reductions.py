"""Stage 7 - Reductions that the course does not need."""

from __future__ import annotations

from typing import Any

from minitorch.core.math_functions import NE, MaskedSelect
from minitorch.tensor import Tensor
from minitorch.tensor_functions import EQ, Add, Function, Mul


class Extremum(Function):
    """The largest or smallest element along dimensions, which keep size 1. Equal ones share the gradient; of NaN, each NaN a part."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, dim: Any, largest: bool) -> Tensor:
        out = Tensor.max(a, dim) if largest else Tensor.min(a, dim)
        ctx.save_for_backward(a, out, dim)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        a, out, dim = ctx.saved_values
        if not grad_output.requires_grad:  # otherwise the gradient is differentiated in turn
            a, out = a.detach(), out.detach()
        hits = Add.apply(EQ.apply(a, out), Mul.apply(NE.apply(a, a), NE.apply(out, out)))
        count = Tensor.sum(hits.to(grad_output.dtype), dim)
        return MaskedSelect.apply((grad_output / count).expand(*a.shape), hits), None, None
