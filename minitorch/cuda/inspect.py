"""Stage 3 - The command that inspects a kernel of a file.

    python -m minitorch.cuda.inspect FILE.py:KERNEL --grid 2,2 --block 32,32 ARGUMENT ...

An ARGUMENT is a number, a tuple such as (64,64), or an array such as float32[64,64], which counts up, or zeros:float32[4096]. Without
arguments, the function inspect_example() of the file gives them: it returns (kernel, grid, block, arguments). A KERNEL that another
function makes is a call with names and numbers: 'minitorch/cuda_ops.py:tensor_map(minitorch.operators.neg)'. FILE is imported, so its code
runs; what else is typed is not evaluated.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from minitorch.cuda.findings import KernelError
from minitorch.cuda.report import inspect_kernel
from minitorch.cuda.source import python_function
from minitorch.cuda.specs import parse_argument, parse_size

EXAMPLE = "inspect_example"
"""The function of a file that gives an example."""


def load_module(path: Path) -> Any:
    """The module of a file, under the name of the package that it is in.

    Raises:
        ValueError: If there is no such file, or it is not Python, or it raises an error.
    """
    if not path.is_file() or path.suffix != ".py":
        raise ValueError(f"expected a Python file, got {str(path)!r}, which {'is not one' if path.exists() else 'does not exist'}")
    path = path.resolve()
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").exists():
        root, parts = root.parent, [root.name, *parts]
    name = ".".join(parts)
    sys.path.insert(0, str(root))
    try:
        if len(parts) > 1:
            return importlib.import_module(name)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(name, module)
        spec.loader.exec_module(module)
        return module
    except Exception as error:
        raise ValueError(f"importing {path.name} raised {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(root))


def find_kernel(module: Any, text: str) -> Callable[..., Any]:
    """The kernel with a dotted name, such as "copy", or the one that a function makes: "tensor_map(minitorch.operators.neg)".

    Args:
        module: The module in which names are looked up; they may also begin with a module that it has imported.
        text: A name, or a call whose arguments are names and numbers.

    Raises:
        ValueError: If a name has no meaning, or the result is no function.
    """
    called = re.fullmatch(r"([\w.]+)\((.*)\)", text.strip())
    if called is None:
        kernel = _find(module, text)
    else:
        parts = [part.strip() for part in called[2].split(",") if part.strip()]
        values = [_find(module, part) if re.match(r"[A-Za-z_]", part) else parse_argument(part) for part in parts]
        try:
            kernel = _find(module, called[1])(*values)
        except TypeError as error:
            raise ValueError(f"expected a kernel from {text}, got TypeError: {error}") from None
    if python_function(kernel) is None:
        raise ValueError(f"expected a kernel, got {text}, which is {kernel!r}")
    return kernel


def _find(module: Any, name: str) -> Any:
    """What a dotted name means in a module."""
    first, *rest = name.strip().split(".")
    found = getattr(module, first, sys.modules.get(first))
    for part in rest:
        found = getattr(found, part, None)
    if found is None:
        functions = {other: python_function(value) for other, value in vars(module).items()}
        own = [other for other, function in functions.items() if function is not None and function.__module__ == module.__name__]
        raise ValueError(f"{name!r} is not in {module.__name__}; its functions are {', '.join(own) or 'none'}")
    return found


def launch(options: argparse.Namespace) -> tuple[Callable[..., Any], Any, Any, Sequence[Any]]:
    """The kernel, grid, block and arguments that the command names.

    Raises:
        ValueError: If something is missing, unknown or cannot be read.
    """
    file, _, name = options.kernel.rpartition(":") if ":" in options.kernel else (options.kernel, "", "")
    module = load_module(Path(file))
    if name and (options.arguments or options.grid or options.block):
        kernel = find_kernel(module, name)
        if not (options.grid and options.block):
            raise ValueError("expected --grid and --block with the arguments, such as --grid 2,2 --block 32,32")
        return kernel, options.grid, options.block, options.arguments
    example = getattr(module, EXAMPLE, None)
    if name:
        find_kernel(module, name)
    if example is None:
        needs = "--grid, --block and the kernel's arguments" if name else f"{options.kernel}:KERNEL"
        raise ValueError(f"expected {needs}, or a function {EXAMPLE}() in {Path(file).name} that returns (kernel, grid, block, arguments)")
    kernel, grid, block, arguments = example()
    shown = python_function(kernel)
    if name and shown is not python_function(find_kernel(module, name)):
        about = shown.__name__ if shown else repr(kernel)
        raise ValueError(f"{EXAMPLE}() is about {about}; give --grid, --block and arguments for {name}")
    return kernel, grid, block, arguments


def _typed(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    def converted(text: str) -> Any:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report of a kernel; returns 0 without findings, 1 with findings, 2 if the kernel cannot be inspected."""
    parser = argparse.ArgumentParser(
        prog="python -m minitorch.cuda.inspect", description="Run a CUDA kernel without a GPU, and report what its threads do to memory."
    )
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help="a Python file and the name of a kernel in it")
    parser.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", type=_typed(parse_argument), help="5, (64,64), float32[64,64], zeros:float32[4096]"
    )
    parser.add_argument("--grid", type=_typed(parse_size), help="number of blocks, such as 2,2")
    parser.add_argument("--block", type=_typed(parse_size), help="threads of a block, such as 32,32")
    parser.add_argument("--width", type=int, default=None, help="columns of the table; without it, those of the terminal")
    options = parser.parse_intermixed_args(arguments)
    try:
        kernel, grid, block, values = launch(options)
        report = inspect_kernel(kernel, grid, block, *values)
    except (KernelError, TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        print(report.table(options.width or shutil.get_terminal_size((100, 24)).columns), flush=True)
    except BrokenPipeError:  # such as | head: Python would flush again at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
