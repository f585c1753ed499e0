"""The library after the course in a workspace: complete without optimized kernels, free of solutions, on the student's functions."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from course.manifest import ROOT, course, load
from course.staff import StaffError
from course.staff.handout.generate import handout_files, left_out_modules
from course.staff.handout.library import SOURCE, library_files, pack
from course.staff.handout.selection import _imports
from course.workspace import library, pristine

from . import miniature
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
