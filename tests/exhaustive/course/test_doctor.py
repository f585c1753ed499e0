"""What the doctor finds, and the one fix that it names for each problem."""

import json

import pytest

from course.cli import doctor
from tests.course.releases import Student
from tests.course.test_doctor import student


def test_every_check_gives_a_line_and_every_problem_a_fix(student: Student, capsys: pytest.CaptureFixture[str]) -> None:
    code = doctor.run(student.root, student.console, as_json=True)
    found = json.loads(capsys.readouterr().out)
    names = ["Python", "Packages", "numba", "Folders", "Workspace", "GPU", "Browser", "Disk", "git", "Terminal", "Clock"]
    assert [check["name"] for check in found] == names
    assert all((check["state"] == "ok") == (check["fix"] == "") for check in found)
    assert code == (3 if any(check["state"] == "wrong" for check in found) else 0)
    numba = found[names.index("numba")]
    assert numba["state"] in ("ok", "warning")
    assert "compiles and runs with" in numba["says"]
