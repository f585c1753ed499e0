"""The library after the course on a student's own functions: `course/library.zip` and the student's files, together in `.course/library`.

`minitorch` there is the student's package with what no student writes: layers, optimizers, and `minitorch.torch`, PyTorch's interface.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from course.cli.problem import ENVIRONMENT, Problem
from course.manifest import Manifest

ZIP = "course/library.zip"
FOLDER = Path(".course") / "library"
PROGRAMS = "programs"
"""The folder of the programs for PyTorch, in the zip file and in FOLDER."""

PLAIN_IMPORT = re.compile(r"^(\s*)import torch(\s*(?:#.*)?)$")
IMPORT_AS = re.compile(r"^(\s*)import torch((?:\.\w+)* as \w+\s*(?:#.*)?)$")
IMPORT_FROM = re.compile(r"^(\s*)from torch((?:\.\w+)* import .+)$")
ANY_IMPORT = re.compile(r"^\s*(import|from) .*\btorch\b")


def for_minitorch(source: str) -> str:
    """The source of a PyTorch program with minitorch.torch in place of torch: only whole import lines change.

    Raises:
        ValueError: If a line imports torch in a form that cannot be replaced by itself, such as `import torch.nn`.
    """
    lines = []
    for line in source.split("\n"):
        replaced = PLAIN_IMPORT.sub(r"\1import minitorch.torch as torch\2", line)
        replaced = IMPORT_AS.sub(r"\1import minitorch.torch\2", replaced)
        replaced = IMPORT_FROM.sub(r"\1from minitorch.torch\2", replaced)
        if replaced == line and ANY_IMPORT.match(line):
            raise ValueError(f"expected `import torch`, `import torch.x as y` or `from torch.x import y`, got {line.strip()!r}; rewrite it")
        lines.append(replaced)
    return "\n".join(lines)


def read(root: Path) -> dict[str, bytes]:
    """The files of the library after the course by path, as handed out.

    Raises:
        Problem: If the workspace has none, or it is damaged.
    """
    try:
        with zipfile.ZipFile(root / ZIP) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError:
        remedy = "it comes with a release that has all modules: course update SOURCE"
        raise Problem(f"{ZIP}, the library after the course, is not in this workspace; {remedy}", ENVIRONMENT) from None
    except (OSError, zipfile.BadZipFile) as error:
        raise Problem(f"{ZIP} is damaged ({error}); run: git checkout -- {ZIP}", ENVIRONMENT) from None


def build(root: Path, manifest: Manifest) -> Path:
    """Put the student's package and the library together, and return their folder. Only files that changed are written.

    Raises:
        Problem: If the workspace has no library.
    """
    folder, package = root / FOLDER, root / manifest.package
    own = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in own}
    for path, content in read(root).items():
        program = path.startswith(f"{PROGRAMS}/") and path.endswith(".py")
        files[path] = for_minitorch(content.decode("utf-8")).encode("utf-8") if program else content
    for old in [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]:
        if old.relative_to(folder).as_posix() not in files:
            old.unlink()
    for path, content in files.items():
        target = folder / path
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return folder
