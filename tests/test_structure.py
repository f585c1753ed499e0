"""The structure of the repository: imports between modules, public names, and the package cut after any stage."""

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch
from course.manifest import ROOT, course

PACKAGE = ROOT / "minitorch"
STAGES = {module: stage.number for stage in course().stages for module in stage.modules}
LONGEST_FILE = 400
ONE_THING = {
    "minitorch/cuda_ops.py",
    "minitorch/tensor.py",
    "minitorch/nn/convolution.py",
    "minitorch/nn/losses.py",
    "minitorch/nn/module.py",
    "minitorch/nn/normalization.py",
    "minitorch/nn/recurrent.py",
    "minitorch/torch/nn/functional.py",
    "minitorch/torch/nn/module.py",
    "minitorch/torch/optim/lr_scheduler.py",
    "minitorch/torch/tensor.py",
}
"""Files that may be longer, because they are best read as a whole."""


def python_files(*folders: str) -> list[Path]:
    """The Python files under these folders of the repository, without the wrong answers, which are patches."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "wrong_answers" not in path.parts]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(source: str, package: str = "minitorch") -> list[str]:
    """The dotted names that a source imports, anywhere in it; `from a import b` is a.b.

    Imports only for type checkers are left out.
    """
    found = []
    todo: list[ast.AST] = [ast.parse(source)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo += node.orelse
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = [package] * (node.level > 0) + [node.module] * (node.module is not None)
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
        ("try:\n    import numba\nexcept ImportError:\n    import numpy", ["numba", "numpy"]),
        ("if TYPE_CHECKING:\n    import minitorch.scalar\nelse:\n    import math", ["math"]),
        ("if typing.TYPE_CHECKING:\n    import minitorch.scalar", []),
    ],
)
def test_imports_are_found_anywhere_in_a_source(source, found):
    assert imports(source) == found


# The modules of the library


def test_every_module_is_listed_in_the_manifest():
    assert sorted(map(course().path, course().modules)) == sorted(
        relative(path) for path in PACKAGE.rglob("*.py") if path.stem != "__init__"
    )


@pytest.mark.parametrize("module", course().modules)
def test_a_module_imports_only_modules_before_it(module):
    before = [f"minitorch.{other}." for other in course().modules[: course().modules.index(module)]]
    for name in imports((ROOT / course().path(module)).read_text(encoding="utf-8")):
        inside = [f"minitorch.{other}." for other in course().modules if f"minitorch.{other}".startswith(f"{name}.")]  # of a folder
        known = name.split(".")[0] != "minitorch" or f"{name}.".startswith(tuple(before)) or (inside and {*inside} <= {*before})
        assert known, f"{module} imports {name}, which does not stand before it in tasks.toml"


@pytest.mark.parametrize("module", course().modules)
def test_a_module_names_its_stage_in_its_first_line(module):
    first = (ROOT / course().path(module)).read_text(encoding="utf-8").splitlines()[0]
    assert re.match(rf'"""Stage {STAGES[module]} - .+\.', first), f"{course().path(module)} begins with {first!r}"


@pytest.mark.parametrize("module", course().modules)
def test_every_public_name_has_a_docstring(module):
    module = importlib.import_module(f"minitorch.{module}")
    own = [(name, thing) for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__]
    silent = [name for name, thing in own if not name.startswith("_") and not thing.__doc__]
    for class_name, thing in own:
        if inspect.isclass(thing):
            members = [
                name
                for name, member in vars(thing).items()
                if not name.startswith("_") and not inspect.ismemberdescriptor(member) and member is not None
            ]
            silent += [f"{class_name}.{name}" for name in members if not inspect.getdoc(getattr(thing, name))]  # its own or inherited
    assert silent == []


# Library, course and app


