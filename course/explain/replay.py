"""A pytest plugin that compares every call of a student function in a test with its oracle and writes the first difference to a file.

`course explain` starts a process with this plugin and course.runner.plugin.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import sys
import traceback
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from course.explain.callers import callers_mistake, unsaved_values
from course.explain.calls import Call, Number, Recorder, Target
from course.explain.divergence import Difference, Finding, format_number
from course.explain.endless import HangRecorder
from course.explain.registry import caches, targets
from course.explain.unwritten_memory import marked_memory
from course.manifest import load
from course.runner.messages import error_line
from course.workspace.atomic_files import write_json

SCHEMA = 4
"""Version of the format of the file."""

FAILURES = (Exception, SystemExit, pytest.fail.Exception)
"""The exceptions with which tests fail. A program that a test calls may exit; `pytest.raises` raises the third if nothing was raised."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --course-divergence."""
    parser.getgroup("course").addoption(
        "--course-divergence", metavar="PATH", type=Path, help="write the first divergence of a test as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin if the option is given."""
    if path := config.getoption("--course-divergence"):
        config.pluginmanager.register(Replay(config.rootpath, path), "course-replay")


class Replay:
    """Records the calls of one test; of a property, those of the last failing example, which is the smallest.

    Args:
        root: The workspace.
        path: The file for the result.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.targets: Mapping[CodeType, Target] = {}
        self.caches: list[Any] = []
        self.recorder: Recorder | None = None  # of the last test or example
        self.failed: tuple[Recorder, BaseException] | None = None
        self.hang_recorder = HangRecorder(root)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Record the loops of a test that uses up its time, which course.runner.plugin measures."""
        watcher: Any = session.config.pluginmanager.get_plugin("course-watcher")
        watcher.limit.expired = self.hang_recorder.record

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Find the functions that have an oracle, and wrap the function that Hypothesis calls for every example."""
        self.targets = targets(self.root, load(self.root / "course" / "tasks.toml"))
        self.caches = caches(self.targets)
        for item in items:
            handle = getattr(getattr(item, "obj", None), "hypothesis", None)
            if handle is not None and not hasattr(handle.inner_test, "replayed_by_course"):
                handle.inner_test = self._with_recorder(handle.inner_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Record a test that is not a property."""
        if hasattr(pyfuncitem.obj, "hypothesis"):
            with marked_memory():
                return (yield)
        self.recorder = recorder = Recorder(self.targets, self.caches)
        try:
            with marked_memory(), recorder:
                return (yield)
        except FAILURES as error:
            self.failed = recorder, error
            raise

    def _with_recorder(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """The test function of a property, with a new recorder for every example."""

        @functools.wraps(inner)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            self.recorder = recorder = Recorder(self.targets, self.caches)
            try:
                with recorder:
                    return inner(*args, **kwargs)
            except FAILURES as error:
                if not type(error).__module__.startswith("hypothesis."):  # an assumption that did not hold
                    self.failed = recorder, error
                raise

        wrapper.replayed_by_course = True  # type: ignore[attr-defined]  # parametrized tests share one function
        return wrapper

    def _finding(self, call: Call, wrong: Difference, right: int) -> Finding:
        path = Path(call.code.co_filename)
        file = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name
        return Finding(call.target.task, call.name, file, call.code.co_firstlineno, wrong, right)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the result."""
        finding, right, warnings, details = None, 0, [], ""
        if self.failed is None and self.recorder is not None and self.hang_recorder.frame is not None:
            self.hang_recorder.stop()
            self.failed = self.recorder, KeyboardInterrupt()
        if self.failed is not None:
            recorder, error = self.failed
            found = conclusion(recorder, error)
            right, warnings, details = recorder.right, recorder.warnings, recorder.details
            finding = self._finding(*found, right).as_json() if found else None
        about = {
            "passed": self.failed is None,
            "calls": right,
            "finding": finding,
            "warnings": warnings,
            "details": details,
            "hang": self.hang_recorder.result(),
        }
        write_json(self.path, {"schema": SCHEMA, **about})


def test_of(item: pytest.Function) -> Callable[[], object]:
    """The test function of an item with its arguments."""
    names = inspect.signature(item.obj).parameters
    return functools.partial(item.obj, **{name: item.funcargs[name] for name in names if name in item.funcargs})


def first_wrong_call(root: Path, test: Callable[[], object]) -> tuple[Call, Difference] | None:
    """The first wrong call while a failing test runs; None if no oracle finds one.

    Args:
        root: The workspace.
        test: Runs the test.
    """
    if sys.getprofile() is not None:  # a profiler or a debugger is active
        return None
    functions = targets(root, load(root / "course" / "tasks.toml"))
    recorder = Recorder(functions, caches(functions))
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), recorder:
            test()
    except FAILURES as error:
        return conclusion(recorder, error)
    return None


def conclusion(recorder: Recorder, error: BaseException) -> tuple[Call, Difference] | None:
    """The first wrong call of a failed test, with the warnings about the calls that the function itself made."""
    found = _first_difference(recorder, error)
    if found is None:
        return None
    call, difference = found
    return call, replace(difference, rows=(*difference.rows, *(("Note", text) for text in call.warnings)))


def _first_difference(recorder: Recorder, error: BaseException) -> tuple[Call, Difference] | None:
    """The first call of a failed test with a wrong result, with an error, or with None instead of a result."""
    through = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    raised = ("It raises", error_line(error))
    recorder.judge_all()
    ended = [call for code in reversed(through) if (call := recorder.unfinished.get(code)) is not None]  # by the error, innermost first
    if recorder.found is not None:
        call, wrong = recorder.found
        if recorder.silent is not None and call in recorder.silent[0].callers and recorder.silent[0] not in ended:
            return recorder.silent  # the call is wrong because of the one within it that returned nothing
        is_unfinished = call.result is None and not isinstance(error, AssertionError)
        if not (is_unfinished and call in ended[1:]):  # else its result is wrong because of a call within it
            if call in ended and is_unfinished:
                wrong = Difference(wrong.place, (*_without_result(wrong), raised), wrong.oracle)
            return call, wrong
    if isinstance(error, NotImplementedError):
        return recorder.silent
    notes: list[tuple[str, str]] = []
    for code in reversed(through):
        call = recorder.unfinished.get(code)
        if call is None:
            if notes and code.co_name in ("forward", "backward"):
                break  # its caller is a function without an oracle
            continue
        if blame := unsaved_values(call, error):
            return blame
        if reason := callers_mistake(call, error):
            notes.append(("Note", reason))
            continue
        rows = (*(_without_result(call.missing) if call.missing else _given(call)), raised, *notes)
        oracle = call.missing.oracle if call.missing else "a call with these arguments must not raise an error"
        return call, Difference("the error that it raises", rows, "what it calls" if notes else oracle)
    if recorder.silent is None:
        recorder.warnings += [f"Note: {text}." for _, text in notes]
    return recorder.silent


def _without_result(difference: Difference) -> tuple[tuple[str, str], ...]:
    """The rows of a call that raised an error and so returned nothing: without the row that its result is None."""
    return tuple(row for row in difference.rows if row != ("Yours", "None"))


def _given(call: Call) -> tuple[tuple[str, str], ...]:
    """The arguments of a function."""
    rows = []
    for name, value in zip(call.code.co_varnames, call.before, strict=False):
        if hasattr(value, "strides") and hasattr(value, "itself"):
            rows.append((name, f"a tensor of shape {value.shape}, strides {value.strides}"))
        else:
            rows.append((name, format_number(value.data if isinstance(value, Number) else value)))
    return tuple(rows)
