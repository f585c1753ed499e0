"""The manifest: the contents of `tasks.toml`, validated."""

from __future__ import annotations

import re
import tomllib
from dataclasses import MISSING, dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
"""The workspace: the folder that holds minitorch/, project/, tests/ and course/."""


class ManifestError(ValueError):
    """tasks.toml is missing or invalid."""


@dataclass(frozen=True)
class Stage:
    """One module of the course.

    Attributes:
        number: 0, 1, …
        title: Its name.
        modules: Files of the package, without .py, in the order in which they may import each other; "nn.functional" is in the folder nn.
            In tasks.toml, "others" stands for all files that no stage before lists, in any order.
    """

    number: int
    title: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """One task, as `tasks.toml` describes it.

    Attributes:
        id: "1.4", or "4.4b" for a task beside 4.4.
        title: Its name.
        points: Its points.
        mark: The pytest mark of its tests, "task1_4".
        requires: The ids of the other tasks whose code its tests run.
        write: The functions that the student writes, as "module:qualified.name".
        hints: The hints in order; none contains code.
        page: Its chapter under docs/, without suffix.
        app: Its page under project/views/, without .py.
        leave_out: Functions that only the reference's solutions call, named as in `write`, and whole modules, as
            "minitorch.kernels.elementwise"; handouts leave them out.
        gpu: Whether its tests need a GPU or numba's simulator.
        extra: Whether its points are extra credit.
        minutes: An estimate of how long it takes, None if there is none.
    """

    id: str
    title: str
    points: int
    mark: str
    requires: tuple[str, ...]
    write: tuple[str, ...]
    hints: tuple[str, ...]
    page: str
    app: str
    leave_out: tuple[str, ...] = ()
    gpu: bool = False
    extra: bool = False
    minutes: int | None = None

    @property
    def worth(self) -> str:
        """Its points in words, such as "10 points"."""
        return f"{self.points} {'extra ' if self.extra else ''}points"

    @property
    def time(self) -> str:
        """The estimate of how long it takes in words, such as "45 minutes" or "1.5 hours"; "" if there is none."""
        if not self.minutes:
            return ""
        return f"{self.minutes} minutes" if self.minutes < 60 else "1 hour" if self.minutes == 60 else f"{self.minutes / 60:g} hours"

    @property
    def stage(self) -> int:
        """The number of its stage."""
        return int(self.id.split(".")[0])

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the student opens, in the order of `write`, relative to the workspace."""
        return tuple(dict.fromkeys(name.split(":")[0].replace(".", "/") + ".py" for name in self.write))

    def names_in(self, file: str) -> tuple[str, ...]:
        """The functions that the student writes in a file."""
        return tuple(name.split(":")[1] for name in self.write if name.split(":")[0].replace(".", "/") + ".py" == file)


@dataclass(frozen=True)
class Manifest:
    """The whole course.

    Attributes:
        title: Its name.
        package: The package that students write.
        stages: In order.
        tasks: In order.
    """

    title: str
    package: str
    stages: tuple[Stage, ...]
    tasks: tuple[Task, ...]

    def task(self, id: str) -> Task:
        """Return the task with this id.

        Raises:
            ManifestError: If there is none; the message lists the existing ones.
        """
        for task in self.tasks:
            if task.id == id:
                return task
        raise ManifestError(f"there is no task {id!r}; the tasks are {', '.join(task.id for task in self.tasks)}")

    @property
    def required_stages(self) -> tuple[int, ...]:
        """The stages that every student does: those with a task that is not extra."""
        return tuple(sorted({task.stage for task in self.tasks if not task.extra}))

    @property
    def modules(self) -> tuple[str, ...]:
        """The files of the package in import order, over all stages."""
        return tuple(module for stage in self.stages for module in stage.modules)

    def path(self, module: str) -> str:
        """The file of a module, relative to the workspace."""
        return f"{self.package}/{module.replace('.', '/')}.py"

    def folders(self, last: int) -> dict[str, int]:
        """The folders of the package that hold modules of the stages up to `last`, with the stage of their first one.

        As dotted names: "" is the package itself, "nn" the folder of nn.functional.
        """
        found: dict[str, int] = {}
        for stage in self.stages:
            for module in stage.modules if stage.number <= last else ():
                found.setdefault(module.rpartition(".")[0], stage.number)
        return {"": self.stages[0].number} | found


def load(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        ManifestError: If the file is missing or not TOML, or a table lacks an entry or has an unknown or invalid one.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ManifestError(f"no manifest at {path}; run this in a MiniTorch workspace") from None
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{path} is not valid TOML: {error}") from None
    course = document.get("course", {})
    stages: tuple[Stage, ...] = ()
    for entry in document.get("stage", []):
        if entry.get("modules") == "others":
            entry |= {"modules": _others(path.parent.parent / course.get("package", ""), stages)}
        stages += (_read(Stage, entry, path),)
    tasks = tuple(_read(Task, entry, path) for entry in document.get("task", []))
    ids = [task.id for task in tasks]
    for number, task in enumerate(tasks):
        if trouble := _trouble(task, ids, number, stages):
            raise ManifestError(f"{path}: task {task.id} {trouble}")
    return Manifest(course.get("title", ""), course.get("package", ""), stages, tasks)


def _others(package: Path, stages: tuple[Stage, ...]) -> list[str]:
    """The modules in the folder of a package that no stage lists."""
    files = [path.relative_to(package).with_suffix("") for path in package.rglob("*.py") if path.stem != "__init__"]
    listed = {module for stage in stages for module in stage.modules}
    return sorted({".".join(file.parts) for file in files} - listed)


def _trouble(task: Task, ids: list[str], number: int, stages: tuple[Stage, ...]) -> str:
    """Describe what is wrong with a task, "" if nothing is."""
    if ids.count(task.id) > 1:
        return "is defined twice"
    if not re.fullmatch(rf"({'|'.join(str(stage.number) for stage in stages)})\.[1-9]\d?[a-z]?", task.id):
        return f"expected an id such as 0.1 in one of the stages {', '.join(str(stage.number) for stage in stages)}"
    if task.mark != "task" + task.id.replace(".", "_"):
        return f"expected the mark task{task.id.replace('.', '_')}, got {task.mark}"
    if isinstance(task.points, bool) or not isinstance(task.points, int) or task.points < 1:
        return f"expected a whole number of points, at least 1, got {task.points!r}"
    if task.minutes is not None and (isinstance(task.minutes, bool) or not isinstance(task.minutes, int) or task.minutes < 1):
        return f"expected a whole number of minutes, at least 1, got {task.minutes!r}"
    for name in ("gpu", "extra"):
        if not isinstance(getattr(task, name), bool):
            return f"expected true or false for {name}, got {getattr(task, name)!r}"
    for name in ("requires", "write", "hints", "leave_out"):
        values = getattr(task, name)
        if not isinstance(values, tuple) or not all(isinstance(value, str) for value in values):
            return f"expected a list of strings for {name}, got {values!r}"
    for other in task.requires:
        if other not in ids:
            return f"requires {other}, which does not exist"
        if other not in ids[:number]:
            return f"requires {other}, which does not come before it"
    return ""


def _read(kind: Any, entry: dict[str, Any], path: Path) -> Any:
    """Build a dataclass from a table, with lists as tuples."""
    fields = set(kind.__dataclass_fields__)
    needed = {name for name, field in kind.__dataclass_fields__.items() if field.default is MISSING}
    name = f"{kind.__name__.lower()} {entry.get('id', entry.get('number', '?'))}"
    if missing := needed - set(entry):
        raise ManifestError(f"{path}: {name} lacks {', '.join(sorted(missing))}")
    if unknown := set(entry) - fields:
        raise ManifestError(f"{path}: {name} has unknown {', '.join(sorted(unknown))}; it may have {', '.join(sorted(fields))}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})


@cache
def course() -> Manifest:
    """The manifest of this workspace."""
    return load(Path(__file__).with_name("tasks.toml"))
