"""Stage 7 - torch.utils.benchmark: how long a statement takes, measured several times, and compared with others."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minitorch.torch.absent import defined, refuse_absent

UNITS = {"ns": ("nanoseconds", 1e-9), "us": ("microseconds", 1e-6), "ms": ("milliseconds", 1e-3), "s": ("seconds", 1.0)}
"""Units of time, their names, and their lengths in seconds."""

WARNING = 0.1
"""Interquartile range, relative to the median, above which a measurement has a warning."""


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit of time in which a number of seconds is at least 1, and its length."""
    chosen = [unit for unit, (_, length) in UNITS.items() if seconds >= length]
    return (chosen[-1], UNITS[chosen[-1]][1]) if chosen else ("ns", 1e-9)


@dataclass(frozen=True)
class TaskSpec:
    """What is measured.

    Attributes:
        stmt: The statement.
        setup: What runs before it, untimed.
        global_setup: Not supported.
        label: What several measurements have in common.
        sub_label: The row in which `Compare` shows it.
        description: The column in which `Compare` shows it.
        env: Text that tells environments apart.
        num_threads: Number of threads, 1.
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label and the sub_label, or the statement."""
        if self.label is None:
            return "; ".join(self.stmt.splitlines())
        return self.label + (f": {self.sub_label}" if self.sub_label else "")


