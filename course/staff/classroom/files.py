"""`course-staff classroom`: a GitHub workflow for a handout, and an autograder bundle for Gradescope."""

from __future__ import annotations

import json
import secrets
import zipfile
from io import BytesIO
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from course.manifest import ROOT, Manifest, course
from course.staff import RequestError
from course.staff.classroom.autograder import SETTINGS
from course.staff.handout.generate import MARKER
from course.staff.handout.selection import PATTERNS
from course.workspace.atomic_files import write_bytes

TEMPLATES = Path(__file__).parent

WORKFLOW = {".github/workflows/classroom.yml": "github/classroom.yml", ".github/report.py": "github/report.py"}
"""The files of the workflow and their templates."""

SCRIPTS = {"setup.sh": "gradescope/setup.sh", "run_autograder": "gradescope/run_autograder"}
"""The scripts at the root of a bundle and their templates."""

SKIPPED = {"__pycache__", "_build", "generated", ".ruff_cache", ".pytest_cache"}
"""Generated folders."""

LONG_AGO = (2020, 1, 1, 0, 0, 0)
"""Modification time of the files in a bundle, so that equal contents give equal bytes."""


def run(out: Console, folder: Path, github: bool = False, gradescope: bool = False, no_sandbox: bool = False, force: bool = False) -> int:
    """Write the requested files and print the next step; returns the exit code.

    Args:
        out: Where to print.
        folder: A handout.
        github: Add the workflow to the handout.
        gradescope: Write a bundle next to the handout.
        no_sandbox: Whether Gradescope's machine may grade without a sandbox if it has none.
        force: Replace workflow files that were changed.

    Raises:
        RequestError: If the folder is not a handout, or nothing is requested.
    """
    stage = last_stage(folder)
    if not (github or gradescope):
        raise RequestError("expected --github, --gradescope or both", f"course-staff classroom {folder} --github")
    if github:
        written = write_workflow(folder, force)
        out.print(f"{escape(str(folder))}: {' and '.join(written)}", soft_wrap=True)
        out.print(f"next: cd {escape(str(folder))} && git add .github && git commit -m 'Run the tests on every push'", soft_wrap=True)
    if gradescope:
        bundle = folder.absolute().with_name(f"{folder.absolute().name}-autograder.zip")
        tasks = [task.id for task in course().tasks if task.stage <= stage]
        count = write_bundle(ROOT, course(), bundle, tasks, secrets.randbelow(2**31), no_sandbox)
        out.print(f"{escape(str(bundle))}: {count} files, {bundle.stat().st_size / 1e6:.1f} MB; it contains the solutions", soft_wrap=True)
        out.print(
            "next: in Gradescope, open Configure Autograder, upload the file, and choose Ubuntu 24.04 as the base image", soft_wrap=True
        )
    return 0


def last_stage(folder: Path) -> int:
    """The last module of a handout.

    Raises:
        RequestError: If the folder is not a handout.
    """
    try:
        modules = json.loads((folder / MARKER).read_text(encoding="utf-8"))["modules"]
        return int(modules.split("-")[-1])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RequestError(f"{folder} is not a handout; create one first", f"course-staff handout {folder}") from None


def write_workflow(folder: Path, force: bool = False) -> list[str]:
    """Write the workflow to a handout; returns the paths of its files.

    Raises:
        RequestError: If one of them exists with other contents.
    """
    contents = {path: (TEMPLATES / template).read_bytes() for path, template in WORKFLOW.items()}
    for path, content in contents.items():
        if (folder / path).is_file() and (folder / path).read_bytes() != content and not force:
            raise RequestError(f"{folder / path} exists and was changed", f"course-staff classroom {folder} --github --force")
    for path, content in contents.items():
        write_bytes(folder / path, content)
    return list(contents)


def write_bundle(root: Path, manifest: Manifest, path: Path, tasks: list[str], number: int, no_sandbox: bool = False) -> int:
    """Write the zip file for Gradescope; returns the number of files in it.

    Args:
        root: The repository.
        manifest: Its manifest.
        path: The zip file; an existing one is replaced.
        tasks: Ids of the tasks to grade.
        number: The seed of the hidden inputs, the same for all submissions.
        no_sandbox: Whether to grade without a sandbox if there is none.
    """
    contents = {name: (TEMPLATES / template).read_bytes() for name, template in SCRIPTS.items()}
    contents |= {file.relative_to(root).as_posix(): file.read_bytes() for file in _sources(root, manifest)}
    settings = {"tasks": tasks, "number": number, "no_sandbox": no_sandbox}
    contents[SETTINGS.as_posix()] = (json.dumps(settings) + "\n").encode()
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix on every system, because the scripts must be executable
            entry.external_attr = (0o100755 if name in SCRIPTS else 0o100644) << 16
            archive.writestr(entry, content)
    write_bytes(path, buffer.getvalue())
    return len(contents)


def _sources(root: Path, manifest: Manifest) -> list[Path]:
    """The files of the repository that grading needs: those of a workspace, the package, all tests, and the staff's files."""
    patterns = (*PATTERNS, f"{manifest.package}/**/*", "tests/**/*", "course/**/*")
    found = {file for pattern in patterns for file in root.glob(pattern) if file.is_file() and not file.is_symlink()}
    folders = {file: set(file.relative_to(root).parts[:-1]) for file in found}
    return sorted(file for file in found if not folders[file] & SKIPPED and file.suffix != ".pyc")
