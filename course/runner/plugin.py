"""The pytest plugin of the course: reports unwritten code as *todo*, and records a card for each failing test.

pyproject.toml loads this file for every run of pytest. It reads only results, and imports none of the code that it grades.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import re
import sys
from collections.abc import Callable, Generator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from _pytest.capture import CaptureManager

from course.runner import hypothesis_settings
from course.runner.compilations import note_compilations
from course.runner.draws import label_draws
from course.runner.failure_report import Card
from course.runner.items import case, parameter_names, says, skip_reason, task_of
from course.runner.messages import (
    assertion_parts,
    describe_unwritten,
    drawn_values,
    error_line,
    shown,
    shown_apart,
    shown_output,
    shown_traceback,
    text_of,
    unwritten_task,
)
from course.runner.report_file import ReportFile, exit_despite_threads
from course.runner.time_limit import TimeLimit
from course.runner.unwritten_code import unwrap, without_traceback
from course.workspace.atomic_files import write_json
from course.workspace.locate import STUDENTS, Locator
from course.workspace.published import is_beyond, message_of, read_rules
from course.workspace.tables_of_contents import cut_package


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --course-report, --course-first, --course-share, --course-limit and --course-stage."""
    group = parser.getgroup("course")
    group.addoption("--course-report", metavar="PATH", type=Path, help="write the results of the tests as JSON")
    group.addoption("--course-first", metavar="NODEID", help="run this test first, and write the simplest failure so far to PATH.first")
    group.addoption("--course-share", metavar="I/N", help="run only every N-th test, starting with test I, from 0")
    group.addoption("--course-limit", metavar="SECONDS", type=float, help="stop the run if one test takes longer")
    group.addoption("--course-stage", metavar="N", type=int, help="load the package without the later stages")


