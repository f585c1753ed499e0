"""Stage 3 - The source of a kernel: the Python function under a compiled kernel, its syntax tree, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import linecache
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.cuda.findings import KernelError, Place

CUDA_NAMES = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid", "gridsize", "syncthreads", "syncwarp", "threadfence",
    "threadfence_block", "shared", "local", "atomic", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
)  # fmt: skip
"""The names of numba.cuda that the interpreter knows."""


class Cuda:
    """The module numba.cuda, or something in it, as the interpreter sees it.

    Args:
        path: Dotted name without "numba.cuda", such as "threadIdx.x"; empty for the module.
    """

    def __init__(self, path: str = "") -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"cuda.{self.path}" if self.path else "cuda"


class Function:
    """A Python function with its syntax tree.

    Args:
        python: The function, or a lambda expression.
        kernel_file: The file of the kernel, whose lines need no file name in sentences.

    Raises:
        KernelError: If there is no source.
    """

    def __init__(self, python: types.FunctionType, kernel_file: str = "") -> None:
        self.python, self.name, code = python, python.__name__, python.__code__
        self.file = code.co_filename
        self.kernel_file = kernel_file or self.file
        self.node = _find(self.file, code, self.name)
        self.free = dict(zip(code.co_freevars, python.__closure__ or (), strict=True))
        self.signature = inspect.signature(python)
        constants: tuple[object, ...] = code.co_consts
        self.float_type: type = np.float32 if np.float32 in map(type, constants) else float  # see number_function

    @property
    def body(self) -> list[ast.stmt]:
        """The statements."""
        if isinstance(self.node, ast.Lambda):
            return [ast.copy_location(ast.Return(self.node.body), self.node.body)]
        return self.node.body

    def place(self, node: ast.AST) -> Place:
        """The line of a node."""
        line = getattr(node, "lineno", self.python.__code__.co_firstlineno)
        own = self.file == self.kernel_file
        return Place(self.file, line, f"line {line}" if own else f"{os.path.basename(self.file)}, line {line}")

    def lookup(self, name: str) -> Any:
        """The meaning of a name that is not a local variable.

        Raises:
            KeyError: If it has none.
        """
        if name in self.free:
            try:
                value = self.free[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        elif name in self.python.__globals__:
            value = self.python.__globals__[name]
        else:
            value = vars(builtins)[name]
        return as_cuda(name, value)


def as_cuda(name: str, value: Any) -> Any:
    """numba.cuda and what it contains as a `Cuda`; anything else unchanged."""
    if (name == "cuda" and value is None) or getattr(value, "__name__", "") in ("numba.cuda", "numba.cuda.simulator_init"):
        return Cuda()
    if isinstance(value, types.ModuleType) and value.__name__.startswith("numba.cuda"):
        return Cuda()
    module = sys.modules.get("numba.cuda")
    if module is not None and name in CUDA_NAMES and vars(module).get(name) is value:
        return Cuda(name)
    return value


def python_function(kernel: Any) -> types.FunctionType | None:
    """The Python function under a compiled one, of numba or its simulator, or the function itself; None for anything else."""
    device = sys.modules.get("minitorch.kernels.cuda.device")
    if device is not None:
        with contextlib.suppress(KeyError, TypeError):  # other functions
            kernel = device.python_function(kernel) if device.SIMULATED else kernel  # the simulator's function is wrapped
    for attribute in ("py_func", "fn"):
        inner = getattr(kernel, attribute, None)
        if not isinstance(kernel, types.FunctionType) and isinstance(inner, types.FunctionType):
            kernel = inner
    return inspect.unwrap(kernel) if isinstance(kernel, types.FunctionType) else None


def function(kernel: Callable[..., Any], kernel_file: str = "") -> Function | None:
    """The source of a kernel or device function; None if it is no Python function."""
    python = python_function(kernel)
    return _function(python, kernel_file) if python is not None else None


@functools.lru_cache(maxsize=256)
def _function(python: types.FunctionType, kernel_file: str) -> Function:
    return Function(python, kernel_file)


@functools.lru_cache(maxsize=64)
def _parse(file: str, text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    """All functions and lambda expressions of a file."""
    return [node for node in ast.walk(ast.parse(text, file)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))]


def _find(file: str, code: types.CodeType, name: str) -> Any:
    """The node of a function."""
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file))
    if not text:
        raise KernelError(f"{name} expected a function with source code, got none in {file}; define it in a file")
    found = []
    for node in _parse(file, text):
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        arguments = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
        if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
            found += [node] if arguments == [*code.co_varnames[: code.co_argcount]] else []
    if len(found) == 1:
        return found[0]
    if found:
        raise KernelError(f"{file}, line {code.co_firstlineno}: expected one lambda with these arguments on a line, got {len(found)}")
    raise KernelError(f"{file}, line {code.co_firstlineno}: {name} is not there; the file has changed since it was imported")
