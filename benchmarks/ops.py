"""Operations of the fast backend beside NumPy (OpenBLAS), PyTorch and the textbook kernels, measured in turns.

Each library runs in a process of its own, because the waiting threads of one would slow another down; the processes take turns, so that
whatever else the machine does meets all of them alike.

    python -m benchmarks.ops --threads 1 2 --repeats 9
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

Run = Callable[[], Any]


class Case(NamedTuple):
    """One row of the table.

    Attributes:
        name: What is computed: operation, dtype and sizes.
        asked: At least so much of which library's speed, by library.
    """

    name: str
    asked: dict[str, float]


BLAS = {"float32": {1: 0.80, 2: 0.75}, "float64": {1: 0.85, 2: 0.85}}


def cases(threads: int) -> list[Case]:
    """The rows of the table for a number of threads."""
    rows = []
    for dtype, least in BLAS.items():
        share = least[min(threads, 2)]
        rows += [Case(f"matmul {dtype} {n}", {"numpy": share} | ({"textbook": 100.0} if n == 512 else {})) for n in (256, 512, 1024)]
    rows += [Case("matmul float32 64", {"numpy": 0.65}), Case("matmul float32 32x64", {"numpy": 0.65})]
    for size in ("1e5", "1e7"):
        rows += [Case(f"{op} float32 {size}", {"torch": 0.95}) for op in ("add", "mul", "relu")]
        rows.append(Case(f"add_row float32 {size}", {"torch": 0.95, "textbook": 30.0}))
        rows += [Case(f"{op} float32 {size}", {"numpy": 1.0, "torch": 0.8}) for op in ("exp", "sigmoid", "tanh")]
    for op, share in (("sum_last", 0.8), ("sum_first", 0.6), ("sum_all", 0.8)):
        rows.append(Case(f"{op} float32 1e7", {"torch": share}))
    rows.append(Case("chain float32 10", {"torch": 1 / 0.7}))
    return rows


def operands(name: str) -> tuple[str, Any, Any]:
    """The operation of a row, and its two arrays."""
    import numpy as np

    op, dtype, size = name.split()
    random = np.random.default_rng(0)
    if op == "matmul":
        shape = (32, 64, 64) if size == "32x64" else (int(size), int(size))
        shapes = shape, shape
    else:
        rows = {"1e5": 100, "1e7": 4000}.get(size, 1)
        shape = (rows, int(float(size)) // rows)
        shapes = shape, shape[1:] if op == "add_row" else shape
    first, second = (random.standard_normal(shape).astype(dtype) for shape in shapes)
    return op, first, second


# One function a library: from a row's name to what is measured


def of_numpy(name: str) -> Run | None:
    """NumPy's."""
    import numpy as np

    op, a, b = operands(name)
    out = np.empty_like(a)
    runs: dict[str, Run] = {
        "matmul": lambda: np.matmul(a, b, out=out),
        "add": lambda: np.add(a, b, out=out),
        "add_row": lambda: np.add(a, b, out=out),
        "mul": lambda: np.multiply(a, b, out=out),
        "relu": lambda: np.maximum(a, 0, out=out),
        "exp": lambda: np.exp(a, out=out),
        "tanh": lambda: np.tanh(a, out=out),
        "sigmoid": lambda: np.divide(1, np.add(1, np.exp(np.negative(a, out=out), out=out), out=out), out=out),
        "sum_last": lambda: a.sum(1),
        "sum_first": lambda: a.sum(0),
        "sum_all": lambda: a.sum(),
    }
    return runs.get(op)


