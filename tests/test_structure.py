"""The structure of the repository: imports between modules, public names, and the package cut after any stage."""

import ast
import functools
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import minitorch
from course.manifest import ROOT, course
from course.workspace.tables_of_contents import cut_after

PACKAGE = ROOT / "minitorch"
SOURCES = {path: (ROOT / path).read_text(encoding="utf-8") for path in map(course().path, course().modules)}
STAGES = {module: stage.number for stage in course().stages for module in stage.modules}


def python_files(*folders: str) -> list[Path]:
    """The Python files under these folders of the repository, without the wrong answers, which are patches."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "wrong_answers" not in path.parts]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def import_statements(source: str, only_running: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements anywhere in a source, or only those that are not for type checkers."""
    todo: list[Any] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        for_checkers = only_running and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for part in ("orelse",) if for_checkers else ("body", "orelse", "handlers", "finalbody", "cases"):
            todo += getattr(node, part, [])


@functools.cache
def imports(source: str, package: str = "minitorch") -> list[str]:
    """The dotted names that a source imports, anywhere in it; `from a import b` is a.b.

    Imports only for type checkers are left out.
    """
    found = []
    for node in import_statements(source, only_running=True):
        parts = [package] * (node.level > 0) + [node.module] * (node.module is not None) if isinstance(node, ast.ImportFrom) else []
        found += [".".join([*parts, alias.name]) for alias in node.names]
    return sorted(found)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import math", ["math"]),
        ("import minitorch.operators as operators", ["minitorch.operators"]),
        ("from minitorch import operators", ["minitorch.operators"]),
        ("from minitorch.scalar import Scalar, dot", ["minitorch.scalar.Scalar", "minitorch.scalar.dot"]),
        ("from .scalar import Scalar", ["minitorch.scalar.Scalar"]),
        ("from . import scalar", ["minitorch.scalar"]),
        ("def f():\n    import numba", ["numba"]),
        ("try:\n    import a\nexcept ImportError:\n    import b\nelse:\n    import c\nfinally:\n    import d", ["a", "b", "c", "d"]),
        ("match 1:\n    case 1:\n        import a\nwith a:\n    import b\nfor c in b:\n    import c", ["a", "b", "c"]),
        ("if TYPE_CHECKING:\n    import minitorch.scalar\nelse:\n    import math", ["math"]),
        ("if typing.TYPE_CHECKING:\n    import minitorch.scalar", []),
    ],
)
def test_imports_are_found_anywhere_in_a_source(source, found):
    assert imports(source) == found


# The modules of the library


