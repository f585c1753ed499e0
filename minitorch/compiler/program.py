"""Stage 5 - Programs: the launches of a trace, bound to the memory they work on, ready to be called one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minitorch.compiler.trace import Buffer, Launch, Node, Slice

Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


def bind(nodes: Sequence[Node], arrays: Mapping[Buffer, np.ndarray]) -> list[Call]:
    """The calls of nodes, one for each of their launches, in order. Nothing is called yet.

    Args:
        nodes: The operations of a program.
        arrays: The flat arrays of planned buffers; all other buffers keep their own.
    """
    return [bind_launch(launch, arrays) for node in nodes for launch in node.launches]


def bind_launch(launch: Launch, arrays: Mapping[Buffer, np.ndarray]) -> Call:
    """The call of one launch: its function with its bound arguments, followed by what `rest` returns at every call, if it has a rest."""
    args = bind_args(launch.args, arrays)
    return (launch.fn, args) if launch.rest is None else (call_with_rest, (launch.fn, args, launch.rest))


def bind_args(args: tuple[Any, ...], arrays: Mapping[Buffer, np.ndarray]) -> tuple[Any, ...]:
    """Arguments with arrays in place of Slices, in tuples within them as well; all others stay what they are.

    Args:
        args: Arguments of a launch.
        arrays: The arrays of planned buffers. The array of a Slice is its part of the buffer's array, and shares its memory.
    """
    return map_leaves(args, lambda arg: arg.of(arrays.get(arg.buffer, arg.buffer.array)) if isinstance(arg, Slice) else arg)


def map_leaves(args: tuple[Any, ...], fn: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Arguments with fn of each in its place; in a tuple among them, of each of its parts, and so on.

    Args:
        args: A tuple among them stays a tuple, and a named tuple keeps its class; lists are not tuples.
        fn: Called with whatever is not a tuple, in order.
    """
    made = []
    for arg in args:
        if not isinstance(arg, tuple):
            made.append(fn(arg))
        else:
            parts = map_leaves(arg, fn)
            made.append(type(arg)(*parts) if hasattr(arg, "_fields") else parts)
    return tuple(made)


def call_with_rest(fn: Callable[..., Any], args: tuple[Any, ...], rest: Callable[[], tuple[Any, ...]]) -> None:
    """Call a function whose last arguments change from step to step: rest computes them now."""
    fn(*args, *rest())


def run(calls: Sequence[Call]) -> None:
    """Run the calls in order; what they return is not used."""
    for fn, args in calls:
        fn(*args)
