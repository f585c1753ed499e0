"""Work from the original MiniTorch course: how it is found, translated, and graded by that course's requirements."""

from pathlib import Path
from typing import Any

import pytest

from course.manifest import Task, course
from course.staff import RequestError
from course.staff.adopt import adopt as adoption
from course.staff.adopt.adopt import adopt
from course.staff.adopt.inline import inline_added
from course.staff.adopt.original import find_original
from course.staff.adopt.prune import lost_statements
from course.staff.adopt.recognize import GIVEN_LINES, is_original
from course.staff.adopt.translate import translate
from course.staff.grading.submissions import read
from course.staff.handout.generate import write_files
from course.staff.probes import PUBLISHED, edges_of, probes_of, weights_of
from course.staff.probes.compare import Wrong, check_equal, number, use_profile
from course.staff.probes.plain import Number
from course.workspace import function_source

from .original_copies import STYLES, copy_original
from .prepared import course_files

STUB = 'raise NotImplementedError("Need to implement for Task 2.3")'


# Which files are found


def test_the_latest_written_file_of_several_modules_is_taken(tmp_path: Path) -> None:
    bodies = {"mod0": "return x", "mod1": "return float(x)", "mod2": "pass"}
    write_files(tmp_path, {f"{module}/minitorch/operators.py": f"def id(x):\n    {body}\n" for module, body in bodies.items()})
    write_files(tmp_path, {"mod1/minitorch/scalar.py": "", "mod2/minitorch/tensor_data.py": ""})
    found = find_original(tmp_path, course())
    assert {place.name: module for place, module in found.modules.items()} == {"mod0": 0, "mod1": 1, "mod2": 2}
    assert found.origins["minitorch/operators.py"].name == "mod1"  # the function of mod2 is a stub


def test_a_folder_without_the_course_is_refused(tmp_path: Path) -> None:
    for folder, message in (
        (tmp_path, r"contains no minitorch/operators\.py, so it holds no module of"),
        (tmp_path / "a", "there is no folder"),
    ):
        with pytest.raises(RequestError, match=message):
            find_original(folder, course())


def test_a_workspace_of_this_course_is_not_adopted(tmp_path: Path) -> None:
    write_files(tmp_path, {"minitorch/operators.py": "", "course/tasks.toml": ""})
    with pytest.raises(RequestError, match="is a workspace of this course; grade it as it is") as caught:
        find_original(tmp_path, course())
    assert caught.value.next == f"course-staff grade {tmp_path} --out graded"


@pytest.mark.parametrize("style", STYLES)
def test_grading_a_hand_in_of_the_original_course_names_the_command(style: str, tmp_path: Path) -> None:
    folder = copy_original(style, tmp_path)
    submission = read(style, next(folder.rglob("operators.py")).parent.parent, course())
    assert submission.refused == "it is from the original MiniTorch course; convert it with course-staff adopt FOLDER --out DIR"


RAW_MODULES = {
    "relative imports": {
        "minitorch/operators.py": "def mul(x, y):\n    return x * y\n",
        "minitorch/scalar.py": "from .autodiff import Context\n",
    },
    "comments": {"minitorch/operators.py": "# ## Task 0.1\n\n\ndef mul(x, y):\n    # TODO: Implement for Task 0.1.\n    return x * y\n"},
    "definitions": {"minitorch/scalar_functions.py": "import minitorch\n\n\ndef unwrap_tuple(x):\n    return x[0] if len(x) == 1 else x\n"},
    "programs": {
        "minitorch/operators.py": "def mul(x, y):\n    return x * y\n",
        "project/run_scalar.py": "import minitorch\n\n\ndef default_log_fn(epoch, total_loss, correct, losses):\n    print(epoch)\n",
        "tests/test_operators.py": "import pytest\n\n\n@pytest.mark.task0_1\ndef test_add():\n    pass\n",
    },
}
"""Folders with some files of the original course, without those that only it has; by what identifies them."""


