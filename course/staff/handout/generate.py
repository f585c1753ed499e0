"""Generates a student's workspace: the files of the reference up to a stage, without the bodies of all tasks."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course.manifest import Manifest, Task
from course.staff import RequestError, StaffError
from course.staff.handout import rewriter
from course.staff.handout.leaks import bodies_of_modules, leaks_of
from course.staff.handout.library import ABSENT, library_files, pack
from course.staff.handout.released import released_bodies, released_files
from course.staff.handout.selection import TEMPLATES, marks, select
from course.workspace import pristine
from course.workspace.library import ZIP as LIBRARY

if TYPE_CHECKING:
    from course.staff.variants.variant import Variant

MARKER = ".handout.json"
"""A file in every handout that identifies it, so that a later handout may replace it."""

GUIDED, BARE = "guided", "bare"
"""The styles of stubs: with docstrings, or with a list of what to write."""

UNWATCHED = {".git", ".venv", ".course", ".hypothesis", ".pytest_cache", ".ruff_cache", "__pycache__", "_build", MARKER}
"""Files that the student's tools create; they may be deleted."""


@dataclass(frozen=True)
class Handout:
    """A generated workspace.

    Attributes:
        folder: Its folder.
        files: Number of files.
        stubs: Number of functions to write.
        commit: Its only commit; None without git.
    """

    folder: Path
    files: int
    stubs: int
    commit: str | None


def write_names(manifest: Manifest, last: int, only: str | None = None) -> dict[str, dict[str, str]]:
    """The functions whose bodies are removed, by file: function name → task id.

    Args:
        manifest: The course.
        last: The last stage.
        only: Remove the bodies of this task alone.
    """
    return _by_file([(full, task) for task in manifest.tasks if task.stage <= last and only in (None, task.id) for full in task.write])


def left_out_names(manifest: Manifest, last: int) -> dict[str, dict[str, str]]:
    """The functions that the workspace lacks completely, as in `write_names`."""
    return _by_file([(full, task) for task in manifest.tasks if task.stage <= last for full in task.leave_out if ":" in full])


def left_out_modules(manifest: Manifest, last: int) -> dict[str, str]:
    """The modules that the workspace lacks completely: dotted name → task id."""
    return {full: task.id for task in manifest.tasks if task.stage <= last for full in task.leave_out if ":" not in full}


def _by_file(entries: Iterable[tuple[str, Task]]) -> dict[str, dict[str, str]]:
    names: dict[str, dict[str, str]] = {}
    for full, task in entries:
        module, _, name = full.partition(":")
        file = names.setdefault(module.replace(".", "/") + ".py", {})
        if name in file:
            raise StaffError(f"tasks.toml names {full} twice, in tasks {file[name]} and {task.id}")
        file[name] = task.id
    return names


def stub_files(files: Mapping[str, str | bytes], names: Mapping[str, Mapping[str, str]], bare: bool = False) -> dict[str, str | bytes]:
    """The files without the bodies of the named functions and, if `bare`, without their docstrings.

    Raises:
        StaffError: If a file or function of the manifest does not exist; the message names the entry.
    """
    stubbed = dict(files)
    for path, tasks in names.items():
        source = _named_source(files, path, tasks)
        try:
            stubbed[path] = rewriter.stub(source, tasks, is_test=path.startswith("tests/"), bare=bare)
        except rewriter.SyntaxTreeError as error:
            raise StaffError(f"{path} does not have what tasks.toml says that students write: {error}") from None
    return stubbed


def leave_out(files: Mapping[str, str | bytes], names: Mapping[str, Mapping[str, str]]) -> dict[str, str | bytes]:
    """The files without the definitions and imports of the named functions.

    Raises:
        StaffError: If a file or function of the manifest does not exist, or a function is still used.
    """
    result = dict(files)
    for path, tasks in names.items():
        result[path] = _named_source(result, path, tasks)
        for file, content in result.items():
            try:
                if file == path:
                    result[file] = rewriter.remove(str(content), tasks)
                elif file.endswith(".py") and any(name in str(content) for name in tasks):
                    result[file] = rewriter.remove_imports(str(content), _module(path), tasks)
            except rewriter.SyntaxTreeError as error:
                raise StaffError(f"{file} does not fit what tasks.toml says to leave out of a workspace: {error}") from None
    return result


