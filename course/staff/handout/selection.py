"""The files of a workspace up to a stage, and the parts that are cut from them.

A file of the app belongs to the stage in its name or, without one, to the latest stage whose names it imports; tests belong to the stage
of their marks. Files that pages share are included if a page of the workspace needs them.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from course.manifest import Manifest
from course.staff import RequestError, StaffError
from course.workspace.tables_of_contents import cut_after, sections

PATTERNS = (
    ".gitignore",
    ".pre-commit-config.yaml",
    ".streamlit/config.toml",
    "LICENSE",
    "benchmarks/results/goals.json",
    "Makefile",
    "constraints.txt",
    "pyproject.toml",
    "requirements*.txt",
    "setup.py",
    "course/*.py",
    *(f"course/{folder}/*.py" for folder in ("cli", "explain", "oracles", "runner", "workspace")),
    "course/tasks.toml",
    *(f"docs/**/*.{suffix}" for suffix in ("md", "py", "toml", "css", "js", "html", "svg", "png")),
    *(f"project/**/*.{suffix}" for suffix in ("py", "css", "js", "svg", "png", "safetensors", "json")),
    "project/**/config.toml",
    "project/*.ipynb",
)
"""The files that a workspace may contain besides the package and the tests."""

NOT_FOR_STUDENTS = (
    "docs/_build/",
    "docs/decisions",
    "docs/api/generated/",
    "docs/lab_log.md",
    "docs/module3/performance.md",
    "docs/slides",
    "docs/teachers",
    "project/reproduc",  # project/reproduce.py and its folder
    "project/torch_programs/",  # need PyTorch, or the library that follows the course
)
"""Files that match PATTERNS but do not belong in a workspace."""

STAGE_IN_NAME = re.compile(r"project/(?:views|lab/models)/m(\d+)_|docs/module(\d+)/|docs/api/stage(\d+)\.")

PAGES_AFTER_THE_COURSE = (
    "attention", "autograd", "custom_operators", "data_parallel", "dtypes", "figures", "from_here_to_pytorch", "library", "optimizers",
    "reproductions", "training_large",
)  # fmt: skip

ORACLES_OF_LANGUAGE_MODELS = ("language_models", "tokens", "training", "generation", "quantization", "adapters")
"""Oracles that course/explain imports once minitorch.language is loaded."""

STAGE_OF_FILES = {
    "docs/primer/training_loop.md": 1,
    "docs/cheat_sheets.md": 4,
    "docs/numba.md": 2,
    "docs/data.md": 4,
    "docs/programs.md": 4,
    "docs/runs.toml": 4,
    "docs/compiled.md": 5,
    "docs/torch_names.toml": 7,
    "benchmarks/results/goals.json": 3,  # what the page on speed-up shows
    **dict.fromkeys(map("docs/{}.md".format, PAGES_AFTER_THE_COURSE), 7),
    **dict.fromkeys(map("course/oracles/{}.py".format, ORACLES_OF_LANGUAGE_MODELS), 6),
}
"""The first stage that needs a page of the book or an oracle, for files whose names do not contain it."""

TEMPLATES = Path(__file__).parent / "templates"
RENDERED = ("Makefile", "pyproject.toml", ".pre-commit-config.yaml")
"""Files whose version for workspaces is rendered from a template in TEMPLATES."""

STAFF_PACKAGES = {"pytest-xdist", "jinja2", "libcst", "micrograd", "playwright", "psutil"}
"""Packages in requirements.dev.txt that only the staff needs."""

GPU_FILES = ("requirements.cuda.txt", "project/gpu.ipynb")
"""Files that only a course with GPU tasks needs."""


def select(root: Path, manifest: Manifest, last: int) -> dict[str, str | bytes]:
    """The files of a workspace up to a stage, by path, with the solutions.

    Args:
        root: The repository.
        manifest: Its manifest.
        last: The last stage of the workspace.

    Raises:
        RequestError: If the stage does not exist.
        StaffError: If a file of the workspace needs a file that does not belong to it.
    """
    if last not in [stage.number for stage in manifest.stages]:
        raise RequestError(f"there is no stage {last}; the stages are {', '.join(str(stage.number) for stage in manifest.stages)}")
    found = _find_files(root, PATTERNS)
    stages = _project_stages(root, manifest, found)
    if stages.get("project/app.py", 0) > 0:
        raise StaffError("project/app.py must run in every stage, but it imports a later stage at the top; move that import to its use")
    chosen = _needed(root, [path for path in found if stages.get(path, 0) <= last])
    chosen += [path for path in _package(root, manifest, last) if path not in chosen]
    chosen += _tests(root, manifest, last)
    files: dict[str, str | bytes] = {}
    for path in sorted(chosen):
        content = (root / path).read_bytes()
        data = path.endswith((".png", ".safetensors")) or (path.startswith(f"{manifest.package}/") and not path.endswith(".py"))
        files[path] = content if data else content.decode("utf-8")
    _cut(files, manifest, last, dropped=set(found) - set(chosen))
    return files


@cache
def marks(source: str) -> frozenset[str]:
    """The pytest marks in a file of tests; cached because the proofs ask for every file, task and answer."""
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return frozenset(node.attr for node in attributes if isinstance(node.value, ast.Attribute) and node.value.attr == "mark")


def imports(root: Path, path: str, later: bool = False) -> frozenset[str]:
    """The dotted names that a file imports.

    `from a import b` counts as a and a.b, and so does a use of a.b after `import a`, or of b.c after `from a import b` as a.b.c.

    Args:
        root: The repository.
        path: The file.
        later: Include the imports inside its functions.
    """
    return _imports(path, (root / path).read_text(encoding="utf-8"), later)


@cache
def _imports(path: str, source: str, later: bool) -> frozenset[str]:
    """`imports` of a file with this source; cached because the proofs ask for every file hundreds of times."""
    tree = ast.parse(source)
    names: set[str] = set()
    for node in ast.walk(tree) if later else _top_level(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []  # from .module import name
            module = ".".join([*package, node.module] if node.module else package)
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    known = {name.rpartition(".")[2]: name for name in names} | {name.split(".")[0]: name.split(".")[0] for name in names}
    used = {_dotted_name(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return frozenset(names | {f"{known[first]}.{rest}" for first, _, rest in (name.partition(".") for name in used) if first in known})


def _dotted_name(node: ast.expr) -> str:
    """The dotted name of an expression such as `a.b.c`; "" if it does not start with a name."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def import_closure(root: Path, paths: set[str], later: bool = False) -> set[str]:
    """The given files and all files of the same top-level folder that they import, directly or indirectly."""
    closure, pending = set(), sorted(paths)
    while pending:
        path = pending.pop()
        if path in closure:
            continue
        closure.add(path)
        folder = path.split("/")[0]
        for name in imports(root, path, later):
            target = name.replace(".", "/") + ".py"
            if name.startswith(f"{folder}.") and (root / target).is_file():
                pending.append(target)
    return closure


