"""The graft: a student's functions of one task, placed in a workspace in which everything else is right."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.manifest import ROOT, Manifest, Task, course
from course.staff.grading.bases import Base, complete_workspace, make_base, prerequisites, right_answer
from course.staff.grading.grafting import Graft, graft
from course.staff.grading.submissions import student_files
from course.workspace import function_source

from . import miniature

STUB = 'raise NotImplementedError("Need to implement for Task 0.1")'

GIVEN = f'''"""Operators."""

import math

EPS = 1e-6


def relu(x: float) -> float:
    """x if x > 0, else 0.0."""
    {STUB}


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
        {STUB}
'''

FILE, OTHER = "minitorch/operators.py", "minitorch/scalar.py"


def task(write: tuple[str, ...] = ("minitorch.operators:relu",)) -> Task:
    return Task("0.1", "Relu", 10, "task0_1", (), write, (), "", "")


def base(lacks: tuple[str, ...] = (), write: tuple[str, ...] = ("minitorch.operators:relu",), companions: tuple[str, ...] = ()) -> Base:
    return Base(task(write), {FILE: GIVEN}, frozenset(lacks), {FILE: companions} if companions else {})


def answer(body: str, head: str = "", tail: str = "") -> bytes:
    """A student's file: the given file with a body for relu, and additional lines above and below."""
    text = GIVEN.replace(STUB, body.replace("\n", "\n    "), 1)
    return (text.replace("EPS = 1e-6\n", f"EPS = 1e-6\n{head}") + tail).encode()


def graft_file(data: bytes, **options: tuple[str, ...]) -> str:
    """The file after a graft in which everything could be taken."""
    taken = graft(base(**options), {FILE: data})
    assert (taken.troubles, taken.unwritten) == ((), ())
    return taken.files[FILE]


def call(text: str, name: str, *args: object) -> object:
    """The result of a function in the file."""
    scope: dict[str, Callable[..., object]] = {}
    exec(text, scope)  # the code is from this test file
    return scope[name](*args)


# The reference


SAMPLE = ("0.1",)


@pytest.mark.parametrize("task", [course().task(id) for id in SAMPLE], ids=SAMPLE)
def test_the_reference_s_own_files_stay_unchanged(task: Task) -> None:
    check_reference(task)


def check_reference(task: Task) -> None:
    files = {path: (ROOT / path).read_bytes() for path in student_files(course())}
    taken = graft(make_base(complete_workspace(ROOT, course(), task), course(), task), files, "used")
    assert (taken.troubles, taken.unwritten, taken.remarks) == ((), (), ())


def test_a_second_graft_does_not_parse_the_files_of_other_tasks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    given = "def known():\n    return 1\n"
    both = Base(task(), {FILE: GIVEN, OTHER: given}, frozenset(), {}, {FILE: ("relu",)})
    mine = {FILE: answer("return helped(x)"), OTHER: f"{given}\n\ndef helped(x):\n    return x\n".encode()}
    real = function_source.parse

    def parse(text: str) -> ast.Module:
        parsed.append(text)
        return real(text)

    first = graft(both, mine, "used")
    monkeypatch.setattr(function_source, "parse", parse)
    again = graft(both, mine, "used")
    assert again == first
    assert "def helped" in again.files[OTHER]
    assert [text for text in parsed if "known" in text] == []


# What is taken


def test_the_body_is_the_student_s_and_everything_else_is_given() -> None:
    tampered = answer("return x if x > 0 else 0.0").replace(b"math.exp(x)", b"0.0").replace(b"EPS = 1e-6", b"EPS = 7")
    assert graft_file(tampered) == GIVEN.replace(f"{STUB}\n\n\ndef exp", "return x if x > 0 else 0.0\n\n\ndef exp")


def test_the_student_s_helpers_constants_and_imports_are_taken() -> None:
    head = "from math import pi\n\nZERO = 0.0\n\n\ndef helped(x):\n    return max(x, 0.0)\n"
    text = graft_file(answer("return helped(x) + ZERO + pi - pi", head))
    assert [call(text, "relu", x) for x in (3.0, -3.0)] == [3.0, 0.0]


def test_helpers_in_a_class_are_taken() -> None:
    data = answer("return x").replace(b"    def backward(self, d):", b"    def own(self):\n        return 7\n\n    def backward(self, d):")
    assert "def own(self):\n        return 7" in graft_file(data)


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
def test_given_names_keep_their_meaning(rival: str) -> None:
    for data in (answer("return x", head=f"{rival}\n"), answer("return x", tail=f"\n\n{rival}\n")):
        assert call(graft_file(data), "exp", 0.0) == 1.0


def test_only_the_given_names_of_an_import_are_left_out() -> None:
    text = graft_file(answer("return floor(x)", tail="\n\nfrom math import exp, floor\n"))
    assert "from math import floor\n" in text
    assert call(text, "relu", 2.5) == 2