@pytest.mark.parametrize("top", ["", "mod1-hers/"])
@pytest.mark.parametrize("kind", RAW_MODULES)
def test_files_of_the_original_course_are_recognized_by_their_contents(kind: str, top: str, tmp_path: Path) -> None:
    write_files(tmp_path / "hers", {f"{top}{path}": text for path, text in RAW_MODULES[kind].items()})
    assert "convert it with course-staff adopt FOLDER --out DIR" in read("hers", tmp_path / "hers", course()).refused


@pytest.mark.parametrize("module", ["terse/mod0-terse", "terse/mod1-terse", "terse/mod2-terse", "terse/mod3-terse", "typed"])
def test_each_module_is_recognized_without_the_files_that_only_the_original_course_has(module: str, tmp_path: Path) -> None:
    copy_original(module.partition("/")[0], tmp_path)
    folder, own = tmp_path / module, ("nn.py", "sync_previous_module.py")
    contents = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*.py") if file.name not in own}
    assert is_original([], contents)
    assert is_original([], {"minitorch/operators.py": contents["minitorch/operators.py"]})


def test_a_file_without_its_docstring_is_recognized_by_any_line_that_is_given() -> None:
    """The functions in operators.py are those of the original course."""
    lines = str(course_files(0)["minitorch/operators.py"]).partition('"""\n\nimport')[2].encode().splitlines()
    given = [line for line in lines if line.startswith(GIVEN_LINES)]
    assert len(given) == len(GIVEN_LINES)
    rest = [line for line in lines if line not in given]
    for line in given:
        assert not is_original([], {"minitorch/operators.py": b"\n".join([line, *rest])})
    assert is_original([], {"minitorch/operators.py": b"\n".join(rest)})


def test_a_file_that_cannot_be_converted_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> str:
        raise function_source.Unreadable("expressions are nested too deeply", 7)

    write_files(tmp_path, {"minitorch/operators.py": "def id(x):\n    return x\n"})
    monkeypatch.setattr(adoption, "put_functions", fail)
    monkeypatch.setattr(adoption, "handout_files", lambda *arguments, **more: course_files(0))
    found = adopt(tmp_path, course())
    assert (found.files, found.written) == ({}, {})
    assert found.errors == (
        f"{tmp_path}: minitorch/operators.py could not be converted (line 7: expressions are nested too deeply); "
        "fix it there and run course-staff adopt again",
    )


# Translation


def translate_one(text: str, *names: str, path: str = "tensor_functions.py", given: str = "") -> str:
    """A file after translation; in that of this course, `given` precedes stubs of the functions with these names."""
    for head, _, name in (name.rpartition(".") for name in names):
        stub = f"def {name}(*arguments):\n    {STUB}\n"
        given += f"class {head}:\n    {stub.replace(STUB, f'    {STUB}')}\n\n" if head else f"{stub}\n\n"
    path = f"minitorch/{path}"
    return translate({path: text}, {path: given}, {path: names})[path]


def test_classes_have_the_names_of_this_course() -> None:
    assert translate_one("class Lt:\n    def forward(ctx, a):\n        return Lt\n", "LT.forward").startswith("class LT:")


def test_attributes_have_the_names_of_this_course() -> None:
    assert "a._like(a._tensor.strides)" in translate_one("def f(a):\n    return a._new(a._tensor._strides)\n", "f")


def test_dimensions_are_passed_as_numbers_and_read_as_tensors() -> None:
    text = (
        "class Sum:\n    def forward(ctx, a, dim):\n        return a.f.add_reduce(a, int(dim.item()))\n\n\n"
        "def total(a):\n    return Sum.apply(a, a._ensure_tensor(0))\n"
    )
    result = translate_one(text, "Sum.forward", "total")
    assert "        dim = original_tensor(dim)\n        return a.f.add_reduce(a, int(dim.item()))" in result
    assert "Sum.apply(a, original_dim(a._ensure_tensor(0)))" in result
    scope: dict = {}
    exec(result, scope)
    assert scope["original_dim"](3) == 3
    assert scope["original_tensor"](2).item() == 2.0
    text = text.replace("int(dim.item())", "dim")  # this forward reads a number
    assert "original_tensor" not in translate_one(text[: text.index("\n\n\n")], "Sum.forward")


