"""A teacher's first experiment: the repository itself as a submission, packed in several ways."""

import zipfile

from course.manifest import ROOT, course
from course.staff.grading.submissions import read, student_files

OURS = {path: (ROOT / path).read_bytes() for path in student_files(course())}


def write_zip(target, paths, top=""):
    """A zip file of files of this repository, below a folder or at the top."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in paths:
            archive.write(ROOT / path, f"{top}{path}")
    return target


def repository_files():
    """The files of the repository that matter, as a downloaded zip file contains them."""
    found = [file for folder in ("minitorch", "project", "course", "tests", "docs") for file in (ROOT / folder).rglob("*")]
    return [file.relative_to(ROOT).as_posix() for file in found if file.is_file() and "__pycache__" not in file.parts]


def test_the_repository_s_folder_is_a_submission():
    submission = read("reference", ROOT, course())
    assert (submission.refused, submission.files) == ("", OURS)


def test_a_zip_of_the_repository_is_a_submission(tmp_path):
    submission = read("reference", write_zip(tmp_path / "repository.zip", repository_files(), "minitorch-course-main/"), course())
    assert (submission.refused, submission.files) == ("", OURS)


def test_a_zip_of_only_the_package_is_a_submission_without_tests_and_programs(tmp_path):
    package = [path for path in repository_files() if path.startswith("minitorch/")]
    submission = read("reference", write_zip(tmp_path / "minitorch.zip", package), course())
    assert (submission.refused, submission.files) == ("", {path: data for path, data in OURS.items() if path.startswith("minitorch/")})
