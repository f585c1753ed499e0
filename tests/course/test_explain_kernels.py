"""`course explain` of CUDA kernels: wrong values, races, accesses outside of arrays, and needless reads, without a GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course.explain import launches
from course.explain.calls import Recorder
from course.explain.divergence import Difference
from course.explain.registry import targets
from course.explain.replay import first_wrong_call
from course.manifest import ROOT, course
from minitorch import cuda_kernels, cuda_ops, operators
from minitorch.cuda import inspect_kernel
from minitorch.kernels.cuda.device import cuda
from minitorch.language import cuda_attention

TILE, SIZE = cuda_kernels.TILE, cuda_ops.BLOCK_DIM


def explained(launch: Callable[[], object]) -> tuple[str, Difference]:
    """The kernel that is to blame when a test that launches it fails, and the difference; ("", …) if no oracle finds a mistake."""

    def test() -> None:
        launch()
        raise AssertionError("the test fails")

    found = first_wrong_call(ROOT, test)
    return (found[0].name, found[1]) if found else ("", Difference("", (), ""))


@pytest.fixture
def blame(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, Difference]]:
    """A function that gives the blamed kernel and the difference after a launch in which this kernel replaces one of the course."""

    def blame(kernel: Callable[..., None], launch: Callable[[], object]) -> tuple[str, Difference]:
        monkeypatch.setattr(cuda_kernels, "sum_kernel" if kernel is sums_one_too_few else "transpose_kernel", kernel)
        return explained(launch)

    return blame


def transposed(rows: int = 2, columns: int = 3) -> Any:
    a = np.arange(rows * columns, dtype=np.float32)
    grid = -(-columns // TILE), -(-rows // TILE)
    return inspect_kernel(cuda_kernels.transpose_kernel, grid, (TILE, TILE), np.full(a.size, np.nan, np.float32), a, rows, columns)


def summed(size: int) -> Any:
    blocks = -(-size // cuda_kernels.SUM_ELEMENTS)
    a = 2 * np.arange(size, dtype=np.float64) + 1
    return inspect_kernel(cuda_kernels.sum_kernel, blocks, cuda_kernels.SUM_THREADS, np.zeros(blocks), a, size)


def attended(queries: int, keys: int, causal: bool, columns: int = 2, factor: float = 1.0) -> Any:
    """The values are 3, 4 …; those of the last key are multiplied by a factor."""
    draw = np.random.default_rng(0)
    query, key = draw.random((1, queries, 3), np.float32), draw.random((1, keys, 3), np.float32)
    value = np.arange(3, 3 + keys * columns, dtype=np.float32).reshape(1, keys, columns)
    value[0, -1] *= factor
    out, grid = np.full((1, queries, columns), np.nan, np.float32), (1, -(-queries // TILE))
    return inspect_kernel(cuda_attention.attention_kernel, grid, (TILE, TILE), out, query, key, value, np.float32(0.5), causal)


# Broken kernels


def copies(out, a, rows, columns):
    """Does not transpose."""
    i = cuda.threadIdx.y * columns + cuda.threadIdx.x
    if cuda.threadIdx.y < rows and cuda.threadIdx.x < columns:
        out[i] = a[i]


def reads_twice(out, a, rows, columns):
    """Transposes, and reads one element twice."""
    y = cuda.threadIdx.y
    x = cuda.threadIdx.x
    if y < rows and x < columns:
        out[x * rows + y] = a[y * columns + x] + 0 * a[5]


def writes_twice(out, a, rows, columns):
    """Transposes, and clears each element before."""
    y = cuda.threadIdx.y
    x = cuda.threadIdx.x
    if y < rows and x < columns:
        out[x * rows + y] = 0
        out[x * rows + y] = a[y * columns + x]


def without_a_barrier(out, a, rows, columns):
    """Reads from shared memory what another thread writes."""
    tile = cuda.shared.array((TILE, TILE), out.dtype)
    y = cuda.threadIdx.y
    x = cuda.threadIdx.x
    if y < rows and x < columns:
        tile[y, x] = a[y * columns + x]
    if y < columns and x < rows:
        out[y * rows + x] = tile[x, y]


def formats(out, a, rows, columns):
    """Uses what numba.cuda does not compile."""
    f"{rows}"


def writes_ones(out, query, key, value, scale, causal):
    """Writes the same number everywhere, but in the last column."""
    if cuda.threadIdx.y < query.shape[1] and cuda.threadIdx.x < value.shape[2] - 1:
        out[0, cuda.threadIdx.y, cuda.threadIdx.x] = 1.0


def one_key_at_a_time(out, query, key, value, scale, causal):
    """Right for a single key, which every thread reads from global memory."""
    row = cuda.threadIdx.y
    if row < query.shape[1] and cuda.threadIdx.x < value.shape[2]:
        out[0, row, cuda.threadIdx.x] = value[0, 0, cuda.threadIdx.x]


def sums_one_too_few(out, a, size):
    """Lets one thread sum all elements but the last."""
    if cuda.threadIdx.x == 0:
        total = 0.0
        for i in range(size - 1):
            total += a[i]
        out[0] = total


def map_without_a_guard(fn):
    """Lets threads past the last element read and write."""

    def _map(out, out_shape, out_strides, out_size, in_storage, in_shape, in_strides):
        i = cuda.grid(1)
        out[i] = fn(in_storage[i])

    return _map


def line(function: Any, text: str) -> int:
    """The number of the line of a function with this text."""
    code = getattr(function, "__code__", function)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(n for n in range(code.co_firstlineno, len(lines)) if text in lines[n - 1])


# Values


def test_a_wrong_element_of_a_transpose_is_named_with_the_one_that_it_holds(blame: Any) -> None:
    rows = (("Expected", "a[1, 0] = 3"), ("Yours", "1, which is a[0, 1]"), ("a", "2 rows, 3 columns"))
    assert blame(copies, transposed) == ("copies", Difference("out[0, 1], position 1 of its storage", rows, "numpy.transpose"))


@pytest.mark.parametrize(
    ("size", "expected", "yours"),
    [(3, "9, the sum of a[0] to a[2]", "4, which is the sum of a[0] to a[1]"), (1, "1, the sum of a[0] alone", "0")],
)
def test_a_wrong_sum_is_named_with_the_elements_that_it_holds(blame: Any, size: int, expected: str, yours: str) -> None:
    difference = Difference("out[0], of block 0", (("Expected", expected), ("Yours", yours)), "numpy.sum of every 1024 elements")
    assert blame(sums_one_too_few, lambda: summed(size)) == ("sums_one_too_few", difference)


@pytest.mark.parametrize(
    ("queries", "expected"),
    [(1, "3, the mean of column 0 of the values, weighted by softmax"), (2, "0, because the query has no keys")],
)
def test_a_wrong_output_of_attention_is_named(monkeypatch: pytest.MonkeyPatch, queries: int, expected: str) -> None:
    monkeypatch.setattr(cuda_attention, "attention_kernel", writes_ones)
    wrong = 2 * queries
    rows = ("Yours", "1"), ("Launch", f"queries: {queries}, keys: 1, causal; {wrong} of {wrong} elements differ")
    found = explained(lambda: attended(queries, 1, causal=True))
    assert found[1].place == "out[0, 0, 0]"
    assert found[1].rows == (("Expected", expected), *rows)


def test_an_output_of_attention_that_is_not_written_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_attention, "attention_kernel", writes_ones)
    _, found = explained(lambda: attended(1, 1, causal=False, columns=1))
    assert found.rows[1][1].startswith("nan, the old content, as if nothing was written, or ")


# Mistakes of threads


INTERPRETER = "the interpreter of minitorch.cuda, with grid (1, 1, 1) and blocks of (32, 32, 1) threads"


def test_a_race_is_explained_with_the_source_of_both_lines(blame: Any) -> None:
    write, read = line(without_a_barrier, "tile[y, x] = "), line(without_a_barrier, "= tile[x, y]")
    finding = (
        f"line {write}: thread (1, 0, 0) of block (0, 0, 0) writes tile[0, 1], and thread (0, 1, 0) reads it in line {read}: "
        "no barrier orders the two (4 elements in total)"
    )
    lines = ((f"Line {write}", "tile[y, x] = a[y * columns + x]"), (f"Line {read}", "out[y * rows + x] = tile[x, y]"))
    assert blame(without_a_barrier, transposed) == (
        "without_a_barrier",
        Difference("what its threads do", (("Finding", finding), *lines), INTERPRETER),
    )


def test_a_wrong_value_comes_with_the_mistakes_of_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_ops, "tensor_map", map_without_a_guard)
    kernel = map_without_a_guard(operators.neg)

    def difference(threads: int) -> tuple[str, list[str]]:
        launch = (1, threads, np.zeros(6), (2, 3), (1, 2), 6, np.arange(6.0), (2, 3), (3, 1))
        _, found = explained(lambda: inspect_kernel(kernel, *launch))
        return found.place, [text for label, text in found.rows if label == "Finding"]

    assert difference(4) == ("cell (0, 1) of out, position 2 of its storage", [])
    thread = f"line {line(map_without_a_guard, 'out[i] = fn')}: thread (6, 0, 0) of block (0, 0, 0)"
    assert difference(7)[1] == [
        f"{thread} reads in_storage[6], but in_storage has 6 elements",
        f"{thread} writes out[6], but out has 6 elements",
    ]


def test_what_the_interpreter_refuses_is_the_kernels_error(blame: Any) -> None:
    name, difference = blame(formats, transposed)
    assert (name, difference.place, difference.rows[2:4]) == ("formats", "the error that it raises", (("rows", "2"), ("columns", "3")))
    label, message = difference.rows[-1]
    assert label == "It raises"
    assert "numba.cuda cannot compile an f-string, got" in message
    assert "a thread cannot build a string; write the numbers to an array, and format them after the launch" in message


# Global memory


def test_a_needless_read_is_explained_with_its_line(blame: Any) -> None:
    number = line(reads_twice, "out[x * rows + y] =")
    rows = (
        ("Expected", "a[5] is read once by all threads together"),
        ("Yours", f"7 times: line {number} 7 times; 1 of 6 elements are read more often than they have to be"),
        (f"Line {number}", "out[x * rows + y] = a[y * columns + x] + 0 * a[5]"),
    )
    assert blame(reads_twice, transposed) == ("reads_twice", Difference("how often its threads read global memory", rows, INTERPRETER))


def test_a_needless_write_is_explained_with_its_lines(blame: Any) -> None:
    number = line(writes_twice, "out[x * rows + y] = 0")
    _, difference = blame(writes_twice, transposed)
    assert difference.place == "how often its threads write global memory"
    assert difference.rows[:2] == (
        ("Expected", "out[0] is written once by all threads together"),
        ("Yours", f"2 times: line {number} once, line {number + 1} once; 6 of 6 elements are written more often than they have to be"),
    )


def test_a_needless_read_of_a_value_is_explained_with_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_attention, "attention_kernel", one_key_at_a_time)
    _, found = explained(lambda: attended(3, 1, causal=False))
    number = line(one_key_at_a_time, "= value[0, 0,")
    assert found.place == "how often its threads read global memory"
    assert found.rows[:2] == (
        ("Expected", "value[0, 0, 0] is read once by all threads together"),
        ("Yours", f"3 times: line {number} 3 times; 2 of 2 elements are read more often than they have to be"),
    )


def product(batches: tuple[int, int], rows: int, inner: int, columns: int) -> Any:
    """A product of which a factor may have a single matrix for the whole batch, and b is transposed in memory."""
    n = max(batches)
    grid = -(-rows // SIZE), -(-columns // SIZE), n
    out = np.zeros(n * rows * columns), (n, rows, columns), (rows * columns, columns, 1), n * rows * columns
    a = np.ones(batches[0] * rows * inner), (batches[0], rows, inner), (rows * inner, inner, 1)
    b = np.ones(batches[1] * inner * columns), (batches[1], inner, columns), (inner * columns, 1, inner)
    return inspect_kernel(cuda_ops._tensor_matrix_multiply, grid, (SIZE, SIZE), *out, *a, *b)


VECTOR = np.arange(6.0), (2, 3), (3, 1)
COLUMN = np.array([1.0, 5.0]), (2, 3), (1, 0)

RIGHT: dict[str, Callable[[], object]] = {
    "transpose": lambda: transposed(33, 31),
    "sum": lambda: summed(1025),
    "map of a column": lambda: inspect_kernel(cuda_ops.tensor_map(operators.neg), 2, 8, np.zeros(6), *VECTOR[1:], 6, *COLUMN),
    "zip of a column": lambda: inspect_kernel(cuda_ops.tensor_zip(operators.mul), 2, 8, np.zeros(6), *VECTOR[1:], 6, *VECTOR, *COLUMN),
    "reduce": lambda: inspect_kernel(
        cuda_ops.tensor_reduce(operators.add), 2, cuda_ops.REDUCE_BLOCK, np.zeros(2), (2, 1), (1, 1), 2, *VECTOR, 1, 0.0
    ),
    "sum_practice": lambda: inspect_kernel(cuda_ops._sum_practice, 2, 32, np.zeros(2), np.ones(40), 40),
    "mm_practice": lambda: inspect_kernel(cuda_ops._mm_practice, 1, (32, 32), np.zeros(9), np.ones(9), np.ones(9), 3),
    "attention": lambda: attended(TILE + 1, 2 * TILE + 1, causal=False),
    "causal attention": lambda: attended(2 * TILE, 2 * TILE, causal=True),
    "causal attention whose last value is NaN": lambda: attended(TILE + 1, TILE + 1, causal=True, columns=1, factor=np.nan),
    "causal attention with queries without keys": lambda: attended(2 * TILE + 1, TILE + 1, causal=True),
    "product": lambda: product((2, 1), SIZE + 1, SIZE, 2 * SIZE + 1),
    "product with one matrix on the left": lambda: product((1, 3), 1, SIZE + 1, SIZE),
}


@pytest.mark.parametrize("kernel", RIGHT)
def test_no_mistake_is_found_in_a_right_kernel(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if shapes are smaller or larger than blocks, elements are broadcast, and batches have one matrix."""
    monkeypatch.setattr(cuda_ops, "jit", lambda function: function)  # compiling takes seconds
    seen: list[object] = []
    compare = launches.Launches._compare
    monkeypatch.setattr(launches.Launches, "_compare", lambda self, *args: seen.append(compare(self, *args)))
    assert explained(RIGHT[kernel])[0] == ""
    assert seen == [None]


def test_after_a_right_call_the_table_of_its_report_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(targets(ROOT, course()))
    with recorder:
        report = transposed(33, 31)
    recorder.judge_all()
    assert (recorder.found, recorder.right, recorder.details) == (None, 1, report.table(100))
    assert "transpose_kernel" in recorder.details


def test_a_launch_with_too_many_threads_is_not_inspected() -> None:
    found = launches.Launches({}, lambda name: None, lambda code: iter(()))
    assert found._inspect(reads_twice, (9, 1, 1), (32, 32, 1), []) is None  # type: ignore[arg-type]  # a function
