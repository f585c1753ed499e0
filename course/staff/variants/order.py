"""Family `order`, Task 2.1: the position of an element in a storage with a permuted order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from hypothesis.strategies import integers, lists

from course.staff.variants.family import Family, Parameters, Question, number_judge

SHAPE = [2, 3, 5, 7]


def _mistakes(order: Sequence[int]) -> set[tuple[int, ...]]:
    """The orders that result from common mistakes: reversal, inversion, or both."""
    inverse = np.argsort(order).tolist()
    return {tuple(order[::-1]), tuple(inverse), tuple(inverse[::-1]), tuple(np.argsort(order[::-1]).tolist())}


def _orders() -> list[list[int]]:
    """Orders of four dimensions such that no common mistake leads from one to another, nor to row-major or column-major order."""
    chosen: list[tuple[int, ...]] = [(0, 1, 2, 3), (3, 2, 1, 0)]
    for order in permutations(range(4)):
        if not _mistakes(order) & set(chosen):
            chosen.append(order)
    return [list(order) for order in chosen[2:]]


ORDERS = _orders()

SOLUTION = '''

def stored_position(index: Index, shape: Shape) -> int:
    """The position of an element of a four-dimensional array in a storage whose order of dimensions is ($order).

    Dimension $slowest varies slowest, and dimension $fastest fastest. Neighbors along dimension $fastest are $step positions apart, and the
    element at index (0, 0, 0, 0) is at position $offset.

    Args:
        index: Four numbers.
        shape: Four sizes.
    """
    ordinal = 0
    for dim in ($order):
        ordinal = ordinal * shape[dim] + index[dim]
    return $offset + $step * ordinal
'''

TESTS = '''"""Task 2.1: your variant."""

import pytest

from minitorch.tensor_data import stored_position

SHAPE = (2, 3, 5, 7)


@pytest.mark.task2_1
def test_the_first_element_is_at_the_offset() -> None:
    assert stored_position((0, 0, 0, 0), SHAPE) == $offset


@pytest.mark.task2_1
def test_one_step_along_each_dimension() -> None:
    assert stored_position((1, 0, 0, 0), SHAPE) == $step_0
    assert stored_position((0, 1, 0, 0), SHAPE) == $step_1
    assert stored_position((0, 0, 1, 0), SHAPE) == $step_2
    assert stored_position((0, 0, 0, 1), SHAPE) == $step_3


@pytest.mark.task2_1
def test_the_last_element() -> None:
    assert stored_position((1, 2, 4, 6), SHAPE) == $last
'''

ABOUT = """
In your workspace, Task 2.1 has one more function in `minitorch/tensor_data.py`: `stored_position`, for a storage whose order of
dimensions is ($order), whose elements are $step positions apart, and whose first element is at position $offset. The order of a
row-major storage would be (0, 1, 2, 3).
"""


def expected(parameters: Parameters, index: Sequence[int], shape: Sequence[int]) -> int:
    """The value of stored_position, read from a transposed NumPy array of all positions."""
    order = parameters["order"]
    ordinals = np.arange(np.prod(shape)).reshape([shape[dim] for dim in order]).transpose(np.argsort(order))
    return parameters["offset"] + parameters["step"] * int(ordinals[tuple(index)])


def values(parameters: Parameters) -> dict[str, Any]:
    """The values for the templates."""
    order = parameters["order"]
    steps = {f"step_{dim}": expected(parameters, [int(dim == d) for d in range(4)], SHAPE) for dim in range(4)}
    last = expected(parameters, [size - 1 for size in SHAPE], SHAPE)
    text = ", ".join(map(str, order))
    return {**parameters, "order": text, "slowest": order[0], "fastest": order[-1], "last": last, **steps}


UNITS = [[int(dim == d) for d in range(4)] for dim in range(-1, 4)]

ORDER = Family(
    name="order",
    task="2.1",
    choices={"order": ORDERS, "step": list(range(2, 13)), "offset": list(range(3, 98))},
    after="minitorch.tensor_data:index_to_position",
    solution=SOLUTION,
    tests=TESTS,
    about={"2.1": ABOUT},
    questions=(
        Question(
            "minitorch.tensor_data:stored_position",
            "stored_position(index, shape) has your order, step and offset",
            number_judge(expected),
            [(unit, SHAPE) for unit in UNITS],
            {"index": lists(integers(0, 4), min_size=4, max_size=4), "shape": lists(integers(5, 8), min_size=4, max_size=4)},
        ),
    ),
    values=values,
)
