"""Tests that call code which is not written yet: an outcome without a traceback."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator

import pytest

from course.runner.messages import text_of, unwritten_task


class Unwritten(pytest.fail.Exception):
    """The outcome of a test that called a stub.

    Args:
        stub: What the stub raised.
    """

    def __init__(self, stub: BaseException) -> None:
        super().__init__(text_of(stub), pytrace=False)
        self.stub = stub


@contextlib.contextmanager
def without_traceback() -> Generator[None]:
    """Replace the error of a stub by one without a traceback, which would take longer to print than the test to run."""
    try:
        yield
    except BaseException as error:
        if unwritten_task(leaf := unwrap(error)) is None:
            raise
        raise Unwritten(leaf) from None


def unwrap(error: BaseException) -> BaseException:
    """Unwrap an exception: a stub's error, or the last one of a group, which belongs to the last failing example."""
    if isinstance(error, Unwritten):
        return error.stub
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[-1]
    if isinstance(error, SystemError) and error.__cause__ is not None:  # compiled code wraps the exception
        return error.__cause__
    quoted = re.search(r"executes \"raise NotImplementedError\('(Need to implement for Task .*?)'\)\"", text_of(error))
    return error if quoted is None else NotImplementedError(quoted[1])  # the inspector of kernels quotes the stub that a kernel calls
