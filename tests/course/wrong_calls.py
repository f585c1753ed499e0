"""A pytest plugin that compares the calls in passing tests with their oracles, as `course explain` does for failing ones.

`pytest -p tests.course.wrong_calls --wrong-calls=PATH` writes a JSON list of the calls that an oracle finds wrong.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from course.explain.calls import Recorder
from course.explain.registry import targets
from course.manifest import load


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--wrong-calls", metavar="PATH", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(WrongCalls(config.rootpath, config.getoption("--wrong-calls")))


class WrongCalls:
    """Records the calls of every test and of every example of a property in a workspace, and writes a file."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.targets: dict[Any, Any] = {}
        self.compared = 0
        self.wrong: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Wrap the properties so that their calls are recorded."""
        self.targets = dict(targets(self.root, load(self.root / "course" / "tasks.toml")))
        for item in items:
            handle = getattr(getattr(item, "obj", None), "hypothesis", None)
            if handle is not None and not hasattr(handle.inner_test, "recorded"):
                handle.inner_test = self._record(handle.inner_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Record the calls of a test that is not a property."""
        if hasattr(pyfuncitem.obj, "hypothesis"):
            return (yield)
        recorder = Recorder(self.targets)
        with recorder:
            result = yield
        self._compare(recorder, pyfuncitem.nodeid)
        return result

    def _record(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            recorder = Recorder(self.targets)
            with recorder:
                result = inner(*args, **kwargs)
            self._compare(recorder, inner.__qualname__)
            return result

        wrapper.recorded = True  # type: ignore[attr-defined]  # parametrized tests share one function
        return wrapper

    def _compare(self, recorder: Recorder, test: str) -> None:
        recorder.judge_all()
        self.compared += recorder.right
        if recorder.found is not None:
            call, difference = recorder.found
            self.wrong.append(f"{test}: {call.name}: {difference.place} {difference.rows}")

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(json.dumps({"compared": self.compared, "wrong": self.wrong}), encoding="utf-8")
