"""How the card describes values and errors."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numba
import pytest
from numba.core.errors import TypingError
from numba.extending import register_jitable

from course.manifest import course
from course.runner.messages import LONGEST_VALUE, error_line, shown, unwritten_files


class Matrix:
    """What the course reads from a tensor."""

    def __init__(self, strides: tuple[int, ...], offset: int, contiguous: bool, text: str = "[[1, 2]]") -> None:
        self.text = text
        self.storage_offset = lambda: offset
        self.is_contiguous = lambda: contiguous
        self.strides = strides

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def __repr__(self) -> str:
        return self.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Matrix((2, 1), 0, contiguous=True), "[[1, 2]]"),
        (Matrix((1, 2), 0, contiguous=False), "[[1, 2]]\n    its strides (1, 2), offset 0"),
        (Matrix((2, 1), 3, contiguous=True), "[[1, 2]]\n    its strides (2, 1), offset 3"),
        ((Matrix((1, 2), 0, contiguous=False), 5), "([[1, 2]], 5)\n    its strides (1, 2), offset 0"),
        (Matrix, repr(Matrix)),  # a class has no strides, although it defines the method
        (SimpleNamespace(stride=3), "namespace(stride=3)"),
        (Matrix((1, 2), 0, contiguous=False, text="1" * 1000), "1" * LONGEST_VALUE + "…\n    its strides (1, 2), offset 0"),
    ],
)
def test_a_tensor_shows_its_strides_and_offset_unless_it_is_contiguous(value: Any, expected: str) -> None:
    assert shown(value) == expected


@register_jitable
def less_twice(x, y):
    return x - 2 * y


def too_few(x):
    return less_twice(x)


def text_as_index(x):
    pair = (x, x)
    return pair["first"]


def misspelt(x):
    return less_twyce(x, x)  # noqa: F821  # what a student might write


MISSING = "No implementation of function"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (too_few, f"{MISSING} less_twice found for signature:\n >>> less_twice(float64)\nmissing a required argument: 'y'"),
        (text_as_index, f"{MISSING} getitem found for signature:\n >>> getitem(UniTuple(float64 x 2), Literal[str](first))"),
        (misspelt, "NameError: name 'less_twyce' is not defined"),
    ],
)
def test_a_compiler_error_says_what_is_wrong_without_the_compiler_s_trace(function: Any, expected: str) -> None:
    with pytest.raises(TypingError) as caught:
        numba.njit(function)(1.0)
    assert error_line(caught.value) == f"TypingError: {expected}"


def test_only_files_with_missing_code_are_named(tmp_path: Path) -> None:
    task = course().task("4.5")
    written, stub = task.files[:2]
    (tmp_path / "project").mkdir()
    (tmp_path / written).write_text("def forward(): ...\n", encoding="utf-8")
    (tmp_path / stub).write_text('raise NotImplementedError("Need to implement for Task 4.5")\n', encoding="utf-8")
    assert unwritten_files(task, tmp_path) == [stub]
    (tmp_path / stub).write_text('raise NotImplementedError("Need to implement for Task 4.4")\n', encoding="utf-8")
    assert unwritten_files(task, tmp_path) == []