def _find_files(root: Path, patterns: tuple[str, ...]) -> list[str]:
    """The regular files that match a pattern, outside of hidden folders and caches."""
    found = set()
    for pattern in patterns:
        for file in root.glob(pattern):
            path = file.relative_to(root).as_posix()
            folders = path.split("/")[:-1]
            hidden = any(name.startswith((".", "__pycache__")) and name != ".streamlit" for name in folders)
            if file.is_file() and not any(part.is_symlink() for part in (file, *file.parents[: len(folders)])) and not hidden:
                found.add(path)
    return sorted(path for path in found if not path.startswith(NOT_FOR_STUDENTS))


def _needed(root: Path, paths: list[str]) -> list[str]:
    """The files without the parts of the app that no page or program imports and the extensions of the book that no page uses."""
    python = {path for path in paths if path.endswith(".py") and not path.endswith("/__init__.py")}
    of_app, of_book = ({path for path in python if path.startswith(folder)} for folder in ("project/lab/", "docs/_ext/"))
    used = import_closure(root, {path for path in python if path.startswith("project/")} - of_app, later=True)
    book = [(root / path).read_text(encoding="utf-8") for path in paths if path.startswith("docs/") and path.endswith((".md", "conf.py"))]
    used |= {path for path in of_book if any(re.search(rf"\b{Path(path).stem}\b", text) for text in book)}
    return [path for path in paths if path not in of_app | of_book or path in used]


def _package(root: Path, manifest: Manifest, last: int) -> list[str]:
    """The modules of the package, the `__init__.py` of its folders, and the data files next to them."""
    modules = [manifest.path(module) for stage in manifest.stages if stage.number <= last for module in stage.modules]
    folders = [posixpath.dirname(path) for path in contents(manifest, last)]
    data = [path for path in _find_files(root, tuple(f"{folder}/*" for folder in folders)) if not path.endswith(".py")]
    return [*contents(manifest, last), *modules, *data]


def contents(manifest: Manifest, last: int) -> list[str]:
    """The `__init__.py` of the package and of its folders up to a stage."""
    return [manifest.path(f"{folder}.__init__".removeprefix(".")) for folder in manifest.folders(last)]


def _tests(root: Path, manifest: Manifest, last: int) -> list[str]:
    """The files whose tests grade tasks up to this stage, and the files that these import."""
    stage_of = {task.mark: task.stage for task in manifest.tasks}
    graded = set()
    for path in _find_files(root, ("tests/**/test_*.py",)):
        source = (root / path).read_text(encoding="utf-8")
        if not any(f"mark.{mark}" in source for mark in stage_of):  # most test files belong to the reference only
            continue
        stages = {stage_of[mark] for mark in marks(source) if mark in stage_of}
        if len(stages) > 1:
            raise StaffError(f"{path} holds tests of the stages {', '.join(map(str, sorted(stages)))}; one file serves one stage")
        if stages and max(stages) <= last:
            graded.add(path)
    needed = import_closure(root, graded)
    folders = {posixpath.dirname(path) for path in needed}
    around = {f"{folder}/{name}" for folder in folders | {"tests"} for name in ("__init__.py", "conftest.py")}
    return sorted(needed | {path for path in around if (root / path).is_file()})


