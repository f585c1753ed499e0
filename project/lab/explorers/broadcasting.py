"""Broadcasting of two shapes: the rule for each dimension, the operands of each element, and the reduction of the gradients.

The results of the student's `shape_broadcast` and `broadcast_index` are checked against the rule, which this file computes itself.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from minitorch.tensor_data import IndexingError, broadcast_index, broadcast_strides, shape_broadcast, strides_from_shape
from project.lab.cards import WrongResult
from project.lab.charts.cells import Cell, grid

Index = tuple[int, ...]

MOST_DIMS = 6
MOST_ELEMENTS = 60
"""The largest number of elements of a tensor that is drawn."""


@dataclass(frozen=True)
class Rule:
    """The broadcasting rule for one dimension.

    Attributes:
        dim: The dimension, counted from the end; -1 is the last.
        a: Size in a; None if a has no such dimension.
        b: Size in b; None if b has no such dimension.
        out: Size in the result; None if the sizes are incompatible.
        word: "equal", "a stretched", "b stretched", "a missing", "b missing" or "incompatible".
        reason: The rule as a sentence.
    """

    dim: int
    a: int | None
    b: int | None
    out: int | None
    word: str
    reason: str


def align(a: Sequence[int], b: Sequence[int]) -> list[Rule]:
    """Return the rule for each dimension, first to last."""
    dims = max(len(a), len(b))
    return [_rule(dim, _size(a, dim), _size(b, dim)) for dim in range(-dims, 0)]


def _size(shape: Sequence[int], dim: int) -> int | None:
    """Return the size of a dimension, counted from the end; None if there is no such dimension."""
    return shape[dim] if -dim <= len(shape) else None


def _rule(dim: int, a: int | None, b: int | None) -> Rule:
    """Return the rule for one dimension."""
    if a is None or b is None:
        name, other, size = ("a", "b", b) if a is None else ("b", "a", a)
        message = f"{name} has no such dimension, so it is read {times(size or 0)}, the size of {other}"
        return Rule(dim, a, b, size, f"{name} missing", message)
    try:
        (size,) = np.broadcast_shapes((a,), (b,))
    except ValueError:
        return Rule(dim, a, b, None, "incompatible", f"the sizes {a} and {b} differ, and neither is 1")
    stretched = [name for name, own in (("a", a), ("b", b)) if own != size]
    if not stretched:
        return Rule(dim, a, b, size, "equal", f"both have size {size}")
    return Rule(dim, a, b, size, f"{stretched[0]} stretched", f"{stretched[0]} has size 1, so it is read {times(size)}")


def times(n: int) -> str:
    """Return "once", "twice" or "n times"."""
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def table(rules: Sequence[Rule]) -> str:
    """Return a Markdown table of both shapes, aligned from the right, with the rule and the result for each dimension."""
    color = {"equal": "gray", "incompatible": "red"}
    lines = [
        ["", *(str(rule.dim) for rule in rules)],
        [":-", *(":-:" for _ in rules)],
        ["**a**", *("-" if rule.a is None else str(rule.a) for rule in rules)],
        ["**b**", *("-" if rule.b is None else str(rule.b) for rule in rules)],
        ["rule", *(f":{color.get(rule.word, 'blue')}[{rule.word}]" for rule in rules)],
        ["**result**", *("✗" if rule.out is None else f"**{rule.out}**" for rule in rules)],
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...] | None, str]:
    """Call the student's `shape_broadcast`.

    Returns:
        The shape of the result and "", or, if the shapes are incompatible, None and the error message.

    Raises:
        WrongResult: If the result does not follow the rules.
    """
    try:
        right, incompatible = np.broadcast_shapes(a, b), False
    except ValueError:
        right, incompatible = (), True
    call = f"shape_broadcast({a}, {b})"
    wanted = "an IndexingError" if incompatible else str(right)
    try:
        answer: Any = shape_broadcast(a, b)
    except IndexingError as error:
        if incompatible:
            return None, str(error)
        raise WrongResult(f"{call} expected {wanted}, got IndexingError: {error}") from None
    if incompatible or answer is None or tuple(answer) != right:
        forgot = "; is the return missing?" if answer is None else ""
        raise WrongResult(f"{call} expected {wanted}, got {answer!r:.60}{forgot}")
    return right, ""


# The operands of each element


@dataclass(frozen=True)
class Source:
    """The operands of one element of the result.

    Attributes:
        index: Index of the element.
        a: Index into a according to the student's `broadcast_index`; None if that is not an index.
        b: The same for b.
        wrong: An error message if one of them is wrong, else "".
    """

    index: Index
    a: Index | None
    b: Index | None
    wrong: str = ""


def sources(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...]) -> list[Source]:
    """Return the operands of every element of the result, last dimension fastest."""
    found = []
    for index in product(*map(range, out)):
        (from_a, wrong_a), (from_b, wrong_b) = _source(index, out, a), _source(index, out, b)
        found.append(Source(index, from_a, from_b, wrong_a or wrong_b))
    return found


def _source(index: Index, out: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Index | None, str]:
    """Return the index that the student's broadcast_index computes, and an error message if it is wrong."""
    written: list[Any] = [None] * len(shape)
    broadcast_index(index, out, shape, written)
    ordinals = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), out)
    right = tuple(int(i) for i in np.unravel_index(ordinals[index], shape)) if shape else ()
    if tuple(written) == right:
        return right, ""
    wrong = f"broadcast_index({index}, {out}, {shape}, out_index) expected to write {right}, wrote {tuple(written)}"
    return _inside(written, shape), wrong


