"""Compiled kernels are found on disk by the next process, never stale; they stand several threads and a fork."""

import math
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, FastOps, TensorBackend, fast_ops, operators
from minitorch.kernels.jit import SOURCES, code_key, jitable, launch, serial, threads
from tests.errors import raises
from tests.marks import needs_compiler

PACKAGE = Path(minitorch.__file__).parent


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, to be edited."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "minitorch", ignore=shutil.ignore_patterns("__pycache__")))


def test_local_functions_are_named_by_what_they_are_made_from() -> None:
    def make(number: float) -> Any:
        return jitable(lambda x: x * number)

    names = [make(number).__qualname__ for number in (2.0, 2.0, 3.0)]
    assert names[0] == names[1] != names[2]
    assert jitable(operators.mul).__qualname__ == "mul"


def adder(table: Any, function: Any) -> Callable[..., Any]:
    """A kernel that adds what stands in its closure."""

    def add(out: np.ndarray) -> None:
        out[0] = table[1] + function(3.0)

    return serial(add)


@needs_compiler
def test_a_kernel_on_disk_is_told_apart_by_the_values_in_its_closure() -> None:
    tables, functions = (np.array([1.0, 2.0]), np.array([3.0, 4.0])), (jitable(lambda x: x), jitable(lambda x: -x))
    for table in tables:
        for function in functions:
            out = np.zeros(1)
            adder(table, function)(out)
            assert out[0] == table[1] + function(3.0)


FACTOR = 2.0


def in_textbook_style() -> Any:
    """A kernel made as students make theirs, with a number outside of it."""

    def scale(out: np.ndarray) -> None:
        out[0] = FACTOR * 3.0

    return fast_ops.njit(scale)


@needs_compiler
def test_a_students_kernel_is_found_on_disk_until_a_global_has_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled_with(factor: float) -> Any:
        monkeypatch.setitem(globals(), "FACTOR", factor)
        out, kernel = np.zeros(1), in_textbook_style()
        kernel(out)
        assert out[0] == factor * 3.0
        return kernel

    compiled_with(2.0)
    assert compiled_with(2.0).stats.cache_hits
    assert not compiled_with(time.time()).stats.cache_hits


@needs_compiler
def test_a_function_that_is_in_no_file_is_compiled_each_time() -> None:
    made: dict[str, Any] = {}
    exec("def scale(out):\n    out[0] = 4.0\n", made)
    out = np.zeros(1)
    fast_ops.njit(made["scale"])(out)
    assert out[0] == 4.0


@needs_compiler
def test_diagnostics_are_printed_for_a_kernel_from_disk(capsys: pytest.CaptureFixture[str]) -> None:
    shape, strides = np.array([2], np.int32), np.array([1], np.int32)
    for _ in range(2):
        kernel = textbook_map(jitable(operators.neg))
        kernel(np.zeros(2), shape, strides, np.ones(2), shape, strides)
    assert kernel.stats.cache_hits
    kernel.parallel_diagnostics(level=1)
    assert "Parallel Accelerator Optimizing" in capsys.readouterr().out


def test_the_key_tells_functions_apart() -> None:
    assert code_key(lambda x: x + 1) != code_key(lambda x: x + 2)
    assert code_key(operators.add) != code_key(operators.mul)
    assert code_key(operators.add) == code_key(operators.add)


def test_the_modules_in_the_key_exist() -> None:
    """A file that is missing counts as empty, and an edit of the module would not change the key."""
    package = Path(minitorch.__file__).parent
    assert [module for module in SOURCES if not (package / f"{module}.py").is_file()] == []


def test_a_compiled_function_is_taken_by_its_source() -> None:
    assert jitable(numba.njit(operators.add)) is operators.add


# Threads and forks


def test_a_function_that_is_not_written_in_python_is_refused() -> None:
    with raises(TypeError, "a kernel expected a function written in Python, got <built-in function sin>; wrap it: lambda x: …"):
        FastBackend.map(math.sin)(minitorch.tensor([1.0], backend=FastBackend))


def run_at_once(count: int, work: Callable[[], None]) -> None:
    """Run a function in so many threads."""
    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def test_two_threads_may_compute_at_once() -> None:
    x = minitorch.tensor(np.arange(1000.0).reshape(10, 100), backend=FastBackend)
    expected = ((x + x).sum(1) @ x.sum(0)).to_numpy()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            got = ((x + x).sum(1) @ x.sum(0)).to_numpy()
            if not np.array_equal(got, expected):
                wrong.append(got)

    run_at_once(2, work)
    assert wrong == []


def test_no_two_parallel_kernels_run_at_once() -> None:
    inside, most = [0], [0]

    def kernel() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        threading.Event().wait(0.01)
        inside[0] -= 1

    run_at_once(4, lambda: launch(kernel))
    assert most == [1]


def test_one_thread_is_enough_where_numba_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    assert threads() == 1


# What the published course asks of the kernels


def textbook_map(fn: Any) -> Any:
    """A kernel as a student writes it."""
    prange, to_index, broadcast_index, position = numba.prange, fast_ops.to_index, fast_ops.broadcast_index, fast_ops.index_to_position

    def _map(out, out_shape, out_strides, in_storage, in_shape, in_strides):
        if len(out_strides) == len(in_strides) and (out_strides == in_strides).all() and (out_shape == in_shape).all():
            for i in prange(len(out)):
                out[i] = fn(in_storage[i])
            return
        for i in prange(np.prod(out_shape)):
            out_index, in_index = np.zeros(fast_ops.MAX_DIMS, np.int32), np.zeros(fast_ops.MAX_DIMS, np.int32)
            to_index(i, out_shape, out_index)
            broadcast_index(out_index, out_shape, in_shape, in_index)
            out[position(out_index, out_strides)] = fn(in_storage[position(in_index, in_strides)])

    return fast_ops.njit(_map, parallel=True)


def test_a_textbook_kernel_takes_the_place_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_ops, "tensor_map", textbook_map)
    backend = TensorBackend(FastOps)
    x = minitorch.tensor([[1.0, -2.0, 0.0], [-4.0, 5.0, 6.0]], backend=backend)
    np.testing.assert_array_equal(x.relu().to_numpy(), [[1, 0, 0], [0, 5, 6]])
    np.testing.assert_array_equal(x.permute(1, 0).relu().to_numpy(), [[1, 0], [0, 5], [0, 6]])
    np.testing.assert_array_equal(backend.inv_map(x).to_numpy()[0], [1, -0.5, np.inf])


def test_with_the_compiler_off_the_same_is_computed(copy: Path) -> None:
    program = """
import numpy as np, minitorch
x = minitorch.tensor(np.array([[0.0, -1.0], [2.0, 1000.0]]), backend=minitorch.FastBackend)
print((1 / x).sum(1).to_numpy().tolist(), x.exp().sum().item(), (x @ x).to_numpy().tolist(), (x + x.permute(1, 0)).max().item())
"""
    settings = os.environ | {"PYTHONPATH": str(copy.parent), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[[inf], [0.501]] inf [[-2.0, -1000.0], [2000.0, 999998.0]] 2000.0"
