"""Compiled kernels are found on disk by the next process, never stale; they stand several threads and a fork."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import minitorch
from minitorch import FastBackend, FastOps, TensorBackend, fast_ops, operators
from tests.kernels.test_jit import copy


def run(program: str, copy: Path, **environment: str) -> str:
    """What a program prints in a new process that imports the copy of the package."""
    settings = os.environ | {"PYTHONPATH": str(copy.parent), "NUMBA_CACHE_DIR": str(copy.parent / "cache")} | environment
    settings.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run([sys.executable, "-c", program], env=settings, cwd=copy.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def edit(copy: Path, module: str, before: str, after: str) -> None:
    """Change one line of a module."""
    path = copy / module
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{module} has {before!r} {source.count(before)} times"
    path.write_text(source.replace(before, after), encoding="utf-8")


KERNELS = """
import numpy as np
from minitorch import operators
from minitorch.kernels.elementwise import Map, Zip
from minitorch.kernels.reduce import Reduce
from minitorch.tensor_data import TensorData
x = np.arange(1.0, 7.0)
relu, add, total = Map(operators.relu), Zip(operators.add), Reduce(operators.add)
relu(TensorData(np.zeros(6), (6,)), TensorData(x, (6,)))
add(TensorData(np.zeros(6), (2, 3)), TensorData(x, (2, 3)), TensorData(x[:3], (3,)))
total(TensorData(np.zeros(2), (2, 1)), TensorData(x, (2, 3)), 1)
used = [*relu.kernels, *add.kernels, *total.kernels]
used[1].compile(used[0].signatures[0])
print(sum(sum(k.stats.cache_hits.values()) for k in used), sum(sum(k.stats.cache_misses.values()) for k in used))
"""


def test_a_second_process_finds_every_kernel_on_disk(copy: Path) -> None:
    assert run(KERNELS, copy) == "0 4"
    assert run(KERNELS, copy) == "4 0"


RELU = """
import minitorch
print(minitorch.tensor([-2.0, 3.0], backend=minitorch.FastBackend).relu().to_numpy().tolist())
"""


def test_an_edit_of_a_function_takes_effect(copy: Path) -> None:
    once, twice = "return x if x > 0 else 0.0", "return 2 * x if x > 0 else 0.0"
    assert run(RELU, copy) == "[0.0, 3.0]"
    edit(copy, "operators.py", once, twice)
    assert run(RELU, copy) == "[0.0, 6.0]"
    edit(copy, "operators.py", twice, once)
    assert run(RELU, copy) == "[0.0, 3.0]"


CALLER = """
import numpy as np
from minitorch import fast_ops
from minitorch.kernels import jit as compiled
def make():
    key = compiled.code_key()
    def kernel(out, shape):
        _ = key
        fast_ops.to_index(4, shape, out)
    return compiled.serial(kernel)
