"""Resetting a task: its stubs replace the student's code, and everything else stays."""

import pytest

from course.cli.problem import Problem
from course.runner import progress
from course.runner.progress import TaskState, cached_states
from course.workspace import backups, given_tests, pristine, reset
from tests.errors import raises

from .releases import SUMS, TESTS, Student

ADD = '    raise NotImplementedError("Need to implement for Task 0.1")\n'
DOUBLE = '        raise NotImplementedError("Need to implement for Task 0.2")\n\n    def half'


@pytest.fixture
def student(tmp_path):
    student = Student(tmp_path / "mein Ördner")
    student.edit("minitorch/sums.py", (ADD, "    return x + y  # mine\n"), (DOUBLE, "        return helper(x)\n\n    def half"))
    student.edit("minitorch/sums.py", ("def given", "def helper(x):\n    return 2 * x\n\n\ndef given"))
    return student


def test_a_reset_restores_the_stubs_and_can_be_undone(student):
    mine = student.snapshot()
    assert reset.run(student.root, student.manifest, student.console, "0.1") == 0
    name = backups.names(student.root)[0]
    assert name.endswith("-reset-0.1")
    assert student.output == (
        f"Task 0.1 is reset to its stubs, in minitorch/sums.py.\nYour files are backed up. To restore them: course reset --restore {name}\n"
    )
    assert student.text("minitorch/sums.py") == mine["minitorch/sums.py"].decode().replace("    return x + y  # mine\n", ADD)
    assert reset.restore(student.root, student.console, name) == 0
    assert student.snapshot() == mine
    assert student.output.startswith("Restored minitorch/sums.py.\nYour files are backed up.")
    assert reset.restore(student.root, student.console, name) == 0
    assert student.output == f"All files match the backup {name}.\n"


def test_a_task_that_passed_is_to_do_after_its_reset(student):
    fingerprints = progress._fingerprints(student.root, student.manifest)
    progress._write_cache(student.root, {id: (fingerprints[id], TaskState(id, "passed", passed=1, total=1)) for id in ("0.1", "0.2")})
    reset.run(student.root, student.manifest, student.console, "0.1")
    states = cached_states(student.root)
    assert (states["0.1"].state, states["0.2"].state) == ("todo", "stale")


def test_an_unchanged_task_is_reported_as_such(student):
    assert reset.run(student.root, student.manifest, student.console, "0.3") == 0
    assert student.output == "Task 0.3 is as it was handed out; nothing to reset.\n"
    assert backups.names(student.root) == []


def test_the_signature_is_restored_and_line_endings_byte_order_mark_and_tabs_are_kept(student):
    text = SUMS.replace("def add(x, y):", "def add(x):").replace(ADD, "\treturn x\n# below\n")
    data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    (student.root / "minitorch/sums.py").write_bytes(data)
    reset.reset(student.root, student.manifest, "0.1")
    stubs = SUMS.replace(ADD, ADD + "# below\n")
    assert (student.root / "minitorch/sums.py").read_bytes() == b"\xef\xbb\xbf" + stubs.replace("\n", "\r\n").encode()


def test_a_reset_test_loses_the_student_s_decorators_and_arguments(student):
    student.edit("tests/test_sums.py", ("def test_own():", "@pytest.mark.parametrize('x', [1])\ndef test_own(x):"))
    reset.reset(student.root, student.manifest, "0.3")
    assert student.text("tests/test_sums.py") == TESTS


def test_given_tests_are_restored_and_the_student_s_tests_stay(student):
    assert given_tests.warning(student.root, student.manifest) == ""
    student.edit("tests/test_sums.py", ('    raise NotImplementedError("Need to implement for Task 0.3")', "    assert add(2, 2) == 4"))
    student.edit("tests/test_sums.py", ("@pytest.mark.task0_3", "def test_more():\n    assert add(1, 1) == 2\n\n\n@pytest.mark.task0_3"))
    mine = student.text("tests/test_sums.py")
    assert given_tests.changed_files(student.root, student.manifest) == []
    assert given_tests.reset(student.root, student.manifest, student.console) == 0
    assert student.output == "The given tests are as they were handed out; nothing to reset.\n"
    student.edit("tests/test_sums.py", ("assert add(1, 2) == 3", "assert add(1, 2)"))
    message = "tests/test_sums.py is not as handed out, and grading uses the given tests; to restore them: course reset tests"
    assert given_tests.warning(student.root, student.manifest) == message
    assert given_tests.reset(student.root, student.manifest, student.console) == 0
    name = backups.names(student.root)[0]
    assert student.output.startswith("The given tests are restored, in tests/test_sums.py.\nYour files are backed up.")
    assert name.endswith("-reset-tests")
    assert student.text("tests/test_sums.py") == mine


