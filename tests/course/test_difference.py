"""The patch of what the student wrote."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from course.cli.problem import Problem
from course.workspace import diff as difference
from tests.errors import raises

from .releases import Student
from .test_reset import ADD, DOUBLE

PATCH = (
    "--- a/minitorch/sums.py\n+++ b/minitorch/sums.py\n@@ -7,7 +7,7 @@\n"
    ' \n def add(x, y):\n     """x + y."""\n'
    '-    raise NotImplementedError("Need to implement for Task 0.1")\n'
    "+    return x + y\n"
    " \n \n def given(x):\n"
)


@pytest.fixture
def student(tmp_path: Path) -> Student:
    student = Student(tmp_path)
    student.edit("minitorch/sums.py", (ADD, "    return x + y\n"), (DOUBLE, "        return 2 * x\n\n    def half"))
    return student


def test_the_changes_of_one_task_are_a_patch(student: Student) -> None:
    assert difference.run(student.root, student.manifest, student.console, "0.1") == 0
    assert student.output == PATCH


def test_line_endings_do_not_count_as_a_change(student: Student) -> None:
    path = student.root / "minitorch/sums.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    difference.run(student.root, student.manifest, student.console, "0.1")
    assert student.output == PATCH


def test_all_changes_make_one_patch(student: Student) -> None:
    difference.run(student.root, student.manifest, student.console)
    output = student.output
    assert output.startswith(PATCH[: PATCH.index(" def given")])
    assert '-        raise NotImplementedError("Need to implement for Task 0.2")\n+        return 2 * x\n' in output
    assert output.count("@@ ") == 2


def test_code_of_no_task_is_shown_with_every_task_of_its_file(student: Student) -> None:
    student.edit("minitorch/sums.py", ("import math\n", "import math\nimport sys\n"))
    difference.run(student.root, student.manifest, student.console, "0.2")
    output = student.output
    assert "+import sys\n" in output
    assert "+        return 2 * x\n" in output
    assert "return x + y" not in output


def test_an_invalid_python_file_is_shown_in_full(student: Student) -> None:
    student.edit("minitorch/sums.py", ("    return x + y\n", "    return (\n"))
    difference.run(student.root, student.manifest, student.console, "0.2")
    assert "+    return (\n" in student.output


def test_a_missing_newline_at_the_end_is_noted(student: Student) -> None:
    path = student.root / "minitorch/sums.py"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    difference.run(student.root, student.manifest, student.console, "0.2")
    assert student.output.endswith('Task 0.2")\n\\ No newline at end of file\n')


def test_an_empty_patch_says_what_to_do_next(student: Student) -> None:
    difference.run(student.root, student.manifest, student.console, "0.3")
    assert student.output == "Nothing is written for Task 0.3 yet; next: course test 0.3\n"


def test_terminals_get_color_and_programs_get_json(student: Student, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, color_system="standard", highlight=False, no_color=False)
    difference.run(student.root, student.manifest, terminal, "0.1")
    assert isinstance(terminal.file, io.StringIO)
    assert "\x1b[32m+    return x + y\x1b[0m" in terminal.file.getvalue()
    difference.run(student.root, student.manifest, student.console, "0.1", as_json=True)
    assert json.loads(capsys.readouterr().out) == {"minitorch/sums.py": PATCH.splitlines()}


def test_an_unknown_task_is_reported_with_the_command_to_run(student: Student) -> None:
    with raises(Problem, "there is no task '7.7'; the tasks are 0.1, 0.2, 0.3; run: course list"):
        difference.run(student.root, student.manifest, student.console, "7.7")
