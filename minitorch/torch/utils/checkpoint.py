"""Stage 7 - torch.utils.checkpoint: parts of a network that run again in the backward pass, so that less must be kept."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import minitorch.autograd.checkpoints as engine
from minitorch.nn.module import Module
from minitorch.torch.absent import refuse_absent
from minitorch.torch.autograd.graph import suspended


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), keeping only the arguments and results for the backward pass, which runs it a second time.

    See `minitorch.autograd.checkpoint`: the second run draws the same random numbers; side effects happen twice.

    Args:
        function: Function of Tensors; returns a Tensor, or a tuple or list of them. It may use parameters and other Tensors.
        args: Its arguments.
        use_reentrant: No effect: gradients also flow into Tensors that are no arguments.
        context_fn: None.
        determinism_check: No effect: a second run that differs is always an error.
        debug: No effect.
        early_stop: No effect: the second run always ends.
        preserve_rng_state: No effect: the random numbers are always the same.
        kwargs: Its arguments by name.

    Raises:
        NotImplementedError: If context_fn is given.
        RuntimeError: In the backward pass, if a Tensor that it used was changed in place, or the second run differs from the first.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.utils.checkpoint.checkpoint(torch.square, x, use_reentrant=False).backward()
        >>> x.grad
        tensor(6.)
    """
    if context_fn is not None:
        raise NotImplementedError("checkpoint supports context_fn=None only; open the contexts in the function")

    def run(*xs: Any) -> Any:
        with suspended():  # what this run saves is thrown away, or used at once
            return function(*xs, **kwargs)

    return engine.checkpoint(run, *args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, preserve_rng_state: bool = True
) -> Any:
    """The functions one after the other, in segments of equal length, of which all but the last are checkpoints.

    Args:
        functions: A Sequential, or functions of one Tensor.
        segments: Number of segments, at most that of the functions.
        input: The argument of the first function.
        use_reentrant: No effect.
        preserve_rng_state: No effect.

    Raises:
        ValueError: If there are more segments than functions, or none.
    """
    parts = list(functions.children() if isinstance(functions, Module) else functions)
    if not 1 <= segments <= len(parts):
        raise ValueError(f"checkpoint_sequential expected from 1 to {len(parts)} segments, one for each function at most, got {segments}")

    def run(x: Any, some: list[Callable[..., Any]]) -> Any:
        return functools.reduce(lambda y, part: part(y), some, x)

    size = len(parts) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(functools.partial(run, some=parts[start : start + size]), input)
    return run(input, parts[last:])


__getattr__ = refuse_absent("torch.utils.checkpoint", ["checkpoint", "checkpoint_sequential"])
