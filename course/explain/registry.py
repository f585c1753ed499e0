"""The functions that have an oracle, by the code that runs when they are called."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from course.explain.calls import Judge, Target
from course.explain.launches import INTERPRETER, Launches, simulated_size
from course.manifest import Manifest
from course.oracles import graphs, modules, operators, scalars
from course.workspace.locate import CACHED

SIMULATOR = "numba.cuda.simulator.kernel"
"""The module of the GPU simulator in which kernels are called."""


def targets(root: Path, manifest: Manifest) -> dict[CodeType, Target]:
    """All functions in loaded modules that have an oracle, by their code."""
    tasks = {re.sub(r"\._(map|zip|reduce)$", "", name): task.id for task in manifest.tasks for name in task.write}
    prepare, finish = graphs.PREPARE | scalars.PREPARE, graphs.FINISH | scalars.FINISH
    slow, generators = {*graphs.LATER, *scalars.LATER, *_write_targets()}, set[str]()
    if "minitorch.language" in sys.modules:
        from course.oracles import language_models

        prepare, finish = prepare | language_models.PREPARE, finish | language_models.FINISH
        slow, generators = slow | {*language_models.LATER}, {*language_models.GENERATORS}
    found = {}
    for name, (judge, inner) in _judges().items():
        function = _function(name)
        if function is None or not Path(function.__code__.co_filename).is_relative_to(root):
            continue
        later = inner or name in slow or name.endswith(".backward")
        target = Target(name, judge, function, tasks.get(name, ""), later, prepare.get(name), finish.get(name))
        for code in _inside(function.__code__) if inner else (function.__code__,):
            if name in generators or not code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
                found[code] = target
    launches = Launches(tasks, _function, _inside)
    if "minitorch.kernels.cuda.device" in sys.modules:
        with contextlib.suppress(ImportError):  # the package loads both only when a kernel needs them; some workspaces have no interpreter
            importlib.import_module(INTERPRETER)
        if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
            importlib.import_module(SIMULATOR)
    if SIMULATOR in sys.modules:
        call = sys.modules[SIMULATOR].FakeCUDAKernel.__call__
        name = f"{SIMULATOR}:FakeCUDAKernel.__call__"
        found[call.__code__] = Target(name, launches.simulated, call, "", later=True, prepare=simulated_size)
    inspect_kernel = _function(f"{INTERPRETER}:inspect_kernel")
    if inspect_kernel is not None and Path(inspect_kernel.__code__.co_filename).is_relative_to(root):
        found[inspect_kernel.__code__] = Target(f"{INTERPRETER}:inspect_kernel", launches.interpreted, inspect_kernel, "", later=True)
    return found


def caches(targets: Mapping[CodeType, Target]) -> list[Any]:
    """The caches of loaded modules around functions that have an oracle: a cached result hides the call that computed it."""
    values = [
        value for module in list(sys.modules.values()) for value in list(getattr(module, "__dict__", {}).values()) if type(value) is CACHED
    ]
    return list({id(value): value for value in values if getattr(value.__wrapped__, "__code__", None) in targets}.values())


def _judges() -> dict[str, tuple[Judge, bool]]:
    """All judges, and whether each compares the calls of the function itself or of the function that it returns (True)."""
    plain, inner = operators.JUDGES | modules.JUDGES | scalars.JUDGES | graphs.JUDGES, dict(operators.INNER)
    if "minitorch.tensor_data" in sys.modules:
        from course.oracles import convolutions, functional, kernels, layers, matrix_products, positions, tensors

        plain |= positions.JUDGES | tensors.JUDGES | functional.JUDGES | layers.JUDGES | matrix_products.JUDGES | convolutions.JUDGES
        inner |= kernels.INNER
    if "minitorch.language" in sys.modules:
        from course.oracles import language_models

        plain |= language_models.JUDGES
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