def _inside(written: Sequence[Any], shape: tuple[int, ...]) -> Index | None:
    """Return the index if it is inside of the shape, else None."""
    try:
        index = tuple(map(operator.index, written))
    except TypeError:
        return None
    inside = len(index) == len(shape) and all(0 <= i < length for i, length in zip(index, shape, strict=True))
    return index if inside else None


def users(found: Sequence[Source], operand: str, index: Index) -> list[Index]:
    """Return the elements of the result that read an element of an operand, "a" or "b"."""
    return [source.index for source in found if getattr(source, operand) == index]


def strides_sentence(name: str, shape: tuple[int, ...], out: tuple[int, ...]) -> str:
    """Describe an operand as a view of the shape of the result, which has stride 0 where it is repeated."""
    own = strides_from_shape(shape)
    return f"{name} has shape {shape} and strides {own}. Broadcast to {out}, it has strides {broadcast_strides(shape, own, out)}."


def gradient_sentence(name: str, rules: Sequence[Rule]) -> str:
    """Describe the dimensions over which the gradient of an operand is summed."""
    stretched = [str(rule.dim) for rule in rules if rule.word == f"{name} stretched"]
    missing = [str(rule.dim) for rule in rules if rule.word == f"{name} missing"]
    parts = [f"is summed over dimension {' and '.join(stretched)}, which keeps size 1"] if stretched else []
    parts += [f"is summed over dimension {' and '.join(missing)}, which {name} does not have"] if missing else []
    return f"The gradient of {name} " + (" and ".join(parts) if parts else "needs no sum, because each element is read once") + "."


# Drawing


def values(shape: tuple[int, ...], step: int) -> dict[Index, int]:
    """Return step, 2 · step, 3 · step … by index."""
    return {index: step * (n + 1) for n, index in enumerate(product(*map(range, shape)))}


def forward_panels(shapes: Sequence[tuple[int, ...]], found: Sequence[Source], of: str, picked: Index) -> list[str]:
    """Return the markup of a, b and a + b, in which the selected cell and its partners are highlighted.

    Args:
        shapes: The shapes of a, b and the result.
        found: The operands of each element of the result.
        of: The tensor of the selected cell: "a", "b" or "result".
        picked: The index of the selected cell.
    """
    numbers = {"a": values(shapes[0], 1), "b": values(shapes[1], 10)}
    sums: dict[Index, int | None] = {}
    for source in found:
        sums[source.index] = None if source.a is None or source.b is None else numbers["a"][source.a] + numbers["b"][source.b]
    titles = ("a", "b", "a + b")
    return _panels(titles, shapes, [numbers["a"], numbers["b"], sums], found, of, picked)


def backward_panels(shapes: Sequence[tuple[int, ...]], found: Sequence[Source], of: str, picked: Index) -> list[str]:
    """Return the markup of the gradients of a, b and a + b, where the last is 1, 2, 3 …. Arguments as for `forward_panels`."""
    arriving = values(shapes[2], 1)
    gradients: list[dict[Index, int | None]] = []
    for name, shape in zip("ab", shapes, strict=False):
        gradients.append({index: sum(arriving[user] for user in users(found, name, index)) for index in product(*map(range, shape))})
    titles = ("gradient of a", "gradient of b", "gradient of a + b")
    return _panels(titles, shapes, [*gradients, dict(arriving)], found, of, picked)


def _panels(
    titles: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    numbers: Sequence[Any],
    found: Sequence[Source],
    of: str,
    picked: Index,
) -> list[str]:
    """Return three grids with linked cells."""
    linked = _partners(found, of, picked)
    panels = []
    for name, title, shape, shown in zip(("a", "b", "result"), titles, shapes, numbers, strict=True):
        wrong = {source.index: source.wrong for source in found if source.wrong} if name == "result" else {}
        cells = []
        for index in product(*map(range, shape)):
            value = "?" if shown[index] is None else str(shown[index])
            look = "wrong" if index in wrong else "picked" if (name, index) == (of, picked) else "linked" if (name, index) in linked else ""
            partners = [(name, index), *_partners(found, name, index)]
            note = f"{title} at {list(index)}: {value}" + (f"; {wrong[index]}" if index in wrong else "")
            lights = tuple(_tag(*partner) for partner in partners)
            cells.append(Cell(value, _tag(name, index), lights, note, look, f"{name}:{','.join(map(str, index))}"))
        panels.append(grid(f"{title}, shape {shape}", shape, cells))
    return panels


def _partners(found: Sequence[Source], name: str, index: Index) -> list[tuple[str, Index]]:
    """Return the cells from which a cell is computed, or which are computed from it."""
    if name != "result":
        return [("result", user) for user in users(found, name, index)]
    source = next((source for source in found if source.index == index), None)
    return [] if source is None else [(operand, place) for operand, place in (("a", source.a), ("b", source.b)) if place is not None]


def _tag(name: str, index: Index) -> str:
    """Return the tag of a cell."""
    return f"{name}-{'.'.join(map(str, index))}"


def drawable(*shapes: tuple[int, ...]) -> bool:
    """Return whether tensors of these shapes are small enough to draw."""
    return all(math.prod(shape) <= MOST_ELEMENTS for shape in shapes)
