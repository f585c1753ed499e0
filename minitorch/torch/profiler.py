"""Stage 7 - torch.profiler: the calls of functions of tensors within a block, counted and timed, as a table.

It stands on `minitorch.autograd.profile`: a row is a function of this library, `MatMul`, not an operator of PyTorch's, `aten::mm`, and
no time of Python between the functions is in it. What a GPU computes is timed until it is launched.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ContextDecorator
from enum import Enum
from typing import Any, NamedTuple

from minitorch.autograd.observer import Call, Observer, select_tensors
from minitorch.torch.absent import defined, refuse_absent

ACTIVE = threading.local()
"""Its attribute `profilers` lists the profilers of a thread, for `record_function`."""


class ProfilerActivity(Enum):
    """What is profiled."""

    CPU = 0
    CUDA = 1


class Event(NamedTuple):
    """One call.

    Attributes:
        name: The function, with `Backward` at its end in the backward pass, or the text of `record_function`.
        shapes: Shapes of its tensors.
        seconds: Its time.
        own_seconds: Its time without that of calls within it.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    seconds: float
    own_seconds: float


class FunctionEventAvg(NamedTuple):
    """All calls of one function. Times are in microseconds.

    Attributes:
        key: The function.
        count: How often it was called.
        cpu_time_total: Their time.
        self_cpu_time_total: Their time without that of calls within them, which only blocks of `record_function` have.
        input_shapes: Shapes of their tensors, if the rows are grouped by them.
    """

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    input_shapes: list[list[int]]

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count