def test_windows_line_endings_and_a_byte_order_mark_do_not_matter() -> None:
    plain = answer("return x if x > 0 else 0.0")
    assert graft_file(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n")) == graft_file(plain)


@pytest.mark.parametrize("mark", ["@pytest.mark.task0_2\n", ""])
def test_a_test_is_taken_with_its_decorators_and_arguments_and_keeps_the_mark_of_its_task(mark: str) -> None:
    stub = '@pytest.mark.task0_2\ndef test_own():\n    raise NotImplementedError("Need to implement for Task 0.2")\n'
    file = "tests/test_operators.py"
    one = Base(task(("tests.test_operators:test_own",)), {file: f"import pytest\n\n\n{stub}"}, frozenset(), {})
    imports = "import pytest\nfrom hypothesis import given\nfrom hypothesis.strategies import floats\n"
    mine = f"{imports}\n\n{mark}@given(floats())\ndef test_own(x):\n    assert x == x\n"
    taken = graft(one, {file: mine.encode()})
    assert taken.unwritten == ()
    assert taken.files[file].endswith("\n\n@pytest.mark.task0_2\n@given(floats())\ndef test_own(x):\n    assert x == x\n")
    assert taken.files[file].startswith("import pytest\nfrom hypothesis import given\n")


HEADS = ["relu(number):", "relu(x, seen=None):", "relu(*numbers):", "relu(number: float) -> 'float':"]


@pytest.mark.parametrize("head", ["@lru_cache\ndef relu(x):", *(f"def {head}" for head in HEADS)])
def test_a_signature_that_the_student_changed_is_kept(head: str) -> None:
    name = head.partition("(")[2].split(":")[0].rstrip(")").split(",")[0]
    value = f"{name.removeprefix('*')}[0]" if name.startswith("*") else name
    data = GIVEN.replace("def relu(x: float) -> float:", head).replace(STUB, f"return max({value}, 0.0)", 1)
    text = graft_file(data.replace("import math\n", "import math\nfrom functools import lru_cache\n").encode())
    assert head in text
    assert call(text, "relu", -3.0) == 0.0
    assert graft(base(), {FILE: data.encode()}).remarks == ()


def test_an_incompatible_signature_is_reported() -> None:
    data = answer("return 0.0").replace(b"def relu(x: float)", b"def relu()")
    assert graft(base(), {FILE: data}).remarks == (f"{FILE}, line 8: the course calls relu(x), which your relu() does not accept",)


@pytest.mark.parametrize("statement", ["relu = abs", "relu: object = abs", "from math import fabs\n\nrelu = fabs"])
def test_a_function_may_be_bound_by_an_assignment(statement: str) -> None:
    data = GIVEN.replace(f'def relu(x: float) -> float:\n    """x if x > 0, else 0.0."""\n    {STUB}\n', f"{statement}\n")
    assert statement in data
    assert call(graft_file(data.encode()), "relu", -3.0) == 3.0


def test_a_method_may_be_bound_by_an_assignment() -> None:
    data = GIVEN.replace(f'    def backward(self, d):\n        """Backward."""\n        {STUB}\n', "    backward = forward\n")
    text = graft_file(data.encode(), write=("minitorch.operators:Sigmoid.backward",))
    assert ("    backward = forward\n" in text, "def backward" in text) == (True, False)


NESTED = f"def tensor_map(fn):\n    def _map(x):\n        {STUB}\n\n    return _map\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (STUB, "return fn(x)"),
        (f"    def _map(x):\n        {STUB}", "    def inner(x):\n        return fn(x)\n\n    def _map(x):\n        return inner(x)"),
        (f"    def _map(x):\n        {STUB}", "    helper = fn\n\n    def _map(x):\n        return helper(x)"),
    ],
)
def test_changes_around_a_nested_function_are_taken(old: str, new: str) -> None:
    file = "minitorch/tensor_ops.py"
    one = Base(task(("minitorch.tensor_ops:tensor_map._map",)), {file: NESTED}, frozenset(), {})
    taken = graft(one, {file: NESTED.replace(old, new).encode()})
    assert taken.unwritten == ()
    scope: dict[str, Callable[..., Callable[..., object]]] = {}
    exec(taken.files[file], scope)
    assert scope["tensor_map"](abs)(-2) == 2


def graft_with_other(submitted: str, body: str, given: str = "import math\n\nBLOCK = 32\n") -> Graft:
    """A graft in which the student has also changed a file of another task."""
    one = Base(task(), {FILE: GIVEN, OTHER: given}, frozenset(), {}, {FILE: ("relu", "Sigmoid.backward")})
    return graft(one, {FILE: answer(body), OTHER: submitted.encode()}, "used")