def of_torch(name: str) -> Run | None:
    """PyTorch's."""
    import torch

    op, *arrays = operands(name)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    a, b = map(torch.from_numpy, arrays)
    out = torch.empty_like(a)

    def chain() -> None:
        x = y = a.detach().requires_grad_()
        for _ in range(20):
            y = y * b
        y.sum().backward()
        x.grad = None

    runs: dict[str, Run] = {
        "matmul": lambda: torch.matmul(a, b, out=out),
        "add": lambda: torch.add(a, b, out=out),
        "add_row": lambda: torch.add(a, b, out=out),
        "mul": lambda: torch.mul(a, b, out=out),
        "relu": lambda: torch.clamp_min(a, 0, out=out),
        "exp": lambda: torch.exp(a, out=out),
        "tanh": lambda: torch.tanh(a, out=out),
        "sigmoid": lambda: torch.sigmoid(a, out=out),
        "sum_last": lambda: a.sum(1),
        "sum_first": lambda: a.sum(0),
        "sum_all": lambda: a.sum(),
        "chain": chain,
    }
    return runs.get(op)


def of_minitorch(name: str) -> Run | None:
    """Ours."""
    from minitorch import FastBackend, from_numpy, operators
    from minitorch.fast_ops import tensor_matrix_multiply

    op, *arrays = operands(name)
    a, b = (from_numpy(array, backend=FastBackend) for array in arrays)
    out = a.zeros()
    f = FastBackend
    tanh = f.map(operators.tanh)
    tuples = (*out._tensor.tuple(), *a._tensor.tuple(), *b._tensor.tuple())

    def chain() -> None:
        x = y = a.detach().requires_grad_()
        for _ in range(20):
            y = y * b
        y.sum().backward()
        x.grad = None

    runs: dict[str, Run] = {
        "matmul": lambda: tensor_matrix_multiply(*tuples),
        "add": lambda: f.add_zip(a, b, out),
        "add_row": lambda: f.add_zip(a, b, out),
        "mul": lambda: f.mul_zip(a, b, out),
        "relu": lambda: f.relu_map(a, out),
        "exp": lambda: f.exp_map(a, out),
        "tanh": lambda: tanh(a, out),
        "sigmoid": lambda: f.sigmoid_map(a, out),
        "sum_last": lambda: f.add_reduce(a, 1),
        "sum_first": lambda: f.add_reduce(a, 0),
        "sum_all": lambda: a.sum(),
        "chain": chain,
    }
    return runs.get(op)


def of_textbook(name: str) -> Run | None:
    """The kernels of `benchmarks.textbook`."""
    import numpy as np

    from benchmarks import textbook
    from minitorch import operators

    op, *arrays = operands(name)

    def parts(array: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        array = array if op != "matmul" or array.ndim == 3 else array[None]
        return array.reshape(-1), np.array(array.shape), np.array(array.strides) // array.itemsize

    a, b = map(parts, arrays)
    out = parts(np.zeros_like(arrays[0]))
    if op == "matmul":
        return lambda: textbook.matrix_multiply(*out, *a, *b)
    if op == "add_row":
        kernel = textbook.tensor_zip(operators.add)
        return lambda: kernel(*out, *a, *b)
    return None


LIBRARIES: dict[str, Callable[[str], Run | None]] = {
    "minitorch": of_minitorch,
    "numpy": of_numpy,
    "torch": of_torch,
    "textbook": of_textbook,
}


# Measuring


def work(library: str) -> None:
    """The life of one library's process: a name read is a row to prepare, an empty line asks for the seconds of one call."""
    run: Run | None = None
    calls = 1
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip():
            run = LIBRARIES[library](line.strip())
            if run is not None:
                run()
                start = time.perf_counter()
                run()
                calls = max(1, math.ceil(5e-3 / (time.perf_counter() - start)))
            print("none" if run is None else "ready", flush=True)
        elif run is not None:
            start = time.perf_counter()
            for _ in range(calls):
                run()
            print((time.perf_counter() - start) / calls, flush=True)


class Library:
    """One library's process.

    Args:
        name: One of `LIBRARIES`.
        threads: How many it may use.
        python: The interpreter that has it.
    """

    def __init__(self, name: str, threads: int, python: str) -> None:
        count = str(threads)
        limits = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), count)
        command = [python, "-m", "benchmarks.ops", "--work", name]
        self.process = subprocess.Popen(command, env=os.environ | limits, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self) -> str:
        """The next line that the process prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        """Send a line, read the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def measure(name: str, libraries: dict[str, Library], repeats: int) -> dict[str, list[float]]:
    """Seconds of a call of each library that has the operation, `repeats` times in turns."""
    able = {key: library for key, library in libraries.items() if library.ask(name) == "ready"}
    seconds: dict[str, list[float]] = {key: [] for key in able}
    for turn in range(repeats):
        for key, library in able.items():
            if key == "textbook" and turn > 2:
                continue  # its times are long, and nobody doubts them
            seconds[key].append(float(library.ask("")))
    return seconds


