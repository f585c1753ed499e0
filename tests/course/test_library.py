"""The library after the course in a workspace: complete without optimized kernels, free of solutions, on the student's functions."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from course.cli.programs import with_required
from course.manifest import ROOT, course, load
from course.staff import StaffError
from course.staff.handout.generate import handout_files, left_out_modules, write_files
from course.staff.handout.library import SOURCE, library_files, pack
from course.staff.handout.selection import _imports
from course.workspace import library, pristine
from course.workspace.released import write_solutions
from course.workspace.reset import reset

from . import miniature
from .conftest import clean_environment
from .handouts import handout

LAST = course().tasks[-1].stage
REQUIRED = max(course().required_stages)
LEFT_OUT = left_out_modules(course(), LAST)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return library_files(ROOT, course(), LAST, LEFT_OUT)


def bound_names(source: str) -> set[str]:
    """The names that a module binds at its top level."""
    names = set()
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_every_name_that_the_library_takes_from_an_absent_kernel_is_there(files: dict[str, str]) -> None:
    missing = []
    for path, source in files.items():
        for name in _imports(path, source, True) if path.endswith(".py") else ():
            module = max((module for module in LEFT_OUT if name == module or name.startswith(f"{module}.")), key=len, default="")
            if not module:
                continue
            instead, wanted = files.get(module.replace(".", "/") + ".py"), name.removeprefix(module).lstrip(".").partition(".")[0]
            if instead is None or (wanted and wanted not in bound_names(instead)):
                missing.append(f"{path} takes {name}: add it to course/staff/handout/absent/")
    assert missing == []


def test_no_optimized_kernel_is_in_the_library(files: dict[str, str]) -> None:
    for module in LEFT_OUT:
        source = files.get(module.replace(".", "/") + ".py", "")
        assert "prange" not in source
        assert "register_kernel" not in source


def test_the_library_comes_with_all_required_modules() -> None:
    assert library_files(ROOT, course(), REQUIRED - 1, LEFT_OUT) == {}
    assert library_files(ROOT, course(), REQUIRED, LEFT_OUT)
    assert library.ZIP not in handout(2)


def test_a_workspace_without_an_extra_module_has_it_in_the_library_with_stubs(files: dict[str, str]) -> None:
    more = library_files(ROOT, course(), REQUIRED, LEFT_OUT)
    extra = [course().path(module) for stage in course().stages if REQUIRED < stage.number <= LAST for module in stage.modules]
    assert set(more) == {*files, *extra}
    assert more["minitorch/__init__.py"] == files["minitorch/__init__.py"]
    assert more["minitorch/compiler/program.py"].count('raise NotImplementedError("Need to implement for Task 5.1")') == 6


@pytest.mark.parametrize("last", [REQUIRED, LAST])
def test_every_module_that_the_library_imports_is_there_or_in_the_workspace(last: int) -> None:
    library_of = library_files(ROOT, course(), last, LEFT_OUT)
    own = {course().path(module) for stage in course().stages if stage.number <= last for module in stage.modules}
    own -= {course().path(module.removeprefix("minitorch.")) for module in LEFT_OUT}
    missing = []
    for path, source in library_of.items():
        for node in ast.walk(ast.parse(source)) if path.endswith(".py") else ():
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in (name for name in names if name.startswith("minitorch.")):
                place = name.replace(".", "/")
                if not {f"{place}.py", f"{place}/__init__.py"} & {*library_of, *own}:
                    missing.append(f"{path} imports {name}")
    assert missing == []


def test_every_program_states_the_tasks_that_it_needs(files: dict[str, str]) -> None:
    needs = tomllib.loads(files["programs/needs.toml"])
    assert sorted(needs) == sorted(path.stem for path in (ROOT / SOURCE).glob("*.py") if path.stem != "seeded")
    for tasks in needs.values():
        assert tasks
        assert not any(course().task(task).gpu or course().task(task).extra for task in tasks)


def test_the_handout_holds_the_library_and_notes_it_as_given(files: dict[str, str]) -> None:
    given = handout(LAST)
    assert given[library.ZIP] == pack(files)
    assert library.ZIP in pristine.unpack(given[pristine.PATH]).hashes  # type: ignore[arg-type]  # it is bytes


def test_a_solution_in_the_library_stops_the_handout(tmp_path: Path) -> None:
    root, _ = miniature.write(tmp_path / "reference")
    stage = '[[stage]]\nnumber = 2\ntitle = "After"\nmodules = ["after"]\n\n# The tasks.\n'
    manifest = root / "course/tasks.toml"
    manifest.write_text(manifest.read_text().replace("# The tasks.\n", stage))
    (root / SOURCE).mkdir(parents=True)
    (root / SOURCE / "needs.toml").write_text('one = ["1.1"]\n')
    after = root / "minitorch/after.py"
    after.write_text('"""Stage 2."""\n\n\ndef harmless():\n    return 1\n')
    files = handout_files(root, load(manifest), 1)
    assert library.ZIP in files
    after.write_text((root / "minitorch/scalar.py").read_text())
    with pytest.raises(StaffError, match=r"(?s)would give solutions away:.*minitorch/after\.py.* shows the solution of minitorch\.scalar"):
        handout_files(root, load(manifest), 1)


# On a student's functions: the textbook solutions of the reference, in a workspace

PROGRAMS = ("polynomial_autograd", "logistic_regression", "digits_cnn")
STEPS = 4

TRAIN = """
import importlib, json, sys
import minitorch
losses = {name: importlib.import_module(name).train(int(sys.argv[1])) for name in sys.argv[2:]}
print(json.dumps({"file": minitorch.__file__, "losses": losses}))
"""


def train(folder: Path, *names: str) -> dict[str, list[float]]:
    """The losses of programs in the folder of a library."""
    environment = clean_environment() | {"PYTHONPATH": os.pathsep.join((str(folder), str(folder / library.PROGRAMS)))}
    command = [sys.executable, "-c", TRAIN, str(STEPS), *names]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document["file"] == str(folder / "minitorch/__init__.py")
    return document["losses"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with all tasks done; tests must not edit it."""
    folder = tmp_path_factory.mktemp("workspace")
    write_files(folder, handout_files(ROOT, course(), REQUIRED, staff=REQUIRED))
    write_solutions(folder, course(), REQUIRED)
    return folder