@dataclass
class Measurement:
    """The times of a statement.

    Attributes:
        number_per_run: How often it ran in each measurement.
        raw_times: The seconds of each measurement.
        task_spec: What was measured.
        metadata: Anything.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds for one run, in each measurement."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The interquartile range of `times`: half of them are this close together."""
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(high - low)

    @property
    def has_warnings(self) -> bool:
        """Whether the interquartile range exceeds a tenth of the median."""
        return self.iqr / self.median > WARNING

    def meets_confidence(self, threshold: float = WARNING) -> bool:
        """Whether there are enough times, and their interquartile range is at most this part of the median."""
        return len(self.times) > 3 and self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """What was measured, in a line."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The environment's text."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """The name of the row in which `Compare` shows it."""
        return self.task_spec.sub_label or self.task_spec.stmt

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for all of the same statement, with the times of each."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            groups.setdefault(each.task_spec, []).append(each)
        return [
            Measurement(several[0].number_per_run, [t * several[0].number_per_run for each in several for t in each.times], spec)
            for spec, several in groups.items()
        ]

    def __repr__(self) -> str:
        spec, n = self.task_spec, len(self.times)
        unit, length = select_unit(self.median)
        lines = [f"<torch.utils.benchmark.utils.common.Measurement object at {id(self):#x}>", self.title]
        lines += [spec.description] if spec.label and spec.description else []
        lines += [f"setup: {spec.setup}"] if spec.setup != "pass" and "\n" not in spec.setup else []
        lines += ["setup:", *(f"  {line}" for line in spec.setup.strip().splitlines()), ""] if "\n" in spec.setup else []
        runs = f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''} "
        threads = f", {spec.num_threads} thread{'s' if spec.num_threads > 1 else ''}"
        if n == 1:
            return "\n".join([*lines, f"  {self.median / length:.2f} {unit}", f"  1 measurement, {runs}{threads}"])
        low, high = np.quantile(self.times, [0.25, 0.75]) / length
        lines.append(f"  Median: {self.median / length:.2f} {unit}")
        lines += [f"  IQR:    {self.iqr / length:.2f} {unit} ({low:.2f} to {high:.2f})"] if n >= 4 else []
        lines.append(f"  {n} measurements, {runs}per measurement{threads}")
        if n >= 4 and self.has_warnings:
            lines.append(f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.")
            lines.append("           This suggests significant environmental influence.")
        return "\n".join(lines)


class Timer:
    """Times a statement: `Timer("x @ x", globals={"x": x}).blocked_autorange()`.

    Kernels are compiled when they are first called, which is not timed: a run before the first measurement is left out.

    Args:
        stmt: Python code.
        setup: Python code that runs before each measurement, untimed.
        global_setup: Empty.
        timer: The clock, in seconds.
        globals: The names that the code uses; `torch` is this library unless they name another.
        label: What several measurements have in common.
        sub_label: The row in which `Compare` shows it.
        description: The column in which `Compare` shows it.
        env: Text that tells environments apart.
        num_threads: 1.
        language: "python".

    Raises:
        NotImplementedError: For more threads, or code in C++.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if num_threads != 1 or global_setup or str(getattr(language, "value", language)).lower() not in ("python", "py", "0"):
            raise NotImplementedError('Timer supports num_threads=1, global_setup="" and language="python" only; leave these options out')
        import minitorch.torch as torch  # which imports this module

        self._task_spec = TaskSpec(_dedent(stmt), _dedent(setup), "", label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(self._task_spec.stmt, self._task_spec.setup, timer, {"torch": torch} | (globals or {}))

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Run the statement this often, after a few runs that are not timed, and measure once."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not supported, as in PyTorch.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("Timer has no repeat; use blocked_autorange()")

    autorange = repeat

    def _block_size(self, min_run_time: float) -> int:
        """How often to run, so that one measurement takes a thousandth of the time at least, and the clock's cost does not matter."""
        number = 1
        while min(self._timer.timeit(number) for _ in range(3)) < max(min_run_time / 1000, 1e-5):
            number *= 10
        return number

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of runs until they have taken this long.

        Args:
            callback: Called with the number of runs and the seconds of each block.
            min_run_time: Seconds, in total.
        """
        number, times = self._block_size(min_run_time), []
        while not times or sum(times) < min_run_time:
            times.append(self._timer.timeit(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = WARNING,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measure blocks of runs until their interquartile range is below this part of the median.

        Args:
            threshold: That part.
            min_run_time: Seconds until it is looked at.
            max_run_time: Seconds after which to stop in any case.
            callback: Called with the number of runs and the seconds of each block.
        """
        number, times = self._block_size(min_run_time), []
        while True:
            found = self.blocked_autorange(callback, min_run_time)
            times += [seconds / found.number_per_run * number for seconds in found.raw_times]
            made = Measurement(number, times, self._task_spec)
            if made.meets_confidence(threshold) or sum(times) >= max_run_time:
                return made


def _dedent(code: str) -> str:
    """Code without the indentation of its first line, and without blank lines around it."""
    return textwrap.dedent(code).strip()


class Compare:
    """A table of measurements: a row for each sub_label, a column for each description, a block for each label.

    Args:
        results: The measurements.
    """

    def __init__(self, results: Sequence[Measurement]) -> None:
        self._results, self._trim = Measurement.merge(results), False

    def extend_results(self, results: Sequence[Measurement]) -> None:
        """Add measurements."""
        self._results = Measurement.merge([*self._results, *results])

    def trim_significant_figures(self) -> None:
        """Show two digits of each time."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """No effect: the table has no colors."""

    def highlight_warnings(self) -> None:
        """No effect; a measurement shows its own warning."""

    def print(self) -> None:
        """Print the table."""
        print(self)

    def __str__(self) -> str:
        labels = dict.fromkeys(each.task_spec.label or "" for each in self._results)
        return "\n\n".join(
            self._block(label, [each for each in self._results if (each.task_spec.label or "") == label]) for label in labels
        )

    def _block(self, label: str, results: list[Measurement]) -> str:
        """The table of one label."""
        unit, length = select_unit(min(each.median for each in results))
        columns = list(dict.fromkeys(each.task_spec.description or "" for each in results))
        rows: dict[str, dict[str, str]] = {}
        for each in results:
            time = each.median / length
            text = f"{float(f'{time:.2g}'):.10g}" if self._trim else f"{time:.1f}"
            rows.setdefault(each.as_row_name, {})[each.task_spec.description or ""] = text
        first = max(map(len, rows), default=0)
        widths = [max(len(column), *(len(row.get(column, "")) for row in rows.values())) for column in columns]
        lines = [" " * first + "  |  " + "  |  ".join(column.center(width) for column, width in zip(columns, widths, strict=True))]
        lines += ["1 threads: ".ljust(len(lines[0]), "-")]
        for name, row in rows.items():
            cells = (row.get(column, "").rjust(width) for column, width in zip(columns, widths, strict=True))
            lines.append(f"{name.ljust(first)}  |  {'  |  '.join(cells)}")
        title = f" {label} ".center(len(lines[1]) - 2, "-")
        return "\n".join([f"[{title}]", *lines, "", f"Times are in {UNITS[unit][0]} ({unit})."])


__getattr__ = refuse_absent("torch.utils.benchmark", {"Timer", "Measurement", "Compare", "TaskSpec", "select_unit"} & {*defined(globals())})
