"""The library after the course, for a workspace: the modules of all later stages, and programs for PyTorch, as one zip file.

The modules stand on the student's functions. Optimized kernels are left out, as in the workspace; the modules that import them get
empty ones in their place, and compute everything with tensor operations. Functions of extra tasks that the workspace lacks are stubs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from course.manifest import Manifest
from course.staff.handout import rewriter
from course.staff.handout.selection import contents
from course.workspace.library import PROGRAMS
from course.workspace.pristine import make_zip

ABSENT = Path(__file__).parent / "absent"
"""The folder of the modules that take the places of optimized kernels."""

SOURCE = "project/torch_programs"
"""The folder of the programs in the reference, which also has the tasks that each of them needs."""


def library_files(root: Path, manifest: Manifest, last: int, left_out: Mapping[str, str]) -> dict[str, str]:
    """The files of the library by path; none if the workspace lacks a required module, or the course has no programs or ends with a task.

    Args:
        root: The reference repository.
        manifest: Its manifest.
        last: The last stage of the workspace.
        left_out: The modules that the workspace lacks, as in `generate.left_out_modules`.
    """
    after = manifest.stages[-1]
    ends_with_task = any(task.stage == after.number for task in manifest.tasks)
    if ends_with_task or last < max(manifest.required_stages) or not (root / SOURCE).is_dir():
        return {}
    later = [manifest.path(module) for stage in manifest.stages if stage.number > last for module in stage.modules]
    files = {path: _stubbed((root / path).read_text(encoding="utf-8"), manifest, path) for path in later}
    parents = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents} - {"."}
    for path in sorted({f"{parent}/__init__.py" for parent in parents} | set(contents(manifest, after.number))):
        files[path] = _without_kernels((root / path).read_text(encoding="utf-8"), left_out)
    others = {f"{manifest.package}/kernels": ABSENT, PROGRAMS: root / SOURCE}
    for folder, source in others.items():
        for path in sorted(source.iterdir()):
            if path.suffix in (".py", ".toml"):
                files[f"{folder}/{path.name}"] = path.read_text(encoding="utf-8")
    return files


def pack(files: Mapping[str, str]) -> bytes:
    """The zip file; the same bytes for the same files."""
    return make_zip({path: content.encode("utf-8") for path, content in files.items()})


def _stubbed(source: str, manifest: Manifest, path: str) -> str:
    """A module without the bodies of the functions that students write."""
    tasks = {name: task.id for task in manifest.tasks for name in task.names_in(path)}
    return rewriter.stub(source, tasks) if tasks else source


def _without_kernels(init: str, left_out: Mapping[str, str]) -> str:
    """A table of contents without the imports of these modules."""
    for module in left_out:
        package, _, name = module.rpartition(".")
        if re.search(rf"\b{name}\b", init):
            init = rewriter.remove_imports(init, package, {name})
    return init
