"""What a card says when numba cannot compile a student's function."""

import shutil
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.extending import register_jitable

from course.manifest import ROOT
from course.runner.messages import error_line
from course.workspace.locate import Locator

GIVEN = """import numpy as np

class Settings: pass

settings = Settings()

def helper(x): return x

def to_index(ordinal, shape, out_index):
    """
"""The beginning of a student's file; the line that cannot be compiled follows, on line 10."""

CASES = {
    "for i in reversed(range(2)): shape[i] = 1": """\
Untyped global name 'reversed': Cannot determine Numba type of <class 'type'>
Write instead: count down with range(n - 1, -1, -1); compiled code has no reversed""",
    "return any([size > 1 for size in shape])": """\
Untyped global name 'any': Cannot determine Numba type of <class 'builtin_function_or_method'>
Write instead: a loop; compiled code has no any""",
    "return helper(2)": """\
Untyped global name 'helper': Cannot determine Numba type of <class 'function'>
Write instead: the lines of helper here, or compile it first: helper = njit(helper); compiled code calls only compiled functions""",
    "return settings": """\
Untyped global name 'settings': Cannot determine Numba type of <class 'tensor_data.Settings'>
Write instead: the numbers or arrays that it needs; compiled code cannot use settings, an object of class Settings""",
    "return shape.index(3)": """\
Unknown attribute 'index' of type array(int32, 1d, C)
Write instead: a loop over the array; a compiled array has no index""",
    "return np.cumprod(shape, axis=0)": """\
No implementation of function cumprod found for signature:
 >>> cumprod(array(int32, 1d, C), axis=Literal[int](0))
got an unexpected keyword argument 'axis'
Write instead: the call without axis=, or a loop; the compiled function does not take it""",
    "return tuple(shape)": """\
No implementation of function tuple found for signature:
 >>> tuple(array(int32, 1d, C))
Write instead: the array itself; the compiler must know the length of a tuple""",
    "for i in range(shape): pass": """\
No implementation of function range found for signature:
 >>> range(array(int32, 1d, C))
Write instead: range(len(shape)); range takes numbers, not an array""",
    "return int(shape)": """\
No implementation of function int found for signature:
 >>> int(array(int32, 1d, C))
Write instead: one element of the array, such as shape[0]; int and float take numbers""",
    "return shape[0][0]": """\
No implementation of function getitem found for signature:
 >>> getitem(int32, Literal[int](0))
Write instead: the number without an index; it is a number, not an array""",
    "x = 1\n    if shape[0]: x = np.zeros(3)\n    return x": """\
Cannot unify Literal[int](1) and array(float64, 1d, C) for 'x.2', defined at /minitorch/tensor_data.py (12)
Write instead: two variables; x is Literal[int](1) on one path and array(float64, 1d, C) on another, but a variable keeps one type""",
    "out = []\n    return out": """\
Cannot infer the type of variable 'out', have imprecise type: list(undefined)<iv=None>.
Write instead: np.empty or np.zeros; the compiler must know what a list or dict holds""",
    "return sum(size for size in shape)": """\
The use of yield in a closure is unsupported.
Write instead: a loop; compiled code has no generator expressions""",
    "print(shape[0], end='')": """\
Numba's print() function implementation does not support keyword arguments.
Write instead: print(a, b); compiled code prints without sep, end or file""",
    "import math\n    return math.pi": """\
Use of unsupported opcode (IMPORT_NAME) found. Raised from /minitorch/tensor_data.py (10)
Write instead: the import at the beginning of the file""",
    "return 'size ' + shape": """\
No implementation of function add found for signature:
 >>> add(Literal[str](size ), array(int32, 1d, C))""",
}
"""Lines of a function, and what the card says about them."""


def compile_and_call(root: Path, code: str) -> BaseException:
    """What numba raises when a kernel calls a function with this body."""
    file = root / "minitorch" / "tensor_data.py"
    file.parent.mkdir()
    file.write_text(GIVEN + code + "\n", encoding="utf-8")
    names = {"__name__": "tensor_data"}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    to_index = register_jitable(names["to_index"])

    @numba.njit
    def kernel(shape, out_index):
        to_index(0, shape, out_index)

    with pytest.raises(Exception) as caught:  # noqa: PT011  # of many types
        kernel(np.array([2, 3], np.int32), np.zeros(2, np.int32))
    return caught.value


@pytest.mark.parametrize("code", CASES)
def test_a_card_shows_the_innermost_message_and_what_to_write_instead(tmp_path: Path, code: str) -> None:
    error = compile_and_call(tmp_path, code)
    said = CASES[code].replace("Write instead: ", "Write instead (see docs/numba.md): ")
    assert error_line(error).replace(str(tmp_path), "") == f"{type(error).__name__}: {said}"


@pytest.mark.parametrize("code", ["for i in reversed(range(2)): shape[i] = 1", "import math", "return int(shape)"])
def test_a_card_shows_the_line_of_the_function_that_cannot_be_compiled(tmp_path: Path, code: str) -> None:
    (tmp_path / "course").mkdir()
    shutil.copy(ROOT / "course" / "tasks.toml", tmp_path / "course")
    place = Locator(tmp_path).locate(compile_and_call(tmp_path, code), ROOT / "tests" / "test_fast_ops.py", "3.1")
    assert place is not None
    assert (place.file, place.line, place.source, place.function, place.in_task) == ("minitorch/tensor_data.py", 10, code, "to_index", True)
