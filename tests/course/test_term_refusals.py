"""A term with submissions that cannot be graded: they have no mark, and the command names each of them with its reason."""

import io
import os
import zipfile
from datetime import UTC, datetime

from .test_term import folder, reads, run, scores  # noqa: F401  # fixtures

NONE = "it has none of the files in which students write, such as minitorch/operators.py"


def test_a_refused_submission_has_no_mark_and_is_named_until_the_teacher_decides(folder, run, reads):  # noqa: F811
    moodle = folder / "submissions" / "first" / "Ada Lovelace_17_assignsubmission_file_"
    moodle.mkdir()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("minitorch/operators.py", "x = 1\n")
    (moodle / "submission.zip").write_bytes(archive.getvalue())
    handed_in = datetime(2026, 10, 1, tzinfo=UTC).timestamp()
    os.utime(moodle, (handed_in, handed_in))
    other = folder / "submissions" / "first" / "bob@2026-10-01T10.00" / "Minitorch"
    other.mkdir(parents=True)
    (other / "Operators.py").write_text("x = 1\n")
    why = f"{NONE}, but Minitorch/Operators.py (is it minitorch/operators.py?); hand in submission.zip from course submit"

    code, printed = run("mark")
    assert code == 1
    assert "  ada  First  10 of 10  first mark" in printed
    assert f"  bob  First  – of 10  not graded: {why}" in printed
    assert f"refused, so without a mark: bob, First: {why}" in printed
    assert "next: ask for another submission, or set the marks by hand: course-staff override STUDENT TASK POINTS" in printed
    assert {id: scores(folder)[id, "First"][0] for id in ("ada", "bob")} == {"ada": "10", "bob": ""}

    assert run("mark")[0] == 1
    assert run("override", "bob", "0.1", "4", "--reason", "read by hand")[0] == 0
    assert run("mark")[0] == 0
    assert scores(folder)["bob", "First"][0] == "4"