SORTS = {name: name for name in ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total")}
"""The attributes by which a table can be sorted."""


def _time(microseconds: float) -> str:
    """A time with its unit, as PyTorch prints it."""
    for unit, length in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= length:
            return f"{microseconds / length:.3f}{unit}"
    return f"{microseconds:.3f}us"


class EventList(list[FunctionEventAvg]):
    """Rows of a profile."""

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The rows as text.

        Args:
            sort_by: "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count", the largest first; the first call first if left out.
            row_limit: Most rows.
            max_src_column_width: No effect.
            max_name_column_width: Most characters of a name.
            max_shapes_column_width: Most characters of the shapes.
            header: A line above the table.
            top_level_events_only: No effect: calls within a function are not counted.
            time_unit: No effect: each time has its own unit.

        Raises:
            ValueError: If sort_by is another name.
        """
        if sort_by is not None and sort_by not in SORTS:
            raise ValueError(f"table expected sort_by to be one of {', '.join(SORTS)}, got {sort_by!r}; there are no times of a GPU")
        rows = self if sort_by is None else sorted(self, key=lambda row: -getattr(row, SORTS[sort_by]))
        total = sum(row.self_cpu_time_total for row in self)
        shapes = any(row.input_shapes for row in self)
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls", *["Input Shapes"] * shapes]
        cells = [
            [
                row.key if len(row.key) <= max_name_column_width else f"{row.key[: max_name_column_width - 3]}...",
                *(f"{100 * row.self_cpu_time_total / (total or 1):.2f}%", _time(row.self_cpu_time_total)),
                *(f"{100 * row.cpu_time_total / (total or 1):.2f}%", _time(row.cpu_time_total), _time(row.cpu_time), str(row.count)),
                *[str(row.input_shapes)[:max_shapes_column_width]] * shapes,
            ]
            for row in rows[:row_limit]
        ]
        widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
        lines = ["  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in [titles, *cells]]
        rule = "  ".join("-" * width for width in widths)
        above = [header] if header else []
        return "\n".join([*above, rule, lines[0], rule, *lines[1:], rule, f"Self CPU time total: {_time(total)}", ""])

    def total_average(self) -> FunctionEventAvg:
        """The sum of all rows."""
        sums = [sum(getattr(row, name) for row in self) for name in ("count", "cpu_time_total", "self_cpu_time_total")]
        return FunctionEventAvg("Total", int(sums[0]), sums[1], sums[2], [])


class profile(Observer):
    """Count and time the functions of tensors that this thread calls within the block.

    Args:
        activities: `ProfilerActivity.CPU`, by default.
        schedule: None: everything in the block is profiled.
        on_trace_ready: Called with the profile at the end of the block.
        record_shapes: Whether `key_averages` can group by shapes.
        options: PyTorch's other options have no effect: `profile_memory`, `with_stack`, `with_flops`, `with_modules`; for memory see
            `minitorch.autograd.ledger`.

    Raises:
        NotImplementedError: If a schedule is given.

    Example:
        >>> with torch.profiler.profile() as prof:
        ...     y = torch.ones(4, 4) @ torch.ones(4, 4)
        >>> [(row.key, row.count) for row in prof.key_averages()]
        [('MatMul', 1)]
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        **options: Any,
    ) -> None:
        if schedule is not None:
            raise NotImplementedError("profile supports schedule=None only; open the block around the steps to profile")
        super().__init__()
        self._on_trace_ready, self._record_shapes, self._found, self._inner = on_trace_ready, record_shapes, [], [0.0]
        self._found: list[Event]

    def saw(self, call: Call) -> None:
        """Note a call."""
        name = f"{call.fn.__name__}Backward" if call.backward else call.fn.__name__
        shapes = tuple(tuple(x.shape) for x in select_tensors(call.ctx.args))
        self._inner[-1] += call.seconds
        self._found.append(Event(name, shapes, call.seconds, call.seconds))

    def __enter__(self) -> Any:
        super().__enter__()
        ACTIVE.profilers = [*getattr(ACTIVE, "profilers", ()), self]
        return self

    def __exit__(self, *error: object) -> None:
        ACTIVE.profilers = [each for each in ACTIVE.profilers if each is not self]
        super().__exit__(*error)
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def start(self) -> None:
        """Begin, without a block."""
        self.__enter__()

    def stop(self) -> None:
        """End, without a block."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """No effect: there is no schedule."""

    def events(self) -> list[Event]:
        """Each call, in order."""
        return list(self._found)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """A row for each function.

        Args:
            group_by_input_shape: Whether calls with different shapes have their own rows; needs record_shapes.
            group_by_stack_n: 0.
        """
        by_shape = group_by_input_shape and self._record_shapes
        groups: dict[Any, list[Event]] = {}
        for event in self._found:
            groups.setdefault((event.name, event.shapes if by_shape else ()), []).append(event)
        return EventList([_average(name, calls, shapes) for (name, shapes), calls in groups.items()])

    def export_chrome_trace(self, path: str) -> None:
        """Not supported.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("profile keeps no times of day, so it cannot export a trace; print key_averages().table()")


def _average(name: str, calls: list[Event], shapes: tuple[tuple[int, ...], ...]) -> FunctionEventAvg:
    """The row of several calls."""
    total, own = (1e6 * sum(getattr(event, which) for event in calls) for which in ("seconds", "own_seconds"))
    return FunctionEventAvg(name, len(calls), total, own, [list(shape) for shape in shapes])


class record_function(ContextDecorator):
    """Give a block, or a decorated function, a row of its own in a profile.

    Args:
        name: The text of the row.
        args: No effect.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def _recreate_cm(self) -> record_function:
        return record_function(self.name)

    def __enter__(self) -> record_function:
        self._profilers = list(getattr(ACTIVE, "profilers", ()))
        for each in self._profilers:
            each._inner.append(0.0)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        seconds = time.perf_counter() - self._start
        for each in self._profilers:
            inner = each._inner.pop()
            each._inner[-1] += seconds
            each._found.append(Event(self.name, (), seconds, max(0.0, seconds - inner)))


__getattr__ = refuse_absent("torch.profiler", {"ProfilerActivity", "profile", "record_function"} & {*defined(globals())})
