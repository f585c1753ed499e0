"""What the ops beyond the course say when they are misused: the whole message, with its remedy."""

import math

import numpy as np
import pytest

from minitorch import IndexingError, cat, int32, int64, stack, tensor, where, zeros
from tests.errors import raises

MATRIX = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FLAGS = tensor([True, False])

MISUSES = [
    (lambda: MATRIX @ 2, TypeError, "matmul expected a Tensor, got int; make one with tensor(...)"),
    (lambda: MATRIX @ MATRIX, ValueError,
     "matmul expected shapes (…, n, k) and (…, k, m), got (2, 3) and (2, 3); "
     "the last size of the first must be the last but one of the second"),
    (lambda: ~MATRIX, TypeError, "~ expected a tensor of bools, got float64; compare first, such as x > 0"),
    (lambda: FLAGS & MATRIX, TypeError, "& expected a tensor of bools, got float64; compare first, such as x > 0"),
    (lambda: MATRIX | FLAGS, TypeError, "| expected a tensor of bools, got float64; compare first, such as x > 0"),
    (lambda: tensor([2], dtype=int64) ** -1, ValueError,
     "integers cannot be raised to negative integer powers, got int64 ** int64; make one of them float64"),
    (lambda: tensor([1.0, math.nan]).to(int64), ValueError,
     "int64 represents numbers from -9223372036854775808 to 9223372036854775807, got nan; clip or replace it first"),
    (lambda: tensor([1.0, 2.0**63]).to(int64), ValueError,
     "int64 represents numbers from -9223372036854775808 to 9223372036854775807, got 9.223372036854776e+18; clip or replace it first"),
    (lambda: tensor(np.array([-(2**31) - 1])).to(int32), ValueError,
     "int32 represents numbers from -2147483648 to 2147483647, got -2147483649; clip or replace it first"),
    (lambda: tensor([-math.inf]).to(int32), ValueError,
     "int32 represents numbers from -2147483648 to 2147483647, got -inf; clip or replace it first"),
    (lambda: MATRIX.clip(MATRIX), TypeError, "clip expected numbers for low and high, got a Tensor; use where(x < low, low, x)"),
    (lambda: MATRIX.where([True], 0.0), TypeError, "where expected a Tensor as condition, got list; compare tensors, such as x > 0"),
    (lambda: where(True, 1.0, 0.0), TypeError, "where expected a Tensor as condition, got bool; compare tensors, such as x > 0"),
    (lambda: MATRIX.sum(()), ValueError, "a reduction expected at least one dimension, got (); dim=None reduces all of them"),
    (lambda: MATRIX.argmax((0, 1)), TypeError, "argmax and argmin expected one dimension or None, got (0, 1)"),
    (lambda: zeros((2, 0)).max(1), ValueError, "max and min expected at least one element along dimension 1, got shape (2, 0)"),
    (lambda: zeros((0,)).min(), ValueError, "max and min expected at least one element along dimension 0, got shape (0,)"),
    (lambda: zeros((2, 3, 4)).t(), ValueError, "t expected at most 2 dimensions, got shape (2, 3, 4); use transpose or permute"),
    (lambda: MATRIX.flatten(1, 0), ValueError, "flatten expected start_dim before end_dim, got 1 and 0 for shape (2, 3)"),
    (lambda: MATRIX.unsqueeze(3), IndexingError, "unsqueeze expected dim from -3 to 2 for shape (2, 3), got 3"),
    (lambda: MATRIX.unsqueeze(-4), IndexingError, "unsqueeze expected dim from -3 to 2 for shape (2, 3), got -4"),
    (lambda: MATRIX.expand(2, 4), IndexingError,
     "Expand: shapes (2, 3) and (2, 4) do not broadcast: aligned from the right, 3 does not match 4; "
     "sizes must be equal, or one of them 1 (view can insert a 1)"),
    (lambda: MATRIX.expand(3), IndexingError,
     "Expand: a tensor of shape (2, 3) cannot be expanded to (3,): only sizes of 1 can be expanded, and dimensions added in front"),
    (lambda: MATRIX.expand(1, 3), IndexingError,
     "Expand: a tensor of shape (2, 3) cannot be expanded to (1, 3): only sizes of 1 can be expanded, and dimensions added in front"),
    (lambda: MATRIX.split(0), ValueError, "split expected a size of at least 1, got 0"),
    (lambda: MATRIX.split([1, 1], 1), ValueError, "split expected sizes that sum to 3, dimension 1 of shape (2, 3), got [1, 1]"),
    (lambda: MATRIX.split([-1, 4], 1), ValueError, "split expected sizes that sum to 3, dimension 1 of shape (2, 3), got [-1, 4]"),
    (lambda: len(tensor(1.0)), TypeError, "a tensor without dimensions has no length"),
    (lambda: cat([]), ValueError, "cat expected at least one tensor, got none"),
    (lambda: stack([]), ValueError, "stack expected at least one tensor, got none"),
    (lambda: cat([MATRIX, [1.0]]), TypeError, "cat expected tensors, got list; make one with tensor(...)"),
    (lambda: stack([1.0]), TypeError, "stack expected tensors, got float; make one with tensor(...)"),
    (lambda: cat([MATRIX, zeros((2, 2))]), ValueError, "cat expected tensors of equal sizes except in dimension 0, got (2, 3), (2, 2)"),
    (lambda: cat([MATRIX, zeros((2,))], 1), ValueError, "cat expected tensors of equal sizes except in dimension 1, got (2, 3), (2,)"),
    (lambda: stack([MATRIX, zeros((3, 2))]), ValueError, "stack expected tensors of equal shapes, got (2, 3), (3, 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("misuse", "error", "message"), MISUSES, ids=[message[:40] for _, _, message in MISUSES])
def test_a_misuse_is_told_with_its_remedy(misuse, error, message):
    with raises(error, message):
        misuse()


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: MATRIX.sum(2), lambda: MATRIX.max(-3), lambda: MATRIX.cumsum(2), lambda: MATRIX.transpose(0, 2), lambda: MATRIX.split(1, 2),
        lambda: cat([MATRIX], 2), lambda: MATRIX.squeeze(2), lambda: MATRIX.flatten(2),
    ],
)  # fmt: skip
def test_dimensions_that_do_not_exist_are_refused(misuse):
    with pytest.raises(IndexingError, match=r"^dimension -?\d is out of range for shape \(2, 3\), which has 2$"):
        misuse()
