"""Stage 6 - torch.utils.checkpoint: parts of a network that run again in the backward pass, so that less must be kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch.autograd.checkpoints as engine
from minitorch.torch.autograd.graph import suspended


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """function(*args, **kwargs), keeping only the arguments and results for the backward pass, which runs it a second time.

    See `minitorch.autograd.checkpoint`: the second run draws the same random numbers; side effects happen twice.

    Args:
        function: Function of Tensors; returns a Tensor, or a tuple or list of them. It may use parameters and other Tensors.
        args: Its arguments.
        use_reentrant: No effect: gradients also flow into Tensors that are no arguments.
        preserve_rng_state: No effect: the random numbers are always the same.
        kwargs: Its arguments by name.

    Raises:
        RuntimeError: In the backward pass, if a Tensor that it used was changed in place, or the second run differs from the first.
    """

    def run(*xs: Any) -> Any:
        with suspended():  # what this run saves is thrown away, or used at once
            return function(*xs, **kwargs)

    return engine.checkpoint(run, *args)
