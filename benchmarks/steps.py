"""From the textbook kernels to the library's, one idea at a time, with the speed of each step: the figures of the chapter on performance.

The kernels are in `benchmarks.step_kernels`; the last step of each group is the library's own. All are checked against NumPy before they
are timed.

    python -m benchmarks.steps --repeats 9 --save benchmarks/results/steps.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads, njit

from benchmarks import step_kernels as kernels
from benchmarks.machine import processor
from minitorch import FastOps, TensorData, operators
from minitorch.core.kernel import find_kernel
from minitorch.kernels.vector_math import exp as exp_of_library
from minitorch.kernels.vector_math import vectorizable_functions

SEED = 0


class Step(NamedTuple):
    """One row of the table.

    Attributes:
        idea: What is new in this step.
        kernels: The functions to measure, by column; a column to which the idea does not apply has none.
    """

    idea: str
    kernels: dict[str, Callable[[], Any]]


class Group(NamedTuple):
    """Steps that do the same work.

    Attributes:
        title: The work.
        columns: The name of each kind of work, with its number of floating-point operations if its rate is of interest, or 0.
        steps: From the textbook kernel to the library's.
        results: The correct result of each kind of work, and the array that kernels write to.
    """

    title: str
    columns: dict[str, int]
    steps: list[Step]
    results: dict[str, tuple[np.ndarray, np.ndarray]]


# The steps, in order


def natural_exp(x: float, _: float) -> float:
    """e^x as a zip that ignores its second operand, like the library's maps."""
    return math.exp(x)


def polynomial_exp() -> Any:
    """e^x by additions, multiplications and bit shifts."""
    exp = njit(vectorizable_functions(np.float32)[exp_of_library])
    return lambda x, _: exp(x)


def elementwise(rows: int) -> Group:
    """The steps for maps and zips of rows × rows numbers."""
    random = np.random.default_rng(SEED)
    a, b = random.standard_normal((2, rows, rows), np.float32)
    out = np.empty_like(a)
    row = b[0]
    shape, strides = (rows, rows), (rows, 1)

    def run(make: Callable[[Any], Any], fn: Callable[..., float], other: np.ndarray, other_layout: Any) -> Callable[[], Any]:
        kernel = make(fn)
        layouts = [tuple(np.array(part, np.int32) for part in layout) for layout in ((shape, strides), (shape, strides), other_layout)]
        flat_arrays = [array.reshape(-1) for array in (out, a, other)]
        args = [part for array, layout in zip(flat_arrays, layouts, strict=True) for part in (array, *layout)]
        return lambda: kernel(*args)

    def step(idea: str, make: Callable[[Any], Any], *columns: str, exp: Any = natural_exp) -> Step:
        short_row = ((rows,), (1,)) if make in (kernels.with_new_buffers, kernels.with_old_buffers) else ((rows, rows), (0, 1))
        runs = {
            "add": lambda: run(make, operators.add, b, (shape, strides)),
            "add a row": lambda: run(make, operators.add, row, short_row),
            "exp": lambda: run(make, exp, a, (shape, strides)),
        }
        return Step(idea, {column: runs[column]() for column in columns})

    add, exp = find_kernel("zip", FastOps)(operators.add), find_kernel("map", FastOps)(operators.exp)
    out_data, a_data, b_data, row_data = (TensorData(array.reshape(-1), array.shape) for array in (out, a, b, row))
    library = {
        "add": lambda: add(out_data, a_data, b_data),
        "add a row": lambda: add(out_data, a_data, row_data),
        "exp": lambda: exp(out_data, a_data),
    }
    everything = ("add", "add a row", "exp")
    steps = [
        step("an index for every element", kernels.with_new_buffers, *everything),
        step("index buffers made once", kernels.with_old_buffers, *everything),
        step("stride-aligned: one plain loop", kernels.flat, "add", "exp"),
        step("merged dimensions: a plain loop for each row", kernels.by_rows, "add a row"),
        step("exp as a polynomial", kernels.flat, "exp", exp=polynomial_exp()),
        step("all cores", kernels.by_rows_on_all_cores, *everything, exp=polynomial_exp()),
        Step("the library", library),
    ]
    results = {"add": (out, a + b), "add a row": (out, a + row), "exp": (out, np.exp(a))}
    return Group(f"{rows} × {rows} numbers, float32", dict.fromkeys(everything, 0), steps, results)


def matrix_product(n: int) -> Group:
    """The steps for the product of n × n matrices."""
    random = np.random.default_rng(SEED)
    a, b = random.standard_normal((2, n, n), np.float32)
    out = np.empty_like(a)
    flat_out, flat_a, flat_b = out.reshape(-1), a.reshape(-1), b.reshape(-1)
    multiply = find_kernel("matrix_multiply", FastOps)
    out_data, a_data, b_data = (TensorData(array.reshape(-1), array.shape) for array in (out, a, b))
    column = "matrix product"

    def step(idea: str, kernel: Any, *width: int) -> Step:
        return Step(idea, {column: lambda: kernel(flat_out, flat_a, flat_b, n, *width)})

    steps = [
        step("one result after the other", kernels.one_result_after_the_other),
        step("loop order: along rows", kernels.row_by_row),
        step("tiles, b packed", kernels.in_tiles(kernels.add_one_by_one), kernels.WIDTH),
        step("register tile: two rows, four deep", kernels.in_tiles(kernels.add_eight), kernels.WIDTH),
        step("width known to the compiler", kernels.in_tiles(kernels.add_eight_of_constant_length), kernels.WIDTH),
        step("fused multiply-add", kernels.in_tiles(kernels.add_eight_fused), kernels.WIDTH),
        step("all cores", kernels.in_tiles_on_all_cores, kernels.WIDTH),
        Step("the library", {column: lambda: multiply(out_data, a_data, b_data)}),
    ]
    return Group(f"{n} × {n} matrices, float32", {column: 2 * n**3}, steps, {column: (out, a @ b)})