def test_additions_to_files_of_other_tasks_are_taken_if_used() -> None:
    submitted = "import math\nfrom math import e\n\nBLOCK = 32\n\nUNIT = one()\n\n\ndef helped(x):\n    return e\n"
    taken = graft_with_other(submitted, "from minitorch.scalar import helped\nreturn helped(x)")
    assert taken.files[OTHER] == submitted
    assert (taken.companions, taken.remarks) == (1, ())
    assert OTHER not in graft_with_other(submitted, "return x").files


def test_additions_that_other_additions_use_are_taken() -> None:
    third = "minitorch/tensor.py"
    one = Base(task(), {FILE: GIVEN, OTHER: "A = 1\n", third: "B = 1\n"}, frozenset(), {})
    submitted = {
        FILE: answer("return near(x)"),
        OTHER: b"A = 1\n\n\ndef near(x):\n    return far(x)\n",
        third: b"B = 1\n\n\ndef far(x):\n    return x\n",
    }
    assert set(graft(one, submitted, "used").files) == {FILE, OTHER, third}
    assert set(graft(one, submitted).files) == {FILE}


def test_special_methods_are_taken() -> None:
    given = "class Scalar:\n    def __add__(self, other):\n        return 1\n"
    submitted = f"{given}\n    def __radd__(self, other):\n        return 2\n"
    assert graft_with_other(submitted, "return 1 + x", given).files[OTHER] == submitted


def test_a_file_of_another_task_that_cannot_be_read_costs_nothing() -> None:
    taken = graft_with_other("def helped(:\n", "return helped(x)")
    assert (set(taken.files), taken.troubles) == ({FILE}, ())


def test_lines_that_are_not_taken_are_reported() -> None:
    data = answer("return x").replace(b"math.exp(x)", b"0.0").replace(b"EPS = 1e-6", b"EPS = 7\nif EPS: pass")
    assert graft(base(), {FILE: data}).remarks == (
        f"{FILE}, line 5: EPS = 7 was not taken, because EPS is given",
        f"{FILE}, line 6: if EPS: pass runs on import and was not taken",
        f"{FILE}, line 14: exp is given; what you changed in it was not taken",
    )
    taken = graft_with_other("import math\n\nBLOCK = 16\n\n\ndef helped(x):\n    return BLOCK\n", "return helped(x)")
    assert taken.remarks == (f"{OTHER}, line 3: BLOCK = 16 was not taken, because BLOCK is given",)


NAMES = st.sampled_from(["one", "two", "three", "four"])


@st.composite
def additions(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """Statements that a student may add, and the values that their names have."""
    lines: list[str] = []
    bound: dict[str, int] = {}
    for name in draw(st.lists(NAMES, unique=True, max_size=4)):
        value = draw(st.integers(0, 9))
        earlier = draw(st.sampled_from(["", *bound]))
        right = f"{earlier} + {value}" if earlier else str(value)
        texts = [f"{name} = {right}", f"{name}: int = {right}", f"# Of mine.\n{name} = {right}\n\n", f"{name}, = ({right},)"]
        texts.append(f"def _{name}():\n    return {right}\n{name} = _{name}()")
        texts.append(f"class _{name}:\n    value = {right}\n\n{name} = _{name}.value")
        lines.append(draw(st.sampled_from(texts)))
        bound[name] = value + bound.get(earlier, 0)
    return "".join(f"{line}\n" for line in lines), bound


@given(additions(), additions())
def test_additions_mean_the_same_in_the_graft_as_in_the_workspace(head: tuple[str, dict], tail: tuple[str, dict]) -> None:
    names = {"one": "uno", "two": "due", "three": "tre", "four": "quattro"}
    second = re.sub("one|two|three|four", lambda found: names[found[0]], tail[0])
    text = graft_file(answer(f"return ({', '.join([*head[1], 'x'])})", head=head[0], tail=f"\n\n{second}"))
    scope: dict[str, Any] = {}
    exec(text, scope)
    assert scope["relu"](1.0) == ((*head[1].values(), 1.0) if head[1] else 1.0)
    assert {name: scope[names[name]] for name in tail[1]} == tail[1]


def test_in_the_student_s_own_workspace_all_written_code_is_taken() -> None:
    stub = 'raise NotImplementedError("Need to implement for Task 0.2")'
    given = "def double(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n\n\ndef kept(x):\n    return x\n"
    one = Base(task(), {FILE: GIVEN, OTHER: given}, frozenset(), {}, {OTHER: ("double", "half")})
    submitted = given.replace("2 * x", "x + x").replace("return x / 2", stub).replace("return x\n", "return 7\n") + "\nOWN = 1\n"
    taken = graft(one, {FILE: answer("return x"), OTHER: submitted.encode()}, "all")
    assert taken.files[OTHER] == given.replace("2 * x", "x + x") + "\nOWN = 1\n"
    assert (taken.unwritten, taken.troubles) == ((), ())


# What is not taken


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (GIVEN.encode(), None),
        (b"", None),
        (b"def relu(:\n", f"{FILE}, line 1: not valid Python: invalid syntax"),
        (b"x = 1\n\0", f"{FILE}, not valid Python: source code string cannot contain null bytes"),
        (b"x = '\xff'\n", f"{FILE}, line 1: expected text in utf-8, got the byte 0xff; save the file in the encoding UTF-8"),
        (b"x = " + b"+".join([b"1"] * 600) + b"\n", f"{FILE}, its expressions are nested too deeply"),
        (b"class A: pass\n" * 101, f"{FILE}, it defines 101 classes, more than 100"),
        (None, f"{FILE} is missing"),
    ],
    ids=["stub", "empty", "not Python", "a null byte", "not UTF-8", "nested", "many classes", "missing"],
)
def test_an_unreadable_or_missing_file_is_reported_and_costs_only_its_own_tasks(data: bytes | None, trouble: str | None) -> None:
    assert graft(base(), {} if data is None else {FILE: data}) == Graft({}, ("relu",), (trouble,) if trouble else ())


