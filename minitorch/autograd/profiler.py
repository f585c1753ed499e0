"""Stage 7 - Profiler: time and memory traffic per op, with forward and backward passes listed separately."""

from __future__ import annotations

from dataclasses import dataclass

from minitorch.autograd.observer import Call, Observer, select_tensors
from minitorch.tensor import Tensor

WIDTH = 80


@dataclass
class Entry:
    """Statistics of the calls of one op.

    Attributes:
        op: Name of the function.
        backward: Whether these are backward calls.
        shapes: Shapes of the tensor arguments in forward, such as "2x3 3x4".
        calls: Number of calls.
        seconds: Their total time.
        bytes: Bytes of results written; views write none.
    """

    op: str
    backward: bool
    shapes: str
    calls: int = 0
    seconds: float = 0.0
    bytes: int = 0


class profile(Observer):
    """Measure every op that is called in this thread: `with profile() as p:`, then `print(p.table())`.

    It measures the op itself, without the overhead of `Function.apply` and the time between ops. For an op on a GPU it measures
    the time to launch it. Functions that are defined within the block are not measured. An inactive profiler costs nothing.

    Example:
        >>> x = minitorch.zeros((4, 4))
        >>> with profile() as p:
        ...     y = x @ x
        >>> [(entry.op, entry.shapes, entry.bytes) for entry in p.entries()]
        [('MatMul', '4x4 4x4', 128)]
    """

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[tuple[str, bool, str], Entry] = {}

    def saw(self, call: Call) -> None:
        """Add a call to the statistics."""
        shapes = " ".join("x".join(map(str, x.shape)) or "()" for x in select_tensors(call.ctx.args))
        entry = self._entries.setdefault((call.fn.__name__, call.backward, shapes), Entry(call.fn.__name__, call.backward, shapes))
        entry.calls += 1
        entry.seconds += call.seconds
        entry.bytes += bytes_written(call)

    def entries(self, by_shapes: bool = False) -> list[Entry]:
        """The measurements, the longest time first.

        Args:
            by_shapes: Whether to separate calls with different shapes; otherwise an entry names the shapes that took longest.
        """
        found: dict[tuple[str, ...], Entry] = {}
        for entry in sorted(self._entries.values(), key=lambda entry: -entry.seconds):
            key = (entry.op, str(entry.backward), *([entry.shapes] if by_shapes else []))
            several = found.setdefault(key, Entry(entry.op, entry.backward, entry.shapes))
            several.calls += entry.calls
            several.seconds += entry.seconds
            several.bytes += entry.bytes
        return sorted(found.values(), key=lambda entry: -entry.seconds)

    def table(self, by_shapes: bool = False, limit: int = 30) -> str:
        """The entries as a table of at most 80 columns, with the totals in the last row.

        Args:
            by_shapes: As in `entries`.
            limit: Maximum number of rows; the remaining entries are summed in one row.
        """
        entries = self.entries(by_shapes)
        total = sum_entries("total", entries)
        lines = [_line("op", "pass", "calls", "time", "share", "bytes", "shapes")]
        lines.append("-" * WIDTH)
        rest = [sum_entries(f"{len(entries) - limit} others", entries[limit:])] if len(entries) > limit else []
        for entry in [*entries[:limit], *rest, total]:
            direction = "" if entry in (*rest, total) else "backward" if entry.backward else "forward"
            share = f"{100 * entry.seconds / total.seconds:.1f}%" if total.seconds else ""
            lines.append(
                _line(entry.op, direction, entry.calls, format_seconds(entry.seconds), share, format_bytes(entry.bytes), entry.shapes)
            )
        return "\n".join(lines)


def sum_entries(name: str, entries: list[Entry]) -> Entry:
    """The sum of several entries."""
    return Entry(name, False, "", sum(e.calls for e in entries), sum(e.seconds for e in entries), sum(e.bytes for e in entries))


def _line(op: str, direction: str, calls: object, time: str, share: str, bytes_count: str, shapes: str) -> str:
    """One row of the table."""
    return f"{truncate(op, 20):20} {direction:8} {calls:>6} {time:>8} {share:>6} {bytes_count:>9}  {truncate(shapes, 16)}".rstrip()


def truncate(text: str, width: int) -> str:
    """The text, cut to the width of a column."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def bytes_written(call: Call) -> int:
    """Bytes of the results of a call that are in new storage."""
    seen = {id(x._tensor._version) for x in call.given}  # all views of a storage share this list
    if call.backward:
        seen |= {id(x._tensor._version) for x in select_tensors(call.ctx._saved)}
    count = 0
    for x in call.results:
        if id(x._tensor._version) not in seen:
            seen.add(id(x._tensor._version))
            count += nbytes(x)
    return count


def nbytes(x: Tensor) -> int:
    """Size of the elements in bytes."""
    return x.numel() * x.dtype.itemsize


def format_seconds(seconds: float) -> str:
    """A time with its unit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def format_bytes(count: int) -> str:
    """A number of bytes with its unit."""
    number = float(count)
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
