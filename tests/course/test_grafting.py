"""The graft: a student's functions of one task in a workspace in which all else is right, and nothing else of the student's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from course.manifest import ROOT, Manifest, Task, course
from course.staff.grading.grafting import Base, Graft, finished, graft, make_base, needed, right_answer

from . import miniature

GIVEN = '''"""Operators."""

import math

EPS = 1e-6


def relu(x: float) -> float:
    """x if x > 0, else 0.0."""
    raise NotImplementedError("Need to implement for Task 0.1")


def exp(x: float) -> float:
    """e to the power of x."""
    return math.exp(x)


class Sigmoid:
    """A function."""

    def forward(self, x):
        """Forward."""
        return 1 / (1 + exp(-x))

    def backward(self, d):
        """Backward."""
        raise NotImplementedError("Need to implement for Task 0.1")
'''

FILE = "minitorch/operators.py"


def task(write: tuple[str, ...] = ("minitorch.operators:relu",)) -> Task:
    return Task("0.1", "Relu", 10, "task0_1", (), write, (), "", "")


def base(lacks: tuple[str, ...] = (), write: tuple[str, ...] = ("minitorch.operators:relu",), companions: tuple[str, ...] = ()) -> Base:
    return Base(task(write), {FILE: GIVEN}, frozenset(lacks), {FILE: companions} if companions else {})


def answer(body: str, head: str = "", tail: str = "") -> bytes:
    """A student's file: the given one with a body for relu, and lines before and behind it."""
    stub = 'raise NotImplementedError("Need to implement for Task 0.1")'
    text = GIVEN.replace(stub, body.replace("\n", "\n    "), 1)
    return (text.replace("EPS = 1e-6\n", f"EPS = 1e-6\n{head}") + tail).encode()


def grafted(data: bytes, **options: tuple[str, ...]) -> str:
    """The file after a graft in which all could be taken."""
    taken = graft(base(**options), {FILE: data})
    assert (taken.troubles, taken.unwritten) == ((), ())
    return taken.files[FILE]


def called(text: str, name: str, *args: object) -> object:
    """What a function of the file answers."""
    scope: dict[str, Callable[..., object]] = {}
    exec(text, scope)  # it is this file's own
    return scope[name](*args)


# What is taken


def test_the_body_is_the_students_and_all_else_is_given() -> None:
    tampered = answer("return x if x > 0 else 0.0").replace(b"math.exp(x)", b"0.0").replace(b"EPS = 1e-6", b"EPS = 7")
    expected = GIVEN.replace(
        '    raise NotImplementedError("Need to implement for Task 0.1")\n\n\ndef exp', "    return x if x > 0 else 0.0\n\n\ndef exp"
    )
    assert grafted(tampered) == expected


def test_helpers_constants_and_imports_of_the_students_come_along() -> None:
    text = grafted(
        answer("return helped(x) + ZERO + pi - pi", "from math import pi\n\nZERO = 0.0\n\n\ndef helped(x):\n    return max(x, 0.0)\n")
    )
    assert called(text, "relu", 3.0) == 3.0
    assert called(text, "relu", -3.0) == 0.0


def test_helpers_in_a_class_come_along() -> None:
    data = answer("return x").replace(b"    def backward(self, d):", b"    def own(self):\n        return 7\n\n    def backward(self, d):")
    assert "def own(self):\n        return 7" in grafted(data)


@pytest.mark.parametrize(
    "rival",
    [
        "exp = lambda x: 7.0",
        "exp, other = len, 1",
        "exp: object = len",
        "from operator import neg as exp",
        "import operator as exp",
        "class exp:\n    pass",
    ],
)
def test_no_name_that_is_given_becomes_another_thing(rival: str) -> None:
    for data in (answer("return x", head=f"{rival}\n"), answer("return x", tail=f"\n\n{rival}\n")):
        assert called(grafted(data), "exp", 0.0) == 1.0


def test_of_an_import_only_the_names_that_are_given_are_left_out() -> None:
    text = grafted(answer("return floor(x)", tail="\n\nfrom math import exp, floor\n"))
    assert "from math import floor\n" in text
    assert called(text, "relu", 2.5) == 2


