"""Stage 5 - Programs: the launches of a trace, bound to the memory they work on, ready to be called one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.compiler.trace import Buffer, Launch, Node, Slice

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


def bind(nodes: Sequence[Node], arrays: Mapping[Buffer, np.ndarray]) -> list[Call]:
    """The calls of nodes.

    Args:
        nodes: Their launches are bound in order.
        arrays: The arrays of planned buffers; all others keep their own.
    """
    return [bind_launch(launch, arrays) for node in nodes for launch in node.launches]


def bind_launch(launch: Launch, arrays: Mapping[Buffer, np.ndarray]) -> Call:
    """The call of one launch."""
    args = bind_args(launch.args, arrays)
    return (launch.fn, args) if launch.rest is None else (call_with_rest, (launch.fn, args, launch.rest))


def bind_args(args: tuple[Any, ...], arrays: Mapping[Buffer, np.ndarray]) -> tuple[Any, ...]:
    """Arguments with arrays in place of Slices, in nested tuples as well."""
    bound = []
    for arg in args:
        if isinstance(arg, Slice):
            arg = arg.of(arrays.get(arg.buffer, arg.buffer.array))
        elif isinstance(arg, tuple):
            parts = bind_args(arg, arrays)
            arg = type(arg)(*parts) if hasattr(arg, "_fields") else parts
        bound.append(arg)
    return tuple(bound)


def call_with_rest(fn: Callable[..., Any], args: tuple[Any, ...], rest: Callable[[], tuple[Any, ...]]) -> None:
    """Call a function whose last arguments change from step to step."""
    fn(*args, *rest())


def run(calls: Sequence[Call]) -> None:
    """Run the calls in order."""
    for fn, args in calls:
        fn(*args)
