"""Names that are imported on first use: `import minitorch` loads little, and finds every name, whichever is used first."""

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import minitorch
from course.manifest import ROOT, course
from minitorch.nn import functional
from tests.errors import raises

from .test_structure import run_programs

PACKAGES = ("minitorch", *map("minitorch.{}".format, ("autograd", "compiler", "cuda", "data", "distributed", "models", "nn", "optim")))
"""The packages that list public names."""

EAGER = ("compiler", "cuda", "data", "distributed", "models", "nn", "torch")
"""The folders whose `__init__.py` imports all of their modules."""


def run_python(program: str, *arguments: str) -> str:
    """The output of a new Python process, which must succeed."""
    command = [sys.executable, "-c", inspect.cleandoc(program), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_import_minitorch_loads_what_every_program_needs():
    """In a new process: nothing else has been imported."""
    later = "autograd compiler cuda data distributed io models nn optim torch kernels.elementwise kernels.cuda.elementwise"
    heavy = ("streamlit", "torch", "pytest", "hypothesis", "course", "project", "numba.cuda.api")
    names = [*heavy, "minitorch.tensor", *map("minitorch.{}".format, later.split())]
    assert run_python("import sys, minitorch; print(*[name for name in sys.argv if name in sys.modules])", *names) == "minitorch.tensor"


BROKEN = """
    import sys
    from importlib.machinery import ModuleSpec
    class Broken:
        def find_spec(self, name, *rest):
            if name == "numba.cuda":
                if at == "find_spec":
                    raise OSError("libcudart is missing")
                return ModuleSpec(name, self)
        def create_module(self, spec):
            return None
        def exec_module(self, module):
            raise OSError("libcudart is missing")
    at = "{}"
    sys.meta_path.insert(0, Broken())
    import minitorch
    from benchmarks import gpu
    assert (minitorch.tensor([1.0]) + 1).item() == 2.0
    try:
        minitorch.TensorBackend(minitorch.CudaOps)
    except RuntimeError as error:
        assert "got none (OSError: libcudart is missing)" in str(error)
    else:
        raise AssertionError
"""
"""On some machines the import of numba.cuda raises, and not always an ImportError: the error of the backend gives the reason."""

FIRST = ("import minitorch", *map("import minitorch.{}".format, ("datasets", "optim")), "from minitorch import datasets")
DICT = "import minitorch\nfrom minitorch.datasets import xor\nassert minitorch.datasets['Xor'] is xor"

PROGRAMS = {
    "the first sum loads one kernel": """
        import sys
        from minitorch import tensor
        tensor([1.0]).to("cpu") + 1
        assert "minitorch.kernels.elementwise" in sys.modules
        assert {"minitorch.kernels.reduce", "minitorch.kernels.matmul", "minitorch.nn"}.isdisjoint(sys.modules)
    """,
    "autograd alone loads no engine": """
        import sys, minitorch.autograd.forward_mode
        loaded = [name for name in sys.modules if "minitorch.autograd." in name]
        assert loaded == ["minitorch.autograd.forward_mode", "minitorch.autograd.trace"], loaded
    """,
    "modules are attributes of their package": """
        import sys
        sys.modules["ml_dtypes"] = None  # as if it were not installed: only bfloat16 needs it
        import minitorch
        minitorch.nn.functional.softmax, minitorch.nn.losses, minitorch.compiler.trace, minitorch.data.idx
        minitorch.optim.adamw, minitorch.autograd.engine, minitorch.distributed.staging, minitorch.cuda.report, minitorch.cuda_kernels
        assert {"nn", "models", "compiler", "save", "Adam"} <= {*dir(minitorch)}
        assert "bfloat16" not in dir(minitorch), "help(minitorch) would fail where ml_dtypes is missing"
    """,
    "the name of a module and an object is the object after any import": """
        import minitorch.tensor, minitorch.datasets, minitorch.nn, minitorch.nn.linears, minitorch.data
        assert minitorch.tensor([1.0]).item() == 1.0
        assert "Simple" in minitorch.datasets
        assert minitorch.nn.linear.__module__ == "minitorch.nn.linears"
    """,
    "gradients of gradients need no other import": """
        import minitorch
        from minitorch.autograd.engine import grad
        x = minitorch.tensor([2.0], requires_grad=True)
        first = grad((x ** 3).sum(), x, create_graph=True)[0]
        assert grad(first.sum(), x)[0].item() == 12.0
        x = minitorch.tensor([[1.0, 2.0]], requires_grad=True)
        minitorch.logsoftmax(x, 1).sum().backward(create_graph=True)
        x.grad.sum().backward()
    """,
    "compile needs no other import": """
        import minitorch
        double = minitorch.compile(lambda x: x + x)
        x = minitorch.tensor([1.0, 2.0], backend=minitorch.FastBackend)
        assert [double(x).tolist() for _ in range(3)] == [[2.0, 4.0]] * 3
    """,
    "numba.cuda is loaded when it is used": """
        import sys, minitorch, numba
        assert "numba.cuda.api" not in sys.modules
        numba.cuda.is_available()
        from numba import cuda
        assert numba.cuda is cuda is sys.modules["numba.cuda"] is minitorch.cuda_ops.cuda
        assert "numba.cuda.compiler" in sys.modules
    """,
    "a numba.cuda that is loaded already is used": "import numba.cuda as cuda, minitorch; assert minitorch.cuda_ops.cuda is cuda; cuda.jit",
    "the library works without numba.cuda": BROKEN.replace("{}", "find_spec"),
    "the library works without what numba.cuda imports": BROKEN.replace("{}", "exec_module"),
    **{f"datasets is the dict after {first}": f"{first}\n{DICT}" for first in (*FIRST, "from minitorch.datasets import xor")},
    # NumPy 2.5 has none, and numba-cuda 0.30 compiles nothing without it.
    "a NumPy without row_stack is supported": """
        import numpy as np
        vars(np).pop("row_stack", None)
        import minitorch
        assert np.row_stack is np.vstack
    """,
    # A kernel that no module imports would never run, and only timings would reveal it.
    "every kernel is found in a process that has not imported its module": """
        import re, sys, minitorch
        from pathlib import Path
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
        files = [path for path in Path("minitorch").rglob("*.py") if re.search(r"(?m)^ *register_kernel\\(", path.read_text("utf-8"))]
        modules = {".".join(path.with_suffix("").parts) for path in files}
        assert len(modules) > 5
        assert modules <= {*sys.modules}
    """,
}


def test_a_new_process_finds_what_it_uses():
    """Each program runs in a process of its own, and prints nothing unless it fails."""
    outputs = run_programs(PROGRAMS.values(), "-W", "error")
    assert {name: output for name, output in zip(PROGRAMS, outputs, strict=True) if output} == {}


# Every name


def test_every_name_and_module_can_be_imported_first():
    """Each in a process forked from one that has imported the package alone."""
    program = """
        import os, sys, minitorch
        for statement in sys.argv[1:]:
            process = os.fork()
            if process == 0:
                try:
                    exec(statement)
                except BaseException as error:
                    print(f"{statement}: {error!r}", flush=True)
                os._exit(0)
            os.waitpid(process, 0)
    """
    statements = {}
    for package in map(importlib.import_module, (*PACKAGES, "minitorch.kernels")):
        for name, source in vars(package).get("__postponed__", {}).items():
            statements.setdefault((package, source.module), f"from {package.__name__} import {name}")
    modules = [module for module in course().modules if module.partition(".")[0] not in EAGER]
    first = [*statements.values(), *map("import minitorch.{}".format, [*modules, *EAGER])]
    assert run_python(program, *first) == ""


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_resolves(package):
    module = importlib.import_module(package)
    names = {}
    exec(f"from {package} import *", names)
    for name in module.__all__:
        assert names[name] is getattr(module, name)
    assert {*module.__all__} <= {*dir(module)}
    assert len({*module.__all__}) == len(module.__all__)


def test_an_unknown_name_raises_the_usual_error():
    for package in PACKAGES:
        with raises(AttributeError, f"module '{package}' has no attribute 'absent'"):
            _ = importlib.import_module(package).absent
    with pytest.raises(ImportError, match="cannot import name 'absent' from 'minitorch'"):
        exec("from minitorch import absent")


def test_a_name_is_an_ordinary_attribute_after_its_first_use():
    assert minitorch.save is minitorch.io.files.save
    assert "save" in vars(minitorch)
    assert pickle.loads(pickle.dumps(minitorch.Adam)) is minitorch.optim.adam.Adam


def test_what_tests_replace_is_imported_before_any_test():
    """Else `monkeypatch` restores the replacement, because that is what the first use found: all later tests would use it."""
    assert vars(minitorch)["max"] is functional.max


@pytest.mark.parametrize(
    ("module", "purpose", "use"),
    [
        ("minitorch.autograd.engine", "create_graph=True", lambda x: x.sum().backward(create_graph=True)),
        ("minitorch.optim.saving", "state_dict", lambda x: minitorch.SGD([x]).state_dict()),
        ("minitorch.optim.saving", "load_state_dict", lambda x: minitorch.SGD([x]).load_state_dict({"state": {}, "param_groups": []})),
    ],
)
def test_a_module_of_a_later_stage_is_named_where_it_is_missing(module, purpose, use, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    message = f"{purpose} expected the module {module}, which this package does not have; leave it out, or use the whole library"
    with raises(RuntimeError, message):
        use(minitorch.tensor([1.0], requires_grad=True))
