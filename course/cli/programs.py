"""`course programs`: PyTorch programs that run on the student's own functions, and the tasks that each of them still waits for."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from course.cli.problem import USAGE, Problem
from course.manifest import Manifest
from course.runner.next_task import DONE
from course.runner.progress import TaskState, cached_states
from course.workspace import library

NEEDS = f"{library.PROGRAMS}/needs.toml"
"""The tasks that each program needs, in the library."""


@dataclass(frozen=True)
class Program:
    """A program for PyTorch.

    Attributes:
        name: Its file, without .py.
        about: The first line of its docstring.
        needs: The ids of the tasks whose code it runs, in the order of the course.
        missing: Those that are not done.
    """

    name: str
    about: str
    needs: tuple[str, ...]
    missing: tuple[str, ...]


def find_programs(manifest: Manifest, files: Mapping[str, bytes], states: Mapping[str, TaskState]) -> list[Program]:
    """The programs of a library, sorted by the last task that they need, then by name."""
    order = [task.id for task in manifest.tasks]
    programs = []
    for name, tasks in tomllib.loads(files[NEEDS].decode("utf-8")).items():
        needs = sorted(with_required(manifest, tasks), key=order.index)
        about = ast.get_docstring(ast.parse(files[f"{library.PROGRAMS}/{name}.py"])) or ""
        missing = [id for id in needs if states[id].state not in DONE]
        programs.append(Program(name, about.partition("\n")[0], tuple(needs), tuple(missing)))
    return sorted(programs, key=lambda program: (order.index(program.needs[-1]), program.name))


def with_required(manifest: Manifest, tasks: Sequence[str]) -> set[str]:
    """The ids of these tasks and of those that they require."""
    return {*tasks, *(id for task in tasks for id in manifest.task(task).requires)}


def summary(manifest: Manifest, files: Mapping[str, bytes], states: Mapping[str, TaskState]) -> str:
    """How many programs run, in one line; "" if none does."""
    programs = find_programs(manifest, files, states)
    ready = sum(not program.missing for program in programs)
    return f"Your code runs {ready} of {len(programs)} PyTorch programs: course programs" if ready else ""


def status_line(root: Path, manifest: Manifest, states: Mapping[str, TaskState]) -> str:
    """The line at the end of `course status`; "" if the workspace has no library, or no program runs."""
    return summary(manifest, library.read(root), states) if (root / library.ZIP).is_file() else ""


def show(root: Path, manifest: Manifest, console: Console, as_json: bool) -> int:
    """List the programs by the module that completes what they need, and return the exit code."""
    files, states = library.read(root), cached_states(root)
    programs = find_programs(manifest, files, states)
    if as_json:
        print(json.dumps([asdict(program) for program in programs], indent=1))
        return 0
    console.print(summary(manifest, files, states) or f"{len(programs)} PyTorch programs wait for your code.", soft_wrap=True)
    for stage in manifest.stages:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for program in programs:
            if manifest.task(program.needs[-1]).stage == stage.number:
                table.add_row(_state(program), program.name, program.about)
        if table.row_count:
            console.print(f"Module {stage.number}  {stage.title}", style="bold")
            console.print(table)
    ready = [program.name for program in programs if not program.missing]
    console.print(f"To run one: course programs {ready[0] if ready else 'NAME'}", soft_wrap=True)
    console.print("To run a PyTorch program of your own: course programs FILE.py", soft_wrap=True)
    return 0


def _state(program: Program) -> Text:
    """Whether a program runs, or the last task that it waits for."""
    if not program.missing:
        return Text("✓ runs", style="green")
    return Text(f"○ after Task {program.missing[-1]}", style="yellow")


def run(root: Path, manifest: Manifest, console: Console, name: str, arguments: Sequence[str]) -> int:
    """Run a program of the library, or a file with one, on the student's functions, and return its exit code.

    Raises:
        Problem: If there is no such program, or it needs tasks that are not done.
    """
    if name.endswith(".py"):
        path, folders = _replace_imports(root, manifest, Path(name))
    else:
        _check_ready(root, manifest, name)
        path, folders = library.build(root, manifest) / library.PROGRAMS / f"{name}.py", []
    shown = path.relative_to(root).as_posix()
    console.print(f"{shown} runs on your functions. Each is compiled when it is first used.", soft_wrap=True)
    search = [str(root / library.FOLDER), *folders, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(search)}
    return subprocess.run([sys.executable, str(path), *arguments], env=environment, check=False).returncode


def _check_ready(root: Path, manifest: Manifest, name: str) -> None:
    """Raise a Problem unless there is a program of this name, and all tasks that it needs are done."""
    programs = {program.name: program for program in find_programs(manifest, library.read(root), cached_states(root))}
    if name not in programs:
        raise Problem(f"there is no program {name!r}; to list them, run: course programs", USAGE)
    if missing := programs[name].missing:
        tasks = f"Task {missing[0]}, which is" if len(missing) == 1 else f"Tasks {', '.join(missing)}, which are"
        raise Problem(f"{name} needs {tasks} not done; run: course test {missing[0]}", USAGE)


def _replace_imports(root: Path, manifest: Manifest, file: Path) -> tuple[Path, list[str]]:
    """A copy of a student's PyTorch program that imports the library, and the folders in which it finds its other modules."""
    try:
        source = library.for_minitorch(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Problem(f"cannot run {file}: {error}; run: course programs", USAGE) from None
    copy = library.build(root, manifest) / "own" / file.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(source, encoding="utf-8")
    return copy, [str(file.resolve().parent)]
