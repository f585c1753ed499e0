"""`course-staff adopt` on the folder of a class: one submission for each student."""

import re
import shutil
import zipfile

import pytest

from course.manifest import course
from course.staff import RequestError
from course.staff.adopt.class_folder import students_in
from course.staff.adopt.original import find_original

from .original_copies import copy_original
from .staff_commands import command_in_folder


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    return command_in_folder(tmp_path, monkeypatch, capsys)


def hand_in(folder, body="return a * b"):
    """A hand-in of Module 0, with one function."""
    file = folder / "minitorch" / "operators.py"
    file.parent.mkdir(parents=True)
    file.write_text(f'"""Operators."""\n\n# ## Task 0.1\n\n\ndef mul(a: float, b: float) -> float:\n    {body}\n', encoding="utf-8")
    return folder


def pack(folder, archive):
    with zipfile.ZipFile(archive, "w") as file:
        for path in folder.rglob("*.py"):
            file.write(path, path.relative_to(folder.parent))
    shutil.rmtree(folder)


def test_each_student_of_a_class_gets_a_submission_and_one_command_grades_all(tmp_path, run):
    hand_in(tmp_path / "class" / "ann" / "Module-0", "return a * b")
    hand_in(tmp_path / "class" / "ben", "return b * a")
    pack(hand_in(tmp_path / "class" / "work", "return a * b * 1"), tmp_path / "class" / "cem.zip")
    moodle = tmp_path / "class" / "Dan Ox_7_assignsubmission_file_"
    pack(hand_in(moodle / "work", "return 1 * a * b"), moodle / "submission.zip")
    (tmp_path / "class" / "eve").mkdir()
    (tmp_path / "class" / "eve" / "notes.txt").write_text("later")
    pack(
        hand_in(tmp_path / "class" / "work", "raise NotImplementedError('Need to implement for Task 0.1')"), tmp_path / "class" / "fay.zip"
    )

    code, printed = run("adopt", "class", "--out", "new submissions")
    assert code == 1
    assert sorted(path.name for path in (tmp_path / "new submissions").iterdir()) == [
        "Dan Ox_7_assignsubmission_file_",
        "ann",
        "ben",
        "cem",
    ]
    for name, body in {"ann": "a * b", "ben": "b * a", "cem": "a * b * 1", "Dan Ox_7_assignsubmission_file_": "1 * a * b"}.items():
        text = (tmp_path / "new submissions" / name / "minitorch" / "operators.py").read_text(encoding="utf-8")
        assert f"return {body}\n" in text
    assert re.search(r"(?m)^ann +0 +1 +0\.2, 0\.3, 0\.4", printed), (
        "its module, the number of its tasks, and those of which nothing is written"
    )
    assert "4 converted, 2 refused" in printed
    assert "refused: eve: eve contains no minitorch/operators.py, so it holds no module of the original course" in printed
    assert "refused: fay: nothing in it is written" in printed
    assert "next: course-staff grade 'new submissions' --out graded --profile published" in printed


def test_a_student_is_not_a_class_and_a_class_is_not_a_student(tmp_path):
    copy_original("terse", tmp_path)
    assert students_in(tmp_path / "terse", course()) == {}
    two = tmp_path / "two"
    for name in ("ann", "ben"):
        hand_in(two / name / "deep" / "Module-0")
    assert list(students_in(two, course())) == ["ann", "ben"]
    with pytest.raises(RequestError) as error:
        find_original(two, course())
    assert str(error.value) == (
        f"{two} holds Module 0 more than once (ann/deep/Module-0, ben/deep/Module-0), so it is not one student's work; "
        "give every student a folder or an archive of their own in it"
    )


def test_no_workspace_is_made_of_a_class(tmp_path, run):
    for name in ("ann", "ben"):
        hand_in(tmp_path / "class" / name)
    code, printed = run("adopt", "class", "--out", "new", "--workspace")
    assert code == 2
    assert "class holds a class, 2 students; name one student's folder" in printed
    assert not (tmp_path / "new").exists()