@pytest.hookimpl(tryfirst=True)  # before Hypothesis' own plugin, so that its options win
def pytest_configure(config: pytest.Config) -> None:
    """Configure Hypothesis and register the watcher."""
    if (stage := BEFORE_NUMBA if _lacks_numba(config) else config.getoption("--course-stage")) is not None:
        cut_package(STUDENTS[0], stage)
    if importlib.util.find_spec("hypothesis") is not None:
        hypothesis_settings.set_up(config.rootpath)
    report, limit, first = (config.getoption(f"--course-{name}") for name in ("report", "limit", "first"))
    capture = config.pluginmanager.getplugin("capturemanager")
    watcher = Watcher(config.rootpath, report, limit, first, capture if isinstance(capture, CaptureManager) else None)
    config.pluginmanager.register(watcher, "course-watcher")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Without numba, ignore the files, and folders of files, that have no tests of Modules 0 and 1: they cannot be imported."""
    if not _lacks_numba(config):
        return None
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    return not any(re.search(rf"\btask[0-{BEFORE_NUMBA}]_\d", file.read_text(encoding="utf-8", errors="replace")) for file in files) or None


def _lacks_numba(config: pytest.Config) -> bool:
    """Whether a plain run of pytest finds no numba, which `make course` does not install."""
    return config.getoption("--course-stage") is None and "numba" not in sys.modules and importlib.util.find_spec("numba") is None


BEFORE_NUMBA = 1
"""The last stage whose tests need no numba."""

RERUN_SECONDS = 1.0
"""A failing property that took at most this many seconds runs its last example again, to find the wrong function."""

RERUN_TEST_SECONDS = 0.1
"""The same for a test that is not a property, and runs again as a whole, which recording makes much slower."""

IMPORT_FACTOR = 4
"""The limit for importing all tests, as a multiple of the limit of one test."""


class Watcher:
    """Determines the state of every test and keeps a row for it.

    Args:
        root: The workspace.
        report: Where to write the rows, if anywhere.
        limit: Processor seconds for a test or an example of a property; None for no limit. See `TimeLimit`.
        first: The first test to run; if it is given, even empty, the first failing row is written next to the report at once.
        capture: pytest's, which keeps what tests print.
    """

    def __init__(
        self, root: Path, report: Path | None, limit: float | None, first: str | None = None, capture: CaptureManager | None = None
    ) -> None:
        self.root = root
        self.capture = capture
        self.report = ReportFile(report) if report is not None else None
        self.limit = TimeLimit(limit, root, STUDENTS)
        self.first = first
        self.early = report.with_name(f"{report.name}.first") if report is not None and first is not None else None
        self.locator, self.beyond = Locator(root), read_rules(root)
        self.rows: dict[str, dict[str, Any]] = {}  # of the report, by node id; see _row
        self.order: dict[str, int] = {}  # the position of each test as defined, by node id
        self.simplest: float = math.inf  # the order of the failing test in `early`
        self.interrupted: Card | None = None
        self.exitstatus = 0
        self.item: pytest.Item | None = None
        self.properties: list[Any] = []  # the tests that use Hypothesis
        self.comparison: tuple[str, str, str] | None = None  # the last one that failed: operator, left side, right side
        self.failure: tuple[dict[str, str], tuple[str, str, str] | None] | None = None  # of the last failing example
        self.printed: str | None = None  # what that example printed; None if unknown
        self.example: Callable[[], object] | None = None  # runs the last failing example of a property again

    # Time

    def pytest_sessionstart(self) -> None:
        """Start the timers for importing the tests; when one expires, it acts like Ctrl-C."""
        self.limit.install()
        self.limit.start(IMPORT_FACTOR)

    # What happens inside a test

    @pytest.hookimpl(trylast=True)  # after the tests of other tasks are deselected
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Move the first test to the front, keep this process's share, and wrap properties: their last failing call is the smallest."""
        self.order = {item.nodeid: number for number, item in enumerate(items)}
        items.sort(key=lambda item: item.nodeid != self.first)
        for item in items:
            test = getattr(item, "obj", None)
            handle = getattr(test, "hypothesis", None)
            inner = getattr(handle, "inner_test", None)
            if handle is not None and inner is not None and not hasattr(inner, "watched_by_course"):
                handle.inner_test = self._wrap(inner)
                self.properties.append(getattr(test, "__func__", test))  # also for a method
        if share := config.getoption("--course-share"):
            number, count = map(int, share.split("/"))
            config.hook.pytest_deselected(items=[item for index, item in enumerate(items) if index % count != number])
            items[:] = items[number::count]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the tests that will run."""
        if self.report is not None:
            self.report.begin([(item.nodeid, task_of(item), self.order.get(item.nodeid, -1)) for item in session.items])
            note_compilations(lambda name, report=self.report: report.add({"compiling": name}))

    def _wrap(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the test of a property to record the inputs of a failing call."""

        @functools.wraps(inner)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            self.comparison = None
            self._take_output()  # of the previous example
            self.limit.start()
            for value in kwargs.values():
                if hasattr(value, "conjecture_data"):
                    label_draws(value)
            fixtures = getattr(self.item, "funcargs", {})
            # shown before the call, because the code under test may change its arguments
            inputs = {name: shown(value) for name, value in kwargs.items() if name not in fixtures and name != "self"}
            try:
                return inner(*args, **kwargs)
            except BaseException:
                self.failure, self.printed = (inputs, self.comparison), self._take_output()
                self.example = functools.partial(inner, *args, **kwargs)
                raise

        wrapper.watched_by_course = True  # type: ignore[attr-defined]  # parametrized tests share one function
        return wrapper

    def _take_output(self) -> str:
        """Return what was printed since the last call, as far as pytest captures it."""
        capture = self.capture
        return "".join(capture.read_global_capture()) if capture is not None and capture.is_globally_capturing() else ""

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        """Record both sides of a failed comparison; leave the explanation to pytest."""
        self.comparison = op, *shown_apart(left, right)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Discard what was recorded for the previous test."""
        self.item, self.comparison, self.failure, self.printed, self.example = item, None, None, None, None
        self.limit.start()
        result = yield
        self.item = None  # kept if the run was interrupted
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Report unwritten code that a fixture calls without a traceback."""
        with without_traceback():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Report unwritten code that a test calls without a traceback."""
        with (
            without_traceback(),
            contextlib.nullcontext()
            if hasattr(getattr(item, "obj", None), "hypothesis")
            else hypothesis_settings.unshrunk(self.properties),
        ):
            return (yield)

    # States

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Record the outcome of a test."""
        report = yield
        if report.failed and call.excinfo is not None:
            # Hypothesis would offer a patch that adds the input to the tests, but the student has to fix the code
            if hasattr(item, "_hypothesis_failing_examples"):
                delattr(item, "_hypothesis_failing_examples")
            error = unwrap(call.excinfo.value)
            row = self._row(item.nodeid, task_of(item), error)
            printed = "".join(text for name, text in report.sections if name.startswith(("Captured stdout", "Captured stderr")))
            card = self._card(item, error, report.longreprtext, printed if self.printed is None else self.printed)
            longest = RERUN_TEST_SECONDS if self.example is None else RERUN_SECONDS
            if call.when == "call" and call.duration < longest and isinstance(error, AssertionError):
                card = self._with_the_wrong_function(card, item)
            is_open = row["state"] == "failing" and is_beyond(self.beyond, item.nodeid, message_of(card))
            row |= {"card": asdict(card)} | ({"state": "beyond"} if is_open else {})
            report.course_state = row["state"]  # type: ignore[attr-defined]  # read by pytest_report_teststatus
            self._keep(item.nodeid, row)
            if self.early is not None and row["state"] == "failing" and row["order"] < self.simplest:
                write_json(self.early, row)
                self.simplest = row["order"]
        elif report.when == "call" or report.skipped:
            row = self._row(item.nodeid, task_of(item)) | {"state": "skipped" if report.skipped else "passed"}
            if report.skipped:
                row["reason"] = skip_reason(report)
            self._keep(item.nodeid, row)
        return report

    def pytest_exception_interact(self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any], report: Any) -> None:
        """Record a file that failed to load, once for each task that has tests in it."""
        if isinstance(node, pytest.Item) or call.excinfo is None:
            return
        error = call.excinfo.value
        if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
            error = error.__cause__
        error = unwrap(error)
        place = self.locator.locate(error)
        file = node.path.relative_to(self.root).as_posix() if node.path.is_relative_to(self.root) else str(node.path)
        text = node.path.read_text(encoding="utf-8", errors="replace") if node.path.is_file() else ""
        for task in sorted(set(re.findall(r"\btask(\d+_\d+[a-z]?)\b", text))) or [None]:
            task = task and task.replace("_", ".")
            row = self._row(file, task, error)
            if row["state"] == "failing" and place is not None and (owner := self.locator.task_to_fix(place.file, task)):
                row |= {"state": "blocked", "needs": owner}
            requirement, traceback = f"{file} can be loaded.", shown_traceback(report.longreprtext)
            row["card"] = asdict(Card(file, task, requirement, error=error_line(error), place=place, traceback=traceback))
            self._keep(f"{file} {task}", row)
            if row["needs"]:
                report.longrepr = text_of(error)  # no traceback, because this file is not broken

    @pytest.hookimpl(tryfirst=True)  # pytest's own hook fails on a traceback without line numbers
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record where the run was interrupted, most likely in an endless loop; `pytest.exit` in a test is no interruption."""
        if isinstance(excinfo.value, pytest.exit.Exception):
            return
        place = self.locator.locate(excinfo.value)
        when = "while it was running" if self.item else "while the tests were loading"
        error = f"stopped {when}, {self.limit.reason}" if self.limit.reason else f"stopped {when}; look for a loop that does not end"
        if self.item is None:
            self.interrupted = Card("", error=error, place=place)
        else:
            card = self._card(self.item, excinfo.value, "")
            self.interrupted = Card(card.nodeid, card.task, card.says, card.case, card.inputs, error=error, place=place)

    def _keep(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row, in the report as well."""
        self.rows[key] = row
        if self.report is not None:
            self.report.add(row)

    def _row(self, nodeid: str, task: str | None, error: BaseException | None = None) -> dict[str, Any]:
        """Make a row of the report; without an error, the caller sets its state. `needs` is the task whose unwritten code was called."""
        needs = unwritten_task(error)
        state = "failing" if needs is None else "todo" if needs == task else "blocked"
        order = self.order.get(nodeid, -1)  # a file that failed to load has no tests and comes first
        return {"nodeid": nodeid, "task": task, "state": state, "needs": needs, "card": None, "order": order}

    def _card(self, item: pytest.Item, error: BaseException, text: str, printed: str = "") -> Card:
        """Make the card of a failing test."""
        inputs, comparison = self.failure or ({}, self.comparison)
        inputs = {name: value for name, value in inputs.items() if value != "data(...)"} | drawn_values(error)
        expected = yours = None
        message: str | None = error_line(error)
        if isinstance(error, AssertionError):
            expected, yours, message = assertion_parts(text_of(error), comparison)
            if yours == "None" and expected != "None" and message is None:
                message = "Yours is None: is a return missing?"
        task = task_of(item)
        place = self.locator.locate(error, item.path, task)
        called = self.locator.named_methods(error, task, place)
        if unreturned := self.locator.missing_return(error):
            place, message = unreturned
        elif called:
            place = None  # the line belongs to a caller, such as another task's function
        elif place and place.file.startswith("tests/"):
            called = self.locator.called_functions(error, task, place, parameter_names(item))
        return Card(
            nodeid=item.nodeid,
            task=task,
            says=says(item),
            case=case(item),
            inputs=inputs,
            expected=expected,
            yours=yours,
            error=message,
            place=place,
            called=called,
            traceback=shown_traceback(text),
            printed=shown_output(printed),
        )

    def _with_the_wrong_function(self, card: Card, item: pytest.Item) -> Card:
        """The card, with the function that an oracle finds wrong in a rerun, because the names in the test are a guess."""
        guesses = {place.function for place in card.called}
        some_are_hidden = _are_kernels_compiled()
        if card.place is None or not card.place.file.startswith("tests/") or not isinstance(item, pytest.Function):
            return card
        if some_are_hidden and len(guesses) < 2:
            return card
        place = None
        with contextlib.suppress(Exception):  # a workspace may lack the oracles, and a test may not run a second time
            from course.explain.replay import first_wrong_call, test_of

            found = first_wrong_call(self.root, self.example or test_of(item))
            place = self.locator.beginning(found[0].code) if found else None
        is_certain = place is not None and (place.function in guesses or not some_are_hidden)
        return replace(card, called=(place,)) if place and is_certain else card

    # Reports

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show unwritten code as t or TODO, and tests that need another task as b or BLOCKED."""
        state = getattr(report, "course_state", None)
        if state == "todo":
            return "todo", "t", ("TODO", {"yellow": True})
        if state == "blocked":
            return "blocked", "b", ("BLOCKED", {"blue": True})
        return None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print one line for each unwritten task instead of a traceback for each of its tests."""
        lines = list(describe_unwritten(self.rows.values()))
        if lines:
            terminalreporter.section("not written yet")
            for line in lines:
                terminalreporter.line(line)
        if _lacks_numba(terminalreporter.config):
            terminalreporter.line("numba is not installed, so only tests of Modules 0 and 1 ran; to install it, run: make app")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the report atomically."""
        self.limit.start(0)
        self.exitstatus = int(exitstatus)
        if self.report is not None:
            order = self.order.get(self.interrupted.nodeid, -1) if self.interrupted else -1
            self.report.end(list(self.rows.values()), self.exitstatus, self.interrupted, order)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """End a process whose tests have started threads that do not end."""
        if self.report is not None:
            exit_despite_threads(self.exitstatus)


def _are_kernels_compiled() -> bool:
    """Whether kernels have been compiled, so that their calls cannot be observed; those of a GPU run as Python in its simulator."""
    config = getattr(sys.modules.get("numba"), "config", None)
    return "minitorch.fast_ops" in sys.modules and config is not None and not (config.DISABLE_JIT or config.ENABLE_CUDASIM)