def leave_out_modules(files: Mapping[str, str | bytes], modules: Mapping[str, str]) -> dict[str, str | bytes]:
    """The files without the named modules and their entries in the package's table of contents, the manifest and the book.

    Raises:
        StaffError: If a module of the manifest does not exist, or is still imported.
    """
    result = dict(files)
    for module, task in modules.items():
        path = module.replace(".", "/") + ".py"
        if result.pop(path, None) is None:
            raise StaffError(f"tasks.toml: task {task} leaves {module} out, but there is no {path} in the workspace")
        package, _, name = module.rpartition(".")
        for init in [path for path in result if path.endswith("/__init__.py") and re.search(rf"\b{name}\b", str(result[path]))]:
            result[init] = rewriter.remove_imports(str(result[init]), package, {name})
        listed = re.compile(rf'(?ms)^(modules = \[[^\]]*)"{re.escape(module.partition(".")[2])}"(?:, )?')
        result["course/tasks.toml"] = listed.sub(r"\1", str(result["course/tasks.toml"]))
    for path, content in result.items():
        if path.startswith("docs/api/"):
            result[path] = _without_modules(str(content), modules)
        elif path.endswith(".py") and (lost := _lost_modules(str(content), modules)):
            raise StaffError(f"{path} imports {', '.join(lost)}, which tasks.toml says to leave out of a workspace")
    return result


def _lost_modules(source: str, modules: Iterable[str]) -> list[str]:
    """The modules among these that a source imports."""
    named = {module for module in modules if module.rpartition(".")[2] in source}
    return sorted(rewriter.needed_modules(source) & named) if named else []


def _without_modules(page: str, modules: Iterable[str]) -> str:
    """A page of the API reference without the directives for these modules and without headings that become empty."""
    for module in modules:
        page = re.sub(rf"(?ms)^```\{{eval-rst\}}\n\.\. auto\w+:: {re.escape(module)}\b.*?^```\n\n?", "", page)
    return re.sub(r"(?m)^## .*\n\n(?=## |\Z)", "", page).rstrip() + "\n"


def _named_source(files: Mapping[str, str | bytes], path: str, tasks: Mapping[str, str]) -> str:
    """The source of a file in the manifest."""
    source = files.get(path)
    if not isinstance(source, str):
        raise StaffError(
            f"tasks.toml: task {min(tasks.values())} names {_module(path)}:{next(iter(tasks))}, but there is no {path} in the workspace"
        )
    return source


def _module(path: str) -> str:
    """The dotted name of the module in a file."""
    return path.removesuffix(".py").replace("/", ".")


def handout_files(
    root: Path,
    manifest: Manifest,
    last: int,
    style: str = GUIDED,
    staff: int | None = None,
    variant: Variant | None = None,
    search: bool = True,
) -> dict[str, str | bytes]:
    """All files of a handout by path.

    Args:
        root: The reference repository.
        manifest: Its manifest.
        last: The last stage.
        style: GUIDED, where stubs keep their docstrings, or BARE, where a list says what each has to do.
        staff: Include the released bodies of all tasks up to this stage.
        variant: The variant of the student who receives the handout.
        search: Whether to search it for solutions that it gives away, which takes most of the time.

    Raises:
        RequestError: If a stage does not exist.
        StaffError: If the repository cannot be cut after the stage, the manifest does not match it, or a solution would leak.
    """
    if staff is not None and staff > last:
        raise RequestError(f"--staff {staff} expected a module of the workspace, which ends with Module {last}")
    reference = select(root, manifest, last)
    if all(task.stage != last for task in manifest.tasks):  # its solutions would go out whole
        raise RequestError(f"Module {last} has no tasks yet; hand out a range that ends with {manifest.tasks[-1].stage}")
    common = {full for task in manifest.tasks for full in task.write}
    if variant is not None:
        manifest, reference = variant.apply(manifest, reference)
    added = {full for task in manifest.tasks for full in task.write} - common
    _check_tested(manifest, last, reference)
    names, left_out, modules = write_names(manifest, last), left_out_names(manifest, last), left_out_modules(manifest, last)
    files = leave_out(stub_files(reference, names, bare=style == BARE), left_out)
    after_course = last == manifest.stages[-1].number  # its modules import some kernels by name, and get empty ones, as in the library
    empty = {module: ABSENT / f"{module.removeprefix(f'{manifest.package}.kernels.')}.py" for module in modules if after_course}
    empty = {module: file for module, file in empty.items() if file.is_file()}
    files |= {module.replace(".", "/") + ".py": file.read_text(encoding="utf-8") for module, file in empty.items()}
    files = leave_out_modules(files, {module: task for module, task in modules.items() if module not in empty})
    if library := library_files(root, manifest, last, modules):
        files[LIBRARY] = pack(library)
    files["README.md"] = _known_programs((TEMPLATES / "README.md").read_text(encoding="utf-8"), files)
    removed = {path: {**names.get(path, {}), **left_out.get(path, {})} for path in [*names, *left_out]}
    also = bodies_of_modules(reference, modules)
    if search and (troubles := leaks_of(reference, {**library, **files}, removed, also, added)):
        raise StaffError("the handout would give solutions away:\n" + "\n".join(f"  {trouble}" for trouble in troubles))
    if staff is not None:
        files |= released_files(released_bodies(root, manifest, reference, staff), manifest, staff)
    files[pristine.PATH] = pristine.pack(files, [*names, *(path for path in files if path.startswith("tests/"))])
    return files


