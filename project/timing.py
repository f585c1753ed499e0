"""Time the backends on growing work, the matrix product if nothing else is asked for, and show how many times faster they become."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import minitorch
from minitorch.kernels.jit import compiler_is_off, threads
from project.lab.charts import charts, speed_chart
from project.lab.explorers import speed
from project.lab.explorers.speed import Measurement
from project.lab.training import command_line

PROGRAM = "timing.py"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit status."""
    parser = command_line.Parser(PROGRAM, __doc__)
    parser.add_argument("--op", choices=list(speed.SIZES), default="matmul", help="what to compute")
    parser.add_argument("--backends", nargs="+", choices=speed.BACKENDS, default=list(speed.BACKENDS), help="what computes it")
    parser.add_argument("--up-to", type=command_line.number, default=None, metavar="N", help="the largest size; the largest there is")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32", help="kind of the numbers")
    parser.add_argument("--report", metavar="DIR", help="folder for timing.md and speedup.png")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each measurement, as the app reads it")
    options = parser.parse_args(arguments)
    if compiler_is_off():
        parser.refuse("expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it")
    smallest = speed.SIZES[options.op][0]
    if options.up_to is not None and (not isinstance(options.up_to, int) or options.up_to < smallest):
        parser.refuse(f"up-to expected a whole number of at least {smallest}, got {options.up_to!r}")
    sizes = [size for size in speed.SIZES[options.op] if options.up_to is None or size <= options.up_to]
    left_out = {name: why for name in dict.fromkeys(options.backends) if (why := speed.missing(name))}
    backends = [name for name in speed.BACKENDS if name in options.backends and name not in left_out]
    if not backends:
        parser.refuse(f"backends expected one that runs here, got {', '.join(f'{name} ({why})' for name, why in left_out.items())}")
    folder = command_line.report_folder(parser, options.report)
    measured = speed.measure(options.op, sizes, backends, options.dtype)
    if options.json:
        print(json.dumps({"op": options.op, "sizes": sizes, "backends": backends, "left_out": left_out}), flush=True)
        for each in measured:
            print(json.dumps(asdict(each)), flush=True)
        return 0
    lines: list[str] = []
    found: list[Measurement] = []
    for line in table(headline(options.op, options.dtype), measured, found, len(sizes) * len(backends)):
        print(line, flush=True)
        lines.append(line)
    told = speed_chart.notes(found, left_out)
    print("\n".join(["", *told, speed_chart.in_words(found)]))
    if folder:
        print(f"Report: {write(folder, lines, told, found)}")
    return 0


def headline(op: str, dtype: str) -> str:
    """What is measured, and where."""
    what = f"matrix product, {speed.BATCH} at once" if op == "matmul" else op
    count = threads()
    machine = f"{count} thread{'s' * (count != 1)}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{what}, {dtype}; {machine}, MiniTorch {minitorch.__version__}"


def table(title: str, measured: Iterator[Measurement], found: list[Measurement], total: int) -> Iterator[str]:
    """The lines of the table as they come.

    Args:
        title: Stands above.
        measured: What to show.
        found: Where to keep it.
        total: How many there will be, for the progress on a terminal.
    """
    yield title
    yield ""
    for each in _with_progress(measured, total):
        found.append(each)
        if len(found) == 1:
            unit = "GFLOP/s" if each.op == "matmul" else "Melem/s"
            yield f"{'size':>10}  {'backend':<9} {'a call':>12} {unit:>9} {'× ' + each.backend:>10} {'compiling':>11}"
        ratio = speed_chart.speedups(found)[each.size, each.backend]
        rate = speed.work(each.op, each.size) / each.seconds / (1e9 if each.op == "matmul" else 1e6)
        size = f"{each.size:,}" if each.backend == found[0].backend else ""
        took = ("≈ " if not each.runs else "") + duration(each.seconds)
        compiling = duration(each.compiling) if each.compiling > 0.05 else ""
        yield f"{size:>10}  {each.backend:<9} {took:>12} {rate:>9.3g} {speed_chart.sense(ratio):>10} {compiling:>11}".rstrip()


def _with_progress(measured: Iterator[Measurement], total: int) -> Iterator[Measurement]:
    """The same, with a bar on a terminal."""
    with command_line.progress_bar(total, "measurement") as advance:
        for each in measured:
            yield each
            advance()


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def write(folder: Path, lines: list[str], told: list[str], found: list[Measurement]) -> Path:
    """Write timing.md and speedup.png into a folder; returns the path of the first, which is written last."""
    charts.save(speed_chart.speedup(found), folder / "speedup.png")
    text = [
        f"# Speed of {found[0].op}",
        "",
        f"Made {datetime.now().astimezone():%Y-%m-%d %H:%M %z} by `python project/{PROGRAM} {' '.join(sys.argv[1:])}`.",
        "",
        f"![{speed_chart.in_words(found)}](speedup.png)",
        "",
        "```",
        *lines,
        "```",
        "",
        *[f"* {note}" for note in told],
        "",
    ]
    path = folder / "timing.md"
    charts.write(path, "\n".join(text).encode())
    return path


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
