"""The functions that have an oracle, by the code that runs when they are called."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import Any

from course.explain.calls import Call, Judge, Target
from course.explain.divergence import Difference
from course.manifest import Manifest
from course.oracles import graphs, modules, operators, scalars

SIMULATOR = "numba.cuda.simulator.kernel"
"""The module of the GPU simulator in which kernels are called."""


def targets(root: Path, manifest: Manifest) -> dict[CodeType, Target]:
    """All functions in loaded modules that have an oracle, by their code."""
    tasks = {re.sub(r"\._(map|zip|reduce)$", "", name): task.id for task in manifest.tasks for name in task.write}
    prepare, finish = graphs.PREPARE | scalars.PREPARE, graphs.FINISH | scalars.FINISH
    slow = {*graphs.LATER, *scalars.LATER, *_write_targets()}
    found = {}
    for name, (judge, inner) in _judges().items():
        function = _function(name)
        if function is None or not Path(function.__code__.co_filename).is_relative_to(root):
            continue
        later = inner or name in slow or name.endswith(".backward")
        target = Target(name, judge, function, tasks.get(name, ""), later, prepare.get(name), finish.get(name))
        for code in _inside(function.__code__) if inner else (function.__code__,):
            if not code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
                found[code] = target
    if SIMULATOR in sys.modules:
        call = sys.modules[SIMULATOR].FakeCUDAKernel.__call__
        found[call.__code__] = Target(f"{SIMULATOR}:FakeCUDAKernel.__call__", _Launches(root, tasks), call, "", later=True)
    return found


def _judges() -> dict[str, tuple[Judge, bool]]:
    """All judges, and whether each compares the calls of the function itself or of the function that it returns (True)."""
    plain, inner = operators.JUDGES | modules.JUDGES | scalars.JUDGES | graphs.JUDGES, dict(operators.INNER)
    if "minitorch.tensor_data" in sys.modules:
        from course.oracles import convolutions, functional, kernels, layers, matrix_products, positions, tensors

        plain |= positions.JUDGES | tensors.JUDGES | functional.JUDGES | layers.JUDGES | matrix_products.JUDGES | convolutions.JUDGES
        inner |= kernels.INNER
    return {name: (judge, False) for name, judge in plain.items()} | {name: (judge, True) for name, judge in inner.items()}


def _write_targets() -> tuple[str, ...]:
    """The kernels whose written arrays are compared after the test."""
    if "minitorch.tensor_data" not in sys.modules:
        return ()
    from course.oracles import convolutions, matrix_products

    return matrix_products.LATER + convolutions.LATER


def _function(name: str) -> Any:
    """A function by "module:qualified.name", without its wrappers; None if it is not loaded or not a function."""
    module, _, qualified = name.partition(":")
    value: Any = sys.modules.get(module)
    for part in qualified.split("."):
        value = inspect.getattr_static(value, part, None)
        value = getattr(value, "__func__", value)
    value = inspect.unwrap(getattr(value, "py_func", value)) if value is not None else None
    return value if inspect.isfunction(value) else None


def _inside(code: CodeType) -> Iterator[CodeType]:
    """The code of the functions defined inside a function, without comprehensions."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if not inner.co_name.startswith("<") or inner.co_name == "<lambda>":
                yield inner
            yield from _inside(inner)


class _Launches:
    """Compares the kernels that the GPU simulator launches; only a launch shows which kernel it is.

    Args:
        root: The workspace.
        tasks: The task of every function that students write.
    """

    def __init__(self, root: Path, tasks: dict[str, str]) -> None:
        self.root = root
        self.tasks = tasks

    def __call__(self, call: Call) -> Difference | None:
        """How a launch differs from its oracle."""
        from course.oracles import convolutions, kernels, matrix_products

        kernel = call.arguments[0].fn
        for module, judges in (("cuda_ops", kernels.CUDA | matrix_products.CUDA), ("cuda_conv", convolutions.CUDA)):
            for name, (judge, inner) in judges.items():
                function = _function(f"minitorch.{module}:{name}")
                if function is not None and kernel.__code__ in ([*_inside(function.__code__)] if inner else [function.__code__]):
                    return self._compare(call, f"minitorch.{module}:{name}", function, judge)
        return None

    def _compare(self, call: Call, name: str, function: Any, judge: Callable[[Call], Difference | None]) -> Difference | None:
        """How a kernel differs from its oracle, with the launch as a call of the kernel."""
        kernel = call.arguments[0].fn
        cells = [cell.cell_contents for cell in kernel.__closure__ or ()]
        closure = dict(zip(kernel.__code__.co_freevars, cells, strict=True))
        arguments, before, after = call.arguments[1:], call.before[1:], call.after[1:]
        target = Target(name, judge, function, self.tasks.get(name, ""))
        launched = replace(call, target=target, code=kernel.__code__, arguments=arguments, before=before, after=after, closure=closure)
        difference = judge(launched)
        if difference is not None:
            call.target, call.code = target, kernel.__code__
        return difference