kernel = make()
out = np.zeros(2, np.int64)
kernel(out, (2, 3))
print(out.tolist(), sum(kernel.stats.cache_hits.values()))
"""


def test_an_edit_of_what_a_kernel_calls_takes_effect(copy: Path) -> None:
    program = copy.parent / "program.py"  # numba caches only functions defined in a file
    program.write_text(CALLER, encoding="utf-8")
    start = "import runpy; runpy.run_path('program.py')"
    assert run(start, copy) == "[1, 1] 0"
    assert run(start, copy) == "[1, 1] 1"
    edit(copy, "tensor_data.py", "ordinal, out_index[dim] = divmod(ordinal, shape[dim])", "out_index[dim] = 7")
    assert run(start, copy) == "[7, 7] 0"


OWN = """
import mine, minitorch
print(minitorch.FastBackend.map(mine.fn)(minitorch.tensor([5.0], backend=minitorch.FastBackend)).item())
"""


@pytest.mark.parametrize(
    ("files", "before", "after", "results"),
    [
        ({"mine.py": "def fn(x):\n    return x + 1\n"}, "x + 1", "x + 2", ["6.0", "7.0"]),
        (
            {
                "mine.py": "from other import g\ndef fn(x):\n    return g(x) + 1\n",
                "other.py": "import numba\n@numba.njit\ndef g(x):\n    return 2 * x\n",
            },
            "2 * x", "3 * x", ["11.0", "16.0"],
        ),
    ],
    ids=["the function itself", "what it calls"],
)  # fmt: skip
def test_an_edit_of_ones_own_function_takes_effect(files: dict[str, str], before: str, after: str, results: list[str], copy: Path) -> None:
    for name, text in files.items():
        (copy.parent / name).write_text(text, encoding="utf-8")
    assert run(OWN, copy) == results[0]
    edit(copy.parent, name, before, after)
    assert run(OWN, copy) == results[1]


def test_a_broken_file_is_compiled_anew(copy: Path) -> None:
    assert run(RELU, copy) == "[0.0, 3.0]"
    broken = list((copy.parent / "cache").rglob("*.nbc"))
    assert broken
    for path in broken:
        path.write_bytes(b"")
    assert run(RELU, copy) == "[0.0, 3.0]"


INTERRUPTED = """
import os
from numba.core.caching import IndexDataCacheFile
IndexDataCacheFile._save_data = lambda *_: os._exit(0)
"""

RESULT = """
import minitorch
x = minitorch.tensor([3.0, 4.0], backend=minitorch.FastBackend)
print((x {op} x).to_numpy().tolist())
"""


def test_a_process_that_ends_while_it_saves_leaves_no_wrong_kernel(copy: Path) -> None:
    assert run(RESULT.format(op="+"), copy) == "[6.0, 8.0]"
    module = copy / "kernels" / "elementwise.py"
    module.write_text(module.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    assert run(INTERRUPTED + RESULT.format(op="*"), copy) == ""  # numba's index, were it used, would now lead to the sum
    assert run(RESULT.format(op="*"), copy) == "[9.0, 16.0]"


def test_kernels_that_two_processes_have_compiled_stay_apart_in_a_third(copy: Path) -> None:
    """numba numbers functions within a process: a loop of the product may be called what, in another process, one of the copy was."""
    begin = "import numpy as np, minitorch; fast = minitorch.FastBackend"
    quarters = "print((0.25 * minitorch.from_numpy(np.arange(700_000, dtype='f'), fast)).to_numpy()[1:4])"
    permuted = "minitorch.zeros((100, 50, 3), fast, dtype=minitorch.float32).permute(2, 1, 0).contiguous()"
    run(f"{begin}; {quarters}", copy)
    run(f"{begin}; {permuted}", copy)
    assert run(f"{begin}; {permuted}; {quarters}", copy) == "[0.25 0.5  0.75]"


def test_files_of_earlier_sources_are_removed(copy: Path) -> None:
    def files() -> set[str]:
        return {path.name for path in (copy.parent / "cache").rglob("elementwise.zip_kernels*.nb[ci]")}

    run(RESULT.format(op="+"), copy)
    first = files()
    run(RESULT.format(op="*"), copy)
    assert len(files()) == 2
    assert first < files()
    module = copy / "kernels" / "elementwise.py"
    module.write_text("# edited\n" + module.read_text(encoding="utf-8"), encoding="utf-8")
    run(RESULT.format(op="+"), copy)
    assert len(files()) == 1
    assert not first & files()


FORK = """
import os, sys
import numpy as np
import minitorch
from minitorch.kernels import jit as compiled
from minitorch.kernels import reduce
from minitorch.kernels import elementwise
from minitorch.fast_ops import njit, prange
elementwise.PARALLEL_THRESHOLD = reduce.PARALLEL_THRESHOLD = 1
x = minitorch.tensor(np.arange(100.0), backend=minitorch.FastBackend)

def fill(out):
    for i in prange(len(out)):
        out[i] = i
compiled_fill = njit(fill, parallel=True)
def by_hand(out):
    compiled.launch(compiled_fill, out)
out = np.zeros(3)
by_hand(out)
assert (x + x).sum().item() == 9900
child = os.fork()
if not child:
    out[:] = 0
    by_hand(out)
    os._exit(int((x + x).sum().item() == 9900 and out.tolist() == [0, 1, 2] and compiled.threads() == 1))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_computes_after_its_parent_has(copy: Path) -> None:
    assert run(FORK, copy, NUMBA_NUM_THREADS="2") == "1"


