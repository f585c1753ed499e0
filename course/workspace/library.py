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

REPLACED = {"torch": "minitorch.torch", "torchvision": "minitorch.torch.vision"}
"""The packages that a PyTorch program imports, and the modules with their names."""

PLAIN_IMPORT = re.compile(r"^(\s*import )(torch|torchvision)(\s*(?:#.*)?)$")
IMPORT_AS = re.compile(r"^(\s*import )(torch|torchvision)((?:\.\w+)* as \w+\s*(?:#.*)?)$")
IMPORT_FROM = re.compile(r"^(\s*from )(torch|torchvision)((?:\.\w+)* import .+)$")
ANY_IMPORT = re.compile(r"^\s*(?:import|from) .*?\b(torch|torchvision)\b")


def for_minitorch(source: str) -> str:
    """The source of a PyTorch program with minitorch.torch in place of torch and torchvision: only whole import lines change.

    Raises:
        ValueError: If a line imports one of them in a form that cannot be replaced by itself, such as `import torch.nn`.
    """
    return "\n".join(map(_replaced, source.split("\n")))


def _replaced(line: str) -> str:
    """One line of `for_minitorch`."""
    if found := PLAIN_IMPORT.match(line):
        start, name, rest = found.groups()
        return f"{start}{REPLACED[name]} as {name}{rest}"
    if found := IMPORT_AS.match(line) or IMPORT_FROM.match(line):
        start, name, rest = found.groups()
        return f"{start}{REPLACED[name]}{rest}"
    if found := ANY_IMPORT.match(line):
        name = found[1]
        raise ValueError(f"expected `import {name}`, `import {name}.x as y` or `from {name}.x import y`, got {line.strip()!r}; rewrite it")
    return line


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
