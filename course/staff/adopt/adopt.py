"""`course-staff adopt`: convert a student's work in the original MiniTorch course into a submission or a workspace of this one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from course.manifest import ROOT, Manifest
from course.staff import RequestError
from course.staff.adopt.inline import inline_added
from course.staff.adopt.original import Original, find_original, repositories
from course.staff.adopt.prune import lost_statements
from course.staff.adopt.translate import translate
from course.staff.grading.beyond import beyond_rules
from course.staff.grading.grafting import STUB, put_functions
from course.staff.handout.generate import handout_files, make_handout, write_files, write_names
from course.workspace import function_source, published
from course.workspace.atomic_files import write_json


@dataclass(frozen=True)
class AdoptedWork:
    """A student's work as files of this course.

    Attributes:
        files: The files that contain written functions, by path.
        written: The functions that are written, by task.
        missing: The functions that are not, by task.
        errors: A message for each file that could not be converted.
        original: The work as it was found.
    """

    files: Mapping[str, str]
    written: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, tuple[str, ...]]
    errors: tuple[str, ...]
    original: Original


def adopt(folder: Path, manifest: Manifest, root: Path = ROOT) -> AdoptedWork:
    """Find a student's work in the original course and put it into the files of a workspace.

    Raises:
        RequestError: If the folder holds none.
    """
    original = find_original(folder, manifest)
    last = max(task.stage for task in manifest.tasks)
    handout = _handout(root, manifest, last)
    names = {path: list(found) for path, found in write_names(manifest, last).items() if path in original.files}
    given = {path: function_source.unix(str(handout[path])) for path in names}
    files: dict[str, str] = {}
    errors: list[str] = []
    complete: dict[str, str] = {}
    for path, text in original.files.items():
        complete[path], failed = inline_added(text, path, original.origins[path], set(handout), given[path])
        errors += [
            f"{original.origins[path]}: {path} uses {added}, a file that the student added and that is not converted: {why}; "
            f"move what it uses into {path} there and run course-staff adopt again"
            for added, why in failed.items()
        ]
        errors += [
            f"{original.origins[path]}: {path} runs {line} on import, which is not converted; "
            f"write it as an assignment to a name there, or move it into a function, and run course-staff adopt again"
            for line in lost_statements(complete[path], names[path])
        ]
    for path, text in translate(complete, given, names).items():
        try:
            result = put_functions(given[path], text, names[path], path.startswith("tests/"))
        except (function_source.Unreadable, RecursionError) as error:
            errors.append(
                f"{original.origins[path]}: {path} could not be converted ({error}); fix it there and run course-staff adopt again"
            )
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
    return AdoptedWork(files, written, missing, tuple(errors), original)


@functools.lru_cache(maxsize=1)  # making it takes longer than all the rest, and a class needs only one
def _handout(root: Path, manifest: Manifest, last: int) -> Mapping[str, object]:
    """The files that students are given, up to a module."""
    return handout_files(root, manifest, last, search=False)


def _is_written(text: str, name: str) -> bool:
    code = function_source.codes(text).get(name)
    return code is None or STUB.fullmatch(code) is None  # None: an assignment binds the name


def write_submission(adopted: AdoptedWork, folder: Path) -> None:
    """Write the converted files into a new folder, as a submission, with the repositories that they come from.

    Raises:
        RequestError: If the folder is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RequestError(f"{folder} exists already; name a new folder", "course-staff adopt --help")
    write_files(folder, {**adopted.files, **repositories(adopted.original)})


def write_workspace(adopted: AdoptedWork, manifest: Manifest, folder: Path, root: Path = ROOT) -> None:
    """Make a handout up to the last module that the student has worked on, and put the work into it.

    The workspace knows which of its tests check more than the original course asks for: they do not make a task fail.

    Raises:
        RequestError: If the folder exists.
    """
    last = max(manifest.task(id).stage for id in adopted.written)
    make_handout(root, manifest, last, folder)
    inside = write_names(manifest, last)
    write_files(folder, {path: text for path, text in adopted.files.items() if path in inside and (folder / path).is_file()})
    write_json(folder / published.PATH, published.to_document(beyond_rules()))
