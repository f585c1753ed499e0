"""The library after the course, for a workspace: the modules that no student writes, and programs for PyTorch, as one zip file.

The modules stand on the student's functions. Optimized kernels are left out, as in the workspace; the modules that import them get
empty ones in their place, and compute everything with tensor operations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from course.manifest import Manifest
from course.staff.handout import rewriter
from course.staff.handout.selection import contents, cut_init
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
    files = {path: (root / path).read_text(encoding="utf-8") for path in map(manifest.path, after.modules)}
    parents = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents} - {"."}
    for path in sorted({f"{parent}/__init__.py" for parent in parents} | set(contents(manifest, after.number))):
        files[path] = _without_kernels(cut_init((root / path).read_text(encoding="utf-8"), last, also=after.number), left_out)
    others = {f"{manifest.package}/kernels": ABSENT, PROGRAMS: root / SOURCE}
    for folder, source in others.items():
        for path in sorted(source.iterdir()):
            if path.suffix in (".py", ".toml"):
                files[f"{folder}/{path.name}"] = path.read_text(encoding="utf-8")
    return files


def pack(files: Mapping[str, str]) -> bytes:
    """The zip file; the same bytes for the same files."""
    return make_zip({path: content.encode("utf-8") for path, content in files.items()})


def _without_kernels(init: str, left_out: Mapping[str, str]) -> str:
    """A table of contents without the imports of these modules."""
    for module in left_out:
        package, _, name = module.rpartition(".")
        if re.search(rf"\b{name}\b", init):
            init = rewriter.remove_imports(init, package, {name})
    return init