@pytest.mark.parametrize("now", [None, b"def test_add(:\n", b"", TESTS.replace("@pytest.mark.task0_1\n", "").encode()])
def test_given_tests_that_are_missing_broken_or_unmarked_are_restored(now, student):
    path = student.root / "tests/test_sums.py"
    path.unlink() if now is None else path.write_bytes(now)
    assert given_tests.changed_files(student.root, student.manifest) == ["tests/test_sums.py"]
    given_tests.reset(student.root, student.manifest, student.console)
    assert student.text("tests/test_sums.py") == TESTS


def test_a_deleted_file_is_restored(student):
    (student.root / "minitorch/sums.py").unlink()
    name = reset.reset(student.root, student.manifest, "0.2")
    assert student.text("minitorch/sums.py") == SUMS
    assert backups.read(student.root, str(name)).files == {"minitorch/sums.py": None}


def test_an_invalid_python_body_is_replaced_and_the_rest_stays(student):
    before = student.text("minitorch/sums.py")
    student.edit("minitorch/sums.py", ("    return x + y  # mine\n", "    return x + (\n"))
    reset.reset(student.root, student.manifest, "0.1")
    assert student.text("minitorch/sums.py") == before.replace("    return x + y  # mine\n", ADD)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("    return x\n", "    return x +\n", "minitorch/sums.py, line 19: not valid Python: invalid syntax"),
        ("def add(x, y):", "def plus(x, y):", "minitorch/sums.py has no function add, which Task 0.1 has you write"),
    ],
)
def test_a_file_that_cannot_be_parsed_stays_unless_the_whole_file_is_reset(student, old, new, why):
    student.edit("minitorch/sums.py", (old, new))
    before = student.snapshot()
    with pytest.raises(Problem) as error:
        reset.reset(student.root, student.manifest, "0.1")
    assert str(error.value) == f"{why}; fix it, or reset the whole file: course reset 0.1 --whole-files"
    assert error.value.code == 1
    assert student.snapshot() == before
    reset.reset(student.root, student.manifest, "0.1", whole_files=True)
    assert student.text("minitorch/sums.py") == SUMS


def test_undecodable_bytes_are_reported(student):
    (student.root / "minitorch/sums.py").write_bytes(SUMS.encode() + b"# \xe4\n")
    why = "minitorch/sums.py, line 28: expected text in utf-8, got the byte 0xe4; save the file in the encoding UTF-8"
    with raises(Problem, f"{why}; fix it, or reset the whole file: course reset 0.1 --whole-files"):
        reset.reset(student.root, student.manifest, "0.1")


def test_an_unknown_task_and_missing_original_files_are_reported_with_the_next_command(student):
    with raises(Problem, "there is no task '0.9'; the tasks are 0.1, 0.2, 0.3; run: course list"):
        reset.reset(student.root, student.manifest, "0.9")
    (student.root / pristine.PATH).write_bytes(b"PK")
    with raises(Problem, "course/pristine.zip is damaged (File is not a zip file); run: git checkout -- course/pristine.zip"):
        reset.reset(student.root, student.manifest, "0.1")
    (student.root / pristine.PATH).unlink()
    with raises(Problem, "course/pristine.zip is missing, which records what was handed out; run: git checkout -- course/pristine.zip"):
        reset.reset(student.root, student.manifest, "0.1")


def test_backups_are_listed(student, capsys):
    assert reset.list_all(student.root, student.console) == 0
    assert student.output == "There are no backups yet.\n"
    name = reset.reset(student.root, student.manifest, "0.1")
    reset.list_all(student.root, student.console)
    assert student.output == f"{name}  minitorch/sums.py\nTo restore one: course reset --restore NAME\n"
    reset.list_all(student.root, student.console, as_json=True)
    assert f'"name": "{name}"' in capsys.readouterr().out