@pytest.mark.parametrize("path", python_files("minitorch"), ids=relative)
def test_the_library_imports_neither_the_course_nor_the_app(path):
    tops = {name.split(".")[0] for name in imports(path.read_text(encoding="utf-8"))}
    assert tops & {"course", "project", "tests", "benchmarks", "streamlit", "torch"} == set()


@pytest.mark.parametrize("path", [path for path in python_files("course") if "staff" not in path.parts], ids=relative)
def test_the_course_does_not_import_what_it_grades(path):
    names = imports(path.read_text(encoding="utf-8"), package="course")
    assert {name.split(".")[0] for name in names} & {"minitorch", "project", "tests"} == set()
    assert [name for name in names if name.startswith("course.staff")] == [], "a student's workspace has no course/staff"


def test_no_file_is_too_long():
    lengths = {
        relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files("minitorch", "course", "project", "benchmarks")
    }
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE and path not in ONE_THING} == {}


# Public names


def test_the_public_names_are_pinned():
    names = """
        SGD Adam Context Conv1dFun Conv2dFun CudaOps Dual FastBackend FastOps FileFormatError Function
        GradScaler Graph History IndexingError Line MathTest MathTestVariable Module Optimizer Parameter Scalar
        ScalarFunction ScalarHistory ScalarLike SimpleBackend SimpleOps Tensor TensorBackend TensorData
        TensorLike TensorOps Trace UserIndex UserShape Variable arange argmax avgpool2d backpropagate bits bool_
        broadcast_index cat central_difference compile conv1d conv2d cuda_backend datasets derivative_check dot dropout
        eye finfo float16 float32 float64 forward_trace from_dlpack from_numpy full get_default_dtype grad
        grad_central_difference grad_check iinfo index_to_position int8 int16 int32 int64 jvp linspace load
        load_hdf5 load_torch_state_dict logsoftmax manual_seed max maxpool2d mm_practice no_grad ones operators
        prod rand randn reverse_trace save save_hdf5 set_default_dtype shape_broadcast softmax stack
        strides_from_shape sum_practice tensor tile to_index topological_sort uint8 where zeros
        """
    assert minitorch.__all__ == names.split()
    for name in minitorch.__all__:
        assert hasattr(minitorch, name)


def test_modules_and_objects_have_the_published_names():
    assert inspect.ismodule(minitorch.operators)
    assert inspect.ismodule(minitorch.scalar)
    assert minitorch.prod is minitorch.operators.prod
    assert minitorch.ScalarHistory is minitorch.History
    for name in ("Module", "Parameter", "MathTest", "MathTestVariable", "Scalar", "ScalarFunction", "Context", "SGD"):
        assert inspect.isclass(getattr(minitorch, name))
    for name in ("central_difference", "derivative_check"):
        assert inspect.isfunction(getattr(minitorch, name))


