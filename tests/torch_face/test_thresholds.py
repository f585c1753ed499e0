"""Numbers beside tensors: they are rounded to the dtype of the tensor before they are compared, limit it or replace its elements."""

import operator
from collections.abc import Callable
from typing import Any

import pytest

import minitorch.torch as ours

inf = float("inf")
FLOATS = ("float16", "bfloat16", "float32", "float64")
X = [0.1, 0.2, 0.3, 0.7]

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip

FLOAT_ROWS: list[tuple[Callable[[Any, Any], Any], list[bool]]] = [
    (lambda torch, x: x.clamp(0.1, 0.3) == x, [True, True, True, False]),
    (lambda torch, x: x.clamp(min=0.7) == x, [False, False, False, True]),
    (lambda torch, x: x.clamp(-inf, inf) == x, [True, True, True, True]),
    (lambda torch, x: x.masked_fill(x > 0.2, 0.1) == 0.1, [True, False, True, True]),
    (lambda torch, x: torch.where(x > 0.2, x, 0.3) == 0.3, [True, True, True, False]),
    (lambda torch, x: torch.where(x <= 0.2, 0.3, x) == 0.3, [True, True, True, False]),
    (lambda torch, x: torch.isclose(x, torch.full_like(x, 0.3)), [False, False, True, False]),
    (lambda torch, x: torch.isclose(x, torch.full_like(x, 0.2), rtol=0, atol=0.1)[[0, 1, 3]], [True, True, False]),
    (lambda torch, x: x.nan_to_num(0.1) == x, [True, True, True, True]),
    (lambda torch, x: x > 1e300, [False] * 4),
    (lambda torch, x: x > -inf, [True] * 4),
]
"""Calls of X in a dtype of floating-point numbers; the results are PyTorch's."""

ROWS: list[tuple[Callable[[Any], Any], list[bool]]] = [
    (lambda torch: torch.tensor([1, 2, 3]) < 2.5, [True, True, False]),
    (lambda torch: torch.tensor([1, 2, 3]) <= 2.5, [True, True, False]),
    (lambda torch: torch.tensor([2**53, 2**53 + 1]) == 2**53 + 1, [False, True]),
    (lambda torch: torch.tensor([2.0**24, 2.0**24 + 2]) == 2**24 + 1, [True, False]),
    (lambda torch: torch.tensor([True, False]) > 0.5, [True, False]),
    (lambda torch: torch.tensor([0.1, 0.7]) <= torch.tensor(0.7, dtype=torch.float64), [True, True]),
    (lambda torch: torch.tensor([0.1, 0.7]) == torch.tensor([0.1, 0.7], dtype=torch.float64), [False, False]),
    (lambda torch: torch.tensor([1, 2**53 + 1]).clamp(2**53 + 1) == 2**53 + 1, [True, True]),
]
"""The same for other dtypes."""


def wrong(torch: Any) -> list[str]:
    """The calls whose results differ from the tables."""
    found = []
    for dtype in FLOATS:
        x = torch.tensor(X, dtype=getattr(torch, dtype))
        for name, compare in COMPARISONS.items():
            for number in X:
                wanted = [compare(each, number) for each in X]
                mirrored = [compare(number, each) for each in X]
                got = [compare(x, number).tolist(), getattr(torch, name)(x, number).tolist(), compare(number, x).tolist()]
                if got != [wanted, wanted, mirrored]:
                    found.append(f"{name} {number} in {dtype}")
        found += [f"row {i} in {dtype}" for i, (call, wanted) in enumerate(FLOAT_ROWS) if call(torch, x).tolist() != wanted]
    return found + [f"row {i}" for i, (row, wanted) in enumerate(ROWS) if row(torch).tolist() != wanted]


def test_a_number_is_rounded_to_the_dtype_of_the_tensor() -> None:
    assert wrong(ours) == []


def test_the_results_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; pip install -r requirements.torch.txt")
    assert wrong(torch) == []


def test_a_number_beyond_the_limits_of_the_dtype_is_compared_as_it_is() -> None:
    x = ours.tensor([1, 255], dtype=ours.uint8)  # PyTorch wraps -1 to 255, and 300 to 44
    assert ((x > -1).tolist(), (x == -1).tolist(), (x < 300).tolist()) == ([True, True], [False, False], [True, True])
