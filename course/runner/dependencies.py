"""What test results depend on: the task's files, its tests, and what they import."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from course.manifest import Manifest, Task
from course.workspace.locate import STUDENTS
from course.workspace.tables_of_contents import cut_after

WATCHED = ("minitorch/**/*.py", "project/run_*.py", "project/lab/**/*.py", "tests/**/*.py", "course/tasks.toml", "pyproject.toml")
"""The files that a result may depend on."""

ALWAYS = ("course/tasks.toml", "pyproject.toml", "minitorch/__init__.py", "tests/__init__.py", "tests/conftest.py")
"""The files that every result depends on."""

IMPORT = re.compile(r"\n[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|(?:[^\\\n#]|\\\n)*)|import[ \t]+([^\n#;]+))")
"""An import statement: from [1] import [2], or import [3]. All of these patterns begin with fixed characters, which is much faster."""

USES = tuple(re.compile(rf"{folder}\.[\w.]+") for folder in STUDENTS)
"""The use of a name of these packages, also in a string, for importlib."""

GETATTR = re.compile(r"""getattr\((\w+), ["'](\w+)""")

MARK = re.compile(r"task\d+_\d+[a-z]?")


def fingerprints(root: Path, manifest: Manifest) -> dict[str, str]:
    """For each task, a hash of everything that the results of its tests depend on.

    These are its files, those of the tasks that it requires, the test files that mention its mark, and what they import, directly or
    indirectly, anywhere in a file. The tests of a task run without the modules of later stages.
    """
    files = _Files(root)
    names = [path for path in files.paths if path.startswith("tests/") and path.rpartition("/")[2].startswith("test_")]
    marks = {path: set(MARK.findall(files.text(path))) for path in names}
    found = {}
    for task in manifest.tasks:
        marked = {path for path in names if task.mark in marks[path]}
        around = {f"{path.rpartition('/')[0]}/{name}" for path in marked for name in ("__init__.py", "conftest.py")}
        digest = hashlib.sha256(sys.version.encode())
        for path in sorted(files.closure({*ALWAYS, *marked, *around, *_needed(manifest, task)})):
            text = files.text(path)
            text = cut_after(text, task.stage) if path.endswith("/__init__.py") else text
            digest.update(path.encode() + b"\0" + hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest())
        found[task.id] = digest.hexdigest()
    return found


def watched_files(root: Path) -> list[Path]:
    """The files of a workspace that a result may depend on, sorted."""
    return sorted({path for pattern in WATCHED for path in root.glob(pattern) if path.is_file()})


def _needed(manifest: Manifest, task: Task) -> set[str]:
    """The files of a task and of the tasks that it requires, directly or indirectly."""
    files = {file for id in task.requires for file in _needed(manifest, manifest.task(id)) if not file.startswith("tests/")}
    return files | set(task.files)


class _Files:
    """The files of a workspace that a result may depend on, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = {path.relative_to(root).as_posix() for path in watched_files(root)}
        self.texts: dict[str, str] = {}
        self.imported: dict[str, set[str]] = {}

    def text(self, path: str) -> str:
        """The text of a file; empty if an editor is replacing it at this moment."""
        if path not in self.texts:
            try:
                self.texts[path] = (self.root / path).read_bytes().decode("utf-8", "surrogateescape")
            except OSError:
                self.texts[path] = ""
        return self.texts[path]

    def closure(self, paths: Iterable[str]) -> set[str]:
        """Those of these files that exist, and all that they import, directly or indirectly; a package imports nothing by itself."""
        found, waiting = set(), [path for path in paths if path in self.paths]
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                if path not in self.imported:
                    is_code = path.endswith(".py") and not path.endswith("/__init__.py")
                    names = _names(path, self.text(path)) if is_code else ()
                    self.imported[path] = {file for name in names for file in self._files_of(name)}
                waiting += self.imported[path]
        return found

    def _files_of(self, name: str, depth: int = 0) -> Iterator[str]:
        """The files that provide a dotted name; for a package as a whole, those of all names in its table of contents."""
        parts = name.removesuffix(".*").split(".")
        for length in range(len(parts), 0, -1):
            module, rest = "/".join(parts[:length]), parts[length:]
            if f"{module}.py" in self.paths:
                yield f"{module}.py"
                return
            if (package := f"{module}/__init__.py") in self.paths:
                yield package
                table = dict(_bound(package, self.text(package))) if depth < len(STUDENTS) else {}
                inner = [table[rest[0]]] if rest and rest[0] in table else [] if rest else table.values()
                for each in inner:
                    if each != name:
                        yield from self._files_of(".".join([each, *rest[1:]]), depth + 1)
                return


@lru_cache(maxsize=1000)
def _names(path: str, text: str) -> frozenset[str]:
    """The dotted names that a file imports or uses."""
    used = {use.rstrip(".") for pattern in USES for use in pattern.findall(text)}
    read = {".".join(names) for names in GETATTR.findall(text)}
    return frozenset((used | read).union(name for _, name in _bound(path, text)).difference(STUDENTS))


@lru_cache(maxsize=100)
def _bound(path: str, text: str) -> tuple[tuple[str, str], ...]:
    """What the imports of a file bind: names, each with the dotted name of its object; `import a` binds it to no more than a."""
    found = []
    for source, names, modules in IMPORT.findall(f"\n{text}"):
        if source.startswith("."):
            folder = path.split("/")[: -(len(source) - len(source.lstrip(".")))]
            source = ".".join([*folder, source.lstrip(".")]).rstrip(".")
        for entry in re.sub(r"#[^\n]*|[()\\]", "", names or modules).split(","):
            name, _, alias = (part.strip() for part in entry.partition(" as "))
            if name:
                found.append((alias or name, f"{source}.{name}" if source else f"{name}.*" if alias else name))
    return tuple(found)
