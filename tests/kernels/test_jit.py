"""Compiled kernels are found on disk by the next process, never stale; they stand several threads and a fork."""

import math
import os
import shutil
import subprocess
import sys
import threading
import types
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


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep kernels in a folder of this test."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


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


FACTOR: Any = 2.0


def from_a_global() -> Any:
    def scale(out: np.ndarray) -> None:
        out[0] = FACTOR * 3.0

    return fast_ops.njit(scale)


def from_a_comprehension() -> Any:
    def scale(out: np.ndarray) -> None:
        out[0] = [FACTOR * x for x in range(4)][3]

    return fast_ops.njit(scale)


def from_a_default() -> Any:
    @jitable
    def times(x: float, factor: Any = FACTOR) -> Any:
        return x * factor

    def scale(out: np.ndarray) -> None:
        out[0] = times(3.0)

    return fast_ops.njit(scale)


def from_a_member_of_a_module() -> Any:
    numbers.inner.FACTOR = FACTOR

    def scale(out: np.ndarray) -> None:
        out[0] = numbers.inner.FACTOR * 3.0

    return fast_ops.njit(scale)


numbers: Any = types.ModuleType("numbers")
numbers.inner = types.ModuleType("numbers.inner")


@needs_compiler
@pytest.mark.parametrize("made", [from_a_global, from_a_comprehension, from_a_default, from_a_member_of_a_module])
@pytest.mark.parametrize("values", [(2.0, 5.0), (np.float32(2), np.float32(5)), (2, 5)], ids=["float", "float32", "int"])
def test_a_students_kernel_is_found_on_disk_until_what_it_refers_to_changes(
    made: Any, values: Any, monkeypatch: pytest.MonkeyPatch, empty_cache: None
) -> None:
    hits = []
    for value in (values[0], *values):
        monkeypatch.setitem(globals(), "FACTOR", value)
        out, kernel = np.zeros(1), made()
        kernel(out)
        assert out[0] == value * 3.0
        hits.append(bool(kernel.stats.cache_hits))
    assert hits == [False, True, False]


@needs_compiler
def test_kernels_with_other_options_are_other_kernels(monkeypatch: pytest.MonkeyPatch, empty_cache: None) -> None:
    def past_the_end(out: np.ndarray) -> None:
        out[len(out)] = 1.0

    def inverse(out: np.ndarray) -> None:
        out[0] = 1.0 / out[0]

    fast_ops.njit(inverse)(np.zeros(1))
    with pytest.raises(ZeroDivisionError):
        fast_ops.njit(inverse, error_model="python")(np.zeros(1))
    fast_ops.njit(past_the_end)(np.zeros(2)[:1])
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    with pytest.raises(IndexError):
        fast_ops.njit(past_the_end)(np.zeros(2)[:1])


@needs_compiler
def test_a_function_may_call_itself_and_one_that_is_defined_below(empty_cache: None) -> None:
    @fast_ops.njit
    def factorial(n: int) -> int:
        return 1 if n == 0 else n * factorial(n - 1)

    def twice_next(x: float) -> float:
        return 2 * following(x)

    compiled = fast_ops.njit(twice_next)

    @jitable
    def following(x: float) -> float:
        return x + 1

    assert (factorial(5), compiled(3.0)) == (120, 8.0)


@needs_compiler
def test_a_function_that_is_in_no_file_is_compiled_each_time() -> None:
    made: dict[str, Any] = {}
    exec("def scale(out):\n    out[0] = 4.0\n", made)
    for _ in range(2):
        out, kernel = np.zeros(1), fast_ops.njit(made["scale"])
        kernel(out)
        assert out[0] == 4.0
        assert not kernel.stats.cache_hits


@needs_compiler
def test_a_full_disk_costs_only_the_cache(monkeypatch: pytest.MonkeyPatch, empty_cache: None) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minitorch.kernels.jit._CacheFiles._save_data", full)
    out = np.zeros(1)
    from_a_global()(out)
    assert out[0] == FACTOR * 3.0


@needs_compiler
def test_diagnostics_are_printed_for_a_kernel_from_disk(capsys: pytest.CaptureFixture[str], empty_cache: None) -> None:
    shape, strides = np.array([2], np.int32), np.array([1], np.int32)
    for _ in range(2):
        kernel = textbook_map(jitable(operators.neg))
        kernel(np.zeros(2), shape, strides, np.ones(2), shape, strides)
    assert kernel.stats.cache_hits
    kernel.parallel_diagnostics(level=1)
    assert "Parallel Accelerator Optimizing" in capsys.readouterr().out
    (assembly,) = kernel.inspect_asm().values()
    assert "_map" in assembly


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