def _check_tested(manifest: Manifest, last: int, reference: Mapping[str, str | bytes]) -> None:
    """Raise StaffError for a task without tests."""
    tests = [content for path, content in reference.items() if path.startswith("tests/") and isinstance(content, str)]
    tested = {mark for content in tests for mark in marks(content)}
    for task in manifest.tasks:
        if task.stage <= last and task.mark not in tested:
            raise StaffError(f"no test carries the mark {task.mark} of task {task.id}; write its tests, or take the task out of tasks.toml")


def _known_programs(text: str, files: Mapping[str, str | bytes]) -> str:
    """A template without the lines that show programs or Make targets that the workspace lacks, or its library."""
    lines, makefile = [], str(files["Makefile"])
    for line in text.splitlines(keepends=True):
        programs, targets = re.findall(r"python (project/\w+\.py)", line), re.findall(r"`make (\S+)`", line)
        library = "`course programs`" not in line or LIBRARY in files
        if library and all(program in files for program in programs) and all(f"\n{target}:" in makefile for target in targets):
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "".join(lines))


def make_handout(
    root: Path,
    manifest: Manifest,
    last: int,
    folder: Path,
    force: bool = False,
    style: str = GUIDED,
    staff: int | None = None,
    variant: Variant | None = None,
) -> Handout:
    """Write a handout: into a temporary folder first, which is renamed when the handout is complete.

    Args:
        root: The reference repository.
        manifest: Its manifest.
        last: The last stage.
        folder: The target; must not exist or be empty or, with `force`, contain an unchanged earlier handout.
        force: Replace an earlier handout.
        style, staff, variant: As in `handout_files`.

    Raises:
        RequestError: If the folder is not free, or a stage does not exist.
        StaffError: As in `handout_files`.
    """
    folder = folder.absolute()
    _check_free(folder, force)
    files = handout_files(root, manifest, last, style, staff, variant)
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        building.chmod(0o755)
        write_files(building, files)
        marker = {"modules": f"0-{last}" if last else "0", "digest": _digest(building)}
        (building / MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")
        commit = _commit(building, f"{manifest.title}: the workspace of Modules {marker['modules']}")
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
            folder.rename(old / folder.name)
            building.rename(folder)
            shutil.rmtree(old)
        else:
            building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    stubs = sum(len(tasks) for tasks in write_names(manifest, last).values()) + (variant.functions(files) if variant else 0)
    return Handout(folder, len(files) + 1, stubs, commit)


def _check_free(folder: Path, force: bool) -> None:
    """Raise RequestError unless the folder is free or contains an unchanged earlier handout."""
    if not folder.exists() and not folder.is_symlink():
        return
    free = next(path for number in itertools.count(2) if not (path := folder.with_name(f"{folder.name}-{number}")).exists())
    words = [sys.executable, "-m", "course.staff", *(str(free) if Path(word).absolute() == folder else word for word in sys.argv[1:])]
    again = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)  # course-staff may not be on the PATH
    if folder.is_symlink() or not folder.is_dir():
        raise RequestError(f"{folder} is not a folder; name one that does not exist yet", again)
    if not any(folder.iterdir()):
        return
    if not (folder / MARKER).is_file():
        raise RequestError(f"{folder} is not empty and not an earlier handout; name a folder that does not exist yet", again)
    try:
        digest = json.loads((folder / MARKER).read_text(encoding="utf-8"))["digest"]
    except (ValueError, KeyError, TypeError):
        digest = None
    if digest != _digest(folder):
        raise RequestError(f"{folder} was changed since it was handed out; --force does not throw work away: name another folder", again)
    if not force:
        raise RequestError(f"{folder} holds an earlier handout; name another folder, or add --force to replace it", again)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files into a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def _digest(folder: Path) -> str:
    """A hash of all files except those that tools create."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder)
        if file.is_file() and not UNWATCHED & set(path.parts) and not any(part.endswith(".egg-info") for part in path.parts):
            content = file.read_bytes()
            digest.update(f"{path.as_posix()} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def _commit(folder: Path, message: str) -> str | None:
    """Start a git history with one commit, independent of the git configuration of the user and of the reference."""
    if shutil.which("git") is None:
        return None
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=MiniTorch course", "-c", "user.email=course@localhost", *arguments]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if result.returncode:
            raise StaffError(f"git {arguments[0]} failed: {result.stderr.strip()}")
        return result.stdout.strip()

    git("init", "--quiet", "--initial-branch=main", "--template=")
    git("add", "--all", "--force")
    git("commit", "--quiet", "--message", message)
    return git("rev-parse", "HEAD")