# Measuring


def check(group: Group) -> None:
    """Run every kernel once, which compiles it, and stop if a result is wrong."""
    for step in group.steps:
        for column, run in step.kernels.items():
            out, expected = group.results[column]
            out[:] = np.nan
            run()
            if not np.allclose(out, expected, rtol=1e-4, atol=1e-3):
                sys.exit(f"{step.idea}, {column}: the result differs from NumPy's; its time is meaningless")


def fastest_call(run: Callable[[], Any], at_least: float = 0.05) -> float:
    """Return the seconds of the fastest call within a time budget, of at least one; slower calls were disturbed by other programs."""
    fastest, end = math.inf, time.perf_counter() + at_least
    while fastest == math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def middle_half(values: list[float]) -> list[float]:
    """Return the median and the quartiles."""
    ranked, tail = sorted(values), len(values) // 4
    return [median(ranked), ranked[tail], ranked[-1 - tail]]


def measure(group: Group, repeats: int) -> list[dict[str, Any]]:
    """Return the idea of each step, and the median and quartiles of `repeats` calls by column, measured alternately."""
    runs = [(number, column, run) for number, step in enumerate(group.steps) for column, run in step.kernels.items()]
    seconds: list[dict[str, list[float]]] = [{column: [] for column in step.kernels} for step in group.steps]
    for _ in range(repeats):
        for number, column, run in runs:
            seconds[number][column].append(fastest_call(run))
    return [
        {"idea": step.idea, "seconds": {column: middle_half(own) for column, own in columns.items()}}
        for step, columns in zip(group.steps, seconds, strict=True)
    ]


def record(groups: list[Group], repeats: int, command: str) -> dict[str, Any]:
    """Return the data of the table and of the book's figure."""
    measured = []
    for group in groups:
        print(f"{group.title}: compiling {len(group.steps)} steps", file=sys.stderr, flush=True)
        check(group)
        print(f"{group.title}: measuring", file=sys.stderr, flush=True)
        measured.append({"title": group.title, "operations": group.columns, "steps": measure(group, repeats)})
    return {
        "command": command,
        "date": date.today().isoformat(),
        "machine": f"{processor()}, {os.cpu_count()} cores, {get_num_threads()} threads, Python {platform.python_version()}",
        "repeats": repeats,
        "groups": measured,
    }


def rows_of(group: dict[str, Any]) -> list[list[str]]:
    """Return a group of the record as rows of strings, titles first: medians in µs, the spread of the middle half, the speedup."""
    head = ["step"]
    for column, operations in group["operations"].items():
        head += [f"{column}, µs", "gain"] + (["GFLOP/s"] if operations else [])
    rows = [head]
    before: dict[str, float] = {}
    for step in group["steps"]:
        cells = [step["idea"]]
        for column, operations in group["operations"].items():
            seconds = step["seconds"].get(column)
            if seconds is None:
                cells += [""] * (3 if operations else 2)
                continue
            middle, lower, upper = seconds
            spread = (upper - lower) / 2 / middle
            cells += [f"{middle * 1e6:,.0f} ± {spread:.0%}", f"{before[column] / middle:.1f}" if column in before else ""]
            cells += [f"{operations / middle / 1e9:.1f}"] if operations else []
            before[column] = middle
        rows.append(cells)
    return rows


def table(rows: list[list[str]]) -> str:
    """Return rows as a Markdown table."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables, and save the figures if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steps", description="From the textbook kernels to the library's.")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each step (9)")
    parser.add_argument("--rows", type=int, default=1000, help="rows and columns of the matrices for maps and zips (1000)")
    parser.add_argument("--size", type=int, default=512, help=f"size of the matrices for products, a multiple of {kernels.WIDTH} (512)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the measurements to a file, for the book's figure")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats expected at least 1, got {options.repeats}")
    if options.rows < 1:
        parser.error(f"--rows expected at least 1, got {options.rows}")
    if options.size < 1 or options.size % kernels.WIDTH:
        parser.error(f"--size expected a multiple of {kernels.WIDTH}, got {options.size}")
    words = sys.argv[1:] if arguments is None else arguments
    found = record([elementwise(options.rows), matrix_product(options.size)], options.repeats, " ".join([parser.prog, *words]))
    for line in ("machine", "date", "command"):
        print(f"{line}: {found[line]}")
    print(f"medians of {options.repeats} alternating measurements, ± half the interquartile range; speedups over the previous step")
    for group in found["groups"]:
        print(f"\n{group['title']}\n\n{table(rows_of(group))}")
    if options.save:
        options.save.parent.mkdir(parents=True, exist_ok=True)
        options.save.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
