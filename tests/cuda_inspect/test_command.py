"""The command python -m minitorch.cuda.inspect, its arguments and its table."""

import re
import subprocess
import sys

import numpy as np
import pytest

from course.manifest import ROOT
from minitorch.cuda import inspect_kernel
from minitorch.cuda.inspect import main
from minitorch.cuda.specs import parse_argument, parse_size
from tests.cuda_inspect import kernels

KERNELS = str(ROOT / "tests" / "cuda_inspect" / "kernels.py")

PROGRAM = """
import numpy as np
from numba import cuda

def scale(out, a, factor):
    i = cuda.grid(1)
    out[i] = a[i] * factor

def make(function):
    def kernel(out):
        i = cuda.grid(1)
        out[i] = function(i)
    return kernel

def double(x):
    return 2 * x

limit = 5

def inspect_example():
    return scale, 1, 32, (np.zeros(32, np.float32), np.ones(32, np.float32), 2.0)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    yield str(path)
    sys.modules.pop("program", None)


def test_it_prints_findings_totals_and_lines(capsys):
    status = main([f"{KERNELS}:copy_without_guard", "--grid", "2", "--block", "256", "zeros:float32[500]", "float32[500]", "--width", "90"])
    text = capsys.readouterr().out
    assert status == 1
    assert "copy_without_guard (kernels.py), grid (2, 1, 1) of blocks (256, 1, 1): 2 × 256 threads, 8\nwarps per block" in text
    assert "thread (244, 0, 0) of block (1, 0, 0) reads a[500]" in text
    assert re.search(r"^a +global +500 +0 +0 +16 +63 +100%$", text, re.M)
    assert re.search(r"^ *21 +100% +3\.9 +100% +out\[i\] = a\[i\]$", text, re.M)
    assert max(map(len, text.splitlines())) <= 90


@pytest.mark.parametrize("width", [72, 75, 140])
def test_the_table_fits_its_width(width):
    report = inspect_kernel(kernels.racy_histogram, 4, 128, np.zeros(10, np.int64), np.arange(512) % 10)
    assert max(map(len, report.table(width).splitlines())) <= width
    assert "\x1b" not in report.table(width)


ONE_WARP = ["--grid", "1", "--block", "32", "zeros:float32[32]", "float32[32]"]


@pytest.mark.parametrize(
    ("kernel", "arguments", "text"),
    [
        (f"{KERNELS}:copy", ONE_WARP, "\nNo findings.\n"),
        ("PROGRAM", [], "scale (program.py), grid (1, 1, 1) of blocks (32, 1, 1)"),
        ("PROGRAM:scale", [], "scale (program.py), grid (1, 1, 1) of blocks (32, 1, 1)"),
        ("PROGRAM:make(double)", ["--grid", "1", "--block", "4", "zeros:int64[4]"], "kernel (program.py)"),
    ],
    ids=["no findings", "inspect_example", "the kernel of inspect_example", "a kernel that a function makes"],
)
def test_a_kernel_without_findings_returns_0_and_is_shown_without_colors(kernel, arguments, text, program, capsys):
    assert main([kernel.replace("PROGRAM", program), *arguments]) == 0
    shown = capsys.readouterr().out
    assert text in shown
    assert "\x1b" not in shown


def test_it_runs_as_a_module_without_a_warning_even_if_the_pipe_is_closed():
    module = f"{sys.executable} -W error -m minitorch.cuda.inspect {KERNELS}:copy --grid 1 --block 32 zeros:float32[32] float32[32]"
    done = subprocess.run(["bash", "-c", f"{module} | true; exit ${{PIPESTATUS[0]}}"], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.py:copy"], "expected a Python file, got 'missing.py', which does not exist"),
        ([f"{ROOT / 'README.md'}:copy"], "README.md', which is not one"),
        ([f"{KERNELS}:nope", "--grid", "1", "--block", "1", "5"], "'nope' is not in tests.cuda_inspect.kernels; its functions are copy, "),
        ([f"{KERNELS}:TILE", "--grid", "1", "--block", "1", "5"], "expected a kernel, got TILE, which is 32"),
        ([f"{KERNELS}:copy", "--grid", "1", "--block", "32", "5"], "copy expected 2 arguments (out, a), got 1"),
        ([f"{KERNELS}:copy", "--grid", "1", "5"], "expected --grid and --block with the arguments, such as --grid 2,2 --block 32,32"),
        ([f"{KERNELS}:copy"], "expected --grid, --block and the kernel's arguments, or a function inspect_example() in kernels.py"),
        ([KERNELS], "kernels.py:KERNEL, or a function inspect_example() in kernels.py that returns (kernel, grid, block, arguments)"),
        ([f"{KERNELS}:copy(1)", "--grid", "1", "--block", "1", "5"], "expected a kernel from copy(1), got TypeError"),
        (["PROGRAM:double"], "error: inspect_example() is about scale; give --grid, --block and arguments for double"),
    ],
)
def test_what_cannot_be_inspected_is_an_error(arguments, message, program, capsys):
    assert main([arguments[0].replace("PROGRAM", program), *arguments[1:]]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert message in captured.err


def test_a_file_that_raises_is_an_error(tmp_path, capsys):
    path = tmp_path / "broken_program.py"
    path.write_text("1 / 0\n", encoding="utf-8")
    assert main([f"{path}:kernel"]) == 2
    assert "error: importing broken_program.py raised ZeroDivisionError: division by zero" in capsys.readouterr().err


# Arguments as text


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("-2", -2), ("1.5", 1.5), ("True", True), ("(64,64)", (64, 64)), ("(3,)", (3,)), ("( 1, 2.5 )", (1, 2.5)), ("()", ())],
)
def test_numbers_and_tuples(text, value):
    assert parse_argument(text) == value
    assert type(parse_argument(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "array"),
    [
        ("float32[2,3]", np.arange(6, dtype=np.float32).reshape(2, 3)),
        ("zeros:int64[4]", np.zeros(4, np.int64)),
        ("ones:bool[1,2,3]", np.ones((1, 2, 3), np.bool_)),
    ],
)
def test_arrays(text, array):
    np.testing.assert_array_equal(parse_argument(text), array, strict=True)


def test_random_arrays_are_the_same_each_time():
    values = parse_argument("random:float64[100]")
    assert 0 <= values.min() < values.max() < 1
    np.testing.assert_array_equal(values, parse_argument("random:float64[100]"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abc", "a tuple such as (64,64), or an array such as float32[64,64] (counting up) or zeros:float32[4096]; got 'abc'"),
        ("(1,x)", "got 'x'"),
        ("__import__('os')", "expected a number"),
        ("float33[2]", "int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool in 'float33[2]', got 'float33'"),
        ("fives:float32[2]", "expected one of zeros, ones, count, random in 'fives:float32[2]', got 'fives'"),
        ("float32[1,1,1,1]", "expected one to three sizes and at most 16777216 elements, got 'float32[1,1,1,1]'"),
        ("float32[0]", "expected one to three sizes"),
        ("float32[16777217]", "at most 16777216 elements"),
    ],
)  # fmt: skip
def test_other_texts_are_errors(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_argument(text)


def test_sizes():
    assert (parse_size("2"), parse_size("2,3"), parse_size("2, 3, 4")) == ((2,), (2, 3), (2, 3, 4))
    for text in ("0", "2,0", "1,2,3,4", "a", "-1", ""):
        with pytest.raises(ValueError, match="expected one to three integers of at least 1, such as 32,32; got"):
            parse_size(text)