def _project_stages(root: Path, manifest: Manifest, paths: list[str]) -> dict[str, int]:
    """The first stage in which each file works: the stage in its name or, without one, that of the latest name that it imports."""
    last = manifest.stages[-1].number
    first = {f"{manifest.package}.{module}": stage.number for stage in manifest.stages for module in stage.modules}
    for path in contents(manifest, last):
        package = posixpath.dirname(path).replace("/", ".")
        for number, section in sections((root / path).read_text(encoding="utf-8")):
            if number is None:
                continue
            for name in _bound_names(section):
                first.setdefault(f"{package}.{name}", number)  # a later stage may replace it
    stages = {}
    for path in paths:
        if path in STAGE_OF_FILES:
            stages[path] = STAGE_OF_FILES[path]
        elif named := STAGE_IN_NAME.match(path):
            stages[path] = int(next(filter(None, named.groups())))
        elif path.startswith("project/") and path.endswith(".py"):
            needs = {name for file in import_closure(root, {path}) for name in imports(root, file)}
            stages[path] = max((first[name] for name in needs if name in first), default=0)
    return stages


def _top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements that run on import: none in functions, and none for type checkers."""
    for node in ast.iter_child_nodes(tree):
        checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not checking:
            yield node
            yield from _top_level(node)


# The cuts


def _cut(files: dict[str, str | bytes], manifest: Manifest, last: int, dropped: set[str]) -> None:
    """Cut from the files what only teachers need and what belongs to later stages."""
    later = [task for task in manifest.tasks if task.stage > last]
    for_gpu = any(task.gpu and task not in later for task in manifest.tasks)
    for path in () if for_gpu else GPU_FILES:
        files.pop(path, None)
    for path, content in files.items():
        if isinstance(content, bytes):
            continue
        if path in RENDERED:
            content = _render(path, gpu=for_gpu, tasks=[task for task in manifest.tasks if task not in later])
        elif path == "requirements.dev.txt":
            content = "".join(line for line in content.splitlines(True) if re.split(r"[^\w-]", line)[0] not in STAFF_PACKAGES)
        elif path == "course/tasks.toml":
            content = _cut_manifest(content, last)
        elif path in contents(manifest, last):
            content = cut_after(content, last)
        elif path.endswith(".md"):
            content = _cut_links(path, _cut_toctrees(path, content, dropped), dropped)
        files[path] = content


def _render(path: str, **values: object) -> str:
    """The version of a file for workspaces."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string((TEMPLATES / f"{path.lstrip('.')}.jinja").read_text(encoding="utf-8")).render(**values)


def _bound_names(source: str) -> set[str]:
    """The names that the imports and assignments of a source bind."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def _cut_manifest(text: str, last: int) -> str:
    """tasks.toml without the tables of later stages and their tasks, and without the entries for teachers."""

    def stays(table: str) -> bool:
        number = re.match(r'\[\[stage\]\]\nnumber = (\d+)|\[\[task\]\]\nid = "(\d+)\.', table)
        return number is None or int(number[1] or number[2]) <= last

    kept = "".join(table for table in re.split(r"(?m)^(?=\[\[)", text) if stays(table)).rstrip() + "\n"
    return re.sub(r"(?ms)^leave_out = \[.*?\]\n", "", kept)


def _cut_toctrees(path: str, text: str, dropped: set[str]) -> str:
    """A page of the book whose tables of contents list no pages that the workspace lacks."""

    def cut(fence: re.Match[str]) -> str:
        lines = []
        for line in fence[0].splitlines(True):
            target = re.sub(r".*<(.*)>", r"\1", line.strip()).removesuffix(".md")
            base = "docs" if target.startswith("/") else posixpath.dirname(path)
            page = posixpath.normpath(f"{base}/{target.lstrip('/')}.md")
            if page not in dropped and not page.startswith(NOT_FOR_STUDENTS):
                lines.append(line)
        return "".join(lines)

    return re.sub(r"(?ms)^(`{3,}|:{3,})\{toctree\}.*?^\1", cut, text)


def _cut_links(path: str, text: str, dropped: set[str]) -> str:
    """A page of the book in which a link to a page that the workspace lacks is plain text."""

    def cut(link: re.Match[str]) -> str:
        page = posixpath.normpath(f"{posixpath.dirname(path)}/{link[2]}")
        return link[1] if page in dropped or page.startswith(NOT_FOR_STUDENTS) else link[0]

    return re.sub(r"(?<!!)\[([^\]\n]*)\]\(([^)#\s]+\.md)(?:#[^)\s]*)?\)", cut, text)