def row(case: Case, seconds: dict[str, list[float]]) -> str:
    """One line of the table: times as medians with their spread, and our speed as a share of the others'."""
    ours = seconds["minitorch"]
    times = "  ".join(
        f"{key} {median(values) * 1e6:,.1f} ({min(values) * 1e6:,.1f} to {max(values) * 1e6:,.1f})" for key, values in seconds.items()
    )
    verdicts = []
    for key, share in case.asked.items():
        if key in seconds:
            got = median(seconds[key]) / median(ours)
            verdicts.append(f"{got:.2f} of {key}, asked {share:.2f}: {'reached' if got >= share else 'MISSED'}")
        else:
            verdicts.append(f"of {key}, asked {share:.2f}: NOT RUN")
    return f"{case.name:24}  {'; '.join(verdicts)}\n{'':26}µs: {times}"


FIRST_RESULT = """
import time
start = time.perf_counter()
import minitorch
x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], backend=minitorch.FastBackend)
(x + x).to_numpy()
first = time.perf_counter()
(x * x).to_numpy()
print(first - start, time.perf_counter() - first)
"""


def first_results(repeats: int) -> None:
    """Print how long a new process takes to a first result, and to one more, when the kernels are on disk."""
    found = []
    for _ in range(repeats + 1):
        printed = subprocess.run([sys.executable, "-c", FIRST_RESULT], capture_output=True, text=True, check=True).stdout
        found.append([float(x) for x in printed.split()])
    for name, asked, values in zip(
        ("first result of a new process", "one more kernel"), (0.7, 0.01), zip(*found[1:], strict=True), strict=True
    ):
        verdict = "reached" if median(values) <= asked else "MISSED"
        print(f"{name}: {median(values):.3f} s ({min(values):.3f} to {max(values):.3f}), asked at most {asked}: {verdict}")


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ops", description="The fast backend beside NumPy, PyTorch and the textbook."
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads, one table for each (1 2)")
    parser.add_argument("--repeats", type=int, default=9, help="measurements of each row (9)")
    parser.add_argument("--only", default="", help="rows whose name contains this (all)")
    parser.add_argument("--torch-python", default=sys.executable, help="an interpreter that has PyTorch (this one)")
    parser.add_argument("--work", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        work(options.work)
        return
    if options.repeats < 1 or min(options.threads) < 1:
        parser.error("--repeats and --threads expected at least 1")

    from benchmarks.scalar import processor  # here, because the interpreter that has PyTorch may lack what else it needs

    has_torch = subprocess.run([options.torch_python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    print(f"{processor()}, {os.cpu_count()} cores; medians of {options.repeats} in turns, with the least and the largest")
    if not has_torch:
        print(f"torch: NOT RUN, {options.torch_python} cannot import it; name an interpreter that can with --torch-python")
    for threads in options.threads:
        print(f"\n{threads} thread{'s' * (threads > 1)}")
        names = [name for name in LIBRARIES if name != "torch" or has_torch]
        pythons = {"torch": options.torch_python}
        libraries = {name: Library(name, threads, pythons.get(name, sys.executable)) for name in names}
        for case in cases(threads):
            if options.only in case.name:
                wanted = {key: library for key, library in libraries.items() if key == "minitorch" or key in case.asked}
                print(row(case, measure(case.name, wanted, options.repeats)), flush=True)
        for library in libraries.values():
            library.close()
    if not options.only:
        print()
        first_results(options.repeats)


if __name__ == "__main__":
    main()
