"""Time the backends on work of increasing size, by default the matrix product, and show their speedups."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from json import dumps
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

import minitorch
from minitorch.kernels.jit import compiler_is_off, threads
from project.lab.charts import charts, roofline_chart, speed_chart
from project.lab.explorers import speed
from project.lab.explorers.roofline import measure_roof
from project.lab.explorers.speed import Measurement
from project.lab.training import command_line, job_errors

PROGRAM = "timing.py"

Op = Literal["map", "zip", "reduce", "matmul"]


Size = Annotated[
    int | None, typer.Option(parser=command_line.number, metavar="N", help="the largest size to measure; all sizes if omitted")
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    return command_line.call(PROGRAM, command, arguments, __doc__)


def command(
    op: Annotated[Op, typer.Option(help="what to compute")] = "matmul",
    backends: Annotated[str, typer.Option(metavar="NAME,…", help="what computes it")] = ",".join(speed.BACKENDS),
    up_to: Size = None,
    dtype: Annotated[Literal["float32", "float64"], typer.Option(help="of the numbers")] = "float32",
    report: Annotated[Path | None, typer.Option(metavar="DIR", readable=False, help="folder for timing.md and speedup.png")] = None,
    json: Annotated[bool, typer.Option("--json", help="print a line of JSON for each measurement, as the app reads it")] = False,
) -> int:
    """Measure the backends and print a table or lines of JSON; returns the exit status."""
    if compiler_is_off():
        raise command_line.UsageError("expected the compiler to be on, got NUMBA_DISABLE_JIT=1; unset it")
    sizes = _sizes(op, up_to)
    chosen, left_out = _chosen(backends)
    folder = command_line.report_folder(report)
    measured = speed.measure(op, sizes, chosen, dtype)
    if json:
        roof = asdict(measure_roof(dtype))
        plan = {"op": op, "dtype": dtype, "sizes": sizes, "backends": chosen, "left_out": left_out, "roof": roof}
        print(dumps(plan), flush=True)
        with job_errors.reported():
            for each in measured:
                print(dumps(asdict(each)), flush=True)
        return 0
    lines: list[str] = []
    found: list[Measurement] = []
    for line in table(headline(op, dtype), measured, found, len(sizes) * len(chosen)):
        print(line, flush=True)
        lines.append(line)
    notes = speed_chart.notes(found, left_out)
    notes += [speed.in_words(split) for split in speed.parts(found)]
    roof = measure_roof(dtype)
    print("\n".join(["", *notes, speed_chart.in_words(found), roofline_chart.in_words(found, np.dtype(dtype).itemsize, roof)]))
    if folder:
        print(f"Report: {write(folder, lines, notes, found)}")
    return 0


def _sizes(op: str, up_to: object) -> list[int]:
    """Return the sizes to measure.

    Raises:
        UsageError: If there are none.
    """
    sizes = speed.SIZES[op]
    if up_to is None:
        return list(sizes)
    if not isinstance(up_to, int) or up_to < sizes[0]:
        raise command_line.UsageError(f"up-to expected a whole number of at least {sizes[0]}, got {up_to!r}")
    return [size for size in sizes if size <= up_to]


def _chosen(backends: str) -> tuple[list[str], dict[str, str]]:
    """Return the backends that run here, and why the others do not.

    Args:
        backends: Names, separated by commas.

    Raises:
        UsageError: If a name is unknown, or none of them runs here.
    """
    names = [name.strip() for name in backends.split(",")]
    if unknown := [name for name in names if name not in speed.BACKENDS]:
        raise command_line.UsageError(f"backends expected some of {','.join(speed.BACKENDS)}, got {','.join(unknown)}")
    left_out = {name: why for name in dict.fromkeys(names) if (why := speed.missing(name))}
    chosen = [name for name in speed.BACKENDS if name in names and name not in left_out]
    if not chosen:
        reasons = ", ".join(f"{name} ({why})" for name, why in left_out.items())
        raise command_line.UsageError(f"backends expected one that runs here, got {reasons}")
    return chosen, left_out


def headline(op: str, dtype: str) -> str:
    """Describe the measurement and the machine."""
    what = f"matrix product, {speed.BATCH} at once" if op == "matmul" else op
    count = threads()
    machine = f"{count} thread{'s' * (count != 1)}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{what}, {dtype}; {machine}, MiniTorch {minitorch.__version__}"


def table(title: str, measured: Iterator[Measurement], found: list[Measurement], total: int) -> Iterator[str]:
    """Yield the lines of the table as they are measured.

    Args:
        title: The title above the table.
        measured: The measurements to show.
        found: Receives the measurements.
        total: Their number, for the progress bar on a terminal.
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
        took = ("≈ " if not each.runs else "") + speed.duration(each.seconds)
        compiling = speed.duration(each.compiling) if each.compiling > 0.05 else ""
        yield f"{size:>10}  {each.backend:<9} {took:>12} {rate:>9.3g} {speed_chart.sense(ratio):>10} {compiling:>11}".rstrip()


def _with_progress(measured: Iterator[Measurement], total: int) -> Iterator[Measurement]:
    """Yield the same items, with a progress bar on a terminal."""
    with command_line.progress_bar(total, "measurement") as show:
        for number, each in enumerate(measured, 1):
            yield each
            show(number)


def write(folder: Path, lines: list[str], notes: list[str], found: list[Measurement]) -> Path:
    """Write timing.md and speedup.png to a folder; return the path of the first, which is written last."""
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
        *[f"* {note}" for note in notes],
        "",
    ]
    path = folder / "timing.md"
    charts.write(path, "\n".join(text).encode())
    return path


if __name__ == "__main__":
    command_line.run(PROGRAM, main)