@pytest.mark.parametrize("head", ["def other(x: float) -> float:", "class relu: pass\n\n\ndef other(x):"])
def test_a_deleted_function_and_a_name_that_is_not_a_function_count_as_unwritten(head: str) -> None:
    data = GIVEN.replace("def relu(x: float) -> float:", head).encode()
    assert graft(base(), {FILE: data}).unwritten == ("relu",)


FROM = ["minitorch.kernels.elementwise import Map", "minitorch.kernels import elementwise", ".kernels import elementwise"]


@pytest.mark.parametrize(
    "line", ["import minitorch.kernels.elementwise", "from .kernels.elementwise import Map", *(f"from {x}" for x in FROM)]
)
def test_a_module_that_workspaces_lack_cannot_be_imported(line: str) -> None:
    message = f"{FILE}, it imports minitorch.kernels.elementwise, which is not in your workspace"
    for data in (answer(f"{line}\nreturn x"), answer("return x", head=f"{line}\n")):
        assert graft(base(lacks=("minitorch.kernels.elementwise",)), {FILE: data}) == Graft({}, ("relu",), (message,))


def test_a_written_forward_is_taken_with_its_backward_on_request() -> None:
    write, companions = ("minitorch.operators:Sigmoid.backward",), ("Sigmoid.forward",)
    mine = GIVEN.replace("return 1 / (1 + exp(-x))", "return 8")
    mine = mine.replace(f'"""Backward."""\n        {STUB}', '"""Backward."""\n        return 9')
    one = base(write=write, companions=companions)
    assert "return 8" in graft(one, {FILE: mine.encode()}, "used").files[FILE]
    assert graft(one, {FILE: mine.encode()}, "used").companions == 1
    assert "return 8" not in graft(one, {FILE: mine.encode()}).files[FILE]
    stub = mine.replace("return 8", STUB)
    assert graft(one, {FILE: stub.encode()}, "used").companions == 0


# The base


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    return miniature.write(tmp_path_factory.mktemp("miniature"))


def test_a_base_ends_with_its_module_and_only_its_own_task_is_a_stub(repository: tuple[Path, Manifest]) -> None:
    root, manifest = repository
    for id, path, kept in (("0.1", "minitorch/operators.py", "assert relu(x) >= 0"), ("0.2", "tests/test_operators.py", "x if x > 0")):
        made = make_base(complete_workspace(root, manifest, manifest.task(id)), manifest, manifest.task(id))
        texts = "".join(content for content in made.files.values() if isinstance(content, str))
        assert f'raise NotImplementedError("Need to implement for Task {id}")' in str(made.files[path])
        assert texts.count("Need to implement for Task 0.") == 1
        assert kept in texts
        assert "minitorch/scalar.py" not in made.files
        assert not any(file.startswith(("docs/", "project/app", "course/staff")) for file in made.files)


def test_a_right_answer_contains_everything_that_students_write(repository: tuple[Path, Manifest]) -> None:
    root, manifest = repository
    assert right_answer(root, manifest) == {path: (root / path).read_bytes() for path in (FILE, "tests/test_operators.py", OTHER)}


def test_requirements_of_tasks_are_transitive() -> None:
    tasks = tuple(Task(id, "", 1, "", requires, (), (), "", "") for id, requires in (("0.1", ()), ("0.2", ("0.1",)), ("0.3", ("0.2",))))
    assert prerequisites(tasks[2], Manifest("", "minitorch", (), tasks)) == {"0.1", "0.2"}