def with_tasks_of(program: str, finished: Path, folder: Path) -> Path:
    """A copy of the finished workspace in which only the tasks are done that a program needs."""
    shutil.copytree(finished, folder, ignore=shutil.ignore_patterns(".course", "__pycache__"))
    manifest = load(folder / "course/tasks.toml")
    needs = with_required(manifest, tomllib.loads((ROOT / SOURCE / "needs.toml").read_text(encoding="utf-8"))[program])
    for task in manifest.tasks:
        if task.id not in needs:
            reset(folder, manifest, task.id)
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[float]]]:
    """The losses of the reference with its optimized kernels."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "minitorch").symlink_to(ROOT / "minitorch")
    (folder / library.PROGRAMS).mkdir()
    for path in (ROOT / SOURCE).glob("*.py"):
        (folder / library.PROGRAMS / path.name).write_text(library.for_minitorch(path.read_text(encoding="utf-8")), encoding="utf-8")
    return train(folder, *PROGRAMS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_trains_on_the_functions_of_its_tasks_as_on_the_reference_s(
    name: str, finished: Path, expected: dict[str, list[float]], tmp_path: Path
) -> None:
    folder = library.build(with_tasks_of(name, finished, tmp_path / "workspace"), course())
    assert np.ptp(expected[name]) > 1e-3
    np.testing.assert_allclose(train(folder, name)[name], expected[name], rtol=1e-4)


@pytest.mark.exhaustive
def test_a_mistake_in_the_student_s_convolution_changes_what_a_network_learns(
    finished: Path, expected: dict[str, list[float]], tmp_path: Path
) -> None:
    """A sign that only the backward pass sees: the first loss stays, the next ones do not."""
    workspace = with_tasks_of("digits_cnn", finished, tmp_path / "workspace")
    file = workspace / "minitorch/fast_conv.py"
    before, write, after = file.read_text(encoding="utf-8").rpartition("out[index_to_position(index, out_strides)] = total\n")
    file.write_text(f"{before}{write.replace('total', '-total if reverse else total')}{after}", encoding="utf-8")
    losses = train(library.build(workspace, course()), "digits_cnn")["digits_cnn"]
    assert losses[0] == pytest.approx(expected["digits_cnn"][0], rel=1e-4)
    assert losses[-1] != pytest.approx(expected["digits_cnn"][-1], rel=1e-3)


@pytest.mark.exhaustive
def test_before_the_first_task_the_library_can_be_imported(tmp_path: Path) -> None:
    """So that a program names the task whose code is missing."""
    write_files(tmp_path, handout(LAST))
    folder = library.build(tmp_path, course())
    environment = clean_environment() | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", "import minitorch.torch as torch\ntorch.ones(3) + 1"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("NotImplementedError: Need to implement for Task ")
