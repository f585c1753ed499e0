"""The library after the course in a workspace: complete without optimized kernels, free of solutions, on the student's functions."""

import ast
import tomllib
from dataclasses import replace
from functools import cache

import pytest

from course.manifest import ROOT, course, load
from course.staff import StaffError
from course.staff.handout import generate
from course.staff.handout.generate import handout_files, left_out_modules
from course.staff.handout.library import ABSENT, SOURCE, library_files
from course.staff.handout.selection import _imports
from course.workspace import library

from . import miniature

LAST = course().tasks[-1].stage
REQUIRED = max(course().required_stages)
LEFT_OUT = left_out_modules(course(), LAST)


@cache
def library_of(last):
    """The library in the workspace that ends with a stage."""
    return library_files(ROOT, course(), last, LEFT_OUT)


@pytest.fixture(scope="module")
def files():
    return library_of(LAST)


def bound_names(source):
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


def test_every_name_that_the_library_takes_from_an_absent_kernel_is_there(files):
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
    for module in LEFT_OUT:  # their optimized versions are not in the library
        source = files.get(module.replace(".", "/") + ".py", "")
        assert "prange" not in source
        assert "register_kernel" not in source


def test_the_library_comes_with_all_required_modules_and_with_stubs_of_extra_ones(files):
    assert library_of(REQUIRED - 1) == {}
    assert library_of(REQUIRED)
    more = library_of(REQUIRED)
    extra = [course().path(module) for stage in course().stages if REQUIRED < stage.number <= LAST for module in stage.modules]
    assert set(more) == {*files, *extra}
    assert more["minitorch/__init__.py"] == files["minitorch/__init__.py"]
    assert more["minitorch/compiler/program.py"].count('raise NotImplementedError("Need to implement for Task 5.1")') == 6


def test_every_module_that_the_library_imports_is_there_or_in_the_workspace():
    check_imports(LAST)


def check_imports(last):
    own = {course().path(module) for stage in course().stages if stage.number <= last for module in stage.modules}
    own -= {course().path(module.removeprefix("minitorch.")) for module in LEFT_OUT}
    missing = []
    for path, source in library_of(last).items():
        for node in ast.walk(ast.parse(source)) if path.endswith(".py") else ():
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in (name for name in names if name.startswith("minitorch.")):
                place = name.replace(".", "/")
                if not {f"{place}.py", f"{place}/__init__.py"} & {*library_of(last), *own}:
                    missing.append(f"{path} imports {name}")
    assert missing == []


def test_every_program_states_the_tasks_that_it_needs(files):
    needs = tomllib.loads(files["programs/needs.toml"])
    assert sorted(needs) == sorted(path.stem for path in (ROOT / SOURCE).glob("*.py") if path.stem != "seeded")
    for tasks in needs.values():
        assert tasks
        assert not any(course().task(task).gpu or course().task(task).extra for task in tasks)


def test_a_workspace_with_the_library_s_stage_has_the_empty_kernels(monkeypatch):
    monkeypatch.setattr(generate, "_check_tested", lambda *arguments: None)
    task = replace(course().tasks[-1], id="7.1", mark="task7_1", write=("minitorch.ops.checks:as_pair",), leave_out=())
    files = handout_files(ROOT, replace(course(), tasks=(*course().tasks, task)), 7, search=False)
    for name in ("conv", "conv_matmul", "matmul", "pool", "softmax", "vector_math"):
        assert files[f"minitorch/kernels/{name}.py"] == (ABSENT / f"{name}.py").read_text()
    assert "minitorch/kernels/cuda/conv.py" not in files
    assert "minitorch/kernels/loop.py" in files


def test_a_solution_in_the_library_stops_the_handout(tmp_path):
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
