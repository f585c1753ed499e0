"""`course-staff adopt`: a student's work in the original MiniTorch course becomes a submission, or a workspace, of this one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import ROOT, Manifest
from course.staff import RequestError
from course.staff.adopt.original import Original, find_original
from course.staff.adopt.translate import translate
from course.staff.grading.grafting import STUB, put_functions
from course.staff.handout.generate import handout_files, make_handout, write_files, write_names
from course.workspace import function_source


@dataclass(frozen=True)
class Adopted:
    """A student's work as files of this course.

    Attributes:
        files: By path, those alone in which something is written.
        written: For every task the functions that are written.
        missing: For every task those that are not.
        troubles: Why files could not be taken.
        original: Where the work was found.
    """

    files: Mapping[str, str]
    written: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, ...]]
    troubles: tuple[str, ...]
    original: Original


def adopt(folder: Path, manifest: Manifest, root: Path = ROOT) -> Adopted:
    """Find a student's work of the original course, and put it into the files of a workspace.

    Raises:
        RequestError: If there is none.
    """
    original = find_original(folder, manifest)
    last = max(task.stage for task in manifest.tasks)
    handout = handout_files(root, manifest, last)
    names = {path: list(found) for path, found in write_names(manifest, last).items() if path in original.files}
    given = {path: function_source.unix(str(handout[path])) for path in names}
    files: dict[str, str] = {}
    troubles = []
    for path, text in translate(original.files, given, names).items():
        try:
            result = put_functions(given[path], text, names[path], path.startswith("tests/"))
        except (function_source.Unreadable, RecursionError) as error:
            troubles.append(f"{original.origins[path]}: {path} could not be taken, {error}")
            continue
        if result != given[path]:
            files[path] = result
    written: dict[str, tuple[str, ...]] = {}
    missing: dict[str, tuple[str, ...]] = {}
    for task in manifest.tasks:
        wanted = [(path, name) for path in task.files for name in task.names_in(path)]
        done = [(path, name) for path, name in wanted if path in files and _is_written(files[path], name)]
        if done:
            written[task.id] = tuple(name for _, name in done)
        if left := [name for path, name in wanted if (path, name) not in done]:
            missing[task.id] = tuple(left)
    return Adopted(files, written, missing, tuple(troubles), original)


def _is_written(text: str, name: str) -> bool:
    code = function_source.codes(text).get(name)
    return code is None or STUB.fullmatch(code) is None  # None: bound by an assignment


def write_submission(adopted: Adopted, folder: Path) -> None:
    """Write the files in which something is written into a new folder, as a submission.

    Raises:
        RequestError: If the folder holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} exists already; name a new folder", "course-staff adopt --help")
    write_files(folder, adopted.files)


def write_workspace(adopted: Adopted, manifest: Manifest, folder: Path, root: Path = ROOT) -> None:
    """Make a handout that ends with the last module in which something is written, with the student's work in it.

    Raises:
        RequestError: If the folder exists.
    """
    last = max(manifest.task(id).stage for id in adopted.written)
    make_handout(root, manifest, last, folder)
    inside = write_names(manifest, last)
    write_files(folder, {path: text for path, text in adopted.files.items() if path in inside and (folder / path).is_file()})