def run_python(*arguments: str, cwd: Path = ROOT) -> str:
    """The output of a new Python process, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(cwd), "HYPOTHESIS_STORAGE_DIRECTORY": str(cwd / ".hypothesis")}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_every_kernel_is_found_in_a_process_that_has_not_imported_its_module():
    """A kernel that no module imports would never run, and only timings would reveal it."""
    program = """
        import sys, minitorch
        from minitorch.core import kernel
        assert not kernel._optimized
        names = [name for name in vars(minitorch.kernels)["__postponed__"] if name.startswith(("fast_", "cuda_"))]
        for name in names:
            backend, function = name.split("_", 1)
            key = minitorch.optim.AdamW.update if function == "update" else function
            ops = minitorch.FastOps if backend == "fast" else minitorch.CudaOps
            assert kernel.find_kernel(key, ops) is not None, name
        found = {f"{backend}_{getattr(function, '__name__', function)}" for function, backend in kernel._optimized}
        assert found == {*names}
        print(*sys.modules)
    """
    loaded = run_python("-c", inspect.cleandoc(program)).split()
    files = [path for path in PACKAGE.rglob("*.py") if re.search(r"^ *register_kernel\(", path.read_text(encoding="utf-8"), re.M)]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files}
    assert len(modules) > 5
    assert modules <= set(loaded)


def test_importing_the_library_imports_no_heavy_packages():
    heavy = {"streamlit", "torch", "pytest", "hypothesis", "course", "project"}
    assert run_python("-c", f"import sys, minitorch\nprint(sorted({heavy} & set(sys.modules)))") == "[]"


# Cutting the package after a stage


FOLDERS = course().folders(course().stages[-1].number)
"""The folders of the package as dotted names, "" for the package itself, with the stage of their first module."""

NAMESPACES = ("core", "io", "kernels", "kernels.cuda", "ops", *(folder for folder in FOLDERS if folder.partition(".")[0] == "torch"))
"""Folders without names of their own: their modules are listed among those of the top level, and imported by name."""

PROGRAMS = {"run", "worker", "inspect"}
"""Modules that Python runs with -m or as a file; it warns if a table of contents has imported them before."""


def cut_after(source: str, last: int) -> str:
    """`__init__.py` of a package that ends after stage `last`, by the rule that the file itself states."""
    later = [match.start() for match in re.finditer(r"(?m)^# Stage (\d+)", source) if int(match[1]) > last]
    if not later:
        return source
    kept = source[: later[0]]
    tree = ast.parse(kept)
    bound = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    (listed,) = re.findall(r"(?s)^__all__ = (\[.*\])", source, re.MULTILINE)
    return f"{kept}__all__ = {[name for name in ast.literal_eval(listed) if name in bound]}\n"


@pytest.mark.parametrize("stage", course().stages, ids=lambda stage: f"stage {stage.number}")
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder not in NAMESPACES])
def test_a_table_of_contents_imports_the_names_of_a_stage_in_its_paragraph(folder, stage):
    """A folder of the package has its own `__init__.py`, and is listed in the package's own from its first stage on."""
    modules = {module.rpartition(".")[2] for module in stage.modules if module.rpartition(".")[0] == folder}
    modules |= {other for other, number in FOLDERS.items() if other and not folder and number == stage.number}
    source = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
    paragraphs = re.findall(rf"(?ms)^# Stage {stage.number}\b.*?(?=\n\n)", source)
    assert bool(paragraphs) == bool(modules)
    around = f"minitorch.{folder}." if folder else "minitorch."
    named = {name for paragraph in paragraphs for name in imports(paragraph) if name.startswith(around)}
    bound = {name.removeprefix(around).split(".")[0] for name in named}
    assert bound - {*NAMESPACES, "autograd", "optim"} == modules - {*NAMESPACES, *PROGRAMS, "autograd", "optim"}


@pytest.mark.parametrize("stage", course().stages, ids=lambda stage: f"stage {stage.number}")
def test_the_package_cut_after_a_stage_can_be_imported(stage, tmp_path):
    """tests/course/test_stubs.py proves that the cut package also passes the tests of its stage."""
    inner = {name for folder in FOLDERS for name in folder.split(".")}
    for folder in course().folders(stage.number):
        path = folder.replace(".", "/")
        shutil.copytree(PACKAGE / path, tmp_path / "minitorch" / path, ignore=shutil.ignore_patterns("*.py", "__pycache__", *inner))
        source = (PACKAGE / path / "__init__.py").read_text(encoding="utf-8")
        (tmp_path / "minitorch" / path / "__init__.py").write_text(cut_after(source, stage.number), encoding="utf-8")
    for module, number in STAGES.items():
        if number <= stage.number:
            shutil.copy(ROOT / course().path(module), tmp_path / course().path(module))
    program = "import sys, minitorch\nfrom minitorch import *\nprint(minitorch.__file__, 'numba' in sys.modules)"
    assert run_python("-c", program, cwd=tmp_path) == f"{tmp_path / 'minitorch' / '__init__.py'} {stage.number >= 3}"
