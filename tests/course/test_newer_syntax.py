"""Syntax of a newer Python: the message names the Python that it needs and the one that runs."""

import ast
import sys

import pytest

from course.runner.messages import error_line
from course.workspace import function_source
from course.workspace.newer_syntax import newer_syntax

NEWER = {
    "def f[T](x: T) -> T:": (3, 12),
    "class A[T]:": (3, 12),
    "def f[T = int](x: T) -> T:": (3, 13),
    "type Number = int | float": (3, 12),
    "type Pair[T] = tuple[T, T]": (3, 12),
    'x = f"{names["a"]}"': (3, 12),
    """x = f'{", ".join(a)} and {b['c']}'""": (3, 12),
    'x = f"{a["b"]} {c}"': (3, 12),
    'x = f"{chr(10).join(a)} {"\\n".join(b)}"': (3, 12),
    "except ValueError, TypeError:": (3, 14),
    'x = t"{name}"': (3, 14),
}


@pytest.mark.parametrize(("line", "needed"), NEWER.items())
def test_the_newer_python_is_named(line, needed):
    version = ".".join(map(str, needed))
    assert newer_syntax(line, (3, 11)).endswith(f" needs Python {version}, and this is Python 3.11")
    assert newer_syntax(line, needed) == ""


@pytest.mark.parametrize(
    "line",
    [
        *("def f(x", "x = [1, 2", "type = 3 +", "class A(list[int]", 'x = f"{a}" +', 'x = f"{a" + b', 'd["t"] = = 1', "except (A, B)"),
        *("x[f(1]", 'print(f"{a!r:>{width}}"', "match x", 'y = d["f"][', "x = 'don't'"),
    ],
)
def test_other_errors_are_not_explained_by_a_newer_python(line):
    with pytest.raises(SyntaxError):
        ast.parse(line)
    assert newer_syntax(line, (3, 11)) == ""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python has the syntax")
def test_home_and_grading_say_the_same():
    source, why = "def f[T](x):\n    return x\n", "a type parameter in brackets needs Python 3.12, and this is Python 3.11"
    with pytest.raises(SyntaxError) as home:
        ast.parse(source)
    assert error_line(home.value) == f"SyntaxError: expected '('; {why}"
    with pytest.raises(function_source.Unreadable, match=rf"^line 1: not valid Python: expected '\('; {why}$"):
        function_source.parse(source)


def test_a_byte_of_another_encoding_has_the_same_message_at_home_and_in_grading(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\ny = '\xe9'\n")
    with pytest.raises(SyntaxError) as home:  # depending on its version, Python names the byte or not
        exec(compile((tmp_path / "a.py").read_bytes(), str(tmp_path / "a.py"), "exec"))
    message = "line 2: expected text in utf-8, got the byte 0xe9; save the file in the encoding UTF-8"
    assert error_line(home.value) == f"SyntaxError: {message}"
