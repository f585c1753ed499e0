"""Stage 7 - Reductions that the course does not need."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.engine import RULES
from minitorch.core.math_functions import NE
from minitorch.tensor import Tensor
from minitorch.tensor_functions import EQ, Add, Function, Mul


class Chosen(Function):
    """The number chosen among the elements along dimensions, which keep size 1, such as the largest. Equal elements share its gradient.

    The gradient of a chosen NaN is shared by each NaN or, without nan_shares, undefined: all elements receive NaN, as in PyTorch.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, chosen: Tensor, dim: Any, nan_shares: bool) -> Tensor:
        out = a._like(chosen._tensor)
        ctx.save_for_backward(a, out, dim, nan_shares)
        return out

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None, None]:
        a, out, dim, nan_shares = ctx.saved_values
        a, out = a.detach(), out.detach()  # the shares are constant
        hits = EQ.apply(a, out)
        if nan_shares:
            hits = Add.apply(hits, Mul.apply(NE.apply(a, a), NE.apply(out, out)))
        shares = hits.to(grad_output.dtype)
        return grad_output * (shares / Tensor.sum(shares, dim)), None, None, None


RULES[Chosen] = lambda ctx, out, grad: Chosen.backward(ctx, grad)
