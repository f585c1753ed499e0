"""Submissions as they really arrive: from an LMS, zipped twice, with renamed files, and with a virtual environment."""

import gzip

import pytest

from course.staff.grading.submissions import find, read

from .miniature import write as write_miniature
from .test_submissions import FILE, RELU, REMEDY, make_tar, make_zip, put

NONE = f"it has none of the files in which students write, such as {FILE}"


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return write_miniature(tmp_path_factory.mktemp("miniature"))[1]


@pytest.mark.parametrize(
    "entries",
    [
        {"submission.zip": make_zip({FILE: RELU})},
        {"submission.zip": make_zip({"work/submission.tar.gz": gzip.compress(make_tar({f"ann/{FILE}": RELU}))})},
        {"readme.txt": b"see the archive", "upload/work.tgz": gzip.compress(make_tar({FILE: RELU}))},
    ],
)
def test_an_archive_within_a_folder_or_an_archive_is_read(entries, tmp_path, manifest):
    for name, content in entries.items():
        put(tmp_path / "Ann Lee_4711_assignsubmission_file_", name, content)
    assert list(find([tmp_path], manifest)) == ["Ann Lee_4711_assignsubmission_file_"]
    for path in (tmp_path / "Ann Lee_4711_assignsubmission_file_", put(tmp_path, "ann.zip", make_zip(entries))):
        submission = read("ann", path, manifest)
        assert (submission.files, submission.refused) == ({FILE: RELU}, "")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"a.zip": make_zip({FILE: RELU}), "b.zip": make_zip({FILE: RELU})}, f"{NONE}; {REMEDY}"),
        ({"a.zip": make_zip({"b.zip": make_zip({"c.zip": make_zip({FILE: RELU})})})}, f"{NONE}; {REMEDY}"),
        ({"a.zip": b"PK"}, f"a.zip is damaged or truncated: File is not a zip file; {REMEDY}"),
        ({"a.zip": make_zip({f"../{FILE}": RELU})}, f"'../{FILE}' is outside the submission; hand in the files of your workspace"),
        ({f"a/b/{FILE}": RELU, f"a/c/{FILE}": RELU}, "it contains more than one workspace, a/b, a/c; hand in one"),
        ({"Minitorch/Operators.py": RELU}, f"{NONE}, but Minitorch/Operators.py (is it {FILE}?); {REMEDY}"),
        ({"minitorch/operators (1).py": RELU}, f"{NONE}, but minitorch/operators (1).py (is it {FILE}?); {REMEDY}"),
        ({"work/minitorch/operators - Copy.py": RELU}, f"{NONE}, but work/minitorch/operators - Copy.py (is it {FILE}?); {REMEDY}"),
    ],
)
def test_a_refusal_names_what_was_found_instead(entries, message, tmp_path, manifest):
    assert read("ann", put(tmp_path, "ann.zip", make_zip(entries)), manifest).refused == message


def test_a_renamed_file_beside_others_is_named_first(tmp_path, manifest):
    entries = {FILE: RELU, "a.txt": b"", "minitorch/Scalar.py": b"", "tests/test_operators_old.py": b""}
    submission = read("ann", put(tmp_path, "ann.zip", make_zip(entries)), manifest)
    assert submission.left_out == ("minitorch/Scalar.py (is it minitorch/scalar.py?)", "a.txt", "tests/test_operators_old.py")


@pytest.mark.parametrize("pack", ["folder", "tar"])
def test_a_virtual_environment_of_any_name_is_skipped(pack, tmp_path, manifest):
    files = {FILE: RELU, "mt/pyvenv.cfg": b"home = /usr", f"mt/lib/{FILE}": b"installed", "mt/lib/site.py": b""}
    if pack == "tar":
        path = put(tmp_path, "ann.tar", make_tar({**files, "mt/bin/python": (b"2", "/usr/bin/python3")}))
    else:
        path = tmp_path / "ann"
        for name, content in files.items():
            put(path, name, content)
        (path / "mt" / "bin").mkdir()
        (path / "mt" / "bin" / "python").symlink_to("/usr/bin/python3")
    submission = read("ann", path, manifest)
    assert (submission.files, submission.left_out, submission.refused) == ({FILE: RELU}, (), "")
