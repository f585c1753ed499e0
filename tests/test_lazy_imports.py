"""Names that are imported on first use: `import minitorch` loads little, and finds every name, whichever is used first."""

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import minitorch
from course.manifest import ROOT, course
from tests.errors import raises

PACKAGES = ("minitorch", *map("minitorch.{}".format, ("autograd", "compiler", "cuda", "data", "distributed", "models", "nn", "optim")))
"""The packages that list public names."""

EAGER = ("compiler", "cuda", "data", "distributed", "models", "nn", "torch")
"""The folders whose `__init__.py` imports all of their modules."""


def run(program: str, *arguments: str) -> str:
    """The output of a new Python process, which must succeed."""
    command = [sys.executable, "-c", inspect.cleandoc(program), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_minitorch_loads_what_every_program_needs():
    later = "autograd compiler cuda data distributed io models nn optim torch kernels.elementwise kernels.cuda.elementwise"
    names = ["numba.cuda.api", "minitorch.tensor", *map("minitorch.{}".format, later.split())]
    assert run("import sys, minitorch; print(*[name for name in sys.argv if name in sys.modules])", *names) == "minitorch.tensor\n"


def test_the_first_sum_loads_one_kernel():
    program = "import sys; from minitorch import tensor; tensor([1.0]).to('cpu') + 1; print(*sys.modules)"
    loaded = run(program).split()
    assert "minitorch.kernels.elementwise" in loaded
    assert {"minitorch.kernels.reduce", "minitorch.kernels.matmul", "minitorch.nn"}.isdisjoint(loaded)


def test_autograd_alone_loads_no_engine():
    program = "import sys, minitorch.autograd.forward_mode; print(*[name for name in sys.modules if 'minitorch.autograd.' in name])"
    assert run(program) == "minitorch.autograd.forward_mode minitorch.autograd.trace\n"


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
    assert run(program, *statements.values(), *map("import minitorch.{}".format, [*modules, *EAGER])) == ""


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_resolves(package):
    module = importlib.import_module(package)
    names = {}
    exec(f"from {package} import *", names)
    for name in module.__all__:
        assert names[name] is getattr(module, name)
    assert {*module.__all__} <= {*dir(module)}
    assert len({*module.__all__}) == len(module.__all__)


def test_modules_are_attributes_of_their_package():
    program = """
        import minitorch
        minitorch.nn.functional.softmax, minitorch.nn.losses, minitorch.compiler.trace, minitorch.data.idx
        minitorch.optim.adamw, minitorch.autograd.engine, minitorch.distributed.staging, minitorch.cuda.report, minitorch.cuda_kernels
        assert {"nn", "models", "compiler", "save", "Adam"} <= {*dir(minitorch)}
        assert "bfloat16" not in dir(minitorch), "help(minitorch) would fail where ml_dtypes is missing"
    """
    run(program)


def test_the_name_of_a_module_and_an_object_is_the_object_after_any_import():
    program = """
        import minitorch.tensor, minitorch.datasets, minitorch.nn, minitorch.nn.linear, minitorch.data
        assert minitorch.tensor([1.0]).item() == 1.0
        assert "Simple" in minitorch.datasets
        assert minitorch.nn.linear.__module__ == "minitorch.nn.linear"
    """
    run(program)


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


# What is entered in a table on import


def test_gradients_of_gradients_need_no_other_import():
    program = """
        import sys, minitorch
        from minitorch.autograd.engine import grad
        x = minitorch.tensor([2.0], requires_grad=True)
        first = grad((x ** 3).sum(), x, create_graph=True)[0]
        second = grad(first.sum(), x)[0]
        print(second.item())
        x = minitorch.tensor([[1.0, 2.0]], requires_grad=True)
        minitorch.logsoftmax(x, 1).sum().backward(create_graph=True)
        x.grad.sum().backward()
    """
    assert run(program) == "12.0\n"


def test_compile_needs_no_other_import():
    program = """
        import minitorch
        double = minitorch.compile(lambda x: x + x)
        x = minitorch.tensor([1.0, 2.0], backend=minitorch.FastBackend)
        print(*[double(x).tolist() for _ in range(3)])
    """
    assert run(program) == "[2.0, 4.0] [2.0, 4.0] [2.0, 4.0]\n"


# numba.cuda


def test_numba_cuda_is_loaded_when_it_is_used():
    program = """
        import sys, minitorch, numba
        assert "numba.cuda.api" not in sys.modules
        numba.cuda.is_available()
        from numba import cuda
        assert numba.cuda is cuda is sys.modules["numba.cuda"] is minitorch.cuda_ops.cuda
        assert "numba.cuda.compiler" in sys.modules
    """
    run(program)


def test_a_numba_cuda_that_is_loaded_already_is_used():
    run("import numba.cuda as cuda, minitorch; assert minitorch.cuda_ops.cuda is cuda; cuda.jit")


def test_the_error_gives_the_reason_why_numba_cuda_cannot_be_loaded():
    program = """
        import sys
        from importlib.machinery import ModuleSpec
        class Broken:
            def find_spec(self, name, *rest):
                return ModuleSpec(name, self) if name == "numba.cuda" else None
            def create_module(self, spec):
                return None
            def exec_module(self, module):
                raise OSError("libcudart is missing")
        sys.meta_path.insert(0, Broken())
        import minitorch
        try:
            minitorch.TensorBackend(minitorch.CudaOps)
        except RuntimeError as error:
            print(error)
    """
    assert "got none (OSError: libcudart is missing)" in run(program)
