"""A test run again inside pytest, with every call of a student's function compared with its oracle; the first divergence is written down.

Loaded beside course.runner.plugin, in a process of its own, which `course explain` starts.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import traceback
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from course.explain.calls import Call, Recorder, Target
from course.explain.divergence import Finding, Wrong, shown_number
from course.explain.endless import Endless
from course.explain.registry import targets
from course.manifest import load
from course.runner.messages import error_line
from course.workspace.atomic_files import write_json

SCHEMA = 2
"""Version of the file's format."""

FAILURES = (Exception, pytest.fail.Exception)
"""What ends a test that fails; the second comes from `pytest.raises`, if nothing was raised."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --course-divergence."""
    parser.getgroup("course").addoption(
        "--course-divergence", metavar="PATH", type=Path, help="write the first divergence of a test as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch, if asked to."""
    if path := config.getoption("--course-divergence"):
        config.pluginmanager.register(Replay(config.rootpath, path), "course-replay")


class Replay:
    """Watches the calls of one test, and of a property those of its last failing example, which is the smallest.

    Args:
        root: The workspace.
        path: Where to write what was found.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.targets: Mapping[CodeType, Target] = {}
        self.failed: tuple[Recorder, BaseException] | None = None
        self.endless = Endless(root)

    @pytest.hookimpl(trylast=True)  # behind the plugin that ends what takes too long
    def pytest_sessionstart(self) -> None:
        """Look at what takes too long before it is ended."""
        self.endless.install()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Find the functions that have been loaded, and get between Hypothesis and the test."""
        self.targets = targets(self.root, load(self.root / "course" / "tasks.toml"))
        for item in items:
            handle = getattr(getattr(item, "obj", None), "hypothesis", None)
            if handle is not None and not hasattr(handle.inner_test, "replayed_by_course"):
                handle.inner_test = self._watched(handle.inner_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Watch a test that is no property."""
        if hasattr(pyfuncitem.obj, "hypothesis"):
            return (yield)
        recorder = Recorder(self.targets)
        try:
            with recorder:
                return (yield)
        except FAILURES as error:
            self.failed = recorder, error
            raise

    def _watched(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """The same property, its calls watched anew in every example."""

        @functools.wraps(inner)
        def watched(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            recorder = Recorder(self.targets)
            try:
                with recorder:
                    return inner(*args, **kwargs)
            except FAILURES as error:
                if not type(error).__module__.startswith("hypothesis."):  # an assumption that did not hold
                    self.failed = recorder, error
                raise

        watched.replayed_by_course = True  # type: ignore[attr-defined]  # parametrized tests share one function
        return watched

    def _finding(self, call: Call, wrong: Wrong, right: int) -> Finding:
        path = Path(call.code.co_filename)
        file = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name
        return Finding(call.target.task, call.name, file, call.code.co_firstlineno, wrong, right)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write what is found."""
        finding, right = None, 0
        if self.failed is not None:
            recorder, error = self.failed
            found = conclusion(recorder, error)
            right = recorder.right
            finding = self._finding(*found, right).as_json() if found else None
        about = {"passed": self.failed is None, "calls": right, "finding": finding, "hang": self.endless.found()}
        write_json(self.path, {"schema": SCHEMA, **about})


def first_wrong(root: Path, test: Callable[[], object]) -> CodeType | None:
    """The function whose call an oracle finds wrong first while a failing test runs; None if no oracle finds one.

    Args:
        root: The workspace.
        test: Runs the test.
    """
    if sys.getprofile() is not None:  # a profiler or a debugger watches already
        return None
    recorder = Recorder(targets(root, load(root / "course" / "tasks.toml")))
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), recorder:
            test()
    except FAILURES as error:
        found = conclusion(recorder, error)
        return found[0].code if found else None
    return None


def conclusion(recorder: Recorder, error: BaseException) -> tuple[Call, Wrong] | None:
    """The first divergence of the calls of a failed test: a wrong answer, an error, or nothing where something should be returned."""
    through = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    raised = ("It raises", error_line(error))
    recorder.judge_all()
    if recorder.found is not None:
        call, wrong = recorder.found
        if call.code in through and call.result is None and not isinstance(error, AssertionError):
            wrong = Wrong(wrong.place, (*wrong.rows, raised), wrong.oracle)
        return call, wrong
    for code in reversed(through):
        call = recorder.unfinished.get(code)
        if call is not None and not isinstance(error, NotImplementedError):
            expected = recorder.silent[1].rows if recorder.silent and recorder.silent[0] is call else ()
            rows = (*(expected or _given(call)), raised)
            oracle = recorder.silent[1].oracle if expected and recorder.silent else "the call, which should end without an error"
            return call, Wrong("the error that it raises", rows, oracle)
    return recorder.silent


def _given(call: Call) -> tuple[tuple[str, str], ...]:
    """What a function was given."""
    rows = []
    for name, value in zip(call.code.co_varnames, call.before, strict=False):
        if hasattr(value, "strides") and hasattr(value, "itself"):
            rows.append((name, f"a tensor of shape {value.shape}, strides {value.strides}"))
        else:
            rows.append((name, shown_number(getattr(value, "data", value))))
    return tuple(rows)
