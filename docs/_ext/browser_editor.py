"""Python in the reader's browser, with no installation: the directive `{editor} 0.1`, and the cells of pages, see `page_cells`.

The directive shows the files of a task, which the reader writes and tests in the page. Python runs in the browser through Pyodide. Where
the build can get Pyodide from npm, it packs Pyodide, the test runner, a student's workspace and the reference into one script of the book,
which a page loads on a click, from a server or from the disk. Where it cannot, the page says so.
"""

from __future__ import annotations

import base64
import gzip
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from course.manifest import ROOT, Task, course
from course.workspace import pristine

PYODIDE = "314.0.7"
"""The version of Pyodide on npm. Nothing of Pyodide is in the repository."""

PARTS = ("pyodide.js", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""The files of Pyodide that a browser loads."""

PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "sortedcontainers", "rich", "typer", "annotated-doc", "shellingham")
"""What tests and programs need besides Hypothesis, which has compiled code: Python files, taken from this environment."""

LAST = 1
"""The last stage that needs no NumPy."""

SECONDS = 300
"""How long a download may take."""

NOT_RUNNABLE = "In this copy of the book the code cannot be run in the page, because it was built without Pyodide. In your workspace, run:"

log = logging.getLogger(__name__)


class NotAvailable(RuntimeError):
    """Pyodide, or Hypothesis for it, cannot be downloaded."""


def get_pyodide(folder: Path) -> Path:
    """A folder with the parts of Pyodide and the wheel of Hypothesis; downloads them the first time.

    Args:
        folder: Where downloads are kept.

    Raises:
        NotAvailable: If there is no npm, or a download fails.
    """
    hypothesis = importlib.metadata.version("hypothesis")
    kept = folder / f"{PYODIDE}-{hypothesis}"
    if kept.is_dir():
        return kept
    npm = shutil.which("npm")
    if npm is None:
        raise NotAvailable("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        new = Path(name) / "new"
        new.mkdir()
        _download([npm, "pack", "--silent", "--fetch-retries=0", f"--pack-destination={name}", f"pyodide@{PYODIDE}"])
        with tarfile.open(Path(name) / f"pyodide-{PYODIDE}.tgz") as archive:
            for part in PARTS:
                member = archive.extractfile(f"package/{part}")
                assert member is not None, part
                (new / part).write_bytes(member.read())
        info = json.loads((new / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
        version, platform = ".".join(info["python"].split(".")[:2]), f"pyemscripten_{info['abi_version']}_wasm32"
        pip = [sys.executable, "-m", "pip", "download", "-q", "--retries=0", "--no-deps", "--only-binary=:all:", f"--platform={platform}"]
        _download([*pip, f"--python-version={version}", f"--dest={new}", f"hypothesis=={hypothesis}"])
        new.rename(kept)
    return kept


def _download(command: list[str]) -> None:
    """Run a command that downloads.

    Raises:
        NotAvailable: If it fails.
    """
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise NotAvailable(f"{Path(command[0]).name} failed: {reason[-1] if reason else 'no message'}") from None


def workspace() -> dict[str, bytes]:
    """The package, the tests and the course machine as students receive them: with stubs in place of what they write."""
    if (ROOT / pristine.PATH).is_file():  # a student's workspace
        found = [path for folder in ("minitorch", "tests", "course") for path in (ROOT / folder).rglob("*")]
        paths = [path for path in found if path.suffix in (".py", ".toml")] + [ROOT / "pyproject.toml", ROOT / pristine.PATH]
        return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths} | dict(pristine.read(ROOT).files)
    from course.staff.handout.generate import handout_files

    handout, folders = handout_files(ROOT, course(), LAST, search=False), ("minitorch/", "tests/", "course/")
    kept = {path: data for path, data in handout.items() if path.startswith(folders) or path == "pyproject.toml"}
    return {path: data if isinstance(data, bytes) else data.encode("utf-8") for path, data in kept.items()}


@cache
def reference() -> dict[str, bytes]:
    """The package and its programs with the solutions, up to the last stage that needs no NumPy; empty in a student's workspace."""
    if (ROOT / pristine.PATH).is_file():
        return {}
    from course.staff.handout.selection import select

    files = select(ROOT, course(), LAST)
    return {path: str(files[path]).encode() for path in files if path.startswith(("minitorch/", "project/")) and path.endswith(".py")}


def packages(wheel: Path) -> dict[str, bytes]:
    """The files of all packages that the tests need."""
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    for package in PACKAGES:
        for file in importlib.metadata.distribution(package).files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                found[file.as_posix()] = file.read_binary()
    return found


def own_parts() -> dict[str, bytes]:
    """The worker that starts Python, and what it runs there."""
    return {name: (ROOT / "docs" / "_static" / name).read_bytes() for name in ("worker.js", "free_graphs.py", "run_task.py", "run_cell.py")}


def script(pyodide: Path) -> str:
    """The script with all that a page needs to run Python: compressed and in base64, because a page on the disk may not fetch files."""
    parts = {part: (pyodide / part).read_bytes() for part in PARTS}
    module = parts["pyodide.asm.mjs"].replace(b"import.meta.url", b"self.location.href")  # a page on the disk may not start a module
    parts["pyodide.asm.mjs"] = module.replace(b"export default _createPyodideModule;", b"")
    found = packages(next(pyodide.glob("*.whl")))
    zips = {"packages.zip": found, "workspace.zip": workspace(), "reference.zip": reference()}
    parts |= own_parts() | {name: pristine.make_zip(files) for name, files in zips.items()}
    packed = {name: base64.b64encode(gzip.compress(data, mtime=0)).decode("ascii") for name, data in parts.items()}
    return f"globalThis.pythonParts = {json.dumps(packed)}\n"


def editor(task: Task, files: Mapping[str, bytes], base: str, runs: bool) -> str:
    """The editor of a task as HTML.

    Args:
        task: The task.
        files: The workspace.
        base: The path from the page to the book's static files.
        runs: Whether the book has Pyodide.
    """
    if not runs:
        return f"<p>{NOT_RUNNABLE} <code>course test {task.id}</code></p>"
    texts = {path: {"text": files[path].decode("utf-8"), "names": task.names_in(path)} for path in task.files}
    given = json.dumps({"task": task.id, "python": f"{base}python.js", "files": texts}).replace("</", "<\\/")
    return (
        f'<div data-editor><script type="application/json">{given}</script><noscript>The editor needs JavaScript.</noscript></div>'
        f'<script src="{base}editor.js" defer></script>'
    )


def static_files(page: str) -> str:
    """The path from a page to the book's static files."""
    return "../" * page.count("/") + "_static/"


class Editor(SphinxDirective):
    """Show the editor of the task whose id is the argument."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The editor; its text counts neither as reading nor in the search, see `chapter_head.UNREAD`."""
        task = course().task(self.arguments[0])
        for path in task.files:
            self.env.note_dependency(str(ROOT / path))
        html = editor(task, workspace(), static_files(self.env.docname), self.config.editors_run)
        return [nodes.raw("", html, format="html", classes=["editor"])]


def prepare(app: Sphinx, config: Config) -> None:
    """Get Pyodide, or note why the editors of this book cannot run code."""
    try:
        get_pyodide(_downloads(app))
        config.editors_run = True
    except NotAvailable as error:
        log.info("The book's editors cannot run code: %s", error)


def write_script(app: Sphinx, exception: Exception | None) -> None:
    """Write the script beside the other static files."""
    if exception is None and app.config.editors_run and app.builder.format == "html":
        (Path(app.outdir) / "_static" / "python.js").write_text(script(get_pyodide(_downloads(app))), encoding="ascii")


def _downloads(app: Sphinx) -> Path:
    return Path(app.srcdir) / "_build" / "pyodide"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive, and the script that the pages load."""
    app.add_config_value("editors_run", False, "env", bool)
    app.add_directive("editor", Editor)
    app.connect("config-inited", prepare)
    app.connect("build-finished", write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