def test_windows_line_ends_and_a_byte_order_mark_are_no_matter() -> None:
    plain = answer("return x if x > 0 else 0.0")
    assert grafted(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")) == grafted(plain)


def test_a_test_is_taken_with_its_decorators_and_arguments() -> None:
    stub = '@pytest.mark.task0_2\ndef test_own():\n    raise NotImplementedError("Need to implement for Task 0.2")\n'
    file = "tests/test_operators.py"
    one = Base(task(("tests.test_operators:test_own",)), {file: f"import pytest\n\n\n{stub}"}, frozenset(), {})
    imports = "import pytest\nfrom hypothesis import given\nfrom hypothesis.strategies import floats\n"
    mine = f"{imports}\n\n@given(floats())\ndef test_own(x):\n    assert x == x\n"
    taken = graft(one, {file: mine.encode()})
    assert taken.unwritten == ()
    assert taken.files[file].endswith("@given(floats())\ndef test_own(x):\n    assert x == x\n")
    assert taken.files[file].startswith("import pytest\nfrom hypothesis import given\n")


# What is not


def test_what_is_not_written_stays_a_stub() -> None:
    assert graft(base(), {FILE: GIVEN.encode()}) == Graft({}, ("relu",), ())


def test_a_function_that_is_gone_or_no_function_is_not_written() -> None:
    gone = GIVEN.replace("def relu", "def other")
    assert graft(base(), {FILE: gone.encode()}).unwritten == ("relu",)
    bound = GIVEN.replace("def relu(x: float) -> float:", "relu = max\n\n\ndef other(x):")
    assert graft(base(), {FILE: bound.encode()}).unwritten == ("relu",)


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (b"def relu(:\n", f"{FILE}, line 1: not valid Python: invalid syntax"),
        (b"x = 1\n\0", f"{FILE}, not valid Python: source code string cannot contain null bytes"),
        (b"x = '\xff'\n", f"{FILE}, line 1: expected text in utf-8, got the byte 0xff"),
        (b"x = " + b"+".join([b"1"] * 600) + b"\n", f"{FILE}, its expressions are nested too deeply"),
        (b"class A: pass\n" * 101, f"{FILE}, 101 classes, more than 100"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_and_costs_its_own_tasks_alone(data: bytes, trouble: str) -> None:
    assert graft(base(), {FILE: data}) == Graft({}, ("relu",), (trouble,))


def test_a_file_that_is_missing_is_said() -> None:
    assert graft(base(), {}) == Graft({}, ("relu",), (f"{FILE} is missing",))


@pytest.mark.parametrize(
    "line",
    [
        "from minitorch.kernels.elementwise import Map",
        "import minitorch.kernels.elementwise",
        "from minitorch.kernels import elementwise",
        "from .kernels import elementwise",
        "from .kernels.elementwise import Map",
    ],
)
def test_what_no_workspace_has_cannot_be_imported(line: str) -> None:
    said = f"{FILE}, it imports minitorch.kernels.elementwise, which is not in your workspace"
    for data in (answer(f"{line}\nreturn x"), answer("return x", head=f"{line}\n")):
        assert graft(base(lacks=("minitorch.kernels.elementwise",)), {FILE: data}) == Graft({}, ("relu",), (said,))


def test_a_forward_comes_with_its_backward_if_it_is_asked_for_and_written() -> None:
    write, companions = ("minitorch.operators:Sigmoid.backward",), ("Sigmoid.forward",)
    mine = GIVEN.replace("return 1 / (1 + exp(-x))", "return 8").replace(
        '"""Backward."""\n        raise NotImplementedError("Need to implement for Task 0.1")', '"""Backward."""\n        return 9'
    )
    one = base(write=write, companions=companions)
    assert "return 8" in graft(one, {FILE: mine.encode()}, companions=True).files[FILE]
    assert graft(one, {FILE: mine.encode()}, companions=True).companions == 1
    assert "return 8" not in graft(one, {FILE: mine.encode()}).files[FILE]
    stub = mine.replace("return 8", 'raise NotImplementedError("Need to implement for Task 0.1")')
    assert graft(one, {FILE: stub.encode()}, companions=True).companions == 0


# The base


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    return miniature.write(tmp_path_factory.mktemp("miniature"))


def test_a_base_ends_with_its_module_and_only_its_own_task_is_a_stub(repository: tuple[Path, Manifest]) -> None:
    root, manifest = repository
    for id, path, kept in (("0.1", "minitorch/operators.py", "assert relu(x) >= 0"), ("0.2", "tests/test_operators.py", "x if x > 0")):
        made = make_base(finished(root, manifest, manifest.task(id)), manifest, manifest.task(id))
        texts = "".join(content for content in made.files.values() if isinstance(content, str))
        assert f'raise NotImplementedError("Need to implement for Task {id}")' in str(made.files[path])
        assert texts.count("Need to implement for Task 0.") == 1
        assert kept in texts
        assert "minitorch/scalar.py" not in made.files
        assert not any(file.startswith(("docs/", "project/app", "course/staff")) for file in made.files)


@pytest.mark.exhaustive
def test_a_base_has_the_reference_where_the_task_stands_on_it_or_an_earlier_module_ends() -> None:
    manifest = course()
    elementwise = ("kernels/elementwise", "kernels/reduce", "kernels/matmul")
    for id, there, lacking in (
        ("3.1", (), elementwise),
        ("4.3", elementwise, ("kernels/pool", "kernels/conv")),  # it requires nothing of Module 3
        ("4.5", ("kernels/elementwise", "kernels/conv", "kernels/pool"), ("kernels/cuda/conv",)),
    ):
        files = finished(ROOT, manifest, manifest.task(id))
        assert [module for module in there if f"minitorch/{module}.py" not in files] == []
        assert [module for module in lacking if f"minitorch/{module}.py" in files] == []


def test_a_right_answer_is_all_that_students_write(repository: tuple[Path, Manifest]) -> None:
    root, manifest = repository
    assert {path: data.decode() for path, data in right_answer(root, manifest).items()} == {
        path: (root / path).read_text(encoding="utf-8")
        for path in ("minitorch/operators.py", "tests/test_operators.py", "minitorch/scalar.py")
    }


def test_a_task_needs_what_its_needs_need() -> None:
    tasks = tuple(Task(id, "", 1, "", requires, (), (), "", "") for id, requires in (("0.1", ()), ("0.2", ("0.1",)), ("0.3", ("0.2",))))
    assert needed(tasks[2], Manifest("", "minitorch", (), tasks)) == {"0.1", "0.2"}