SETTINGS = """
import os
for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
    os.environ.pop(name, None)
os.environ.update(GIVEN)
import minitorch
print(os.environ["OMP_WAIT_POLICY"], os.environ.get("GOMP_SPINCOUNT"))
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "PASSIVE 2000"),
        ({"GOMP_SPINCOUNT": "0"}, "PASSIVE 0"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE None"),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, "PASSIVE None"),
    ],
)
def test_waiting_threads_spin_for_a_moment_unless_told_otherwise(given: dict[str, str], expected: str, copy: Path) -> None:
    assert run(SETTINGS.replace("GIVEN", repr(given)), copy) == expected


@pytest.mark.parametrize("form", [tuple, np.array])
def test_kernels_take_shapes_and_strides_as_tuples_and_as_arrays(form: Any) -> None:
    a, out = np.arange(6.0), np.zeros(6)
    shape, strides = form((2, 3)), form((3, 1))
    fast_ops.tensor_map(numba.njit(operators.neg))(out, shape, strides, a, shape, strides)
    np.testing.assert_array_equal(out, -a)
    fast_ops.tensor_zip(numba.njit(operators.mul))(out, shape, strides, a, shape, strides, a, form((1,)), form((1,)))
    np.testing.assert_array_equal(out, 0 * a)
    sums = np.array([100.0, 200.0])
    fast_ops.tensor_reduce(numba.njit(operators.add))(sums, form((2, 1)), form((1, 1)), a, shape, strides, 1)
    np.testing.assert_array_equal(sums, [103.0, 212.0])
    product = np.zeros(4)
    sizes, steps = (form((1, 2, 2)), form((4, 2, 1))), ((form((1, 2, 3)), form((6, 3, 1))), (form((1, 3, 2)), form((6, 1, 3))))
    fast_ops.tensor_matrix_multiply(product, *sizes, a, *steps[0], a, *steps[1])
    np.testing.assert_array_equal(product, [5.0, 14.0, 14.0, 50.0])


def test_every_kernel_prints_numbas_diagnostics_after_a_call() -> None:
    x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]], backend=FastBackend)
    mapped, zipped = fast_ops.tensor_map(numba.njit(operators.id)), fast_ops.tensor_zip(numba.njit(operators.eq))
    reduced, out, matrices = fast_ops.tensor_reduce(numba.njit(operators.add)), x.zeros(), x.view(1, 2, 2)
    mapped(*out._tensor.tuple(), *x._tensor.tuple())
    zipped(*out._tensor.tuple(), *x._tensor.tuple(), *x.permute(1, 0)._tensor.tuple())
    reduced(*x.zeros((2, 1))._tensor.tuple(), *x._tensor.tuple(), 1)
    fast_ops.tensor_matrix_multiply(*matrices.zeros()._tensor.tuple(), *matrices._tensor.tuple(), *matrices._tensor.tuple())
    for kernel in (mapped, zipped, reduced, fast_ops.tensor_matrix_multiply):
        printed = io.StringIO()
        with redirect_stdout(printed):
            kernel.parallel_diagnostics(level=3)
        assert "Parallel Accelerator Optimizing" in printed.getvalue()
        assert "prange" in printed.getvalue()


def test_the_backend_computes_gradients() -> None:
    for backend in (FastBackend, TensorBackend(FastOps)):
        x, y = minitorch.rand((3, 2), backend=backend), minitorch.rand((2, 3), backend=backend)
        minitorch.grad_check(lambda x, y: ((x @ y).sigmoid() * x.permute(1, 0).sum(0)).exp() + (x @ y).relu().mean(1), x, y)


def test_a_kernel_is_made_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritten(fn: Any) -> Any:
        raise NotImplementedError("Need to implement for Task 3.1")

    monkeypatch.setattr(fast_ops, "tensor_map", unwritten)
    monkeypatch.setattr(FastOps, "optimized", False)
    backend = TensorBackend(FastOps)
    assert (minitorch.tensor([1.0], backend=backend) + 1).item() == 2
    with pytest.raises(NotImplementedError, match=r"^Need to implement for Task 3\.1$"):
        minitorch.tensor([1.0], backend=backend).relu()