@pytest.mark.parametrize(
    "line", ["return njit(parallel=True)(_map)", "return njit(_map, parallel=True)", "return cuda.jit()(_map)", "return cuda.jit(_map)"]
)
def test_kernels_are_compiled_by_the_courses_compiler(line: str) -> None:
    text = f"def tensor_map(fn):\n    def _map(out):\n        pass\n\n    {line}\n"
    result = translate_one(text, "tensor_map", path="fast_ops.py")
    assert result.split("\n")[-2].strip() in ("return njit(_map, parallel=True)", "return jit(_map)")


def test_a_compiled_kernel_is_taken_without_its_decorator() -> None:
    text = "@njit(parallel=True)\ndef tensor_conv1d(out):\n    out[0] = 1.0\n"
    result = translate_one(text, "_tensor_conv1d", path="fast_conv.py")
    assert result.strip() == "def _tensor_conv1d(out):\n    out[0] = 1.0"


def test_blocks_have_the_sizes_that_this_course_launches() -> None:
    text = (
        "def tensor_reduce(fn):\n    def _reduce(out):\n        BLOCK_DIM = 1024\n        out[0] = BLOCK_DIM\n\n"
        "    return jit(_reduce)\n\n\n"
        "def _tensor_matrix_multiply(out):\n    BLOCK_DIM = 32\n    out[0] = BLOCK_DIM\n"
    )
    given = "BLOCK_DIM = REDUCE_BLOCK = 4\n\n\n"
    result = translate_one(text, "tensor_reduce", "_tensor_matrix_multiply", path="cuda_ops.py", given=given)
    assert "        BLOCK_DIM = REDUCE_BLOCK\n        out[0] = BLOCK_DIM\n" in result
    assert "def _tensor_matrix_multiply(out):\n    out[0] = BLOCK_DIM\n" in result


def test_practice_kernels_keep_their_block_of_32_when_its_size_is_a_constant_of_the_file() -> None:
    text = "BLOCK_DIM = 32\n\n\ndef _mm_practice(out):\n    out[0] = BLOCK_DIM\n"
    result = translate_one(text, "_mm_practice", path="cuda_ops.py", given="BLOCK_DIM = 4\nPRACTICE_BLOCK = 32\n\n\n")
    assert "    out[0] = PRACTICE_BLOCK\n" in result


def test_additions_that_the_code_uses_are_copied_from_other_files_and_the_rest_is_not() -> None:
    files = {
        "minitorch/operators.py": "def id(x):\n    return x\n\n\ndef gt(x, y):\n    return HALF\n\n\nHALF = 0.5\nother = 1\n",
        "minitorch/scalar.py": "from . import operators\n\n\ndef f(x):\n    return operators.gt(x, x)\n",
    }
    given = {"minitorch/operators.py": f"def id(x):\n    {STUB}\n", "minitorch/scalar.py": f"def f(x):\n    {STUB}\n"}
    result = translate(files, given, {"minitorch/operators.py": ["id"], "minitorch/scalar.py": ["f"]})
    assert [text in result["minitorch/operators.py"] for text in ("def gt(x, y):", "HALF = 0.5", "other")] == [True, True, False]
    assert "from minitorch import operators" in result["minitorch/scalar.py"]


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("from .helpers import product", "product"),
        ("from .helpers import product as times", "times"),
        ("from .helpers import *", "product"),
        ("from . import helpers", "helpers.product"),
        ("from . import autodiff, helpers as h", "h.product"),
        ("import minitorch.helpers", "minitorch.helpers.product"),
        ("import minitorch.helpers as h", "h.product"),
        ("from minitorch import helpers", "helpers.product"),
    ],
)
@pytest.mark.parametrize("where", ["file", "function"])
def test_a_file_that_the_student_added_is_copied_to_where_it_is_used(line: str, call: str, where: str, tmp_path: Path) -> None:
    head, inside = (f"{line}\n\n\n", "") if where == "file" or line.endswith("*") else ("", f"    {line}\n\n")
    helpers = '"""Helpers."""\nimport math\n\nSCALE = math.floor(1.5)\n\n\ndef product(x, y):\n    return SCALE * x * y\n'
    write_files(tmp_path, {"minitorch/helpers.py": helpers})
    operators = f"{head}def mul(x, y):\n{inside}    return {call}(x, y)\n"
    text, failed = inline_added(operators, "minitorch/operators.py", tmp_path, set(), "")
    assert failed == {}
    assert "helpers" not in text
    scope: dict[str, Any] = {"__package__": "minitorch"}
    exec(text, scope)
    assert scope["mul"](2.0, 3.0) == 6.0


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ("TABLE = {}\nTABLE['a'] = 2.0\n", ["TABLE['a'] = 2.0"]),
        ("TABLE = []\nfor n in range(3):\n    TABLE.append(n)\n", ["for n in range(3):"]),
        ("TABLE = [1]\nTABLE.append(2)\n", ["TABLE.append(2)"]),
        ("TABLE = 1\nTABLE += 1\n", ["TABLE += 1"]),
        ("TABLE = 1\nOTHER = {}\nOTHER['a'] = 1\nprint('hello')\n", []),
        ("TABLE = 1\n\nif __name__ == '__main__':\n    print(TABLE)\n", []),
    ],
)
def test_statements_that_run_on_import_and_are_lost_are_named(lines: str, lost: list[str]) -> None:
    assert lost_statements(f"{lines}\n\ndef look():\n    return TABLE\n\n\ndef mul(x, y):\n    return look()\n", ["mul"]) == lost