def test_every_module_is_in_the_manifest_once():
    assert sorted(SOURCES) == sorted(relative(path) for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert len(set(course().modules)) == len(course().modules)


def test_a_module_of_the_course_imports_only_modules_before_it():
    """Those of the last stage, after the course, may import each other in any order; test_import_graph.py finds cycles."""
    wrong = []
    for position, module in enumerate(course().modules):
        if STAGES[module] == course().stages[-1].number:
            break
        before = {f"minitorch.{other}." for other in course().modules[:position]}
        for name in imports(SOURCES[course().path(module)]):
            inside = {f"minitorch.{other}." for other in course().modules if f"minitorch.{other}".startswith(f"{name}.")}  # of a folder
            known = name.split(".")[0] != "minitorch" or f"{name}.".startswith(tuple(before)) or (inside and inside <= before)
            wrong += [] if known else [f"{module} imports {name}"]
    assert wrong == [], "what does not stand before it in tasks.toml"


def test_a_module_names_its_stage_in_its_first_line():
    first = {module: SOURCES[course().path(module)].partition("\n")[0] for module in course().modules}
    assert [line for module, line in first.items() if not re.match(rf'"""Stage {STAGES[module]} - .+\.', line)] == []


def test_every_public_name_has_a_docstring():
    silent = []
    for module in map(importlib.import_module, map("minitorch.{}".format, course().modules)):
        own = {name: thing for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__}
        silent += [f"{module.__name__}.{name}" for name, thing in own.items() if not name.startswith("_") and not thing.__doc__]
        for class_name, thing in own.items():
            for name, member in vars(thing).items() if inspect.isclass(thing) else ():
                described = name == "composed"  # in autograd.engine; where it is a formula on one line, it has no docstring
                if not name.startswith("_") and not described and not inspect.ismemberdescriptor(member) and member is not None:
                    silent += [] if inspect.getdoc(getattr(thing, name)) else [f"{class_name}.{name}"]  # its own or inherited
    assert silent == []


# Library, course and app


def test_the_library_imports_neither_the_course_nor_the_app():
    others = {"course", "project", "tests", "benchmarks", "streamlit", "torch"}
    sources = {relative(path): path.read_text(encoding="utf-8") for path in python_files("minitorch")}
    assert [path for path, source in sources.items() if others & {name.split(".")[0] for name in imports(source)}] == []


def test_the_course_does_not_import_what_it_grades():
    """Nor course/staff, which a student's workspace has not."""
    wrong = []
    for path in python_files("course"):
        names = [] if "staff" in path.parts else imports(path.read_text(encoding="utf-8"), package="course")
        refused = [name for name in names if name.split(".")[0] in ("minitorch", "project", "tests") or name.startswith("course.staff")]
        wrong += [f"{relative(path)} imports {name}" for name in refused]
    assert wrong == []


# Public names


def test_the_public_names_are_pinned():
    names = """
        SGD Adam Context Conv1dFun Conv2dFun CudaOps Dual FastBackend FastOps FileFormatError Function GradScaler Graph History
        IndexingError Line MathTest MathTestVariable Module Optimizer Parameter Scalar ScalarFunction ScalarHistory ScalarLike SimpleBackend
        SimpleOps Tensor TensorBackend TensorData TensorLike TensorOps Trace UserIndex UserShape Variable arange argmax avgpool2d
        backpropagate bits bool_ broadcast_index cat central_difference compile conv1d conv2d cuda_backend datasets derivative_check dot
        dropout eye finfo float16 float32 float64 forward_trace from_dlpack from_numpy full get_default_dtype grad grad_central_difference
        grad_check iinfo index_to_position int8 int16 int32 int64 jvp linspace load load_hdf5 load_torch_state_dict logsoftmax manual_seed
        max maxpool2d mm_practice no_grad ones operators prod rand randn reverse_trace save save_hdf5 set_default_dtype shape_broadcast
        softmax stack strides_from_shape sum_practice tensor tile to_index topological_sort uint8 where zeros
        """
    assert minitorch.__all__ == names.split()
    for name in minitorch.__all__:
        assert hasattr(minitorch, name)


def test_modules_and_objects_have_the_published_names():
    assert all(map(inspect.ismodule, (minitorch.operators, minitorch.scalar)))
    assert minitorch.prod is minitorch.operators.prod
    assert minitorch.ScalarHistory is minitorch.History
    for name in ("Module", "Parameter", "MathTest", "MathTestVariable", "Scalar", "ScalarFunction", "Context", "SGD"):
        assert inspect.isclass(getattr(minitorch, name))
    assert all(map(inspect.isfunction, (minitorch.central_difference, minitorch.derivative_check)))


FORKS = """
import json, os, sys, traceback
import numba
for program in json.load(sys.stdin):
    end, start = os.pipe()
    if os.fork() == 0:
        os.dup2(start, 1)
        try:
            exec(program, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(0)
    os.close(start)
    with open(end) as output:
        print(json.dumps(output.read()))
"""


def run_programs(programs: Iterable[str], *options: str) -> list[str]:
    """The output of each program, run in its own fork of one new process, which has only imported numba: that takes longest."""
    texts = json.dumps([inspect.cleandoc(program) for program in programs])
    done = subprocess.run([sys.executable, *options, "-c", FORKS], input=texts, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return list(map(json.loads, done.stdout.splitlines()))


# Cutting the package after a stage


FOLDERS = course().folders(course().stages[-1].number)
"""The folders of the package as dotted names, "" for the package itself, with the stage of their first module."""

NAMESPACES = ("core", "io", "kernels", "kernels.cuda", "ops", *(folder for folder in FOLDERS if folder.partition(".")[0] == "torch"))
"""Folders without names of their own: their modules are listed among those of the top level, and imported by name."""

PROGRAMS = {"run", "worker", "inspect"}
"""Modules that Python runs with -m or as a file; it warns if a table of contents has imported them before."""


@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder not in NAMESPACES])
def test_a_table_of_contents_imports_the_names_of_a_stage_in_its_paragraph(folder):
    """A folder of the package has its own `__init__.py`, and is listed in the package's own from its first stage on."""
    source = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
    around = f"minitorch.{folder}." if folder else "minitorch."
    for stage in course().stages:
        modules = {module.rpartition(".")[2] for module in stage.modules if module.rpartition(".")[0] == folder}
        modules |= {other for other, number in FOLDERS.items() if other and not folder and number == stage.number}
        paragraphs = re.findall(rf"(?ms)^# Stage {stage.number}\b.*?(?=\n\n)", source)
        assert bool(paragraphs) == bool(modules)
        named = {name for paragraph in paragraphs for name in imports(paragraph) if name.startswith(around)}
        bound = {name.removeprefix(around).split(".")[0] for name in named}
        assert bound - {*NAMESPACES, "autograd", "optim"} == modules - {*NAMESPACES, *PROGRAMS, "autograd", "optim"}


def test_the_package_cut_after_a_stage_can_be_imported(tmp_path):
    """tests/course/test_stubs.py proves that the cut package also passes the tests of its stage."""
    program = """
        import sys
        for name in [name for name in sys.modules if {stage} < 3 and name.partition(".")[0] == "numba"]:
            del sys.modules[name]
        sys.path.insert(0, {folder!r})
        import minitorch
        from minitorch import *
        print(minitorch.__file__, "numba" in sys.modules)
    """
    inner = {name for folder in FOLDERS for name in folder.split(".")}
    programs, expected = [], []
    for last in [stage.number for stage in course().stages]:
        root = tmp_path / str(last)
        for folder in course().folders(last):
            path = folder.replace(".", "/")
            shutil.copytree(PACKAGE / path, root / "minitorch" / path, ignore=shutil.ignore_patterns("*.py", "__pycache__", *inner))
            source = (PACKAGE / path / "__init__.py").read_text(encoding="utf-8")
            (root / "minitorch" / path / "__init__.py").write_text(cut_after(source, last), encoding="utf-8")
        for module, number in STAGES.items():
            if number <= last:
                shutil.copy(ROOT / course().path(module), root / course().path(module))
        programs.append(program.format(stage=last, folder=str(root)))
        expected.append(f"{root / 'minitorch' / '__init__.py'} {last >= 3}\n")
    assert run_programs(programs) == expected
