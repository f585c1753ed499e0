"""Stage 7 - Tensors that must not be overwritten before the backward pass, because PyTorch saves them and the composition here does not.

PyTorch computes these functions in one kernel whose gradient needs some of the arguments or the result. Overwriting one of them is an error
there, and so it is here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from minitorch.autograd.engine import RULES
from minitorch.core.tensor_base import TensorBase
from minitorch.tensor_functions import Function

RESULT = -1
"""The result of the function, among the positions of its arguments."""

BOTH = (0, 1)
SAVED: dict[str, tuple[int | tuple[int, int], ...]] = {
    **dict.fromkeys(("nan_to_num", "var", "std", "var_mean", "std_mean", "nansum", "nanmean", "quantile", "nanquantile"), (0,)),
    **dict.fromkeys(("cummax", "cummin", "gather", "take_along_dim", "masked_select", "logit"), (0,)),
    **dict.fromkeys(("amax", "amin", "aminmax", "norm", "vector_norm", "logsumexp", "solve_triangular"), (0, RESULT)),
    **dict.fromkeys(("prod", "cumprod", "logcumsumexp", "i1"), (RESULT,)),
    **dict.fromkeys(("maximum", "minimum", "xlogy", "cdist", "dist", "cholesky_solve"), BOTH),
    "clamp": (0, 1, 2),
    **dict.fromkeys(("clamp_min", "clamp_max"), BOTH),
    "addcdiv": (2,),
    "inner": ((1, 0),),
    "cross": ((0, 1), (1, 0)),
    "index_add": ((3, 3),),
    "index_copy": ((3, 3),),
    "scatter_reduce": (0, 3, RESULT),
}
"""The positions of the saved arguments; (i, j) if argument i is saved only where j requires gradients."""


class Kept(Function):
    """The same tensor, whose gradient needs other tensors as they were."""

    @staticmethod
    def forward(ctx: Any, out: Any, with_result: bool, *others: Any) -> Any:
        """The tensor, of the same memory."""
        kept = out._like(out._tensor)
        ctx.save_for_backward(*(kept,) if with_result else (), *others)
        return kept

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> tuple[Any, ...]:
        """The gradient as it is.

        Raises:
            RuntimeError: If one of the tensors was written into.
        """
        _ = ctx.saved_values
        return grad_output, *[None] * (len(ctx.args) - 1)


RULES[Kept] = lambda ctx, out, grad: Kept.backward(ctx, grad)


def keeping(fn: Callable[..., Any], positions: tuple[int | tuple[int, int], ...]) -> Callable[..., Any]:
    """A function whose gradient needs the arguments at these positions, and maybe the result, as they were."""
    chosen = [position if isinstance(position, tuple) else (position, None) for position in positions if position != RESULT]
    names = list(inspect.signature(fn).parameters)

    @functools.wraps(fn)
    def function(*args: Any, **kwargs: Any) -> Any:
        result = fn(*args, **kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        if all(getattr(out, "history", None) is None for out in outputs):
            return result
        given = dict(zip(names, args, strict=False)) | kwargs
        found = [(given.get(names[i]), j) for i, j in chosen]
        saved = [
            x for x, j in found if isinstance(x, TensorBase) and (j is None or getattr(given.get(names[j]), "history", None) is not None)
        ]
        kept = [out if getattr(out, "history", None) is None else Kept.apply(out, RESULT in positions, *saved) for out in outputs]
        return getattr(result, "_make", tuple)(kept) if outputs is result else kept[0]  # _make: of a named tuple

    return function


def needing(out: Any, *tensors: Any) -> Any:
    """A tensor that a function computed, whose gradient needs other tensors as they were."""
    return out if getattr(out, "history", None) is None else Kept.apply(out, False, *tensors)


def saves(*positions: int | tuple[int, int]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function whose gradient needs the arguments at these positions as they were; see `SAVED`."""
    return functools.partial(keeping, positions=positions)