def test_packages_that_workspaces_lack_are_not_imported() -> None:
    head = "import streamlit\nfrom mnist import MNIST\nfrom typing_extensions import Protocol\n"
    text = f"{head}\n\ndef f(x):\n    return streamlit, MNIST, Protocol\n"
    result = translate_one(text, "f")
    assert "from typing import Protocol" in result
    assert "import streamlit" not in result
    assert "mnist" not in result


def test_functions_that_the_package_provides_are_imported_from_it() -> None:
    text = "from .tensor_functions import tensor\n\n\ndef f(x):\n    return tensor([x])\n"
    result = translate_one(text, "f", path="tensor.py")
    assert result.startswith("import minitorch\n")
    assert "return minitorch.tensor([x])" in result


# Grading


@pytest.mark.parametrize("task", [task for task in course().tasks if probes_of(task.id)], ids=lambda task: task.id)
def test_the_profile_of_the_original_course_marks_no_edge_cases_but_those_that_its_tests_check(task: Task) -> None:
    weights, required = weights_of(task.id, PUBLISHED), {probe.says for probe in probes_of(task.id) if probe.required}
    assert {says for says, weight in weights.items() if weight} <= (set(weights_of(task.id)) - set(edges_of(task.id))) | required
    assert set(weights) == {probe.says for probe in probes_of(task.id, PUBLISHED)}
    assert bool(weights) == (task.id != "0.5")  # the original course lacks it


@pytest.mark.parametrize(("got", "expected"), [(True, 1.0), (1, 1.0), (Number("float64", 0.5), 0.5), ([1.0], (1.0,)), (1.004, 1.0)])
def test_answers_that_the_original_tests_accept_as_equal_are_equal(got: object, expected: object) -> None:
    with pytest.raises(Wrong):
        check_equal(got, expected)
    with use_profile(PUBLISHED):
        check_equal(got, expected)


@pytest.mark.parametrize(("got", "expected"), [(False, 1.0), (1.2, 1.0), ("1.0", 1.0), (None, 0.0), ([1.0], (2.0,))])
def test_answers_that_the_original_tests_distinguish_are_different(got: object, expected: object) -> None:
    with use_profile(PUBLISHED), pytest.raises(Wrong):
        check_equal(got, expected)


def test_a_numpy_number_counts_as_a_number_under_the_original_profile() -> None:
    with pytest.raises(Wrong):
        number(Number("float64", 2.0))
    with use_profile(PUBLISHED):
        assert number(Number("float64", 2.0)) == 2.0
