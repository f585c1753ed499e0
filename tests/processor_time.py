"""A plugin of pytest that measures the processor time of tests, and the budget of `make test`.

`make test` loads it. It measures each test with its fixtures and the processes that it starts, prints where the time goes, and adds the
figures of the run to a record; `make check` runs this file, which compares them with the budget. Machines differ in speed, so the budget is
in yardstick-seconds: a fixed piece of work, timed in the same run, counts as YARDSTICK seconds on every machine.

    python -m pytest -p tests.processor_time --processor-time RECORD
    python -m tests.processor_time RECORD
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

BUDGET = 600.0
"""Yardstick-seconds that `make test` may take in a fresh clone, where every kernel is compiled: of all its processes together."""

LIMIT = 25.0
"""Yardstick-seconds that one test may take outside tests/exhaustive."""

YARDSTICK = 1.9
"""Seconds that the yardstick takes on the machine that defines the yardstick-second: two idle cores of an AMD EPYC (Zen 3)."""

ROOT = Path(__file__).parent.parent

Run = dict[str, Any]
"""total and yardstick: processor seconds; tests: those of each test, by node id."""


# Measuring


def work() -> None:
    """The yardstick: compile ten kernels and run a loop, which is what tests spend their time on."""
    import numpy as np
    from numba import njit

    def kernel(number: int) -> Any:
        def multiply(out, a, b):
            for i in range(out.shape[0]):
                for j in range(out.shape[1]):
                    total = 0.0
                    for k in range(a.shape[1]):
                        total += a[i, k] * b[k, j] + number
                    out[i, j] = total

        return njit(multiply)

    a = np.ones((8, 8))
    for number in range(10):
        kernel(number)(np.empty((8, 8)), a, a)
    counts = Counter(str(number % 1000) for number in range(1_000_000))
    assert len(counts) == 1000


def measure_yardstick() -> float:
    """Processor seconds of a process that does the yardstick's work."""
    start = spent()
    program = "from tests.processor_time import work; work()"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"NUMBA_DISABLE_JIT": "0"}, check=True)
    return spent() - start


def spent() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Stopwatch:
    """Measures every test where it runs, and collects the figures of all workers in the process that started them."""

    def __init__(self, config: pytest.Config) -> None:
        self.is_worker = hasattr(config, "workerinput")
        self.record: Path | None = config.getoption("processor_time")
        self.last = spent()
        self.yardsticks: list[float] = []  # measured before and after the tests: the speed of some machines changes by half in minutes
        self.tests: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)  # while the workers load the tests: both cores are as busy as during the tests
    def pytest_sessionstart(self) -> None:
        if not self.is_worker:
            self.yardsticks.append(measure_yardstick())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self.last = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = spent()
        report.processor_time, self.last = now - self.last, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.tests[report.nodeid] += getattr(report, "processor_time", 0.0)  # unknown if the test ended its process

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.is_worker:  # they report to the process that started them
            return
        total = spent() - sum(self.yardsticks)
        self.yardsticks.append(measure_yardstick())
        run = {"total": total, "yardstick": sum(self.yardsticks) / len(self.yardsticks), "tests": dict(self.tests)}
        runs = [run]
        if self.record is not None:
            runs = [*read(self.record), run]
            self.record.parent.mkdir(exist_ok=True)
            self.record.write_text(json.dumps(runs), encoding="utf-8")
        terminalreporter.section("processor time")
        for line in summary(runs):
            terminalreporter.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-time", type=Path, metavar="RECORD", help="add the figures of this run to a file")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Stopwatch(config), "stopwatch")


# Judging


def read(record: Path) -> list[Run]:
    """The runs in a record; none if there is no such file."""
    return json.loads(record.read_text(encoding="utf-8")) if record.exists() else []


def in_yardsticks(runs: list[Run]) -> dict[str, float]:
    """The yardstick-seconds of every test, and of starting and loading them under the name "starting and loading tests"."""
    found: Counter[str] = Counter()
    for run in runs:
        speed = run["yardstick"] / YARDSTICK
        found["starting and loading tests"] += (run["total"] - sum(run["tests"].values())) / speed
        for test, seconds in run["tests"].items():
            found[test] += seconds / speed
    return found


def summary(runs: list[Run]) -> list[str]:
    """The share of each folder, the ten most expensive files, and the whole beside the yardstick."""
    files: Counter[str] = Counter()
    folders: Counter[str] = Counter()
    for name, seconds in in_yardsticks(runs).items():
        file, separator, _ = name.partition("::")
        folders["/".join(file.split("/")[:-1][:2]) if separator else name] += seconds
        if separator:
            files[file] += seconds
    total = sum(folders.values())
    return [
        *(f"{100 * seconds / total:5.1f} %  {folder}" for folder, seconds in folders.most_common()),
        "The ten most expensive files, in yardstick-seconds:",
        *(f"{seconds:5.1f}  {file}" for file, seconds in files.most_common(10)),
        f"{sum(run['total'] for run in runs):.0f} s of processor time; {total:.0f} yardstick-seconds of {BUDGET:.0f}, with a yardstick of "
        + ", ".join(f"{run['yardstick']:.2f} s" for run in runs),
    ]


def excesses(runs: list[Run]) -> list[str]:
    """What exceeds the budget or the limit of a test."""
    tests = in_yardsticks(runs)
    measured = [("make test", sum(tests.values()), BUDGET), *((test, seconds, LIMIT) for test, seconds in tests.items() if "::" in test)]
    return [
        f"{name} took {seconds:.1f} yardstick-seconds, expected at most {limit:.0f}; make tests cheaper, or move what a cheaper "
        "test establishes as well to tests/exhaustive"
        for name, seconds, limit in measured
        if seconds > limit
    ]


def main(record: Path) -> int:
    """Compare the last run of `make test` with the budget; return 1 if it exceeds it."""
    if not (runs := read(record)):
        print("The processor time of the tests is unknown: make test measures it.")
        return 0
    found = excesses(runs)
    print(*found, sep="\n") if found else print("The tests keep to their budget of processor time.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
