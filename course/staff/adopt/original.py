"""Find the files of a student's work in repositories of the original MiniTorch course."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError
from course.staff.adopt.recognize import FIRST
from course.staff.grading.submissions import JUNK, LARGEST, ORIGINAL, student_files
from course.workspace import function_source

MODULES = ("minitorch/operators.py", "minitorch/scalar.py", "minitorch/tensor_data.py", "minitorch/fast_ops.py", "minitorch/nn.py")
"""The file that identifies each module of the original course."""

ELSEWHERE = {"minitorch/nn/functional.py": "minitorch/nn.py"}
"""Paths in this course, with the path in the original course where it differs."""

PARTS = ("minitorch", "project", "tests")
"""The folders of a repository whose files are kept."""

DEEPEST = 4
"""The depth of folders to which repositories are searched for."""


@dataclass(frozen=True)
class Original:
    """A student's work in the original course.

    Attributes:
        files: The text of each file that students write in, by its path in this course.
        origins: The repository that each file comes from.
        modules: The number of the module in each repository, by folder.
    """

    files: Mapping[str, str]
    origins: Mapping[str, Path]
    modules: Mapping[Path, int]


def find_original(folder: Path, manifest: Manifest) -> Original:
    """Find a student's work in a folder and its subfolders.

    If several modules contain a file, the version with the most written functions wins, and among equals that of the latest module.

    Raises:
        RequestError: If there is none, or the folder is a workspace of this course.
    """
    if not folder.is_dir():
        raise RequestError(f"there is no folder {folder}; name the folder with one student's repositories", "course-staff adopt --help")
    roots = sorted(_roots(folder))
    if not roots:
        raise RequestError(f"{folder} contains no {FIRST}, so it holds no module of the original course", "course-staff adopt --help")
    if own := [root for root in roots if (root / "course").is_dir()]:
        raise RequestError(f"{own[0]} is a workspace of this course; grade it as it is", f"course-staff grade {own[0]} --out graded")
    for root in roots:
        if sign := edition_of_2020(root):
            raise RequestError(
                f"{root} is of the edition of 2020 or 2021 ({sign}), whose tasks differ; it cannot be converted: "
                "grade it with the tests of that edition",
                "course-staff adopt --help",
            )
    modules = {root: max(n for n, file in enumerate(MODULES) if (root / file).is_file() or n == 0) for root in roots}
    for number in sorted(set(modules.values())):
        if len(twice := [str(root.relative_to(folder)) for root in roots if modules[root] == number]) > 1:
            raise RequestError(
                f"{folder} holds Module {number} more than once ({', '.join(twice[:3])}), so it is not one student's work; "
                f"give every student a folder or an archive of their own in it",
                "course-staff adopt --help",
            )
    latest_first = sorted(roots, key=lambda root: -modules[root])
    files, origins = {}, {}
    for path in student_files(manifest):
        names = [name for task in manifest.tasks for name in task.names_in(path)]
        found = [(count_written(text, names), text, root) for root in latest_first if (text := _read(root, path)) is not None]
        if found:
            _, files[path], origins[path] = max(found, key=lambda one: one[0])  # the first of equals
    return Original(files, origins, modules)


def edition_of_2020(root: Path) -> str:
    """What shows that a repository is of an early edition, whose functions have other names and results; empty if nothing does."""
    texts = {name: read_text(root / "minitorch" / f"{name}.py") for name in ("module", "tensor_data", "autodiff")}
    found = {name: dict(function_source.iter_functions(function_source.parse(text))) for name, text in texts.items() if text is not None}
    if "count" in found.get("tensor_data", {}) and "to_index" not in found["tensor_data"]:
        return "minitorch/tensor_data.py has count for to_index"
    if any(name.startswith("FunctionBase.") for name in found.get("autodiff", {})):
        return "minitorch/autodiff.py has FunctionBase"
    named = found.get("module", {}).get("Module.named_parameters")
    if named is not None and re.match("dict", ast.unparse(named.returns or named.body[-1]), re.IGNORECASE):
        return "named_parameters of minitorch/module.py returns a dictionary"
    return ""


def repositories(original: Original) -> dict[str, bytes]:
    """The Python files of a student's repositories, by path in a submission; see `submissions.ORIGINAL`."""
    found: dict[str, bytes] = {}
    for root, module in original.modules.items():
        for file in sorted(file for part in PARTS for file in (root / part).rglob("*.py")):
            path = f"original/module-{module}/{file.relative_to(root).as_posix()}"
            if ORIGINAL.fullmatch(path) and not file.is_symlink() and file.stat().st_size <= LARGEST:
                found[path] = file.read_bytes()
    return found


def _roots(folder: Path) -> Iterable[Path]:
    """This folder and its subfolders, as far as they contain the package."""
    for path, folders, _ in os.walk(folder):
        here = Path(path)
        if any((here / file).is_file() for file in MODULES):
            yield here
            folders.clear()
        folders[:] = [name for name in folders if name not in JUNK and len(here.relative_to(folder).parts) < DEEPEST]


def _read(root: Path, path: str) -> str | None:
    """The text of a file of the original course, by its path in this one; None if it is missing or not valid Python."""
    return read_text(root / ELSEWHERE.get(path, path))


def read_text(file: Path) -> str | None:
    """The text of a file; None if it is missing, too large, or not valid Python."""
    if not file.is_file() or file.stat().st_size > LARGEST:
        return None
    try:
        text = function_source.unix(function_source.decode(file.read_bytes())[0]).removeprefix("\ufeff")
        function_source.parse(text)
    except function_source.Unreadable:
        return None
    return text


def added_files(text: str, path: str, root: Path, known: Collection[str]) -> list[str]:
    """The files of a student's repository that a file imports from and that this course does not have.

    Args:
        text: The file.
        path: Its path in this course.
        root: The student's repository.
        known: The paths of this course's files.
    """
    modules: set[str] = set()
    for node in ast.walk(function_source.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            start = absolute_module(path, node.module, node.level)
            modules |= {start, *(f"{start}.{alias.name}" for alias in node.names)}
    paths = {f"{module.replace('.', '/')}.py" for module in modules}
    if path.startswith("project/"):  # a program may import a file beside it by its bare name
        paths |= {f"project/{module}.py" for module in modules if "." not in module and not (root / f"{module}.py").is_file()}
    return sorted(each for each in paths - {*known, *ELSEWHERE.values()} if (root / each).is_file())


def absolute_module(path: str, module: str | None, level: int) -> str:
    """The dotted name of the module of an import in a file. A relative import is one of the package, which has no subfolders."""
    if not level:
        return module or ""
    package = path.split("/")[0]
    return f"{package}.{module}" if module else package


def count_written(text: str, names: Sequence[str]) -> int:
    """How many of these functions are written in a text. Upper and lower case do not matter."""
    wanted = {name.lower().lstrip("_") for name in names}
    bodies = {name.lower().lstrip("_"): node.body for name, node in function_source.iter_functions(function_source.parse(text))}
    return sum(name in wanted and not is_stub(body) for name, body in bodies.items())


def is_stub(body: Sequence[ast.stmt]) -> bool:
    """Whether a function is not written: after its docstring there is only `pass`, `...` or `raise NotImplementedError`."""
    rest = [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return all(isinstance(node, ast.Pass) or (isinstance(node, ast.Raise) and "NotImplemented" in ast.unparse(node)) for node in rest)
