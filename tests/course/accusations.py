"""A pytest plugin that compares the calls of passing tests with their oracles, as `course explain` does with failing ones.

`pytest -p tests.course.accusations --accusations=PATH` writes a JSON list of the calls that an oracle calls wrong.
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
    """Add --accusations."""
    parser.addoption("--accusations", metavar="PATH", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin."""
    config.pluginmanager.register(Accusations(config.rootpath, config.getoption("--accusations")))


class Accusations:
    """Records every test and every example of a property.

    Args:
        root: The workspace.
        path: The file for the result.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.targets: dict[Any, Any] = {}
        self.compared = 0
        self.accused: list[str] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Wrap the properties."""
        self.targets = dict(targets(self.root, load(self.root / "course" / "tasks.toml")))
        for item in items:
            handle = getattr(getattr(item, "obj", None), "hypothesis", None)
            if handle is not None and not hasattr(handle.inner_test, "recorded"):
                handle.inner_test = self._recorded(handle.inner_test)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Record a test that is not a property."""
        if hasattr(pyfuncitem.obj, "hypothesis"):
            return (yield)
        recorder = Recorder(self.targets)
        with recorder:
            result = yield
        self._judge(recorder, pyfuncitem.nodeid)
        return result

    def _recorded(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(inner)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            recorder = Recorder(self.targets)
            with recorder:
                result = inner(*args, **kwargs)
            self._judge(recorder, inner.__qualname__)
            return result

        recorded.recorded = True  # type: ignore[attr-defined]  # parametrized tests share one function
        return recorded

    def _judge(self, recorder: Recorder, test: str) -> None:
        recorder.judge_all()
        self.compared += recorder.right
        if recorder.found is not None:
            call, difference = recorder.found
            self.accused.append(f"{test}: {call.name}: {difference.place} {difference.rows}")

    def pytest_sessionfinish(self) -> None:
        """Write the result."""
        self.path.write_text(json.dumps({"compared": self.compared, "accused": self.accused}), encoding="utf-8")
