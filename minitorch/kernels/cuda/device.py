"""Stage 3 - Access to numba.cuda: detect a GPU, compile functions for it, and launch kernels.

No other module imports numba.cuda. With NUMBA_ENABLE_CUDASIM=1 in the environment before Python starts, numba runs every
GPU thread as a Python thread: slow, but without a GPU. `cuda_limits` adds the limits of a GPU and its compiler.
"""

from __future__ import annotations

import math
import sys
import threading
import types
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import Any

import numba
import numpy as np

from minitorch.cuda_limits import watch_simulator
from minitorch.tensor_ops import ieee

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 calls it, NumPy 2.5 no longer has it
    np.row_stack = np.vstack  # type: ignore[attr-defined]  # removed from the stubs too


def _find_cuda() -> Any:
    """The module numba.cuda, which loads when one of its attributes is first read: few programs need it, and it takes a while."""
    spec = None if "numba.cuda" in sys.modules else find_spec("numba.cuda")
    if spec is None or spec.loader is None:
        return import_module("numba.cuda")
    spec.loader = LazyLoader(spec.loader)
    sys.modules["numba.cuda"] = module = module_from_spec(spec)
    numba.cuda = module  # type: ignore[attr-defined]  # as an import statement does
    spec.loader.exec_module(module)
    return module


cuda: Any = None
_problem: Exception | None = None
try:
    cuda = _find_cuda()
except Exception as error:  # numba-cuda may raise anything where the CUDA libraries are missing
    _problem = error

config: Any = vars(numba)["config"]  # set from the environment, which type checkers cannot see
config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # the tensors of a course are small; numba would warn for each launch

SIMULATED = bool(config.ENABLE_CUDASIM)
"""Whether kernels run in numba's simulator."""

_launching = threading.Lock() if SIMULATED else None


def _attribute_in_kernel(name: str) -> Any:
    """For the simulator: an attribute that numba.cuda has only while a kernel runs.

    The simulator provides it only where `cuda` is a global variable of the kernel's module. A GPU finds numba.cuda.syncthreads as well.
    """
    context = import_module("numba.cuda.simulator.kernel")._get_kernel_context()
    if context is None:
        raise AttributeError(f"module 'numba.cuda' has no attribute {name!r}")
    return getattr(context, name)


if SIMULATED and cuda is not None:
    cuda.__getattr__ = _attribute_in_kernel


def available() -> bool:
    """Whether kernels can run here, on a GPU or in the simulator."""
    _load()
    try:
        return cuda is not None and bool(cuda.is_available())
    except Exception:  # a driver that does not load
        return False


@cache
def _load() -> None:
    """Load numba.cuda. If that fails, `_problem` says why."""
    global cuda, _problem
    try:
        getattr(cuda, "jit", None)
        if SIMULATED:
            watch_simulator()
    except Exception as error:
        cuda, _problem = None, error


def problem() -> str:
    """Why numba.cuda could not be imported; empty if it could."""
    return f"{type(_problem).__name__}: {_problem}" if _problem else ""


def require_cuda() -> None:
    """Check that kernels can run here.

    Raises:
        RuntimeError: If there is no GPU and the simulator is off.
    """
    if not available():
        reason = f" ({problem()})" if problem() else ""
        raise RuntimeError(
            f"the cuda backend expected an NVIDIA GPU with its driver, got none{reason}; run on a machine with a GPU, "
            "or start Python with NUMBA_ENABLE_CUDASIM=1 to try kernels in the simulator, or use the backend of the CPU: x.to('cpu')"
        )


def device_name() -> str:
    """The name of the GPU, or "simulator"."""
    require_cuda()
    name = "simulator" if SIMULATED else cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else name


# Compiling


def jit(kernel: Callable[..., None], **options: Any) -> Any:
    """Compile a kernel for the GPU at its first launch; launch it with kernel[blocks, threads](…).

    Raises:
        NotImplementedError: If the kernel only raises it; on a GPU the exception would go unnoticed.
    """
    compiler = _cuda()
    code = kernel.__code__
    if code.co_names == ("NotImplementedError",):
        kernel(*[None] * code.co_argcount)
    return compiler.jit(**options)(kernel)


def _cuda() -> Any:
    """numba.cuda, which can also compile without a GPU."""
    _load()
    if cuda is None:
        require_cuda()
    return cuda


class DeviceFunction:
    """A function that kernels call. It is compiled with the first of them.

    Attributes:
        py_func: The Python function.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.py_func = fn
        update_wrapper(self, fn)

    @cached_property
    def compiled(self) -> Any:
        """What numba.cuda makes of it."""
        return cuda.jit(device=True)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.compiled(*args)


def device_jit(fn: Callable[..., Any]) -> Any:
    """Allow kernels to call a function; where numba.cuda cannot be imported, return the function itself."""
    return fn if cuda is None else DeviceFunction(fn)


_source: dict[Any, Callable[..., float]] = {}


@cache
def number_function(fn: Callable[..., float], single: bool = False) -> Any:
    """Compile a scalar function for the GPU, with the special values of IEEE 754.

    Args:
        fn: Scalar function such as operators.mul.
        single: Whether its constants become float32, so that the result stays float32: float64 is many times slower on most GPUs.
    """
    _cuda()
    written = _in_float32(fn) if single else fn
    compiled = device_jit(_as_hardware(written) if SIMULATED else written)
    _source[compiled] = fn
    return compiled


def python_function(compiled: Any) -> Callable[..., float]:
    """The Python function that `number_function` compiled."""
    return _source[compiled]


def _in_float32(fn: Any) -> Any:
    """Copy of fn in which every float among its constants, globals and closure variables is a float32."""
    if not isinstance(fn, types.FunctionType):
        return fn

    def converted(value: Any) -> Any:
        return np.float32(value) if type(value) is float else value

    code = fn.__code__.replace(co_consts=tuple(map(converted, fn.__code__.co_consts)))
    names = {name: converted(value) for name, value in fn.__globals__.items()}
    cells = tuple(types.CellType(converted(cell.cell_contents)) for cell in fn.__closure__ or ())
    return types.FunctionType(code, names, fn.__name__, fn.__defaults__, cells)


def _as_hardware(fn: Callable[..., float]) -> Callable[..., float]:
    """For the simulator: fn with the results of a GPU where Python raises or NumPy warns."""
    quiet = ieee(fn)

    def as_number(x: Any) -> Any:
        return x if isinstance(x, np.floating) else np.float64(x) if isinstance(x, float) else np.int64(x)

    def simulated(*xs: Any) -> float:
        with np.errstate(all="ignore"):
            return quiet(*map(as_number, xs))

    return simulated


# Launching


def launch(kernel: Any, blocks: int | tuple[int, ...], threads: int | tuple[int, ...], *args: Any) -> None:
    """Launch a kernel on a grid of thread blocks; on a GPU this returns before the kernel finishes."""
    if _launching is None:
        kernel[blocks, threads](*args)
        return
    with _launching, np.errstate(all="ignore"):  # the simulator cannot run two launches at once
        kernel[blocks, threads](*args)


def blocks_for(count: int, per_block: int) -> int:
    """Number of blocks for count elements, rounded up."""
    return math.ceil(count / per_block)
